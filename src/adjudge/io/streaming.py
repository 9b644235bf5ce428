"""Rows as records, one at a time in bounded memory, with the checks of pairs and items."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from adjudge.errors import DataError
from adjudge.io.cells import Column, write_nested
from adjudge.io.columns import Layout, absent_column
from adjudge.io.conversations import from_text
from adjudge.io.formats import refuse_public
from adjudge.io.json_files import Record
from adjudge.io.made_ids import IdMaker, hashed_columns
from adjudge.io.names import remark_names
from adjudge.io.refusals import quote
from adjudge.io.tables import NamedRows, TableLike, iter_rows, labels_as_of, source_name
from adjudge.io.words import is_missing, read_word, word_refusal


def check_rows(
    source: TableLike,
    layout: Layout,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Iterator[tuple[dict[str, Any], Record]]:
    """The declared columns of every row as text or None, and the rest of the row unchanged.

    A missing required value, an unknown choice and a repeated id are refused. Columns are named as
    in `Layout.load`; a row without an id gets one.
    """
    name = source_name(source)
    names = _Names(layout, name, dict(columns or {}), matched=isinstance(source, NamedRows))
    said = {str(word): ours for word, ours in (labels_as or labels_as_of(source)).items()}
    parts = [(column.name, column, column.can_say_nothing) for column in layout.columns]
    chosen = [column for column in layout.columns if column.choices is not None]
    maker = IdMaker()
    content: list[str] = []
    with SeenIds(name, layout.kind.removesuffix("s")) as seen:
        for row, record in enumerate(iter_rows(source), start=1):
            names.apply(record)
            if row == 1:
                content = [] if "id" in record else hashed_columns(layout.required)
            known: dict[str, Any] = {}
            for ours, column, optional in parts:
                value = record.pop(ours, None)
                # Most values are text that is taken as it is.
                if value is not None and (
                    optional or type(value) is not str or value.startswith("[{")
                ):
                    value = _text(value, row, column, name)
                if value is None and column.required and (ours != "id" or not content):
                    remedy = "fill it in every row"
                    raise DataError(name, "is empty", row=row, column=ours, remedy=remedy)
                known[ours] = value
            for column in chosen:
                _read_words(known, column, said, row, name)
            if known["id"] is None:
                known["id"] = maker.make([known[text] for text in content])
            seen.add(known["id"], row)
            yield known, record
    names.finish()
    if content:
        maker.remark(name, content)


class _Names:
    """The column names of a stream; a later line of JSON can have a new column."""

    def __init__(
        self, layout: Layout, source: str, theirs: dict[str, str], *, matched: bool
    ) -> None:
        self._layout = layout
        self._source = source
        self._theirs = theirs
        self._matched = matched
        self._here: dict[str, None] = {}
        self._taken: dict[str, str] = {}
        self._renamed = _other_names(theirs)

    def apply(self, record: Record) -> None:
        """Rename the columns of a row in place; a replaced value is kept as `*_given`."""
        if not self._matched and not record.keys() <= self._here.keys():
            self._look(record)
        for ours, their in self._renamed:
            if their in record:
                if ours in record:
                    record[f"{ours}_given"] = record[ours]
                record[ours] = record.pop(their)

    def finish(self) -> None:
        """Refuse a column that the caller named and no row has."""
        if not self._matched:
            self._require(self._theirs)

    def _look(self, record: Record) -> None:
        first = not self._here
        self._here.update(dict.fromkeys(record))
        if first and not self._theirs:
            refuse_public(record, self._layout.kind, self._source)
        taken = self._layout.match(list(self._here), self._source, given=self._theirs)
        new = {ours: their for ours, their in taken.items() if ours not in self._taken}
        self._taken.update(new)
        self._renamed += _other_names(new)
        if first:
            self._require([ours for ours in self._theirs if ours in self._layout.required])
            self._layout.require(list(record), self._source, {**self._theirs, **taken})
        remark_names(self._source, new)

    def _require(self, named: Collection[str]) -> None:
        for their in (self._theirs[ours] for ours in named):
            if their not in self._here:
                raise absent_column(their, list(self._here), self._source)


def _other_names(theirs: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(ours, their) for ours, their in theirs.items() if ours != their]


def _read_words(
    known: dict[str, Any], column: Column, labels_as: Mapping[str, str], row: int, name: str
) -> None:
    """A word of the row as one of its column's choices; other words are refused."""
    value = known[column.name]
    if column.choices is None or value is None:
        return
    if column.words is not None and (labels_as or value not in column.choices):
        models = known.get("model_a"), known.get("model_b")
        known[column.name] = value = read_word(value, column.words, labels_as, models)
    if value is None or value in column.choices:
        return
    problem, remedy = "{} is not known", column.choice_remedy
    if column.words is not None:
        problem, remedy = word_refusal(value, column.words, remedy)
    problem = problem.replace("{}", quote(value))
    raise DataError(name, problem, row=row, column=column.name, remedy=remedy)


def _text(value: Any, row: int, column: Column, name: str) -> str | None:
    if value is None or (column.can_say_nothing and is_missing(value)):
        return None
    if not isinstance(value, str):
        if isinstance(value, (dict, list)):
            return write_nested(value, row, column, name)
        if isinstance(value, float) and math.isnan(value):
            return None
        if isinstance(value, float) and math.isinf(value):
            problem, remedy = f"{quote(value)} is not text", "leave it empty if it is missing"
            raise DataError(name, problem, row=row, column=column.name, remedy=remedy)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        value = str(value).lower() if isinstance(value, bool) else str(value)
    return from_text(value) if column.spoken else str(value)


class SeenIds:
    """Refuses a repeated id, even a hundred million rows later.

    The ids are in a private temporary database on disk, which SQLite deletes when it is closed.
    """

    def __init__(self, name: str, thing: str) -> None:
        self._name = name
        self._thing = thing
        # "" is that private database. A reader can run in another thread.
        self._ids = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID")
        self._ids.execute("BEGIN")

    def __enter__(self) -> SeenIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()

    def add(self, key: str, row: int) -> None:
        """Store one id; refuse it if it was seen before."""
        try:
            self._ids.execute("INSERT INTO seen VALUES (?, ?)", (key, row))
        except sqlite3.IntegrityError:
            before = self._ids.execute("SELECT at FROM seen WHERE id = ?", (key,)).fetchone()[0]
            raise DataError(
                self._name,
                f"id {quote(key)} is also the id of row {before}",
                row=row,
                column="id",
                remedy=f"give every {self._thing} its own id",
            ) from None
