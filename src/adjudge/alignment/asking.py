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
from adjudge.judges.interface import Backend, Judge, JudgeProtocol
from adjudge.judges.judge import make_judge, parse_protocol
from adjudge.judges.judging import JudgingRun, plan_options, run_options
from adjudge.judges.options import JudgingOptions
from adjudge.judges.summary import JudgingPlan
from adjudge.records import MEASURED, Subject
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import FloatArray

#: With more errors than this among its rows, a judge cannot be measured.
_MOST_ERRORS = 0.1
AGAIN = "run the same command again to resume"


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
    #: By candidate and row id: whether the verdict is the label; no verdict counts as wrong.
    correct: dict[Candidate, dict[str, bool]] = field(default_factory=dict)
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

    def make_judge(self, candidate: Candidate) -> Judge:
        """The judge that is asked in this way."""
        protocol = parse_protocol(
            self.protocol,
            prompt=candidate.prompt,
            reason=candidate.reason or None,
            demonstrations=list(candidate.demonstrations) or None,
            **self.options,
        )
        return make_judge(self.judge, protocol)

    def refusal_of(self, candidate: Candidate) -> str | None:
        """Why the judge cannot be asked in this way; None if it can."""
        try:
            self.make_judge(candidate)
        except AdjudgeError as error:
            return str(error)
        return None

    def ask(
        self, candidate: Candidate, rows: Sequence[Labelled], *, needed: bool = True
    ) -> Answers:
        """Ask about these rows. Replies that are stored are not asked again."""
        protocol = self.make_judge(candidate).protocol
        answers = _read(self.run([row.subject for row in rows], self.judge, protocol))
        if needed and answers.too_many_errors:
            raise JudgeError(f"{answers.too_many_errors}; repair the judge and {AGAIN}")
        correct = {row.id: answers.verdicts[row.id] == row.label for row in rows}
        self.correct.setdefault(candidate, {}).update(correct)
        return answers

    def right(self, candidate: Candidate, rows: Sequence[Labelled]) -> FloatArray:
        """The share of right verdicts of a candidate that was asked, for each question."""
        codes, questions = cluster_codes([row.question for row in rows])
        correct = [self.correct[candidate][row.id] for row in rows]
        sums = np.bincount(codes, weights=correct, minlength=questions)
        return np.asarray(sums / np.bincount(codes))

    def plan(
        self, subjects: Sequence[Subject], protocol: JudgeProtocol, backend: Backend | None = None
    ) -> JudgingPlan:
        """What asking about these subjects would take, without stored replies."""
        options = replace(self.running, judge=backend or self.judge, protocol=protocol, store=None)
        return plan_options(subjects, options)

    def run(
        self, subjects: Sequence[Subject], backend: Backend, protocol: JudgeProtocol
    ) -> JudgingRun:
        """Ask a backend, within what is left of `max_cost`."""
        left = self.running.max_cost
        if left is not None:
            left -= self.spent or 0.0
            if left <= 0:
                raise _stopped("max_cost")
        asked = {"judge": backend, "protocol": protocol, "max_cost": left, "stop": Stop()}
        run = run_options(list(subjects), replace(self.running, **asked))
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


def _stopped(reason: str) -> JudgeError:
    return JudgeError(f"stopped ({reason}) before there is a result: replies are kept; {AGAIN}")


def _read(run: JudgingRun) -> Answers:
    frame, summary = run.judgments, run.summary
    column = "verdict" if "verdict" in frame.columns else "judge"
    verdicts, doubts = {}, {}
    columns = frame.select("id", "status", column, "uncertainty")
    for name, status, verdict, doubt in columns.iter_rows():
        measured = status in MEASURED and verdict is not None
        verdicts[name] = str(verdict) if measured else None
        doubts[name] = math.inf if doubt is None else float(doubt)
    errors = summary.statuses.get("error", 0)
    too_many = f"{errors} of {summary.rows} rows are errors"
    cost = None if summary.cost is None else summary.cost / summary.rows
    failed = errors > _MOST_ERRORS * summary.rows
    return Answers(frame, verdicts, doubts, too_many if failed else None, cost)
