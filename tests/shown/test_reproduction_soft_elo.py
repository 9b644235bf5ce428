"""What the reproduction of the Soft-Elo paper shows: our numbers and the paper's, and a picture."""

from __future__ import annotations

from dataclasses import replace

from adjudge.present.views import figures_of
from adjudge.results.ranking_reproduction import (
    FamilyResiduals,
    LanguageRow,
    SoftEloReproduction,
    SoftEloRow,
)
from shown import (
    assert_shown,
    legend,
    markdown_lines,
    points,
    terminal_lines,
    words,
    y_ticks,
)

PAPER = SoftEloReproduction(
    rows=(
        SoftEloRow(
            corpus="lmarena100k", judge="Qwen3-32B", battles=1500, models=22, mean_score=1.523,
            kappa=0.1634, beta=0.513, ece=0.0284, hard_mae=28.12, soft_mae=16.93,
            hard_spearman=0.9651, soft_spearman=0.9712, hard_width=133.4, soft_width=79.3,
            hard_coverage=0.8912, soft_coverage=0.9256, smoothed={"0.55": 42.31, "0.75": 24.92},
            chosen_smoothing_mae=23.41, hard_quarters=(-44.0, -9.0, 17.0, 38.0),
            soft_quarters=(11.0, 7.0, -2.0, -16.0),
            hard_family=FamilyResiduals(
                family="Qwen", own_models=3, other_models=19, excess=21.4, low=-4.6, high=47.3
            ),
            soft_family=FamilyResiduals(
                family="Qwen", own_models=3, other_models=19, excess=8.8, low=None, high=None
            ),
            warnings=("low beta",), published_mean_score=1.51, published_kappa=0.162,
            published_beta=0.50, published_ece=0.027, published_hard_mae=27.5,
            published_soft_mae=16.7, published_hard_spearman=0.968,
            published_soft_spearman=0.973, published_hard_width=131.9, published_soft_width=78.0,
            published_hard_coverage=0.886, published_soft_coverage=0.921,
            published_smoothed={"0.55": 42.2, "0.75": 24.8},
        ),
        SoftEloRow(
            corpus="lmarena100k", judge="mine", battles=900, models=9, mean_score=None, kappa=None,
            beta=None, ece=None, hard_mae=40.0, soft_mae=30.0, hard_spearman=None,
            soft_spearman=None, hard_width=None, soft_width=None, hard_coverage=None,
            soft_coverage=None, smoothed={"0.55": 51.23, "0.75": None},
        ),
    ),
    languages=(
        LanguageRow(
            corpus="lmarena100k", language="en", battles=812, judges=2, hard_mae=87.31,
            soft_mae=21.42, hard_spearman=0.9187, soft_spearman=0.9241, published_hard_mae=86.6,
            published_soft_mae=20.6, published_hard_spearman=0.920,
            published_soft_spearman=0.923,
        ),
    ),
    l2=0.01, alpha=0.1, splits=5, replicates=20, seed=42, notes=("Table 8 contradicts its text",),
    published_quarters={"hard": (-61.0, -12.0, 36.0, 40.0), "soft": (12.0, 8.0, 4.0, -24.0)},
)  # fmt: skip


def test_the_soft_elo_paper() -> None:
    assert_shown(
        PAPER,
        [
            "Soft targets cut the held-out error by 32 %, the mean over 2 runs of judges on "
            "corpora: 34.1 hard, 23.5 soft",
            "The paper has 27.5 hard, 16.7 soft for 1 of them.",
            "Held-out error in Elo, Tables 1, 2 and 4 (l2 0.01, 5 splits, 20 resamples, seed 42)",
            "judge | |s| | kappa | beta | hard | soft | rho hard | rho soft",
            "Qwen3-32B | 1.52 | 0.163 | 0.51 | 28.1 | 16.9 | 0.965 | 0.971",
            "paper | 1.51 | 0.162 | 0.50 | 27.5 | 16.7 | 0.968 | 0.973",
            "mine | – | – | – | 40.0 | 30.0 | – | –",
            "90 % conformal intervals and calibration error, Tables 3, 5 and 7",
            "judge | width hard | coverage hard | width soft | coverage soft | ECE",
            "Qwen3-32B | 133 | 89.1 % | 79 | 92.6 % | 0.028",
            "paper | 132 | 88.6 % | 78 | 92.1 % | 0.027",
            "mine | unbounded | – | unbounded | – | –",
            "Held-out error of label smoothing by constant, Table 8",
            "judge | 0.55 | 0.75 | chosen",
            "Qwen3-32B | 42.3 | 24.9 | 23.4",
            "paper | 42.2 | 24.8 | –",
            "mine | 51.2 | – | –",
            "Judge minus people in Elo, weakest quarter of models to strongest, Figure 14",
            "judge | hard | soft",
            "Qwen3-32B | -44 -9 +17 +38 | +11 +7 -2 -16",
            "mine | – | –",
            "paper, mean of judges | -61 -12 +36 +40 | +12 +8 +4 -24",
            "Judge minus people in Elo, own family's models minus the others, Figure 13b",
            "judge | own models | hard | soft",
            "Qwen3-32B | 3 Qwen | +21 [-5, +47] | +9",
            "By language, means over judges, Table 6",
            "language | battles | judges | error hard | error soft | rho hard | rho soft",
            "en | 812 | 2 | 87.3 | 21.4 | 0.919 | 0.924",
            "paper | – | – | 86.6 | 20.6 | 0.920 | 0.923",
            "figure: Held-out error of each judge with hard and with soft targets; rings are the "
            "paper's.",
            "warning, Qwen3-32B, lmarena100k: low beta",
            "note: Table 8 contradicts its text",
        ],
    )
    assert PAPER.to_frame()["judge"].to_list() == ["Qwen3-32B", "mine"]
    worse = replace(PAPER, rows=(replace(PAPER.rows[0], hard_mae=10.0, soft_mae=15.0),))
    assert markdown_lines(worse)[0] == (
        "Soft targets raise the held-out error by 50 %, the mean over 1 run of a judge on a "
        "corpus: 10.0 hard, 15.0 soft"
    )
    none = replace(PAPER, rows=(), languages=(), published_quarters={}, notes=())
    assert terminal_lines(none)[0] == "No judge could be compared with people"
    elsewhere = replace(PAPER.rows[1], corpus="comparia")
    both = replace(PAPER, rows=(PAPER.rows[0], elsewhere))
    assert "mine, comparia | – | – | – | 40.0 | 30.0 | – | –" in terminal_lines(both)


def test_the_papers_errors_as_a_picture() -> None:
    assert list(figures_of(PAPER)) == ["errors"]
    figure = PAPER.plot()
    [axes] = figure.axes
    assert words(axes)[:2] == (
        "Soft targets cut the held-out error by 32 %", "held-out error, Elo",
    )  # fmt: skip
    assert y_ticks(axes) == ["mine", "Qwen3-32B"]
    assert points(axes, 1) == [
        [(30.0, 0), (40.0, 0)],
        [(40.0, 0)],
        [(30.0, 0)],
        [(16.9, 1), (28.1, 1)],
        [(28.1, 1)],
        [(16.9, 1)],
        [(27.5, 1)],
        [(16.7, 1)],
    ]
    assert legend(figure) == ["Hard-Elo", "Soft-Elo", "paper"]
