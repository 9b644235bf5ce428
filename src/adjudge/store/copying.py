"""Copy one store into another: SQLite to PostgreSQL and back, in pages, safe to repeat.

A row that the target has is not changed. If the target has another row for the same key, such as
another answer to the same question, that is a conflict: the target's row is kept and counted. Rows
get new numbers in the target; their order is the source's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar, Literal, TypeVar

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Columns, Headline, table_of
from adjudge.present.result import Result, frozen
from adjudge.present.text import count, number
from adjudge.store.interface import Store
from adjudge.store.tables import Call, KnownJudge, pages

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
        sentence = f"{count(self.added, 'row')} copied from {self.source} to {self.target}"
        headline = Headline(sentence)
        if self.conflicts:
            headline = Headline(
                f"{sentence}; {count(self.conflicts, 'conflict')}",
                f"{self.target} has another row in their place, and keeps it.",
                tone="bad",
            )
        columns: Columns[CopiedTable] = {
            "table": lambda table: table.table,
            "copied": lambda table: number(table.added),
            "there already": lambda table: number(table.same),
            "conflicts": lambda table: number(table.conflicts),
        }
        return [headline, table_of(self.tables, columns)]


Counts = Counter[Literal["added", "same", "conflicts"]]


def copy_rows(source: Store, target: Store) -> StoreCopy:
    """Copy judges, prompts, calls, labels, served rows and monitors; returns the counts."""
    if source.store_id is not None and source.store_id == target.store_id:
        raise ArgumentError("target", target.name, "this is the source: give another store")

    def remember_judge(fingerprint: str, judge: KnownJudge) -> None:
        target.remember_judge(fingerprint, **judge._asdict())

    # Judges and prompts before the calls that refer to them.
    judges = _copy_missing(source.judges(), target.judges(), remember_judge)
    prompts = _copy_missing(source.prompts(), target.prompts(), target.remember_prompt)
    counts = {
        "judges": judges,
        "prompts": prompts,
        "calls": _copy_calls(source, target),
        "label_events": _copy_labels(source, target),
        "served": _copy_served(source, target),
        "monitors": _copy_missing(source.monitors(), target.monitors(), target.keep_monitor),
    }
    copied = (
        CopiedTable(table=name, added=n["added"], same=n["same"], conflicts=n["conflicts"])
        for name, n in counts.items()
    )
    return StoreCopy(source=source.name, target=target.name, tables=tuple(copied))


def _copy_missing(
    source: Mapping[str, T], target: Mapping[str, T], add: Callable[[str, T], None]
) -> Counts:
    counts: Counts = Counter()
    for key, value in source.items():
        if key in target:
            counts["same" if value == target[key] else "conflicts"] += 1
        else:
            counts["added"] += 1
            add(key, value)
    return counts


def _copy_calls(source: Store, target: Store) -> Counts:
    """Copy calls one by one; a history that extends the target's history is continued."""
    counts: Counts = Counter()
    for page in pages(source.calls(), _PAGE):
        keys = [call.call_key for call in page]
        ours = _histories(source, keys)
        theirs = _histories(target, keys)
        new: list[Call] = []
        for key in keys:
            history = ours[key]
            copied = theirs.get(key, [])
            shared = min(len(history), len(copied))
            if history[:shared] != copied[:shared]:
                counts["conflicts"] += 1
                continue
            new += history[shared:]
            counts["added"] += len(history) - shared
            counts["same"] += shared
        target.save(new)
    return counts


def _histories(store: Store, keys: list[str]) -> dict[str, list[Call]]:
    """The calls of each key, without their numbers in this store."""
    histories = store.histories(keys).items()
    return {key: [replace(call, call_id=None) for call in history] for key, history in histories}


def _copy_labels(source: Store, target: Store) -> Counts:
    """Copy events one by one; an undo refers to the number of its event in the target."""
    counts: Counts = Counter()
    copied = {event.nonce: event for event in target.label_events()}
    numbers: dict[int | None, int | None] = {None: None}
    for page in pages(source.label_events(), _PAGE):
        with target.transaction():
            for event in page:
                # In a damaged store the undone click can be missing.
                click = replace(event, event=0, undoes=numbers.get(event.undoes))
                if (copy := copied.get(event.nonce)) is None:
                    numbers[event.event] = target.add_label_event(click)
                    counts["added"] += 1
                else:
                    numbers[event.event] = copy.event
                    counts["same" if click == replace(copy, event=0) else "conflicts"] += 1
    return counts


def _copy_served(source: Store, target: Store) -> Counts:
    counts: Counts = Counter()
    for page in pages(source.served(), _PAGE):
        for rules_id, rows in groupby(page, key=lambda row: row.rules_id):
            ours = {row.subject_id: replace(row, number=0) for row in rows}
            for row in target.served(rules_id, list(ours)):
                same = ours.pop(row.subject_id) == replace(row, number=0)
                counts["same" if same else "conflicts"] += 1
            counts["added"] += len(target.add_served(ours.values()))
    return counts
