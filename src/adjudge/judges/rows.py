"""From stored replies to rows: the judgments of a run, in input order, and their counts."""

from __future__ import annotations

import asyncio
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from operator import attrgetter, methodcaller

import polars as pl

from adjudge.errors import StoreError
from adjudge.io.columns import input_name
from adjudge.io.writing import Row, Schema
from adjudge.judges.calls import CallList
from adjudge.judges.interface import Judge, Record
from adjudge.judges.prices import Price
from adjudge.records import MEASURED, STATUSES, Grade, Judgment, Pair, Score, Subject
from adjudge.store.interface import Call
from adjudge.store.thread import StoreThread

_BATCH = 128
_COLUMNS: dict[type, tuple[str, ...]] = {
    kind: tuple(entry.name for entry in fields(kind) if entry.name != "extra")
    for kind in (Judgment, Score, Grade)
}
#: Reads the values of these columns in one call.
_VALUES = {kind: attrgetter(*columns) for kind, columns in _COLUMNS.items()}
_NUMBERS = (
    *("p_fwd", "p_rev", "p_a", "p_tie", "p_pass", "uncertainty", "answer_mass", "cost"),
    *("judge_score", "human"),
)


def schema_of(judge: Judge) -> Schema:
    """Types of our columns, which must not be inferred from rows that are empty."""
    record = judge.protocol.record
    types = {
        **dict.fromkeys(_NUMBERS, pl.Float64),
        "tokens": pl.Int64,
        "score_probs": pl.List(pl.Float64),
        **({"judge": pl.Int64} if record is Grade else {}),
    }
    schema = {name: types.get(name, pl.String) for name in _COLUMNS[record]}
    return schema if judge.repeats == 1 else {**schema, "repeat": pl.Int64}


