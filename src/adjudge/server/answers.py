"""The answer to a client when something goes wrong: one line, no trace, nothing quoted back."""

from __future__ import annotations

import logging

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response

from adjudge._text import clip

_log = logging.getLogger("adjudge.server")


def explain_in_one_line(app: FastAPI) -> None:
    """Replace the framework's answers to bad requests and to our own mistakes."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


async def _invalid(request: Request, error: Exception) -> Response:
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    where = ".".join(str(part) for part in problems[0]["loc"]) if problems else "request"
    said = problems[0]["msg"] if problems else "not understood"
    # The place can hold a field's name, which is the client's: as long and as odd as it likes.
    where = clip(where.encode("utf-8", "replace").decode(), 200)
    return JSONResponse({"detail": f"{where}: {said}"}, status_code=422)


async def _unexpected(request: Request, error: Exception) -> Response:
    # The server's own log has the trace; a client has no use for it but an attacker has.
    _log.error("unexpected trouble", exc_info=error)
    return JSONResponse({"detail": "unexpected trouble; see the server's log"}, status_code=500)
