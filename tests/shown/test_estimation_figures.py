"""What the pictures of rates, differences and plans show: what is drawn, axes, legend, title."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from shown_estimation import (
    BARE,
    BIAS,
    CLASS_GROUPS,
    CLASSES,
    ESTIMATE,
    GROUPED,
    NAIVE,
    NO_CLASSES,
    NO_PLAN,
    ONE_PANEL,
    OVERLAPPING,
    PANEL,
    PAPER,
    PLAN,
    PROTOCOL,
    REFUSED,
    table,
)

from adjudge.errors import ArgumentError
from adjudge.estimation import plan_rate
from adjudge.present.figure import ACCENT, MUTED, WARM
from shown import legend, panel, texts, title, y_ticks


def lines_of(axes: Axes) -> list[tuple[list[float], list[float], str, str]]:
    """What is drawn: x, y, colour and marker of every line and point."""
    return [
        (
            [float(x) for x in line.get_xdata()],
            [round(float(y), 2) for y in line.get_ydata()],
            line.get_color(),
            line.get_marker(),
        )
        for line in axes.lines
    ]


def heights(axes: Axes) -> list[list[float]]:
    """The y values of every line."""
    return [[round(float(y), 6) for y in line.get_ydata()] for line in axes.lines]


def bar(
    low: float, value: float, high: float, at: float, colour: str, marker: str
) -> list[tuple[list[float], list[float], str, str]]:
    """An interval and its point."""
    return [([low, high], [at, at], colour, "None"), ([value], [at], colour, marker)]


def test_the_picture_of_an_estimate() -> None:
    axes = panel(ESTIMATE)
    assert title(axes) == "Corrected rate 0.412, judge alone 0.528"
    assert axes.get_xlabel() == "rate, with 95 % intervals"
    assert y_ticks(axes) == [
        "judge alone (naive)",
        "ppi++",
        "conditional",
        "human-only",
        "misclassification (this result)",
    ]
    assert lines_of(axes) == [
        *bar(0.487, 0.528, 0.566, 0, WARM, "o"),
        *bar(0.342, 0.437, 0.541, 1, MUTED, "o"),
        *bar(0.353, 0.423, 0.498, 2, MUTED, "o"),
        *bar(0.311, 0.412, 0.523, 4, ACCENT, "s"),
    ]
    assert texts(axes) == ["no estimate"]


def test_the_picture_of_other_estimates() -> None:
    refused = panel(REFUSED)
    assert title(refused) == "No misclassification estimate from these labels"
    assert lines_of(refused)[-1] == ([0.013, 0.987], [1, 1], ACCENT, "None")
    assert texts(refused) == ["no estimate"]
    assert refused.texts[0].get_position()[1] > 1.1  # not on the line of its interval
    alone = panel(NAIVE)
    assert title(alone) == "Judge alone: 0.527, not corrected for judge errors"
    assert y_ticks(alone) == ["ppi++", "conditional", "human-only", "naive (this result)"]
    assert lines_of(alone)[-2:] == bar(0.486, 0.527, 0.565, 3, ACCENT, "s")


def test_the_picture_of_groups() -> None:
    figure = GROUPED.plot()
    axes = figure.axes[0]
    assert title(axes) == (
        "Estimates for 2 of 3 groups.\nThe judge's rate lies outside the interval for 1 of 2 groups"
    )
    assert y_ticks(axes) == ["small", "large", "<bare>"]
    assert lines_of(axes) == [
        *bar(0.487, 0.528, 0.566, 0.13, WARM, "o"),
        *bar(0.311, 0.412, 0.523, -0.13, ACCENT, "s"),
        *bar(0.549, 0.587, 0.621, 1.13, WARM, "o"),
        *bar(0.519, 0.634, 0.742, 0.87, ACCENT, "s"),
        *bar(0.459, 0.493, 0.529, 2.13, WARM, "o"),
    ]
    assert texts(axes) == ["no estimate"]
    assert legend(figure) == ["judge alone (naive)", "misclassification"]
    assert axes.get_xlabel() == "rate, with 95 % intervals"
    assert title(panel(OVERLAPPING)) == (
        "The judge's rate lies outside the interval for 1 of 2 groups\nlabels of all groups pooled"
    )
    inside = [
        replace(one, naive=one.estimate) for one in GROUPED.groups if one.estimate is not None
    ]
    assert title(replace(GROUPED, groups=tuple(inside)).plot().axes[0]) == (
        "The judge's rate lies inside both intervals"
    )
    one = replace(GROUPED, groups=(inside[0],)).plot().axes[0]
    assert title(one) == "The judge's rate lies inside the interval"
    bare = replace(GROUPED, groups=(BARE,)).plot().axes[0]
    assert title(bare) == "No estimate for any group from these labels"
    with pytest.raises(ArgumentError, match="this result has no picture"):
        CLASS_GROUPS.plot()


def test_the_picture_of_several_judges() -> None:
    figure = PANEL.plot()
    axes = figure.axes[0]
    assert title(axes) == "All judges give a narrower interval than one judge for 1 of 2 groups"
    assert y_ticks(axes) == ["y", "x"]
    assert lines_of(axes) == [
        *bar(0.319, 0.433, 0.547, 0.13, WARM, "o"),
        *bar(0.319, 0.433, 0.547, -0.13, ACCENT, "s"),
        *bar(0.518, 0.607, 0.696, 1.13, WARM, "o"),
        *bar(0.541, 0.612, 0.683, 0.87, ACCENT, "s"),
    ]
    assert legend(figure) == ["narrowest judge alone", "2 judges"]
    assert texts(panel(ONE_PANEL)) == ["no estimate"]
    assert title(panel(ONE_PANEL)) == "All judges give no narrower interval than one judge"


def test_the_picture_of_classes() -> None:
    figure = CLASSES.plot()
    axes = figure.axes[0]
    assert title(axes) == "The judge's share lies outside the interval for 1 of 2 classes"
    naive, corrected = figure.legends[0].legend_handles
    assert (naive.get_linestyle(), corrected.get_linestyle()) == ("None", "-")  # as they are drawn
    assert y_ticks(axes) == ["tie", "A"]
    assert lines_of(axes) == [
        ([0.417], [0.13], WARM, "o"),
        *bar(0.447, 0.548, 0.649, -0.13, ACCENT, "s"),
        ([0.483], [1.13], WARM, "o"),
        *bar(0.352, 0.451, 0.549, 0.87, ACCENT, "s"),
    ]
    assert axes.get_xlabel() == "share of the class, with 90 % intervals"
    assert texts(panel(NO_CLASSES)) == ["no estimate", "no estimate"]


def test_the_picture_of_a_plan() -> None:
    axes = panel(PLAN)
    assert title(axes) == (
        "With random labels misclassification has 2.56 times\nthe variance of people alone"
    )
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "human labels",
        "expected width of the 95 % interval",
    )
    assert legend(axes) == [
        "by class, Algorithm 1 (misclassification)",
        "at random (misclassification)",
        "at random (conditional)",
        "by verdict (conditional)",
        "people alone",
    ]
    *curves, wanted = axes.lines
    assert list(wanted.get_ydata()) == [0.2, 0.2]
    assert texts(axes) == ["width wanted"]
    sizes = list(curves[0].get_xdata())
    assert (sizes[0], sizes[-1]) == (20, 400)
    # The widths at 20 labels, which no two ways share, and that all fall with more of them.
    first = plan_rate(judge_rate=0.55, sensitivity=0.9, specificity=0.7, n_test=1000, budget=20)
    expected = (
        first.expected_width,
        first.random_width,
        first.conditional_width,
        first.verdict_width,
        first.human_only_width,
    )
    assert len(set(expected)) == 5
    assert tuple(curve.get_ydata()[0] for curve in curves) == expected
    assert all(curve.get_ydata()[-1] < curve.get_ydata()[0] for curve in curves)
    with pytest.raises(ArgumentError, match="this result has no picture"):
        NO_PLAN.plot()


def test_the_pictures_of_the_paper() -> None:
    lengths = PAPER.draw("figure3").axes[0]
    assert title(lengths) == "Algorithm 1 is shorter than an equal split at 3 of 4 points"
    assert heights(lengths) == [[0.41, 0.087], [0.42, 0.079], [0.31, 0.071], [0.29, 0.061]]
    assert [line.get_linestyle() for line in lengths.lines] == ["--", "-", "--", "-"]
    formulas = table("formulas", "formula", {"least": 0.854, "region_low": 0.1, "region_high": 0.9})
    region = replace(PAPER, tables=(*PAPER.tables, formulas)).draw("figure4").axes[0]
    assert title(region).startswith("A judge below 0.854 never beats")
    shift = PAPER.draw("figure5").axes[0]
    assert title(shift) == "Largest bias: (v) misclassification 0.008, the others 0.102 to 0.252"
    assert legend(shift) == list(BIAS)
    drawn = [tuple(line.get_ydata()) for line in shift.lines[1:]]
    assert drawn == list(BIAS.values())
    assert list(shift.lines[1].get_xdata()) == [0.5, 1.5]
    main = PAPER.draw("figure6")
    assert main.get_suptitle() == (
        "One run: the naive interval covers 0 of 3 true rates, the corrected one 3"
    )
    assert heights(main.axes[0])[1:] == [[0.32, 0.62, 0.92], [0.02, 0.53, 0.98]]


def test_the_picture_of_a_setting_and_of_the_protocol() -> None:
    figure = PAPER.draw("figure11")
    assert figure.get_suptitle() == (
        "Figure 11: n = 1000, m = 500, specificity 0.7, sensitivity 0.9: coverage 0.941 to 0.966"
    )
    estimates, coverage, length = figure.axes
    assert heights(estimates)[1:] == [[0.31, 0.613, 0.91], [0.01, 0.513, 0.99]]
    assert heights(coverage) == [[0.95, 0.95], [0.02, 0.043, 0.11], [0.941, 0.952, 0.966]]
    assert heights(length) == [[0.12, 0.24, 0.153], [0.11, 0.25, 0.133]]
    protocol = PROTOCOL.draw("figure7")
    axes = protocol.axes[0]
    assert title(axes) == (
        "Correction brings 1 of 2 models closer to the human rate\n1 more without an estimate"
    )
    assert y_ticks(axes) == ["gpt-4 (17 splits)", "other"]
    assert [patch.get_width() for patch in axes.patches] == [0.087, -0.031, -0.012, 0.045]
    assert legend(protocol) == ["judge alone", "corrected"]
