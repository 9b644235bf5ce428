"""Pictures of rates: the judge's own number and the one to report, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.text import clip, level, number, signed
from adjudge.present.theme import ACCENT, GOOD, INK, MUTED, SERIES, WARM, new_figure, themed
from adjudge.results.estimation import (
    ClassEstimate,
    ClassRate,
    Estimate,
    GroupedEstimate,
    RateDifference,
    RatePlan,
)
from adjudge.results.panel import PanelEstimate, PanelRate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Name, field of the plan, colour and line of each way to use labels. Two pairs of widths are
#: almost the same: dashes over a line show both.
_WAYS = (
    ("by class, Algorithm 1 (misclassification)", "expected_width", ACCENT, "-"),
    ("at random (misclassification)", "random_width", SERIES[4], "--"),
    ("at random (conditional)", "conditional_width", SERIES[2], "-"),
    ("by verdict (conditional)", "verdict_width", GOOD, "--"),
    ("people alone", "human_only_width", WARM, ":"),
)


def estimate_figure(one: Estimate) -> Drawing:
    """All methods on the same rows: the judge alone first, this result last."""
    bars = [
        (other.method, other.estimate, other.low, other.high, MUTED, "o")
        for other in one.alternatives
        if other.method != "naive"
    ]
    if one.method != "naive":
        naive = ("judge alone (naive)", one.naive, one.naive_low, one.naive_high, WARM, "o")
        bars.insert(0, naive)
    reported = f"{one.method} (this result)"
    bars.append((reported, one.estimate, one.low, one.high, ACCENT, "s"))
    ruled_out = {other.method for other in one.alternatives if other.ruled_out}
    if one.ruled_out:
        ruled_out.add(reported)
    with themed():
        figure = new_figure(7.2, 1.4 + 0.42 * len(bars))
        axes = figure.subplots()
        for at, (name, value, low, high, colour, marker) in enumerate(bars):
            if value is None:
                # An interval can be known without an estimate: the words are above its line.
                _say_no_estimate(axes, at if low is None else at + 0.22)
            _draw_bar(axes, at, value, low, high, colour, marker)
            if name in ruled_out:
                axes.text(
                    1.01, at, "ruled out", color=WARM, fontsize=8.5, va="center", clip_on=False
                )
        _name_rows(axes, [name for name, *_ in bars])
        rate = clip(one.group or "rate", 48)
        _rate_axis(axes, f"{rate}, with {level(one.confidence_level)} intervals")
        if one.estimate is None:
            title = f"No {one.method} estimate from these labels"
        elif one.method == "naive":
            title = f"Judge alone: {number(one.estimate)}, not corrected for judge errors"
        else:
            rate = "Human rate" if one.method == "human-only" else "Corrected rate"
            title = f"{rate} {number(one.estimate)}, judge alone {number(one.naive)}"
        axes.set_title(title)
    return figure


def group_figure(result: GroupedEstimate) -> Drawing:
    """A line for each group, the judge alone and the rate to report, by that rate."""
    rows = [one for one in result.groups if isinstance(one, Estimate)]
    if not rows:
        raise ArgumentError("result", "classes by group", "draw one group's result at a time")
    rows.sort(key=lambda one: (one.estimate is None, one.estimate or one.naive or 0))
    with themed():
        figure = new_figure(7.6, 1.5 + 0.42 * len(rows))
        axes = figure.subplots()
        for at, one in enumerate(rows):
            _draw_both(axes, at, one)
        _name_rows(axes, [clip(one.group) for one in rows])
        _rate_axis(axes, f"rate, with {level(result.confidence_level)} intervals")
        _add_legend(figure, result.method)
        pooled = "\nlabels of all groups pooled" if result.pooled else ""
        axes.set_title(_describe_groups(rows) + pooled)
    return figure


def _describe_groups(rows: Sequence[Estimate]) -> str:
    """How many of the judge's rates are outside the interval that is reported."""
    estimated = [one for one in rows if one.estimate is not None]
    if not estimated:
        return "No estimate for any group from these labels"
    outside = _say_outside("rate", estimated, "groups")
    if len(estimated) == len(rows):
        return outside
    return f"Estimates for {len(estimated)} of {len(rows)} groups.\n{outside}"


def _say_outside(what: str, rows: Sequence[Estimate | ClassRate], noun: str) -> str:
    outside = sum(map(_naive_outside, rows))
    if len(rows) == 1:
        return f"The judge's {what} lies {'outside' if outside else 'inside'} the interval"
    if not outside:
        every = "both" if len(rows) == 2 else f"all {len(rows)}"
        return f"The judge's {what} lies inside {every} intervals"
    return f"The judge's {what} lies outside the interval for {outside} of {len(rows)} {noun}"


def _naive_outside(one: Estimate | ClassRate) -> bool:
    """Whether the judge's own rate is outside the interval that is reported."""
    if one.naive is None or one.low is None or one.high is None:
        return False
    return not one.low <= one.naive <= one.high


