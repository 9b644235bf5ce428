"""Copy one store into another: SQLite to PostgreSQL and back, in pages, safe to repeat.

A row that the target has is not changed. If the target has another row for the same key, such as
another answer to the same question, that is a conflict: the target's row is kept and counted. Rows
get new numbers in the target; their order is the source's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import ClassVar, TypeVar

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Headline, table_of
from adjudge.present.result import Result, frozen
from adjudge.present.text import count, number
from adjudge.store.interface import Call, Served, Store

T = TypeVar("T")
#: Rows compared in one step: all are in memory, with their raw replies.
_PAGE = 200


@dataclass(frozen=True, kw_only=True)
class CopiedTable:
    """Rows of one table: copied, already there, and those that differ from the target's, which
    is kept. For calls, a conflict is one question with two histories."""

    table: str
    added: int
    same: int
    conflicts: int


@frozen
class StoreCopy(Result):
    """All content of one store copied to another; repeating it changes nothing."""

    kind: ClassVar[str] = "store_copy"
    rows_in: ClassVar[str] = "tables"

    source: str
    target: str
    tables: tuple[CopiedTable, ...]

    @property
    def added(self) -> int:
        """Rows that the target did not have."""
        return sum(table.added for table in self.tables)

    @property
    def conflicts(self) -> int:
        """Rows that differ, and were not copied."""
        return sum(table.conflicts for table in self.tables)

    def view(self) -> list[Block]:
        return view_store_copy(self)


class _Counts:
    """The counts for one table."""

    def __init__(self, table: str) -> None:
        self._table = table
        self.added = self.same = self.conflicts = 0

    def compare(self, ours: object, theirs: object) -> None:
        """Count a row that the target already has."""
        if ours == theirs:
            self.same += 1
        else:
            self.conflicts += 1

    def result(self) -> CopiedTable:
        return CopiedTable(
            table=self._table, added=self.added, same=self.same, conflicts=self.conflicts
        )


def copy_rows(source: Store, target: Store) -> StoreCopy:
    """Copy judges, prompts, calls, labels, served rows and monitors; returns the counts."""
    if source.store_id is not None and source.store_id == target.store_id:
        raise ArgumentError("target", target.name, "this is the source: give another store")
    tables = (
        _copy_judges(source, target),
        _copy_prompts(source, target),
        _copy_calls(source, target),
        _copy_labels(source, target),
        _copy_served(source, target),
        _copy_monitors(source, target),
    )
    return StoreCopy(
        source=source.name, target=target.name, tables=tuple(one.result() for one in tables)
    )


def _copy_judges(source: Store, target: Store) -> _Counts:
    counts, known = _Counts("judges"), target.judges()
    for fingerprint, judge in _missing(source.judges(), known, counts):
        target.remember_judge(
            fingerprint, judge=judge.judge, protocol=judge.protocol, parts=judge.parts
        )
    return counts


def _copy_prompts(source: Store, target: Store) -> _Counts:
    counts = _Counts("prompts")
    for sha256, prompt in _missing(source.prompts(), target.prompts(), counts):
        target.remember_prompt(sha256, prompt)
    return counts


def _copy_monitors(source: Store, target: Store) -> _Counts:
    counts = _Counts("monitors")
    for name, state in _missing(source.monitors(), target.monitors(), counts):
        target.keep_monitor(name, state)
    return counts


def _missing(
    source: Mapping[str, T], target: Mapping[str, T], counts: _Counts
) -> Iterator[tuple[str, T]]:
    for key, value in source.items():
        if key in target:
            counts.compare(value, target[key])
        else:
            counts.added += 1
            yield key, value


def _copy_calls(source: Store, target: Store) -> _Counts:
    """Copy calls one by one; a history that extends the target's history is continued."""
    counts = _Counts("calls")
    for page in _pages(source.calls()):
        keys = [call.call_key for call in page]
        ours, theirs = source.histories(keys), target.histories(keys)
        new: list[Call] = []
        for key in keys:
            rest = _continuation(_unnumbered(ours[key]), _unnumbered(theirs.get(key, [])))
            if rest is None:
                counts.conflicts += 1
                continue
            new += rest
            counts.added += len(rest)
            counts.same += len(ours[key]) - len(rest)
        target.save(new)
    return counts


def _unnumbered(history: Sequence[Call]) -> list[Call]:
    return [replace(call, call_id=None) for call in history]


def _continuation(ours: Sequence[Call], theirs: Sequence[Call]) -> Sequence[Call] | None:
    """The part of a history that the target lacks; None if the two histories differ."""
    shared = min(len(ours), len(theirs))
    return ours[shared:] if ours[:shared] == theirs[:shared] else None


def _copy_labels(source: Store, target: Store) -> _Counts:
    """Copy events one by one; an undo refers to the number of its event in the target."""
    counts = _Counts("label_events")
    known = {event.nonce: event for event in target.label_events()}
    numbers: dict[int | None, int | None] = {None: None}
    for page in _pages(source.label_events()):
        with target.transaction():
            for event in page:
                # In a damaged store the undone click can be missing.
                click = replace(event, event=0, undoes=numbers.get(event.undoes))
                there = known.get(event.nonce)
                if there is None:
                    numbers[event.event] = target.add_label_event(click)
                    counts.added += 1
                else:
                    numbers[event.event] = there.event
                    counts.compare(click, replace(there, event=0))
    return counts


def _copy_served(source: Store, target: Store) -> _Counts:
    counts = _Counts("served")
    for page in _pages(source.served()):
        there: dict[tuple[str, str], Served] = {}
        for rules_id in {row.rules_id for row in page}:
            names = [row.subject_id for row in page if row.rules_id == rules_id]
            for row in target.served(rules_id, names):
                there[rules_id, row.subject_id] = replace(row, number=0)
        new = [row for row in page if (row.rules_id, row.subject_id) not in there]
        for row in page:
            kept = there.get((row.rules_id, row.subject_id))
            if kept is not None:
                counts.compare(replace(row, number=0), kept)
        for _, rows in groupby(new, key=lambda row: row.rules_id):
            counts.added += len(target.add_served(rows))
    return counts


def _pages(rows: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(rows)
    while page := list(islice(remaining, _PAGE)):
        yield page


def view_store_copy(copy: StoreCopy) -> list[Block]:
    """How many rows were copied, then table by table."""
    rows = count(copy.added, "row")
    headline = Headline(f"{rows} copied from {copy.source} to {copy.target}")
    if copy.conflicts:
        headline = Headline(
            f"{headline.text}; {count(copy.conflicts, 'conflict')}",
            f"{copy.target} has another row in their place, and keeps it.",
            tone="bad",
        )
    table = table_of(
        copy.tables,
        {
            "table": lambda part: part.table,
            "copied": lambda part: number(part.added),
            "there already": lambda part: number(part.same),
            "conflicts": lambda part: number(part.conflicts),
        },
    )
    return [headline, table]
