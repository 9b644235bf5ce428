"""Covariate shift: Weighted Conformalized Selection, for fdr alone (Jin and Candes 2023)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import (
    BoolArray,
    FloatArray,
    exact_level,
    finite,
    paired,
    same_length,
)
from adjudge.errors import ArgumentError
from adjudge.results.selection import BatchSelection

#: Cells of the table (row left out x row tested) that are held at once.
_CELLS = 4_000_000


def weighted_fdr_select(
    scores: ArrayLike,
    errors: ArrayLike,
    weights: ArrayLike,
    new_scores: ArrayLike,
    new_weights: ArrayLike,
    *,
    alpha: float | Fraction,
) -> BatchSelection:
    """fdr when new rows come from another distribution of pairs, known up to weights w.

    w(x) is the density of the new rows over that of the calibration rows; it may not be learned
    from these labels. With

        p_j = (sum_i w_i 1{e_i = 1, s_i <= t_j} + w_j) / (sum_i w_i + w_j)

    plain Benjamini-Hochberg is no longer safe, because p-values with unequal weights are not
    positively dependent. So each row j is judged by how many rows would be rejected if j's own
    p-value were 0 and j stood among the calibration errors; rows that pass are pruned to a set
    that agrees on its own size (deterministic pruning: no coin is tossed).

    Where the guarantee stops: weights that are right. P(wrong | row) must be the same before and
    after; only which rows occur may change. `effective_size` = (sum w)^2 / sum w^2 says how many
    unweighted rows the calibration set is worth; a small one accepts little.

    >>> chosen = weighted_fdr_select([0.1] * 40, [0] * 40, [1] * 40, [0.1, 0.1], [1, 1], alpha=0.1)
    >>> chosen.accepted.tolist(), chosen.effective_size
    ([True, True], 40.0)
    """
    level = exact_level(alpha)
    s, e = paired(scores, errors)
    t = finite(new_scores, "new_scores", allow_empty=True)
    w, v = _positive(weights, "weights"), _positive(new_weights, "new_weights")
    same_length(scores=s, weights=w)
    same_length(new_scores=t, new_weights=v)
    wrong = np.flatnonzero(e == 1)
    wrong = wrong[np.argsort(s[wrong], kind="stable")]
    below = np.concatenate(([0.0], np.cumsum(w[wrong])))
    mass = below[np.searchsorted(s[wrong], t, side="right")]
    total = float(w.sum())
    support = _rejections_without(t, mass, v, total, level)
    # p_j <= alpha R_j / m multiplied out, so that whole-number weights are compared exactly.
    passed = (mass + v) * (len(t) * level.denominator) <= support * (total + v) * level.numerator
    accepted = _prune(passed, support)
    return BatchSelection(
        method="fdr",
        alpha=float(level),
        n_calibration=len(s),
        n_errors=len(wrong),
        n=len(t),
        n_accepted=int(accepted.sum()),
        effective_size=effective_size(w),
        p_values=(mass + v) / (total + v),
        accepted=accepted,
    )


def effective_size(weights: FloatArray) -> float:
    """(sum w)^2 / sum w^2: the number of equal weights that would know as much.

    >>> effective_size(np.array([1.0, 1.0, 2.0])).__round__(3)
    2.667
    """
    top = float(weights.max())
    scaled = weights / top
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def _rejections_without(
    t: FloatArray, mass: FloatArray, v: FloatArray, total: float, alpha: Fraction
) -> FloatArray:
    """For each row j: how many rows Benjamini-Hochberg rejects when j's p-value is set to 0.

    The others' p-values then count j as a calibration error:
    p_l = (mass_l + v_j 1{t_j <= t_l}) / (total + v_j), which grows with t_l, so that the order of
    the scores is the order of the p-values for every j at once.
    """
    m = len(t)
    order = np.argsort(t, kind="stable")
    ts, masses = t[order], mass[order]
    support = np.zeros(m)
    chunk = max(1, _CELLS // max(m, 1))
    position = np.arange(1, m + 1)
    for start in range(0, m, chunk):
        rows = order[start : start + chunk]
        own = np.arange(start, start + len(rows))
        above = masses[None, :] + v[rows, None] * (t[rows, None] <= ts[None, :])
        unit = (total + v[rows, None]) * alpha.numerator
        # Row j itself moves to the front with p = 0: those before it move back by one place.
        place = position[None, :] + (np.arange(m)[None, :] < own[:, None])
        passes = above * (m * alpha.denominator) <= place * unit
        passes[np.arange(len(rows)), own] = False
        last = m - np.argmax(passes[:, ::-1], axis=1)
        found = np.where(passes.any(axis=1), last, 0)
        # 1-based place of the last rejected row; j alone counts where no other passes.
        shifted = np.where(found > 0, found + (found - 1 < own), 0)
        support[rows] = np.maximum(shifted, 1)
    return support


def _prune(passed: BoolArray, support: FloatArray) -> BoolArray:
    """The largest r such that at least r passed rows have a support of at most r."""
    sizes = np.sort(support[passed])
    counts = np.searchsorted(sizes, sizes, side="right")
    # An r between two supports keeps the same rows as the support below it: those suffice.
    largest = np.max(sizes[counts >= sizes], initial=0.0)
    return np.asarray(passed & (support <= largest))


def _positive(values: ArrayLike, name: str) -> FloatArray:
    checked = finite(values, name, allow_empty=name == "new_weights")
    bad = np.flatnonzero(checked <= 0)
    if len(bad):
        at = int(bad[0])
        raise ArgumentError(f"{name}[{at}]", float(checked[at]), "give weights above 0")
    return checked
