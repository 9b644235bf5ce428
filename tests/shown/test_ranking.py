"""What leaderboards, temperatures, rank agreement, anchors, exact orders and plans show.

Results are built by hand from numbers that are all different, so that a swapped one is seen. The
expected lines are the same in every format: cells of a row stand between bars, figures are given
by their captions and are not in the terminal, details are on the HTML page alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from matplotlib.axes import Axes

from adjudge.present.render.markdown import render_blocks
from adjudge.present.views import blocks_of, figures_of
from adjudge.results.base import Result
from adjudge.results.ranking import (
    AgreementBin,
    AnchorRow,
    Anchors,
    BattlePlan,
    BudgetRow,
    ConformalRow,
    GroupRow,
    HeldOutRow,
    Leaderboard,
    LeastReversals,
    LooRow,
    ModelRow,
    RankAgreement,
    ReliabilityBin,
    Temperature,
)
from adjudge.results.ranking_reproduction import (
    FamilyResiduals,
    LanguageRow,
    SoftEloReproduction,
    SoftEloRow,
)

FIGURE, DETAIL = "figure: ", "detail: "


def terminal(result: Result) -> list[str]:
    lines = [" ".join(line.split()) for line in str(result).splitlines()]
    return [line for line in lines if line.strip("─ ")]


def markdown(result: Result) -> list[str]:
    lines = []
    for line in render_blocks(blocks_of(result)).splitlines():
        if not line or line.startswith("|---") or line == "|  | value |  |":
            continue
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            line = " | ".join(cell for cell in cells if cell)
        elif line.startswith("_") and line.endswith("_"):
            line = FIGURE + line.strip("_")
        else:
            line = line.removeprefix("- ").removeprefix("#### ").strip("*")
        lines.append(re.sub(r"\\(.)", r"\1", line))
    return lines


class Page(HTMLParser):
    """The lines of an HTML fragment."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.cells: list[str] = []
        self.prefix = ""
        self.skipped = 0

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.skipped += tag == "svg"
        if tag in ("details", "figcaption"):
            self.prefix = DETAIL if tag == "details" else FIGURE

    def handle_endtag(self, tag: str) -> None:
        self.skipped -= tag == "svg"
        if tag in ("p", "li", "tr", "summary", "figcaption", "h4", "small") and self.cells:
            self.lines.append(self.prefix + " | ".join(self.cells))
            self.cells = []
        if tag in ("details", "figcaption"):
            self.prefix = ""

    def handle_data(self, data: str) -> None:
        if not self.skipped and data.strip():
            self.cells.append(data.strip())


def html(result: Result) -> list[str]:
    page = Page()
    page.feed(result._repr_html_())
    return page.lines


def check(result: Result, expected: list[str]) -> None:
    """The lines in HTML; without details in Markdown; without figures too in the terminal."""
    assert html(result) == expected
    shown = [line for line in expected if not line.startswith(DETAIL)]
    assert markdown(result) == shown
    words = [line.replace(" | ", " ") for line in shown if not line.startswith(FIGURE)]
    assert terminal(result) == words


# --- leaderboards ----------------------------------------------------------------------------


def model(name: str, rank: int, elo: float | None, **other: object) -> ModelRow:
    fields: dict[str, object] = {"low": None, "high": None, "se": None, "n_battles": 100 + rank}
    return ModelRow(model=name, elo=elo, rank=rank, **{**fields, **other})  # type: ignore[arg-type]


MODELS = (
    model("ash", 1, 1641.2, low=1611.3, high=1673.8, se=15.9, rank_low=1, rank_high=3),
    model("birch", 2, 1587.6, low=1552.4, high=1622.9, se=18.0, rank_low=1, rank_high=2),
    model("cedar", 3, 1448.7, low=1409.1, high=1487.5, se=20.1, rank_low=3, rank_high=3),
    model("dogwood", 4, 1322.4, high=1376.6, se=44.4, rank_low=4, rank_high=4, unbounded=True),
)

TEMPERATURE = Temperature(
    beta=0.6123,
    beta_se=0.0347,
    n_battles=1234,
    signal=1.4567,
    correlation=0.2871,
    slope=0.7319,
    slope_se=0.0862,
    ece=0.0418,
    agreement=(
        AgreementBin(low=0.05, high=0.9, n=611, agreement=0.583, agreement_low=0.541,
                     agreement_high=0.624, predicted=0.567),
        AgreementBin(low=0.9, high=3.2, n=598, agreement=0.791, agreement_low=0.752,
                     agreement_high=0.828, predicted=0.776),
    ),
    reliability=(
        ReliabilityBin(predicted=0.55, observed=0.58, n=603),
        ReliabilityBin(predicted=0.79, observed=0.77, n=606),
    ),
    warnings=("beta could be rough",),
)  # fmt: skip

