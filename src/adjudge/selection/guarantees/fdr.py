"""FDR: conformal p-values and Benjamini-Hochberg over the batch of new rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.policy.result import Rule
from adjudge.present.text import level
from adjudge.selection.guarantees import Guarantee, Labels
from adjudge.selection.thresholds import (
    BatchSelection,
    Levels,
    SplitCounts,
    SplitOutcome,
    within_ratio,
)
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    exact_level,
    finite,
    paired,
    same_length,
)

#: Cells of the table (row left out x row tested) that are in memory together.
_CELLS = 4_000_000


def fdr_select(
    scores: ArrayLike, errors: ArrayLike, new_scores: ArrayLike, *, alpha: float | Fraction
) -> BatchSelection:
    """Accept from a batch of m unlabelled scores t_j so that few accepted verdicts are wrong.

        p_j = (1 + #{i: e_i = 1, s_i <= t_j}) / (n + 1),

    then Benjamini-Hochberg at alpha over the batch (Jin and Candes, Selection by Prediction with
    Conformal p-values). If calibration rows and batch are exchangeable, the expected share of
    errors among the accepted is at most alpha, in finite samples.

    Limits: the promise is an average over calibration sets and batches, not about one batch. It is
    about the entire batch: it does not hold for a part of the accepted rows that is chosen
    afterwards, nor for several batches pooled.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        new_scores: Doubts of the batch.
        alpha: Error level allowed among accepted verdicts.

    >>> chosen = fdr_select([0.1] * 30 + [0.6] * 5, [0] * 30 + [1] * 5, [0.05, 0.7], alpha=0.1)
    >>> chosen.accepted.tolist(), chosen.p_values.round(3).tolist()
    ([True, False], [0.028, 0.167])
    """
    level = exact_level(alpha)
    s, e = paired(scores, errors)
    t = finite(new_scores, "new_scores", allow_empty=True)
    ranks = 1 + np.searchsorted(np.sort(s[e == 1]), t, side="right")
    sizes = np.full(len(t), len(s) + 1, dtype=np.int64)
    return _batch(benjamini_hochberg(ranks, sizes, level), ranks / sizes, e, level)


def _batch(
    accepted: BoolArray,
    p_values: FloatArray,
    errors: IntArray,
    alpha: Fraction,
    effective_size: float | None = None,
) -> BatchSelection:
    return BatchSelection(
        method="fdr",
        alpha=float(alpha),
        n_calibration=len(errors),
        n_errors=int(errors.sum()),
        n=len(accepted),
        n_accepted=int(accepted.sum()),
        effective_size=effective_size,
        p_values=p_values,
        accepted=accepted,
    )


def benjamini_hochberg(ranks: IntArray, sizes: IntArray, alpha: Fraction) -> BoolArray:
    """Which of the p-values ranks / sizes Benjamini-Hochberg rejects, exactly.

    p_(r) <= alpha r / m is compared as ranks <= (alpha / m) * r * sizes, in integers.
    """
    m = len(ranks)
    # Floats are safe for sorting: equal fractions round to the same double, and different ones
    # differ by 1 / (size * size'), far more than rounding for any sizes that fit in memory.
    order = np.argsort(ranks / sizes, kind="stable")
    r = np.arange(1, m + 1, dtype=np.int64)
    passing = np.flatnonzero(within_ratio(ranks[order], r * sizes[order], alpha / max(m, 1)))
    rejected = np.zeros(m, dtype=np.bool_)
    rejected[order[: passing[-1] + 1 if len(passing) else 0]] = True
    return rejected


def weighted_fdr_select(
    scores: ArrayLike,
    errors: ArrayLike,
    weights: ArrayLike,
    new_scores: ArrayLike,
    new_weights: ArrayLike,
    *,
    alpha: float | Fraction,
) -> BatchSelection:
    """fdr when new rows come from another distribution of pairs, known up to weights w.

    w(x) is the density of the new rows divided by that of the calibration rows. It must not be
    learned from these labels. With

        p_j = (sum_i w_i 1{e_i = 1, s_i <= t_j} + w_j) / (sum_i w_i + w_j)

    plain Benjamini-Hochberg no longer holds, because p-values with unequal weights are not
    positively dependent. Instead, each row j is tested by the number of rows that would be rejected
    if j's own p-value were 0 and j were among the calibration errors. Rows that pass are pruned to
    a set that is consistent with its own size (deterministic pruning, without randomization).

    Limits: the weights must be correct. P(wrong | row) must be the same before and after; only the
    frequency of each kind of row can change. `effective_size` = (sum w)^2 / sum w^2 is the number
    of unweighted rows with the same information as the calibration set; if it is small, little is
    accepted.

    >>> chosen = weighted_fdr_select([0.1] * 40, [0] * 40, [1] * 40, [0.1, 0.1], [1, 1], alpha=0.1)
    >>> chosen.accepted.tolist(), chosen.effective_size
    ([True, True], 40.0)
    """
    level = exact_level(alpha)
    s, e = paired(scores, errors)
    t = finite(new_scores, "new_scores", allow_empty=True)
    w = _positive(weights, "weights")
    v = _positive(new_weights, "new_weights")
    same_length(scores=s, weights=w)
    same_length(new_scores=t, new_weights=v)
    wrong = np.flatnonzero(e == 1)
    wrong = wrong[np.argsort(s[wrong], kind="stable")]
    below = np.concatenate(([0.0], np.cumsum(w[wrong])))
    mass = below[np.searchsorted(s[wrong], t, side="right")]
    total = float(w.sum())
    support = _rejections_without(t, mass, v, total, level)
    # p_j <= alpha R_j / m multiplied out, so that integer weights are compared exactly.
    passed = (mass + v) * (len(t) * level.denominator) <= support * (total + v) * level.numerator
    accepted = _prune(passed, support)
    p_values = (mass + v) / (total + v)
    return _batch(accepted, p_values, e, level, effective_size(w))


def effective_size(weights: FloatArray) -> float:
    """(sum w)^2 / sum w^2: the number of equal weights with the same information.

    >>> effective_size(np.array([1.0, 1.0, 2.0])).__round__(3)
    2.667
    """
    top = float(weights.max())
    scaled = weights / top
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def _rejections_without(
    t: FloatArray, mass: FloatArray, v: FloatArray, total: float, alpha: Fraction
) -> FloatArray:
    """For each row j: the number of rows that Benjamini-Hochberg rejects if j's p-value is 0.

    The p-values of the others then count j as a calibration error:
    p_l = (mass_l + v_j 1{t_j <= t_l}) / (total + v_j). It increases with t_l, so for every j the
    order of the scores is the order of the p-values.
    """
    m = len(t)
    order = np.argsort(t, kind="stable")
    ts = t[order]
    masses = mass[order]
    support = np.zeros(m)
    chunk = max(1, _CELLS // max(m, 1))
    position = np.arange(1, m + 1)
    for start in range(0, m, chunk):
        rows = order[start : start + chunk]
        left_out = np.arange(start, start + len(rows))
        is_below = t[rows, None] <= ts[None, :]
        above = masses[None, :] + v[rows, None] * is_below
        unit = (total + v[rows, None]) * alpha.numerator
        # Row j itself moves to the front with p = 0: the rows before it move back by one place.
        place = position[None, :] + (np.arange(m)[None, :] < left_out[:, None])
        passes = above * (m * alpha.denominator) <= place * unit
        passes[np.arange(len(rows)), left_out] = False
        last = m - np.argmax(passes[:, ::-1], axis=1)
        rejected = np.where(passes.any(axis=1), last, 0)
        # 1-based place of the last rejected row; j alone counts if no other row passes.
        shifted = np.where(rejected > 0, rejected + (rejected - 1 < left_out), 0)
        support[rows] = np.maximum(shifted, 1)
    return support


def _prune(passed: BoolArray, support: FloatArray) -> BoolArray:
    """The largest r such that at least r passed rows have a support of at most r."""
    sizes = np.sort(support[passed])
    counts = np.searchsorted(sizes, sizes, side="right")
    # An r between two supports keeps the same rows as the lower support, so supports suffice.
    largest = np.max(sizes[counts >= sizes], initial=0.0)
    return np.asarray(passed & (support <= largest))


def _positive(values: ArrayLike, name: str) -> FloatArray:
    checked = finite(values, name, allow_empty=name == "new_weights")
    bad = np.flatnonzero(checked <= 0)
    if len(bad):
        at = int(bad[0])
        raise ArgumentError(f"{name}[{at}]", float(checked[at]), "give weights above 0")
    return checked


class Fdr(Guarantee):
    """Selection by conformal p-values: a bound on the expected error share in each batch."""

    name = "fdr"
    summary = "proven on average"
    per_batch = True
    takes_weights = True
    takes_pooled = True

    def decide(self, labels: Labels, levels: Levels) -> Rule:
        return Rule(
            accepts="batch", scores=labels.scores, errors=labels.errors, weights=labels.weights
        )

    def accept(
        self, rule: Rule, scores: FloatArray, levels: Levels, weights: FloatArray | None = None
    ) -> BoolArray:
        alpha = levels.alpha
        if rule.accepts != "batch":
            return rule.accept(scores)
        if rule.weights is None or weights is None:
            return fdr_select(rule.scores, rule.errors, scores, alpha=alpha).accepted
        return weighted_fdr_select(
            rule.scores, rule.errors, rule.weights, scores, weights, alpha=alpha
        ).accepted

    def accept_pooled(
        self, rules: Sequence[Rule], scores: FloatArray, groups: IntArray, levels: Levels
    ) -> BoolArray:
        """Group-wise p-values, one Benjamini-Hochberg: the promise is about all groups together.

        Each new row is compared only with the calibration rows of its own group, so the relation of
        scores and errors can differ between groups. The expected share of errors among everything
        accepted is at most alpha; within one group it can be larger. A group without calibration
        rows has p-value 1 and is not accepted.

        >>> rule = Rule(accepts="batch", scores=[0.1] * 40, errors=[0] * 40)
        >>> new, levels = (np.array([0.1, 0.1]), np.array([0, 1])), Levels(Fraction(1, 10))
        >>> FDR.accept_pooled([rule], *new, levels).tolist()
        [True, False]
        """
        ranks, sizes = np.ones((2, len(scores)), dtype=np.int64)
        for group, rule in enumerate(rules):
            here = groups == group
            errors = np.asarray(rule.errors)
            wrong = np.sort(np.asarray(rule.scores)[errors == 1])
            ranks[here] += np.searchsorted(wrong, scores[here], side="right")
            sizes[here] += len(errors)
        return benjamini_hochberg(ranks, sizes, levels.alpha)

    def fewest_labels(self, levels: Levels) -> int:
        return max(1, math.ceil(1 / levels.alpha) - 1)

    def promise(self, levels: Levels) -> str:
        return (
            f"in expectation over labels and batches, at most {level(float(levels.alpha))} of the "
            "verdicts accepted from a batch are wrong, in finite samples"
        )

    def not_promised(self, levels: Levels) -> str:
        return (
            "anything about one particular batch, about a part of the accepted picked out later, "
            "or about rows that were not in the batch"
        )

    def worth(self, levels: Levels) -> str:
        return (
            f"Proven: on average over labels and batches at most {level(float(levels.alpha))} of "
            "the accepted are wrong; one batch can be above"
        )

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        # The batch decides: all test rows before the cut, whichever rows calibrated there.
        weights = splits.n_tested, splits.n_calibration + 1
        cut = splits.last_cut(levels.alpha, extra=1, rows=splits.tests, weights=weights)
        return splits.before_cut(cut)


FDR = Fdr()
