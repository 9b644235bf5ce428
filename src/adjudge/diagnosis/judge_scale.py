"""The distribution of human scores given the judge's score: P(human score | judge score).

Smoothed counts. Judge scores are replaced by their places among the judge's own scores (weighted
mid-ranks in [0, 1]), so that decimals, long scales and a separate scale of the judge need no
choice of bins. A new score lies between its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from adjudge.diagnosis.targets import Target
from adjudge.validation import FloatArray, IntArray

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
        return _cells(self.scores, self.reached, judge)


def learn_scale(
    judge: FloatArray, entries: Target, documents: IntArray, *, scale: tuple[int, int]
) -> JudgeScale:
    """Learn the scale from entries; each document has weight one, shared by its rows and raters.

    >>> entries = Target(np.arange(4), np.array([2, 2, 5, 5]), np.ones(4, dtype=int))
    >>> learned = learn_scale(np.array([1.0, 1, 9, 9]), entries, np.arange(4), scale=(1, 5))
    >>> learned.table[learned.cells(np.array([1.0, 9.0]))].argmax(axis=1) + 1
    array([2, 5])
    """
    weights, given = _weights(entries, documents), judge[entries.row]
    scores, which = np.unique(given, return_inverse=True)
    total = max(1.0, float(weights.sum()))
    reached = np.append(0.0, np.cumsum(np.bincount(which, weights=weights)) / total)
    size = scale[1] - scale[0] + 1
    cell = _cells(scores, reached, given) * size + entries.score - scale[0]
    counts = np.bincount(cell, weights=weights, minlength=(_CELLS + 1) * size)
    near_scores = _kernel(size, _NEAR_SCORES)
    counts = counts.reshape(-1, size) @ (near_scores / near_scores.sum(axis=1, keepdims=True))
    overall = counts.sum(axis=0) + _UNIFORM / size
    smooth = _kernel(_CELLS + 1, _NEAR) @ counts
    smooth += _PRIOR * overall / overall.sum()
    return JudgeScale(scores, reached, smooth / smooth.sum(axis=1, keepdims=True))


def _cells(scores: FloatArray, reached: FloatArray, judge: FloatArray) -> IntArray:
    """A score's place is the middle of its ranks; a new score lies between its two neighbours."""
    below, up_to = np.searchsorted(scores, judge, "left"), np.searchsorted(scores, judge, "right")
    return np.rint(_CELLS * (reached[below] + reached[up_to]) / 2).astype(np.int64)


def _weights(entries: Target, documents: IntArray) -> FloatArray:
    spread = 1 / entries.raters
    _, index = np.unique(documents[entries.row], return_inverse=True)
    rows = np.bincount(index, weights=spread)
    return np.asarray(spread / rows[index], dtype=np.float64)


@cache
def _kernel(size: int, near: float) -> FloatArray:
    """Kernel weights between `size` places on [0, 1]."""
    places = np.linspace(0, 1, size)
    return np.asarray(np.exp(-0.5 * ((places[:, None] - places[None, :]) / near) ** 2))
