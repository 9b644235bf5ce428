"""The figures of the reporting paper's simulation, from a reproduction's numbers."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.estimation.label_budget import proposition_61
from adjudge.present.figure import (
    ACCENT,
    GOOD,
    INK,
    LINES,
    MARKS,
    MUTED,
    SERIES,
    WARM,
    new_figure,
    set_suptitle,
    themed,
)
from adjudge.present.text import level, number
from adjudge_papers.reporting_arena import figure_7
from adjudge_papers.reporting_simulation import LEAST_QUALITY, Simulation, SingleRun
from adjudge_papers.reproduction import Pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.reporting import ReportingReproduction


def _main(result: ReportingReproduction) -> tuple[Simulation, SingleRun]:
    """The setting of Figures 2 and 6, and a single run of it."""
    if result.main is None or result.single_run is None:
        raise ArgumentError("figure", "figure2", "the simulation was not run")
    return result.main, result.single_run


@themed()
def figure_2(result: ReportingReproduction) -> Drawing:
    """The judge's bias, one sample corrected with its interval, the bias that is left."""
    setting, run = _main(result)
    rates, q0, q1 = np.array(setting.rates), setting.specificity, setting.sensitivity
    turn = (1 - q0) / (2 - q0 - q1)
    expected = (q0 + q1 - 1) * rates + 1 - q0
    at = int(np.argmin(np.abs(rates - 0.5)))
    figure = new_figure(11, 3.8)
    left, middle, right = figure.subplots(1, 3)
    for panel in (left, right):
        panel.plot([0, 1], [0, 1], "--", color=INK, linewidth=1)
        panel.set(xlabel="true rate", xlim=(0, 1), ylim=(0, 1))
    for part, colour, name in (
        (rates <= turn + 1e-9, ACCENT, "too high"),
        (rates >= turn - 1e-9, WARM, "too low"),
    ):
        left.plot(rates[part], expected[part], color=colour, linewidth=2.6, label=name)
        left.fill_between(rates[part], rates[part], expected[part], color=colour, alpha=0.15)
    arrow = {"arrowstyle": "->", "color": GOOD, "lw": 2}
    for x, y, text, place in ((0, 1 - q0, "1 − q0", 0.03), (1, q1, "1 − q1", 0.72)):
        left.annotate("", xy=(x, y), xytext=(x, x), arrowprops=arrow)
        left.text(place, x + (y - x) * 0.7, text, color=GOOD, va="center")
    left.set_ylabel("expected rate, judge alone")
    left.set_title(f"Bias changes sign at {number(turn)}")
    left.legend(loc="lower right", fontsize=8.5)
    middle.axvline(rates[at], color=INK, linewidth=1, linestyle="--")
    for place, value, low, high, colour, name in (
        (1, run.naive, run.naive_low, run.naive_high, WARM, "judge alone"),
        (0, run.corrected, run.low, run.high, ACCENT, "corrected"),
    ):
        middle.hlines(place, low[at], high[at], color=colour, linewidth=2.6)
        middle.plot(value[at], place, "o", color=colour)
        middle.text(0.02, place + 0.15, f"{name} {number(value[at])}", color=colour)
    middle.set(xlim=(0, 1), ylim=(-0.6, 1.6), yticks=[])
    middle.set_xlabel(f"one sample; the true rate is {number(float(rates[at]), 2)}")
    held = run.low[at] <= rates[at] <= run.high[at]
    middle.set_title(f"Corrected interval {'holds' if held else 'misses'} the rate")
    right.plot(rates, setting.naive, "o", color=WARM, markersize=4, label="judge alone")
    right.plot(rates, setting.corrected, "s", color=ACCENT, markersize=4, label="corrected")
    right.set_ylabel(f"mean estimate, {setting.m} labels")
    gap = float(np.abs(np.array(setting.corrected) - rates).max())
    right.set_title(f"Largest bias after correction: {number(gap)}")
    right.legend(loc="upper left", fontsize=8.5)
    return figure


