"""What cascades show: the plan, its picture, a policy's, a selection's, a run's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shown_cascade import CASCADE_PLAN, CASCADE_POLICY, CASCADE_SELECTION, RULE, point

from adjudge.judges.summary import Judging, JudgingCascade
from shown import assert_shown, html_lines, legend, terminal_lines

PLAN_LINES = [
    "cheap -> strong at tau 0.125: about 88 % accepted at alpha 0.1 for 33.3 % of the cost of "
    "strong alone, which accepts about 94 %",
    "Calibrate it on the other labels: adjudge calibrate --plan.",
    "Cost and coverage over tau at alpha 0.1, on 90 rows of the learning share, each scored by a "
    "fit without it",
    "tau | cost | accepted | error share | ends at 1 | ends at 2",
    "0 | 103.3 % | 95 % | 8 % | 0 % | 100 %",
    "0.0625 | 53.3 % | 93 % | 8 % | 50 % | 50 %",
    "* 0.125 | 33.3 % | 88 % | 8 % | 70 % | 30 %",
    "0.4 | 4.3 % | 31 % | 8 % | 99 % | 1 %",
    "Each judge alone on the same rows",
    "judge alone | cost per row | accepted | error share",
    "useless | 0.5 | 0 % | –",
    "cheap | 1 | 30 % | 9 %",
    "strong | 30 | 94 % | 7 %",
    "Candidates, by what scope accepts of the learning share; --candidate plans one",
    "candidate | judges | cost | accepted | error share",
    "* learned | cheap -> strong | 33.3 % | 90 % | 8 %",
    "label_free | useless -> cheap -> strong | 40 % | 85 % | 6 %",
    "jury | useless + cheap | 5 % | 0 % | –",
    "warning: A WARNING",
    "dropped useless: with it 87 % accepted at 10.5 per row at the planned tau, without it 88 % at "
    "10 at the cheapest tau",
    "cost: per row, relative to strong alone; accepted: the largest share with a mean fitted "
    "error probability of at most alpha; error share: by the labels; * planned",
    "learning share: 30 % of the rows by a hash of prompt_id (seed 7); calibrate refuses them",
    "left out 210 rows: outside the learning share",
    "detail: What this assumes",
    "detail: A CONDITION",
    "figure: Up and to the left is better: more is accepted at less cost. A smaller tau moves "
    "right along the curve.",
]


def test_a_plan() -> None:
    assert_shown(CASCADE_PLAN, PLAN_LINES)


def test_a_plan_of_one_judge_of_ones_own_tau_and_of_none() -> None:
    one = replace(
        CASCADE_PLAN,
        rule=replace(RULE, stages=RULE.stages[1:], tau=0.125),
        points=(replace(CASCADE_PLAN.points[2], stops=(1.0,), cost=30.0),),
    )
    assert html_lines(one)[:2] == [
        "No cascade saves cost: strong alone accepts about 88 % at alpha 0.1",
        "Ask strong about every row.",
    ]
    given = replace(CASCADE_PLAN, tau_given=True)
    assert "at tau 0.125 (yours): about 88 %" in terminal_lines(given)[0]
    none = replace(CASCADE_PLAN, feasible=False, rule=replace(RULE, tau=0.0))
    assert html_lines(none)[:2] == [
        "bad: No tau passes at alpha 0.1: every row would go to strong",
        "Allow a larger alpha, label more rows, or use better judges.",
    ]


def test_a_plan_of_another_candidate() -> None:
    free = replace(CASCADE_PLAN, candidate="label_free")
    lines = html_lines(free)
    assert lines[0].startswith("cheap -> strong at tau 0.125, label-free: about 88 % accepted at")
    assert any("the largest share with a share of errors of at most" in line for line in lines)
    assert any("learning share, by their labels; nothing is fitted" in line for line in lines)
    jury = replace(CASCADE_PLAN, candidate="jury")
    assert html_lines(jury)[0].startswith("cheap + strong as a jury: about 88 % accepted at alpha")
    nothing = html_lines(replace(jury, feasible=False))[0]
    assert nothing == "bad: The jury of cheap + strong accepts nothing at alpha 0.1"


@pytest.mark.parametrize(("tau", "half"), [("0.22", "0.11"), ("0.26", "0.13"), ("0.04", "0.02")])
def test_a_long_curve_has_nine_lines_the_planned_tau_and_half_of_it(tau: str, half: str) -> None:
    taus = [at / 100 for at in range(41)]
    plan = replace(
        CASCADE_PLAN,
        rule=replace(RULE, tau=float(tau)),
        points=tuple(point(value, 31.0 - 50 * value, 0.9 - value, value) for value in taus),
    )
    shown = [line.split(" | ")[0] for line in html_lines(plan) if line.count(" | ") == 5][1:]
    evenly = {f"{at / 100:.3g}" for at in range(0, 41, 5)}
    assert {line.removeprefix("* ") for line in shown} == evenly | {tau, half}
    assert [line for line in shown if line.startswith("*")] == [f"* {tau}"]
    assert shown == sorted(shown, key=lambda line: float(line.removeprefix("* ")))


def test_measured_costs_are_dollars() -> None:
    priced = replace(CASCADE_PLAN, cost_source="dollars")
    assert "cheap | $1 | 30 % | 9 %" in html_lines(priced)


def test_the_picture_of_a_plan() -> None:
    axes = CASCADE_PLAN.plot().axes[0]
    curve, *alone, planned = axes.lines
    assert list(curve.get_xdata()) == pytest.approx([1.3 / 30, 10 / 30, 16 / 30, 31 / 30])
    assert list(curve.get_ydata()) == [0.31, 0.88, 0.93, 0.95]
    assert [line.get_ydata()[0] for line in alone] == [0.0, 0.3, 0.94]
    assert (planned.get_xdata()[0], planned.get_ydata()[0]) == (pytest.approx(1 / 3), 0.88)
    assert legend(axes) == [
        *("cascade, over tau", "useless, dropped", "cheap alone", "strong alone"),
        f"planned tau {CASCADE_PLAN.rule.tau:.3g}",
    ]
    assert axes.get_title("left") == (
        "About 88 % accepted at 33 % of the cost; the last judge alone: 94 %"
    )


def test_a_policy() -> None:
    lines = html_lines(CASCADE_POLICY)
    assert lines[0].startswith("scope at alpha 0.1 accepts learned doubt <= ")
    assert "for a cascade of 2 judges, on the 300" in lines[2]
    at = lines.index(
        "The cascade on 300 calibration rows: a row ends at the first judge with a doubt of at "
        "most tau 0.125"
    )
    assert lines[at + 1 : at + 7] == [
        "stage | cost per row | ended | share | failed",
        "cheap | 1 | 212 | 70.7 % | 6",
        "strong | 30 | 88 | 29.3 % | 3",
        "mean cost 10.25 per row, 47.3 % accepted; strong alone 30, 49 % accepted",
        "learned from 90 rows of the learning share, which is not used to calibrate; 4 of 300 "
        "verdicts differ from that of the last judge asked",
        "useless was dropped: it does not save cost",
    ]


def test_a_selection() -> None:
    lines = html_lines(CASCADE_SELECTION)
    at = lines.index("The cascade; its rows cost $0.1250")
    assert lines[at + 1 : at + 4] == [
        "stage | ended | accepted | failed",
        "cheap | 140 | 90 | 5",
        "strong | 60 | 30 | 1",
    ]


def judging(judge: str, subjects: int, calls: int, cost: float) -> Judging:
    return Judging(
        judge=judge,
        protocol="preference",
        judge_fingerprint="f",
        subjects=subjects,
        rows=subjects,
        statuses={"ok": subjects},
        measured=subjects,
        not_asked=0,
        calls={"ok": calls},
        reused=2 * subjects - calls,
        first_slot_share=None,
        first_slot_orders=0,
        agreement=None,
        agreement_rows=0,
        prompt_tokens=0,
        completion_tokens=0,
        calls_without_tokens=0,
        cost=cost,
        cost_this_run=cost,
        price_source="a test",
        elapsed_s=1.0,
        calls_per_second=1.0,
        stopped=None,
        output="rows.jsonl",
        store="s.db",
    )


RUN = JudgingCascade(
    judges=(judging("cheap", 200, 400, 0.01), judging("strong", 60, 100, 0.2)),
    settled=(140, 58),
    doubtful=(55, 0),
    failed=(5, 2),
    output="rows.jsonl",
    store="s.db",
)


def test_a_run() -> None:
    assert_shown(
        RUN,
        [
            "cascade of 2 judges: strong was asked about 60 of 200 subjects (30 %); 5 subjects "
            "passed on because a judge failed",
            "judge | asked | settled | doubt | failed | calls | reused | cost",
            "cheap | 200 | 140 | 55 | 5 | 400 | 0 | $0.0100",
            "strong | 60 | 58 | 0 | 2 | 100 | 20 | $0.2000",
            "settled: no other judge was asked; doubt, failed: passed to the next judge; calls "
            "and cost: of this run",
            "rows of all judges written to rows.jsonl; adjudge select decides on them",
        ],
    )
