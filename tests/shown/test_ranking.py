"""What leaderboards, placed models, anchors, exact orders and plans of battles show."""

from __future__ import annotations

from dataclasses import replace

from shown_ranking import (
    BOARD,
    BOARD_FIGURE,
    BOARD_NOTES,
    BOARD_TABLE,
    MODELS,
    PLACED,
    TEMPERATURE,
    model,
)

from adjudge.ranking.anchors import AnchorRow, Anchors
from adjudge.ranking.leaderboard import Leaderboard
from adjudge.ranking.plan import BattlePlan
from adjudge.records import Interval
from shown import assert_shown, html_lines, markdown_lines, terminal_lines


def test_a_leaderboard_of_a_judge() -> None:
    assert_shown(
        BOARD,
        [
            "ash is first of 4 models by soft-elo, from the judge's scores; 1 other can be first; "
            "intervals do not include judge errors",
            "2,345 battles, sigma(beta s), s = score_a - score_b; bootstrap intervals "
            "over 321 prompts",
            *BOARD_TABLE,
            BOARD_FIGURE,
            "detail: What was fitted",
            "detail: beta 0.612 (standard error 0.035)",
            *BOARD_NOTES[:2],
            "detail: adjudge rank battles.csv --evaluate measures judge errors.",
            *BOARD_NOTES[2:],
        ],
    )
    assert BOARD.to_frame()["model"].to_list() == ["ash", "birch", "cedar", "dogwood"]
    assert repr(BOARD).startswith("Leaderboard(method='soft-elo', beta=0.6123")
    assert len(repr(BOARD)) <= 200
    assert replace(BOARD) == BOARD != replace(BOARD, models=MODELS[1:])


ALONE = "; intervals do not include judge errors"


def headline(board: Leaderboard) -> list[str]:
    return markdown_lines(board)[:2]


def test_headlines_follow_the_ranks_and_the_kind_of_interval() -> None:
    alone = replace(MODELS[0], rank_high=1)
    sure = replace(BOARD, models=(alone, replace(MODELS[1], rank_low=2), *MODELS[2:]))
    assert (
        headline(sure)[0] == f"ash is first of 4 models by soft-elo, from the judge's scores{ALONE}"
    )
    # Its rank range is wide, though nobody else can be first: another is surely above each rival.
    wide = replace(BOARD, models=(MODELS[0], replace(MODELS[1], rank_low=2), *MODELS[2:]))
    assert (
        headline(wide)[0] == f"ash is first of 4 models by soft-elo, from the judge's scores{ALONE}"
    )
    people = replace(
        sure,
        method="bt",
        outcome="votes",
        covers_judge_error=True,
        whose="people's votes in winner",
    )
    assert headline(people)[0] == ("ash is first of 4 models by bt, from people's votes in winner")
    helped = replace(people, outcome="votes and a judge", interval="sandwich")
    assert headline(helped)[0].endswith("; intervals (sandwich) include judge errors")
    unranked = tuple(replace(row, rank_low=None, rank_high=None) for row in MODELS)
    assert headline(replace(BOARD, models=unranked))[0] == (
        f"ash is first of 4 models by soft-elo, from the judge's scores{ALONE}"
    )
    tied = (*(replace(row, rank=1, rank_low=1) for row in MODELS[:2]), *MODELS[2:])
    assert headline(replace(BOARD, models=tied))[0] == (
        f"ash and birch share first place of 4 models by soft-elo, from the judge's scores{ALONE}"
    )
    four = tuple(replace(row, rank=1, rank_low=1) for row in MODELS)
    assert headline(replace(BOARD, models=four))[0] == (
        "ash, birch, cedar and 1 more share first place of 4 models by soft-elo, from the "
        f"judge's scores{ALONE}"
    )
    apart = (*MODELS[:2], *(replace(row, rank=row.rank - 2, component=1) for row in MODELS[2:]))
    several = replace(BOARD, models=apart, components=(("ash", "birch"), ("cedar", "dogwood")))
    assert headline(several)[0] == (
        "ash is first of 2 models by soft-elo, from the judge's scores, in the first of 2 groups "
        "without battles between "
        f"them; 1 other can be first{ALONE}"
    )
    assert markdown_lines(several)[2:7] == [
        "model | rank | rank range | Elo | 95 % interval | battles | group",
        "ash | 1 | 1 to 3 | 1641 | [1611, 1674] | 101 | 1",
        "birch | 2 | 1 to 2 | 1588 | [1552, 1623] | 102 | 1",
        "cedar | 1 | 3 | 1449 | [1409, 1488] | 103 | 2",
        "dogwood | 2 | 4 | 1322 | (-∞, 1377] | 104 | 2",
    ]


