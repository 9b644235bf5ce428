"""Items: one response to one prompt, to be scored alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from adjudge.io.columns import Column, Layout
from adjudge.io.streaming import check_rows
from adjudge.io.tables import TableLike
from adjudge.records import Item

LAYOUT = Layout(
    "items",
    Column(name="id", required=True, filled=True),
    Column(name="prompt", required=True, filled=True, spoken=True),
    Column(name="response", required=True, filled=True, spoken=True),
    Column(name="doc_id"),
    Column(name="model"),
)


def read_items(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Items as a checked frame: id, prompt, response, then doc_id, model and the other columns.

    `doc_id` is the same for items about one document; diagnosis treats documents, not rows,
    as exchangeable. `columns` maps our names to the file's.

    >>> read_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})["id"][0]
    '1'
    """
    return LAYOUT.read_by_id(source, columns)


def iter_items(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Iterator[Item]:
    """Items one at a time, in bounded memory for files of any length, checked as in read_items.

    >>> next(iter_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})).id
    '1'
    """
    for known, rest in check_rows(source, LAYOUT, columns, labels_as):
        yield Item(**known, extra=rest)
