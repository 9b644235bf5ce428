"""Naive calibration: the loosest threshold whose empirical risk is at most alpha. A baseline."""

from __future__ import annotations

from fractions import Fraction

from numpy.typing import ArrayLike

from adjudge._validation import exact_level, paired
from adjudge.results.selection import Threshold
from adjudge.selection._rule import threshold_at
from adjudge.selection.blocks import sort_scores


def naive_threshold(scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction) -> Threshold:
    """The largest observed score with E <= alpha k: no correction for having looked.

    Promises nothing: it picks the luckiest threshold of the calibration set, so new rows do worse
    than the calibration rows did. The paper runs it on the single-order probability.

    >>> naive_threshold([0.1] * 9 + [0.6], [0] * 9 + [1], alpha=0.1).accepts
    'all'
    """
    level = exact_level(alpha)
    ordered = sort_scores(*paired(scores, errors))
    return threshold_at(ordered, ordered.loosest(level, extra=0), method="naive", alpha=level)
