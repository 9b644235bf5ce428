"""What leaderboards, placed models, anchors, exact orders and plans of battles show."""

from __future__ import annotations

from dataclasses import replace

import pytest
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
from adjudge.ranking.leaderboard import Leaderboard, PlainRow
from adjudge.ranking.leaderboard_view import leaderboard_figure
from adjudge.ranking.plan import BattlePlan
from adjudge.ranking.stale import AnchorsCheck
from adjudge.ranking.style import StyleRow
from adjudge.records import Interval
from shown import assert_shown, html_lines, markdown_lines, panel, terminal_lines, words


def test_a_leaderboard_of_a_judge() -> None:
    assert_shown(
        BOARD,
        [
            "ash has the highest Elo of 4 models by soft-elo, from the judge's scores; 1 other can "
            "be first; intervals do not include judge errors",
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
        headline(wide)[0]
        == f"ash has the highest Elo of 4 models by soft-elo, from the judge's scores{ALONE}"
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
    tied = (*(replace(row, rank=1, rank_low=1, rank_high=1) for row in MODELS[:2]), *MODELS[2:])
    assert headline(replace(BOARD, models=tied))[0] == (
        f"ash and birch share first place of 4 models by soft-elo, from the judge's scores{ALONE}"
    )
    four = tuple(replace(row, rank=1, rank_low=None, rank_high=None) for row in MODELS)
    assert headline(replace(BOARD, models=four))[0] == (
        "ash, birch, cedar and 1 more share first place of 4 models by soft-elo, from the "
        f"judge's scores{ALONE}"
    )
    apart = (*MODELS[:2], *(replace(row, rank=row.rank - 2, component=1) for row in MODELS[2:]))
    several = replace(BOARD, models=apart, components=(("ash", "birch"), ("cedar", "dogwood")))
    assert headline(several)[0] == (
        "ash has the highest Elo of 2 models by soft-elo, from the judge's scores, in the first of "
        f"2 groups without battles between them; 1 other can be first{ALONE}"
    )
    assert markdown_lines(several)[2:7] == [
        "model | rank | rank range | Elo | 95 % interval | battles | group",
        "ash | 1 | 1 to 3 | 1641 | [1611, 1674] | 101 | 1",
        "birch | 2 | 1 to 2 | 1588 | [1552, 1623] | 102 | 1",
        "cedar | 1 | 3 | 1449 | [1409, 1488] | 103 | 2",
        "dogwood | 2 | 4 | at most 1377 | (-∞, 1377] | 104 | 2",
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


def test_models_with_too_few_votes_are_below_the_line() -> None:
    ends = ((1610.0, 1700.0), (1520.0, 1590.0))
    two = tuple(
        model(name, k, 1655.0 - 100 * k, ends[k - 1], rank_low=1, rank_high=2, votes=40 - k)
        for k, name in ((1, "ash"), (2, "birch"))
    )
    few = (
        replace(model("cedar", 3, 1733.0, (1400.0, 2066.0)), rank=None, votes=7, votes_needed=21),
        replace(model("elm", 4, 1900.0, (1433.0, None), unbounded=True),
                rank=None, votes=3, votes_needed=12),
    )  # fmt: skip
    board = replace(
        BOARD, method="bt", models=(*two, *few), outcome="votes", covers_judge_error=True,
        whose="people's votes", interval="pooled", widest=200.0, clusters=None, dropped={},
        warnings=(), advice="", beta=None,
    )  # fmt: skip
    table = [
        "model | rank | rank range | Elo | 95 % interval | votes | battles",
        "ash | 1 | 1 to 2 | 1555 | [1610, 1700] | 39 | 101",
        "birch | 2 | 1 to 2 | 1455 | [1520, 1590] | 38 | 102",
    ]
    line = [
        "Too few votes for a half-width of 200 Elo",
        "not ranked | votes | votes needed | Elo | 95 % interval",
        "cedar | 7 | 21 | 1733 | [1400, 2066]",
        "elm | 3 | 12 | at least 1433 | [1433, ∞)",
    ]
    assert markdown_lines(board)[:9] == [
        "These votes cannot order the models by bt, from people's votes; no two of 2 ranked models "
        "differ; 2 models with too few votes below the line",
        "2,345 battles, votes; pooled intervals",
        *table,
        *line,
    ]
    apart = (replace(two[0], rank_high=1), replace(two[1], rank_low=2))
    assert headline(replace(board, models=(*apart, *few)))[0] == (
        "ash is first of 2 ranked models by bt, from people's votes; 2 models with too few votes "
        "below the line"
    )
    nobody = replace(board, models=few)
    assert not nobody.feasible
    assert nobody.figures() == {}
    assert markdown_lines(nobody)[:2] == [
        "These votes cannot order the models by bt, from people's votes; none of 2 models has "
        "enough",
        "2,345 battles, votes; pooled intervals. Too few votes for a half-width of 200 Elo",
    ]
    assert headline(replace(board, models=(two[0], *few)))[0].endswith(
        "; only 1 of 3 models has enough"
    )
    assert (
        panel(board, "leaderboard")
        .get_xlabel()
        .endswith("after a name: its rank range\n2 models with too few votes not drawn")
    )
    assert words(panel(board, "leaderboard"))[0] == "These votes cannot order the models"


def test_a_board_at_equal_style() -> None:
    plain = (PlainRow(elo=1602.4, rank=2, rank_low=1, rank_high=2),
             PlainRow(elo=1655.5, rank=1, rank_low=1, rank_high=2))  # fmt: skip
    two = tuple(
        replace(row, rank_low=k, rank_high=k, plain=beside, like_style=0.3, bend=4.0 - 3 * k)
        for k, (row, beside) in enumerate(zip(MODELS[:2], plain, strict=True), start=1)
    )
    far = replace(MODELS[2], rank=None, rank_low=None, rank_high=None, plain=PlainRow(elo=1533.0),
                  like_style=0.031, bend=-77.7)  # fmt: skip
    rows = (
        StyleRow(feature="length", difference="twice as long", wins=0.5812,
                 interval=Interval(0.5433, 0.6177, level=0.95), beta=0.4567, beta_se=0.0991,
                 scale=0.31, beta_judge=0.8765, rough=True, bent=True, bent_p=0.0013),
        StyleRow(feature="warmth", difference="one more warmth", wins=0.4988,
                 interval=Interval(0.4444, 0.5532, level=0.95), beta=-0.0123, beta_se=0.0456,
                 scale=1.1, beta_judge=0.0347, rough=True),
    )  # fmt: skip
    board = replace(BOARD, models=(*two, far), style=rows, interval="pooled", widest=200.0)
    assert markdown_lines(board)[:14] == [
        "ash is first of 2 models by soft-elo at equal length and warmth, from the judge's scores; "
        "1 model extrapolated; intervals do not include judge errors",
        "It describes these battles at a common effect of style; it is not what a model would win "
        "if it wrote otherwise.",
        "2,345 battles, sigma(beta s), s = score_a - score_b; Elo at equal length and warmth; "
        "pooled intervals over 321 prompts",
        "model | rank | rank range | Elo | 95 % interval | if bent | plain Elo | plain range | "
        "moved | battles",
        "ash | 1 | 1 | 1641 | [1611, 1674] | +1 | 1602 | 1 to 2 | +1 | 101",
        "birch | 2 | 2 | 1588 | [1552, 1623] | -2 | 1656 | 1 to 2 | -1 | 102",
        "Fewer than 5 % of their battles are at like style: no rank",
        "extrapolated | battles at like style | Elo | 95 % interval | if bent | plain Elo",
        "cedar | 3.1 % | 1449 | [1409, 1488] | -78 | 1533",
        "What style is worth in these battles; rough: fewer than 100 prompts",
        "at equal strength | wins | interval | beta | judge's beta | bent",
        "twice as long | 58.1 % | [54.3, 61.8] (rough) | 0.457 | 0.876 | yes",
        "one more warmth | 49.9 % | [44.4, 55.3] (rough) | -0.012 | 0.035 | not tested",
        BOARD_FIGURE,
    ]
    drawn = panel(board, "leaderboard")
    assert words(drawn)[0] == "ash is first at equal style (rank range 1 only)"
    assert drawn.get_xlabel().splitlines()[-2:] == [
        "arrows: from the plain Elo to that at equal length and warmth",
        "1 extrapolated model not drawn",
    ]
    arrows = [(label.xyann[0], label.xy[0]) for label in drawn.texts]  # type: ignore[attr-defined]
    assert arrows == [(1602.4, 1641.2), (1655.5, 1587.6)]
    for label in drawn.texts:
        # Both ends are at their numbers.
        path = label.arrow_patch  # type: ignore[attr-defined]
        assert (path.shrinkA, path.shrinkB) == (0, 0)


def test_a_long_title_does_not_widen_the_picture() -> None:
    first = replace(MODELS[0], model="a-model-with-a-name-of-many-words-2026-05-13")
    board = replace(BOARD, models=(first, *MODELS[1:]))
    title = words(panel(board, "leaderboard"))[0].splitlines()
    assert len(title) == 2
    assert max(map(len, title)) <= 52
    assert title[-1].endswith("(rank range 1 to 3)")
    tall, usual = (leaderboard_figure(shown).get_size_inches()[1] for shown in (board, BOARD))
    # The second line adds its own height, so that each model keeps its.
    assert tall - usual == pytest.approx(0.19)


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


CHECK = AnchorsCheck(
    method="soft-elo",
    judge="gpt-4o",
    made="2026-11-19",
    n_battles=1500,
    n_votes=1401,
    beta_was=0.54,
    beta_was_se=0.018,
    beta=0.623,
    beta_se=0.04,
    p_value=0.062,
    warnings=("rows of gpt-4o have no judge_fingerprint: compared by name",),
    dropped={"no judge score": 12},
)


def test_a_check_of_anchors() -> None:
    assert_shown(
        CHECK,
        [
            "1,401 votes follow the anchors' temperature (two-sided test at 1 %)",
            "Nothing shows that the anchors are stale.",
            "beta of the anchors | 0.540 | standard error 0.018",
            "beta of these votes | 0.623 | standard error 0.040",
            "p-value | 0.062",
            "judge | gpt-4o",
            "made on | 2026-11-19",
            "warning: rows of gpt-4o have no judge_fingerprint: compared by name",
            "left out 12 battles: no judge score",
        ],
    )
    line = "1,401 votes here do not follow the anchors' temperature (beta 0.01, was 0.54)"
    changed = terminal_lines(replace(CHECK, beta=0.01, p_value=0.0001, changed=(line,)))
    assert changed[:2] == ["The anchors do not hold here", "Make them again with new votes."]
    assert f"warning: {line}" in changed[-3:]
    few = replace(CHECK, n_votes=60, beta=None, beta_se=None, p_value=None, reason="60 votes")
    assert terminal_lines(few)[0] == "Not known whether the anchors still hold: 60 votes"
