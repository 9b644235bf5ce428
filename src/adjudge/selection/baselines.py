"""Baselines of `evaluate`, without a guarantee: accept all, trust the judge, fit the labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.results.rules import Threshold
from adjudge.selection.split_counts import Levels, Method, SplitCounts, SplitOutcome
from adjudge.selection.thresholds import sort_scores, threshold_at
from adjudge.validation import BoolArray, exact_level, probabilities


def vanilla_threshold(
    scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction
) -> Threshold:
    """Accept all. `alpha` is only kept for comparison with the risk.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        alpha: Error level allowed among accepted verdicts.

    >>> vanilla_threshold([0.1, 0.6], [0, 1], alpha=0.1).empirical_risk
    0.5
    """
    level = exact_level(alpha)
    ordered = sort_scores(scores, errors)
    return threshold_at(ordered, len(ordered.scores), method="vanilla", alpha=level)


def heuristic_accept(confidence: ArrayLike, *, alpha: float | Fraction) -> BoolArray:
    """Accept if confidence >= 1 - alpha, where confidence is max(p, 1 - p).

    This rule is only as good as the judge's own calibration, and judges are overconfident. It needs
    no labels. It is the only rule here that changes under a monotone transform of the score. The
    SCOPE paper runs it on the single-order probability.

    Args:
        confidence: Confidence of each verdict, max(p, 1 - p).
        alpha: Error level allowed among accepted verdicts.

    >>> heuristic_accept([0.95, 0.9, 0.7], alpha=0.1)
    array([ True,  True, False])
    """
    level = exact_level(alpha)
    sure = probabilities(confidence, "confidence", allow_empty=True)
    return np.asarray(sure >= float(1 - level))


def naive_threshold(scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction) -> Threshold:
    """The largest observed score with E <= alpha k, without a correction for having looked.

    The threshold is the luckiest one of the calibration set, so the error share of new rows is
    higher. The SCOPE paper runs this rule on the single-order probability.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        alpha: Error level allowed among accepted verdicts.

    >>> naive_threshold([0.1] * 9 + [0.6], [0] * 9 + [1], alpha=0.1).accepts
    'all'
    """
    level = exact_level(alpha)
    ordered = sort_scores(scores, errors)
    return threshold_at(ordered, ordered.loosest(level, extra=0), method="naive", alpha=level)


class Vanilla(Method):
    """Accept every verdict."""

    name, baseline = "vanilla", True

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        last = len(splits.table.before) - 1
        return splits.before_cut(np.full(len(splits), last))


class Heuristic(Method):
    """Accept every verdict whose stated confidence is at least 1 - alpha."""

    name, baseline, needs_confidence = "heuristic", True, True

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        if splits.table.confidence is None:
            raise ArgumentError("confidence", None, "heuristic needs it: give it")
        return splits.as_sure_as(float(1 - levels.alpha))


class Naive(Method):
    """The largest threshold whose error share on the labels is at most alpha."""

    name, baseline = "naive", True

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.below_threshold(splits.last_cut(levels.alpha))


BASELINES: tuple[Method, ...] = (Vanilla(), Heuristic(), Naive())
