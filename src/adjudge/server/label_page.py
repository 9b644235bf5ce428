"""The labelling page: its JSON calls and its static files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from adjudge.records import Order
from adjudge.rendering import render_markdown
from adjudge.server.guard import Guard
from adjudge.server.labelling import LabellingRound
from adjudge.server.pages import guard_page, macros, page_app, stage
from adjudge.store.labels import LONGEST_COMMENT

# Names must not have control codes, and PostgreSQL cannot store a zero.
_PLAIN = r"[^\x00-\x1f\x7f-\x9f]*"
Rater = Annotated[str, Field(max_length=80, pattern=rf"^{_PLAIN}[^\s\x00-\x1f\x7f-\x9f]{_PLAIN}$")]
RowId = Annotated[str, Field(max_length=1000)]
Nonce = Annotated[str, Field(min_length=8, max_length=80, pattern=r"^[\x21-\x7e]+$")]


class Click(BaseModel):
    """One answer of a rater: a side of a pair, pass or fail, a score, or skip."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater
    id: RowId
    nonce: Nonce
    comment: str | None = None
    side: Annotated[str, Field(pattern=r"^(left|right|tie|pass|fail|skip|[0-9]{1,3})$")]
    shown_order: Order | None = None


class Undo(BaseModel):
    """The request to undo the last answer."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater
    nonce: Nonce


def label_app(round_: LabellingRound, *, host: str, port: int, token: str | None = None) -> Guard:
    """The ASGI application of one labelling round, behind its guard."""
    app = page_app("label", kind=round_.kind, longest=LONGEST_COMMENT)
    instructions = None if round_.instructions is None else render_markdown(round_.instructions)

    @app.get("/api/next")
    def next_task(rater: Annotated[Rater, Query()]) -> dict[str, Any]:
        task = round_.next(rater)
        item: dict[str, Any] | None = None
        if task is not None:
            item = {name: getattr(task, name) for name in ("id", "shown_order", "comment")}
            item["texts"] = macros("row.html").stage(stage(task.texts))
        progress = round_.progress(rater)
        noun = round_.kind.noun
        return {"progress": progress, "item": item, "noun": noun, "instructions": instructions}

    @app.post("/api/label")
    def keep(click: Click) -> dict[str, str]:
        round_.record(subject_id=click.id, **click.model_dump(exclude={"id"}))
        return {"kept": click.id}

    @app.post("/api/undo")
    def take_back(undo: Undo) -> dict[str, str | None]:
        name, side = round_.undo(rater=undo.rater, nonce=undo.nonce) or (None, None)
        return {"undone": name, "side": side}

    return guard_page(app, host=host, port=port, token=token)