AGREEMENT = RankAgreement(
    n_models=4,
    kendall=0.667,
    kendall_low=0.331,
    kendall_high=0.912,
    spearman=0.801,
    spearman_low=0.402,
    spearman_high=0.953,
    confidence_level=0.95,
    replicates=200,
    failed=7,
)

BOARD = Leaderboard(
    method="soft-elo",
    beta=0.6123,
    beta_se=0.0347,
    l2=0.01,
    models=MODELS,
    components=(("ash", "birch", "cedar", "dogwood"),),
    warnings=("dogwood (lost all): the interval is open on that side",),
    dropped={"no outcome": 17, "model met itself": 1},
    n_battles=2345,
    outcome="sigma(beta s), s = score_a - score_b",
    interval="bootstrap",
    confidence_level=0.95,
    replicates=500,
    clusters=321,
    seed=0,
    assumptions=("battles of different prompts are independent draws",),
)

BOARD_TABLE = [
    "model | rank | rank range | Elo | 95 % interval | battles",
    "ash | 1 | 1 to 3 | 1641 | [1611, 1674] | 101",
    "birch | 2 | 1 to 2 | 1588 | [1552, 1623] | 102",
    "cedar | 3 | 3 | 1449 | [1409, 1488] | 103",
    "dogwood | 4 | 4 | 1322 | (-∞, 1377] | 104",
]
BOARD_FIGURE = f"{FIGURE}Each model with its interval; the number after a name is its rank."
BOARD_NOTES = [
    "assumes: battles of different prompts are independent draws",
    "warning: dogwood (lost all): the interval is open on that side",
    "left out 17 battles: no outcome",
    "left out 1 battle: model met itself",
]


def test_a_leaderboard_of_a_judge() -> None:
    check(
        BOARD,
        [
            "ash is first of 4 models by soft-elo; 95 % rank range 1 to 3, and 1 other model can "
            "be first too",
            "Intervals and rank ranges cover the noise of 2,345 battles, not the judge's own "
            "errors; rank --evaluate measures those where there are votes.",
            "soft-elo: 2,345 battles, sigma(beta s), s = score_a - score_b; bootstrap intervals "
            "over 321 prompts",
            *BOARD_TABLE,
            BOARD_FIGURE,
            "beta | 0.612 | standard error 0.035",
            *BOARD_NOTES,
        ],
    )
    assert BOARD.to_frame()["model"].to_list() == ["ash", "birch", "cedar", "dogwood"]
    assert repr(BOARD).startswith("Leaderboard(method='soft-elo', beta=0.6123")
    assert len(repr(BOARD)) <= 200
    assert replace(BOARD) == BOARD != replace(BOARD, models=MODELS[1:])


def headline(board: Leaderboard) -> list[str]:
    return markdown(board)[:2]


