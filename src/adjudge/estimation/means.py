"""Means of scores: the mean that people would give, from the judge's scores and some of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.rate import (
    EstimateResult,
    LabelsDrawn,
    RateInterval,
    independence,
    one_of_many,
)
from adjudge.estimation.rate_view import (
    IN_A_SENTENCE,
    SHOWN,
    SIMULTANEOUS,
    Rate,
    describe_outside,
    explain_simultaneous,
    table_by_group,
    with_groups,
)
from adjudge.estimation.sample import few_clusters
from adjudge.present.blocks import Block, Columns, Headline, Table
from adjudge.present.result import Check, Count, frozen, not_empty
from adjudge.present.text import DASH, count, level, number, show_interval
from adjudge.records import Interval
from adjudge.statistics.clusters import codes_of, count_clusters, freedom_of, mean_interval
from adjudge.statistics.differences import FEWEST, labelled_mean
from adjudge.validation import BoolArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_ASSUMED = "the labelled rows are a random sample of all rows"
_UNKNOWN = (
    "the labels must be a random sample of the rows; the file does not record how they were drawn "
    "(sampled_by)"
)


@dataclass(frozen=True, kw_only=True)
class MeanScore(Rate):
    """One group's mean by people, corrected (PPI++); `naive` is the judge's mean of all rows.

    `people` and `judge` are the means of labelled rows, `difference_interval` that of their gap.
    Every interval assumes that no score lies outside `scale`.
    """

    group: str | None = None
    estimate: float | None = None
    interval: Interval | None = None
    naive: float
    people: float | None = None
    judge: float | None = None
    difference_interval: Interval | None = None
    simultaneous_interval: Interval | None = None
    scale: tuple[float, float] | None = None
    n: Count
    n_labels: Count
    reason: str | None = None

    @property
    def difference(self) -> float | None:
        """The judge's mean minus people's, on the labelled rows."""
        return None if self.judge is None or self.people is None else self.judge - self.people


def _one_mean(result: MeanEstimate) -> str | None:
    several = result.by is None and len(result.means) > 1
    return f"{len(result.means)} means without the column of their groups (by)" if several else None


@frozen
class MeanEstimate(EstimateResult):
    """The mean score that people would give, for all rows or for each value of `by`."""

    kind: ClassVar[str] = "mean_estimate"
    rows_in: ClassVar[str] = "means"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("means"), _one_mean)

    by: str | None = None
    means: tuple[MeanScore, ...]
    labels_drawn: LabelsDrawn
    assumptions: tuple[str, ...]

    @property
    def estimated(self) -> bool:
        """Whether every group has a number."""
        return all(mean.estimate is not None for mean in self.means)

    @property
    def method(self) -> str:
        """How the means are corrected."""
        return PPI.name

    @property
    def n(self) -> int:
        """All rows, with and without a label."""
        return sum(mean.n for mean in self.means)

    @property
    def n_labels(self) -> int:
        """The rows with a label."""
        return sum(mean.n_labels for mean in self.means)

    @property
    def estimate(self) -> float | None:
        """The mean of all rows; with `by` there is one for each group instead."""
        return self._of_all_rows.estimate

    @property
    def interval(self) -> Interval | None:
        """The interval of `estimate`."""
        return self._of_all_rows.interval

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self._of_all_rows.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self._of_all_rows.high

    @property
    def naive(self) -> float:
        """The judge's mean of all rows."""
        return self._of_all_rows.naive

    @property
    def _of_all_rows(self) -> MeanScore:
        if self.by is not None:
            raise AttributeError("one mean for each group: use intervals(), which lists them")
        return self.means[0]

    def intervals(self) -> list[RateInterval]:
        """The mean of each group with its interval."""
        return [RateInterval.of(mean, mean.group, mean) for mean in self.means]

    def view(self) -> list[Block]:
        reasons = [(mean.group, mean.reason) for mean in self.means if mean.reason is not None]
        caption = f"People's mean score, with {level(self.confidence_level)} intervals."
        tables = [] if self.by is None else [_table(self)]
        assumes = ["random labels"] if self.n_labels < self.n else []
        assumes += filter(None, [_within(self.means)])
        return self.show(
            _headline(self),
            *tables,
            notes=with_groups(reasons) if tables else [],
            assumptions=self.assumptions,
            assumes=", ".join(assumes),
            promises=explain_simultaneous(self.means, self.confidence_level),
            others=["the share of each score: --method misclassification (method=)"],
            figure=("means", means_figure, caption),
        )


