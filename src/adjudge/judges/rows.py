"""From kept replies to rows: the judgments of a run, in input order, and what they add up to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from adjudge.errors import DataError
from adjudge.judges.interface import Judge
from adjudge.judges.prices import Price
from adjudge.judges.runner import Work, prepare
from adjudge.judges.subjects import Subject, carried
from adjudge.records import MEASURED, STATUSES, Judgment, Pair, Score
from adjudge.store.interface import Call
from adjudge.store.thread import StoreThread

Row = dict[str, Any]
_BATCH = 128

_JUDGMENT_COLUMNS = (
    "id",
    "judge",
    "protocol",
    "status",
    "p_fwd",
    "p_rev",
    "p_a",
    "uncertainty",
    "verdict",
    "judge_fingerprint",
    "tokens",
    "cost",
    "detail",
    "label",
)
_SCORE_COLUMNS = (
    "id",
    "doc_id",
    "model",
    "criterion",
    "judge",
    "protocol",
    "status",
    "judge_score",
    "score_probs",
    "judge_fingerprint",
    "tokens",
    "cost",
    "detail",
)


@dataclass(slots=True)
class RowTally:
    """Running counts over the rows of a run."""

    subjects: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    incomplete: int = 0
    first_slot: float = 0.0
    orders: int = 0
    agreed: int = 0
    labelled: int = 0
    undecided: int = 0
    cost: float = 0.0

    def add(self, row: Row) -> None:
        """Count one row."""
        self.rows += 1
        self.statuses[row["status"]] += 1
        self.cost += row["cost"] or 0.0
        for column, sign in (("p_fwd", 1.0), ("p_rev", -1.0)):
            p = row.get(column)
            if p is not None:
                # p is about response_a, which is shown first in p_fwd and second in p_rev.
                lean = sign * (p - 0.5)
                self.first_slot += 1.0 if lean > 0 else 0.5 if lean == 0 else 0.0
                self.orders += 1
        self.undecided += row.get("p_a") is not None and row["verdict"] is None
        if row.get("verdict") is not None and row.get("label") in ("A", "B"):
            self.labelled += 1
            self.agreed += row["verdict"] == row["label"]

    @property
    def measured(self) -> int:
        """Rows that carry a number."""
        return sum(self.statuses[status] for status in MEASURED)

    def by_status(self) -> dict[str, int]:
        """Row counts in the order of the statuses, zeros left out."""
        return {name: self.statuses[name] for name in STATUSES if self.statuses[name]}


async def rows_of(
    judge: Judge,
    subjects: Iterable[Subject],
    store: StoreThread,
    *,
    price: Price | None,
    tally: RowTally,
    complete: bool,
    source: str,
) -> AsyncIterator[list[Row]]:
    """The rows of all subjects in input order, in batches, read from the store.

    A subject without all its replies has no row: after a run that was stopped it counts as
    incomplete; after one that ran to its end it means that the input changed meanwhile.
    """
    remaining = iter(subjects)
    while batch := await asyncio.to_thread(_prepared, judge, remaining):
        keys = [work.key for calls in batch for work in calls]
        kept = await store.do(lambda opened, keys=keys: opened.lookup(keys))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        made: list[Row] = []
        for calls in batch:
            found = [kept.get(work.key) for work in calls]
            replies = [call for call in found if call is not None]
            if len(replies) < len(found):
                if complete:
                    raise DataError(
                        source,
                        f"changed while it was judged (id {calls[0].subject.id!r})",
                        remedy="run the same command again",
                    )
                tally.incomplete += 1
                continue
            made += _rows(judge, calls, replies, price)
        for row in made:
            tally.add(row)
        yield made


def _prepared(judge: Judge, subjects: Iterator[Subject]) -> list[list[Work]]:
    return [prepare(judge, subject) for subject in islice(subjects, _BATCH)]


def _rows(
    judge: Judge, calls: Sequence[Work], kept: Sequence[Call], price: Price | None
) -> list[Row]:
    subject = calls[0].subject
    given = judge.protocol.judge(subject, [call.reply for call in kept])
    rows = []
    for position, record in enumerate(given):
        row = _row(judge, subject, record)
        if row["tokens"] is None:
            own = [call for call in kept if call.slot and call.slot == row.get("criterion")]
            # Rows that share their calls: the calls are counted once, on the first.
            own = own or (list(kept) if position == 0 else [])
            row["tokens"], row["cost"] = _spent(own, price)
        rows.append(row)
    return rows


def _spent(calls: Sequence[Call], price: Price | None) -> tuple[int | None, float | None]:
    prompt = [call.reply.prompt_tokens for call in calls if call.reply.prompt_tokens is not None]
    completion = [
        call.reply.completion_tokens for call in calls if call.reply.completion_tokens is not None
    ]
    if not prompt and not completion:
        return None, None
    cost = None if price is None else price.of(sum(prompt), sum(completion))
    return sum(prompt) + sum(completion), cost


def _row(judge: Judge, subject: Subject, record: Judgment | Score) -> Row:
    columns = _JUDGMENT_COLUMNS if isinstance(record, Judgment) else _SCORE_COLUMNS
    row: Row = {name: getattr(record, name) for name in columns}
    row["judge"] = record.judge or judge.backend.name
    row["judge_fingerprint"] = record.judge_fingerprint or judge.fingerprint
    if isinstance(subject, Pair) and isinstance(record, Judgment) and record.label is None:
        row["label"] = subject.label
    if isinstance(record, Score) and record.score_probs is not None:
        row["score_probs"] = list(record.score_probs)
    for name, value in {**carried(subject), **record.extra}.items():
        # A column of the input that is called like one of ours keeps its value under a name
        # that says whose it is.
        row[f"input_{name}" if name in columns else name] = value
    return row