def test_headlines_follow_the_ranks_and_the_kind_of_interval() -> None:
    alone = replace(MODELS[0], rank_high=1)
    sure = replace(BOARD, models=(alone, replace(MODELS[1], rank_low=2), *MODELS[2:]))
    assert headline(sure)[0] == "ash is first of 4 models by soft-elo; 95 % rank range 1 alone"
    # Its rank range is wide, though nobody else can be first: another is surely above each rival.
    wide = replace(BOARD, models=(MODELS[0], replace(MODELS[1], rank_low=2), *MODELS[2:]))
    assert headline(wide)[0] == "ash is first of 4 models by soft-elo; 95 % rank range 1 to 3"
    people = replace(sure, method="bt", outcome="votes", covers_judge_error=True)
    assert headline(people) == [
        "ash is first of 4 models by bt; 95 % rank range 1 alone",
        "Intervals and rank ranges are about people's opinion.",
    ]
    unranked = tuple(replace(row, rank_low=None, rank_high=None) for row in MODELS)
    assert headline(replace(BOARD, models=unranked)) == [
        "ash is first of 4 models by soft-elo",
        "Intervals cover the noise of 2,345 battles, not the judge's own errors; rank --evaluate "
        "measures those where there are votes.",
    ]
    tied = (*(replace(row, rank=1, rank_low=1) for row in MODELS[:2]), *MODELS[2:])
    assert headline(replace(BOARD, models=tied))[0] == (
        "ash and birch share first place of 4 models by soft-elo; 95 % rank range 1 to 3"
    )
    four = tuple(replace(row, rank=1, rank_low=1) for row in MODELS)
    assert headline(replace(BOARD, models=four))[0] == (
        "ash, birch, cedar and 1 more share first place of 4 models by soft-elo; 95 % rank range "
        "1 to 3"
    )
    apart = (*MODELS[:2], *(replace(row, rank=row.rank - 2, component=1) for row in MODELS[2:]))
    several = replace(BOARD, models=apart, components=(("ash", "birch"), ("cedar", "dogwood")))
    assert headline(several)[0] == (
        "ash is first of 2 models by soft-elo, in the first of 2 groups that never met; 95 % rank "
        "range 1 to 3, and 1 other model can be first too"
    )
    assert markdown(several)[3:8] == [
        "model | rank | rank range | Elo | 95 % interval | battles | group",
        "ash | 1 | 1 to 3 | 1641 | [1611, 1674] | 101 | 1",
        "birch | 2 | 1 to 2 | 1588 | [1552, 1623] | 102 | 1",
        "cedar | 1 | 3 | 1449 | [1409, 1488] | 103 | 2",
        "dogwood | 2 | 4 | 1322 | (-∞, 1377] | 104 | 2",
    ]


def test_no_sentence_calls_a_leader_certain() -> None:
    alone = replace(BOARD, models=(replace(MODELS[0], rank_high=1), *MODELS[1:]))
    for board in (BOARD, alone):
        assert "doubt" not in str(board)
        assert "leads" not in str(board)


def test_orders_without_elo() -> None:
    rows = (
        model("ash", 1, None, score=0.8123, low=0.7519, high=0.8642, se=0.0288),
        model("birch", 2, None, score=0.1877, low=0.1358, high=0.2481, se=0.0299),
    )
    rates = replace(
        BOARD, method="win-rate", beta=None, beta_se=None, models=rows, outcome="votes",
        covers_judge_error=True, clusters=None, assumptions=(), dropped={},
        warnings=("win rates depend on which opponents a model met",),
        components=(("ash", "birch"),),
    )  # fmt: skip
    check(
        rates,
        [
            "ash is first of 2 models by win-rate",
            "Intervals are about people's opinion.",
            "win-rate: 2,345 battles, votes; bootstrap intervals",
            "model | rank | win rate | 95 % interval | battles",
            "ash | 1 | 0.812 | [0.752, 0.864] | 101",
            "birch | 2 | 0.188 | [0.136, 0.248] | 102",
            BOARD_FIGURE,
            "warning: win rates depend on which opponents a model met",
        ],
    )
    bare = tuple(replace(row, score=None, low=None, high=None, se=None) for row in rows)
    exact = replace(
        rates, method="mfas", interval="none", models=bare, warnings=(), proven=False, gap=0.0123
    )
    check(
        exact,
        [
            "ash is first of 2 models by mfas",
            "No intervals or rank ranges were computed.",
            "mfas: 2,345 battles, votes",
            "model | rank | battles",
            "ash | 1 | 101",
            "birch | 2 | 102",
            BOARD_FIGURE,
            "fewest wins against the order | not proven, gap 1.23 % of all wins",
        ],
    )
    assert "fewest wins against the order proven" in terminal(replace(exact, proven=True, gap=0.0))
    online = tuple(replace(row, elo=1500.0 + row.rank, se=20.0 + row.rank) for row in bare)
    shown = terminal(replace(rates, method="online-elo", interval="none", models=online))
    assert "model rank Elo se battles" in shown
    assert "ash 1 1501 21 101" in shown


def test_a_board_that_cannot_be_made() -> None:
    fit = replace(TEMPERATURE, beta=None, beta_se=None, reason="no votes", warnings=("no votes",))
    none = replace(
        BOARD, models=(), components=(), interval="none", temperature=fit, beta=None,
        reason="no votes", warnings=("no votes",), dropped={}, assumptions=(), smoothing=0.437,
        kappa=-0.123,
    )  # fmt: skip
    check(
        none,
        [
            "No leaderboard by soft-elo: no votes",
            "smoothing constant | 0.437",
            "kappa of verdicts and votes | -0.123 | battle by battle",
            "warning: no votes",
        ],
    )
    assert '<p class="finding bad">No leaderboard' in none._repr_html_()
    assert none.to_frame().height == 0