# --- the numbers ---


def estimate_means(
    rows: Grades,
    labels_drawn: LabelsDrawn,
    confidence_level: float,
    scale: tuple[float, float] | None = None,
    **for_rates: object,
) -> MeanEstimate:
    """The mean of all rows, or of each group; `for_rates` are options that means do not have.

    Without a `scale` it is the range of people's and the judge's scores together.
    """
    for option, value in for_rates.items():
        if value:
            remedy = "is for rates: leave it out, or name the score that counts as 1: --positive"
            raise ArgumentError(option, value, f"{remedy} NAME (positive=)")
    if rows.sampling_probability is not None:
        column = "sampling_probability"
        problem = "labels were picked by a plan"
        remedy = "a mean needs labels of rows drawn at random: adjudge plan labels"
        raise DataError(rows.name, problem, column=column, remedy=remedy)
    everyone = np.ones(len(rows.judge), dtype=np.bool_)
    parts: list[tuple[str | None, BoolArray]] = [(None, everyone)]
    if rows.groups is not None:
        parts = [(name, rows.groups == code) for code, name in enumerate(rows.group_names)]
    partly = bool(np.isnan(rows.human).any())
    sampled: tuple[str, ...] = (_ASSUMED,) if partly else ()
    unknown = (_UNKNOWN,) if partly and labels_drawn == "unknown" else ()
    if scale is not None:
        _check_scale(rows, scale)
    means = []
    warnings: list[tuple[str | None, str]] = []
    for name, members in parts:
        # Criteria can have a scale each.
        like = members if rows.by in ("criterion", "metric") else everyone
        used = scale or scale_of_scores(rows, like)
        joint = one_of_many(confidence_level, len(parts))
        means.append(_mean_of(rows, name, members, (confidence_level, joint), used))
        if rows.clusters is not None and means[-1].estimate is not None:
            codes = rows.clusters[members & ~np.isnan(rows.human)]
            texts = few_clusters(count_clusters(codes), freedom_of(codes))
            warnings += [(name, text) for text in texts]
    sampled += (independence(rows.clusters is not None),)
    of_groups = with_groups(warnings) if rows.by else [text for _, text in warnings]
    return MeanEstimate(
        confidence_level=confidence_level,
        by=rows.by,
        means=tuple(means),
        labels_drawn=labels_drawn,
        assumptions=(*filter(None, [_within(means)]), *sampled, *rows.judges, *rows.makers),
        warnings=(*unknown, *of_groups),
        dropped=rows.dropped,
    )


def scale_of_scores(rows: Grades, members: BoolArray) -> tuple[float, float]:
    """From the lowest to the highest score that the judge or a person gave."""
    scores = np.concatenate([rows.judge[members], rows.human[members]])
    return float(np.nanmin(scores)), float(np.nanmax(scores))


def _check_scale(rows: Grades, scale: tuple[float, float]) -> None:
    low, high = scale
    least, most = scale_of_scores(rows, np.ones(len(rows.judge), dtype=np.bool_))
    if not low <= least <= most <= high:
        remedy = f"scores go from {least:g} to {most:g}: give a scale that contains them"
        raise ArgumentError("scale", scale, remedy)


def _within(means: Sequence[MeanScore]) -> str:
    """What every mean assumes about scores that were not seen."""
    used = [mean.scale for mean in means if mean.scale and mean.estimate is not None]
    scales = {f"{low:g} to {high:g}" for low, high in used}
    if not scales:
        return ""
    outside = scales.pop() if len(scales) == 1 else "each one's range"
    return f"no score outside {outside}"


