"""Judge and proposer, asked through the ordinary runner; what they answer and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge.alignment.candidates import Candidate
from adjudge.alignment.parts import Labelled
from adjudge.errors import AdjudgeError, JudgeError
from adjudge.judges.flow import Stop
from adjudge.judges.interface import Backend, JudgeProtocol
from adjudge.judges.judge import make_judge
from adjudge.judges.judging import JudgingRun, plan_options, run_options
from adjudge.judges.options import JudgingOptions
from adjudge.judges.summary import JudgingPlan
from adjudge.records import MEASURED, Subject
from adjudge.validation import FloatArray

#: With more errors than this among its rows, a judge cannot be measured.
_MOST_ERRORS = 0.1


@dataclass(frozen=True)
class Answers:
    """The verdicts of one way of asking, by row id, with their doubts; what a row costs."""

    frame: pl.DataFrame
    verdicts: Mapping[str, str | None]
    doubts: Mapping[str, float]
    too_many_errors: str | None
    cost: float | None


@dataclass
class Asking:
    """Asks the judge and the proposer, and counts what they cost together."""

    judge: Backend
    protocol: str
    options: Mapping[str, Any]
    running: JudgingOptions
    #: By candidate and row id: 1 where the verdict is the label; no verdict counts as wrong.
    correct: dict[Candidate, dict[str, float]] = field(default_factory=dict)
    spent: float | None = 0.0
    #: Calls and cost of every row. Halving asks again, from the store: each counts once.
    _rows: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        return round(math.fsum(calls for calls, _ in self._rows.values()))

    @property
    def cost(self) -> float | None:
        """The cost of all replies, those of an earlier run too; None if a price is unknown."""
        return None if self.spent is None else math.fsum(cost for _, cost in self._rows.values())

    def ask(
        self, candidate: Candidate, rows: Sequence[Labelled], *, needed: bool = True
    ) -> Answers:
        """Ask about these rows. Replies that are stored are not asked again."""
        run = self.run([row.subject for row in rows], self.judge, self._protocol(candidate))
        answers = _read(run)
        if needed and answers.too_many_errors:
            remedy = "repair the judge and run the same command again to resume"
            raise JudgeError(f"{answers.too_many_errors}; {remedy}")
        verdicts = answers.verdicts
        right = {row.subject.id: float(verdicts[row.subject.id] == row.label) for row in rows}
        self.correct.setdefault(candidate, {}).update(right)
        return answers

    def right(self, candidate: Candidate, rows: Sequence[Labelled]) -> FloatArray:
        """1 where the verdict of a candidate that was asked is the label."""
        return np.array([self.correct[candidate][row.subject.id] for row in rows])

    def refusal_of(self, candidate: Candidate) -> str | None:
        """Why the judge cannot be asked in this way; None if it can."""
        try:
            make_judge(self.judge, self._protocol(candidate))
        except AdjudgeError as error:
            return str(error)
        return None

    def describe(self, candidate: Candidate) -> str:
        """The judge that a candidate is, with the beginning of its fingerprint."""
        fingerprint = make_judge(self.judge, self._protocol(candidate)).fingerprint
        return f"{self.judge.name}, {candidate.name} {fingerprint[:12]}"

    def plan(
        self,
        subjects: Sequence[Subject],
        protocol: Candidate | JudgeProtocol,
        backend: Backend | None = None,
    ) -> JudgingPlan:
        """What asking about these subjects would take, without stored replies."""
        if isinstance(protocol, Candidate):
            protocol = self._protocol(protocol)
        options = replace(self.running, judge=backend or self.judge, protocol=protocol, store=None)
        return plan_options(list(subjects), options)

    def run(
        self, subjects: Sequence[Subject], backend: Backend, protocol: JudgeProtocol
    ) -> JudgingRun:
        left = self.running.max_cost
        if left is not None:
            left -= self.spent or 0.0
            if left <= 0:
                raise _stopped("max_cost")
        options = replace(
            self.running, judge=backend, protocol=protocol, max_cost=left, stop=Stop()
        )
        run = run_options(list(subjects), options)
        summary = run.summary
        spent = summary.cost_this_run
        self.spent = None if spent is None or self.spent is None else self.spent + spent
        if summary.stopped is not None:
            raise _stopped(summary.stopped)
        calls = (summary.calls_made + summary.reused) / len(subjects)
        settings = repr(sorted(protocol.settings().items()))
        for name, cost in run.judgments.select("id", "cost").iter_rows():
            self._rows[settings, name] = calls, cost or 0.0
        return run

    def _protocol(self, candidate: Candidate) -> JudgeProtocol:
        return candidate.protocol(self.protocol, self.options)


def _stopped(reason: str) -> JudgeError:
    again = "run the same command again to resume"
    return JudgeError(f"stopped ({reason}) before there is a result: replies are kept; {again}")


def _read(run: JudgingRun) -> Answers:
    frame, summary = run.judgments, run.summary
    column = "verdict" if "verdict" in frame.columns else "judge"
    verdicts, doubts = {}, {}
    for name, status, verdict, doubt in frame.select(
        "id", "status", column, "uncertainty"
    ).iter_rows():
        measured = status in MEASURED and verdict is not None
        verdicts[name] = str(verdict) if measured else None
        doubts[name] = math.inf if doubt is None else float(doubt)
    errors = summary.statuses.get("error", 0)
    too_many = None
    if errors > _MOST_ERRORS * summary.rows:
        too_many = f"{errors} of {summary.rows} rows are errors"
    cost = None if summary.cost is None else summary.cost / summary.rows
    return Answers(frame, verdicts, doubts, too_many, cost)
