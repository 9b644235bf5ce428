"""Figures of corrected rates: the judge's own number beside the one that may be reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge._validation import FloatArray
from adjudge.errors import ArgumentError
from adjudge.present.tables import clipped
from adjudge.present.theme import ACCENT, GOOD, INK, MUTED, SERIES, WARM, new_figure, themed
from adjudge.results.base import Result
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RateDifference,
    RatePlan,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: A point with its interval: name, estimate, low, high.
Bar = tuple[str, float | None, float | None, float | None]


def estimate_figure(result: Result, *, truth: Mapping[str, float] | float | None = None) -> Figure:
    """The picture of any estimation result; `truth` draws known rates (per group, or one)."""
    with themed():
        if isinstance(result, GroupedEstimate):
            return _groups(result, truth if isinstance(truth, Mapping) else None)
        if isinstance(result, Estimate):
            return _single(result, None if isinstance(truth, Mapping) else truth)
        if isinstance(result, RateDifference):
            return _difference(result)
        if isinstance(result, ClassEstimate):
            return _classes(result, truth if isinstance(truth, Mapping) else None)
        if isinstance(result, RatePlan):
            return plan_figure(result)
    raise ArgumentError("result", type(result).__name__, "give a result of estimate or plan rate")


def _groups(result: GroupedEstimate, truth: Mapping[str, float] | None) -> Figure:
    rows = [one for one in result.groups if isinstance(one, Estimate)]
    if not rows:
        raise ArgumentError("result", "classes by group", "draw one group's result at a time")
    rows.sort(key=lambda one: (one.estimate is None, one.estimate or one.naive or 0))
    figure = new_figure(7.6, 1.5 + 0.42 * len(rows))
    axes = figure.subplots()
    for at, one in enumerate(rows):
        _bar(axes, at + 0.13, one.naive, one.naive_low, one.naive_high, WARM, "o")
        if one.estimate is None:
            axes.text(0.01, at - 0.13, "no honest estimate", color=MUTED, fontsize=8.5, va="center")
        else:
            _bar(axes, at - 0.13, one.estimate, one.low, one.high, ACCENT, "s")
        known = None if truth is None else truth.get(str(one.group))
        if known is not None:
            axes.plot([known, known], [at - 0.38, at + 0.38], color=INK, linewidth=1.6, zorder=4)
    axes.set_yticks(range(len(rows)), [clipped(one.group) for one in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    _rate_axis(axes, f"rate, with {100 * result.confidence_level:g} % intervals")
    entries = [("judge alone", WARM, "o"), ("corrected", ACCENT, "s")]
    _legend(axes, entries, truth is not None)
    axes.set_title(_group_finding(rows, truth) + (_POOLED if result.pooled else ""))
    return figure


_POOLED = "\nwith one confusion matrix for all"


def _group_finding(rows: Sequence[Estimate], truth: Mapping[str, float] | None) -> str:
    """How many intervals hold the truth where it is known, else how many naive rates are out."""
    if truth is not None:
        known = [(one, truth[str(one.group)]) for one in rows if str(one.group) in truth]
        given = [(one, value) for one, value in known if one.estimate is not None]
        held = sum(_within(one.low, value, one.high) for one, value in given)
        without = f" ({len(known) - len(given)} without)" if len(given) < len(known) else ""
        naive = sum(_within(one.naive_low, value, one.naive_high) for one, value in known)
        return (
            f"The corrected interval holds the truth for {held} of {len(given)}{without},\n"
            f"the judge's own for {naive} of {len(known)}"
        )
    answered = [one for one in rows if one.estimate is not None]
    if not answered:
        return "These labels allow no corrected rate for any group"
    apart = sum(
        one.naive is not None and not _within(one.low, one.naive, one.high) for one in answered
    )
    if len(answered) == len(rows):
        return f"For {apart} of {len(rows)} the judge's own rate is outside the corrected interval"
    return (
        f"A corrected rate for {len(answered)} of {len(rows)} groups only;\n"
        f"for {apart or 'none'} of these {len(answered)} the judge's own rate is outside "
        "its interval"
    )


def _within(low: float | None, value: float | None, high: float | None) -> bool:
    return low is not None and high is not None and value is not None and low <= value <= high


def _single(one: Estimate, truth: float | None) -> Figure:
    bars: list[Bar] = [("judge alone (naive)", one.naive, one.naive_low, one.naive_high)]
    bars += [
        (other.method, other.estimate, other.low, other.high)
        for other in one.alternatives
        if other.method != "naive"
    ]
    bars.append((f"{one.method} (reported)", one.estimate, one.low, one.high))
    out = {other.method for other in one.alternatives if other.ruled_out}
    figure = new_figure(7.2, 1.4 + 0.42 * len(bars))
    axes = figure.subplots()
    for at, (name, value, low, high) in enumerate(bars):
        last = at == len(bars) - 1
        colour = ACCENT if last else WARM if at == 0 else MUTED
        if value is None:
            axes.text(0.01, at, "no honest estimate", color=MUTED, fontsize=8.5, va="center")
            if low is None:
                continue
        _bar(axes, at, value, low, high, colour, "s" if last else "o")
        if name in out:
            axes.text(1.01, at, "ruled out", color=WARM, fontsize=8.5, va="center", clip_on=False)
    if truth is not None:
        axes.axvline(truth, color=INK, linewidth=1.4, zorder=1)
        axes.text(truth, len(bars) - 0.45, " truth", fontsize=8.5, va="bottom")
    axes.set_yticks(range(len(bars)), [name for name, *_ in bars])
    axes.set_ylim(-0.6, len(bars) - 0.4)
    _rate_axis(axes, f"rate, with {100 * one.confidence_level:g} % intervals")
    if one.estimate is None or one.naive is None:
        title = "These labels allow no corrected rate"
    else:
        title = f"Corrected rate {one.estimate:.3f}, the judge alone says {one.naive:.3f}"
    axes.set_title(title)
    return figure


def _difference(result: RateDifference) -> Figure:
    figure = new_figure(7.2, 3.4)
    top, bottom = figure.subplots(2, 1, height_ratios=[2, 1])
    for at, one in enumerate((result.estimate_b, result.estimate_a)):
        _bar(top, at + 0.13, one.naive, one.naive_low, one.naive_high, WARM, "o")
        _bar(top, at - 0.13, one.estimate, one.low, one.high, ACCENT, "s")
    top.set_yticks([0, 1], [clipped(result.b), clipped(result.a)])
    top.set_ylim(-0.6, 1.6)
    _rate_axis(top, "")
    _legend(top, [("judge alone", WARM, "o"), ("corrected", ACCENT, "s")], False)
    bottom.axvline(0, color=INK, linewidth=1.2)
    _bar(bottom, 0, result.estimate, result.low, result.high, ACCENT, "s")
    if result.naive is not None:
        bottom.plot([result.naive], [0.28], "o", color=WARM, markersize=6)
    reach = max(abs(v) for v in (result.low or 0, result.high or 0, result.naive or 0, 0.05)) * 1.15
    bottom.set_xlim(-reach, reach)
    bottom.set_ylim(-0.5, 0.6)
    bottom.set_yticks([0], ["difference"])
    bottom.grid(visible=False, axis="y")
    bottom.tick_params(axis="y", length=0)
    bottom.set_xlabel(f"{clipped(result.a)} minus {clipped(result.b)}")
    if result.estimate is None or result.low is None or result.high is None:
        title = "No corrected difference"
    elif result.low > 0 or result.high < 0:
        title = f"The difference, {result.estimate:+.3f}, leaves out zero"
    else:
        title = f"The difference, {result.estimate:+.3f}, is not told from zero by these labels"
    top.set_title(title)
    return figure


def _classes(result: ClassEstimate, truth: Mapping[str, float] | None) -> Figure:
    figure = new_figure(7.2, 1.5 + 0.55 * len(result.classes))
    axes = figure.subplots()
    for at, one in enumerate(reversed(result.classes)):
        axes.plot([one.naive], [at + 0.13], "o", color=WARM, markersize=6)
        if one.estimate is None:
            axes.text(0.01, at - 0.13, "no honest estimate", color=MUTED, fontsize=8.5, va="center")
        else:
            _bar(axes, at - 0.13, one.estimate, one.low, one.high, ACCENT, "s")
        if truth is not None and one.label in truth:
            known = truth[one.label]
            axes.plot([known, known], [at - 0.38, at + 0.38], color=INK, linewidth=1.6)
    axes.set_yticks(
        range(len(result.classes)), [clipped(one.label) for one in reversed(result.classes)]
    )
    axes.set_ylim(-0.6, len(result.classes) - 0.4)
    _rate_axis(axes, f"share of the class, with {100 * result.confidence_level:g} % intervals")
    _legend(axes, [("judge alone", WARM, "o"), ("corrected", ACCENT, "s")], truth is not None)
    axes.set_title("Class shares, the judge's own and corrected")
    return figure


def plan_figure(plan: RatePlan) -> Figure:
    """Expected width against the number of labels, for each way to use them."""
    if plan.rate is None:
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
        for (name, field), colour, style in zip(
            (
                ("by class, Algorithm 1 (misclassification)", "expected_width"),
                ("at random (misclassification)", "random_width"),
                ("at random (ppi++)", "ppi_width"),
                ("by verdict (conditional)", "verdict_width"),
                ("people alone", "human_only_width"),
            ),
            (ACCENT, ACCENT, SERIES[2], GOOD, WARM),
            ("-", "--", "-", "-", ":"),
            strict=True,
        ):
            axes.plot(sizes, [getattr(p, field) for p in plans], style, color=colour, label=name)
        if plan.target_width is not None:
            axes.axhline(plan.target_width, color=INK, linewidth=1)
            axes.text(sizes[0], plan.target_width, "width wanted", va="bottom", fontsize=8.5)
        axes.set_xscale("log")
        ticks = [t for t in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if t <= most]
        axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("human labels")
        axes.set_ylabel(f"expected width of the {100 * plan.confidence_level:g} % interval")
        axes.legend(fontsize=8.5)
        axes.set_title(
            "Correcting this judge needs fewer labels than people alone"
            if plan.judge_helps
            else "Correcting this judge needs more random labels than people alone",
        )
    return figure


def coverage_panels(
    axes: Sequence[Axes],
    rates: FloatArray,
    *,
    naive: FloatArray,
    corrected: FloatArray,
    coverage_naive: FloatArray,
    coverage: FloatArray,
    equal: FloatArray,
    adaptive: FloatArray,
    confidence_level: float,
) -> None:
    """The three panels of the paper's Figure 6: mean estimate, coverage, length by allocation."""
    left, middle, right = axes
    left.plot([0, 1], [0, 1], color=INK, linewidth=1)
    left.plot(rates, naive, "o-", color=WARM, markersize=3, label="judge alone")
    left.plot(rates, corrected, "s-", color=ACCENT, markersize=3, label="corrected")
    left.set_ylabel("mean estimate")
    left.legend(fontsize=8)
    middle.axhline(confidence_level, color=INK, linewidth=1)
    middle.plot(rates, coverage_naive, "o-", color=WARM, markersize=3)
    middle.plot(rates, coverage, "s-", color=ACCENT, markersize=3)
    middle.set_ylim(-0.03, 1.03)
    middle.set_ylabel(f"coverage of the {100 * confidence_level:g} % interval")
    right.plot(rates, equal, "s--", color=ACCENT, markersize=3, label="equal split")
    right.plot(rates, adaptive, "s-", color=GOOD, markersize=3, label="Algorithm 1")
    right.set_ylim(bottom=0)
    right.set_ylabel("mean interval length")
    right.legend(fontsize=8)
    for one in axes:
        one.set_xlim(-0.02, 1.02)


def _bar(
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


def _rate_axis(axes: Axes, label: str) -> None:
    axes.set_xlim(0, 1)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _legend(axes: Axes, entries: Sequence[tuple[str, str, str]], truth: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker=marker, label=name) for name, colour, marker in entries
    ]
    if truth:
        handles.append(
            Line2D([], [], color=INK, marker="|", markersize=11, linestyle="none", label="truth")
        )
    figure = axes.get_figure(root=True)
    if figure is not None:
        figure.legend(handles=handles, loc="outside lower right", fontsize=8.5, ncols=len(handles))
