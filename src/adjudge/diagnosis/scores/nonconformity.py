"""How far each score of the scale is from the judge's answer, and its quantile over documents.

The nonconformity of a score is its distance from the judge's score, the mass of the judge's own
probabilities that is nearer, or the same with probabilities P(human score | judge score) that are
learned from labels: smoothed counts over the ranks of the judge's scores (weighted mid-ranks in
[0, 1]), so that decimals, long scales and a separate scale of the judge need no bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.errors import ArgumentError
from adjudge.validation import BoolArray, FloatArray, IntArray, finite, one_of, refuse

TARGETS = ("mean", "rater")
#: Written probabilities are rounded; a larger distance from one is not a rounding error.
_SUM_SLACK = 0.02
#: Places are rounded to a hundredth.
_CELLS = 100
#: Standard deviation of the kernel over places: one tenth of the rows.
_NEAR = 0.05
#: Human scores within this share of the scale are neighbours; on short scales there are none.
_NEAR_SCORES = 0.05
#: The prior weight of the overall distribution at each place, in documents.
_PRIOR = 0.3
#: The prior weight of the uniform distribution in the overall one, in documents.
_UNIFORM = 0.1

# --- the target ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """Human scores of n rows as entries: row `row[e]` has `score[e]`, one of `raters[e]` scores.

    With the mean there is one entry per row; with a random rater one per rater, each with weight
    1/r of its row. Rows without a human score have no entry.
    """

    row: IntArray
    score: IntArray
    raters: IntArray

    def only(self, selected: BoolArray) -> Target:
        """The entries that are kept, of the same rows."""
        return Target(self.row[selected], self.score[selected], self.raters[selected])


def round_half_up(values: FloatArray) -> FloatArray:
    """The nearest integer, halves up (numpy rounds them to even).

    >>> round_half_up(np.array([2.5, 3.5, 1.6667]))
    array([3., 4., 2.])
    """
    return np.floor(values + 0.5)


def human_target(
    ratings: ArrayLike, *, target: str = "mean", scale: tuple[int, int] = (1, 5)
) -> Target:
    """Entries to calibrate on from one column of scores per rater, NaN if one is missing.

    `ratings` is one-dimensional (a score or a mean per row) or of shape (rows, raters). "mean" is
    the rounded mean of the raters, halves up; "rater" a rater drawn at random.

    >>> human_target([[2, 3], [4, 4]]).score
    array([3, 4])
    >>> human_target([[2, 3], [4, 4]], target="rater").score
    array([2, 3, 4, 4])
    """
    one_of(target, TARGETS, "target")
    matrix = np.asarray(ratings)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ArgumentError("ratings", f"shape {matrix.shape}", "give rows, or rows by raters")
    try:
        table = matrix.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("ratings", matrix.dtype, "give numbers, NaN if missing") from None
    scored = np.isfinite(table)
    raters = scored.sum(axis=1)
    if target == "mean":
        means = np.where(scored, table, 0.0).sum(axis=1) / np.maximum(raters, 1)
        row = np.flatnonzero(raters)
        score = round_half_up(means[row])
        spread = np.ones(len(row), dtype=np.int64)
    else:
        row, column = np.nonzero(scored)
        score = table[row, column]
        spread = raters[row].astype(np.int64)
        uneven = score != np.rint(score)
        if uneven.any():
            at = int(np.flatnonzero(uneven)[0])
            raise ArgumentError(
                f"ratings[{int(row[at])}]",
                float(score[at]),
                "a random rater gives integer scores; use target='mean' for averaged ones",
            )
    outside = (score < scale[0]) | (score > scale[1])
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        lowest = min(scale[0], math.floor(score.min()))
        highest = max(scale[1], math.ceil(score.max()))
        raise ArgumentError(
            f"human score of row {int(row[at]) + 1}",
            float(score[at]),
            f"the scale is {scale[0]} to {scale[1]}; give another, such as --scale "
            f"{lowest}-{highest} (scale=)",
        )
    return Target(row.astype(np.int64), score.astype(np.int64), spread)


# --- distances -------------------------------------------------------------------------------


def residuals(judge: ArrayLike, scale: tuple[int, int]) -> FloatArray:
    """|judge - y| for each row and each score y of the scale."""
    scores = finite(judge, "judge")
    outside = (scores < scale[0]) | (scores > scale[1])
    refuse(outside, scores, "judge", f"the scale is {scale[0]} to {scale[1]}")
    return np.abs(scores[:, None] - np.arange(scale[0], scale[1] + 1))


def ordinal_nonconformity(score_probs: ArrayLike) -> FloatArray:
    """For each row and score, the mass of the growing set before it includes that score.

    The set grows outward from the most likely score, which has 0, always to the more likely
    neighbour (the lower one if equal), so that {y : value <= q} is an interval for every q (Lu,
    Angelopoulos and Pomerantz 2022).

    >>> ordinal_nonconformity([[0.1, 0.5, 0.3, 0.1, 0.0]]).round(2)
    array([[0.8, 0. , 0.5, 0.9, 1. ]])
    """
    probs = probability_rows(score_probs)
    n, size = probs.shape
    rows = np.arange(n)
    values = np.zeros_like(probs)
    low = high = probs.argmax(axis=1)
    gathered = probs[rows, low].copy()
    for _ in range(size - 1):
        below = np.where(low > 0, probs[rows, np.maximum(low - 1, 0)], -1.0)
        above = np.where(high < size - 1, probs[rows, np.minimum(high + 1, size - 1)], -1.0)
        down = below >= above
        taken = np.where(down, low - 1, high + 1)
        values[rows, taken] = gathered
        gathered = gathered + probs[rows, taken]
        low = np.where(down, low - 1, low)
        high = np.where(down, high, high + 1)
    return values


def probability_rows(score_probs: ArrayLike) -> FloatArray:
    """Rows of probabilities over the scale, each with sum one (rescaled if slightly off)."""
    try:
        probs: NDArray[Any] = np.array(score_probs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            "score_probs", type(score_probs).__name__, "give one list of equal length per row"
        ) from None
    if probs.ndim != 2 or probs.shape[1] < 2:
        raise ArgumentError("score_probs", f"shape {probs.shape}", "give rows by scores")
    total = probs.sum(axis=1)
    bad = ~(np.isfinite(probs).all(axis=1) & (probs >= 0).all(axis=1))
    bad |= ~(np.abs(total - 1) <= _SUM_SLACK)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ArgumentError(
            f"score_probs[{at}]", probs[at].tolist(), "give probabilities that sum to one"
        )
    return np.asarray(probs / total[:, None], dtype=np.float64)


# --- the judge's scale -----------------------------------------------------------------------


@dataclass(frozen=True)
class JudgeScale:
    """P(human score) by the place of the judge's score, and which judge scores occurred.

    `reached[k]` is the share of the weight below `scores[k]`; `table` has a row for each place.
    """

    scores: FloatArray
    reached: FloatArray
    table: FloatArray

    def cells(self, judge: FloatArray) -> IntArray:
        """The row of the table for each judge score."""
        return _places(self.scores, self.reached, judge)


def learn_scale(
    judge: FloatArray, entries: Target, documents: IntArray, *, scale: tuple[int, int]
) -> JudgeScale:
    """Learn the scale from entries; each document has weight one, shared by its rows and raters.

    >>> entries = Target(np.arange(4), np.array([2, 2, 5, 5]), np.ones(4, dtype=int))
    >>> learned = learn_scale(np.array([1.0, 1, 9, 9]), entries, np.arange(4), scale=(1, 5))
    >>> learned.table[learned.cells(np.array([1.0, 9.0]))].argmax(axis=1) + 1
    array([2, 5])
    """
    spread = 1 / entries.raters
    _, document = np.unique(documents[entries.row], return_inverse=True)
    weights = spread / np.bincount(document, weights=spread)[document]
    judge_scores = judge[entries.row]
    scores, which = np.unique(judge_scores, return_inverse=True)
    total = max(1.0, float(weights.sum()))
    reached = np.append(0.0, np.cumsum(np.bincount(which, weights=weights)) / total)
    size = scale[1] - scale[0] + 1
    cell = _places(scores, reached, judge_scores) * size + entries.score - scale[0]
    counts = np.bincount(cell, weights=weights, minlength=(_CELLS + 1) * size)
    near_scores = _kernel(size, _NEAR_SCORES)
    counts = counts.reshape(-1, size) @ (near_scores / near_scores.sum(axis=1, keepdims=True))
    overall = counts.sum(axis=0) + _UNIFORM / size
    smooth = _kernel(_CELLS + 1, _NEAR) @ counts
    smooth += _PRIOR * overall / overall.sum()
    return JudgeScale(scores, reached, smooth / smooth.sum(axis=1, keepdims=True))


def _places(scores: FloatArray, reached: FloatArray, judge: FloatArray) -> IntArray:
    """A score's place is the middle of its ranks; a new score lies between its two neighbours."""
    below = np.searchsorted(scores, judge, "left")
    up_to = np.searchsorted(scores, judge, "right")
    return np.rint(_CELLS * (reached[below] + reached[up_to]) / 2).astype(np.int64)


