"""What a cascade costs and covers over tau, and which of its judges pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adjudge._validation import BoolArray, FloatArray
from adjudge.results.cascade import CostPoint, DroppedStage, JudgeAlone
from adjudge.uncertainty import INFINITE_DOUBT
from adjudge.uncertainty.cascade import FittedStages, stop_at

#: Coverage that a plan gives up at most when it drops a judge: estimates differ by as much.
_SLACK = 0.01
#: Values of tau that are tried, and that a plan keeps.
_TRIED, _KEPT = 200, 40


@dataclass(frozen=True)
class Sheet:
    """One cascade on the learning rows: doubts and errors of each row at each stage, held out."""

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
        """Cost, and coverage at alpha, of stopping at this tau."""
        stage = stop_at(self.doubts, tau)
        here = np.arange(len(stage)), stage
        doubt, wrong = np.minimum(self.doubts[here], INFINITE_DOUBT), self.wrong[here]
        order = np.argsort(doubt, kind="stable")
        means = np.cumsum(doubt[order]) / np.arange(1, len(order) + 1)
        # Tied rows enter together.
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
        """The largest tau with room for chance; see `largest_tau`."""
        return self.largest_tau(margin=1.0)

    def largest_tau(self, *, margin: float) -> float | None:
        """The largest tau at which the mean doubt of the rows below it fits alpha.

        `margin` standard errors of a share alpha are left free: a tau that just fits in some
        ninety rows is above alpha in half of all cases, and then little of it can be accepted.
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
        """The curve, thinned, with the planned tau and half of it."""
        taus = self.taus
        some = taus[np.unique(np.linspace(0, len(taus) - 1, _KEPT).round().astype(int))]
        wanted = {*some.tolist(), planned or 0.0, (planned or 0.0) / 2}
        return tuple(self.point(tau) for tau in sorted(wanted))

    def best(self, coverage: float) -> CostPoint | None:
        """Of the points that cover as much, the one whose accepted verdicts cost least."""
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
    """Leave out, one by one, a judge without which as much is accepted for no more a verdict.

    People get what is not accepted, so that a cheap cascade that accepts little is no gain. The
    last judge always stays: a hundred labels cannot show that it is not needed. Where no tau
    passes, no other does: no row would end at one.
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
