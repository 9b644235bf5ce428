"""From stored replies to rows: the judgments of a run, in input order, and their counts.

Several judges can be asked in stages, each only about what those before it left open. A function of
the rows so far, which a cascade provides, returns for each subject whether it is settled.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Literal

import polars as pl

from adjudge.data.columns import input_name
from adjudge.data.shown import SHOWN_TEXTS, hashes_of
from adjudge.data.turns import CUT_CHARACTERS
from adjudge.data.writing import Row, Schema
from adjudge.errors import ArgumentError
from adjudge.judges.interface import Judge, Record
from adjudge.judges.prices import Price
from adjudge.judges.subjects import OpenSubjects, Spool, question_of
from adjudge.records import (
    ALIGNMENT_PART,
    CERTIFY,
    MEASURED,
    STATUSES,
    Grade,
    Judgment,
    Pair,
    Reply,
    Score,
    Subject,
)
from adjudge.store.tables import (
    CALL_ID,
    SERVED_MODEL,
    SLOT,
    CallRow,
    PlainReply,
    decode_reply,
    plain_reply,
)

_COLUMNS: dict[type, tuple[str, ...]] = {
    kind: tuple(entry.name for entry in fields(kind) if entry.name != "extra")
    for kind in (Judgment, Score, Grade)
}
#: Reads the values of these columns in one call.
_VALUES = {kind: attrgetter(*columns) for kind, columns in _COLUMNS.items()}
#: Columns of a subject, other than its texts, that its rows keep.
_OF_PAIR = ("prompt_id", "model_a", "model_b")
_OF_ITEM = ("model", "doc_id")
_NUMBERS = (
    *("p_fwd", "p_rev", "p_a", "p_tie", "p_pass", "uncertainty", "answer_mass", "cost"),
    *("judge_score", "human"),
)
#: A subject after a stage: settled, or open because of doubt or because the judge failed.
Outcome = Literal["settled", "doubt", "failure"]
#: Returns the outcomes of some subjects from their rows, one per stage so far.
StopRule = Callable[[Sequence[Subject], Sequence[Sequence[Row]]], Sequence[Outcome]]


def schema_of(judge: Judge) -> Schema:
    """Types of our columns, which must not be inferred from rows that are empty."""
    record = judge.protocol.record
    types = {
        **dict.fromkeys(_NUMBERS, pl.Float64),
        "tokens": pl.Int64,
        "score_probs": pl.List(pl.Float64),
        **({"judge": pl.Int64} if record is Grade else {}),
    }
    schema = {name: types.get(name, pl.String) for name in (*_COLUMNS[record], SHOWN_TEXTS)}
    return {**schema, "repeat": pl.Int64} if judge.is_repeated else schema


@dataclass(slots=True)
class RowCounts:
    """Running counts over the rows of a run, of kind `record`; `incomplete` subjects have none."""

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
    servers: Counter[str] = field(default_factory=Counter)
    served_models: Counter[str] = field(default_factory=Counter)
    cost: float = 0.0

    def add(self, row: Row) -> None:
        self.rows += 1
        self.statuses[row["status"]] += 1
        self.cost += row["cost"] or 0.0
        for column, counts in (("server", self.servers), ("served_model", self.served_models)):
            if name := row.get(column):
                counts[name] += 1
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
        return sum(self.statuses[status] for status in MEASURED)

    def by_status(self) -> dict[str, int]:
        """Row counts in the order of the statuses, zeros left out."""
        return {name: self.statuses[name] for name in STATUSES if self.statuses[name]}


class RowMaker:
    """Makes the rows of one judge from what the store keeps.

    Nearly all replies of a long run are plain: their row is made from log probabilities alone.
    Every other row is made by the protocol's `judge`. Rows of questions that alignments keep to
    `certify` are marked.
    """

    def __init__(
        self, judge: Judge, *, price: Price | None, store: str, certify: Container[str] = ()
    ) -> None:
        self._judge = judge
        self._certify = certify
        self._price = price
        self._store = store
        record = judge.protocol.record
        columns = _COLUMNS[record]
        self._of_pair = tuple(name for name in _OF_PAIR if name not in columns)
        self._of_item = tuple(name for name in _OF_ITEM if name not in columns)
        repeat = ("repeat",) if judge.is_repeated else ()
        self._ours = {*columns, *judge.protocol.columns, *repeat, "served_model", SHOWN_TEXTS}
        self._plain: Row | None = None
        if record is Judgment and not judge.is_repeated:
            self._plain = {
                **dict.fromkeys(columns),
                "judge": judge.backend.name,
                "protocol": judge.protocol.name,
                "judge_fingerprint": judge.fingerprint,
            }

    def rows_of(self, subject: Subject, calls: Sequence[CallRow]) -> list[Row]:
        """The rows about one subject, from the rows of its calls in the store."""
        plain = self._plain_row(subject, calls)
        if plain is not None:
            return [plain]
        replies = [decode_reply(row, self._store) for row in calls]
        slots = [row[SLOT] for row in calls]
        each = len(replies) // self._judge.repeats
        rows: list[Row] = []
        for at, repeat in enumerate(self._judge.repeat_numbers):
            start = at * each
            span = slice(start, start + each)
            asked = list(zip(replies[span], slots[span], strict=True))
            judged = _of_one_model(replies[span])
            for position, record in enumerate(self._judge.protocol.judge(subject, judged)):
                row = self._row(subject, record)
                if self._judge.is_repeated:
                    row["repeat"] = repeat
                by_slot = [reply for reply, slot in asked if slot and slot == row.get("criterion")]
                # Rows can share their calls: the calls are counted once, on the first row.
                counted = by_slot or (replies[span] if position == 0 else [])
                self._finish(row, replies[span], counted)
                rows.append(row)
        return rows

    def _plain_row(self, subject: Subject, calls: Sequence[CallRow]) -> Row | None:
        if self._plain is None or not isinstance(subject, Pair):
            return None
        replies = [reply for row in calls if (reply := plain_reply(row)) is not None]
        if len(replies) < len(calls) or len(models_of(replies)) > 1:
            return None
        numbers = self._judge.protocol.judge_plain(replies)
        if numbers is None:
            return None
        row = {**self._plain, **numbers, "id": subject.id, "label": subject.label}
        self._finish(row, replies, replies)
        self._add_columns(row, subject)
        return row

    def _row(self, subject: Subject, record: Record) -> Row:
        judge = self._judge
        columns = _COLUMNS[type(record)]
        row: Row = dict(zip(columns, _VALUES[type(record)](record), strict=True))
        name_column = "judge_name" if isinstance(record, Grade) else "judge"
        row[name_column] = row[name_column] or judge.backend.name
        row["judge_fingerprint"] = record.judge_fingerprint or judge.fingerprint
        if isinstance(subject, Pair) and isinstance(record, Judgment) and record.label is None:
            row["label"] = subject.label
        if isinstance(record, Score) and record.score_probs is not None:
            row["score_probs"] = list(record.score_probs)
        self._add_columns(row, subject)
        row.update(record.extra)
        return row

    def _finish(
        self, row: Row, replies: Sequence[Reply | PlainReply], counted: Sequence[Reply | PlainReply]
    ) -> None:
        """Add the server of the replies, and the tokens of the `counted` ones."""
        if not row["server"]:
            named = {reply.server for reply in replies if reply.server}
            row["server"] = ", ".join(sorted(named)) if named else None
        if models := models_of(replies):
            row["served_model"] = " and ".join(models)
        if row["tokens"] is not None:
            return
        read = [r.prompt_tokens for r in counted if r.prompt_tokens is not None]
        wrote = [r.completion_tokens for r in counted if r.completion_tokens is not None]
        if read or wrote:
            row["tokens"] = sum(read) + sum(wrote)
            if self._price is not None:
                row["cost"] = self._price.of_replies(counted)

    def _add_columns(self, row: Row, subject: Subject) -> None:
        """Add the columns of a subject that its rows keep: all except the texts and the id.

        Of the texts they keep the hashes: labels of other texts with the same id are not theirs.
        """
        names = self._of_pair if isinstance(subject, Pair) else self._of_item
        columns = {n: value for n in names if (value := getattr(subject, n)) is not None}
        columns |= subject.extra
        if self._judge.protocol.record is Grade:
            columns.pop("human", None)  # read by the protocol
        for name, value in columns.items():
            # An input column with the name of one of our columns keeps its value under a name
            # that shows its origin.
            ours = name in self._ours
            row[input_name(name, {*columns, *self._ours}) if ours else name] = value
        # Of a run people see all, and the judge what fits.
        row[SHOWN_TEXTS] = None if CUT_CHARACTERS in subject.extra else hashes_of(subject)
        if self._certify and question_of(subject) in self._certify:
            row[ALIGNMENT_PART] = CERTIFY


def models_of(replies: Sequence[Reply | PlainReply]) -> list[str]:
    """The models that answered, as far as servers state them."""
    return sorted({reply.served_model for reply in replies if reply.served_model})


def _of_one_model(replies: Sequence[Reply]) -> Sequence[Reply]:
    """The replies of one row; errors if several models gave them, which are several judges."""
    models = models_of(replies)
    if len(models) < 2:
        return replies
    error = f"answered by different models: {' and '.join(models)}"
    return [replace(reply, status="error", error=error) for reply in replies]


def outdated_calls(
    keys: Sequence[str], stored: Mapping[str, CallRow], repeats: int, *, until: int | None = None
) -> set[str]:
    """Which calls of one subject to ask again: if several models answered for one row, those of all
    but the latest model in what is stored (`until` a call id)."""
    rows = [(key, stored[key]) for key in keys if key in stored]
    latest = {
        key: (row[CALL_ID], row[SERVED_MODEL])
        for key, row in rows
        if row[SERVED_MODEL] and (until is None or row[CALL_ID] <= until)
    }
    if len({model for _, model in latest.values()}) < 2:
        return set()
    each = len(keys) // repeats
    outdated = set()
    for start in range(0, len(keys), each):
        calls = {key: latest[key] for key in keys[start : start + each] if key in latest}
        _, last = max(calls.values(), default=(0, None))
        outdated |= {key for key, (_, model) in calls.items() if model != last}
    return outdated


class Stages:
    """The stages of one run: which subjects continue after each stage, and why."""

    def __init__(self, rule: StopRule, judges: Sequence[Judge]) -> None:
        for judge in judges:
            if judge.protocol.record not in (Judgment, Grade):
                remedy = "a cascade needs verdicts on pairs, or grades"
                raise ArgumentError("protocol", judge.protocol.name, remedy)
            if judge.is_repeated:
                remedy = "a cascade asks only once: leave it out"
                raise ArgumentError("repeats", judge.repeats, remedy)
        self._rule = rule
        self._history: Spool[list[Row]] | None = None
        self.outcomes: list[Counter[Outcome]] = []

    async def settle(
        self, subjects: OpenSubjects, batches: AsyncIterator[tuple[list[Row], int]]
    ) -> OpenSubjects:
        """Those of a stage's subjects that stay open; `batches` are the rows of what was asked."""
        earlier = iter(self._history or ())
        history = Spool[list[Row]]()
        left = set[str]()
        outcomes: Counter[Outcome] = Counter()
        remaining = iter(subjects)
        # Rows, subjects and the rows of earlier stages are all in input order.
        async for rows, _ in batches:
            ways = [[row] for row in rows]
            for way in ways if self._history is not None else ():
                way[:0] = next(before for before in earlier if before[-1]["id"] == way[0]["id"])
            asked = [next(s for s in remaining if s.id == row["id"]) for row in rows]
            decided = self._rule(asked, ways)
            outcomes.update(decided)
            for outcome, subject, way in zip(decided, asked, ways, strict=True):
                if outcome != "settled":
                    left.add(subject.id)
                    history.append(way)
        self.close()
        self._history = history
        self.outcomes.append(outcomes)
        return subjects.keep(left)

    def close(self) -> None:
        if self._history is not None:
            self._history.close()
        self._history = None
