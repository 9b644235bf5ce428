"""The Trust or Escalate release: Chatbot Arena pairs with a judge's two probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.io._schema import shown
from adjudge.io.public._convert import Format, Record, Row, columns, short_hash

_LABELS = {1.0: "A", 2.0: "B"}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per row, called by its place in the file; human 1 means the first output."""
    first, second = _two(row, "outputs")
    yield {
        **_described(row),
        "prompt": row.text("instruction"),
        "response_a": str(first),
        "response_b": str(second),
    }


def judgments(row: Row) -> Iterator[Record]:
    """The judge's probabilities, scaled to add up to one as over the two letters alone."""
    first, second = (row.number_in("probs", value) for value in _two(row, "probs"))
    if first < 0 or second < 0 or first + second <= 0:
        raise row.error("holds no two probabilities", "probs")
    yield {
        **_described(row),
        "protocol": "trust-or-escalate",
        "status": "ok",
        "p_a": first / (first + second),
    }


def _described(row: Row) -> Record:
    return {
        "id": f"row-{row.number}",
        "label": _label(row),
        "prompt_id": short_hash(row.text("instruction")),
    }


def _two(row: Row, column: str) -> list[Any]:
    found = row.nested(column)
    if not isinstance(found, list) or len(found) != 2:
        raise row.error("holds no list of two", column)
    return found


def _label(row: Row) -> str | None:
    given = row.nested("preferences")
    human = given.get("human") if isinstance(given, dict) else None
    if human is None:
        return None
    value = row.number_in("preferences", human)
    if value not in _LABELS:
        raise row.error(f"{shown(human)} is not known", "preferences", "1 means the first")
    return _LABELS[value]


FORMATS = (
    Format(
        name="trust-or-escalate",
        source="Trust or Escalate, arena judgments",
        gives={"pairs": pairs, "judgments": judgments},
        used=columns("instruction preferences probs"),
        texts=columns("outputs"),
        notes=("one order only: the judge was not asked with the outputs swapped",),
    ),
)