@themed()
def figure_3(result: ReportingReproduction) -> Drawing:
    """Interval length against labels (q0 = 0.7, q1 = 0.9)."""
    figure = new_figure()
    axes = figure.subplots()
    shorter: list[bool] = []
    for curve, colour, mark in zip(result.lengths, SERIES, MARKS, strict=False):
        axes.plot(curve.labels, curve.equal, "--", color=colour, linewidth=1.4)
        name = f"p = {curve.judge_rate}"
        axes.plot(curve.labels, curve.adaptive, color=colour, marker=mark, markevery=40, label=name)
        shorter += [a < e for a, e in zip(curve.adaptive, curve.equal, strict=True)]
    axes.set_ylim(bottom=0)
    axes.set_xlabel("labels in all")
    axes.set_ylabel(f"length of the {level(result.confidence_level)} interval")
    axes.legend(title="Algorithm 1 (dashed: equal split)", fontsize=8.5, title_fontsize=8.5)
    points = f"{sum(shorter):,} of {len(shorter):,} points"
    axes.set_title(f"Algorithm 1 is shorter than an equal split at {points}")
    return figure


@themed()
def figure_4(result: ReportingReproduction) -> Drawing:
    """Where a corrected judge has less variance than as many human labels alone."""
    least = LEAST_QUALITY
    q = least + (1 - least) * np.linspace(0, 1, 401) ** 2  # dense where the region closes
    ends = [proposition_61(float(value)) or (np.nan, np.nan) for value in q]
    low, high = np.array(ends).T
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    axes.fill_between(q, low, high, color=ACCENT, alpha=0.25, linewidth=0)
    axes.plot(q, low, color=ACCENT)
    axes.plot(q, high, color=ACCENT)
    axes.text(0.95, 0.5, "judge with correction\nhas less variance", ha="center", va="center")
    axes.text(0.815, 0.5, "people alone\nhave less", ha="left", va="center", color=WARM)
    axes.axvline(least, color=MUTED, linewidth=1, linestyle=":")
    axes.text(least, 0.02, f" {least:.3f}", fontsize=8.5, va="bottom")
    axes.set(xlim=(0.8, 1), ylim=(0, 1), xlabel="sensitivity = specificity", ylabel="true rate")
    axes.set_title(f"A judge below {least:.3f} never beats its own calibration labels")
    return figure


@themed()
def figure_5(result: ReportingReproduction) -> Drawing:
    """Bias under label shift."""
    shift = result.shift
    if shift is None:
        raise ArgumentError("figure", "figure5", "the simulation was not run")
    ratio = np.array(shift.calibration_rates) / shift.test_rate
    colours = (MUTED, WARM, SERIES[2], SERIES[4], ACCENT, GOOD)
    figure = new_figure()
    axes = figure.subplots()
    axes.axhline(0, color=INK, linewidth=1)
    looks = zip(cycle(colours), cycle(LINES), strict=False)
    for (name, bias), (colour, line) in zip(shift.bias.items(), looks, strict=False):
        wide = 3.0 if name.startswith("(v)") else 1.8
        axes.plot(ratio, bias, line, color=colour, linewidth=wide, label=name)
    axes.set_xlabel("rate among labelled rows / rate among test rows")
    axes.set_ylabel("bias")
    axes.legend(fontsize=8.5)
    largest = {name: max(map(abs, bias)) for name, bias in shift.bias.items()}
    best = min(largest, key=largest.__getitem__)
    others = [value for name, value in largest.items() if name != best]
    ends = f"{number(min(others))} to {number(max(others))}"
    axes.set_title(f"Largest bias: {best} {number(largest[best])}, the others {ends}")
    return figure


