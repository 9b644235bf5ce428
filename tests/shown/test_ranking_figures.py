"""What the pictures of ranking results draw: titles, axes, values and legends."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from shown_ranking import BOARD, EVALUATED, MODELS, PLACED

from shown import legend, panel, points, words, y_ticks


def test_names_of_figures() -> None:
    assert list(BOARD.figures()) == ["leaderboard"]
    assert list(EVALUATED.figures()) == [
        *("leaderboard", "reliability", "evaluation", "held-out", "residuals", "widths"),
        *("intervals", "budgets"),
    ]
    assert len(EVALUATED.plot(figure="evaluation").axes) == 6


def test_the_leaderboard_as_a_picture() -> None:
    axes = panel(BOARD, "leaderboard")
    assert words(axes) == (
        "ash has the highest Elo (rank range 1 to 3)",
        "Elo, 95 % bootstrap interval\nintervals do not include judge errors\n"
        "after a name: its rank range",
        "",
    )
    assert y_ticks(axes) == [
        *("ash  1 to 3", "birch  1 to 2", "cedar  3", "dogwood  4"),
    ]
    drawn = points(axes, 1)
    arrow = drawn.pop()
    ends = [line for line in drawn if len(line) == 2]
    assert ends == [
        [(1611.3, 0), (1673.8, 0)],
        [(1552.4, 1), (1622.9, 1)],
        [(1409.1, 2), (1487.5, 2)],
        [(1308.3, 3), (1376.6, 3)],  # open below: drawn a little beyond the last point
    ]
    assert arrow == [(1308.3, 3)]
    # Where a model is that won or lost everything, no battle says.
    assert [line[0][0] for line in drawn if len(line) == 1] == [1641.2, 1587.6, 1448.7]
    people = replace(BOARD, method="bt", outcome="votes", covers_judge_error=True)
    assert panel(people, "leaderboard").get_xlabel() == (
        "Elo, 95 % bootstrap interval\nafter a name: its rank range"
    )
    bare = tuple(replace(row, rank_low=None, rank_high=None) for row in MODELS)
    unsure = panel(replace(BOARD, models=bare, interval="none"), "leaderboard")
    assert words(unsure)[:2] == (
        "ash is first by soft-elo",
        "Elo\nafter a name: its rank",
    )
    placed = panel(PLACED, "leaderboard")
    assert words(placed)[:2] == (
        "newcomer: 1588 on people's scale [1533, 1645]",
        "Elo, 90 % conformal interval\ngrey: people's Elo of the anchors\n"
        "after a name: its rank range",
    )
    bold = [name.get_text() for name in placed.get_yticklabels() if name.get_weight() == "bold"]
    assert [name.split()[0] for name in bold] == ["newcomer"]
    many = tuple(replace(MODELS[0], model=f"m{at}") for at in range(75))
    cut = panel(replace(BOARD, models=many), "leaderboard")
    assert cut.get_xlabel().endswith("\n70 of 75 models")


def test_the_evaluation_in_pictures() -> None:
    axes = panel(EVALUATED, "held-out")
    assert words(axes) == (
        "Held-out error, Elo: 58 hard, 20 soft",
        "people's Elo (dashed: equal)",
        "judge's Elo, model left out",
    )
    assert points(axes, 1)[1:] == [
        [(1633, 1713), (1571, 1521)],
        [(1633, 1623), (1571, 1584)],
    ]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = panel(EVALUATED, "residuals")
    assert words(axes) == (
        "Strongest − weakest quarter, Elo: 135 hard, -13 soft", "", "judge − people, Elo",
    )  # fmt: skip
    assert points(axes, 1)[1:] == [
        [(0, -71), (1, -13), (2, 22), (3, 64)],
        [(0, 5), (1, 3), (2, -4), (3, -8)],
    ]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = panel(EVALUATED, "widths")
    assert words(axes) == (
        "Interval width, Elo: 244 hard, 75 soft",
        "conformal quantile (grey: equal width, in Elo)",
        "median standard error, Elo",
    )
    assert points(axes, 1)[-2:] == [[(6.1, 19.8)], [(4.4, 8.4)]]
    assert [line.get_marker() for line in axes.get_lines()[-2:]] == ["s", "o"]  # without colours
    ends = sorted(text.get_position()[1] for text in axes.texts if text.get_text())
    least = 0.05 * axes.get_ylim()[1]
    assert all(high - low >= least for low, high in pairwise(ends))  # no number over another
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = panel(EVALUATED, "intervals")
    assert words(axes) == (
        "1 of 1 Soft-Elo intervals contain people's Elo",
        "models, weakest to strongest on people's scale",
        "interval − people's Elo",
    )
    assert points(axes, 1)[:3] == [
        [(1, -40), (1, 200)],
        [(0, -80), (0, -20)],
        [(1, -51), (1, 31)],
    ]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]

    axes = panel(EVALUATED, "budgets")
    assert words(axes) == (
        "Error at 5 battles each, Elo: 91 hard, 45 soft",
        "judged battles per model",
        "held-out error, Elo, ± one std. deviation",
    )
    assert points(axes, 1) == [[(5, 91.2), (10, 77.3)], [(5, 44.7), (10, 31.6)]]
    assert legend(axes) == ["Hard-Elo", "Soft-Elo"]


def test_reliability_as_a_picture() -> None:
    axes = panel(EVALUATED, "reliability")
    assert words(axes) == (
        "Calibration of σ(β|s|) (error 0.042)",
        "predicted: σ(β|s|) (dashed: equal)",
        "share of votes for the judge's side, ± SE",
    )
    assert points(axes)[1] == [(0.55, 0.58), (0.79, 0.77)]
