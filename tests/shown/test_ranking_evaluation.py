"""What rank agreement and the evaluation of a leaderboard show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shown_ranking import (
    AGREEMENT,
    BOARD,
    BOARD_FIGURE,
    BOARD_NOTES,
    BOARD_TABLE,
    EVALUATED,
    halves,
)

from adjudge.ranking.leaderboard import GroupQuantile
from adjudge.ranking.targets import JurorRow
from shown import assert_shown, html_lines, markdown_lines, terminal_lines

AGREEMENT_FACTS = [
    "Kendall's tau with the other ranking | 0.667 | rough 95 % interval [0.331, 0.912], 4 models",
    "Spearman's rho with the other ranking | 0.801 | rough 95 % interval [0.402, 0.953], 4 models",
]
TEMPERATURE_TABLE = [
    "|s| | votes | people agree with the judge | 95 % interval | sigma(beta |s|)",
    "0.05 to 0.90 | 611 | 58 % | 54 % to 62 % | 57 %",
    "0.90 to 3.20 | 598 | 79 % | 75 % to 83 % | 78 %",
    "figure: How often people agree with the judge, against the prediction sigma(beta |s|); both "
    "are equal on the dashed line.",
]


def fold(line: str) -> str:
    """What a terminal prints only with --explain."""
    return line if line.startswith("figure: ") else f"detail: {line}"


def test_a_leaderboard_with_its_evaluation() -> None:
    assert_shown(
        EVALUATED,
        [
            "ash has the highest Elo of 4 models by soft-elo, from the judge's scores; 1 other can "
            "be first; "
            "intervals do not include judge errors",
            "With each of 12 models left out in turn, its Elo by soft-elo was 19.5 from "
            "people's on average.",
            "2,345 battles, sigma(beta s), s = score_a - score_b; bootstrap intervals "
            "over 321 prompts",
            *BOARD_TABLE,
            BOARD_FIGURE,
            *AGREEMENT_FACTS,
            "detail: What was fitted",
            "detail: kappa of verdicts and votes 0.432 (battle by battle)",
            "detail: beta 0.612 (se 0.035, 1,234 votes), calibration error 0.042",
            *map(fold, TEMPERATURE_TABLE),
            "detail: Against people, each model left out in turn: mean error in Elo, and judge "
            "minus people "
            "by quarter of strength",
            "detail: method | models | error | 95 % interval | Spearman | Kendall | beta or "
            "constant | "
            "weak to strong quarter",
            "detail: hard-elo | 13 | 57.6 | [41.2, 73.4] | 0.912 | 0.834 | – | -71 -13 +22 +64",
            "detail: soft-elo | 12 | 19.5 | [14.3, 25.7] | 0.947 | 0.856 | 0.622 | +5 +3 -4 -8",
            "detail: smoothed | 11 | 22.8 | – | – | – | 0.764 | –",
            "detail: Details",
            "detail: left out 1 model: fewer than two battles (hard-elo, soft-elo)",
            "detail: left out 2 models: no temperature without its battles (soft-elo)",
            "detail: 80 % intervals for new models, tested on random halves of the models (5 "
            "splits)",
            "detail: method | calibrate | test | coverage | median width | range of widths | "
            "quantile | "
            "median se",
            "detail: hard-elo | 6 | 7 | 85.7 % | 244 | [201, 287] | 6.12 | 19.8",
            "detail: soft-elo | 6 | 7 | 91.4 % | 75 | [66, 84] | 4.43 | 8.4",
            "detail: smoothed | 6 | 7 | – | unbounded | – | – | –",
            "detail: Error in Elo with fewer judged battles",
            "detail: battles per model | 5 | 10",
            "detail: hard-elo | 91.2 | 77.3",
            "detail: soft-elo | 44.7 | 31.6",
            "figure: Judge's Elo of each left-out model against people's; both are equal on the "
            "dashed line.",
            "figure: Judge's Elo minus people's, by quarter of strength; a slope is a scale that "
            "is stretched or compressed.",
            "figure: The width of an interval is twice its quantile times its standard error.",
            "figure: Interval of each left-out model minus people's Elo; one that crosses 0 "
            "contains it.",
            "figure: Held-out error with fewer judged battles; bands are standard deviations "
            "over random draws.",
            "detail: Temperature by group",
            "detail: group | votes | beta | se",
            "detail: en | 817 | 0.655 | 0.043",
            "detail: de | 417 | 0.533 | 0.061",
            "detail: fr | 0 | – | –",
            "detail: Details",
            "detail: one pooled beta is enough: groups do not clearly differ (p = 0.10)",
            "Intervals for new models (80 %, conformal): 1 of 1 contain people's Elo, median "
            "width 82",
            *BOARD_NOTES,
        ],
    )


@pytest.mark.parametrize(
    ("calibrate", "reason"),
    [
        (3, "3 models calibrate, and 4 are needed"),
        (6, "too many models have no standard error"),
    ],
)
def test_intervals_that_cannot_be_tested_say_why(calibrate: int, reason: str) -> None:
    empty = halves(
        "hard-elo", coverage=None, median_width=None, quantile=None, unbounded=True,
        n_calibration=calibrate,
    )  # fmt: skip
    lines = markdown_lines(replace(EVALUATED, conformal=(empty,), held_out=()))
    assert (
        f"detail: 80 % intervals for new models cannot be tested on random halves: {reason}"
        in lines
    )


def test_rank_agreement() -> None:
    tied = replace(AGREEMENT, n_models=2, kendall=None, spearman=None)
    facts = terminal_lines(replace(BOARD, agreement=tied))
    assert "rank correlation | – | 2 models, too few or all tied" in facts


def test_a_jury_and_quantiles_by_group() -> None:
    board = replace(
        EVALUATED,
        jury=(
            JurorRow(judge="oak", beta=0.412, beta_se=0.031, n_votes=998),
            JurorRow(judge="pine", beta=1.733, beta_se=0.124, n_votes=1001),
        ),
        quantiles=(
            GroupQuantile(
                method="soft-elo", by="family", group="OpenAI", n_models=13, quantile=4.377,
                median_width=87.2, coverage=12 / 13,
            ),
            GroupQuantile(
                method="soft-elo", by="family", group="Meta", n_models=4,
                reason="4 models, 10 needed",
            ),
            *(
                GroupQuantile(
                    method="soft-elo", by="language", group=name, n_models=3,
                    reason="3 models, 10 needed",
                )
                for name in "abcdefgh"
            ),
        ),
    )  # fmt: skip
    lines = [
        line.removeprefix("detail: ") for line in html_lines(board) if line != "detail: Details"
    ]
    at = lines.index("The jury: the temperature of each judge")
    assert lines[at + 1 : at + 4] == [
        "judge | votes | beta | se",
        "oak | 998 | 0.412 | 0.031",
        "pine | 1,001 | 1.733 | 0.124",
    ]
    at = lines.index("Intervals by family, each model's from the others of its family (soft-elo)")
    assert lines[at + 1 : at + 5] == [
        "family | models | quantile | median width | coverage",
        "OpenAI | 13 | 4.38 | 87 | 92.3 %",
        "no intervals by family for Meta (4 models, 10 needed)",
        "no intervals by language for a (3 models, 10 needed), b (3 models, 10 needed), "
        "c (3 models, 10 needed), d (3 models, 10 needed), e (3 models, 10 needed), "
        "f (3 models, 10 needed) and 2 more",
    ]
    slow = replace(board, agreement=replace(AGREEMENT, kendall_interval=None))
    assert "Kendall's tau with the other ranking | 0.667 | 4 models" in terminal_lines(slow)
