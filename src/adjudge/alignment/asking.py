"""Judge and proposer, asked through the ordinary runner; what they answer and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from adjudge.alignment.candidates import Candidate
from adjudge.alignment.parts import Labelled
from adjudge.errors import AdjudgeError, JudgeError
from adjudge.judges.flow import Stop
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions
from adjudge.records import Subject
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import FloatArray

#: With more errors than this among its rows, a judge cannot be measured.
_MOST_ERRORS = 0.1
AGAIN = "run the same command again to resume"


@dataclass(frozen=True)
class Answers:
    """The rows of one way of asking, their verdicts by id, and what a row costs."""

    frame: pl.DataFrame
    verdicts: Mapping[str, str | None]
    too_many_errors: str | None
    cost: float | None


@dataclass
class Asking:
    """Asks the judge and the proposer, and counts what they cost together."""

    options: JudgingOptions
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

    def options_for(self, candidate: Candidate) -> JudgingOptions:
        """The options of a run that asks the judge in this way."""
        return replace(
            self.options,
            prompt=candidate.prompt,
            reason=candidate.reason or None,
            demonstrations=list(candidate.demonstrations) or None,
        )

    def refusal_of(self, candidate: Candidate) -> str | None:
        """Why the judge cannot be asked in this way; None if it can."""
        try:
            self.options_for(candidate).make_judge()
        except AdjudgeError as error:
            return str(error)
        return None

    def ask(
        self, candidate: Candidate, rows: Sequence[Labelled], *, needed: bool = True
    ) -> Answers:
        """Ask about these rows. Replies that are stored are not asked again."""
        run = self.run([row.subject for row in rows], self.options_for(candidate))
        frame, summary = run.judgments, run.summary
        column = pl.col("verdict" if "verdict" in frame.columns else "judge").cast(pl.String)
        verdicts = dict(frame.select("id", column).iter_rows())
        errors, too_many = summary.statuses.get("error", 0), None
        if errors > _MOST_ERRORS * summary.rows:
            too_many = f"{errors} of {summary.rows} rows are errors"
            if needed:
                raise JudgeError(f"{too_many}; repair the judge and {AGAIN}")
        correct = {row.id: verdicts[row.id] == row.label for row in rows}
        self.correct.setdefault(candidate, {}).update(correct)
        cost = None if summary.cost is None else summary.cost / summary.rows
        return Answers(frame, verdicts, too_many, cost)

    def right(self, candidate: Candidate, rows: Sequence[Labelled]) -> FloatArray:
        """The share of right verdicts of a candidate that was asked, for each question."""
        codes, questions = cluster_codes([row.question for row in rows])
        correct = [self.correct[candidate][row.id] for row in rows]
        sums = np.bincount(codes, weights=correct, minlength=questions)
        return np.asarray(sums / np.bincount(codes))

    def run(self, subjects: Sequence[Subject], options: JudgingOptions) -> JudgingRun:
        """Ask a judge or proposer, within what is left of `max_cost`."""
        left = options.max_cost
        if left is not None:
            left -= self.spent or 0.0
            if left <= 0:
                raise _stopped("max_cost")
        run = run_options(list(subjects), replace(options, max_cost=left, stop=Stop()))
        summary = run.summary
        spent = summary.cost_this_run
        self.spent = None if spent is None or self.spent is None else self.spent + spent
        if summary.stopped is not None:
            raise _stopped(summary.stopped)
        calls = (summary.calls_made + summary.reused) / len(subjects)
        for name, cost in run.judgments.select("id", "cost").iter_rows():
            self._rows[summary.judge_fingerprint, name] = calls, cost or 0.0
        return run


def _stopped(reason: str) -> JudgeError:
    return JudgeError(f"stopped ({reason}) before there is a result: replies are kept; {AGAIN}")
