"""Pairs: two responses to one prompt, as a frame or streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import polars as pl

from adjudge.errors import DataError
from adjudge.io._ids import SeenIds
from adjudge.io._records import known_rows
from adjudge.io._schema import Column, checked, load, refuse_duplicates, shown
from adjudge.io.tables import TableLike, source_name
from adjudge.records import LabelValue, Pair

LABELS = ("A", "B", "tie")
LAYOUT = (
    Column(name="id", required=True, filled=True),
    Column(name="prompt", required=True, filled=True),
    Column(name="response_a", required=True, filled=True),
    Column(name="response_b", required=True, filled=True),
    Column(name="model_a"),
    Column(name="model_b"),
    Column(name="label", choices=LABELS),
    Column(name="prompt_id"),
)
_REQUIRED = tuple(column.name for column in LAYOUT if column.required)
_OPTIONAL = tuple(column.name for column in LAYOUT if not column.required)


def read_pairs(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Pairs as a checked frame: id, prompt, response_a, response_b, then what else is there.

    `columns` maps our names to the file's, e.g. {"response_a": "output_1"}. An empty response
    is a response (in CSV: written as ""); a missing one is refused. Ids must be unique.

    >>> pairs = {"id": [1], "prompt": ["2+2?"], "response_a": ["4"], "response_b": ["5"]}
    >>> read_pairs(pairs)["id"][0]
    '1'
    """
    frame, name = load(source, LAYOUT, columns=columns, expected="pairs")
    return check_pairs(frame, name)


def check_pairs(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame as pairs, or a DataError that names `name` and the row."""
    frame = checked(frame, LAYOUT, name, expected="pairs")
    refuse_duplicates(frame, ["id"], name, "give every pair its own id")
    return frame


def iter_pairs(source: TableLike, *, columns: Mapping[str, str] | None = None) -> Iterator[Pair]:
    """Pairs one at a time, in bounded memory for files of any length; same checks as read_pairs."""
    name = source_name(source)
    with SeenIds(name) as seen:
        for row, needed, known, rest in known_rows(source, "pairs", _REQUIRED, _OPTIONAL, columns):
            label = known["label"]
            if label is not None and label not in LABELS:
                raise DataError(
                    name,
                    f"{shown(label)} is not known",
                    row=row,
                    column="label",
                    remedy="use A, B or tie",
                )
            seen.add(needed["id"], row)
            yield Pair(
                **needed,
                model_a=known["model_a"],
                model_b=known["model_b"],
                prompt_id=known["prompt_id"],
                label=cast(LabelValue | None, label),
                extra=rest,
            )
