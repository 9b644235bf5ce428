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
    OVERLAPPING,
    PAPER,
    PLAN,
    PROTOCOL,
    REFUSED,
    table,
)

from adjudge.errors import ArgumentError
from adjudge.estimation import plan_rate
from shown import legend, panel, texts, title, y_ticks


def rows_of(axes: Axes) -> list[tuple[str, list[float], list[float]]]:
    """Every line: its name, the ends of its interval, and its dot and its ring."""
    ends = {round(float(line.get_ydata()[0])): line.get_xdata() for line in axes.lines}
    dots: dict[int, list[float]] = {}
    for mark in axes.collections:
        ((x, y),) = mark.get_offsets()
        dots.setdefault(round(float(y)), []).append(float(x))
    return [
        (name, [float(x) for x in ends.get(at, ())], dots.get(at, []))
        for at, name in enumerate(y_ticks(axes))
    ]


def heights(axes: Axes) -> list[list[float]]:
    """The y values of every line."""
    return [[round(float(y), 6) for y in line.get_ydata()] for line in axes.lines]


def test_the_picture_of_an_estimate() -> None:
    axes = panel(ESTIMATE)
    assert title(axes) == "Corrected rate 0.412, judge alone 0.528"
    assert axes.get_xlabel() == "rate, with 95 % intervals"
    assert rows_of(axes) == [
        ("misclassification (this result)", [0.311, 0.523], [0.412]),
        ("ppi++", [0.342, 0.541], [0.437]),
        ("conditional", [0.353, 0.498], [0.423]),
        ("human-only", [], []),
        ("judge alone (naive)", [0.487, 0.566], [0.528]),
    ]
    assert texts(axes) == ["no estimate"]


def test_the_picture_of_other_estimates() -> None:
    refused = panel(REFUSED)
    assert title(refused) == "No misclassification estimate from these labels"
    assert rows_of(refused)[0] == ("misclassification (this result)", [0.013, 0.987], [])
    assert texts(refused) == ["interval alone"]
    assert refused.texts[0].get_position()[1] < -0.1  # not on the line of its interval
    alone = panel(NAIVE)
    assert title(alone) == "Judge alone: 0.527, not corrected for judge errors"
    assert y_ticks(alone) == ["naive (this result)", "ppi++", "conditional", "human-only"]
    assert rows_of(alone)[0][1:] == ([0.486, 0.565], [0.527])


def test_the_picture_of_groups() -> None:
    figure = GROUPED.plot()
    axes = figure.axes[0]
    assert title(axes) == (
        "Estimates for 2 of 3 groups.\nThe judge's rate lies outside the interval for 1 of 2 groups"
    )
    assert rows_of(axes) == [
        ("large", [0.519, 0.742], [0.634, 0.587]),
        ("small", [0.311, 0.523], [0.412, 0.528]),
        ("<bare>", [], [0.493]),
    ]
    assert texts(axes) == ["no estimate"]
    assert 0.2 < axes.get_xlim()[0] < 0.311  # it begins where the data are
    assert legend(figure) == ["corrected rate", "judge alone (naive)"]
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
    human = [replace(rate, naive=None, naive_interval=None) for rate in inside]
    assert title(replace(GROUPED, groups=tuple(human)).plot().axes[0]) == ("People's rates")
    bare = replace(GROUPED, groups=(BARE,)).plot().axes[0]
    assert title(bare) == "No estimate for any group from these labels"
    with pytest.raises(ArgumentError, match="this result has no picture"):
        CLASS_GROUPS.plot()


def test_the_picture_of_classes() -> None:
    figure = CLASSES.plot()
    axes = figure.axes[0]
    assert title(axes) == "The judge's share lies outside the interval for 1 of 2 classes"
    assert legend(figure) == ["corrected share", "judge alone (naive)"]
    assert rows_of(axes) == [
        ("A", [0.352, 0.549], [0.451, 0.483]),
        ("tie", [0.447, 0.649], [0.548, 0.417]),
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
