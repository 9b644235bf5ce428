"""The Soft-Elo paper on a small simulated release: every number and picture, seeded.

Made by `reproduce_soft_elo(simulate_release(models=20, battles=800, seed=7))`.
"""

from __future__ import annotations

import pytest

from adjudge_papers.simulated_release import simulate_release
from adjudge_papers.soft_elo import SoftEloReproduction, reproduce_soft_elo
from adjudge_papers.soft_elo_figures import PICTURES
from shown import legend, title, y_ticks

#: corpus, judge, beta, error hard and soft, kappa, beta with ties, first slot wins, longer wins,
#: own family in points.
ROWS = [
    ("lmarena100k", "openai-judge", 0.448, 93.4, 33.8, 0.184, 0.353, 0.584, 0.409, -0.016),
    ("lmarena100k", "meta-judge", 0.243, 91.8, 37.4, 0.163, 0.185, 0.590, 0.692, -0.152),
    ("lmarena100k", "alibaba-judge", 0.465, 87.8, 32.5, 0.203, 0.342, 0.600, 0.625, 0.062),
    ("lmarena100k", "google-judge", 0.320, 86.9, 32.3, 0.165, 0.249, 0.584, 0.889, 0.043),
    ("lmarena140k", "openai-judge", 0.609, 71.1, 22.7, 0.260, 0.464, 0.575, 0.500, 0.026),
    ("lmarena140k", "alibaba-judge", 0.526, 55.6, 23.8, 0.257, 0.408, 0.591, 0.500, 0.140),
    ("lmarena140k", "google-judge", 0.395, 48.8, 33.2, 0.257, 0.302, 0.565, 0.778, 0.204),
    ("lmarena140k", "meta-judge", 0.423, 48.7, 31.2, 0.199, 0.322, 0.609, 0.750, 0.205),
    ("comparia", "openai-judge", 0.624, 135.2, 50.6, 0.293, 0.445, 0.560, 0.714, 0.006),
    ("comparia", "google-judge", 0.424, 122.5, 52.2, 0.319, 0.316, 0.564, 0.750, -0.022),
    ("comparia", "meta-judge", 0.476, 92.4, 63.0, 0.276, 0.351, 0.592, 0.833, -0.056),
    ("comparia", "alibaba-judge", 0.402, 67.8, 63.6, 0.224, 0.266, 0.576, 0.429, -0.190),
]
#: corpus, language, prompts, error hard and soft, own beta, error with it.
LANGUAGES = [
    ("lmarena100k", "en", 343, 90.3, 32.2, 0.325, 32.6),
    ("lmarena100k", "ru", 63, 227.5, 58.8, 0.618, 89.4),
    ("lmarena100k", "zh", 59, 192.0, 51.0, 0.528, 64.6),
    ("lmarena100k", "de", 50, 218.8, 44.8, 0.341, 44.9),
    ("lmarena140k", "en", 350, 68.9, 29.6, 0.426, 31.2),
    ("lmarena140k", "ru", 66, 136.7, 37.4, 0.441, 35.3),
    ("lmarena140k", "zh", 57, 172.9, 50.6, 0.411, 47.8),
    ("lmarena140k", "de", 50, 199.5, 57.2, 0.871, 82.0),
    ("comparia", "fr", 341, 105.0, 52.9, 0.479, 53.5),
]
#: The title of every panel: each is computed from what the panel draws.
TITLES = {
    "figure-01": [
        "openai-judge: what a battle counts for",
        "Median width, Elo: 406 hard, 136 soft\n18 of 20 Soft-Elo intervals contain people's Elo",
        "Held-out error, Elo: 93 hard, 34 soft",
    ],
    "figure-02": [
        "openai-judge: residual and strength, r = +0.43",
        "It rises from weak to strong for 4 of 4 judges",
    ],
    "figure-03": [
        "Agreement goes from 57 % at small |s| to 86 % at large",
        "openai-judge: before and after fitting β",
    ],
    "figure-04": [
        "openai-judge\nHeld-out error, Elo: 93 hard, 34 soft",
        "Strongest − weakest quarter, Elo: 61 hard, -71 soft",
        "Error at 5 battles each, Elo: 157 hard, 43 soft",
    ],
    "figure-05": ["10 languages; 51 % are en"],
    "figure-06": [
        "β by budget",
        "openai-judge: error at 20 battles each, Elo: 104 hard, 37 soft",
    ],
    "figure-07": [
        *("alibaba-judge", "google-judge", "meta-judge", "openai-judge"),
        "Correlation from 0.05 to 0.29",
    ],
    "figure-08": [
        "openai-judge, LMArena 140K\n"
        "Median width, Elo: 249 hard, 106 soft\n18 of 20 Soft-Elo intervals contain people's Elo"
    ],
    "figure-09": [
        "openai-judge, ComparIA\n"
        "Median width, Elo: 478 hard, 227 soft\n18 of 20 Soft-Elo intervals contain people's Elo"
    ],
    "figure-10": ["Mean |s| from 1.45 to 1.85", "Agreement, %, from 63 to 75"],
    "figure-11": [
        "First slot wins, %, from 58 to 60",
        "Mean errors of the two orders differ by at most 8.8",
    ],
    "figure-12": ["Longer wins, %, from 41 to 89", "Residual goes with length for 3 of 4 judges"],
    "figure-13": ["In points: above 0 for 6 of 8", "In Elo: Hard-Elo above 0 for 7 of 8"],
    "figure-15": [
        "alibaba-judge\nerror 0.040",
        "openai-judge\nerror 0.047",
        "meta-judge\nerror 0.060",
        "google-judge\nerror 0.064",
    ],
    "figure-17": ["Soft targets lower the quantile of 0 and the standard error of 4 of 4 judges"],
}


