"""Spearman's rank correlation: its value, an interval over documents, the usual p-value."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr

from adjudge.diagnosis._intervals import Interval, recode
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import FloatArray, IntArray


def spearman(x: FloatArray | IntArray, y: FloatArray | IntArray) -> float | None:
    """Spearman's rank correlation, with mean ranks for ties; None if one side is constant.

    >>> spearman(np.array([1, 2, 3]), np.array([10, 20, 30])), spearman(np.ones(3), np.arange(3))
    (1.0, None)
    """
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    from scipy.stats import rankdata

    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    value = float((a @ b) / np.sqrt((a @ a) * (b @ b)))
    return min(1.0, max(-1.0, value))


def spearman_interval(
    x: FloatArray | IntArray, y: FloatArray | IntArray, clusters: IntArray
) -> Interval:
    """95 % t interval from leaving out one cluster at a time.

    None if the correlation is undefined without some cluster, or if there are fewer than three.
    """
    codes, groups = recode(clusters)
    whole = spearman(x, y)
    if whole is None or groups < 3:
        return None, None
    kept = (codes != left_out for left_out in range(groups))
    values = [spearman(x[rows], y[rows]) for rows in kept]
    known = np.array([value for value in values if value is not None])
    if len(known) < groups:
        return None, None
    spread = known - known.mean()
    se = math.sqrt((groups - 1) / groups * float(spread @ spread))
    reach = student_quantile(0.95, groups - 1) * se
    return max(-1.0, whole - reach), min(1.0, whole + reach)


def spearman_p(value: float | None, n: int) -> float | None:
    """Two-sided p-value of a rank correlation of n independent rows, by Student's t.

    >>> round(spearman_p(0.22, 120), 3), spearman_p(1.0, 10)
    (0.016, 0.0)
    """
    if value is None or n < 3:
        return None
    if abs(value) >= 1:
        return 0.0
    t = abs(value) * math.sqrt((n - 2) / (1 - value**2))
    return float(2 * stdtr(n - 2, -t))