def _mean_of(
    rows: Grades,
    group: str | None,
    members: BoolArray,
    levels: tuple[float, float],
    scale: tuple[float, float],
) -> MeanScore:
    """People's mean by PPI++ (`labelled_mean`), of rows; errors are those of clusters.

    The levels are of one interval, and of each of several that hold together.
    """
    level, joint = levels
    judge = rows.judge[members]
    people = rows.human[members]
    labelled = ~np.isnan(people)
    n = len(judge)
    n_labels = int(labelled.sum())
    naive = float(judge.mean()) if n else 0.0
    codes = codes_of(None if rows.clusters is None else rows.clusters[members], n)
    units = len(np.unique(codes[labelled]))
    reason = None
    if scale[0] == scale[1]:
        alike = f"every score of people and the judge is {scale[0]:g}"
        reason = f"{alike}, which does not show the scale: --scale LOW-HIGH (scale=)"
    if units < FEWEST:
        unit = "labelled row" if rows.clusters is None else "labelled cluster of rows"
        reason = f"{count(units, unit)}: {FEWEST} or more are needed"
    mean = MeanScore(group=group, naive=naive, n=n, n_labels=n_labels, reason=reason, scale=scale)
    if reason is not None:
        return mean
    low, high = scale
    off = judge[labelled] - people[labelled]
    difference = mean_interval(off, codes[labelled], level, bounds=(low - high, high - low))
    clusters = None if rows.clusters is None else codes
    gap = labelled_mean(people, judge, ends=scale, clusters=clusters)

    def within(confidence: float) -> Interval:
        least, most = np.clip([end or 0.0 for end in gap.interval(confidence)], low, high).tolist()
        return Interval(least, most, level=level)

    return replace(
        mean,
        estimate=min(max(gap.estimate, low), high),
        interval=within(level),
        simultaneous_interval=within(joint) if joint > level else None,
        people=float(people[labelled].mean()),
        judge=float(judge[labelled].mean()),
        difference_interval=difference,
    )


# --- the view ---


def _on_labelled(mean: MeanScore) -> str:
    if mean.difference is None:
        return DASH
    return f"{mean.difference:+z.2f} {show_interval(mean.difference_interval, 2)}"


def _headline(result: MeanEstimate) -> Headline:
    estimated = [mean for mean in result.means if mean.estimate is not None]
    if result.by is None:
        [mean] = result.means
        if mean.reason is not None:
            text = f"The judge gives {number(mean.naive, 2)} on average"
            return Headline(f"{text}; people's mean is not known: {mean.reason}", tone="bad")
        ends = show_interval(mean.interval, 2)
        text = f"People would give {number(mean.estimate, 2)} on average, {ends}"
        labelled = f"judge {number(mean.judge, 2)}, people {number(mean.people, 2)}"
        on_labelled = f"On {count(mean.n_labels, 'labelled row')}: {labelled}"
        naive = number(mean.naive, 2)
        return Headline(
            f"{text}; the judge gives {naive}",
            f"{on_labelled}, difference {_on_labelled(mean)}.",
            decision=f"{text}, not {naive}",
        )
    text = f"Means that people would give, for {len(estimated)} of {len(result.means)} values of"
    text = f"{text} {result.by}"
    compare = "Which of them differ: adjudge compare."
    if result.by in ("criterion", "metric"):  # what they mean is not the same
        compare = ""
    if 0 < len(estimated) == len(result.means) <= IN_A_SENTENCE:
        rates = ((m.group, number(m.estimate, 2), show_interval(m.interval, 2)) for m in estimated)
        shown = (f"{name} {mean} {ends}" for name, mean, ends in rates)
        return Headline(f"People would give on average {', '.join(shown)}", compare)
    if len(estimated) < len(result.means):
        return Headline(text, "The reasons are below.", tone="bad")
    return Headline(text, compare)


def _table(result: MeanEstimate) -> Table:
    columns: Columns[MeanScore] = {
        "group": lambda mean: str(mean.group),
        "people": lambda mean: number(mean.estimate, 2),
        f"{level(result.confidence_level)} interval": lambda mean: show_interval(mean.interval, 2),
        SIMULTANEOUS: lambda mean: show_interval(mean.simultaneous_interval, 2),
        "judge": lambda mean: number(mean.naive, 2),
        "judge - people": _on_labelled,
        "labels": lambda mean: f"{mean.n_labels:,}",
        "rows": lambda mean: f"{mean.n:,}",
    }
    caption = "Mean scores; judge - people on labelled rows"
    optional = ("rows", "labels", SIMULTANEOUS)
    means = result.means[:SHOWN]
    if all(mean.simultaneous_interval is None for mean in means):
        del columns[SIMULTANEOUS]
    by = str(result.by)
    return table_by_group(means, by, columns, caption=caption, optional=optional)


def means_figure(result: MeanEstimate) -> Drawing:
    """People's mean of each group with its interval, and the judge's."""
    means: Sequence[MeanScore] = [m for m in result.means[:SHOWN] if m.estimate is not None]
    if not means:
        raise ArgumentError("plot", "no mean", "the result has no number to draw")
    rows = [mean.row(mean.group or "all rows", mean.naive) for mean in means]
    title = describe_outside("mean", means, "groups")
    dot = "people, corrected"
    quantity = "mean score"
    return result.draw(rows, title, dot=dot, quantity=quantity)
