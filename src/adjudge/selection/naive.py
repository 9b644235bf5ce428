"""Naive calibration: the loosest threshold whose empirical risk is at most alpha. A baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import exact_level, paired
from adjudge.results.selection import Threshold
from adjudge.selection._rule import threshold_at
from adjudge.selection.blocks import sort_scores
from adjudge.selection.exact import at_most


def naive_threshold(scores: ArrayLike, errors: ArrayLike, *, alpha: float) -> Threshold:
    """The largest observed score with E <= alpha k: no correction for having looked.

    Promises nothing: it picks the luckiest threshold of the calibration set, so new rows do worse
    than the calibration rows did. The paper runs it on the single-order probability.

    >>> naive_threshold([0.1] * 9 + [0.6], [0] * 9 + [1], alpha=0.1).accepts
    'all'
    """
    level = exact_level(alpha)
    ordered = sort_scores(*paired(scores, errors))
    rows, wrong = ordered.before_errors()
    passing = rows[at_most(wrong, rows, level)]
    return threshold_at(ordered, int(np.max(passing, initial=0)), method="naive", alpha=level)
