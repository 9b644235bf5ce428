"""Items: one response to one prompt, to be scored on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from adjudge.io._ids import SeenIds
from adjudge.io._records import known_rows
from adjudge.io._schema import Column, checked, load, refuse_duplicates
from adjudge.io.tables import TableLike, source_name
from adjudge.records import Item

LAYOUT = (
    Column(name="id", required=True, filled=True),
    Column(name="prompt", required=True, filled=True),
    Column(name="response", required=True, filled=True),
    Column(name="doc_id"),
    Column(name="model"),
)
_REQUIRED = tuple(column.name for column in LAYOUT if column.required)
_OPTIONAL = tuple(column.name for column in LAYOUT if not column.required)


def read_items(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Items as a checked frame: id, prompt, response, then doc_id, model and what else is there.

    `doc_id` says which items speak of the same document; diagnosis treats documents, not rows,
    as exchangeable. `columns` maps our names to the file's.

    >>> read_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})["id"][0]
    '1'
    """
    frame, name = load(source, LAYOUT, columns=columns, expected="items")
    return check_items(frame, name)


def check_items(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame as items, or a DataError that names `name` and the row."""
    frame = checked(frame, LAYOUT, name, expected="items")
    refuse_duplicates(frame, ["id"], name, "give every item its own id")
    return frame


def iter_items(source: TableLike, *, columns: Mapping[str, str] | None = None) -> Iterator[Item]:
    """Items one at a time, in bounded memory for files of any length; checked as in read_items.

    >>> next(iter_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})).id
    '1'
    """
    with SeenIds(source_name(source), "item") as seen:
        for row, needed, known, rest in known_rows(source, "items", _REQUIRED, _OPTIONAL, columns):
            seen.add(needed["id"], row)
            yield Item(
                id=needed["id"],
                prompt=needed["prompt"],
                response=needed["response"],
                doc_id=known["doc_id"],
                model=known["model"],
                extra=rest,
            )
