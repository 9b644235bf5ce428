"""The Trust or Escalate release: Chatbot Arena pairs with a judge's two probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.public.texts import short_hash

_LABELS = {1.0: "A", 2.0: "B"}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per row; its id is its place in the file; human 1 means the first output."""
    first, second = row.list_in("outputs", "two", size=2)
    yield {
        **_identify(row),
        "prompt": row.text("instruction"),
        "response_a": str(first),
        "response_b": str(second),
    }


def judgments(row: Row) -> Iterator[Record]:
    """The judge's probabilities, scaled to add up to one over the two letters."""
    first, second = (row.number_in("probs", p) for p in row.list_in("probs", "two", size=2))
    if first < 0 or second < 0 or first + second <= 0:
        raise row.error("does not have two probabilities", "probs")
    yield {
        **_identify(row),
        "protocol": "trust-or-escalate",
        "status": "ok",
        "p_a": first / (first + second),
    }


def _identify(row: Row) -> Record:
    return {
        "id": f"row-{row.number}",
        "label": _label(row),
        "prompt_id": short_hash(row.text("instruction")),
    }


def _label(row: Row) -> str | None:
    given = row.nested("preferences")
    human = given.get("human") if isinstance(given, dict) else None
    return row.number_choice("preferences", human, _LABELS, "1 means the first")


TRUST_OR_ESCALATE = Format(
    name="trust-or-escalate",
    title="the Trust or Escalate release",
    source="Trust or Escalate, arena judgments",
    signature=signature("instruction outputs preferences probs"),
    gives={"pairs": pairs, "judgments": judgments},
    used=columns("instruction preferences probs"),
    texts=columns("outputs"),
    notes=("one order only: the judge was not asked with the outputs swapped",),
)