@pytest.fixture(scope="module")
def result() -> SoftEloReproduction:
    return reproduce_soft_elo(simulate_release(models=20, battles=800, seed=7), draws=5)


def test_every_judge_on_every_corpus(result: SoftEloReproduction) -> None:
    fields = ("corpus", "judge", "beta", "hard_mae", "soft_mae", "kappa", "ties_beta")
    fields += ("first_share", "longer_share", "points_family")
    measured = [tuple(row[field] for field in fields) for row in result.rows("judges")]
    for ours, golden in zip(measured, ROWS, strict=True):
        assert ours[:2] == golden[:2]
        assert ours[2:] == pytest.approx(golden[2:], abs=0.051)
        assert ours[2] == pytest.approx(golden[2], abs=0.00051)


def test_languages(result: SoftEloReproduction) -> None:
    for row, golden in zip(result.rows("languages"), LANGUAGES, strict=True):
        assert (row["corpus"], row["language"], row["prompts"]) == golden[:3]
        numbers = [row[name] for name in ("hard_mae", "soft_mae", "own_beta", "own_beta_mae")]
        assert numbers == pytest.approx(golden[3:], abs=0.051)


def test_budgets_have_their_spread_over_the_draws(result: SoftEloReproduction) -> None:
    rows = result.rows("budgets")
    assert {row["corpus"] for row in rows} == {"lmarena100k"}
    assert {row["draws"] for row in rows} == {5}
    assert all(row["mae_sd"] > 0 for row in rows)
    assert result.settings["draws"] == 5


def test_every_picture_of_the_paper(result: SoftEloReproduction) -> None:
    pictures = result.figures()
    assert sorted(pictures) == sorted(PICTURES) == list(TITLES)
    judges = sorted({row["judge"] for row in result.rows("judges")})
    models = {row["model"] for row in result.rows("models", corpus="lmarena100k")}
    for name, picture in pictures.items():
        figure = picture.draw()
        assert [title(axes) for axes in figure.axes if title(axes)] == TITLES[name], name
        assert figure.texts[-1].get_text() == "simulated"
        # Models are named on the axis of their intervals, judges on an axis or in a legend.
        if name in ("figure-01", "figure-08", "figure-09"):
            assert any(set(y_ticks(axes)) == models for axes in figure.axes)
        if name in ("figure-11", "figure-12", "figure-13"):
            assert all(sorted(y_ticks(axes)) == judges for axes in figure.axes)
        if name in ("figure-02", "figure-06"):
            assert any(sorted(legend(axes)) == judges for axes in figure.axes)
        if name == "figure-17":
            assert sorted(legend(figure)) == sorted([*judges, "Hard-Elo", "Soft-Elo"])


def test_the_stamp_is_beside_a_legend_on_the_right(result: SoftEloReproduction) -> None:
    """A saved picture grows upwards by the stamp, and such a legend moves up with its edge."""
    figure = result.plot(figure="figure-17")
    figure.draw_without_rendering()
    [stamp], [names] = figure.texts, figure.legends
    assert stamp.get_text() == "simulated"
    assert stamp.get_window_extent().x1 < names.get_window_extent().x0


def test_every_item_is_simulated_and_drawn(result: SoftEloReproduction) -> None:
    assert {item.status for item in result.items} == {"simulated"}
    names = [item.name.split(",")[0] for item in result.items]
    assert {f"Table {k}" for k in range(1, 9)} <= {*names}
    assert {f"Figure {k}" for k in range(1, 18)} <= {*names}
    drawn = {item.figure for item in result.items} - {None}
    assert drawn == set(PICTURES)
    # 800 battles of 20 models are too few for 200 battles per model.
    unknown = {v.name for item in result.items for v in item.values if v.ours is None}
    assert all(name.endswith("200 battles per model") for name in unknown)
