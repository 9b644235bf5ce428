"""Pairs: two responses to one prompt, as a frame or streamed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, cast

import polars as pl

from adjudge.errors import DataError
from adjudge.io._schema import Column, checked, listed, load, refuse_duplicates, shown
from adjudge.io.tables import TableLike, iter_rows, source_name
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
    frame, name = load(source, LAYOUT, columns=columns)
    frame = checked(frame, LAYOUT, name)
    refuse_duplicates(frame, ["id"], name, "give every pair its own id")
    return frame


def iter_pairs(source: TableLike, *, columns: Mapping[str, str] | None = None) -> Iterator[Pair]:
    """Pairs one at a time, in bounded memory for files of any length; same checks as read_pairs.

    The ids seen are kept in a temporary database on disk, so that a duplicate is found a
    hundred million rows later as well.
    """
    name = source_name(source)
    theirs = dict(columns or {})
    with _SeenIds(name) as seen:
        for row, record in enumerate(iter_rows(source), start=1):
            pair = _pair({**record, **_moved(record, theirs, name)}, row, name)
            seen.add(pair.id, row)
            yield pair


def _moved(record: Mapping[str, Any], theirs: Mapping[str, str], name: str) -> dict[str, Any]:
    for ours, other in theirs.items():
        if other not in record and ours in _REQUIRED:
            raise DataError(
                name, "is not there", column=other, remedy="columns here: " + listed(list(record))
            )
    return {ours: record.get(other) for ours, other in theirs.items()}


def _pair(record: dict[str, Any], row: int, name: str) -> Pair:
    needed = {column: _text(record.pop(column, None), row, column, name) for column in _REQUIRED}
    for column, value in needed.items():
        if value is None:
            raise DataError(
                name,
                "is missing",
                row=row,
                column=column,
                remedy=f"fill it in every row (columns here: {listed(list(record))})",
            )
    known = {column: _text(record.pop(column, None), row, column, name) for column in _OPTIONAL}
    label = known.pop("label")
    if label is not None and label not in LABELS:
        raise DataError(
            name, f"{shown(label)} is not known", row=row, column="label", remedy="use A, B or tie"
        )
    return Pair(
        **cast(dict[str, str], needed),
        model_a=known["model_a"],
        model_b=known["model_b"],
        prompt_id=known["prompt_id"],
        label=cast(LabelValue | None, label),
        extra=record,
    )


def _text(value: Any, row: int, column: str, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        raise DataError(
            name, "holds a list or an object", row=row, column=column, remedy="write it as text"
        )
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


class _SeenIds:
    """Which ids have been seen, and where, without keeping them in memory."""

    def __init__(self, name: str) -> None:
        self._name = name
        # "" is a private database on disk that SQLite deletes; readers may run in a thread.
        self._ids = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID")
        self._ids.execute("BEGIN")

    def __enter__(self) -> _SeenIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()

    def add(self, key: str, row: int) -> None:
        """Remember one id; refuse it where it was seen before."""
        try:
            self._ids.execute("INSERT INTO seen VALUES (?, ?)", (key, row))
        except sqlite3.IntegrityError:
            found = self._ids.execute("SELECT at FROM seen WHERE id = ?", (key,)).fetchone()
            raise DataError(
                self._name,
                f"id {shown(key)} is the id of row {found[0]} too",
                row=row,
                column="id",
                remedy="give every pair its own id",
            ) from None
