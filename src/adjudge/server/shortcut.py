"""The usual request without the framework: what fits is answered, all else is left to its route.

FastAPI resolves dependencies and looks through its routes for every request, which takes longer
than deciding on a pair. A JSON body that its model accepts needs none of it. Every other request,
and so every message about one that does not fit, comes from the route of the same path.
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

#: What a client that sends JSON says of it; any other spelling takes the long way.
_JSON = (b"content-type", b"application/json")


class Shortcut:
    """ASGI middleware behind the guard, which hands on a body as one message.

    `answer` is what the POST route at `path` does with its body, a `model`.
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
