"""Fixed results of cascades, for the tests of what they show."""

from __future__ import annotations

from dataclasses import replace

from shown_selection import POLICY, SELECTION

from adjudge.policy.doubts import CascadeReport, CascadeRule, DroppedStage, LearningShare, Stage
from adjudge.selection.cascade_plan import CascadeCandidate, CascadePlan, CostPoint, JudgeAlone
from adjudge.selection.doubts.base import StageCount

CHEAP = Stage(
    judge="cheap",
    protocol="preference",
    cost=1.0,
    columns=("mean odds", "sign"),
    scales=(1.0, 1.0),
    weights=(0.8, 0.1),
    penalty=1e4,
)
STRONG = replace(CHEAP, judge="strong", cost=30.0)
RULE = CascadeRule(
    stages=(CHEAP, STRONG),
    tau=0.125,
    learning=LearningShare(column="prompt_id", share=0.3, seed=7),
    n_learning=90,
)


def point(tau: float, cost: float, coverage: float, first: float, wrong: float = 0.08) -> CostPoint:
    return CostPoint(
        tau=tau, cost=cost, coverage=coverage, wrong=wrong, stops=(first, round(1 - first, 9))
    )


CASCADE_PLAN = CascadePlan(
    alpha=0.1,
    rule=RULE,
    feasible=True,
    cost_source="given",
    points=(
        point(0.0, 31.0, 0.95, 0.0),
        point(0.0625, 16.0, 0.93, 0.5),
        point(0.125, 10.0, 0.88, 0.7),
        point(0.4, 1.3, 0.31, 0.99),
    ),
    alone=(
        JudgeAlone(judge="useless", cost=0.5, coverage=0.0, wrong=None),
        JudgeAlone(judge="cheap", cost=1.0, coverage=0.3, wrong=0.09),
        JudgeAlone(judge="strong", cost=30.0, coverage=0.94, wrong=0.07),
    ),
    candidates=(
        CascadeCandidate(
            name="learned",
            judges=("cheap", "strong"),
            tau=0.125,
            cost=10.0,
            coverage=0.9,
            wrong=0.08,
        ),
        CascadeCandidate(
            name="label_free",
            judges=("useless", "cheap", "strong"),
            tau=0.2,
            cost=12.0,
            coverage=0.85,
            wrong=0.06,
        ),
        CascadeCandidate(
            name="jury", judges=("useless", "cheap"), tau=0.0, cost=1.5, coverage=0.0, wrong=None
        ),
    ),
    dropped_stages=(
        DroppedStage(
            judge="useless",
            cost_with=10.5,
            cost_without=10.0,
            coverage_with=0.87,
            coverage_without=0.88,
        ),
    ),
    assumptions=("A CONDITION",),
    warnings=("A WARNING",),
    dropped={"outside the learning share": 210},
)
CASCADE_POLICY = replace(
    POLICY,
    judges=("cheap", "strong"),
    cascade=CascadeReport(
        rule=RULE,
        cost_source="given",
        cost=10.25,
        cost_last=30.0,
        coverage_last=0.49,
        n_verdicts=300,
        n_overturned=4,
        stopped=(212, 88),
        failed=(6, 3),
        dropped_stages=CASCADE_PLAN.dropped_stages,
    ),
)
CASCADE_SELECTION = replace(
    SELECTION,
    n_overturned=2,
    stages=(
        StageCount(judge="cheap", n=140, n_accepted=90, n_failed=5),
        StageCount(judge="strong", n=60, n_accepted=30, n_failed=1),
    ),
    cost=0.125,
    groups=(),
)
