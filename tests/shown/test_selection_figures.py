"""What the pictures of selection draw: lines with their values, axes, legends, computed titles."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.colors import to_hex
from shown_selection import (
    BY_GROUP,
    ENTROPY,
    EVALUATION,
    PLAN,
    POLICY,
    SINGLE,
    TWO,
    point,
    risk,
)

from adjudge.errors import ArgumentError
from shown import legend, named_points, panel, texts, title, words

BAND = "± one standard deviation"


def test_error_share_against_alpha() -> None:
    axes = panel(EVALUATION, "risk")
    drawn = named_points(axes)
    assert drawn["vanilla"] == [(0.05, 0.211), (0.1, 0.213)]  # a baseline: on one order
    assert drawn["scope"] == [(0.05, 0.042), (0.1, 0.093)]
    assert drawn["pac"] == [(0.05, 0.015), (0.1, 0.058)]
    assert drawn["error share = alpha"] == [(0, 0), pytest.approx((0.108, 0.108))]
    assert legend(axes) == ["error share = alpha", BAND, "vanilla", "scope", "pac"]
    assert words(axes)[1:] == ("alpha: error level allowed", "error share among accepted")
    assert title(axes) == "Error share at each alpha, over random splits"
    band, mark = axes.collections  # one standard deviation around the first guarantee
    assert mark.get_label() == BAND
    corners = {(round(x, 3), round(y, 3)) for x, y in band.get_paths()[0].vertices}
    assert {(0.05, 0.021), (0.05, 0.063), (0.1, 0.07), (0.1, 0.116)} <= corners


@pytest.mark.parametrize("name", ["risk", "coverage"])
def test_no_line_is_hidden_by_the_legend(name: str) -> None:
    axes = panel(EVALUATION, name)
    axes.figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0


def test_coverage_against_alpha() -> None:
    axes = panel(EVALUATION, "coverage")
    drawn = named_points(axes)
    assert drawn["vanilla"] == [(0.05, 1.0), (0.1, 1.0)]
    assert drawn["scope"] == [(0.05, 0.311), (0.1, 0.522)]
    assert drawn["pac"] == [(0.05, 0.102), (0.1, 0.333)]
    assert legend(axes) == ["vanilla", "scope", "pac"]
    assert words(axes)[1:] == ("alpha: error level allowed", "share of verdicts accepted")
    assert title(axes) == "Accepted at each alpha, over random splits"


def test_several_judges_are_lines_of_the_first_guarantee() -> None:
    shares, coverage = panel(TWO, "risk"), panel(TWO, "coverage")
    drawn = named_points(shares)
    assert (drawn["x"], drawn["y"]) == ([(0.05, 0.042)], [(0.05, 0.079)])
    assert legend(shares) == ["error share = alpha", BAND, "x", "y"]
    assert named_points(coverage) == {"x": [(0.05, 0.311)], "y": [(0.05, 0.208)]}
    assert legend(panel(TWO, "risk-coverage")) == ["x", "y"]


def test_methods_have_colours_of_their_own_however_many_there_are() -> None:
    names = ("scope", "fdr", "pac", "mine", "yours")
    extra = tuple(risk("x", ENTROPY, name, 0.1, 0.5, 0, 0.1, 0, 0.1, 0) for name in names)
    baselines = EVALUATION.methods[6:8]
    axes = panel(replace(EVALUATION, methods=(*baselines, *extra)), "coverage")
    dots = [line for line in axes.get_lines() if line.get_marker() != "None"]
    colours = [to_hex(line.get_color()) for line in dots]
    assert len(colours) == len(set(colours)) == 6


def test_reliability() -> None:
    axes = panel(EVALUATION, "reliability")
    bins = [(0.55, 0.5), (0.75, 0.7), (0.95, 0.8)]
    assert named_points(axes) == {f"{ENTROPY}, ECE 0.031": bins, f"{SINGLE}, ECE 0.052": bins}
    bars = [bar for curve in axes.collections for bar in curve.get_segments()]
    n = EVALUATION.curves[0].bin_count
    assert len(bars) == 6
    for (x, right), rows, bar in zip(bins, n, bars, strict=False):
        error = (right * (1 - right) / rows) ** 0.5
        assert bar.ravel().tolist() == pytest.approx([x, right - error, x, right + error])
    assert title(axes) == "Accuracy at each confidence"
    assert words(axes)[1:] == (
        "confidence: max(p_a, 1 − p_a) (dashed: equal)",
        "share of verdicts right, ± SE",
    )


def test_error_share_against_coverage() -> None:
    axes = panel(EVALUATION, "risk-coverage")
    drawn = named_points(axes)[ENTROPY]
    assert drawn == [(0.05, 0.25), (0.1, 0.2), (0.5, 0.11), (1.0, 0.18)]
    assert title(axes) == "Error share as more verdicts are accepted"
    assert words(axes)[1:] == (
        "share of verdicts accepted, least doubt first",
        "error share among accepted",
    )
    assert legend(axes) == [ENTROPY, SINGLE]


def test_every_curve_has_a_mark_in_the_picture_and_a_line_of_its_own() -> None:
    first, second = EVALUATION.curves
    point_only = replace(second, coverage=(0.8,), risk=(0.16,))
    axes = panel(replace(EVALUATION, curves=(first, point_only)), "risk-coverage")
    curve, dot = axes.get_lines()
    assert (curve.get_marker(), dot.get_marker()) == ("None", "s")
    assert curve.get_linestyle() != dot.get_linestyle()


def test_long_names_of_judges_stay_distinct() -> None:
    names = {name: f"router:an-organisation/{name}-instruct-2026-07-18" for name in ("x", "y")}
    parts = {
        field: tuple(replace(one, judge=names[one.judge]) for one in getattr(TWO, field))
        for field in ("methods", "signals", "curves")
    }
    axes = panel(replace(TWO, **parts), "coverage")
    assert legend(axes) == ["…x-instruct-2026-07-18", "…y-instruct-2026-07-18"]


def test_a_policy() -> None:
    axes = panel(POLICY)
    assert named_points(axes) == {
        "error share as the threshold rises": [
            (0.4, 0.0),
            (0.6, pytest.approx(1 / 3)),
            (0.8, 0.25),
            (1.0, 0.4),
        ],
        "calibrated threshold": [],
        "alpha = 0.1": [(0.0, 0.1), (1.0, 0.1)],
    }
    dots = [line.get_xydata().tolist() for line in axes.get_lines() if line.get_marker() == "o"]
    assert dots == [[[0.5, 0.05]], []]  # where the rule of its only group stops, and the legend's
    assert title(axes) == (
        "scope at alpha 0.1 accepts doubt <= 0.21346: 47.3 % of 300 labels, 8.5 % wrong"
    )
    assert words(axes)[1:] == (
        "share of labelled verdicts accepted, least doubt first",
        "error share among accepted",
    )


def test_a_policy_by_group_has_a_line_for_each_and_a_dot_where_a_rule_accepts() -> None:
    axes = panel(BY_GROUP)
    assert legend(axes) == ["judge-x / en", "judge-x / fr", "calibrated threshold", "alpha = 0.1"]
    dots = [line.get_xydata().tolist() for line in axes.get_lines() if line.get_marker() == "o"]
    assert dots == [[[0.5, 0.05]], []]
    nothing = replace(POLICY, feasible=False, alpha=0.02)
    assert legend(panel(nothing)) == ["error share as the threshold rises", "alpha = 0.02"]
    assert title(panel(nothing)) == "scope at alpha 0.02 accepts no verdict: no threshold passes"
    batch = replace(POLICY, guarantee="fdr", indicative=True)
    assert title(panel(batch)).startswith("fdr at alpha 0.1 accepts ~47.3 % of a batch ")
    empty = replace(POLICY, groups=(replace(POLICY.groups[0], scores=(0.1,), errors=(0,)),))
    with pytest.raises(ArgumentError, match="nothing to draw"):
        empty.plot()


def test_a_plan() -> None:
    axes = panel(PLAN)
    drawn = named_points(axes)
    assert drawn["from your labels"] == [(25, 0.412), (50, 0.534)]
    assert drawn["extrapolated"] == [(50, 0.534), (100, 0.551)]
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["25", "50", "100"]
    assert texts(axes) == ["50 labels"]
    assert title(axes) == (
        "fdr at alpha 0.2 accepts 53.4 % of the verdicts with 50 labels, and 32 % of\n"
        "such policies are above 20 %"
    )
    assert words(axes)[1:] == ("human labels for calibration", "share of verdicts accepted")
    guessed = replace(PLAN, points=tuple(replace(p, extrapolated=True) for p in PLAN.points))
    assert legend(panel(guessed)) == ["± one std. deviation over draws", "extrapolated"]
    known = replace(PLAN, points=PLAN.points[:2])
    assert legend(panel(known)) == ["± one std. deviation over draws", "from your labels"]
    hopeless = replace(
        PLAN, recommended=None, points=(point(25, 0, 0, 0, 0, 0), point(50, 0.011, 0, 0, 0, 0.1))
    )
    assert title(panel(hopeless)) == (
        "fdr at alpha 0.2 accepts 1.1 % of the verdicts even with 50 labels"
    )


def test_a_signal_without_a_verdict_has_no_curve() -> None:
    mute = replace(
        EVALUATION.curves[0], bin_confidence=(), bin_accuracy=(), bin_count=(), coverage=(), risk=()
    )
    nothing = replace(EVALUATION, curves=(mute,))
    for name in ("reliability", "risk-coverage"):
        assert title(panel(nothing, name)) == "No row has a verdict"


def test_pictures_have_names() -> None:
    assert list(EVALUATION.figures()) == ["risk", "coverage", "reliability", "risk-coverage"]
    with pytest.raises(ArgumentError, match="choose one of risk, coverage, reliability, risk-cov"):
        EVALUATION.plot(figure="all")
