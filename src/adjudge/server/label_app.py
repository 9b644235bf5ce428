"""The labelling page's server: a few JSON calls and four static files."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from adjudge.errors import ArgumentError
from adjudge.present.result import plain
from adjudge.records import Order
from adjudge.server.answers import explain_in_one_line
from adjudge.server.label_kinds import PAIRS, LabelKind
from adjudge.server.labelling import LabellingRound
from adjudge.server.render import highlight_styles, render_markdown
from adjudge.server.safety import Guard, Limits
from adjudge.store.labels import LONGEST_COMMENT

_STATIC = {
    "/": ("label.html", "text/html; charset=utf-8"),
    "/label.js": ("label.js", "text/javascript; charset=utf-8"),
    "/label.css": ("label.css", "text/css; charset=utf-8"),
}
#: The page itself can be fetched without the token; it sends the token with every call.
_OPEN_PATHS = frozenset({*_STATIC, "/code.css", "/favicon.ico", "/healthz"})

# Names must not have control codes, and PostgreSQL cannot store a zero.
_PLAIN = r"[^\x00-\x1f\x7f-\x9f]*"
Rater = Annotated[str, Field(max_length=80, pattern=rf"^{_PLAIN}[^\s\x00-\x1f\x7f-\x9f]{_PLAIN}$")]
Nonce = Annotated[str, Field(min_length=8, max_length=80, pattern=r"^[\x21-\x7e]+$")]


class Click(BaseModel):
    """The fields of every click."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater
    id: Annotated[str, Field(max_length=1000)]
    nonce: Nonce
    comment: str | None = None


class PairClick(Click):
    """One answer of a rater about a pair."""

    side: Literal["left", "right", "tie", "skip"]
    shown_order: Order


class AnswerClick(Click):
    """One answer of a rater about a single answer: pass or fail, a score, or skip."""

    side: Annotated[str, Field(pattern=r"^(pass|fail|skip|[0-9]{1,3})$")]
    shown_order: None = None


class Undo(BaseModel):
    """The request to undo the last answer."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater
    nonce: Nonce


def label_app(round_: LabellingRound, *, host: str, port: int, token: str | None = None) -> Guard:
    """The ASGI application of one labelling round, behind its guard."""
    app = FastAPI(
        title="adjudge label", docs_url=None, redoc_url=None, openapi_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    static = {path: _read(name) for path, (name, _) in _STATIC.items()}
    static["/"] = _fill(static["/"], round_.kind)
    instructions = None if round_.instructions is None else render_markdown(round_.instructions)
    code_css = highlight_styles()

    @app.get("/code.css")
    def code_style() -> Response:
        return Response(code_css, media_type="text/css; charset=utf-8")

    @app.get("/healthz")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/favicon.ico")
    def icon() -> Response:
        return Response(status_code=204)

    for path, (_, media_type) in _STATIC.items():
        app.add_api_route(path, _page(static[path], media_type), methods=["GET"])

    @app.get("/api/next")
    def next_task(rater: Annotated[Rater, Query()]) -> dict[str, Any]:
        shown = round_.next(rater)
        state: dict[str, Any] = {
            "progress": plain(round_.progress(rater)), "item": None,
            "noun": round_.kind.noun, "instructions": instructions,
        }  # fmt: skip
        if shown is not None:
            state["item"] = {
                "id": shown.id,
                "shown_order": shown.shown_order,
                "comment": shown.comment,
                **{
                    name: None if text is None else render_markdown(text)
                    for name, text in shown.texts.items()
                },
            }
        return state

    def keep(click: PairClick | AnswerClick) -> dict[str, str]:
        try:
            round_.record(
                rater=click.rater,
                subject_id=click.id,
                side=click.side,
                shown_order=click.shown_order,
                nonce=click.nonce,
                comment=click.comment,
            )
        except ArgumentError as error:
            raise HTTPException(409, str(error)) from None
        return {"kept": click.id}

    if round_.kind is PAIRS:

        @app.post("/api/label")
        def keep_pair(click: PairClick) -> dict[str, str]:
            return keep(click)

    else:

        @app.post("/api/label")
        def keep_answer(click: AnswerClick) -> dict[str, str]:
            return keep(click)

    @app.post("/api/undo")
    def take_back(undo: Undo) -> dict[str, str | None]:
        name, side = round_.undo(rater=undo.rater, nonce=undo.nonce) or (None, None)
        return {"undone": name, "side": side}

    explain_in_one_line(app)
    return Guard(
        app, host=host, port=port, token=token, limits=Limits(body_bytes=20_000),
        open_paths=_OPEN_PATHS,
    )  # fmt: skip


def _page(content: bytes, media_type: str) -> Any:
    def page() -> Response:
        return Response(content, media_type=media_type)

    return page


def _fill(page: bytes, kind: LabelKind) -> bytes:
    """The page with the buttons and words of this kind of round; both are our own."""
    stage = "pair" if kind is PAIRS else "answer"
    parts = {b"@kind@": stage, b"@hint@": kind.hint, b"@choices@": kind.choices}
    parts[b"@longest@"] = str(LONGEST_COMMENT)
    for mark, words in parts.items():
        page = page.replace(mark, words.encode())
    return page


def _read(name: str) -> bytes:
    return (files("adjudge.server") / "static" / name).read_bytes()
