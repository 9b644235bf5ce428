"""What the pictures of ranking results draw: titles, axes, values and legends."""

from __future__ import annotations

from dataclasses import replace

from shown_ranking import (
    BOARD,
    EVALUATED,
    MODELS,
    PLACED,
    TEMPERATURE,
    drawn,
    labels,
    legend,
    points,
)

from adjudge.present.views import figures_of


def test_names_of_figures() -> None:
    assert list(figures_of(BOARD)) == ["leaderboard"]
    assert list(figures_of(EVALUATED)) == [
        *("leaderboard", "reliability", "evaluation", "held-out", "residuals", "widths"),
        *("intervals", "budgets"),
    ]
    assert list(figures_of(TEMPERATURE)) == ["reliability"]
    assert len(EVALUATED.plot(figure="evaluation").axes) == 6


def test_the_leaderboard_as_a_picture() -> None:
    axes = drawn(BOARD, "leaderboard")
    assert labels(axes) == (
        "ash is first (rank range 1 to 3)",
        "Elo, 95 % bootstrap interval\n"
        "intervals cover the noise of these battles, not the judge's own errors",
        "",
    )
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        *("ash  1", "birch  2", "cedar  3", "dogwood  4"),
    ]
    *ends, arrow = points(axes)[::2]
    assert ends == [
        ([1611.3, 1673.8], [0, 0]),
        ([1552.4, 1622.9], [1, 1]),
        ([1409.1, 1487.5], [2, 2]),
        ([1308.3, 1376.6], [3, 3]),  # open below: drawn a little beyond the last point
    ]
    assert arrow == ([1308.3], [3])
    assert [x for x, _ in points(axes)[1::2]] == [[1641.2], [1587.6], [1448.7], [1322.4]]
    people = replace(BOARD, method="bt", outcome="votes", covers_judge_error=True)
    assert drawn(people, "leaderboard").get_xlabel() == "Elo, 95 % bootstrap interval"
    bare = tuple(replace(row, rank_low=None, rank_high=None) for row in MODELS)
    unsure = drawn(replace(BOARD, models=bare, interval="none"), "leaderboard")
    assert labels(unsure) == ("ash is first by soft-elo", "Elo", "")
    placed = drawn(PLACED, "leaderboard")
    assert labels(placed)[:2] == (
        "newcomer: 1588 on people's scale [1533, 1645]",
        "Elo, 90 % conformal interval\ngrey: people's Elo of the anchors",
    )


def test_the_evaluation_in_pictures() -> None:
    axes = drawn(EVALUATED, "held-out")
    assert labels(axes) == (
        "Held-out error, Elo: 58 hard, 20 soft",
        "people's Elo (dashed: equal)",
        "judge's Elo, model left out",
    )
    assert points(axes)[1:] == [
        ([1633.0, 1571.0], [1713.0, 1521.0]),
        ([1633.0, 1571.0], [1623.0, 1584.0]),
    ]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = drawn(EVALUATED, "residuals")
    assert labels(axes) == (
        "Strongest − weakest quarter, Elo: 135 hard, -13 soft", "", "judge − people, Elo",
    )  # fmt: skip
    assert points(axes)[1:] == [
        ([0, 1, 2, 3], [-71, -13, 22, 64]),
        ([0, 1, 2, 3], [5, 3, -4, -8]),
    ]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = drawn(EVALUATED, "widths")
    assert labels(axes) == (
        "Interval width, Elo: 244 hard, 75 soft",
        "conformal quantile (grey: equal width, in Elo)",
        "median standard error, Elo",
    )
    assert points(axes)[-2:] == [([6.1], [19.8]), ([4.4], [8.4])]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = drawn(EVALUATED, "intervals")
    assert labels(axes) == (
        "1 of 1 Soft-Elo intervals contain people's Elo",
        "models, weakest to strongest on people's scale",
        "interval − people's Elo",
    )
    assert points(axes)[:3] == [
        ([1, 1], [-40.0, 200.0]),
        ([0, 0], [-80.0, -20.0]),
        ([1, 1], [-51.0, 31.0]),
    ]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = drawn(EVALUATED, "budgets")
    assert labels(axes) == (
        "Error at 5 battles each, Elo: 91 hard, 45 soft",
        "judged battles per model",
        "held-out error, Elo",
    )
    assert points(axes) == [([5, 10], [91.2, 77.3]), ([5, 10], [44.7, 31.6])]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]


def test_reliability_as_a_picture() -> None:
    axes = drawn(TEMPERATURE, "reliability")
    assert labels(axes) == (
        "Calibration of σ(β|s|) (error 0.042)",
        "predicted: σ(β|s|)",
        "share of votes for the judge's side",
    )
    x, y = axes.lines[1].get_data()
    assert (list(x), list(y)) == ([0.55, 0.79], [0.58, 0.77])
