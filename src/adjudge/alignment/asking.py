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
from adjudge.errors import JudgeError, UnusableRepliesError
from adjudge.judges.flow import Stop
from adjudge.judges.interface import Backend, JudgeProtocol
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions
from adjudge.records import MEASURED, Subject
from adjudge.validation import FloatArray

#: With more errors than this among its rows, the server is the problem, not the prompt.
_MOST_ERRORS = 0.1


@dataclass(frozen=True)
class Answers:
    """The verdicts of one way of asking, by row id: whether right, how sure, and the rows."""

    frame: pl.DataFrame
    correct: Mapping[str, float]
    verdicts: Mapping[str, str | None]
    doubts: Mapping[str, float]
    fingerprint: str
    cost: float | None

    def right(self, rows: Sequence[Labelled]) -> FloatArray:
        """1 where the verdict is the label; no verdict counts as wrong."""
        return np.array([self.correct.get(row.subject.id, 0.0) for row in rows])


@dataclass
class Asking:
    """Asks the judge and the proposer, and counts what they cost together."""

    judge: Backend
    protocol: str
    options: Mapping[str, Any]
    running: JudgingOptions
    max_cost: float | None
    calls: int = 0
    cost: float | None = 0.0
    answers: dict[Candidate, Answers] = field(default_factory=dict)
    _asked: set[tuple[str, str]] = field(default_factory=set)

    def ask(self, candidate: Candidate, rows: Sequence[Labelled]) -> Answers:
        """Ask about these rows. Replies that are stored are not asked again."""
        subjects = [row.subject for row in rows]
        run = self.run(subjects, self.judge, candidate.protocol(self.protocol, self.options))
        answers = _read(run, rows)
        self.answers[candidate] = answers
        return answers

    def can_ask(self, candidate: Candidate) -> bool:
        """Whether the judge can answer such questions."""
        return candidate.protocol(self.protocol, self.options).wants <= self.judge.wants

    def run(
        self, subjects: Sequence[Subject], backend: Backend, protocol: JudgeProtocol
    ) -> JudgingRun:
        left = None if self.max_cost is None else self.max_cost - (self.cost or 0.0)
        if left is not None and left <= 0:
            raise _stopped("max_cost")
        options = replace(
            self.running, judge=backend, protocol=protocol, max_cost=left, stop=Stop()
        )
        run = run_options(list(subjects), options)
        summary = run.summary
        # Halving asks about the same rows again, which costs nothing: each counts once.
        asked = {(repr(protocol.settings()), subject.id) for subject in subjects}
        each = (sum(summary.calls.values()) + summary.reused) / len(subjects)
        self.calls += round(each * len(asked - self._asked))
        self._asked |= asked
        spent = summary.cost_this_run
        self.cost = None if spent is None or self.cost is None else self.cost + spent
        if summary.stopped is not None:
            raise _stopped(summary.stopped)
        return run


def _stopped(reason: str) -> JudgeError:
    again = "run the same command again to resume"
    if reason == "max_cost":
        again = "run the same command with a higher --max-cost to resume"
    return JudgeError(f"stopped ({reason}) before there is a result: replies are kept; {again}")


def _read(run: JudgingRun, rows: Sequence[Labelled]) -> Answers:
    frame = run.judgments
    labels = {row.subject.id: row.label for row in rows}
    column = "verdict" if "verdict" in frame.columns else "judge"
    correct, verdicts, doubts = {}, {}, {}
    for name, status, verdict, doubt in frame.select(
        "id", "status", column, "uncertainty"
    ).iter_rows():
        measured = status in MEASURED and verdict is not None
        verdicts[name] = str(verdict) if measured else None
        correct[name] = float(verdicts[name] == labels[name])
        doubts[name] = math.inf if doubt is None else float(doubt)
    summary = run.summary
    errors = summary.statuses.get("error", 0)
    if errors > _MOST_ERRORS * max(1, summary.rows):
        raise UnusableRepliesError(
            f"{errors} of {summary.rows} rows are errors; repair the judge and run the same "
            "command again to resume"
        )
    cost = summary.cost
    per_row = None if cost is None or not summary.rows else cost / summary.rows
    return Answers(frame, correct, verdicts, doubts, summary.judge_fingerprint, per_row)
