"""Means of scores: the mean that people would give, from the judge's scores and some of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.rate import LabelsDrawn, RateInterval, independence
from adjudge.estimation.rate_view import (
    IN_A_SENTENCE,
    SHOWN,
    Rate,
    RateResult,
    describe_outside,
    table_by_group,
    with_groups,
)
from adjudge.present.blocks import Block, Headline, Table
from adjudge.present.result import Check, Count, Level, frozen, not_empty
from adjudge.present.text import DASH, count, level, number, show_interval
from adjudge.records import Interval
from adjudge.statistics.clusters import codes_of, mean_interval
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
    """

    group: str | None = None
    estimate: float | None = None
    interval: Interval | None = None
    naive: float
    people: float | None = None
    judge: float | None = None
    difference_interval: Interval | None = None
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
class MeanEstimate(RateResult):
    """The mean score that people would give, for all rows or for each value of `by`."""

    kind: ClassVar[str] = "mean_estimate"
    rows_in: ClassVar[str] = "means"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("means"), _one_mean)

    confidence_level: Level
    by: str | None = None
    means: tuple[MeanScore, ...]
    labels_drawn: LabelsDrawn
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def estimated(self) -> bool:
        """Whether every group has a number."""
        return all(mean.estimate is not None for mean in self.means)

    def intervals(self) -> list[RateInterval]:
        """The mean of each group with its interval."""
        return [RateInterval.of(mean.group, mean, mean.reason, mean.naive) for mean in self.means]

    def view(self) -> list[Block]:
        reasons = [(mean.group, mean.reason) for mean in self.means if mean.reason is not None]
        caption = f"People's mean score, with {level(self.confidence_level)} intervals."
        return self.show(
            _headline(self),
            *([] if self.by is None else [_table(self)]),
            notes=[] if self.by is None else with_groups(reasons),
            assumptions=self.assumptions,
            others=["the share of each score: --method misclassification (method=)"],
            figure=("means", means_figure, caption),
        )


# --- the numbers ---


def estimate_means(
    rows: Grades, labels_drawn: LabelsDrawn, confidence_level: float, **for_rates: object
) -> MeanEstimate:
    """The mean of all rows, or of each group; `for_rates` are options that means do not have."""
    for option, value in for_rates.items():
        if value:
            remedy = "is for rates: leave it out, or name the score that counts as 1: --positive"
            raise ArgumentError(option, value, f"{remedy} NAME (positive=)")
    if rows.sampling_probability is not None:
        column, problem = "sampling_probability", "labels were picked by a plan"
        remedy = "a mean needs labels of rows drawn at random: adjudge plan labels"
        raise DataError(rows.name, problem, column=column, remedy=remedy)
    everyone = np.ones(len(rows.judge), dtype=np.bool_)
    parts: list[tuple[str | None, BoolArray]] = [(None, everyone)]
    if rows.groups is not None:
        parts = [(name, rows.groups == code) for code, name in enumerate(rows.group_names)]
    sampled = (_ASSUMED,) if np.isnan(rows.human).any() else ()
    return MeanEstimate(
        confidence_level=confidence_level,
        by=rows.by,
        means=tuple(_mean_of(rows, name, here, confidence_level) for name, here in parts),
        labels_drawn=labels_drawn,
        assumptions=(*sampled, independence(rows.clusters is not None), *rows.makers),
        warnings=(_UNKNOWN,) if sampled and labels_drawn == "unknown" else (),
        dropped=rows.dropped,
    )


def _mean_of(rows: Grades, group: str | None, members: BoolArray, level: float) -> MeanScore:
    """People's mean by PPI++ (`labelled_mean`), of rows or of the means of clusters."""
    judge, people = rows.judge[members], rows.human[members]
    known, n = ~np.isnan(people), len(judge)
    n_labels = int(known.sum())
    naive = float(judge.mean()) if n else 0.0
    codes = codes_of(None if rows.clusters is None else rows.clusters[members], n)
    units = len(np.unique(codes[known]))
    if units < FEWEST:
        unit = "labelled row" if rows.clusters is None else "labelled cluster of rows"
        reason = f"{count(units, unit)}: {FEWEST} or more are needed"
        return MeanScore(group=group, naive=naive, n=n, n_labels=n_labels, reason=reason)
    ends = float(np.nanmin(rows.human)), float(np.nanmax(rows.human))
    off = judge[known] - people[known]
    reach = float(np.abs(off).max())
    difference = mean_interval(off, codes[known], level, bounds=(-reach, reach))
    on_labelled = float(people[known].mean()), float(judge[known].mean())
    # A labelled cluster counts with its labelled rows: judge and people see the same.
    seen = known | ~np.isin(codes, codes[known])
    codes = np.unique(codes[seen], return_inverse=True)[1]
    sizes = np.bincount(codes)
    judge, people = (np.bincount(codes, values[seen]) / sizes for values in (judge, people))
    gap = labelled_mean(people, judge, ends=ends)
    return MeanScore(
        group=group,
        estimate=gap.estimate,
        interval=gap.interval(level),
        naive=naive,
        people=on_labelled[0],
        judge=on_labelled[1],
        difference_interval=difference,
        n=n,
        n_labels=n_labels,
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
        return Headline(
            f"{text}; the judge gives {number(mean.naive, 2)}",
            f"{on_labelled}, difference {_on_labelled(mean)}.",
            decision=f"{text}, not {number(mean.naive, 2)}",
        )
    text = f"Means that people would give, for {len(estimated)} of {len(result.means)} values of"
    text, compare = f"{text} {result.by}", "Which of them differ: adjudge compare."
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
    columns: dict[str, Callable[[MeanScore], str]] = {
        "group": lambda mean: str(mean.group),
        "people": lambda mean: number(mean.estimate, 2),
        f"{level(result.confidence_level)} interval": lambda mean: show_interval(mean.interval, 2),
        "judge": lambda mean: number(mean.naive, 2),
        "judge - people": _on_labelled,
        "labels": lambda mean: f"{mean.n_labels:,}",
        "rows": lambda mean: f"{mean.n:,}",
    }
    caption, optional = "Mean scores; judge - people on labelled rows", ("rows", "labels")
    means, by = result.means[:SHOWN], str(result.by)
    return table_by_group(means, by, columns, caption=caption, optional=optional)


def means_figure(result: MeanEstimate) -> Drawing:
    """People's mean of each group with its interval, and the judge's."""
    means: Sequence[MeanScore] = [m for m in result.means[:SHOWN] if m.estimate is not None]
    if not means:
        raise ArgumentError("plot", "no mean", "the result has no number to draw")
    rows = [mean.row(mean.group or "all rows", mean.naive) for mean in means]
    title = describe_outside("mean", means, "groups")
    dot, quantity = "people, corrected", "mean score"
    return result.draw(rows, title, dot=dot, quantity=quantity, left=None)
