"""Rank correlations of set widths: with the judge's error, and between judges."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from adjudge._validation import FloatArray, IntArray
from adjudge.diagnosis._intervals import Interval, jackknife_interval, recode


def spearman(x: FloatArray | IntArray, y: FloatArray | IntArray) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None when one side is constant.

    >>> spearman(np.array([1, 2, 3]), np.array([10, 20, 30])), spearman(np.ones(3), np.arange(3))
    (1.0, None)
    """
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    value = float((a @ b) / np.sqrt((a @ a) * (b @ b)))
    return min(1.0, max(-1.0, value))


def width_agreement(
    first: IntArray, second: IntArray, documents: IntArray, confidence_level: float
) -> tuple[float | None, Interval]:
    """Spearman of two judges' widths on the same rows, with an interval over documents.

    Widths take a handful of values, so the correlation is a function of a small table that adds
    up over documents, and leaving one out is a subtraction.
    """
    value = spearman(first, second)
    if value is None:
        return None, (None, None)
    codes, groups = recode(documents)
    size = int(max(first.max(), second.max())) + 1
    cell = (codes * size + first) * size + second
    tables = np.bincount(cell, minlength=groups * size * size).reshape(groups, size, size)
    interval = jackknife_interval(
        _table_spearman, tables.astype(np.float64), confidence_level, bounds=(-1.0, 1.0)
    )
    return value, interval


def _table_spearman(tables: FloatArray) -> FloatArray:
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = rows.sum(axis=1)
    a = np.cumsum(rows, axis=1) - rows / 2 - total[:, None] / 2
    b = np.cumsum(columns, axis=1) - columns / 2 - total[:, None] / 2
    both = np.einsum("bij,bi,bj->b", tables, a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(both / np.sqrt((rows * a**2).sum(axis=1) * (columns * b**2).sum(axis=1)))
