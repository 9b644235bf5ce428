"""Evidence that the error rate of accepted verdicts is above a limit, valid at any time.

Each audit is a bet. With e = 1 for an error, a bet on the rate q multiplies its wealth by

    L_q = (q / limit)^e ((1 - q) / (1 - limit))^(1 - e),        E[L_q | past] <= 1

as long as the rate given the past is at most the limit. Six bets are on rates whose odds are 1.25
to 10 times those of the limit. Half of the wealth is on all of them from the start (`total`), half
on all of them from an unknown audit s on, with geometric weights w_s (`change`):

    total_t  = mean_q prod_{u <= t} L_q,u
    change_t = mean_q R_q,t + sum_{s > t} w_s,     R_q,t = (R_q,t-1 + w_t) L_q,t
    e_t      = (total_t + change_t) / 2

e is a nonnegative supermartingale that starts at 1. Ville's inequality: P(e_t >= 1 / delta for some
t) <= delta. So one can check after every audit, without end. Everything is computed in logarithms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray, open_unit, positive, zero_one

#: The odds of the rates that are bet on, as multiples of the odds of the limit.
ODDS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def log_evidence(errors: ArrayLike, *, limit: float, horizon: float = 1000) -> FloatArray:
    """ln e after each audit, in the order of drawing.

    Args:
        errors: Outcome of each audit: 1 for an error, 0 otherwise.
        limit: Error rate that the evidence is against.
        horizon: Number of audits within which a change is detected best (mean of the weights).

    >>> log_evidence([1, 1, 0], limit=0.1).round(3).tolist()
    [0.597, 1.603, 1.237]
    """
    wealth = _log_wealth(errors, limit)
    n = len(wealth)
    spent = math.log1p(-1 / _horizon(horizon))
    before = np.vstack([np.zeros(len(ODDS)), wealth[:-1]])
    weights = spent * np.arange(n) - math.log(horizon)
    started = np.logaddexp.accumulate(weights[:, None] - before, axis=0) + wealth
    unspent = spent * np.arange(1, n + 1)
    change = np.logaddexp(_log_mean(started), unspent)
    return np.asarray(np.logaddexp(_log_mean(wealth), change) - math.log(2))


def estimate_change(errors: ArrayLike, *, limit: float) -> int:
    """The audit since which the bets gained most: where the rate seems to have risen, from 1.

    A point estimate without an interval. Audits chosen by it were chosen by looking at them.

    Args:
        errors: Outcome of each audit: 1 for an error, 0 otherwise.
        limit: Error rate that the evidence is against.

    >>> estimate_change([0] * 40 + [1, 0, 1, 1], limit=0.1)
    41
    """
    wealth = _log_wealth(errors, limit)
    before = np.vstack([np.zeros(len(ODDS)), wealth[:-1]])
    gains = wealth[-1] - before
    start, _ = np.unravel_index(np.argmax(gains), gains.shape)
    return int(start) + 1


def _log_wealth(errors: ArrayLike, limit: float) -> FloatArray:
    """The logarithm of each bet's wealth after each audit: a row per audit, a column per bet."""
    e = zero_one(errors, "errors")
    m = open_unit(limit, "limit")
    odds = m / (1 - m) * np.array(ODDS)
    q = odds / (1 + odds)
    steps = np.stack([np.log1p(-q) - math.log1p(-m), np.log(q) - math.log(m)])
    return np.cumsum(steps[e], axis=0)


def _log_mean(logs: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(logs, axis=1) - math.log(logs.shape[1]))


def _horizon(horizon: float) -> float:
    if positive(horizon, "horizon") <= 1:
        raise ArgumentError("horizon", horizon, "give a number of audits above 1")
    return horizon
