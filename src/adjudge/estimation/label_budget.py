"""What labels buy: how a budget is split between human classes, and the width that each way gives.

With few labels, or a rate near 0 or 1, a width by formula can be ten times too small: labels
sampled at random are therefore simulated before a plan recommends them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.estimation.estimators.conditional import adjust
from adjudge.estimation.estimators.misclassification import corrected_interval, corrected_variance
from adjudge.estimation.sample import clamp
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import IntArray, count, generator, unit

PILOT = 10
#: A plan that needs more labels than this is infeasible.
MOST_LABELS = 10_000_000
REPEATS = 1000
#: Labels that each verdict should have: with fewer, `conditional` is marked as approximate.
BEHIND_EACH = 10


class Allocation(NamedTuple):
    """Labels for human class 0 and for human class 1."""

    m0: int
    m1: int


def allocate(
    budget: int, *, p: float, pilot: int, pilot_correct0: int, pilot_correct1: int
) -> Allocation:
    """Split of `budget` labels after a pilot of `pilot` labels in each class (Algorithm 1).

    q~ = (correct + 1)/(pilot + 2) per class, kappa = (1 - q~0)/(1 - q~1),
    m1 = round(m / (1 + (1/p - 1) sqrt(kappa))), then at least the pilot to each class. Written as
    m p / (p + (1-p) sqrt(kappa)), so that p = 0 gives class 1 only its pilot, and p = 1 class 0.

    It minimises the length of Eq. 6 only if q0 and q1 are close to 1 (Proposition 5.2). The class
    of a row is unknown until it is labelled. Fill a quota by sampling at random until each class
    has its number, never by picking on the verdict.

    Args:
        budget: Labels in all, including the pilot.
        p: Share of test rows that the judge calls 1.
        pilot: Labels of each class in the pilot.
        pilot_correct0: How many of them the judge has right in class 0.
        pilot_correct1: How many of them the judge has right in class 1.

    >>> allocate(200, p=0.5, pilot=10, pilot_correct0=7, pilot_correct1=9)
    Allocation(m0=117, m1=83)
    >>> allocate(200, p=0.0, pilot=10, pilot_correct0=7, pilot_correct1=9)
    Allocation(m0=190, m1=10)
    """
    count(pilot, "pilot")
    if count(budget, "budget") < 2 * pilot:
        raise ArgumentError("budget", budget, f"give at least twice the pilot, {2 * pilot}")
    for name, correct in (("pilot_correct0", pilot_correct0), ("pilot_correct1", pilot_correct1)):
        if count(correct, name) > pilot:
            raise ArgumentError(name, correct, f"give at most the pilot size, {pilot}")
    q0 = (pilot_correct0 + 1) / (pilot + 2)
    q1 = (pilot_correct1 + 1) / (pilot + 2)
    return Allocation(*map(int, split_arrays(budget, unit(p, "p"), q0, q1, pilot=pilot)))


def split_arrays(
    budget: int, p: ArrayLike, q0: ArrayLike, q1: ArrayLike, *, pilot: int = 0
) -> tuple[IntArray, IntArray]:
    """Steps 4 to 7 of Algorithm 1, elementwise: one allocation per replication."""
    p = np.asarray(p, dtype=np.float64)
    q0 = np.asarray(q0, dtype=np.float64)
    q1 = np.asarray(q1, dtype=np.float64)
    root = np.sqrt((1 - q0) / (1 - q1))
    m1 = np.rint(budget * p / (p + (1 - p) * root)).astype(np.int64)
    m1 = np.clip(m1, pilot, budget - pilot)
    return budget - m1, m1


def one_each(budget: int, share: float) -> Allocation:
    """This share of the labels to class 1, at least one label to either class."""
    m1 = min(max(round(budget * share), 1), budget - 1)
    return Allocation(budget - m1, m1)


def proposition_51(q: float) -> int | None:
    """Fewest labels, half of each class, for which correction reduces the bias (Proposition 5.1).

    The smallest even m above 2q/(2q-1)^2, for q0 = q1 = q. With m or more labels, the corrected
    rate is on average closer to the truth than the judge's own, for any rate. None for q <= 1/2.

    The paper's proof is a second-order approximation. Computed exactly, with rates clipped to
    [0, 1] and labels that show a judge better than chance, 6 labels are enough for every q from 0.6
    to 0.95; 4 (the answer here for q of 0.83 and more) leave the same bias. This is only about
    bias: an interval from so few labels is not useful.

    Args:
        q: The judge's sensitivity and specificity, taken as equal.

    >>> [proposition_51(q) for q in (0.95, 0.8, 0.6, 0.5)]
    [4, 6, 32, None]
    """
    exact = Fraction(str(unit(q, "q")))
    if exact <= Fraction(1, 2):
        return None
    half = exact / (2 * exact - 1) ** 2
    return 2 * (math.floor(half) + 1)


def proposition_61(q: float) -> tuple[float, float] | None:
    """Rates for which the judge beats people alone, if q0 = q1 = q (Prop. 6.1).

    For infinitely many test rows. None below q = 1/2 + 1/(2 sqrt 2), where it never does.

    Args:
        q: The judge's sensitivity and specificity, taken as equal.

    >>> proposition_61(0.9)[0].__round__(4)
    0.1693
    >>> proposition_61(0.85) is None
    True
    """
    inner = 0.5 - 1 / (4 * (2 * q - 1) ** 2) if q > 0.5 else -1.0
    half = math.sqrt(max(inner, 0.0))
    return (0.5 - half, 0.5 + half) if inner >= 0 else None


@dataclass(frozen=True, kw_only=True)
class PlanInputs:
    """The judge's rate and quality, test rows, labels by class (`have`) and verdict (`behind`)."""

    p: float
    q0: float
    q1: float
    n: int
    have: tuple[int, int]
    behind: tuple[int, int] = (0, 0)
    level: float

    @property
    def theta(self) -> float:
        """The corrected rate, clipped; only for q0 + q1 > 1."""
        return clamp((self.p + self.q0 - 1) / (self.q0 + self.q1 - 1))

    def shown(self) -> dict[str, Any]:
        return {
            "confidence_level": self.level,
            "labelled": sum(self.have),
            "judge_rate": self.p,
            "sensitivity": self.q1,
            "specificity": self.q0,
            "n_test": self.n,
        }

    @property
    def human_rates(self) -> tuple[float, float]:
        """The human rate given verdict 1 and given verdict 0, by Bayes."""
        theta = self.theta
        q1 = self.q1
        says_one = theta * q1 + (1 - theta) * (1 - self.q0)
        r1 = theta * q1 / says_one if says_one > 0 else 0.0
        r0 = theta * (1 - q1) / (1 - says_one) if says_one < 1 else 0.0
        return min(r1, 1.0), min(r0, 1.0)

    def corrected_width(self, m0: float, m1: float, rows: int | None = None) -> float:
        """Width of Eq. 6 with these labels, and all test rows or the given number."""
        shares = (self.p, self.q0, self.q1)
        n = self.n if rows is None else rows
        return float(corrected_interval(*shares, n, m0, m1, confidence_level=self.level).length)

    def by_class(self, m: int) -> Allocation:
        """Algorithm 1's split; it never assumes a class without errors."""
        soft0 = self.q0 if self.q0 < 1 else 1 - 1 / (PILOT + 2 + self.have[0])
        soft1 = self.q1 if self.q1 < 1 else 1 - 1 / (PILOT + 2 + self.have[1])
        pilot = min(PILOT, m // 2)
        return Allocation(*map(int, split_arrays(m, self.p, soft0, soft1, pilot=pilot)))

    def by_verdict(self, m: int) -> Allocation:
        """Labels per verdict (m0: verdict 0, m1: verdict 1) that minimise the conditional variance.

        Neyman's rule: share of the verdict times the standard deviation of the human label in it.
        Each verdict has at least 10 and those that exist, and at most all its rows.
        """
        r1, r0 = self.human_rates
        a1 = self.p * math.sqrt(r1 * (1 - r1))
        a0 = (1 - self.p) * math.sqrt(r0 * (1 - r0))
        rows = self.n + sum(self.have)
        ones = round(self.p * rows)
        zeros = rows - ones
        have0, have1 = self.behind if sum(self.behind) <= m else (0, 0)
        least = min(BEHIND_EACH, m // 2)
        m1 = round(m * a1 / (a1 + a0) if a1 + a0 > 0 else m * self.p)
        m1 = max(m1, m - zeros, have1, min(least, ones))
        m1 = min(m1, ones, m - max(have0, min(least, zeros)))
        return Allocation(m - m1, m1)

    def variance_ratio(self, m: int) -> float:
        """Var(corrected)/Var(people alone) with m random labels; large if people never err."""
        m1 = min(max(m * self.theta, 1.0), m - 1.0)
        corrected = float(corrected_variance(self.p, self.q0, self.q1, self.n, m - m1, m1))
        least = 1 / (m + 2)
        alone = max(self.theta * (1 - self.theta), least * (1 - least)) / m
        return corrected / alone

    def try_labels(self, labels: int, draw: str = "random") -> tuple[float, float]:
        """Sample labels from the test rows 1,000 times, random or verdict; apply `conditional`.

        Returns the mean width of the intervals, and the share of those with a result that contain
        the rate. A sample without a label for one verdict has no result; its width counts as 1,
        because every rate is possible. If no row is left to the judge, the width is infinite.

        >>> rows = PlanInputs(p=0.55, q0=0.8, q1=0.9, n=2200, have=(0, 0), level=0.95)
        >>> width, coverage = rows.try_labels(200)
        >>> round(width, 2), coverage > 0.93
        (0.1, True)
        """
        n = self.n + sum(self.have)
        if labels >= n:
            return math.inf, 0.0
        theta = self.theta
        rng = generator(0)
        says_one = min(theta * self.q1 + (1 - theta) * (1 - self.q0), 1.0)
        if draw == "verdict":
            ones = rng.binomial(n, says_one, REPEATS)
            m0, m1 = self.by_verdict(labels)
            size1 = np.minimum(m1, ones)
            size0 = np.minimum(m0, n - ones)
        else:
            size1 = rng.binomial(labels, says_one, REPEATS)
            size0 = labels - size1
            ones = size1 + rng.binomial(n - labels, says_one, REPEATS)
        p = ones / n
        z = normal_quantile(self.level)
        rate1, rate0 = self.human_rates
        r1 = rng.binomial(size1, rate1) / np.maximum(size1, 1)
        r0 = rng.binomial(size0, rate0) / np.maximum(size0, 1)
        centre, se = adjust(p, r1, r0, n, size1, size0, z)
        half = z * se
        low = np.clip(centre - half, 0, 1)
        high = np.clip(centre + half, 0, 1)
        answered = ((size1 > 0) | (p == 0)) & ((size0 > 0) | (p == 1))
        covered = answered & (low <= theta) & (theta <= high)
        width = float(np.where(answered, high - low, 1.0).mean())
        return width, float(covered.sum() / max(answered.sum(), 1))

    @property
    def fewest_random(self) -> int:
        """How many random labels give enough labels for each verdict that occurs."""
        share = min((s for s in (self.p, 1 - self.p) if s > 0), default=1.0)
        return math.ceil(min(BEHIND_EACH / share, MOST_LABELS))

    def draws(self, quota: Allocation) -> int | None:
        """About how many more random rows fill both quotas; None if a class does not occur."""
        theta = self.theta
        have = self.have
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
