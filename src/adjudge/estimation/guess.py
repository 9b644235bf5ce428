"""The inputs of a plan, and the width that each way of sampling labels would give."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adjudge.estimation.allocation import Allocation, conditional_variance, ppi_variance, split
from adjudge.estimation.misclassification import corrected_interval
from adjudge.estimation.outcome import clip
from adjudge.estimation.trial import BEHIND_EACH, Trial, try_random_labels
from adjudge.statistics.numbers import normal_quantile

PILOT = 10
#: A plan that needs more labels than this is infeasible.
MOST_LABELS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Guess:
    """The inputs of a plan: the judge's rate and quality, test rows, labels of class 0 and 1."""

    p: float
    q0: float
    q1: float
    n: int
    have: tuple[int, int]
    level: float

    @property
    def theta(self) -> float:
        """The corrected rate, clipped; only for q0 + q1 > 1."""
        return clip((self.p + self.q0 - 1) / (self.q0 + self.q1 - 1))

    def corrected_width(self, m0: float, m1: float, rows: int | None = None) -> float:
        """Width of Eq. 6 with these labels, and all test rows or the given number."""
        n = self.n if rows is None else rows
        bounds = corrected_interval(
            self.p, self.q0, self.q1, n, m0, m1, confidence_level=self.level
        )
        return float(bounds.length)

    def by_class(self, m: int) -> Allocation:
        """Algorithm 1's split; it never assumes a class without errors."""
        soft0, soft1 = (
            q if q < 1 else 1 - 1 / (PILOT + 2 + size)
            for q, size in zip((self.q0, self.q1), self.have, strict=True)
        )
        return split(m, p=self.p, q0=soft0, q1=soft1, pilot=min(PILOT, m // 2))

    def try_random(self, m: int) -> Trial:
        """Simulate the conditional estimator with labels sampled at random from the test rows.

        If no row is left to the judge, no simulated sample has a result.
        """
        left = self.n + sum(self.have) - m
        if left < 1:
            return Trial(math.inf, 0.0, 1.0)
        return try_random_labels(
            theta=self.theta,
            q0=self.q0,
            q1=self.q1,
            test_rows=left,
            labels=m,
            confidence_level=self.level,
        )

    @property
    def fewest_random(self) -> int:
        """How many random labels give enough labels for each verdict that occurs."""
        share = min((s for s in (self.p, 1 - self.p) if s > 0), default=1.0)
        return math.ceil(min(BEHIND_EACH / share, MOST_LABELS))

    def ppi_width(self, m: int) -> float | None:
        """Width of ppi++, with labels sampled from the test rows; None if a normal one fails."""
        if m < 30 or m * min(self.theta, 1 - self.theta) < 20:
            return None
        left = max(self.n + sum(self.have) - m, 0)
        return self._normal_width(ppi_variance(self.p, self.q1, self.theta, left, m))

    def verdict_width(self, verdicts: Allocation) -> float:
        """Width of the conditional estimator with these numbers of labels of verdict 0 and 1."""
        return self._normal_width(
            conditional_variance(self.p, self.q0, self.q1, self.theta, self.n, *verdicts)
        )

    def _normal_width(self, variance: float) -> float:
        return clip(2 * normal_quantile(self.level) * math.sqrt(variance))

    def draws(self, quota: Allocation) -> int | None:
        """About how many more random rows fill both quotas; None if a class does not occur."""
        theta, have = self.theta, self.have
        needs = ((quota.m1 - have[1], theta), (quota.m0 - have[0], 1 - theta))
        if any(size > 0 and share <= 0 for size, share in needs):
            return None
        return math.ceil(max((size / share for size, share in needs if size > 0), default=0))

    def width_after(self, quota: Allocation, draws: int | None) -> float:
        """Width after the labels are sampled from the test rows, which leaves fewer of them."""
        if draws is None or draws >= self.n:
            return self.corrected_width(*quota)
        m0 = max(self.have[0] + draws * (1 - self.theta), quota.m0)
        m1 = max(self.have[1] + draws * self.theta, quota.m1)
        return self.corrected_width(m0, m1, self.n - draws)
