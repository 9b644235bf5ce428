"""LLMBar: an instruction, two outputs, and which one follows it."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.io._schema import shown
from adjudge.io.public._convert import Format, Record, Row, columns

_LABELS = {"1": "A", "2": "B"}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per row, called by its place in the file."""
    said = row.text("label")
    if said not in _LABELS:
        raise row.error(f"{shown(said)} is not known", "label", "1 means output_1, 2 output_2")
    yield {
        "id": f"llmbar-{row.number}",
        "prompt": row.text("input"),
        "response_a": row.text("output_1"),
        "response_b": row.text("output_2"),
        "label": _LABELS[said],
    }


FORMATS = (
    Format(
        name="llmbar",
        source="princeton-nlp/LLMBar, dataset.json",
        gives={"pairs": pairs},
        used=columns("label"),
        texts=columns("input output_1 output_2"),
    ),
)