def test_a_board_with_a_sweep_shows_differences_to_a_named_model() -> None:
    ends = ((88.4, None), None, (-170.2, -61.3), (None, -133.3))
    rows = tuple(
        replace(row, interval=None, se=None, unbounded=end is not None and None in end,
                difference=None if end is None else Interval(*end, level=0.95))
        for row, end in zip(MODELS, ends, strict=True)
    )  # fmt: skip
    swept = replace(BOARD, models=rows, references=("birch",))
    assert markdown_lines(swept)[2:7] == [
        "model | rank | rank range | Elo | 95 % interval of Elo minus birch | battles",
        "ash | 1 | 1 to 3 | 1641 | [88, ∞) | 101",
        "birch | 2 | 1 to 2 | 1588 | – | 102",
        "cedar | 3 | 3 | 1449 | [-170, -61] | 103",
        "dogwood | 4 | 4 | 1322 | (-∞, -133] | 104",
    ]
    apart = (*rows[:2], *(replace(row, rank=row.rank - 2, component=1) for row in rows[2:]))
    groups = (("ash", "birch"), ("cedar", "dogwood"))
    two = replace(swept, models=apart, components=groups, references=("birch", "cedar"))
    assert "of Elo minus reference |" in markdown_lines(two)[2]


def test_no_sentence_calls_a_leader_certain() -> None:
    alone = replace(BOARD, models=(replace(MODELS[0], rank_high=1), *MODELS[1:]))
    for board in (BOARD, alone):
        assert "doubt" not in str(board)
        assert "leads" not in str(board)


def test_orders_without_elo() -> None:
    rows = (
        model("ash", 1, None, (0.7519, 0.8642), score=0.8123, se=0.0288),
        model("birch", 2, None, (0.1358, 0.2481), score=0.1877, se=0.0299),
    )
    rates = replace(
        BOARD, method="win-rate", beta=None, beta_se=None, models=rows, outcome="votes",
        covers_judge_error=True, clusters=None, assumptions=(), dropped={}, advice="",
        whose="people's votes in winner",
        warnings=("win rates depend on which opponents a model met",),
        components=(("ash", "birch"),),
    )  # fmt: skip
    assert_shown(
        rates,
        [
            "ash is first of 2 models by win-rate, from people's votes in winner",
            "2,345 battles, votes; bootstrap intervals",
            "model | rank | win rate | 95 % interval | battles",
            "ash | 1 | 0.812 | [0.752, 0.864] | 101",
            "birch | 2 | 0.188 | [0.136, 0.248] | 102",
            BOARD_FIGURE,
            "warning: win rates depend on which opponents a model met",
        ],
    )
    bare = tuple(replace(row, score=None, interval=None, se=None) for row in rows)
    exact = replace(
        rates, method="mfas", interval="none", models=bare, warnings=(), proven=False, gap=0.0123
    )
    assert_shown(
        exact,
        [
            "ash is first of 2 models by mfas, from people's votes in winner",
            "No intervals or rank ranges were computed.",
            "2,345 battles, votes",
            "model | rank | battles",
            "ash | 1 | 101",
            "birch | 2 | 102",
            BOARD_FIGURE,
            "fewest wins against the order | not proven, gap 1.23 % of all wins",
        ],
    )
    proven = terminal_lines(replace(exact, proven=True, gap=0.0))
    assert "fewest wins against the order | proven" in proven
    online = tuple(replace(row, elo=1500.0 + row.rank, se=20.0 + row.rank) for row in bare)
    shown = terminal_lines(replace(rates, method="online-elo", interval="none", models=online))
    assert "model | rank | Elo | se | battles" in shown
    assert "ash | 1 | 1501 | 21 | 101" in shown


def test_a_board_that_cannot_be_made() -> None:
    fit = replace(TEMPERATURE, beta=None, beta_se=None, reason="no votes", warnings=("no votes",))
    none = replace(
        BOARD, models=(), components=(), interval="none", temperature=fit, beta=None,
        reason="no votes", warnings=("no votes",), dropped={}, assumptions=(), kappa=-0.123,
    )  # fmt: skip
    assert_shown(
        none,
        [
            "bad: No leaderboard by soft-elo: no votes",
            "detail: What was fitted",
            "detail: kappa of verdicts and votes -0.123 (battle by battle)",
            "warning: no votes",
        ],
    )
    assert none.to_frame().height == 0
    smoothed = replace(none, method="smoothed", temperature=None, smoothing=0.437)
    assert markdown_lines(smoothed)[:2] == [
        "No leaderboard by smoothed: no votes",
        "detail: What was fitted",
    ]
    assert "detail: smoothing constant 0.437" in markdown_lines(smoothed)


