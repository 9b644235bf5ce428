"""What each way of using labels would give: variances at known rates, and where a judge pays."""

from __future__ import annotations

import math

from adjudge.estimation.allocation import Allocation
from adjudge.estimation.misclassification import corrected_variance


def proposition_61(q: float) -> tuple[float, float] | None:
    """Rates for which the judge beats people alone, q0 = q1 = q and endless test rows (Prop. 6.1).

    None below q = 1/2 + 1/(2 sqrt 2), where it never does.

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

    Neyman's rule: share of the verdict times the spread of the human label within it.
    """
    r1, r0 = _human_rates(p, q0, q1, theta)
    a1, a0 = p * math.sqrt(r1 * (1 - r1)), (1 - p) * math.sqrt(r0 * (1 - r0))
    share = a1 / (a1 + a0) if a1 + a0 > 0 else p
    m1 = min(max(round(m * share), 1), m - 1)
    return Allocation(m - m1, m1)


def conditional_variance(
    p: float, q0: float, q1: float, theta: float, n: int, m0: int, m1: int
) -> float:
    """Variance of the conditional estimator with m_v labels of verdict v."""
    r1, r0 = _human_rates(p, q0, q1, theta)
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


def _human_rates(p: float, q0: float, q1: float, theta: float) -> tuple[float, float]:
    """People's rate given verdict 1 and given verdict 0, by Bayes."""
    one = theta * q1 + (1 - theta) * (1 - q0)
    r1 = theta * q1 / one if one > 0 else 0.0
    r0 = theta * (1 - q1) / (1 - one) if one < 1 else 0.0
    return min(r1, 1.0), min(r0, 1.0)


def variance_ratio(p: float, q0: float, q1: float, theta: float, n: int, m: int) -> float:
    """Var(corrected)/Var(people alone), both with m random labels; large where people never err."""
    m1 = min(max(m * theta, 1.0), m - 1.0)
    corrected = float(corrected_variance(p, q0, q1, n, m - m1, m1))
    alone = max(theta * (1 - theta), 1 / (m + 2) * (1 - 1 / (m + 2))) / m
    return corrected / alone
