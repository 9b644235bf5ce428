"""Fixed comparisons, for what people see of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjudge.estimation.abtest import ABTest, NextQuestion
from adjudge.estimation.comparison import (
    BestJudge,
    Comparison,
    Difference,
    PairDifference,
    SystemScore,
)
from adjudge.estimation.difference_plan import ComparisonPlan
from adjudge.present.result import Result
from adjudge.records import Interval


def gap(estimate: float, low: float, high: float, *, n: int, detectable: float) -> Difference:
    return Difference(
        estimate=estimate,
        interval=Interval(low, high, level=0.95),
        standard_error=(high - low) / 3.92,
        p_value=0.004,
        detectable=detectable,
        n=n,
    )


def two(judge: Difference, people: Difference | None = None, **others: Any) -> Comparison:
    """New against old: shown if the interval of what is reported excludes zero."""
    reported = judge if people is None or people.interval is None else people
    pair = PairDifference(
        a="old",
        b="new",
        judge=judge,
        people=people,
        discordant=97,
        adjusted=reported.p_value,
        shown=reported.sign != 0,
    )
    means = others.pop("means", ((0.613, None), (0.654, None)))
    systems = [
        SystemScore(name=name, n=412, mean=mean, people_mean=people_mean)
        for name, (mean, people_mean) in zip(("old", "new"), means, strict=True)
    ]
    fixed: dict[str, Any] = {"measure": "verdicts", "paired_by": "prompt_id", "n": 412}
    return Comparison(
        confidence_level=0.95,
        systems=tuple(systems),
        differences=(pair,),
        assumptions=("the questions are independent of each other",),
        dropped={"question that one system alone answered": 3},
        **{**fixed, **others},
    )


HIGHER = gap(0.041, 0.012, 0.070, n=412, detectable=0.0415)
BY_JUDGE = two(HIGHER)
WORSE = two(gap(-0.041, -0.070, -0.012, n=412, detectable=0.0415))
NOT_SHOWN = two(gap(0.006, -0.022, 0.034, n=412, detectable=0.0401))
BY_PEOPLE = two(
    HIGHER,
    gap(0.093, 0.021, 0.165, n=80, detectable=0.103),
    n_labelled=80,
    means=((0.613, 0.581), (0.654, 0.674)),
    warnings=("few labels",),
)
FEW_LABELS = two(
    HIGHER,
    Difference(n=12, reason="12 labelled questions: 30 or more are needed"),
    n_labelled=12,
)
SCORES = two(
    gap(0.412, 0.121, 0.703, n=412, detectable=0.415),
    measure="scores",
    means=((3.21, None), (3.62, None)),
    clustered_by="document",
)
PREFERENCES = two(
    HIGHER,
    gap(0.2, 0.1, 0.3, n=80, detectable=0.14),
    measure="preferences",
    n_labelled=80,
)
IDENTICAL = two(Difference(estimate=0.0, n=412, reason="the scores are identical"))
TOO_FEW = two(Difference(n=12, reason="12 questions: 30 or more are needed"), n=12)


def pair(
    a: str, b: str, estimate: float, *, shown: bool, within: str | None = None
) -> PairDifference:
    return PairDifference(
        a=a,
        b=b,
        within=within,
        judge=gap(estimate, estimate - 0.05, estimate + 0.05, n=300, detectable=0.07),
        adjusted=0.03 if shown else 0.2,
        shown=shown,
    )


def system(name: str, mean: float, beats: int, loses_to: int, *, best: bool) -> SystemScore:
    return SystemScore(
        name=name, n=300, mean=mean, beats=beats, loses_to=loses_to, can_be_best=best
    )


MANY = Comparison(
    measure="verdicts",
    paired_by="prompt_id",
    confidence_level=0.95,
    n=300,
    systems=(
        system("large", 0.72, 1, 0, best=True),
        system("mid", 0.7, 1, 0, best=True),
        system("small", 0.6, 0, 2, best=False),
    ),
    differences=(
        pair("small", "mid", 0.1, shown=True),
        pair("small", "large", 0.12, shown=True),
        pair("mid", "large", 0.02, shown=False),
    ),
    assumptions=("questions are independent of each other",),
    dropped={"no judge verdict": 4},
)
ONE_BEST = replace(
    MANY, systems=tuple(replace(s, can_be_best=s.name == "large") for s in MANY.systems)
)
SCREENED = replace(
    MANY,
    screened=True,
    n_labelled=90,
    systems=tuple(replace(s, people_mean=s.mean - 0.1) for s in MANY.systems if s.mean),
    differences=tuple(replace(p, people=p.judge) for p in MANY.differences),
)
SLICES = replace(
    MANY,
    within="topic",
    systems=(),
    differences=(
        pair("old", "new", 0.1, shown=True, within="code"),
        pair("old", "new", -0.01, shown=False, within="essay"),
    ),
)
_PEOPLES = gap(0.316, 0.2, 0.43, n=60, detectable=0.16)
MIXED = replace(
    SLICES,
    differences=(replace(SLICES.differences[0], people=_PEOPLES), SLICES.differences[1]),
    n_labelled=60,
    labels_given=True,
    warnings=(
        "slice code: a policy accepted each of these verdicts: they are the easy ones, not all",
    ),
)
JUDGES = Comparison(
    measure="agreement",
    paired_by="id",
    confidence_level=0.95,
    n=120,
    systems=(
        replace(system("gpt", 0.81, 1, 0, best=True), n=120, cost=0.0021),
        replace(system("small", 0.7, 0, 1, best=False), n=120, cost=0.0002),
    ),
    differences=(
        PairDifference(
            a="small",
            b="gpt",
            judge=gap(0.11, 0.02, 0.2, n=120, detectable=0.13),
            adjusted=0.017,
            shown=True,
        ),
    ),
    best_judge=BestJudge(
        judge="gpt",
        accuracy=0.81,
        reported=0.779,
        interval=Interval(0.70, 0.88, level=0.95),
        correlation=0.4,
        effective=1.43,
    ),
    assumptions=("labelled rows are a random sample",),
    dropped={"human tie": 3},
)
WAITING = ABTest(
    a="old",
    b="new",
    measure="verdicts",
    method="bets",
    confidence_level=0.95,
    questions=200,
    decision=None,
    decided_at=None,
    finished=False,
    estimate=0.12,
    out_of_reach=0.084,
    reach_labels=100,
    n_waiting=3,
    next=(NextQuestion(question="q7", ids=("old-7", "new-7")),),
    counted=("q1", "q2"),
    people=(1.0, 0.0),
    evidence=(1.2, -0.5),
    needs=(3.2189, 4.6052),
    order_key="k",
    started_with=(),
    pool_digest="d",
)
DECIDED = replace(
    WAITING, decision="better", decided_at=2, finished=True, next=(), n_waiting=0, estimate=0.4
)
EQUAL = replace(DECIDED, decision="equal", equal_within=0.05)
PLAN = ComparisonPlan(
    a="old",
    b="new",
    measure="verdicts",
    difference=0.05,
    confidence_level=0.95,
    n=400,
    n_labelled=60,
    spread=0.5,
    questions=787,
    detectable=0.0703,
    people_spread=0.5,
    correlation=0.62,
    labels=241,
    labels_without_judge=786,
    detectable_by_people=0.0703,
    dropped={},
)
OUT_OF_REACH = replace(PLAN, labels=None, reason="these 400 questions cannot show it")
ALL: dict[str, Result] = {
    "many": MANY,
    "one_best": ONE_BEST,
    "screened": SCREENED,
    "slices": SLICES,
    "slices_by_both": MIXED,
    "judges": JUDGES,
    "waiting": WAITING,
    "decided": DECIDED,
    "equal": EQUAL,
    "plan": PLAN,
    "out_of_reach": OUT_OF_REACH,
}
