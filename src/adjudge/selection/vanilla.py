"""Vanilla: accept every verdict. The baseline that everybody runs without naming it."""

from __future__ import annotations

from fractions import Fraction

from numpy.typing import ArrayLike

from adjudge._validation import exact_level, paired
from adjudge.results.selection import Threshold
from adjudge.selection._rule import threshold_at
from adjudge.selection.blocks import sort_scores


def vanilla_threshold(
    scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction
) -> Threshold:
    """Accept all; `alpha` is only what the risk will be compared with.

    >>> vanilla_threshold([0.1, 0.6], [0, 1], alpha=0.1).empirical_risk
    0.5
    """
    level = exact_level(alpha)
    ordered = sort_scores(*paired(scores, errors))
    return threshold_at(ordered, len(ordered.scores), method="vanilla", alpha=level)
