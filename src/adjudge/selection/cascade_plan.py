"""Plan a cascade: cost and coverage over tau, which judges are worth their cost, where to stop.

Stages, weights, curve and tau are learned only from the rows of the learning share, which is a
seeded hash of their cluster or id. The other labels calibrate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from adjudge.data import read_result
from adjudge.data.judgments import WORDS, Judgments
from adjudge.data.rows import Rows, merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import (
    CascadeRule,
    CostSource,
    DroppedStage,
    LearningShare,
    Lengths,
    Stage,
)
from adjudge.present.blocks import (
    Block,
)
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    ResultWithDigest,
    frozen,
    not_empty,
)
from adjudge.records import MIN_ANSWER_MASS, About
from adjudge.selection.cascade import (
    OTHER_JUDGE,
    FittedStages,
    Member,
    StageEvidence,
    StageRows,
    find_stages,
    fit_stages,
    in_learning_share,
    lay_out,
    of_stages,
    stage_names,
    stop_at,
    with_failures,
)
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    advise_learning,
    lengths_in,
    with_context,
)
from adjudge.selection.labelled import read_labelled
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.numbers import cluster_codes
from adjudge.store import StorePlace, read_judge_parts
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    exact_level,
    non_negative,
    open_unit,
    unit,
)
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    pass

NOT_EVERY_STAGE = "not judged by every stage"
PLAN_SCHEMA = 1
#: The most coverage that a plan gives up when it drops a judge: within the error of the estimates.
_SLACK = 0.01
#: How many values of tau are tried, and how many a plan keeps.
_TRIED, _KEPT = 200, 40


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
        from adjudge.selection.cascade_view import view_cascade_plan

        return view_cascade_plan(self)


def plan_cascade(
    judgments: TableLike | Judgments,
    cascade: str | Sequence[str],
    *,
    alpha: float | Fraction = 0.1,
    costs: Sequence[float] | None = None,
    tau: float | None = None,
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
    ties: str = "drop",
    cluster: str | None = "auto",
    category: str | None = None,
    learning_share: float = 0.3,
    min_answer_mass: float | None = MIN_ANSWER_MASS,
    seed: int = 0,
    store: StorePlace = None,
) -> CascadePlan:
    """Cost and coverage of a cascade over tau, and the judges worth their cost.

    All of it is estimated on the learning share. Each judge must have judged the rows. A judge
    other than the last is dropped if as much is accepted without it, at no higher cost per accepted
    verdict. The planned tau is the largest one for which the mean fitted error probability of the
    rows below it, plus one standard error, is at most `alpha`.

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev. A file or a frame, of judgments or
            grades.
        cascade: Judges of the file, cheap to strong, separated by commas. Or a list of them.
        alpha: Error level allowed among accepted verdicts.
        costs: Cost of a row for each judge of the cascade, such as 1,5,30. By default the mean of
            the rows' column `cost`.
        tau: Stop if the fitted probability of an error is at most this. A smaller tau costs more
            and accepts more. Choose it from the curve, before calibrating. By default the largest
            that reaches alpha.
        labels: Human labels by id, for rows without a label.
        pairs: The judged pairs, for a learned doubt that uses the length of the texts.
        ties: Human ties: drop, or error (count each as an error).
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        category: Column of categories that a learned doubt or cascade can learn from.
        learning_share: Share of the labels that a learned doubt, jury or cascade learns from.
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges.

    >>> from adjudge.simulate.selective import cascade_judges
    >>> plan = plan_cascade(cascade_judges(600, seed=1), "cheap,strong", costs=[1, 20])
    >>> [stage.judge for stage in plan.rule.stages], plan.planned.cost < 20
    (['cheap', 'strong'], True)
    """
    level = float(exact_level(alpha))
    learning_share = open_unit(learning_share, "learning_share")
    check_count(seed, "seed")
    limit = None if min_answer_mass is None else unit(min_answer_mass, "min_answer_mass")
    # Rows of every status: a row continues after a judge fails.
    table = read_labelled(
        judgments,
        labels,
        pairs=pairs,
        ties=ties,
        cluster=cluster,
        min_answer_mass=limit,
        keep_failed=True,
    )
    stages = find_stages(cascade, table.frame)
    rows = Rows(table.frame, table.dropped).without(~of_stages(stages), OTHER_JUDGE)
    learning = LearningShare(column=table.cluster or "id", share=learning_share, seed=seed)
    share = pl.Series(in_learning_share(rows.frame, learning))
    rows = rows.without(~pl.lit(share), "outside the learning share")
    prices, source = _costs(rows.frame, stages, costs)
    lab = _Laboratory.open(rows, stages, learning, category=category, about=table.about)
    sheets: dict[tuple[int, ...], Sheet] = {}

    def sheet(kept: tuple[int, ...]) -> Sheet:
        if kept not in sheets:
            sheets[kept] = lab.sheet(kept, [prices[at] for at in kept], level)
        return sheets[kept]

    kept, dropped = drop_stages(tuple(range(len(stages))), sheet, [name for name, _ in stages])
    chosen = sheet(kept)
    # Alone, the last judge gets every row for any tau: no margin for chance is needed.
    planned = chosen.largest_tau(margin=1.0 if len(kept) > 1 else 0.0)
    feasible = planned is not None
    warnings = advise_learning(round(len(lab.prefers_a) / learning_share))
    if len(kept) == 1 and len(dropped) + 1 < len(stages):
        warnings.append(
            f"no tau leaves a margin for chance in {len(lab.prefers_a)} rows: only the last judge "
            "is left; label more rows"
        )
    if tau is not None:
        planned = unit(tau, "tau")
    points = chosen.points(planned)
    prints = [_fingerprint(rows.frame, stage) for stage in stages]
    rule = CascadeRule(
        stages=tuple(
            Stage(
                judge=stages[at][0],
                protocol=stages[at][1],
                judge_fingerprint=prints[at],
                cost=prices[at],
                columns=doubt.columns,
                scales=tuple(doubt.scales.tolist()),
                weights=tuple(doubt.weights.tolist()),
                penalty=doubt.penalty,
            )
            for at, doubt in zip(kept, chosen.fitted.doubts, strict=True)
        ),
        tau=planned or 0.0,
        lengths=lab.lengths,
        category=category,
        categories=lab.categories,
        learning=learning,
        n_learning=len(lab.prefers_a),
    )
    return CascadePlan(
        about=table.about,
        alpha=level,
        rule=with_parts(rule, store),
        tau_given=tau is not None,
        feasible=feasible,
        cost_source=source,
        points=points,
        alone=tuple(sheet((at,)).alone(stages[at][0]) for at in range(len(stages))),
        dropped_stages=tuple(dropped),
        min_answer_mass=limit,
        assumptions=(
            "the rows of the learning share are like those to be judged",
            "coverage is what the fitted error probabilities allow at alpha: an estimate, not a "
            "promise; the labels outside the learning share calibrate",
        ),
        warnings=tuple(warnings),
        dropped=lab.dropped,
    )


def read_plan(plan: CascadePlan | str | Path) -> CascadePlan:
    """The plan itself, or the plan in a file written by `plan cascade -o`."""
    return plan if isinstance(plan, CascadePlan) else read_result(plan, CascadePlan)


def with_parts(rule: CascadeRule, store: StorePlace) -> CascadeRule:
    """The rule with the parts of its judges' fingerprints, if the store has them."""
    prints = [s.judge_fingerprint for s in rule.stages if s.judge_fingerprint is not None]
    parts = read_judge_parts(prints, store)
    return replace(
        rule,
        stages=tuple(
            replace(stage, fingerprint_parts=dict(parts[stage.judge_fingerprint]))
            if stage.judge_fingerprint in parts
            else stage
            for stage in rule.stages
        ),
    )


