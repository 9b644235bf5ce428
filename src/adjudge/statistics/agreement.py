"""Agreement of two raters or orders: Cohen's kappa and Spearman's rank correlation."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import stdtr

from adjudge.statistics.clusters import recode
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import FloatArray, IntArray, same_length

# --- Cohen's kappa ---------------------------------------------------------------------------


def kappa_of_tables(tables: FloatArray, *, points: FloatArray | None = None) -> FloatArray:
    """Cohen's kappa of each table (rows: labels of one rater, columns: labels of the other).

        kappa = 1 - observed / expected disagreement

    Without `points` every disagreement has the same weight, and this is (p_o - p_e)/(1 - p_e).
    `points` are the values on a scale; then the weight is the squared distance (quadratic weights).
    NaN if chance alone makes both always agree. Tables can have fractions of a row. `tables` is a
    stack of them, so that leaving out one cluster at a time is one call.

    >>> kappa_of_tables(np.array([[[2.0, 0.0], [1.0, 1.0]]])).tolist()
    [0.5]
    """
    size = tables.shape[1]
    distance = 1 - np.eye(size)
    if points is not None:
        distance = (points[:, None] - points[None, :]) ** 2
    total = tables.sum(axis=(1, 2))
    chance = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (chance * distance).sum(axis=(1, 2)) / total**2
        observed = (tables * distance).sum(axis=(1, 2)) / total
        return np.asarray(1 - observed / np.where(expected > 1e-12, expected, np.nan))


def cohen_kappa(one: ArrayLike, other: ArrayLike) -> float | None:
    """Cohen's kappa of two numbers per row, over rows that have both (NaN is missing).

    Every value is a separate category: outcomes are 1, 0 and, for a tie, one half, as in Table 1
    of the Soft-Elo paper. None if both always give the same single value, or no row has both.

    >>> cohen_kappa([1, 0, 1, 0.5, np.nan], [1, 0, 0, 0.5, 1])
    0.636...
    """
    first = np.asarray(one, dtype=np.float64)
    second = np.asarray(other, dtype=np.float64)
    same_length(one=first, other=second)
    rated = np.isfinite(first) & np.isfinite(second)
    if not rated.any():
        return None
    both = np.stack([first[rated], second[rated]])
    values = pl.Series(both.ravel()).unique().sort().to_numpy()
    x, y = np.searchsorted(values, both)
    size = len(values)
    table = np.bincount(x * size + y, minlength=size * size).reshape(1, size, size)
    kappa = float(kappa_of_tables(table.astype(np.float64))[0])
    return kappa if np.isfinite(kappa) else None


# --- Spearman's rank correlation -------------------------------------------------------------


def spearman(x: FloatArray | IntArray, y: FloatArray | IntArray) -> float | None:
    """Spearman's rank correlation, with mean ranks for ties; None if one side is constant.

    >>> spearman(np.array([1, 2, 3]), np.array([10, 20, 30])), spearman(np.ones(3), np.arange(3))
    (1.0, None)
    """
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    from scipy.stats import rankdata

    a = rankdata(x)
    a = a - a.mean()
    b = rankdata(y)
    b = b - b.mean()
    value = float((a @ b) / np.sqrt((a @ a) * (b @ b)))
    return min(1.0, max(-1.0, value))


def spearman_interval(
    x: FloatArray | IntArray, y: FloatArray | IntArray, clusters: IntArray
) -> tuple[float | None, float | None]:
    """95 % t interval from leaving out one cluster at a time.

    None if the correlation is undefined without some cluster, or if there are fewer than three.
    """
    codes, groups = recode(clusters)
    whole = spearman(x, y)
    if whole is None or groups < 3:
        return None, None
    among = (codes != left_out for left_out in range(groups))
    values = [spearman(x[rows], y[rows]) for rows in among]
    defined = np.array([value for value in values if value is not None])
    if len(defined) < groups:
        return None, None
    spread = defined - defined.mean()
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
