"""How many labels give the mean of scores an interval of some width, with the judge and without."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.means import scale_of_scores
from adjudge.estimation.rate_view import RateResult
from adjudge.present.blocks import Block, Fact, Facts, Headline, Tone
from adjudge.present.result import Correlation, Count, Level, NotNegative, Positive, frozen
from adjudge.present.text import count, number
from adjudge.statistics.differences import FEWEST, labelled_mean
from adjudge.statistics.numbers import student_quantile

_ASSUMED = (
    "the spread of people's scores and the judge's correlation with them are those of these labels",
    "more labels are drawn at random from these rows",
)


@frozen
class MeanPlan(RateResult):
    """How many of these rows to label for an interval of the mean of scores, as `estimate` has it.

    `labels` is None if even all rows are too few (`reason`). `width_of_all` is the width if every
    row is labelled.
    """

    kind: ClassVar[str] = "plan_mean"

    target_width: Positive | None = None
    confidence_level: Level
    labels: Count | None = None
    labels_without_judge: Count | None = None
    expected_width: NotNegative | None = None
    human_only_width: NotNegative | None = None
    width_of_all: NotNegative
    spread: NotNegative
    correlation: Correlation | None
    n: Count
    labelled: Count
    reason: str | None = None
    assumptions: tuple[str, ...] = _ASSUMED
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether some number of labels reaches the width."""
        return self.labels is not None

    def can_draw(self, draw: str) -> bool:
        """Whether rows drawn in this way can be used: a mean needs random ones."""
        return draw == "random" and self.feasible

    def needed(self, draw: str) -> int | None:
        """Labels in all, drawn at random."""
        return self.labels if draw == "random" else None

    def view(self) -> list[Block]:
        """The labels that the width costs, and what all rows would give."""
        tone: Tone = "plain" if self.feasible else "bad"
        text = f"Width {number(self.target_width, 2)} cannot be reached: {self.reason}"
        facts = [Fact("if all are labelled", number(self.width_of_all, 2), f"{self.n:,} rows")]
        if self.labels is not None:
            more = max(self.labels - self.labelled, 0)
            have = f"{self.labelled:,} exist, {more:,} more"
            what = count(self.labels, "random label")
            text = f"{what} ({have}) give a width of {number(self.expected_width, 2)}"
            alone = number(self.human_only_width, 2)
            facts.append(Fact("width without the judge", alone, "of as many labels"))
        if self.labels_without_judge is not None:
            facts.append(Fact("labels without the judge", f"{self.labels_without_judge:,}", ""))
        spread = f"spread of people's scores {number(self.spread, 2)}"
        agreement = f"correlation with the judge {number(self.correlation, 2)}"
        return self.show(
            Headline(text, tone=tone),
            Facts(facts),
            notes=[f"{spread}, {agreement}"],
            assumptions=self.assumptions,
            figure=None,
        )


@dataclass(frozen=True)
class _Pilot:
    """What the labels say: spreads, covariance, and what pseudo labels and clusters add."""

    n: int
    variance: float
    covariance: float
    of_judge: float
    pseudo: float
    level: float
    inflation: float = 1.0

    def width(self, m: int, *, judge: bool = True) -> float:
        """The expected width of `labelled_mean` with m labels of the n rows."""
        rest = self.n - m
        slope = 0.0
        if judge and rest > 0 and self.of_judge > 0:
            slope = max(self.covariance / ((1 + m / rest) * self.of_judge), 0.0)
        residual = self.variance - 2 * slope * self.covariance + slope**2 * self.of_judge
        squares = (m - 1) * max(residual, 0.0)
        error = (squares + self.pseudo) / (m * (m + 2))
        error += slope**2 * self.of_judge / rest if rest else 0.0
        return 2 * student_quantile(self.level, m - 2) * math.sqrt(error) * self.inflation

    def fewest(self, width: float, *, judge: bool = True) -> int | None:
        """The fewest labels for the width; None if all rows are too few."""
        sizes = range(FEWEST, self.n + 1)
        at = bisect_left(sizes, -width, key=lambda m: -self.width(m, judge=judge))
        return sizes[at] if at < len(sizes) else None


def _pilot_of(rows: Grades, level: float) -> _Pilot:
    """What the labels of these rows say; clusters widen as they do in `labelled_mean`."""
    labelled = ~np.isnan(rows.human)
    people = rows.human[labelled]
    mean = float(people.mean())
    scale = scale_of_scores(rows, np.ones(len(labelled), dtype=np.bool_))
    inflation = 1.0
    if rows.clusters is not None:
        alone = labelled_mean(rows.human, rows.judge, ends=scale).standard_error
        together = labelled_mean(rows.human, rows.judge, ends=scale, clusters=rows.clusters)
        inflation = together.standard_error / alone if alone > 0 else 1.0
    return _Pilot(
        n=len(labelled),
        variance=float(people.var(ddof=1)),
        covariance=float(np.cov(people, rows.judge[labelled])[0, 1]),
        of_judge=float(rows.judge.var(ddof=1)),
        pseudo=sum((end - mean) ** 2 for end in scale),
        level=level,
        inflation=inflation,
    )


def plan_mean(
    rows: Grades, *, width: float | None, budget: int | None, confidence_level: float
) -> MeanPlan:
    """The plan for the mean of these rows' scores, from the labels that they have."""
    labelled = ~np.isnan(rows.human)
    people = rows.human[labelled]
    n = len(rows.judge)
    m = len(people)
    if m < FEWEST:
        problem = f"has {count(m, 'label')}, and the spread of scores needs {FEWEST}"
        remedy = f"label {FEWEST} rows drawn at random first: adjudge plan labels"
        raise DataError(rows.name, problem, column="human", remedy=remedy)
    if budget is not None and not FEWEST <= budget <= n:
        raise ArgumentError("budget", budget, f"give from {FEWEST} to the {n:,} rows of the table")
    pilot = _pilot_of(rows, confidence_level)
    judge = rows.judge[labelled]
    varies = np.ptp(judge) > 0 and np.ptp(people) > 0
    plan = MeanPlan(
        target_width=width,
        confidence_level=confidence_level,
        labels=budget,
        width_of_all=pilot.width(n),
        spread=math.sqrt(pilot.variance),
        correlation=float(np.corrcoef(people, judge)[0, 1]) if varies else None,
        n=n,
        labelled=m,
        assumptions=(*_ASSUMED, *rows.makers),
        dropped=rows.dropped,
    )
    if width is not None:
        without = pilot.fewest(width, judge=False)
        plan = replace(plan, labels=pilot.fewest(width), labels_without_judge=without)
    if plan.labels is None:
        at_best = number(plan.width_of_all, 2)
        return replace(plan, reason=f"all {n:,} rows labelled give {at_best}; judge more rows")
    by_people = pilot.width(plan.labels, judge=False)
    return replace(plan, expected_width=pilot.width(plan.labels), human_only_width=by_people)
