"""Error answers to a client: one line, without traceback and without the client's text."""

from __future__ import annotations

import logging

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response

from adjudge.present.text import clip

_log = logging.getLogger("adjudge.server")


def explain_in_one_line(app: FastAPI) -> None:
    """Replace the framework's answers to bad requests and to internal errors."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


async def _invalid(request: Request, error: Exception) -> Response:
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    where = ".".join(str(part) for part in problems[0]["loc"]) if problems else "request"
    said = problems[0]["msg"] if problems else "the request cannot be read"
    # The location can contain a field name of the client, of any length and content.
    where = clip(where.encode("utf-8", "replace").decode(), 200)
    return JSONResponse({"detail": f"{where}: {said}"}, status_code=422)


async def _unexpected(request: Request, error: Exception) -> Response:
    # The traceback is only in the server's log: it would help an attacker, not a client.
    _log.error("unexpected error", exc_info=error)
    return JSONResponse({"detail": "unexpected error; see the server's log"}, status_code=500)