@cache
def _kernel(size: int, near: float) -> FloatArray:
    """Kernel weights between `size` places on [0, 1]."""
    places = np.linspace(0, 1, size)
    return np.asarray(np.exp(-0.5 * ((places[:, None] - places[None, :]) / near) ** 2))


# --- quantiles -------------------------------------------------------------------------------


def fewest_documents(alpha: Fraction) -> int:
    """D documents of weight 1/(D + 1) reach 1 - alpha only if D >= (1 - alpha)/alpha.

    >>> fewest_documents(Fraction(1, 10)), fewest_documents(Fraction(1, 20))
    (9, 19)
    """
    return math.ceil((1 - alpha) / alpha)


def document_quantiles(
    scores: FloatArray,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    raters: IntArray | None = None,
) -> tuple[float | None, ...]:
    """Smallest q at which documents, each of weight 1/(D + 1), reach 1 - alpha; None if none does.

    A document's weight is shared equally by its rows, a row's by its entries, of which it has one
    for each of its `raters`. The remaining 1/(D + 1) is at infinity, for the new document. A random
    row of a new exchangeable document is then covered with probability at least 1 - alpha, however
    similar the rows of a document are. Weights are integers over one common denominator, so that a
    boundary is met exactly.

    >>> like_rows = np.array([0., 0., 0., 2., 2., 2.])
    >>> document_quantiles(like_rows, np.array([0, 0, 0, 1, 1, 1]), [Fraction(1, 2)])
    (2.0,)
    >>> document_quantiles(like_rows, np.array([0, 0, 0, 1, 1, 1]), [Fraction(1, 10)])
    (None,)
    """
    spread = np.ones(len(scores), dtype=np.int64) if raters is None else raters
    # A row of r raters has r entries, so counting 1/r for each entry counts rows.
    names, index = np.unique(documents, return_inverse=True)
    rows = np.rint(np.bincount(index, weights=1 / spread)).astype(np.int64)
    shares = rows[index] * spread
    sizes, size = np.unique(shares, return_inverse=True)
    whole = math.lcm(*sizes.tolist())
    total = len(names) * whole
    # Above 64 bits numpy adds Python integers, slowly and exactly.
    kind = np.dtype(np.int64) if total < 2**62 else np.dtype(object)
    weights: NDArray[Any] = np.array([whole // share for share in sizes.tolist()], dtype=kind)
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[size][order])

    def quantile(alpha: Fraction) -> float | None:
        needed = math.ceil((1 - alpha) * (len(names) + 1) * whole)
        if needed > total:
            return None
        return float(scores[order[int(np.searchsorted(reached, needed, side="left"))]])

    return tuple(map(quantile, alphas))