def test_a_long_board_keeps_its_tail_on_the_page() -> None:
    rows = tuple(model(f"m{k:02}", k, 2000.0 - k) for k in range(1, 63))
    names = tuple(row.model for row in rows)
    long = replace(BOARD, models=rows, components=(names,), interval="none")
    lines = html(long)
    assert "m60 | 60 | 1940 | 160" in lines
    tail = lines.index(f"{DETAIL}2 more models")
    assert lines[tail + 1 : tail + 5] == [
        f"{DETAIL}model | rank | Elo | battles",
        f"{DETAIL}m61 | 61 | 1939 | 161",
        f"{DETAIL}m62 | 62 | 1938 | 162",
        "2 more models in the result: -o FILE.json keeps all",
    ]
    assert "m61" not in str(long)


PLACED = replace(
    BOARD,
    models=(
        model("ash", 1, 1641.2, origin="anchor", n_battles=0),
        model("newcomer", 2, 1588.4, low=1533.2, high=1644.6, se=12.3, rank_low=1, rank_high=3,
              n_battles=211, origin="new"),
        model("cedar", 3, 1448.7, origin="anchor", n_battles=0),
        model("dogwood", 7, 1322.4, origin="anchor", n_battles=0),
    ),
    outcome="judge, score_a - score_b, on people's scale",
    n_battles=211,
    interval="conformal",
    confidence_level=0.9,
    covers_judge_error=True,
    clusters=None,
    warnings=("judges compared by name alone",),
    dropped={"both models are anchors": 5},
    assumptions=("new models are like the anchors",),
)  # fmt: skip


def test_a_placed_model() -> None:
    check(
        PLACED,
        [
            "newcomer: Elo 1588 on people's scale, 90 % interval [1533, 1645], rank 2 of 4",
            "Intervals cover the judge's own errors, as measured on the anchors.",
            "On people's scale: soft-elo, 211 judged battles",
            "new model | Elo | 90 % interval | rank | rank range | battles",
            "newcomer | 1588 | [1533, 1645] | 2 of 4 | 1 to 3 | 211",
            "Among people's Elo of the anchors, whose mean is 1500",
            "model | rank | Elo",
            "ash | 1 | 1641",
            "newcomer (new) | 2 | 1588",
            "cedar | 3 | 1449",
            BOARD_FIGURE,
            "beta | 0.612 | standard error 0.035",
            "assumes: new models are like the anchors",
            "warning: judges compared by name alone",
            "left out 5 battles: both models are anchors",
        ],
    )
    open_row = replace(PLACED.models[1], low=None, high=None, unbounded=True)
    unbounded = replace(PLACED, models=(PLACED.models[0], open_row, *PLACED.models[2:]))
    assert headline(unbounded) == [
        "newcomer: Elo 1588 on people's scale, 90 % interval unbounded, rank 2 of 4",
        "1 of 1 interval unbounded.",
    ]
    assert '<p class="finding bad">' in unbounded._repr_html_()
    two = replace(PLACED, models=(*PLACED.models[:2], replace(open_row, model="later", rank=4)))
    assert headline(two) == [
        "2 new models, the highest newcomer: Elo 1588 on people's scale, 90 % interval "
        "[1533, 1645], rank 2 of 3",
        "1 of 2 intervals unbounded.",
    ]
    assert '<p class="finding plain">' in two._repr_html_()


# --- models left out in turn -----------------------------------------------------------------


def held(method: str, name: str, human: float, elo: float, half: float | None) -> HeldOutRow:
    return HeldOutRow(
        method=method,
        model=name,
        human_elo=human,
        elo=elo,
        residual=elo - human,
        se=9.9,
        low=None if half is None else elo - half,
        high=None if half is None else elo + half,
        unbounded=half is None,
        covered=None if half is None else abs(elo - human) <= half,
    )


def halves(method: str, **other: object) -> ConformalRow:
    fields = {"alpha": 0.2, "splits": 5, "n_calibration": 6, "n_test": 7, "models_needed": 4}
    return ConformalRow(method=method, **{**fields, **other})  # type: ignore[arg-type]


