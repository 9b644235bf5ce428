"""The Trust or Escalate release: Chatbot Arena pairs with a judge's two probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.io._schema import shown
from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    nested,
    numbers,
    rest,
    short_hash,
    text,
)

_LABELS = {1.0: "A", 2.0: "B"}


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """One pair per row, called by its place in the file; human 1 means the first output."""
    for row, record in rows:
        outputs = _two(record, "outputs", row, context)
        yield {
            **rest(record, "instruction", "outputs", "preferences", "probs"),
            "id": f"row-{row}",
            "prompt": text(record, "instruction", row, context),
            "response_a": str(outputs[0]),
            "response_b": str(outputs[1]),
            "label": _label(record, row, context),
            "prompt_id": short_hash(text(record, "instruction", row, context)),
        }


def judgments(rows: Numbered, context: Context) -> Iterator[Record]:
    """The judge's probabilities, scaled to add up to one as over the two letters alone."""
    for row, record in rows:
        first, second = (
            numbers(value, "probs", row, context) for value in _two(record, "probs", row, context)
        )
        if first < 0 or second < 0 or first + second <= 0:
            raise context.error("holds no two probabilities", row, "probs")
        yield {
            "id": f"row-{row}",
            "protocol": "trust-or-escalate",
            "status": "ok",
            "p_a": first / (first + second),
            "label": _label(record, row, context),
            "prompt_id": short_hash(text(record, "instruction", row, context)),
        }


def _two(record: Record, column: str, row: int, context: Context) -> list[Any]:
    found = nested(record, column, row, context)
    if not isinstance(found, list) or len(found) != 2:
        raise context.error("holds no list of two", row, column)
    return found


def _label(record: Record, row: int, context: Context) -> str | None:
    given = nested(record, "preferences", row, context)
    human = given.get("human") if isinstance(given, dict) else None
    if human is None:
        return None
    value = numbers(human, "preferences", row, context)
    if value not in _LABELS:
        raise context.error(f"{shown(human)} is not known", row, "preferences", "1 means the first")
    return _LABELS[value]


FORMATS = (
    Format(
        name="trust-or-escalate",
        source="Trust or Escalate, arena judgments",
        gives={"pairs": pairs, "judgments": judgments},
        notes=("one order only: the judge was not asked with the outputs swapped",),
    ),
)
