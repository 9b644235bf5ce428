"""An interval for the running error rate that holds after all audits simultaneously, with drift.

Let m be the mean of the error rates that the first k audits had, each given the past, and E their
errors. ln(1 - p + p e^l) is concave in p, so for every l

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
from adjudge.validation import FloatArray, finite, open_unit, same_length

#: Sizes of l: large ones are sharp after few audits, small ones after many.
_SIZES = 4.0 * 0.5 ** np.arange(12)
_HALVINGS = 50


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
    wrong, k = (finite(v, n, allow_empty=True) for v, n in ((errors, "errors"), (audits, "audits")))
    same_length(errors=wrong, audits=k)
    if ((wrong < 0) | (wrong > k)).any():
        raise ArgumentError("errors", "more than audits", "give errors among the audits")
    most = math.log(2 / open_unit(delta, "delta"))
    return _low_end(wrong, k, most), 1 - _low_end(k - wrong, k, most)


def _low_end(errors: FloatArray, audits: FloatArray, most: float) -> FloatArray:
    """The smallest m at which the mixture over l > 0 is below e^most: it decreases in m."""
    low, high = np.zeros(len(errors)), np.ones(len(errors))
    gained = errors[:, None] * _SIZES
    rises = np.expm1(_SIZES)
    for _ in range(_HALVINGS):
        m = (low + high) / 2
        logs = gained - audits[:, None] * np.log1p(m[:, None] * rises)
        excluded = np.logaddexp.reduce(logs, axis=1) - math.log(len(_SIZES)) >= most
        low, high = np.where(excluded, m, low), np.where(excluded, high, m)
    return low
