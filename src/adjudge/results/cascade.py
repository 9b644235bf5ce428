"""A cascade in files: its rule, its plan, and its entry in a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    ResultWithDigest,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.records import About

#: The source of lengths: the columns length_a and length_b, or the characters of the texts.
Lengths = Literal["length", "response"]
#: The source of a cascade's costs: measured dollars, or numbers from the user.
CostSource = Literal["dollars", "given"]
PLAN_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One judge of a cascade, its cost per row, and what was learned about it and those before it.

    The margin is the sum of column / scale * weight, as in a learned doubt.
    """

    judge: str
    protocol: str | None
    judge_fingerprint: str | None = None
    fingerprint_parts: Mapping[str, Any] | None = None
    cost: NotNegative
    columns: tuple[str, ...]
    scales: tuple[Positive, ...]
    weights: tuple[float, ...]
    penalty: Positive

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("columns", "scales", "weights"),
        not_empty("columns"),
    )


@dataclass(frozen=True, kw_only=True)
class LearningShare:
    """The rows that a cascade is learned from: a seeded hash of this column is below `share`.

    Such a row never calibrates, with or without a label at the time of learning.
    """

    column: str
    share: Level
    seed: Count


@dataclass(frozen=True, kw_only=True)
class CascadeRule:
    """All that is needed to combine the stages' answers on a row into one verdict and one doubt."""

    stages: tuple[Stage, ...]
    tau: Proportion
    lengths: Lengths | None = None
    category: str | None = None
    categories: tuple[str, ...] = ()
    learning: LearningShare
    n_learning: Count

    checks: ClassVar[tuple[Check, ...]] = (not_empty("stages"),)

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the stages' judges."""
        return tuple(stage.judge for stage in self.stages)

    @property
    def way(self) -> tuple[object, ...]:
        """The parts that decide where a row ends, and with which verdict."""
        stages = [
            (one.judge, one.protocol, one.judge_fingerprint, one.columns, one.scales, one.weights)
            for one in self.stages
        ]
        return (self.tau, self.lengths, self.category, *stages)


@dataclass(frozen=True, kw_only=True)
class CostPoint:
    """A cascade that stops at `tau`: its cost per row, and what could be accepted at alpha.

    `coverage` is the largest share whose mean fitted error probability is at most alpha, `wrong`
    the observed share of errors in it; `stops` the share of rows that end at each stage. All are
    computed with ridges that were fitted without the row.
    """

    tau: Proportion
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None
    stops: tuple[Proportion, ...]


@dataclass(frozen=True, kw_only=True)
class JudgeAlone:
    """One judge of the cascade asked about every row."""

    judge: str
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None


@dataclass(frozen=True, kw_only=True)
class DroppedStage:
    """A judge without which as much is accepted, at no higher cost per accepted verdict."""

    judge: str
    cost_with: NotNegative
    cost_without: NotNegative
    coverage_with: Proportion
    coverage_without: Proportion


def _planned_point_is_there(plan: CascadePlan) -> str | None:
    """The figure and the table mark the planned point."""
    if any(point.tau == plan.rule.tau for point in plan.points):
        return None
    return f"no point has the planned tau {plan.rule.tau!r}"


def _last_judge_costs_something(plan: CascadePlan) -> str | None:
    """Costs are shown as shares of the last judge's cost."""
    return None if plan.last.cost > 0 else "the last judge costs nothing"


def _stops_have_stages(plan: CascadePlan) -> str | None:
    sizes = {len(point.stops) for point in plan.points}
    if sizes == {len(plan.rule.stages)}:
        return None
    return "points and stages differ in length"


@frozen
class CascadePlan(ResultWithDigest):
    """Cost and coverage of a cascade, stage by stage, estimated only on the learning share.

    `points` is the curve over tau of the kept stages. `feasible` is False if no tau passes at
    alpha: then only the last judge is left.
    """

    kind: ClassVar[str] = "plan_cascade"
    rows_in: ClassVar[str] = "points"
    digest_since: ClassVar[int] = 1
    checks: ClassVar[tuple[Check, ...]] = (
        not_empty("points", "alone"),
        _planned_point_is_there,
        _last_judge_costs_something,
        _stops_have_stages,
    )

    schema_version: Count = PLAN_SCHEMA
    about: About = "pairs"
    alpha: Level
    rule: CascadeRule
    tau_given: bool = False
    feasible: bool
    cost_source: CostSource
    points: tuple[CostPoint, ...]
    alone: tuple[JudgeAlone, ...]
    dropped_stages: tuple[DroppedStage, ...] = ()
    min_answer_mass: Proportion | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    @property
    def planned(self) -> CostPoint:
        """The point of the planned tau."""
        return next(point for point in self.points if point.tau == self.rule.tau)

    @property
    def last(self) -> JudgeAlone:
        """The last of the requested judges, alone."""
        return self.alone[-1]

    def view(self) -> list[Block]:
        from adjudge.present.views._cascade import view_cascade_plan

        return view_cascade_plan(self)


@dataclass(frozen=True, kw_only=True)
class CascadeReport:
    """The cascade of a policy, and its effect on the labels that calibrate.

    `stopped` rows end at each stage; `failed` is how often each judge gave no usable score. `cost`
    is the mean per row, `cost_last` that of the last judge alone, which would have accepted
    `coverage_last` of the same rows by its own doubt (None if it did not judge them).
    """

    rule: CascadeRule
    cost_source: CostSource
    cost: NotNegative
    cost_last: NotNegative
    coverage_last: Proportion | None
    n_verdicts: Count
    n_overturned: Count
    stopped: tuple[Count, ...]
    failed: tuple[Count, ...]
    dropped_stages: tuple[DroppedStage, ...] = ()

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("stopped", "failed"),
        at_most("n_overturned", "n_verdicts"),
    )
