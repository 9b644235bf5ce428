"""Heuristic thresholding: believe a judge that says it is 1 - alpha sure. A baseline."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import BoolArray, exact_level, probabilities


def heuristic_accept(confidence: ArrayLike, *, alpha: float | Fraction) -> BoolArray:
    """confidence >= 1 - alpha, where confidence is max(p, 1 - p).

    Promises nothing: it is as good as the judge's own calibration, and judges are over-confident.
    It needs no labels, and it is the one rule here that changes under a monotone transform of
    the score. The paper runs it on the single-order probability.

    >>> heuristic_accept([0.95, 0.9, 0.7], alpha=0.1)
    array([ True,  True, False])
    """
    level = exact_level(alpha)
    sure = probabilities(confidence, "confidence", allow_empty=True)
    return np.asarray(sure >= float(1 - level))