def panel_figure(result: PanelEstimate) -> Drawing:
    """A line for each group: one judge with ppi++ above it, all judges below."""
    rows = sorted(result.groups, key=lambda one: (one.estimate is None, one.estimate or 0))
    with themed():
        figure = new_figure(7.6, 1.5 + 0.42 * len(rows))
        axes = figure.subplots()
        for at, one in enumerate(rows):
            _draw_bar(axes, at + 0.13, one.ppi, one.ppi_low, one.ppi_high, WARM, "o")
            _draw_estimate(axes, at - 0.13, one)
        _name_rows(axes, [clip("all rows" if one.group is None else one.group) for one in rows])
        _rate_axis(axes, f"rate, with {level(result.confidence_level)} intervals")
        _add_legend(
            figure, f"{len(result.judges)} judges", f"ppi++, {clip(result.judges[0])} alone"
        )
        narrower = sum(one.narrowing is not None and one.narrowing < 1 for one in rows)
        axes.set_title(_narrower_title(narrower, len(rows)))
    return figure


def _narrower_title(narrower: int, groups: int) -> str:
    if groups > 1:
        return (
            f"All judges give a narrower interval than one judge for {narrower} of {groups} groups"
        )
    return f"All judges give {'a' if narrower else 'no'} narrower interval than one judge"


def difference_figure(result: RateDifference) -> Drawing:
    """The two rates above, their difference below."""
    with themed():
        figure = new_figure(7.2, 3.8)
        top, bottom = figure.subplots(2, 1, height_ratios=[2, 1])
        for at, one in enumerate((result.estimate_b, result.estimate_a)):
            _draw_both(top, at, one)
        _name_rows(top, [clip(result.b), clip(result.a)])
        _rate_axis(top, f"rate, with {level(result.confidence_level)} intervals")
        _add_legend(figure, result.method)
        bottom.axvline(0, color=INK, linewidth=1.2)
        _draw_bar(bottom, 0, result.estimate, result.low, result.high, ACCENT, "s")
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


def class_figure(result: ClassEstimate) -> Drawing:
    """The share of each class, the judge's own and the one to report."""
    classes = result.classes[::-1]
    with themed():
        figure = new_figure(7.2, 1.5 + 0.55 * len(classes))
        axes = figure.subplots()
        for at, one in enumerate(classes):
            axes.plot([one.naive], [at + 0.13], "o", color=WARM, markersize=6)
            _draw_estimate(axes, at - 0.13, one)
        _name_rows(axes, [clip(one.label) for one in classes])
        _rate_axis(axes, f"share of the class, with {level(result.confidence_level)} intervals")
        _add_legend(figure, result.method, other_bar=False)
        axes.set_title(
            _say_outside("share", classes, "classes")
            if result.estimated
            else f"No {result.method} estimate from these labels"
        )
    return figure


def plan_figure(plan: RatePlan) -> Drawing:
    """Expected width against the number of labels, for each way to use them."""
    if plan.rate is None or plan.variance_ratio is None:
        raise ArgumentError("plan", "for people alone", "there is no judge to draw widths for")
    from adjudge.estimation import plan_rate

    most = max(plan.labels or 400, 100) * 2
    sizes = np.unique(np.geomspace(20, most, 40).astype(int))
    plans = [
        plan_rate(
            judge_rate=plan.judge_rate,
            sensitivity=plan.sensitivity,
            specificity=plan.specificity,
            n_test=plan.n_test,
            labels=int(size),
            confidence_level=plan.confidence_level,
        )
        for size in sizes
    ]
    with themed():
        figure = new_figure(7.2, 4.2)
        axes = figure.subplots()
        for name, field, colour, line in _WAYS:
            axes.plot(sizes, [getattr(p, field) for p in plans], line, color=colour, label=name)
        if plan.target_width is not None:
            axes.axhline(plan.target_width, color=INK, linewidth=1)
            axes.text(sizes[0], plan.target_width, "width wanted", va="bottom", fontsize=8.5)
        axes.set_xscale("log")
        ticks = [t for t in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if t <= most]
        axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("human labels")
        axes.set_ylabel(f"expected width of the {level(plan.confidence_level)} interval")
        axes.legend(fontsize=8.5)
        axes.set_title(
            f"With random labels misclassification has {number(plan.variance_ratio, 2)} times\n"
            "the variance of people alone"
        )
    return figure


def _draw_both(axes: Axes, at: float, one: Estimate) -> None:
    """The judge alone above the line, the rate to report below it."""
    _draw_bar(axes, at + 0.13, one.naive, one.naive_low, one.naive_high, WARM, "o")
    _draw_estimate(axes, at - 0.13, one)


def _draw_estimate(axes: Axes, at: float, one: Estimate | ClassRate | PanelRate) -> None:
    if one.estimate is None:
        _say_no_estimate(axes, at)
    else:
        _draw_bar(axes, at, one.estimate, one.low, one.high, ACCENT, "s")


def _say_no_estimate(axes: Axes, at: float) -> None:
    axes.text(0.01, at, "no estimate", color=MUTED, fontsize=8.5, va="center")


def _draw_bar(
    axes: Axes,
    at: float,
    value: float | None,
    low: float | None,
    high: float | None,
    colour: str,
    marker: str,
) -> None:
    if low is not None and high is not None:
        axes.plot([low, high], [at, at], color=colour, linewidth=2.2, solid_capstyle="butt")
    if value is not None:
        axes.plot([value], [at], marker, color=colour, markersize=6, zorder=3)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)


def _rate_axis(axes: Axes, label: str) -> None:
    axes.set_xlim(0, 1)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _add_legend(
    figure: Drawing, method: str, other: str = "judge alone (naive)", *, other_bar: bool = True
) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=WARM, marker="o", linestyle="-" if other_bar else "", label=other),
        Line2D([], [], color=ACCENT, marker="s", label=method),
    ]
    figure.legend(handles=handles, loc="outside lower right", fontsize=8.5, ncols=2)
