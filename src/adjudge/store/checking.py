"""Check a store, and copy what can be read of a damaged file.

The file is only read. SQLite has no checksums. Damage to its structure is detected, and damage to a
row if it no longer decodes or its key does not match its question. A call has a digest of all its
values, so an edited reply or a changed byte is detected; calls of older versions have none.
"""

# ruff: noqa: S608  (what is put into statements is names of our own tables and columns, and marks)
from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, get_args

from adjudge.atomic import replacing
from adjudge.errors import ArgumentError, StoreError, StoreMissingError
from adjudge.hashing import call_key
from adjudge.present.blocks import Block, Columns, Fact, Facts, Headline, notes_of, table_of
from adjudge.present.result import Result, frozen
from adjudge.present.text import count, number
from adjudge.records import Order, SampledBy
from adjudge.store import tables
from adjudge.store.labels import KNOWN_LABELS
from adjudge.store.sqlite import (
    SQLiteStore,
    connect_to_read,
    explain,
    file_of,
    reason_of,
    take_step,
)
from adjudge.store.tables import LEDGER, READ_COLUMNS, Migration, call_of, digest_of, pending


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """Rows of one table: readable ones and damaged ones.

    `damaged` is None if not even the number of rows can be read. `example` describes the first
    damaged one.
    """

    table: str
    rows: int
    damaged: int | None
    example: str | None = None


@frozen
class StoreCheck(Result):
    """The state of a store. `problems` are SQLite's messages about the file, a line each."""

    kind: ClassVar[str] = "store_check"
    rows_in: ClassVar[str] = "tables"

    store: str
    schema: str
    up_to_date: bool
    problems: tuple[str, ...]
    tables: tuple[StoredTable, ...]
    rescued: str | None = None
    rescued_rows: int | None = None

    @property
    def damaged(self) -> bool:
        """Whether anything in the file differs from what adjudge wrote, if it can be checked."""
        return bool(self.problems) or any(table.damaged != 0 for table in self.tables)

    def view(self) -> list[Block]:
        schema = (
            "up to date" if self.up_to_date else "older: a run that writes brings it up to date"
        )
        damage = [f"SQLite: {problem}" for problem in self.problems[:_MOST_SHOWN]]
        if len(self.problems) > _MOST_SHOWN:
            damage.append(f"and {len(self.problems) - _MOST_SHOWN:,} more of this kind")
        damage += [f"{table.table}, {table.example}" for table in self.tables if table.example]
        columns: Columns[StoredTable] = {
            "table": lambda table: table.table,
            "rows": lambda table: number(table.rows),
            "damaged": lambda table: number(table.damaged),
        }
        facts = Facts([Fact("schema", self.schema, schema)])
        notes = notes_of(damage, tone="bad")
        blocks = [self._headline(), facts, *notes, table_of(self.tables, columns)]
        if self.rescued is not None:
            copied = f"{number(self.rescued_rows)} rows copied to {self.rescued}"
            blocks += notes_of([f"{copied}; use it with --store, and keep the damaged file"])
        return blocks

    def _headline(self) -> Headline:
        rows = {table.table: table.rows for table in self.tables}
        events = count(rows.get("label_events", 0), "label event")
        held = f"{count(rows.get('calls', 0), 'call')} and {events}"
        if not self.damaged:
            return Headline(f"{self.store}: {held}, no damage detected")
        action = f"Copy what can be read: adjudge store check {self.store} --rescue NEW.db"
        if self.rescued is not None:
            action = (
                "What is lost is asked again when you run the same command with the rescued store."
            )
        return Headline(f"{self.store} is damaged: {held} can be read", action, tone="bad")