EVALUATED = replace(
    BOARD,
    temperature=TEMPERATURE,
    agreement=AGREEMENT,
    kappa=0.4321,
    loo=(
        LooRow(method="hard-elo", n_models=13, mae=57.63, spearman=0.912, kendall=0.834,
               mae_low=41.23, mae_high=73.41, residual_by_quarter=(-71.0, -13.0, 22.0, 64.0),
               left_out={"fewer than two battles": 1}),
        LooRow(method="soft-elo", n_models=12, mae=19.54, spearman=0.947, kendall=0.856,
               mean_beta=0.6217, mae_low=14.31, mae_high=25.72,
               residual_by_quarter=(5.0, 3.0, -4.0, -8.0),
               left_out={"fewer than two battles": 1, "no temperature without its battles": 2}),
        LooRow(method="smoothed", n_models=11, mae=22.78, spearman=None, kendall=None,
               mean_smoothing=0.7639),
    ),
    conformal=(
        halves("hard-elo", coverage=0.8571, median_width=243.9, quantile=6.12, median_se=19.8,
               width_low=201.4, width_high=287.3),
        halves("soft-elo", coverage=0.9143, median_width=75.1, quantile=4.43, median_se=8.4,
               width_low=66.2, width_high=83.6),
        halves("smoothed", coverage=None, median_width=None, quantile=None, unbounded=True),
    ),
    held_out=(
        held("hard-elo", "ash", 1633.0, 1713.0, 120.0),
        held("hard-elo", "birch", 1571.0, 1521.0, 30.0),
        held("soft-elo", "ash", 1633.0, 1623.0, 41.0),
        held("soft-elo", "birch", 1571.0, 1584.0, None),
    ),
    budgets=(
        BudgetRow(method="hard-elo", battles=65, per_model=5.0, mae=91.2, mae_sd=11.1, draws=5),
        BudgetRow(method="soft-elo", battles=65, per_model=5.0, mae=44.7, mae_sd=6.6, draws=5),
        BudgetRow(method="hard-elo", battles=130, per_model=10.0, mae=77.3, mae_sd=7.7, draws=5),
        BudgetRow(method="soft-elo", battles=130, per_model=10.0, mae=31.6, mae_sd=3.3, draws=5),
    ),
    groups=(
        GroupRow(group="de", n_votes=417, beta=0.533, beta_se=0.061),
        GroupRow(group="en", n_votes=817, beta=0.655, beta_se=0.043),
        GroupRow(group="fr", n_votes=0, beta=None, beta_se=None),
    ),
    pooling="one pooled beta is enough: groups do not clearly differ (p = 0.10)",
)  # fmt: skip

AGREEMENT_FACTS = [
    "Kendall's tau with the other ranking | 0.667 | rough 95 % interval [0.331, 0.912], 4 models",
    "Spearman's rho with the other ranking | 0.801 | rough 95 % interval [0.402, 0.953], 4 models",
]
TEMPERATURE_TABLE = [
    "|s| | votes | people take the judge's side | 95 % interval | sigma(beta |s|)",
    "0.05 to 0.90 | 611 | 58 % | 54 % to 62 % | 57 %",
    "0.90 to 3.20 | 598 | 79 % | 75 % to 83 % | 78 %",
    f"{FIGURE}How often people take the judge's side against how often sigma(beta |s|) says so; "
    "both are equal on the dashed line.",
]


