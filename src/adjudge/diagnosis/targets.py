"""The target of the judge's score: the rounded mean of the raters, or one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.validation import BoolArray, FloatArray, IntArray, one_of

TARGETS = ("mean", "rater")


@dataclass(frozen=True)
class Target:
    """Human scores of n rows as entries: row `row[e]` has `score[e]`, one of `raters[e]` scores.

    With the mean there is one entry per row; with a random rater one per rater, each with weight
    1/r of its row. Rows without a human score have no entry.
    """

    row: IntArray
    score: IntArray
    raters: IntArray

    def only(self, kept: BoolArray) -> Target:
        """The entries that are kept, of the same rows."""
        return Target(self.row[kept], self.score[kept], self.raters[kept])


def round_half_up(values: FloatArray) -> FloatArray:
    """The nearest integer, halves up.

    numpy rounds halves to even: 2.5 would become 2.

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
    given = np.asarray(ratings)
    if given.ndim == 1:
        given = given[:, None]
    if given.ndim != 2:
        raise ArgumentError("ratings", f"shape {given.shape}", "give rows, or rows by raters")
    try:
        table = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("ratings", given.dtype, "give numbers, NaN if missing") from None
    seen = np.isfinite(table)
    raters = seen.sum(axis=1)
    if target == "mean":
        with np.errstate(invalid="ignore"):
            means = np.where(seen, table, 0.0).sum(axis=1) / np.maximum(raters, 1)
        row = np.flatnonzero(raters)
        score, spread = round_half_up(means[row]), np.ones(len(row), dtype=np.int64)
    else:
        row, column = np.nonzero(seen)
        score, spread = table[row, column], raters[row].astype(np.int64)
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
        raise ArgumentError(
            f"human score of row {int(row[at]) + 1}",
            float(score[at]),
            f"the scale is {scale[0]} to {scale[1]}; give another scale",
        )
    return Target(row.astype(np.int64), score.astype(np.int64), spread)
