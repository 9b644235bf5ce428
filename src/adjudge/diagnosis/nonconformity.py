"""The nonconformity of each score of the scale with the judge's answer on a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray, finite

#: Written probabilities are rounded; a larger distance from one is not a rounding error.
_SUM_SLACK = 0.02


def residuals(judge: ArrayLike, scale: tuple[int, int]) -> FloatArray:
    """|judge - y| for each row and each score y of the scale."""
    scores = finite(judge, "judge")
    outside = (scores < scale[0]) | (scores > scale[1])
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise ArgumentError(
            f"judge[{at}]", float(scores[at]), f"the scale is {scale[0]} to {scale[1]}"
        )
    return np.abs(scores[:, None] - np.arange(scale[0], scale[1] + 1))


def ordinal_nonconformity(score_probs: ArrayLike) -> FloatArray:
    """For each row and score, the mass of the growing set before it includes that score.

    The most likely score has 0, so no set is empty. {y : value <= q} is an interval for every q.
    The set grows outward from the most likely score, always to the more likely neighbour (the lower
    one if equal), so that it is wide exactly where the judge is unsure (Lu, Angelopoulos and
    Pomerantz 2022). After conformal calibration the probabilities themselves need not be right.

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
        low, high = np.where(down, low - 1, low), np.where(down, high, high + 1)
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