@dataclass(frozen=True)
class _Laboratory:
    """The learning rows: the answers of every judge, and the preferences of people."""

    laid: StageRows
    stages: tuple[Member, ...]
    prefers_a: IntArray
    units: IntArray
    lengths: Lengths | None
    category: str | None
    categories: tuple[str, ...]
    seed: int
    dropped: Mapping[str, int]

    @classmethod
    def open(
        cls,
        rows: Rows,
        stages: tuple[Member, ...],
        learning: LearningShare,
        *,
        category: str | None,
        about: About,
    ) -> _Laboratory:
        """Join the judges' rows; human ties are left out because they do not show who is right."""
        rows = rows.without(pl.col("label") == "tie", "human tie")
        laid = lay_out(rows.frame.sort("id"), stages)
        whole = np.asarray(laid.asked.all(axis=1))
        asked = laid.take(whole)
        n = asked.frame.height
        if n < FEWEST_LEARNING or (asked.evidence.measured.sum(axis=0) < FEWEST_LEARNING).any():
            raise ArgumentError(
                "learning_share",
                learning.share,
                f"leaves {n} labelled rows that every judge was asked about, but each judge needs "
                f"{FEWEST_LEARNING} rows with a usable score; label more rows, or raise the share",
            )
        names = None
        if category is not None:
            names = with_context(asked.evidence.whole, asked.frame, lengths=None, category=category)
        return cls(
            laid=asked,
            stages=stages,
            prefers_a=(asked.frame["label"] == WORDS[about][0]).to_numpy().astype(np.int64),
            units=cluster_codes(asked.frame[learning.column].to_list())[0],
            lengths=lengths_in(asked.frame),
            category=category,
            categories=() if names is None else names.categories,
            seed=learning.seed,
            dropped=merge_dropped(rows.dropped, {NOT_EVERY_STAGE: int((~whole).sum())}),
        )

    def sheet(self, kept: tuple[int, ...], costs: Sequence[float], alpha: float) -> Sheet:
        """The cascade of these judges on the learning rows."""
        evidence = self.laid.of(kept).evidence
        # The names that they have without the judges that were dropped.
        named = replace(evidence.whole, judges=stage_names([self.stages[at] for at in kept]))
        whole = with_context(named, self.laid.frame, lengths=self.lengths, category=self.category)
        seen = StageEvidence(whole=whole, ties=evidence.ties, gaps=evidence.gaps)
        fitted = fit_stages(seen, self.prefers_a, units=self.units, seed=self.seed)
        margins, doubts = with_failures(fitted.held_out, seen)
        wrong = (margins > 0) != (self.prefers_a[:, None] > 0)
        return Sheet(fitted, doubts, wrong, np.cumsum(costs), alpha)


