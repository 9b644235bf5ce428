"""Chance-corrected agreement of two raters: Cohen's kappa for judges, raters and leaderboards."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.validation import FloatArray, same_length


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
    first, second = (np.asarray(values, dtype=np.float64) for values in (one, other))
    same_length(one=first, other=second)
    known = np.isfinite(first) & np.isfinite(second)
    if not known.any():
        return None
    both = np.stack([first[known], second[known]])
    values = pl.Series(both.ravel()).unique().sort().to_numpy()
    x, y = np.searchsorted(values, both)
    size = len(values)
    table = np.bincount(x * size + y, minlength=size * size).reshape(1, size, size)
    kappa = float(kappa_of_tables(table.astype(np.float64))[0])
    return kappa if np.isfinite(kappa) else None