def test_a_long_board_keeps_its_tail_on_the_page() -> None:
    rows = tuple(model(f"m{k:02}", k, 2000.0 - k) for k in range(1, 63))
    names = tuple(row.model for row in rows)
    long = replace(BOARD, models=rows, components=(names,), interval="none")
    lines = html_lines(long)
    assert "m60 | 60 | 1940 | 160" in lines
    tail = lines.index("detail: 2 more models")
    assert (
        lines[2] == "2,345 battles, sigma(beta s), s = score_a - score_b; the first 60 of 62 models"
    )
    assert lines[tail + 1 : tail + 4] == [
        "detail: model | rank | Elo | battles",
        "detail: m61 | 61 | 1939 | 161",
        "detail: m62 | 62 | 1938 | 162",
    ]
    assert "m61" not in str(long)


def test_a_placed_model() -> None:
    assert_shown(
        PLACED,
        [
            "newcomer: Elo 1588 on people's scale, 90 % interval [1533, 1645] (conformal, judge "
            "errors included), rank 2 of 4",
            "The interval assumes that judge errors are as large as on the anchors.",
            "On people's scale: soft-elo, 211 judged battles",
            "new model | Elo | 90 % interval | rank | rank range | battles",
            "newcomer | 1588 | [1533, 1645] | 2 of 4 | 1 to 3 | 211",
            "Among people's Elo of the anchors, whose mean is 1500",
            "model | rank | Elo",
            "ash | 1 | 1641",
            "newcomer (new) | 2 | 1588",
            "cedar | 3 | 1449",
            BOARD_FIGURE,
            "detail: What was fitted",
            "detail: beta 0.612 (standard error 0.035)",
            "detail: What this assumes",
            "detail: new models are like the anchors",
            "detail: adjudge rank battles.csv --evaluate measures judge errors.",
            "warning: judges compared by name alone",
            "left out 5 battles: both models are anchors",
        ],
    )
    open_row = replace(PLACED.models[1], interval=Interval(None, None, level=0.9), unbounded=True)
    unbounded = replace(PLACED, models=(PLACED.models[0], open_row, *PLACED.models[2:]))
    assert headline(unbounded) == [
        "newcomer: Elo 1588 on people's scale, 90 % interval unbounded (conformal, judge errors "
        "included), rank 2 of 4",
        "1 of 1 interval unbounded.",
    ]
    assert '<p class="finding bad">' in unbounded._repr_html_()
    two = replace(PLACED, models=(*PLACED.models[:2], replace(open_row, model="later", rank=4)))
    assert headline(two) == [
        "2 new models, the highest newcomer: Elo 1588 on people's scale, 90 % interval "
        "[1533, 1645] (conformal, judge errors included), rank 2 of 3",
        "1 of 2 intervals unbounded.",
    ]
    assert '<p class="finding plain">' in two._repr_html_()


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
    assert_shown(
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
    assert terminal_lines(flat)[1] == "Intervals of new models are finite for alpha from 0.667."
    alone = replace(ANCHORS, models=ANCHORS.models[2:], judge=None, smoothing=0.71, beta=None)
    assert terminal_lines(alone)[:4] == [
        "soft-elo: 1 anchor, 0 of them with a left-out residual",
        "New models get no interval.",
        "smoothing constant | 0.710",
        "judge | not named | 0123abcd",
    ]
    assert ANCHORS.to_frame()["model"].to_list() == ["birch", "ash", "cedar"]


PLAN = BattlePlan(
    rule="coverage",
    budget=50,
    chosen=41,
    rows=(7, 3, 9),
    appearances={"ash": 31, "birch": 28, "cedar": 23},
    least=23,
    most=31,
    seed=0,
    dropped={"judged already": 6},
    warnings=("the pool has only 41 battles",),
)


def test_a_plan_of_battles() -> None:
    assert_shown(
        PLAN,
        [
            "41 battles chosen by coverage; models will have 23 to 31 battles each",
            "model | battles after",
            "cedar | 23",
            "birch | 28",
            "ash | 31",
            "warning: the pool has only 41 battles",
            "left out 6 battles: judged already",
        ],
    )
    assert PLAN.to_frame()["row"].to_list() == [7, 3, 9]
    many = replace(PLAN, appearances={f"m{k:02}": 30 + k for k in range(14)})
    lines = html_lines(many)
    assert lines[2:15] == [
        *(f"m{k:02} | {30 + k}" for k in range(6)),
        "…",
        *(f"m{k:02} | {30 + k}" for k in range(8, 14)),
    ]
    assert "detail: m07 | 37" in lines
