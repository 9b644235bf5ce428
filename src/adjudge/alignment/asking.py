"""Asking the judge and the proposer of an alignment: verdicts, calls, cost, and what failed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from adjudge.alignment.candidates import OWN, Candidate
from adjudge.alignment.parts import Labelled
from adjudge.errors import AdjudgeError, JudgeError
from adjudge.judges.flow import Stop
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions
from adjudge.judges.runner import FirstReplies
from adjudge.judges.subjects import call_keys
from adjudge.records import Subject
from adjudge.statistics.numbers import cluster_codes
from adjudge.store import use_store
from adjudge.validation import FloatArray

#: With more errors than this among its rows, a judge cannot be measured.
_MOST_ERRORS = 0.1
#: What to do after an error.
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
        calls = math.fsum(calls for calls, _ in self._rows.values())
        cost = math.fsum(cost for _, cost in self._rows.values())
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
        # A run that goes on after a kill has other first replies: the trial decides, not they.
        options = replace(self.options_for(candidate), keep_going=candidate.name != OWN)
        run = self.run([row.subject for row in rows], options)
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
        try:
            run = run_options(list(subjects), replace(options, max_cost=left, stop=Stop()))
        except JudgeError:
            self._count_stored(subjects, options)
            raise
        summary = run.summary
        spent = summary.cost_this_run
        self.spent = None if spent is None or self.spent is None else self.spent + spent
        if summary.stopped is not None:
            raise _stopped(summary.stopped)
        calls = (summary.calls_made + summary.reused) / len(subjects)
        for name, cost in run.judgments.select("id", "cost").iter_rows():
            self._rows[summary.judge_fingerprint, name] = calls, cost or 0.0
        return run

    def _count_stored(self, subjects: Sequence[Subject], options: JudgingOptions) -> None:
        """Count the replies of a run that failed: its server was asked, and is paid."""
        judge = options.make_judge()
        price = options.price_of(judge)
        with use_store(options.store) as store:
            for subject in subjects:
                histories = store.histories(call_keys(judge, subject)).values()
                replies = [calls[-1].reply for calls in histories if calls]
                cost = 0.0 if price is None else price.of_replies(replies)
                key = judge.fingerprint, subject.id
                _, before = self._rows.get(key, (0.0, 0.0))
                self._rows[key] = len(replies), cost
                if self.spent is not None:
                    self.spent += max(0.0, cost - before)


def useless_replies(run: JudgingRun) -> str | None:
    """Why none of these rows has a usable score, if all failed in a way that stays; else None."""
    statuses = run.summary.statuses
    if sum(statuses.get(name, 0) for name in FirstReplies.REASONS) < run.summary.rows:
        return None
    counts = ", ".join(f"{n} {name}" for name, n in statuses.items() if n)
    words = next((text for text in run.judgments["detail"] if text), None)
    first = f"the first {run.summary.rows} rows have no usable score ({counts})"
    return first + (f": {words}" if words else "")


def _stopped(reason: str) -> JudgeError:
    return JudgeError(f"stopped ({reason}) before there is a result: replies are kept; {AGAIN}")


def errors_in(run: JudgingRun) -> str | None:
    """Too many errors to measure the judge; None otherwise."""
    errors = run.summary.statuses.get("error", 0)
    rows = run.summary.rows
    return f"{errors} of {rows} rows are errors" if errors > _MOST_ERRORS * rows else None
