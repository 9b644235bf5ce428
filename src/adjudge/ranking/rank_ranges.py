"""Ranks, and which ranks a model can have: all models at once, by max-|t| of their differences."""

from __future__ import annotations

import numpy as np

from adjudge._stats import normal_quantile
from adjudge._validation import FloatArray, IntArray, open_unit


def rank_ranges(
    strength: FloatArray,
    replicates: FloatArray,
    *,
    confidence_level: float = 0.95,
    least_se: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model, simultaneously right with `confidence_level`.

    i is surely better than j when theta_i - theta_j > c SE_ij, where c is the quantile of
    max_ij |difference in the replicate - difference| / SE_ij. Best rank = 1 + how many are surely
    better, worst = n - how many are surely worse. Valid as the number of battles grows; ranks of
    models that met only through weak links are wide, as they should be.

    `least_se` bounds SE_ij from below where resampling cannot see the uncertainty (a clean sweep is
    a clean sweep in every resample).

    >>> drawn = np.array([3.0, 0.0, 0.0]) + np.random.default_rng(0).normal(0, 0.1, (400, 3))
    >>> [r.tolist() for r in rank_ranges(np.array([3.0, 0.05, 0.0]), drawn)]
    [[1, 2, 2], [1, 3, 3]]
    """
    level = open_unit(confidence_level, "confidence_level")
    n = len(strength)
    if n == 1:
        return np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    i, j = np.triu_indices(n, 1)
    gap = strength[i] - strength[j]
    spread = np.empty(len(gap))
    largest = np.zeros(len(replicates))
    # Two passes over blocks of pairs, so that 500 replicates of 10,000 pairs fit in little memory.
    block = max(1, (1 << 21) // max(1, len(replicates)))
    for first in range(0, len(gap), block):
        part = slice(first, first + block)
        drawn = replicates[:, i[part]] - replicates[:, j[part]]
        se = drawn.std(axis=0, ddof=1)
        if least_se is not None:
            se = np.maximum(se, least_se[i[part], j[part]])
        spread[part] = se
        away = np.abs(drawn - gap[part])
        t = np.divide(away, se, out=np.zeros_like(away), where=se > 0)
        np.maximum(largest, t.max(axis=1), out=largest)
    # Never below one pair's own normal quantile, which raised standard errors would allow.
    critical = max(float(np.quantile(largest, level, method="higher")), normal_quantile(level))
    surely = np.abs(gap) > critical * spread
    better = np.zeros(n, dtype=np.int64)
    worse = np.zeros(n, dtype=np.int64)
    up, down = np.where(gap > 0, i, j), np.where(gap > 0, j, i)
    np.add.at(better, down[surely], 1)
    np.add.at(worse, up[surely], 1)
    return 1 + better, n - worse


def ranks(strength: FloatArray) -> IntArray:
    """1 for the largest; equal strengths share the better rank.

    >>> ranks(np.array([1.0, 3.0, 3.0, 0.0])).tolist()
    [3, 1, 1, 4]
    """
    ordered = np.sort(-strength)
    return np.searchsorted(ordered, -strength, side="left").astype(np.int64) + 1


def component_ranks(strength: FloatArray, component: IntArray) -> IntArray:
    """Ranks within each component."""
    rank = np.zeros(len(strength), dtype=np.int64)
    for number in np.unique(component):
        inside = component == number
        # Strengths equal by symmetry differ in the last bits.
        rank[inside] = ranks(np.round(strength[inside], 9))
    return rank


def component_ranges(
    theta: FloatArray,
    replicates: FloatArray,
    component: IntArray,
    *,
    confidence_level: float,
    least_se: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model within its component (see `rank_ranges`)."""
    best, worst = np.ones_like(component), np.ones_like(component)
    for number in np.unique(component):
        inside = np.flatnonzero(component == number)
        best[inside], worst[inside] = rank_ranges(
            theta[inside],
            replicates[:, inside],
            confidence_level=confidence_level,
            least_se=None if least_se is None else least_se[np.ix_(inside, inside)],
        )
    return best, worst
