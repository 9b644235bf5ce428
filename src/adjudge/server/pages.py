"""What the pages of people share: static files, templates, an application behind its guard."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Html
from adjudge.present.render.html import read_style
from adjudge.present.text import safe
from adjudge.rendering import HEADINGS, render_response, text_styles
from adjudge.server.guard import Guard, Limits, explain_in_one_line
from adjudge.server.labelling import place_of

_TYPES = {"js": "text/javascript", "css": "text/css"}


def read_static(name: str) -> bytes:
    """A file of the pages."""
    return (files("adjudge.server") / "static" / name).read_bytes()


def page_style() -> str:
    """What the pages share: the labelling page, the viewer, and the pages that it saves."""
    return read_style("base.css") + read_static("page.css").decode()


def page_app(name: str, **values: Any) -> FastAPI:
    """An application with the page of a verb and its static files, sent without the token.

    The page sends the token with every other call. Its template gets these values.
    """
    page = templates().get_template(f"{name}.html").render(name=name, **values)
    answers: dict[str, Response] = {
        "/": Response(page, media_type="text/html"),
        "/page.css": Response(page_style(), media_type="text/css"),
        "/text.css": Response(text_styles(), media_type="text/css"),
        "/favicon.ico": Response(status_code=204),
        "/healthz": JSONResponse({"status": "ok"}),
    }
    for file in ("page.js", f"{name}.css", f"{name}.js"):
        kind = _TYPES[file.rpartition(".")[2]]
        answers[f"/{file}"] = Response(read_static(file), media_type=kind)
    app = FastAPI(
        title=f"adjudge {name}", docs_url=None, redoc_url=None, openapi_url=None,
        redirect_slashes=False,
        routes=[Route(path, answer, methods=["GET"]) for path, answer in answers.items()],
    )  # fmt: skip
    explain_in_one_line(app)
    app.add_exception_handler(ArgumentError, _refused)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    """A click that does not fit what the page shows by now."""
    return JSONResponse({"detail": str(error)}, status_code=409)


def guard_page(app: FastAPI, *, host: str, port: int, token: str | None) -> Guard:
    """The guard of a page: all that `page_app` sends is open, every call needs the token."""
    open_paths = frozenset(route.path for route in app.routes if type(route) is Route)
    limits = Limits(body_bytes=20_000)
    return Guard(app, host=host, port=port, token=token, limits=limits, open_paths=open_paths)


@cache
def templates() -> Environment:
    """Templates that escape every text, and refuse a missing name."""
    made = Environment(
        loader=PackageLoader("adjudge.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    made.filters |= {
        "percent": share,
        "count": lambda n: f"{n:,}",
        "small": small,
        "along": lambda x: f"{100 * x:.2f}%",
        # 1 is the left end.
        "place": lambda p: f"{100 * (1 - p):.1f}%",
    }
    return made


def macros(name: str) -> Any:
    """The parts that a template can render."""
    return templates().get_template(name).module


#: The answers to decide about: heading, and the key of its side.
_DECIDED = {"left": ("Left", "1"), "right": ("Right", "2"), "response": ("Answer", "")}


def stage(texts: Mapping[str, str | None]) -> dict[str, list[dict[str, Any]]]:
    """The texts of a row before a decision, by their place on the page, for its template."""
    answers = [
        {
            "name": name,
            "heading": Html(place_of(heading)) if key else heading,
            "key": key,
            "text": render_response(texts[name] or ""),
        }
        for name, (heading, key) in _DECIDED.items()
        if name in texts
    ]
    return {"asked": asked(texts), "answers": answers}


def asked(texts: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """The question of a row, and what else came with it."""
    return [
        {"name": name, "heading": heading, "text": render_response(text)}
        for name, heading in HEADINGS.items()
        if (text := texts.get(name)) and text.strip()
    ]


def _show(value: Any) -> Any:
    """Control codes and codes that change the direction of writing are shown, not obeyed."""
    return safe(value) if type(value) is str else value


def share(value: float) -> str:
    r"""A share in few words, on one line.

    >>> share(0.705), share(0.17)
    ('70.5\xa0%', '17\xa0%')
    """
    return f"{f'{100 * value:.1f}'.removesuffix('.0')}\xa0%"


def small(value: float) -> str:
    """A doubt with two digits.

    >>> small(0.5623), small(0.0000042), small(0)
    ('.56', '< .0001', '0')
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "without limit"
    return "< .0001" if value < 1e-4 else f"{float(f'{value:.2g}'):f}".rstrip("0").removeprefix("0")


def likely(p: float) -> str:
    """A probability with two digits.

    >>> likely(0.754), likely(0.999), likely(0.001)
    ('.75', '> .99', '< .01')
    """
    if p >= 0.995:
        return "> .99"
    return "< .01" if p <= 0.005 else f"{p:.2f}".removeprefix("0")