def test_a_leaderboard_with_its_evaluation() -> None:
    check(
        EVALUATED,
        [
            "ash is first of 4 models by soft-elo; 95 % rank range 1 to 3, and 1 other model can "
            "be first too",
            "Intervals and rank ranges cover the noise of 2,345 battles, not the judge's own "
            "errors. With each of 12 models left out in turn, its Elo by soft-elo was 19.5 from "
            "people's on average.",
            "soft-elo: 2,345 battles, sigma(beta s), s = score_a - score_b; bootstrap intervals "
            "over 321 prompts",
            *BOARD_TABLE,
            BOARD_FIGURE,
            "kappa of verdicts and votes | 0.432 | battle by battle",
            *AGREEMENT_FACTS,
            "beta 0.612 (se 0.035, 1,234 votes), calibration error 0.042",
            *TEMPERATURE_TABLE,
            "Against people, each model left out in turn",
            "Mean error in Elo, and judge minus people by quarter of strength",
            "method | models | error | 95 % interval | Spearman | Kendall | beta or constant | "
            "weak to strong quarter",
            "hard-elo | 13 | 57.6 | [41.2, 73.4] | 0.912 | 0.834 | – | -71 -13 +22 +64",
            "soft-elo | 12 | 19.5 | [14.3, 25.7] | 0.947 | 0.856 | 0.622 | +5 +3 -4 -8",
            "smoothed | 11 | 22.8 | – | – | – | 0.764 | –",
            "left out 1 model: fewer than two battles (hard-elo, soft-elo)",
            "left out 2 models: no temperature without its battles (soft-elo)",
            "80 % intervals for new models, tested on random halves of the models (5 splits)",
            "method | calibrate | test | coverage | median width | range of widths | quantile | "
            "median se",
            "hard-elo | 6 | 7 | 85.7 % | 244 | [201, 287] | 6.12 | 19.8",
            "soft-elo | 6 | 7 | 91.4 % | 75 | [66, 84] | 4.43 | 8.4",
            "smoothed | 6 | 7 | – | unbounded | – | – | –",
            "80 % intervals of each model, made from all the others",
            "method | contain people's Elo | median width | unbounded",
            "hard-elo | 1 of 2 | 150 | 0",
            "soft-elo | 1 of 1 | 82 | 1",
            "Error in Elo with fewer judged battles",
            "battles per model | 5 | 10",
            "hard-elo | 91.2 | 77.3",
            "soft-elo | 44.7 | 31.6",
            f"{FIGURE}Judge's Elo of each left-out model against people's; both are equal on the "
            "dashed line.",
            f"{FIGURE}Judge's Elo minus people's, by quarter of strength; a slope is a scale that "
            "is stretched or compressed.",
            f"{FIGURE}The width of an interval is twice its quantile times its standard error.",
            f"{FIGURE}Interval of each left-out model minus people's Elo; one that crosses 0 "
            "contains it.",
            f"{FIGURE}Held-out error with fewer judged battles; bands are standard deviations "
            "over random draws.",
            "Temperature by group",
            "group | votes | beta | se",
            "en | 817 | 0.655 | 0.043",
            "de | 417 | 0.533 | 0.061",
            "fr | 0 | – | –",
            "one pooled beta is enough: groups do not clearly differ (p = 0.10)",
            *BOARD_NOTES,
        ],
    )


@pytest.mark.parametrize(
    ("calibrate", "reason"),
    [
        (3, "3 models calibrate, 4 are needed"),
        (6, "the battles of too many models leave no standard error"),
    ],
)
def test_intervals_that_cannot_be_tested_say_why(calibrate: int, reason: str) -> None:
    empty = halves(
        "hard-elo", coverage=None, median_width=None, quantile=None, unbounded=True,
        n_calibration=calibrate,
    )  # fmt: skip
    lines = terminal(replace(EVALUATED, conformal=(empty,), held_out=()))
    assert f"80 % intervals for new models cannot be tested on random halves: {reason}" in lines


def test_many_groups_are_folded() -> None:
    many = tuple(
        GroupRow(group=f"g{k:02}", n_votes=1000 - k, beta=k / 100, beta_se=0.5) for k in range(17)
    )
    lines = html(replace(BOARD, groups=many))
    assert "g14 | 986 | 0.140 | 0.500" in lines
    assert f"{DETAIL}2 smaller groups" in lines
    assert f"{DETAIL}g15 | 985 | 0.150 | 0.500" in lines


def test_a_temperature() -> None:
    check(
        TEMPERATURE,
        [
            "beta 0.612 (standard error 0.035) from 1,234 votes",
            "mean of beta |s| | 1.457",
            "correlation of |s| with agreement | 0.287",
            "growth of agreement with |s| | 0.732 | log-odds, standard error 0.086",
            "calibration error of sigma(beta |s|) | 0.042",
            "Agreement with people by score difference",
            *TEMPERATURE_TABLE,
            "warning: beta could be rough",
        ],
    )
    assert TEMPERATURE.to_frame()["n"].to_list() == [611, 598]
    against = replace(TEMPERATURE, beta=-0.5, reason="people mostly prefer the other side")
    assert terminal(against)[0] == (
        "beta -0.500 (standard error 0.035) from 1,234 votes: people mostly prefer the other side"
    )
    none = Temperature(
        beta=None, beta_se=None, n_battles=3, reason="no vote", warnings=("no vote",)
    )
    check(none, ["No temperature: no vote"])


