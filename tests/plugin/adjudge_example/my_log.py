"""`--format my-log`: the log of a help desk, one answered ticket in each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.data import Format, Row, UnusableRow
from adjudge.data.formats import columns, signature


def items(row: Row) -> Iterator[dict[str, Any]]:
    """One item per ticket that a bot answered."""
    if row.get("answer") is None:
        raise UnusableRow("nobody answered the ticket")
    yield {
        "id": row.text("ticket"),
        "prompt": row.text("question"),
        "response": row.text("answer"),
        "model": row.text("bot"),
    }


MY_LOG = Format(
    name="my-log",
    title="a help desk log",
    signature=signature("ticket question answer bot"),
    gives={"items": items},
    used=columns("ticket bot"),
    texts=columns("question answer"),
    notes=("a ticket is one question and one answer",),
)