@dataclass(slots=True)
class RowCounts:
    """Running counts over the rows of a run; `incomplete` subjects have no row.

    `record` is the kind of the rows. A scored item can have columns with these names too; they
    belong to the user.
    """

    record: type[Record] = Judgment
    rows: int = 0
    incomplete: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    first_slot: float = 0.0
    orders: int = 0
    agreed: int = 0
    labelled: int = 0
    undecided: int = 0
    ties: int = 0
    masses: array[float] = field(default_factory=lambda: array("d"))
    cost: float = 0.0

    def add(self, rows: Sequence[Row], *, incomplete: int) -> None:
        """Count a batch of rows, and the subjects without one."""
        self.incomplete += incomplete
        for row in rows:
            self._add(row)

    def _add(self, row: Row) -> None:
        self.rows += 1
        self.statuses[row["status"]] += 1
        self.cost += row["cost"] or 0.0
        if row["answer_mass"] is not None:
            self.masses.append(row["answer_mass"])
        if self.record is Grade:
            self._compare(row["p_pass"], row["judge"], row["human"], (0, 1))
        if self.record is not Judgment:
            return
        for column, sign in (("p_fwd", 1.0), ("p_rev", -1.0)):
            p = row[column]
            if p is not None:
                # p is about response_a, which is shown first in p_fwd and second in p_rev.
                lean = sign * (p - 0.5)
                self.first_slot += 1.0 if lean > 0 else 0.5 if lean == 0 else 0.0
                self.orders += 1
        self.ties += row["verdict"] == "tie"
        self._compare(row["p_a"], row["verdict"], row["label"], ("A", "B"))

    def _compare(
        self, p: float | None, verdict: object, label: object, words: tuple[object, object]
    ) -> None:
        self.undecided += p is not None and verdict is None
        if verdict in words and label in words:
            self.labelled += 1
            self.agreed += verdict == label

    @property
    def measured(self) -> int:
        """Rows with a usable score."""
        return sum(self.statuses[status] for status in MEASURED)

    def by_status(self) -> dict[str, int]:
        """Row counts in the order of the statuses, zeros left out."""
        return {name: self.statuses[name] for name in STATUSES if self.statuses[name]}


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows, their subjects, and the number of other subjects without a row."""

    rows: list[Row]
    subjects: list[Subject]
    incomplete: int


async def make_rows(
    judge: Judge,
    subjects: Iterable[Subject],
    calls: CallList,
    store: StoreThread,
    *,
    price: Price | None,
    complete: bool,
) -> AsyncIterator[RowBatch]:
    """The rows of all subjects in input order, in batches, read from the store.

    Each batch has the number of subjects whose replies are incomplete. They have no row. After a
    stopped run they were not asked; after a `complete` run there are none.
    """
    remaining = calls.with_keys(iter(subjects))
    while batch := await asyncio.to_thread(lambda: list(islice(remaining, _BATCH))):
        keys = [key for _, own in batch for key in own]
        kept: dict[str, Call] = await store.do(methodcaller("lookup", keys))
        rows: list[Row] = []
        asked: list[Subject] = []
        incomplete = 0
        for subject, own in batch:
            answered = [kept[key] for key in own if key in kept]
            if len(answered) == len(own):
                asked.append(subject)
                each = len(own) // judge.repeats
                for repeat in range(judge.repeats):
                    replies = answered[repeat * each : (repeat + 1) * each]
                    rows += _subject_rows(judge, subject, replies, price, repeat)
            elif complete:
                raise StoreError(
                    f"the store has lost a reply about {subject.id!r}; run the same command again"
                )
            else:
                incomplete += 1
        yield RowBatch(rows, asked, incomplete)


def _subject_rows(
    judge: Judge, subject: Subject, calls: Sequence[Call], price: Price | None, repeat: int
) -> list[Row]:
    rows = []
    records = judge.protocol.judge(subject, [call.reply for call in calls])
    for position, record in enumerate(records):
        row = _row(judge, subject, record)
        if judge.repeats > 1:
            row["repeat"] = repeat
        row["server"] = row["server"] or _servers(calls)
        if row["tokens"] is None:
            own = [call for call in calls if call.slot and call.slot == row.get("criterion")]
            # Rows can share their calls: the calls are counted once, on the first row.
            own = own or (list(calls) if position == 0 else [])
            row["tokens"], row["cost"] = _spent(own, price)
        rows.append(row)
    return rows


def _servers(calls: Sequence[Call]) -> str | None:
    """The names of the server programs that answered."""
    named = sorted({call.reply.server for call in calls if call.reply.server})
    return ", ".join(named) or None


def _spent(calls: Sequence[Call], price: Price | None) -> tuple[int | None, float | None]:
    replies = [call.reply for call in calls]
    prompt = [reply.prompt_tokens for reply in replies if reply.prompt_tokens is not None]
    written = [reply.completion_tokens for reply in replies if reply.completion_tokens is not None]
    if not prompt and not written:
        return None, None
    cost = None if price is None else price.of(sum(prompt), sum(written))
    return sum(prompt) + sum(written), cost


def _row(judge: Judge, subject: Subject, record: Record) -> Row:
    columns = _COLUMNS[type(record)]
    row: Row = dict(zip(columns, _VALUES[type(record)](record), strict=True))
    name_column = "judge_name" if isinstance(record, Grade) else "judge"
    row[name_column] = row[name_column] or judge.backend.name
    row["judge_fingerprint"] = record.judge_fingerprint or judge.fingerprint
    if isinstance(subject, Pair) and isinstance(record, Judgment) and record.label is None:
        row["label"] = subject.label
    if isinstance(record, Score) and record.score_probs is not None:
        row["score_probs"] = list(record.score_probs)
    given = _input_columns(subject, columns)
    if isinstance(record, Grade):
        given.pop("human", None)  # read by the protocol
    if given:
        ours = {*columns, *judge.protocol.columns, *(("repeat",) if judge.repeats > 1 else ())}
        for name, value in given.items():
            # An input column with the name of one of our columns keeps its value under a name
            # that shows its origin.
            row[input_name(name, {*given, *ours}) if name in ours else name] = value
    row.update(record.extra)
    return row


def _input_columns(subject: Subject, ours: Sequence[str]) -> dict[str, object]:
    """The columns of a subject that its rows keep: all except the texts and the id."""
    names = [n for n in ("prompt_id", "model_a", "model_b", "model", "doc_id") if n not in ours]
    known = {name: getattr(subject, name, None) for name in names}
    return {name: value for name, value in known.items() if value is not None} | dict(subject.extra)
