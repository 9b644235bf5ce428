"""What the reproduction of the Soft-Elo paper shows: our numbers and the paper's, and a picture."""

from __future__ import annotations

from dataclasses import replace

from adjudge_papers.items import ItemValue, PaperItem
from adjudge_papers.reproduction import interval_of
from adjudge_papers.soft_elo import JuryRow, SoftEloReproduction, SoftEloRow
from adjudge_papers.soft_elo_biases import FamilyExcess, LengthEffect, PositionEffect
from adjudge_papers.soft_elo_calibration import BetaStability
from adjudge_papers.soft_elo_languages import LanguageRow
from adjudge_papers.soft_elo_ratings import StrengthStructure
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
            hard_width_range=(81.2, 186.7), soft_width_range=(63.1, 104.9), agreement_rate=0.6183,
            agreement_correlation=0.2145, raw_ece=0.1423, contradictions=0.1187,
            hard_family=FamilyExcess(
                family="Qwen", own_models=3, other_models=19, excess=21.4,
                interval=interval_of(-4.6, 47.3),
            ),
            soft_family=FamilyExcess(
                family="Qwen", own_models=3, other_models=19, excess=8.8, interval=None
            ),
            family_points=FamilyExcess(
                family="Qwen", own_models=3, other_models=19, excess=0.137,
                interval=interval_of(-0.052, 0.326),
            ),
            stability=BetaStability(
                pooled=0.5144, fold_sd=0.00471, mean_deviation=0.00263, largest_deviation=0.01582,
                pooled_mae=16.85, with_ties=0.2891, with_ties_mae=23.97, with_ties_spearman=0.9688,
            ),
            strength=StrengthStructure(
                hard_correlation=0.583, soft_correlation=-0.417, top_top=0.612, top_bottom=1.538
            ),
            length=LengthEffect(
                near_tied=731, longer_share=0.5514, interval=interval_of(0.5146, 0.5878),
                partial=0.3172, p_value=0.0213,
            ),
            position=PositionEffect(
                pairs=1444, first_share=0.6317, interval=interval_of(0.6121, 0.6509),
                flip_share=0.3346, flip_interval=interval_of(0.3102, 0.3598), advantage=0.513,
                first_favoured=0.7214, first_mae=29.46, second_mae=32.08,
            ),
            warnings=("low beta",), published_mean_score=1.51, published_kappa=0.162,
            published_beta=0.50, published_ece=0.027, published_hard_mae=27.5,
            published_soft_mae=16.7, published_hard_spearman=0.968,
            published_soft_spearman=0.973, published_hard_width=131.9, published_soft_width=78.0,
            published_hard_coverage=0.886, published_soft_coverage=0.921,
            published_hard_width_range=(79, 184), published_soft_width_range=(61, 102),
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
            corpus="lmarena100k", language="en", prompts=812, judges=2, hard_mae=87.31,
            soft_mae=21.42, hard_spearman=0.9187, soft_spearman=0.9241, own_beta=0.487,
            own_beta_sd=0.063, own_beta_mae=22.65, mean_score=1.446, mean_score_sd=0.21,
            agreement=0.6712, agreement_sd=0.023, published_prompts=13423, published_hard_mae=86.6,
            published_soft_mae=20.6, published_hard_spearman=0.920,
            published_soft_spearman=0.923,
        ),
    ),
    l2=0.01, alpha=0.1, splits=5, replicates=20, seed=42, notes=("Table 8 contradicts its text",),
    juries=(
        JuryRow(
            corpus="lmarena100k", judges=2, battles=611, mae=15.28, spearman=0.9743,
            best="Qwen3-32B", best_mae=16.37,
        ),
    ),
    items=(
        PaperItem(
            paper="soft-elo", name="Table 2", about="Held-out error", status="reproduced",
            values=(ItemValue(name="mean error, hard", ours=34.06, published=45.9),),
            reason="1 of the paper's 8 judges", figure="errors",
        ),
    ),
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
            "mean | 1.52 | 0.163 | 0.51 | 34.1 | 23.5 | 0.965 | 0.971",
            "paper | 1.51 | 0.162 | 0.50 | 27.5 | 16.7 | 0.968 | 0.973",
            "90 % conformal intervals, their range over splits, and calibration error, Tables 3, 5 "
            "and 7",
            "judge | width hard | coverage hard | width soft | coverage soft | ECE",
            "Qwen3-32B | 133 [81, 187] | 89.1 % | 79 [63, 105] | 92.6 % | 0.028",
            "paper | 132 [79, 184] | 88.6 % | 78 [61, 102] | 92.1 % | 0.027",
            "mine | unbounded | – | unbounded | – | –",
            "mean | 133 | 89.1 % | 79 | 92.6 % | 0.028",
            "paper | 132 | 88.6 % | 78 | 92.1 % | 0.027",
            "Held-out error of label smoothing by constant, Table 8",
            "judge | 0.55 | 0.75 | chosen",
            "Qwen3-32B | 42.3 | 24.9 | 23.4",
            "paper | 42.2 | 24.8 | –",
            "mine | 51.2 | – | –",
            "mean | 46.8 | 24.9 | 23.4",
            "paper | 42.2 | 24.8 | –",
            "Judge minus people in Elo, weakest quarter of models to strongest, Figure 14",
            "judge | hard | soft",
            "Qwen3-32B | -44 -9 +17 +38 | +11 +7 -2 -16",
            "mine | – | –",
            "paper, mean of judges | -61 -12 +36 +40 | +12 +8 +4 -24",
            "beta over folds, pooled over all votes, and with ties at one half, appendix C",
            "judge | beta | sd of folds | mean away | farthest | error | error, pooled | "
            "beta, ties half | error, ties half | rho, ties half",
            "Qwen3-32B | 0.514 | 0.0047 | 0.0026 | 0.0158 | 16.93 | 16.85 | 0.289 | 23.97 | 0.969",
            "What |s| says, residuals against strength, |s| by quarter: sections 4.2 and 4.3, "
            "appendix G",
            "judge | agreement | r with |s| | ECE, beta 1 | against own scores | "
            "r of residual, hard | soft | |s| top-top | top-bottom",
            "Qwen3-32B | 61.8 % | 0.214 | 0.142 | 11.9 % | +0.58 | -0.42 | 0.61 | 1.54",
            "Length: near-tied verdicts, and the partial correlation with the Elo residual, "
            "Figure 12",
            "judge | near-tied | longer wins | 95 % interval | residual and length | p",
            "Qwen3-32B | 731 | 55.1 % | [51.5, 58.8] | +0.32 | 0.021",
            "Order of presentation, Figure 11",
            "judge | first slot wins | verdict flips | points | first favoured | error, A first | "
            "A second",
            "Qwen3-32B | 63.2 % | 33.5 % | +0.51 | 72.1 % | 29.5 | 32.1",
            "Own family's models minus the others, in points and in Elo, Figure 13",
            "judge | own models | points | Elo, hard | Elo, soft",
            "Qwen3-32B | 3 Qwen | +0.14 [-0.05, +0.33] | +21 [-5, +47] | +9",
            "All judges as one, the mean of calibrated scores (not in the paper), and the best of "
            "them on the same battles",
            "corpus | best alone | its error | judges | battles of all | jury's error | rho",
            "lmarena100k | Qwen3-32B | 16.4 | 2 | 611 | 15.3 | 0.974",
            "By language, on prompts that every judge scored, means over judges, Table 6",
            "language | prompts | judges | error hard | error soft | rho hard | rho soft",
            "en | 812 | 2 | 87.3 | 21.4 | 0.919 | 0.924",
            "paper | 13,423 | – | 86.6 | 20.6 | 0.920 | 0.923",
            "A beta for each language, means over judges, appendix E",
            "language | |s| | agreement | own beta | sd | error, pooled | error, own",
            "en | 1.45 | 67.1 % | 0.49 | 0.06 | 21.4 | 22.6",
            "Tables, figures and claims of the paper, 1 item: 1 reproduced",
            "item | about | status | value | ours | paper | difference",
            "Table 2 | Held-out error | reproduced | mean error, hard | 34.1 | 45.9 | -11.8",
            "1 of the paper's 8 judges: Table 2",
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
    none = replace(PAPER, rows=(), languages=(), published_quarters={}, notes=(), juries=())
    assert terminal_lines(none)[0] == "No judge could be compared with people"
    elsewhere = replace(PAPER.rows[1], corpus="comparia")
    both = replace(PAPER, rows=(PAPER.rows[0], elsewhere))
    assert "mine, comparia | – | – | – | 40.0 | 30.0 | – | –" in terminal_lines(both)
    invented = replace(PAPER, simulated=True)
    assert terminal_lines(invented)[1].startswith("Simulated battles of the release's shape")


def test_the_papers_errors_as_a_picture() -> None:
    assert list(PAPER.figures()) == ["errors"]
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
