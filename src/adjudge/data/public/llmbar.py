"""LLMBar: an instruction, two outputs, and which one follows it."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, columns, signature
from adjudge.data.json_files import Record

_LABELS = {"1": "A", "2": "B"}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per row; its id is its place in the file."""
    yield {
        "id": f"llmbar-{row.number}",
        "prompt": row.text("input"),
        "response_a": row.text("output_1"),
        "response_b": row.text("output_2"),
        "label": row.choice("label", _LABELS, "1 means output_1, 2 output_2"),
    }


LLMBAR = Format(
    name="llmbar",
    title="LLMBar",
    source="princeton-nlp/LLMBar, dataset.json",
    signature=signature("input output_1 output_2 label", without="preference"),
    gives={"pairs": pairs},
    used=columns("label"),
    texts=columns("input output_1 output_2"),
)