Row = dict[str, Any]
#: The number of a row, the row, and what is wrong with it, if anything.
Checked = tuple[Any, Row, str | None]
_MOST_PROBLEMS = 10
_MOST_SHOWN = 3
_ROWS_AT_ONCE = 2000
#: The size of the shortest row, to bound their number if it cannot be read.
_FEWEST_BYTES = 100
#: Tables about running processes; they are not rescued.
_OF_PROCESSES = ("owners", "claims")
#: The columns of JSON in tables whose rows are not decoded here.
_JSON = {"judges": "parts", "prompts": "answer", "served": "content", "monitors": "state"}
#: The allowed values of a column, if they are a list.
_ALLOWED = {
    "action": ("label", "skip", "undo", "recount"),
    "label": (None, *KNOWN_LABELS),
    "shown_order": (None, *get_args(Order)),
    "sampled_by": (None, *get_args(SampledBy)),
}


def check_file(place: str | Path, *, rescue: str | Path | None = None) -> StoreCheck:
    """Read everything in an SQLite file, count it and report damage."""
    path = file_of(str(place))
    if path is None or not path.is_file() or not path.stat().st_size:
        raise StoreMissingError(f"{place}: no such store; check the path")
    if rescue is not None and Path(rescue).exists():
        raise ArgumentError("rescue", str(rescue), "this file exists; name a new one")
    try:
        with closing(connect_to_read(path)) as db:
            # A truncated file can then be read up to its end; only for this connection.
            db.execute("PRAGMA writable_schema = ON")
            reading = _Reading(db, path)
            check = reading.check(str(place))
            return check if rescue is None else reading.rescue(check, Path(rescue))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or "malformed" in str(error):
            raise StoreError(
                f"{place}: nothing in it can be read ({error}); restore it from a backup"
            ) from None
        raise explain(error, str(place)) from None


def count_rows(table: str, rows: Iterable[Checked]) -> StoredTable:
    """Count the readable rows of a table and the damaged ones."""
    sound = damaged = 0
    example = None
    for key, _, fault in rows:
        if fault is None:
            sound += 1
        else:
            damaged += 1
            example = example or f"row {key}: {fault}"
    return StoredTable(table=table, rows=sound, damaged=damaged, example=example)


