"""Rows as records, one at a time and in bounded memory: the checks that pairs and items share."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from adjudge.errors import DataError
from adjudge.io.columns import Column, Layout, write_nested
from adjudge.io.conversations import from_text
from adjudge.io.formats import other_format, refuse_public, wrong_format
from adjudge.io.json_files import Record
from adjudge.io.refusals import quote, shorten
from adjudge.io.tables import NamedRows, TableLike, iter_rows, source_name


def check_rows(
    source: TableLike, layout: Layout, columns: Mapping[str, str] | None
) -> Iterator[tuple[dict[str, Any], Record]]:
    """The declared columns of every row as text or None, and the rest of the row as it is.

    Refused are a missing required value, an unknown choice and an id that came before.
    """
    name = source_name(source)
    theirs = dict(columns or {})
    with SeenIds(name, layout.kind.removesuffix("s")) as seen:
        for row, record in enumerate(iter_rows(source), start=1):
            if row == 1 and not theirs and not isinstance(source, NamedRows):
                refuse_public(record, layout.kind, name)
            for ours, their in theirs.items():
                record[ours] = _move(record, ours, their, name)
            known: dict[str, Any] = {}
            for column in layout.columns:
                value = _text(record.pop(column.name, None), row, column, name)
                if value is None and column.required:
                    raise _missing({*record, *known}, row, column.name, layout, name)
                known[column.name] = value
            seen.add(known["id"], row)
            yield known, record


def _move(record: Record, ours: str, their: str, name: str) -> Any:
    if their not in record:
        here = "columns here: " + shorten(list(record))
        raise DataError(name, "is not there", column=their, remedy=here)
    if ours in record and ours != their:
        record[f"{ours}_given"] = record[ours]
    return record.pop(their)


def _missing(here: set[str], row: int, column: str, layout: Layout, name: str) -> DataError:
    other = None
    if row == 1:
        other = other_format(here, layout.kind, layout.required, layout.names)
    if other is not None:
        return wrong_format(other, layout.kind, name)
    remedy = f"fill it in every row (columns here: {shorten(sorted(here))})"
    return DataError(name, "is missing", row=row, column=column, remedy=remedy)


def _text(value: Any, row: int, column: Column, name: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        if isinstance(value, (dict, list)):
            return write_nested(value, row, column, name)
        if isinstance(value, float) and not math.isfinite(value):
            problem, remedy = f"{quote(value)} is no text", "leave it empty where it is missing"
            raise DataError(name, problem, row=row, column=column.name, remedy=remedy)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        value = str(value).lower() if isinstance(value, bool) else str(value)
    if column.choices is not None and value not in column.choices:
        problem, remedy = f"{quote(value)} is not known", column.choice_remedy
        raise DataError(name, problem, row=row, column=column.name, remedy=remedy)
    return from_text(value) if column.spoken else str(value)


class SeenIds:
    """Refuses an id that comes twice, a hundred million rows later as well.

    The ids are in a private temporary database on disk, which SQLite deletes when it is closed.
    """

    def __init__(self, name: str, thing: str) -> None:
        self._name = name
        self._thing = thing
        # "" is that private database. A reader may run in a thread of its own.
        self._ids = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID")
        self._ids.execute("BEGIN")

    def __enter__(self) -> SeenIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()

    def add(self, key: str, row: int) -> None:
        """Remember one id; refuse it where it was seen before."""
        try:
            self._ids.execute("INSERT INTO seen VALUES (?, ?)", (key, row))
        except sqlite3.IntegrityError:
            before = self._ids.execute("SELECT at FROM seen WHERE id = ?", (key,)).fetchone()[0]
            raise DataError(
                self._name,
                f"id {quote(key)} is the id of row {before} too",
                row=row,
                column="id",
                remedy=f"give every {self._thing} its own id",
            ) from None