def test_rank_agreement() -> None:
    check(
        AGREEMENT,
        [
            "Two rankings of 4 models: Kendall's tau 0.667, Spearman's rho 0.801",
            *AGREEMENT_FACTS,
            "7 of 200 resamples could not be correlated",
        ],
    )
    tied = replace(AGREEMENT, n_models=2, kendall=None, spearman=None)
    check(tied, ["No rank correlation: 2 models, too few or all tied"])
    facts = terminal(replace(BOARD, agreement=tied))
    assert "rank correlation – 2 models, too few or all tied" in facts


# --- anchors, exact orders, plans --------------------------------------------------------------

ANCHORS = Anchors(
    method="soft-elo",
    beta=0.6123,
    beta_se=0.0347,
    smoothing=None,
    l2=0.01,
    replicates=100,
    models=(
        AnchorRow(model="birch", theta=0.431, human_elo=1588.3, residual=-12.34, se=7.31,
                  n_battles=812),
        AnchorRow(model="ash", theta=0.876, human_elo=1641.7, residual=31.27, se=8.19,
                  n_battles=798),
        AnchorRow(model="cedar", theta=-0.512, human_elo=None, residual=None, se=None,
                  n_battles=3),
    ),
    judge="gpt-x",
    judge_fingerprint="0123abcd",
    score_source="score_a - score_b",
    score_quantiles=(0.0, 1.0),
    n_battles=2345,
    warnings=("1 anchors have no residual: fewer than two battles",),
    dropped={"no outcome": 17},
    adjudge_version="1.2.3",
)  # fmt: skip


def test_anchors() -> None:
    check(
        ANCHORS,
        [
            "soft-elo: 3 anchors, 2 of them with a left-out residual",
            "Intervals of new models are finite for alpha from 0.334.",
            "beta | 0.612 | standard error 0.035",
            "judge | gpt-x | 0123abcd",
            "battles | 2,345 | score_a - score_b",
            "anchor | strength | people's Elo | residual, Elo | se | battles",
            "ash | 0.876 | 1642 | +31.3 | 8.2 | 798",
            "birch | 0.431 | 1588 | -12.3 | 7.3 | 812",
            "cedar | -0.512 | – | – | – | 3",
            "warning: 1 anchors have no residual: fewer than two battles",
            "left out 17 battles: no outcome",
        ],
    )
    # A residual without a scale is infinitely far off: it takes a place and gives none.
    flat = replace(ANCHORS, models=(ANCHORS.models[0], replace(ANCHORS.models[1], se=0.0)))
    assert terminal(flat)[1] == "Intervals of new models are finite for alpha from 0.667."
    alone = replace(ANCHORS, models=ANCHORS.models[2:], judge=None, smoothing=0.71, beta=None)
    assert terminal(alone)[:4] == [
        "soft-elo: 1 anchor, 0 of them with a left-out residual",
        "New models get no interval.",
        "smoothing constant 0.710",
        "judge not named 0123abcd",
    ]
    assert ANCHORS.to_frame()["model"].to_list() == ["birch", "ash", "cedar"]


def test_the_order_with_the_least_reversals() -> None:
    best = LeastReversals(
        order=(2, 0, 1), cost=12.5, bound=11.0, gap=0.0213, proven=False, seconds=0.4
    )
    check(
        best,
        [
            "The order contradicts 12.5 wins; not proven the fewest: no order contradicts fewer "
            "than 11, gap 2.13 % of all wins",
            "rows of the table of wins, best first: 2, 0, 1",
        ],
    )
    proven = replace(best, proven=True, gap=0.0, bound=12.5)
    check(
        proven,
        [
            "The order contradicts 12.5 wins; no order contradicts fewer (proven)",
            "rows of the table of wins, best first: 2, 0, 1",
        ],
    )
    assert proven.to_frame().rows() == [(1, 2), (2, 0), (3, 1)]


def test_a_plan_of_battles() -> None:
    plan = BattlePlan(
        rule="coverage",
        budget=50,
        chosen=41,
        rows=(7, 3, 9),
        appearances={"ash": 31, "birch": 28, "cedar": 23},
        least=23,
        most=31,
        seed=0,
        dropped={"judged already": 6},
        warnings=("the pool holds only 41 battles",),
    )
    check(
        plan,
        [
            "41 battles chosen by coverage; models will have 23 to 31 battles each",
            "model | battles after",
            "cedar | 23",
            "birch | 28",
            "ash | 31",
            "warning: the pool holds only 41 battles",
            "left out 6 battles: judged already",
        ],
    )
    assert plan.to_frame()["row"].to_list() == [7, 3, 9]
    many = replace(plan, appearances={f"m{k:02}": 30 + k for k in range(14)})
    lines = html(many)
    assert lines[2:15] == [
        *(f"m{k:02} | {30 + k}" for k in range(6)),
        "…",
        *(f"m{k:02} | {30 + k}" for k in range(8, 14)),
    ]
    assert f"{DETAIL}m07 | 37" in lines


