"""LLMBar: an instruction, two outputs, and which one follows it."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.io._schema import shown
from adjudge.io.public._convert import Context, Format, Numbered, Record, rest, text

_LABELS = {"1": "A", "2": "B"}


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """One pair per row, called by its place in the file."""
    for row, record in rows:
        said = text(record, "label", row, context)
        if said not in _LABELS:
            raise context.error(
                f"{shown(said)} is not known", row, "label", "1 means output_1, 2 output_2"
            )
        yield {
            **rest(record, "input", "output_1", "output_2", "label"),
            "id": f"llmbar-{row}",
            "prompt": text(record, "input", row, context),
            "response_a": text(record, "output_1", row, context),
            "response_b": text(record, "output_2", row, context),
            "label": _LABELS[said],
        }


FORMATS = (
    Format(name="llmbar", source="princeton-nlp/LLMBar, dataset.json", gives={"pairs": pairs}),
)
