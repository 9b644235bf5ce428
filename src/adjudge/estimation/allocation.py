"""Algorithm 1: split a label budget between the human classes; the width each split gives."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.estimation.misclassification import corrected_variance
from adjudge.validation import IntArray, count


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

    It minimises the length of Eq. 6 only if q0 and q1 are close to 1 (Proposition 5.2); see
    `optimal_split`. The class of a row is unknown until it is labelled. Fill a quota by sampling at
    random until each class has its number, never by picking on the verdict.

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
    return split(budget, p=p, q0=q0, q1=q1, pilot=pilot)


def split(budget: int, *, p: float, q0: float, q1: float, pilot: int = 0) -> Allocation:
    """Steps 4 to 7 of Algorithm 1 for given q0 and q1, both below 1."""
    if not 0 <= p <= 1:
        raise ArgumentError("p", p, "give the judge's rate, in [0, 1]")
    for name, q in (("q0", q0), ("q1", q1)):
        if not 0 <= q < 1:
            raise ArgumentError(name, q, "give a share below 1 (Algorithm 1 adds one error)")
    m0, m1 = split_arrays(budget, p, q0, q1, pilot=pilot)
    return Allocation(int(m0), int(m1))


def split_arrays(
    budget: int, p: ArrayLike, q0: ArrayLike, q1: ArrayLike, *, pilot: int = 0
) -> tuple[IntArray, IntArray]:
    """Steps 4 to 7 of Algorithm 1, elementwise: one allocation per replication."""
    p, q0, q1 = (np.asarray(value, dtype=np.float64) for value in (p, q0, q1))
    root = np.sqrt((1 - q0) / (1 - q1))
    m1 = np.rint(budget * p / (p + (1 - p) * root)).astype(np.int64)
    m1 = np.clip(m1, pilot, budget - pilot)
    return budget - m1, m1


def optimal_split(budget: int, *, theta: float, q0: float, q1: float) -> Allocation:
    """The split that minimises Eq. 9: m0/m1 = (1-theta) sqrt(q0(1-q0)) / (theta sqrt(q1(1-q1))).

    It does not use the approximation of Proposition 5.2. Each class gets at least one label.

    Args:
        budget: Labels in all.
        theta: The rate that people would give.
        q0: The judge's specificity.
        q1: The judge's sensitivity.

    >>> optimal_split(200, theta=0.5, q0=0.7, q1=0.9)
    Allocation(m0=121, m1=79)
    """
    for name, value in (("theta", theta), ("q0", q0), ("q1", q1)):
        check_share(value, name)
    count(budget, "budget", least=2)
    a0 = (1 - theta) * math.sqrt(q0 * (1 - q0))
    a1 = theta * math.sqrt(q1 * (1 - q1))
    return one_each(budget, a1 / (a0 + a1) if a0 + a1 > 0 else 0.5)


def check_share(value: float, name: str) -> float:
    """A number in [0, 1]."""
    if not 0 <= value <= 1:
        raise ArgumentError(name, value, "give a share in [0, 1]")
    return float(value)


def one_each(budget: int, share: float) -> Allocation:
    """This share of the labels to class 1, at least one label to either class."""
    m1 = min(max(round(budget * share), 1), budget - 1)
    return Allocation(budget - m1, m1)


def proposition_51(q: float) -> int | None:
    """Fewest labels, half of each class, for which correction reduces the bias (Proposition 5.1).

    The smallest even m above 2q/(2q-1)^2, for q0 = q1 = q. With m or more labels, the corrected
    rate is on average closer to the truth than the judge's own, for any rate. None for q <= 1/2.

    The paper's proof is a second-order approximation. We computed the bias exactly for infinitely
    many test rows, rates clipped to [0, 1] and labels that show a judge better than chance. Then 6
    labels are enough for every q from 0.6 to 0.95, and 4 (the answer here for q of 0.83 and more)
    leave the same bias. At the paper's m, the labels do not show a judge better than chance in 1 to
    16 % of samples. This is only about bias: an interval from so few labels is not useful.

    Args:
        q: The judge's sensitivity and specificity, taken as equal.

    >>> [proposition_51(q) for q in (0.95, 0.8, 0.6, 0.5)]
    [4, 6, 32, None]
    """
    exact = Fraction(str(check_share(q, "q")))
    if exact <= Fraction(1, 2):
        return None
    half = exact / (2 * exact - 1) ** 2
    return 2 * (math.floor(half) + 1)


def proposition_61(q: float) -> tuple[float, float] | None:
    """Rates for which the judge beats people alone (Prop. 6.1).

    For q0 = q1 = q and infinitely many test rows. None below q = 1/2 + 1/(2 sqrt 2), where it never
    does.

    Args:
        q: The judge's sensitivity and specificity, taken as equal.

    >>> proposition_61(0.9)[0].__round__(4)
    0.1693
    >>> proposition_61(0.85) is None
    True
    """
    if q <= 0.5:
        return None
    inner = 0.5 - 1 / (4 * (2 * q - 1) ** 2)
    if inner < 0:
        return None
    half = math.sqrt(inner)
    return 0.5 - half, 0.5 + half


def by_verdict(m: int, *, p: float, q0: float, q1: float, theta: float) -> Allocation:
    """Labels per verdict (m0: verdict 0, m1: verdict 1) that minimise the conditional variance.

    Neyman's rule: share of the verdict times the standard deviation of the human label within it.
    """
    r1, r0 = _human_rates(q0, q1, theta)
    a1, a0 = p * math.sqrt(r1 * (1 - r1)), (1 - p) * math.sqrt(r0 * (1 - r0))
    return one_each(m, a1 / (a1 + a0) if a1 + a0 > 0 else p)


def conditional_variance(
    p: float, q0: float, q1: float, theta: float, n: int, m0: int, m1: int
) -> float:
    """Variance of the conditional estimator with m_v labels of verdict v."""
    r1, r0 = _human_rates(q0, q1, theta)
    a1, a0 = (r1 * m1 + 1) / (m1 + 2), (r0 * m0 + 1) / (m0 + 2)
    return (
        (r1 - r0) ** 2 * p * (1 - p) / n
        + p**2 * a1 * (1 - a1) / (m1 + 2)
        + (1 - p) ** 2 * a0 * (1 - a0) / (m0 + 2)
    )


def ppi_variance(p: float, q1: float, theta: float, n: int, m: int) -> float:
    """Variance of ppi++ at its best weight: theta (1-theta)/m (1 - rho^2 n/(n+m))."""
    spread = theta * (1 - theta)
    if spread == 0 or p in (0, 1):
        return spread / m
    correlation = theta * (q1 - p) / math.sqrt(spread * p * (1 - p))
    return spread / m * (1 - min(correlation**2, 1.0) * n / (n + m))


def _human_rates(q0: float, q1: float, theta: float) -> tuple[float, float]:
    """The human rate given verdict 1 and given verdict 0, by Bayes."""
    one = theta * q1 + (1 - theta) * (1 - q0)
    r1 = theta * q1 / one if one > 0 else 0.0
    r0 = theta * (1 - q1) / (1 - one) if one < 1 else 0.0
    return min(r1, 1.0), min(r0, 1.0)


def variance_ratio(p: float, q0: float, q1: float, theta: float, n: int, m: int) -> float:
    """Var(corrected)/Var(people alone), both with m random labels; large if people never err."""
    m1 = min(max(m * theta, 1.0), m - 1.0)
    corrected = float(corrected_variance(p, q0, q1, n, m - m1, m1))
    alone = max(theta * (1 - theta), 1 / (m + 2) * (1 - 1 / (m + 2))) / m
    return corrected / alone
