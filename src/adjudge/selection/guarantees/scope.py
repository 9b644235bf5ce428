"""SCOPE: the loosest threshold that keeps the calibration budget (paper, Eq. 5 and 6)."""

from __future__ import annotations

import math
from fractions import Fraction

from numpy.typing import ArrayLike

from adjudge.policy.result import Rule
from adjudge.present.text import level
from adjudge.selection.guarantees import Guarantee, Labels
from adjudge.selection.split_counts import Levels, SplitCounts, SplitOutcome
from adjudge.selection.thresholds import Threshold, sort_scores, threshold_at
from adjudge.validation import exact_level


def scope_threshold(scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction) -> Threshold:
    """The largest observed score lambda with

        sum over s_i <= lambda of (e_i - alpha) <= -1          (Eq. 5; Eq. 6 takes the largest)

    that is E + 1 <= alpha k for E errors among k accepted rows. If the largest score passes, every
    verdict is accepted; if no score passes, no verdict is accepted.

    Limits: over repeated calibration sets the mean share of errors among the accepted stayed at or
    below alpha in every simulation tried. The paper's Theorem 2.1 bounds the ratio E[errors] /
    E[accepted]. That does not follow, because the threshold depends on the calibration rows alone:
    with an uninformative score and an error rate of 0.12, every rule that ever accepts has ratio
    0.12. A mean is also not a promise about your threshold: its true error rate can be above alpha
    for nearly half of all calibration sets. `pac_threshold` makes that promise; `fdr_select` bounds
    the expected share in a batch.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        alpha: Error level allowed among accepted verdicts.

    >>> rule = scope_threshold([0.1] * 30 + [0.6] * 5, [0] * 30 + [1] * 5, alpha=0.1)
    >>> rule.threshold, rule.n_accepted
    (0.1, 30)
    >>> scope_threshold([0.1] * 9, [0] * 9, alpha=0.1).accepts
    'none'
    >>> scope_threshold([0.1] * 10, [0] * 10, alpha=0.1).accepts
    'all'
    """
    level = exact_level(alpha)
    ordered = sort_scores(scores, errors)
    return threshold_at(ordered, ordered.loosest(level, extra=1), method="scope", alpha=level)


class Scope(Guarantee):
    """The SCOPE paper's rule: one threshold, and a mean share over calibration sets."""

    name = "scope"
    summary = "an average over calibration sets"

    def decide(self, labels: Labels, levels: Levels) -> Rule:
        return scope_threshold(labels.scores, labels.errors, alpha=levels.alpha).rule

    def fewest_labels(self, levels: Levels) -> int:
        return math.ceil(1 / levels.alpha)

    def promise(self, levels: Levels) -> str:
        return (
            f"averaged over calibration sets, at most {level(float(levels.alpha))} of the accepted "
            "verdicts are wrong (seen in every simulation tried; the published proof does not show "
            "it)"
        )

    def not_promised(self, levels: Levels) -> str:
        return (
            "that this one threshold keeps it: its true error rate can be above for nearly half "
            "of all calibration sets; nor that the ratio of expected errors to expected "
            "acceptances is bounded, although the paper's Theorem 2.1 states it"
        )

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.below_threshold(splits.last_cut(levels.alpha, extra=1))


SCOPE = Scope()