def _costs(
    frame: pl.DataFrame, stages: Sequence[Member], costs_given: Sequence[float] | None
) -> tuple[list[float], CostSource]:
    """The cost of a row with each judge: as given, or the mean cost of its rows."""
    if costs_given is not None:
        costs = [non_negative(cost, "costs") for cost in costs_given]
        if len(costs) != len(stages) or costs[-1] == 0:
            raise ArgumentError(
                "costs", tuple(costs_given), f"give {len(stages)}, one per judge, the last above 0"
            )
        return costs, "given"
    remedy = "give --costs, such as 1,5,30, or run the judges with --prices"
    if "cost" not in frame.columns:
        raise ArgumentError("costs", None, f"the rows have no cost; {remedy}")
    means = []
    for judge, protocol in stages:
        judge_costs = frame.filter(of_stages([(judge, protocol)]))["cost"].cast(
            pl.Float64, strict=False
        )
        if judge_costs.drop_nulls().is_empty():
            raise ArgumentError("costs", judge, f"no row of this judge has a cost; {remedy}")
        means.append(float(judge_costs.drop_nulls().to_numpy().mean()))
    if means[-1] <= 0:
        raise ArgumentError("costs", stages[-1][0], f"the cost of its rows is 0; {remedy}")
    return means, "dollars"


def _fingerprint(frame: pl.DataFrame, stage: Member) -> str | None:
    prints = frame.filter(of_stages([stage]))["judge_fingerprint"].drop_nulls().unique()
    if len(prints) > 1:
        raise ArgumentError(
            "cascade", stage[0], "its rows have several fingerprints: a stage must be one judge"
        )
    return None if prints.is_empty() else str(prints[0])


