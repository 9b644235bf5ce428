"""The usual request without FastAPI's routing; every other request goes to its route.

For every request FastAPI searches its routes and resolves dependencies, which takes longer than
deciding on a pair. A JSON body that is valid for its model does not need this. All other requests,
and therefore all messages about invalid ones, are answered by the route of the same path.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import HTTPException, Response
from fastapi.exception_handlers import http_exception_handler
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from adjudge.server.safety import replay

#: The header of the usual request; any other spelling goes to the route.
_JSON = (b"content-type", b"application/json")


class Shortcut:
    """ASGI middleware behind the guard, which passes the body on as one message.

    `answer` is the handler of the POST route at `path`, whose body is a `model`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        path: str,
        model: type[BaseModel],
        answer: Callable[[Any], Awaitable[Response]],
    ) -> None:
        self._app = app
        self._path = path
        self._model = model
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["path"] != self._path
            or scope["method"] != "POST"
            or [one for one in scope["headers"] if one[0] == _JSON[0]] != [_JSON]
        ):
            await self._app(scope, receive, send)
            return
        content = (await receive())["body"]
        try:
            body = self._model.model_validate_json(content)
        except ValidationError:
            await self._app(scope, replay(content), send)
            return
        try:
            response = await self._answer(body)
        except HTTPException as error:
            response = await http_exception_handler(Request(scope), error)
        await response(scope, receive, send)
