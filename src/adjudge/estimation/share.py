"""An interval that uses the other models' rates: narrower if the prior is right (FAB).

Yu and Hoff 2018, Adaptive multigroup confidence intervals with constant coverage. For each rate,
the test with the highest power on average over a prior N(mu, tau^2) is inverted. The test keeps its
level for any prior, so a wrong prior costs width and not coverage, if the prior does not come from
the same labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

#: The number of other groups with an estimate that a prior needs.
FEWEST_OTHERS = 3
#: The most one-sided test.
_EDGE = 1e-12


class Prior(NamedTuple):
    """The prior for the rate: mean and standard deviation."""

    mean: float
    sd: float


def prior_from(estimates: Sequence[float], errors: Sequence[float]) -> Prior:
    """The spread of the other models' rates, with their noise removed (DerSimonian and Laird).

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
    """The rates that the biased test does not reject, before clipping.

    C = {theta: t(alpha (1 - s)) < (theta - estimate)/error < t(1 - alpha s)}, t Student's quantile,
    s = s(theta) with Phi^-1(alpha s) - Phi^-1(alpha (1 - s)) = 2 error (theta - mu) / tau^2. With
    s = 1/2 this is Student's interval, which a vague prior gives.

    >>> low, high = shared_interval(0.5, 0.05, 49, Prior(0.5, 100.0), confidence_level=0.95)
    >>> round(low, 3), round(high, 3)
    (0.4, 0.6)
    >>> low, high = shared_interval(0.5, 0.05, 49, Prior(0.5, 0.05), confidence_level=0.95)
    >>> round(high - low, 3)
    0.168
    """
    alpha = 1 - confidence_level

    def upper(s: float) -> float:
        return estimate - error * float(stdtrit(freedom, alpha * s))

    def lower(s: float) -> float:
        return estimate + error * float(stdtrit(freedom, alpha * (1 - s)))

    def tilted(s: float) -> float:
        bias = float(ndtri(alpha * s) - ndtri(alpha * (1 - s)))
        return prior.mean + prior.sd**2 / (2 * error) * bias

    return lower(_crossing(lower, tilted)), upper(_crossing(upper, tilted))


def _crossing(end: Callable[[float], float], tilted: Callable[[float], float]) -> float:
    """The s for which a rate is both the end of its test and the rate with this s.

    `tilted` rises from below `end` to above it, unless the prior is so sharp that the test is
    one-sided.
    """
    if tilted(1 - _EDGE) <= end(1 - _EDGE):
        return 1 - _EDGE
    if tilted(_EDGE) >= end(_EDGE):
        return _EDGE
    return float(brentq(lambda s: tilted(s) - end(s), _EDGE, 1 - _EDGE, xtol=1e-15))
