"""Cost and coverage of a cascade over tau, and which of its judges are worth their cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adjudge.results.cascade import CostPoint, DroppedStage, JudgeAlone
from adjudge.uncertainty import INFINITE_DOUBT
from adjudge.uncertainty.cascade import FittedStages, stop_at
from adjudge.validation import BoolArray, FloatArray

#: The most coverage that a plan gives up when it drops a judge: within the error of the estimates.
_SLACK = 0.01
#: How many values of tau are tried, and how many a plan keeps.
_TRIED, _KEPT = 200, 40


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
