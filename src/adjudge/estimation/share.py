"""Strength from the other models: an interval that is narrower where the prior is right (FAB).

Yu and Hoff 2018, Adaptive multigroup confidence intervals with constant coverage: for each rate the
test that is most powerful on average over a prior N(mu, tau^2), inverted. Whatever the prior, the
test keeps its level, so a wrong prior costs width and not coverage, as long as the prior does not
come from the same labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import t as student

#: Other groups with an estimate that a prior needs.
FEWEST_OTHERS = 3


class Prior(NamedTuple):
    """Where the rates of models like this one lie."""

    mean: float
    sd: float


def prior_from(estimates: Sequence[float], errors: Sequence[float]) -> Prior:
    """The spread of the other models' rates, their noise taken out (DerSimonian and Laird).

    The noise of the mean itself is part of the prior's spread.

    >>> prior = prior_from([0.4, 0.5, 0.6], [0.01, 0.01, 0.01])
    >>> round(prior.mean, 3), 0.09 < prior.sd < 0.13
    (0.5, True)
    """
    weights = [1 / max(error, 1e-6) ** 2 for error in errors]
    total = sum(weights)
    mean = sum(w * e for w, e in zip(weights, estimates, strict=True)) / total
    excess = sum(w * (e - mean) ** 2 for w, e in zip(weights, estimates, strict=True))
    spread = total - sum(w * w for w in weights) / total
    between = max((excess - (len(weights) - 1)) / spread, 0.0) if spread > 0 else 0.0
    weights = [1 / (1 / w + between) for w in weights]
    total = sum(weights)
    mean = sum(w * e for w, e in zip(weights, estimates, strict=True)) / total
    return Prior(mean, math.sqrt(between + 1 / total))


def shared_interval(
    estimate: float, error: float, freedom: float, prior: Prior, *, confidence_level: float
) -> tuple[float, float]:
    """The rates not rejected by the biased test, before clipping.

    C = {theta: t(alpha (1 - s)) < (theta - estimate)/error < t(1 - alpha s)}, t Student's quantile,
    s = s(theta) with Phi^-1(alpha s) - Phi^-1(alpha (1 - s)) = 2 error (theta - mu) / tau^2. With
    s = 1/2 this is Student's interval; a vague prior gives that.

    >>> low, high = shared_interval(0.5, 0.05, 49, Prior(0.5, 100.0), confidence_level=0.95)
    >>> round(low, 3), round(high, 3)
    (0.4, 0.6)
    >>> low, high = shared_interval(0.5, 0.05, 49, Prior(0.5, 0.05), confidence_level=0.95)
    >>> round(high - low, 3)
    0.168
    """
    alpha = 1 - confidence_level

    def tilt(theta: float) -> float:
        wanted = 2 * error * (theta - prior.mean) / prior.sd**2
        edge = 1e-12
        bound = _bias(edge, alpha)
        if abs(wanted) >= -bound:
            return edge if wanted < 0 else 1 - edge
        return float(brentq(lambda s: _bias(s, alpha) - wanted, edge, 1 - edge, xtol=1e-14))

    def above(theta: float) -> float:
        return (theta - estimate) / error - float(student.isf(alpha * tilt(theta), freedom))

    def below(theta: float) -> float:
        return (theta - estimate) / error + float(student.isf(alpha * (1 - tilt(theta)), freedom))

    # Both are increasing. One-sided is the narrowest an end can be; the other end can reach as far
    # as the prior is away.
    reach = error * float(student.isf(alpha * 1e-12, freedom)) + abs(estimate - prior.mean) + 1
    low = brentq(below, estimate - reach, estimate, xtol=1e-9)
    high = brentq(above, estimate, estimate + reach, xtol=1e-9)
    return float(low), float(high)


def _bias(s: float, alpha: float) -> float:
    return float(ndtri(alpha * s) - ndtri(alpha * (1 - s)))
