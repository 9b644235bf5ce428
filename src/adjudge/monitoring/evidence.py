"""Evidence that the error rate of accepted verdicts is above a limit, and an interval of the rate.

Both are valid at any time: one can check after every audit, without end.

**Evidence.** Each audit is a bet. With e = 1 for an error, a bet on the rate q multiplies its
wealth by

    L_q = (q / limit)^e ((1 - q) / (1 - limit))^(1 - e),        E[L_q | past] <= 1

as long as the rate given the past is at most the limit. Six bets are on rates whose odds are 1.25
to 10 times those of the limit. Half of the wealth is on all of them from the start (`total`), half
on all of them from an unknown audit s on, with geometric weights w_s (`change`):

    total_t  = mean_q prod_{u <= t} L_q,u
    change_t = mean_q R_q,t + sum_{s > t} w_s,     R_q,t = (R_q,t-1 + w_t) L_q,t
    e_t      = (total_t + change_t) / 2

e is a nonnegative supermartingale that starts at 1. Ville's inequality: P(e_t >= 1 / delta for some
t) <= delta. Everything is computed in logarithms.

**Interval.** It holds after all audits simultaneously, with drift. Let m be the mean of the error
rates that the first k audits had, each given the past, and E their errors. ln(1 - p + p e^l) is
concave in p, so for every l

    e^(l E) / (1 - m + m e^l)^k  <=  prod_i e^(l e_i) / (1 - p_i + p_i e^l),

and the right side is a martingale that starts at 1. The interval has all m for which the mean of
the left side over several l > 0, and that over the l < 0 of the same sizes, stay below 2 / delta.
By Ville's inequality it covers m at all k with probability at least 1 - delta.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray, finite, open_unit, positive, same_length, zero_one

#: The odds of the rates that are bet on, as multiples of the odds of the limit.
ODDS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
#: Sizes of l: large ones are sharp after few audits, small ones after many.
_SIZES = 4.0 * 0.5 ** np.arange(12)
_HALVINGS = 50


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
    spent = math.log1p(-1 / check_horizon(horizon))
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
    # A bet on the error rate q gains the ratio of the outcome's probability by q to that by m.
    by_right = np.log1p(-q) - math.log1p(-m)
    by_error = np.log(q) - math.log(m)
    return np.cumsum(np.stack([by_right, by_error])[e], axis=0)


def _log_mean(logs: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(logs, axis=1) - math.log(logs.shape[1]))


def check_horizon(horizon: float) -> float:
    """A mean of the weights w that is above 1."""
    if positive(horizon, "horizon") <= 1:
        raise ArgumentError("horizon", horizon, "give a number of audits above 1")
    return horizon


def running_interval(
    errors: ArrayLike, audits: ArrayLike, *, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Low and high ends for these numbers of errors among the first audits.

    Args:
        errors: Numbers of errors.
        audits: Numbers of audits that they are among, counted from the first.
        delta: Probability that the interval ever misses the rate.

    >>> low, high = running_interval([0, 8, 40], [0, 80, 400], delta=0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.022, 0.055], [1.0, 0.251, 0.159])
    """
    wrong = finite(errors, "errors", allow_empty=True)
    k = finite(audits, "audits", allow_empty=True)
    same_length(errors=wrong, audits=k)
    if ((wrong < 0) | (wrong > k)).any():
        raise ArgumentError("errors", "more than audits", "give errors among the audits")
    most = math.log(2 / open_unit(delta, "delta"))
    return _low_end(wrong, k, most), 1 - _low_end(k - wrong, k, most)


def _low_end(errors: FloatArray, audits: FloatArray, most: float) -> FloatArray:
    """The smallest m at which the mixture over l > 0 is below e^most: it decreases in m."""
    low = np.zeros(len(errors))
    high = np.ones(len(errors))
    gained = errors[:, None] * _SIZES
    rises = np.expm1(_SIZES)
    for _ in range(_HALVINGS):
        m = (low + high) / 2
        logs = gained - audits[:, None] * np.log1p(m[:, None] * rises)
        excluded = np.logaddexp.reduce(logs, axis=1) - math.log(len(_SIZES)) >= most
        low = np.where(excluded, m, low)
        high = np.where(excluded, high, m)
    return low
