"""What a cascade's plan learns from labels: fitted stages, cost and coverage, other candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError
from adjudge.policy.doubts import CostSource, DroppedStage
from adjudge.present.result import NotNegative, Proportion
from adjudge.selection.cascade import (
    Member,
    of_stages,
    stage_doubts,
    stop_at,
    with_failures,
)
from adjudge.selection.doubts.evidence import Evidence, LearnedMargin, learn
from adjudge.selection.guarantees import scope_threshold
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.ridge import FOLDS, PENALTIES
from adjudge.validation import BoolArray, FloatArray, IntArray, non_negative

#: The most coverage that a plan gives up when it drops a judge: within the error of the estimates.
_SLACK = 0.01
#: How many values of tau are tried, and how many a plan keeps.
_TRIED, _KEPT = 200, 40


@dataclass(frozen=True, kw_only=True)
class JudgeAlone:
    """One judge of the cascade asked about every row."""

    judge: str
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None


def find_costs(
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
        judged = frame.filter(of_stages([(judge, protocol)]))
        known_costs = judged["cost"].cast(pl.Float64, strict=False).drop_nulls()
        if known_costs.is_empty():
            raise ArgumentError("costs", judge, f"no row of this judge has a cost; {remedy}")
        means.append(float(known_costs.to_numpy().mean()))
    if means[-1] <= 0:
        raise ArgumentError("costs", stages[-1][0], f"the cost of its rows is 0; {remedy}")
    return means, "dollars"


def fit_stages(
    evidence: Evidence, prefers_a: IntArray, *, units: IntArray, seed: int
) -> tuple[tuple[LearnedMargin, ...], FloatArray]:
    """A ridge for each stage, fitted on its scored rows, and margins held out.

    Those are the margins of the rows by ridges that were fitted without their fold of `units`.
    """
    rows = len(prefers_a)
    groups = int(units.max()) + 1
    fold = (np.random.default_rng(seed).permutation(groups) % FOLDS)[units]
    fitted, held_out = [], np.zeros(evidence.p.shape)
    for stage in range(len(evidence.judges)):
        so_far = evidence.of(range(stage + 1))
        learns = ~np.isnan(evidence.p[:, stage]) & np.vstack(
            [np.ones(rows, dtype=np.bool_), *(fold != left for left in range(FOLDS))]
        )
        names, fit = learn(so_far, prefers_a, learns, units=units, seed=seed)
        whole, *others = (
            LearnedMargin(names, so_far.categories, scales, weights, float(penalty))
            for scales, weights, penalty in zip(*fit, strict=True)
        )
        fitted.append(whole)
        for left, margin in enumerate(others):
            held_out[:, stage] = np.where(fold == left, margin.margins(so_far), held_out[:, stage])
    return tuple(fitted), held_out


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
class CascadeCandidate:
    """One way to combine the judges, scored on the learning share.

    `learned` stops by fitted error probabilities, `label_free` by the mean log odds of the judges
    so far, `jury` asks its judges about every row. `coverage` is the share of the learning rows
    that scope accepts at alpha, by their labels, and `wrong` the share of errors in it.
    """

    name: str
    judges: tuple[str, ...]
    tau: Proportion
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None


@dataclass(frozen=True)
class Sheet:
    """One cascade on the learning rows: held-out doubts and errors of each row at each stage."""

    fitted: tuple[LearnedMargin, ...]
    doubts: FloatArray
    wrong: BoolArray
    costs: FloatArray
    alpha: float
    #: The estimated error probability of each row at each stage.
    risks: FloatArray

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        prefers_a: IntArray,
        *,
        units: IntArray,
        seed: int,
        costs: Sequence[float],
        alpha: float,
    ) -> Sheet:
        """Learn every stage; `costs` are those of a row with each judge."""
        fitted, held_out = fit_stages(evidence, prefers_a, units=units, seed=seed)
        margins, doubts = with_failures(held_out, evidence)
        wrong = (margins > 0) != (prefers_a[:, None] > 0)
        return cls(fitted, doubts, wrong, np.cumsum(costs), alpha, doubts)

    @classmethod
    def plain(
        cls, evidence: Evidence, prefers_a: IntArray, *, costs: Sequence[float], alpha: float
    ) -> Sheet:
        """Nothing is learned: the mean log odds of the judges so far, and errors by the labels."""
        margin = LearnedMargin(("mean odds",), (), np.ones(1), np.ones(1), PENALTIES[0])
        fitted = (margin,) * len(evidence.judges)
        margins, doubts = stage_doubts(fitted, evidence)
        wrong = ((margins > 0) != (prefers_a[:, None] > 0)) | np.isinf(doubts)
        return cls(fitted, doubts, wrong, np.cumsum(costs), alpha, wrong.astype(np.float64))

    @property
    def taus(self) -> FloatArray:
        """Values of tau at which some row changes its stage, thinned."""
        values = np.unique(self.doubts[np.isfinite(self.doubts)])
        if len(values) > _TRIED:
            values = values[np.linspace(0, len(values) - 1, _TRIED).round().astype(int)]
        return np.concatenate(([0.0], values))

    def stop(self, tau: float) -> tuple[IntArray, FloatArray, BoolArray, FloatArray]:
        """Stage, doubt, error and risk of every row, if rows stop at this tau."""
        stage = stop_at(self.doubts, tau)
        here = np.arange(len(stage)), stage
        doubt, risk = (np.minimum(of[here], INFINITE_DOUBT) for of in (self.doubts, self.risks))
        return stage, doubt, self.wrong[here], risk

    def point(self, tau: float) -> CostPoint:
        """Cost, and coverage at alpha, if rows stop at this tau."""
        stage, doubt, wrong, risk = self.stop(tau)
        order = np.argsort(doubt, kind="stable")
        means = np.cumsum(risk[order]) / np.arange(1, len(order) + 1)
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

    def largest_tau(self, *, margin: float = 1.0) -> float | None:
        """The largest tau for which the mean risk of the rows below it is at most alpha.

        A margin of `margin` standard errors of a share alpha is kept. With about ninety rows, a tau
        without a margin is above alpha in half of all cases, and then little can be accepted.
        """
        best = None
        for tau in self.taus[1:].tolist():
            _, doubt, _, risk = self.stop(tau)
            below = risk[doubt <= tau]
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

    def candidate(self, name: str, judges: tuple[str, ...], tau: float) -> CascadeCandidate:
        """This cascade at tau, by what scope accepts of the rows at alpha."""
        stage, doubt, wrong, _ = self.stop(tau)
        mute = doubt == INFINITE_DOUBT
        rule = scope_threshold(doubt, wrong | mute, alpha=self.alpha)
        accepted = rule.accept(doubt) & ~mute
        return CascadeCandidate(
            name=name,
            judges=judges,
            tau=tau,
            cost=float(self.costs[stage].mean()),
            coverage=float(accepted.mean()),
            wrong=float(wrong[accepted].mean()) if accepted.any() else None,
        )

    def best(self, coverage: float) -> CostPoint | None:
        """The point with at least this coverage and the lowest cost per accepted verdict."""
        points = [self.point(tau) for tau in self.taus.tolist()]
        enough = [point for point in points if point.coverage >= max(coverage, _SLACK)]
        return min(enough, key=lambda point: point.cost / point.coverage, default=None)


def drop_stages(
    chain: tuple[int, ...], sheet: Callable[[tuple[int, ...]], Sheet], names: Sequence[str]
) -> tuple[tuple[int, ...], list[DroppedStage]]:
    """Drop judges, one by one, if the cascade accepts as much without them at no higher cost.

    The cost is per accepted verdict: people label what is not accepted, so a cheap cascade that
    accepts little saves nothing. The last judge always stays, because a hundred labels cannot show
    that it is not needed. If no tau passes, only the last judge stays: no row would end earlier.
    """
    dropped: list[DroppedStage] = []
    while len(chain) > 1 and (tau := sheet(chain).largest_tau()) is not None:
        now = sheet(chain).point(tau)
        others = {}
        for at in chain[:-1]:
            rest = tuple(other for other in chain if other != at)
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
        chain = tuple(other for other in chain if other != worst)
    return chain if sheet(chain).largest_tau() is not None else chain[-1:], dropped