@dataclass(frozen=True)
class Sheet:
    """One cascade on the learning rows: held-out doubts and errors of each row at each stage."""

    fitted: FittedStages
    doubts: FloatArray
    wrong: BoolArray
    costs: FloatArray
    alpha: float

    @property
    def taus(self) -> FloatArray:
        """Values of tau at which some row changes its stage, thinned."""
        values = np.unique(self.doubts[np.isfinite(self.doubts)])
        if len(values) > _TRIED:
            values = values[np.linspace(0, len(values) - 1, _TRIED).round().astype(int)]
        return np.concatenate(([0.0], values))

    def point(self, tau: float) -> CostPoint:
        """Cost, and coverage at alpha, if rows stop at this tau."""
        stage = stop_at(self.doubts, tau)
        here = np.arange(len(stage)), stage
        doubt, wrong = np.minimum(self.doubts[here], INFINITE_DOUBT), self.wrong[here]
        order = np.argsort(doubt, kind="stable")
        means = np.cumsum(doubt[order]) / np.arange(1, len(order) + 1)
        # Tied rows are accepted together.
        ends = np.append(np.diff(doubt[order]) > 0, True)
        passing = np.flatnonzero(ends & (means <= self.alpha))
        accepted = order[: passing[-1] + 1] if len(passing) else order[:0]
        return CostPoint(
            tau=tau,
            cost=float(self.costs[stage].mean()),
            coverage=len(accepted) / len(stage),
            wrong=float(wrong[accepted].mean()) if len(accepted) else None,
            stops=tuple((np.bincount(stage, minlength=len(self.costs)) / len(stage)).tolist()),
        )

    @property
    def planned(self) -> float | None:
        """The largest tau with a margin for chance; see `largest_tau`."""
        return self.largest_tau(margin=1.0)

    def largest_tau(self, *, margin: float) -> float | None:
        """The largest tau for which the mean doubt of the rows below it is at most alpha.

        A margin of `margin` standard errors of a share alpha is kept. With about ninety rows, a tau
        without a margin is above alpha in half of all cases, and then little can be accepted.
        """
        best = None
        for tau in self.taus[1:].tolist():
            doubt = self.doubts[np.arange(len(self.doubts)), stop_at(self.doubts, tau)]
            below = doubt[doubt <= tau]
            error = (self.alpha * (1 - self.alpha) / max(len(below), 1)) ** 0.5
            if len(below) and below.mean() + margin * error <= self.alpha:
                best = tau
        return best

    def points(self, planned: float | None) -> tuple[CostPoint, ...]:
        """The curve, thinned, including the planned tau and half of it."""
        taus = self.taus
        some = taus[np.unique(np.linspace(0, len(taus) - 1, _KEPT).round().astype(int))]
        wanted = {*some.tolist(), planned or 0.0, (planned or 0.0) / 2}
        return tuple(self.point(tau) for tau in sorted(wanted))

    def best(self, coverage: float) -> CostPoint | None:
        """The point with at least this coverage and the lowest cost per accepted verdict."""
        points = [self.point(tau) for tau in self.taus.tolist()]
        enough = [point for point in points if point.coverage >= max(coverage, _SLACK)]
        return min(enough, key=lambda point: point.cost / point.coverage, default=None)

    def alone(self, judge: str) -> JudgeAlone:
        """A cascade of one judge."""
        point = self.point(0.0)
        return JudgeAlone(judge=judge, cost=point.cost, coverage=point.coverage, wrong=point.wrong)


def drop_stages(
    kept: tuple[int, ...], sheet: Callable[[tuple[int, ...]], Sheet], names: Sequence[str]
) -> tuple[tuple[int, ...], list[DroppedStage]]:
    """Drop judges, one by one, if the cascade accepts as much without them at no higher cost.

    The cost is per accepted verdict: people label what is not accepted, so a cheap cascade that
    accepts little saves nothing. The last judge always stays, because a hundred labels cannot show
    that it is not needed. If no tau passes, only the last judge stays: no row would end earlier.
    """
    dropped: list[DroppedStage] = []
    while len(kept) > 1 and (tau := sheet(kept).planned) is not None:
        now = sheet(kept).point(tau)
        others = {}
        for at in kept[:-1]:
            rest = tuple(other for other in kept if other != at)
            point = sheet(rest).best(now.coverage - _SLACK)
            if point is not None and point.cost * now.coverage <= now.cost * point.coverage:
                others[at] = point
        if not others:
            break
        worst = min(others, key=lambda at: (others[at].cost / others[at].coverage, at))
        dropped.append(
            DroppedStage(
                judge=names[worst],
                cost_with=now.cost,
                cost_without=others[worst].cost,
                coverage_with=now.coverage,
                coverage_without=others[worst].coverage,
            )
        )
        kept = tuple(other for other in kept if other != worst)
    return kept if sheet(kept).planned is not None else kept[-1:], dropped