class _Reading:
    """One pass over a file, row by row if a page cannot be read."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path
        self._tables = {
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if LEDGER not in self._tables:
            raise StoreError(f"{path}: is not a database of adjudge; choose another store")
        # If the list of migrations cannot be read, the current tables are assumed.
        self._columns = _columns(tables.MIGRATIONS)
        names = [row["name"] for _, row, fault in self._rows(LEDGER) if fault is None]
        self._ledger_damaged = not names or None in names
        self._missing = () if self._ledger_damaged else pending(names, path)
        self._steps = tables.MIGRATIONS[: len(tables.MIGRATIONS) - len(self._missing)]
        self._columns = _columns(self._steps)

    def check(self, place: str) -> StoreCheck:
        return StoreCheck(
            store=place,
            schema=self._steps[-1].name if self._steps else "",
            up_to_date=not self._missing,
            problems=self._problems(),
            tables=tuple(map(self._table, self._tables_of_rows())),
        )

    def rescue(self, check: StoreCheck, path: Path) -> StoreCheck:
        """Copy every row that decodes, with its number, into a store of the same schema."""
        with replacing(path) as partial:
            with closing(sqlite3.connect(partial, isolation_level=None)) as new:
                new.execute("BEGIN")
                for position, step in enumerate(self._steps, 1):
                    take_step(new, step, position)
                rows = sum(self._copy(table, new) for table in self._tables_of_rows())
                new.execute("COMMIT")
            SQLiteStore(partial).close()  # migrates it
        return replace(check, rescued=str(path), rescued_rows=rows)

    def _copy(self, table: str, new: sqlite3.Connection) -> int:
        """Copy all valid rows except duplicates; returns their number."""
        copied = 0
        for _, row, fault in self._checked_rows(table):
            if fault is not None:
                continue
            if not copied:
                new.execute(f"DELETE FROM {table}")  # a new store has its own identity
            columns = ", ".join(row)
            marks = ", ".join("?" * len(row))
            copied += new.execute(
                f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", list(row.values())
            ).rowcount
        return copied

    def _tables_of_rows(self) -> list[str]:
        """Tables with rows to keep, judges before calls."""
        return [name for name in self._columns if name not in (*_OF_PROCESSES, LEDGER)]

    def _problems(self) -> tuple[str, ...]:
        try:
            report = self._db.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
        except sqlite3.DatabaseError as error:
            return (reason_of(error),)
        lines = [line for (text,) in report for line in str(text).splitlines()]
        problems = [line for line in lines if line != "ok" and not line.startswith("***")]
        if self._ledger_damaged:
            problems.append("the list of migrations cannot be read")
        return tuple(problems)

    def _table(self, table: str) -> StoredTable:
        stored = count_rows(table, self._checked_rows(table))
        return stored if self._last_row(table) is not None else replace(stored, damaged=None)

    def _checked_rows(self, table: str) -> Iterator[Checked]:
        """All rows, decoded, each number once."""
        filled = [name for name, required in self._columns[table].items() if required]
        latest = -1
        for rowid, row, fault in self._rows(table):
            if fault is None and rowid <= latest:
                fault = "its number is out of order"
            elif fault is None:
                empty = next((name for name in filled if row[name] is None), None)
                fault = fault_of(table, row) if empty is None else f"{empty} is empty"
            if fault is None:
                latest = rowid
            yield rowid, row, fault

    def _rows(self, table: str) -> Iterator[Checked]:
        """All rows; those that cannot be read have no columns."""
        if table not in self._tables:
            yield 0, {}, "the table is missing"
            return
        last = self._last_row(table)
        if last is None:
            last = self._path.stat().st_size // _FEWEST_BYTES
        for first in range(0, last + 1, _ROWS_AT_ONCE):
            yield from self._between(table, first, min(first + _ROWS_AT_ONCE - 1, last))

    def _between(self, table: str, first: int, last: int) -> Iterator[Checked]:
        # By position: column names are text in the file and can be damaged too.
        query = f"SELECT rowid, * FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        names = list(self._columns[table])
        try:
            rows = self._db.execute(query, (first, last)).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if first == last:
                yield first, {}, reason_of(error)
                return
            middle = (first + last) // 2
            yield from self._between(table, first, middle)
            yield from self._between(table, middle + 1, last)
            return
        for rowid, *values in rows:
            if len(values) == len(names):
                yield rowid, dict(zip(names, values, strict=True)), None
            else:
                yield rowid, {}, f"it has {len(values)} columns instead of {len(names)}"

    def _last_row(self, table: str) -> int | None:
        try:
            (last,) = self._db.execute(f"SELECT MAX(rowid) FROM {table}").fetchone()
        except sqlite3.DatabaseError:
            return None
        return int(last or 0)


def _columns(steps: Sequence[Migration]) -> dict[str, dict[str, bool]]:
    """The tables of these migrations, judges before calls: column -> must be filled."""
    with closing(sqlite3.connect(":memory:")) as db:
        for position, step in enumerate(steps, 1):
            take_step(db, step, position)
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            table: {
                name: bool(required or key)
                for _, name, _, required, _, key in db.execute(f"PRAGMA table_info({table})")
            }
            for (table,) in tables
        }


def fault_of(table: str, row: Mapping[str, Any]) -> str | None:
    """What is wrong with a row, or None: values are allowed, JSON is valid, keys match."""
    try:
        if table in _JSON:
            json.loads(row[_JSON[table]])
        elif table == "calls":
            call = call_of([row.get(name) for name in READ_COLUMNS])
            key = call_key(
                call.judge_fingerprint, call.content_hash, call.order, call.repeat, call.slot
            )
            if key != call.call_key:
                return "its key does not match its question"
            digest = digest_of([row.get(name) for name in READ_COLUMNS[1:]])
            if row.get("digest") not in (None, digest):
                return "it is not as it was written: it was edited, or a byte changed"
        elif table == "label_events":
            for column, allowed in _ALLOWED.items():
                if row[column] not in allowed:
                    return f"{column} is {row[column]!r}"
    except (ValueError, TypeError) as error:
        return str(error)
    return None