# --- the paper's tables ------------------------------------------------------------------------

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
    check(
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
            f"{FIGURE}Held-out error of each judge with hard and with soft targets; rings are the "
            "paper's.",
            "warning, Qwen3-32B, lmarena100k: low beta",
            "note: Table 8 contradicts its text",
        ],
    )
    assert PAPER.to_frame()["judge"].to_list() == ["Qwen3-32B", "mine"]
    worse = replace(PAPER, rows=(replace(PAPER.rows[0], hard_mae=10.0, soft_mae=15.0),))
    assert markdown(worse)[0] == (
        "Soft targets raise the held-out error by 50 %, the mean over 1 run of a judge on a "
        "corpus: 10.0 hard, 15.0 soft"
    )
    none = replace(PAPER, rows=(), languages=(), published_quarters={}, notes=())
    assert terminal(none)[0] == "No judge could be compared with people"
    elsewhere = replace(PAPER.rows[1], corpus="comparia")
    both = replace(PAPER, rows=(PAPER.rows[0], elsewhere))
    assert "mine, comparia – – – 40.0 30.0 – –" in terminal(both)


# --- figures, by what is drawn -----------------------------------------------------------------


def drawn(result: Result, name: str) -> Axes:
    [axes] = result.plot(figure=name).axes
    return axes


def points(axes: Axes) -> list[tuple[list[float], list[float]]]:
    """x and y of every line that has points, in drawing order, rounded to a tenth."""
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    return [
        ([round(float(v), 1) for v in x], [round(float(v), 1) for v in y]) for x, y in lines if x
    ]


def legend(axes: Axes) -> list[str]:
    made = axes.get_legend()
    assert made is not None
    return [text.get_text() for text in made.get_texts()]


def labels(axes: Axes) -> tuple[str, str, str]:
    return axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()


def test_names_of_figures() -> None:
    assert list(figures_of(BOARD)) == ["leaderboard"]
    assert list(figures_of(EVALUATED)) == [
        *("leaderboard", "reliability", "evaluation", "held-out", "residuals", "widths"),
        *("intervals", "budgets"),
    ]
    assert list(figures_of(TEMPERATURE)) == ["reliability"]
    assert list(figures_of(PAPER)) == ["errors"]
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
        ([1308.4, 1376.6], [3, 3]),  # open below: drawn a little beyond the last point
    ]
    assert arrow == ([1308.4], [3])
    assert [x for x, _ in points(axes)[1::2]] == [[1641.2], [1587.6], [1448.7], [1322.4]]
    people = replace(BOARD, method="bt", outcome="votes", covers_judge_error=True)
    assert drawn(people, "leaderboard").get_xlabel() == "Elo, 95 % bootstrap interval"
    bare = tuple(replace(row, rank_low=None, rank_high=None) for row in MODELS)
    unsure = drawn(replace(BOARD, models=bare, interval="none"), "leaderboard")
    assert labels(unsure) == ("ash is first by soft-elo", "Elo", "")
    placed = drawn(PLACED, "leaderboard")
    assert labels(placed)[:2] == (
        "newcomer: 1588 on people's scale ([1533, 1645])",
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


def test_the_papers_errors_as_a_picture() -> None:
    figure = PAPER.plot()
    [axes] = figure.axes
    assert labels(axes)[:2] == (
        "Soft targets cut the held-out error by 32 %", "held-out error, Elo",
    )  # fmt: skip
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["mine", "Qwen3-32B"]
    assert points(axes) == [
        ([30.0, 40.0], [0, 0]),
        ([40.0], [0]),
        ([30.0], [0]),
        ([16.9, 28.1], [1, 1]),
        ([28.1], [1]),
        ([16.9], [1]),
        ([27.5], [1]),
        ([16.7], [1]),
    ]
    [made] = figure.legends
    assert [text.get_text() for text in made.get_texts()] == ["Hard-Elo", "Soft-Elo", "paper"]
