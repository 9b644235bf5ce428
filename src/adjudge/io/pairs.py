"""Pairs: two responses to one prompt, as a frame or streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from adjudge.io.columns import Column, Layout
from adjudge.io.streaming import check_rows
from adjudge.io.tables import TableLike
from adjudge.io.words import PAIR
from adjudge.records import Pair

LABELS = ("A", "B", "tie")
LAYOUT = Layout(
    "pairs",
    Column(name="id", required=True, filled=True),
    Column(name="prompt", required=True, filled=True, spoken=True),
    Column(name="response_a", required=True, filled=True, spoken=True),
    Column(name="response_b", required=True, filled=True, spoken=True),
    Column(name="model_a"),
    Column(name="model_b"),
    Column(name="label", choices=LABELS, words=PAIR),
    Column(name="prompt_id"),
)


def read_pairs(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Pairs as a checked frame: id, prompt, response_a, response_b, then the other columns.

    `columns` maps our names to the file's, e.g. {"response_a": "left"}; the usual names need no
    mapping. An empty response is a response (in CSV: written as ""); a missing one is refused. Ids
    must be unique. Without an id column the id of a row is a hash of its texts.

    >>> pairs = {"id": [1], "prompt": ["2+2?"], "response_a": ["4"], "response_b": ["5"]}
    >>> read_pairs(pairs)["id"][0]
    '1'
    """
    return LAYOUT.read_by_id(source, columns)


def iter_pairs(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Iterator[Pair]:
    """Pairs one at a time, in bounded memory for files of any length; same checks as read_pairs."""
    for known, rest in check_rows(source, LAYOUT, columns, labels_as):
        yield Pair(**known, extra=rest)
