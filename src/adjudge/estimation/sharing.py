"""An interval for each group that uses the other groups' rates.

The interval (Yu and Hoff 2018, Adaptive multigroup confidence intervals with constant coverage) is
narrower if a prior N(mu, tau^2) for the rates is right. Its test keeps its level for any prior that
does not come from the same labels: a wrong one costs width and not coverage. So the prior of a
group is fitted to the plain estimates of the other groups alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from adjudge.estimation.estimators.base import Outcome
from adjudge.estimation.sample import clamp
from adjudge.records import Interval
from adjudge.statistics.numbers import student_quantile

#: The number of other groups with an estimate that a prior needs.
FEWEST_OTHERS = 3
#: The most one-sided test.
_EDGE = 1e-12


def shared_intervals(
    outcomes: Sequence[Outcome], freedoms: Sequence[float], *, confidence_level: float
) -> list[Interval | None]:
    """The shared interval of each group; None without an estimate, or with too few other groups.

    It is around the centre of the plain interval, whose width is that of Student's with these
    degrees of freedom.

    >>> groups = [Outcome(rate, centre=rate, half=0.1, standard_error=0.05)
    ...           for rate in (0.48, 0.5, 0.5, 0.52)]
    >>> shared = shared_intervals(groups, [49] * 4, confidence_level=0.95)
    >>> [round(interval.high - interval.low, 3) for interval in shared]
    [0.167, 0.167, 0.167, 0.167]
    """
    plain = [(each.estimate, each.standard_error) for each in outcomes]
    shared: list[Interval | None] = []
    for at, (outcome, freedom) in enumerate(zip(outcomes, freedoms, strict=True)):
        others = [
            (rate, error)
            for rate, error in (*plain[:at], *plain[at + 1 :])
            if rate is not None and error
        ]
        if len(others) < FEWEST_OTHERS or outcome.centre is None or not outcome.half:
            shared.append(None)
            continue
        error = outcome.half / student_quantile(confidence_level, freedom)
        low, high = shared_interval(
            outcome.centre,
            error,
            freedom,
            prior_from(*zip(*others, strict=True)),
            confidence_level=confidence_level,
        )
        shared.append(Interval(clamp(low), clamp(high), confidence_level))
    return shared


class Prior(NamedTuple):
    """The prior for the rate: mean and standard deviation."""

    mean: float
    sd: float


def prior_from(estimates: Sequence[float], errors: Sequence[float]) -> Prior:
    """The spread of the other groups' rates, with their noise removed (DerSimonian and Laird).

    The noise of the mean itself is part of the prior's spread.

    >>> prior = prior_from([0.4, 0.5, 0.6], [0.01, 0.01, 0.01])
    >>> round(prior.mean, 3), 0.09 < prior.sd < 0.13
    (0.5, True)
    """
    rates = np.asarray(estimates)
    weights = np.maximum(errors, 1e-6) ** -2.0
    total = weights.sum()
    excess = weights @ (rates - np.average(rates, weights=weights)) ** 2
    spread = total - weights @ weights / total
    between = max((excess - (len(weights) - 1)) / spread, 0.0) if spread > 0 else 0.0
    weights = 1 / (1 / weights + between)
    mean = float(np.average(rates, weights=weights))
    return Prior(mean, math.sqrt(between + 1 / weights.sum()))


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

    `tilted` rises from below `end` to above it, unless a sharp prior makes the test one-sided.
    """
    # It takes as long to import as the rest of `estimate`, and few estimates share groups.
    from scipy.optimize import brentq

    if tilted(1 - _EDGE) <= end(1 - _EDGE):
        return 1 - _EDGE
    if tilted(_EDGE) >= end(_EDGE):
        return _EDGE
    return float(brentq(lambda s: tilted(s) - end(s), _EDGE, 1 - _EDGE, xtol=1e-15))