@themed()
def figure_6(result: ReportingReproduction) -> Drawing:
    """A single run, coverage, and length by allocation."""
    setting, run = _main(result)
    rates = np.array(setting.rates)
    figure, left = _three_panels(setting, result.confidence_level)
    hits = []
    for value, low, high, colour, marker, name in (
        (run.naive, run.naive_low, run.naive_high, WARM, "o", "judge alone"),
        (run.corrected, run.low, run.high, ACCENT, "s", "corrected"),
    ):
        left.fill_between(rates, low, high, color=colour, alpha=0.2, linewidth=0)
        left.plot(rates, value, marker, color=colour, markersize=4, label=name)
        hits.append(int(((low <= rates) & (rates <= high)).sum()))
    left.legend(fontsize=8)
    left.set_ylabel("estimate, one run")
    covered = f"{hits[0]} of {len(rates)} true rates, the corrected one {hits[1]}"
    set_suptitle(figure, f"One run: the naive interval covers {covered}")
    return figure


@themed()
def setting_figure(result: ReportingReproduction, *, figure_number: str) -> Drawing:
    """Figures 9 to 16: one setting each."""
    [setting] = [drawn for drawn in result.settings if drawn.figure == figure_number]
    figure, left = _three_panels(setting, result.confidence_level)
    left.plot(setting.rates, setting.naive, "o-", color=WARM, markersize=3, label="judge alone")
    left.plot(setting.rates, setting.corrected, "s-", color=ACCENT, markersize=3, label="corrected")
    left.set_ylabel("mean estimate")
    left.legend(fontsize=8)
    set_suptitle(
        figure,
        f"Figure {setting.figure}: n = {setting.n}, m = {setting.m}, specificity "
        f"{setting.specificity}, sensitivity {setting.sensitivity}: coverage "
        f"{number(min(setting.coverage))} to {number(max(setting.coverage))}",
    )
    return figure


def _three_panels(setting: Simulation, confidence_level: float) -> tuple[Drawing, Axes]:
    """Coverage and length in the second and third panel; the first is returned to be drawn."""
    figure, rates = new_figure(11, 3.8), setting.rates
    left, middle, right = figure.subplots(1, 3)
    left.plot([0, 1], [0, 1], color=INK, linewidth=1)
    middle.axhline(confidence_level, color=INK, linewidth=1)
    middle.plot(rates, setting.coverage_naive, "o-", color=WARM, markersize=3)
    middle.plot(rates, setting.coverage, "s-", color=ACCENT, markersize=3)
    middle.set_ylim(-0.03, 1.03)
    middle.set_ylabel(f"coverage of the {level(confidence_level)} interval")
    right.plot(rates, setting.length_equal, "s--", color=ACCENT, markersize=3, label="equal split")
    right.plot(rates, setting.length_adaptive, "s-", color=GOOD, markersize=3, label="Algorithm 1")
    right.set_ylim(bottom=0)
    right.set_ylabel("mean interval length")
    right.legend(fontsize=8)
    for panel in (left, middle, right):
        panel.set(xlabel="true rate", xlim=(-0.02, 1.02))
    return figure, left


PICTURES: Pictures = {
    "figure2": (
        figure_2,
        "Figure 2: bias of the judge's own rate, one sample corrected, what bias is left.",
    ),
    "figure3": (figure_3, "Figure 3: interval length by number of labels, q0 = 0.7, q1 = 0.9."),
    "figure4": (
        figure_4,
        "Figure 4: rates for which the judge beats people alone (Proposition 6.1).",
    ),
    "figure5": (
        figure_5,
        "Figure 5: bias of every estimator when labelled rows have another rate.",
    ),
    "figure6": (figure_6, "Figure 6: one run, coverage, and length by allocation."),
    "figure7": (figure_7, "Figure 7: bias of each model's rate, judge alone and corrected."),
    **{
        f"figure{at}": (
            partial(setting_figure, figure_number=str(at)),
            f"Figure {at}: mean estimate, coverage and length.",
        )
        for at in range(9, 17)
    },
}
