"""The difference of two groups' rates, paired if rows share a cluster.

Influence values of both rates are subtracted row by row and summed per cluster. Prompts that are
hard for both, and calibration rows used for both, then cancel with the right sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError
from adjudge.estimation.estimators.alone import HUMAN_ONLY
from adjudge.estimation.estimators.base import Outcome, clamp
from adjudge.estimation.groups import check_pooling, group_sample
from adjudge.estimation.rate import Estimate, RateInterval, Request, estimate_rate, rate_table
from adjudge.estimation.rate_view import (
    Line,
    Rate,
    add_legend,
    draw_bar,
    draw_lines,
    interval_text,
    show_rates,
)
from adjudge.estimation.sample import TOO_FEW, Sample, active_clusters, variance
from adjudge.present.blocks import Block, Fact, Facts, Headline
from adjudge.present.figure import ACCENT, INK, WARM, new_figure, themed
from adjudge.present.result import Count, Level, NotNegative, Result, frozen
from adjudge.present.text import clip, count, level, number, show_interval, signed
from adjudge.records import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


# --- the result ---


@frozen
class RateDifference(Rate, Result):
    """Corrected rate of A minus that of B, paired if rows share a cluster."""

    kind: ClassVar[str] = "rate_difference"

    a: str
    b: str
    method: str
    interval_method: str
    estimate: float | None
    interval: Interval | None
    confidence_level: Level
    standard_error: NotNegative | None
    unpaired_standard_error: NotNegative | None
    reason: str | None = None
    naive: float | None
    human_only: float | None = None
    human_only_interval: Interval | None = None
    pooled: bool
    shared_clusters: Count
    clusters: Count
    estimate_a: Estimate
    estimate_b: Estimate
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval lies on one side of zero; None if there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low > 0 or self.high < 0

    def intervals(self) -> list[RateInterval]:
        """The difference with its interval, as every kind of estimate has them."""
        name = f"{self.a} minus {self.b}"
        return [RateInterval.of(name, self, self.reason, self.naive)]

    def view(self) -> list[Block]:
        """The difference and whether its interval excludes zero, then the two rates."""
        errors = "" if self.naive is None else "not corrected for judge errors"
        facts = [Fact("naive difference", signed(self.naive), errors)]
        if self.human_only is not None:
            ends = show_interval(self.human_only_interval)
            note = f"{level(self.confidence_level)} interval {ends}"
            facts.append(Fact("people alone", signed(self.human_only), note))
        if self.standard_error is not None and self.unpaired_standard_error is not None:
            paired = (
                f"{number(self.unpaired_standard_error, 4)} without pairing "
                f"({self.shared_clusters:,} of {count(self.clusters, 'cluster')} have rows of both)"
            )
            note = paired if self.clusters else ""
            facts.append(Fact("standard error", number(self.standard_error, 4), note))
        return show_rates(
            self,
            _difference_headline(self),
            Facts(facts),
            rate_table((self.estimate_a, self.estimate_b), "group", pooled=self.pooled),
            assumptions=self.assumptions,
            figure=(
                "difference",
                difference_figure,
                "The two rates above, their difference below, with "
                f"{level(self.confidence_level)} intervals.",
            ),
        )


# --- the numbers ---


def estimate_difference(
    rows: Grades, sample: Sample, request: Request, compare: tuple[str, str]
) -> RateDifference:
    """The corrected rate of the first group minus that of the second."""
    if request.interval == "profile":
        raise ArgumentError(
            "interval", request.interval, "is not available for a difference; use wald"
        )
    for name in compare:
        if name not in rows.group_names:
            raise ArgumentError(
                "compare", name, "choose two of " + ", ".join(rows.group_names[:20])
            )
    if compare[0] == compare[1]:
        raise ArgumentError("compare", compare, "name two different groups")
    codes = [rows.group_names.index(name) for name in compare]
    (first, raw_a), (second, raw_b) = (
        estimate_rate(
            group_sample(sample, rows, code, request.pool), request, group=name, alternatives=False
        )
        for code, name in zip(codes, compare, strict=True)
    )
    either = np.asarray((rows.groups == codes[0]) | (rows.groups == codes[1]))
    used = sample.restrict(either, calibration=np.ones_like(either) if request.pool else None)
    gap = paired_difference(raw_a, raw_b, used, names=compare)
    people = _people_alone(rows, sample, request, codes)
    shared = total = 0
    if sample.clusters is not None:
        a, b = (set(sample.clusters[rows.groups == code].tolist()) for code in codes)
        shared, total = len(a & b), len(a | b)
    warnings = [
        *check_pooling(rows, sample, request)[0],
        *(f"{rate.group}: {text}" for rate in (first, second) for text in rate.warnings),
    ]
    if sample.clusters is None:
        warnings.append(
            "no cluster column: rows of the two groups are treated as independent; name the "
            "prompt's column to pair them: --cluster prompt_id (cluster=)"
        )
    elif shared == 0:
        warnings.append("no cluster has rows of both: nothing is paired")
    return RateDifference(
        a=compare[0],
        b=compare[1],
        method=request.estimator.name,
        interval_method="wald",
        estimate=gap.estimate,
        interval=gap.interval(request.confidence_level),
        standard_error=gap.standard_error,
        unpaired_standard_error=gap.unpaired_standard_error,
        reason=gap.reason,
        confidence_level=request.confidence_level,
        naive=None if first.naive is None or second.naive is None else first.naive - second.naive,
        human_only=people.estimate,
        human_only_interval=people.interval(request.confidence_level),
        pooled=request.pool,
        shared_clusters=shared,
        clusters=total,
        estimate_a=first,
        estimate_b=second,
        assumptions=first.assumptions,
        warnings=tuple(warnings),
        dropped=rows.dropped,
    )


def _people_alone(rows: Grades, sample: Sample, request: Request, codes: list[int]) -> Difference:
    """The difference from the labels alone, without the judge."""
    if sample.planned:
        return Difference(reason="labels were picked by a plan")
    samples = [group_sample(sample, rows, code, pool=False) for code in codes]
    a, b = (
        HUMAN_ONLY.estimate(group, confidence_level=request.confidence_level) for group in samples
    )
    both = replace(samples[0], labelled=samples[0].labelled | samples[1].labelled)
    return paired_difference(a, b, replace(both, test=both.labelled))


@dataclass(frozen=True)
class Difference(Outcome):
    """theta_A - theta_B with its interval in [-1, 1], or the reason why there is none."""

    unpaired_standard_error: float | None = None


def paired_difference(
    a: Outcome, b: Outcome, sample: Sample, *, names: tuple[str, str] = ("the first", "the second")
) -> Difference:
    """Difference of two outcomes on one set of rows (their `influence` arrays match these rows).

    Var(A - B) = sum over clusters of (S_A - S_B)^2. Its ratio to Var(A) + Var(B) scales the two
    half-lengths, half^2 = (half_A^2 + half_B^2) Var(A-B) / (Var(A) + Var(B)), so that each
    interval's adjustment for small samples is kept. Without clusters, rows are independent and only
    calibration rows used for both models are shared. The interval is normal (with clusters:
    Student's). With few labels per model it is approximate, as are its two parts.
    """
    for name, outcome in zip(names, (a, b), strict=True):
        if outcome.estimate is None:
            return Difference(reason=f"{name} has no rate: {outcome.reason}")
    if (
        a.estimate is None
        or b.estimate is None
        or a.influence is None
        or b.influence is None
        or a.centre is None
        or b.centre is None
        or a.half is None
        or b.half is None
    ):
        raise AssertionError("an outcome with an estimate has its influence, centre and half")
    active = active_clusters(sample)
    if active is not None and active < 2:
        return Difference(reason=TOO_FEW)
    variance_a, variance_b, paired = (
        variance(values, sample.clusters, active)
        for values in (a.influence, b.influence, a.influence - b.influence)
    )
    apart = variance_a + variance_b
    ratio = paired / apart if apart > 0 else 1.0
    half = math.sqrt((a.half**2 + b.half**2) * ratio)
    centre = a.centre - b.centre
    low, high = clamp(centre - half, -1, 1), clamp(centre + half, -1, 1)
    if low == -1 and high == 1:
        return Difference(
            reason="the interval is all of [-1, 1]: every difference is compatible with "
            "these labels; label more rows, or use another judge"
        )
    estimate, error = clamp(a.estimate - b.estimate, -1, 1), math.sqrt(paired)
    return Difference(estimate, low, high, error, unpaired_standard_error=math.sqrt(apart))


# --- the view ---


def _difference_headline(result: RateDifference) -> Headline:
    if result.estimate is None:
        return Headline(f"No estimate of {result.a} minus {result.b}: {result.reason}", tone="bad")
    text = f"{result.a} minus {result.b}: {signed(result.estimate)}, {interval_text(result)}"
    if result.excludes_zero:
        return Headline(f"{text}, excludes zero", "The rates differ at this confidence level.")
    return Headline(f"{text}, includes zero", "These labels do not show a difference.")


# --- the picture ---


def difference_figure(result: RateDifference) -> Drawing:
    """The two rates above, their difference below."""
    with themed():
        figure = new_figure(7.2, 3.8)
        top, bottom = figure.subplots(2, 1, height_ratios=[2, 1])
        lines = [
            Line(name, rate, rate.naive, rate.naive_interval)
            for name, rate in ((result.b, result.estimate_b), (result.a, result.estimate_a))
        ]
        draw_lines(top, lines, f"rate, with {level(result.confidence_level)} intervals")
        add_legend(figure, result.method)
        bottom.axvline(0, color=INK, linewidth=1.2)
        draw_bar(bottom, 0, result.estimate, result.interval, ACCENT, "s")
        if result.naive is not None:
            bottom.plot([result.naive], [0.28], "o", color=WARM, markersize=6)
        reach = max(abs(v or 0) for v in (result.low, result.high, result.naive, 0.05)) * 1.15
        bottom.set_xlim(-reach, reach)
        bottom.set_ylim(-0.5, 0.6)
        bottom.set_yticks([0], ["difference"])
        bottom.grid(visible=False, axis="y")
        bottom.tick_params(axis="y", length=0)
        bottom.set_xlabel(f"{clip(result.a)} minus {clip(result.b)}")
        if result.estimate is None:
            title = "No estimate of the difference from these labels"
        else:
            side = "excludes" if result.excludes_zero else "includes"
            title = f"Difference {signed(result.estimate)}: the interval {side} zero"
        top.set_title(title)
    return figure
