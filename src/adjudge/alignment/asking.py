"""Judge and proposer, asked through the ordinary runner; what they answer and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


@dataclass
class Asking:
    """Asks the judge and the proposer, and counts what they cost together."""

    options: JudgingOptions
    #: By candidate and row id.
    verdicts: dict[Candidate, dict[str, str | None]] = field(default_factory=dict)
    spent: float | None = 0.0
    #: Calls and cost of every row. Halving asks again, from the store: each counts once.
    _rows: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def totals(self) -> tuple[int, float | None]:
        """Calls and cost of all replies, also of earlier runs; None if a price is unknown."""
        calls, cost = (math.fsum(column) for column in zip(*self._rows.values(), strict=True))
        return round(calls), None if self.spent is None else cost

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

    def ask(self, candidate: Candidate, rows: Sequence[Labelled]) -> JudgingRun:
        """Ask about these rows. Replies that are stored are not asked again."""
        run = self.run([row.subject for row in rows], self.options_for(candidate))
        frame = run.judgments
        column = pl.col("verdict" if "verdict" in frame.columns else "judge").cast(pl.String)
        self.verdicts.setdefault(candidate, {}).update(frame.select("id", column).iter_rows())
        return run

    def must_ask(self, candidate: Candidate, rows: Sequence[Labelled]) -> JudgingRun:
        """Ask; too many errors of the server stop the search."""
        run = self.ask(candidate, rows)
        if errors := errors_in(run):
            raise JudgeError(f"{errors}; repair the judge and {AGAIN}")
        return run

    def is_right(self, candidate: Candidate, row: Labelled) -> bool:
        """Whether the verdict is the label; no verdict counts as wrong."""
        return self.verdicts[candidate][row.id] == row.label

    def right(self, candidate: Candidate, rows: Sequence[Labelled]) -> FloatArray:
        """The share of right verdicts of a candidate that was asked, for each question."""
        codes, questions = cluster_codes([row.question for row in rows])
        right = [self.is_right(candidate, row) for row in rows]
        sums = np.bincount(codes, weights=right, minlength=questions)
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


def errors_in(run: JudgingRun) -> str | None:
    """Too many errors to measure the judge; None otherwise."""
    errors, rows = run.summary.statuses.get("error", 0), run.summary.rows
    return f"{errors} of {rows} rows are errors" if errors > _MOST_ERRORS * rows else None
