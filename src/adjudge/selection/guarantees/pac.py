"""PAC: one threshold whose true error rate is at most alpha, with probability 1 - delta."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge.policy.rules import Rule
from adjudge.present.text import level
from adjudge.selection.guarantees.band import Band, Boundary, exact_band, fewest_rows
from adjudge.selection.guarantees.base import Guarantee, Labels
from adjudge.selection.split_counts import Levels, SplitCounts, SplitOutcome
from adjudge.selection.thresholds import SortedScores, Threshold, order_by_lot, threshold_at
from adjudge.validation import FloatArray, IntArray, Seed, exact_level, paired

#: For some calibration sets and ranks in each: the last rank up to each that ends a tie block.
BlockEnds = Callable[[IntArray, IntArray], IntArray]
#: For some calibration sets and numbers of errors, from 0: the rank of each of these errors in each
#: of the sets; n + 1 if there are not as many.
ErrorRanks = Callable[[IntArray, IntArray], IntArray]


def pac_threshold(
    scores: ArrayLike,
    errors: ArrayLike,
    *,
    alpha: float | Fraction,
    delta: float | Fraction = 0.1,
    seed: Seed = 0,
) -> Threshold:
    """The loosest threshold that the exact band certifies.

    With S_k errors among the k surest rows, the threshold at rank k is certified if S_k <= b(k).
    The boundary b is the loosest one that a walk of independent Bernoulli(alpha) steps crosses with
    probability at most delta (`exact_band`). If every rank up to k0 is certified, a looser boundary
    is used, which must hold only from k0 on (step-down, Romano and Wolf 2005). This is repeated
    until nothing changes. Tied scores are certified together as one block. For k0 they are put in a
    random order once, by `seed`, without using the errors.

    Limits: with probability at least 1 - delta over calibration sets of independent rows,
    P(error | accepted) <= alpha for new rows of the same kind, for any relation of score and error,
    with or without ties (proof in docs/guarantees.md). This holds for one alpha, not for several
    together, and not for the share of errors in one batch.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        alpha: Error level allowed among accepted verdicts.
        delta: How often the promise can fail.
        seed: Seed of the order of tied scores.

    >>> pac_threshold([0.1] * 22, [0] * 22, alpha=0.1).accepts
    'all'
    >>> pac_threshold([0.1] * 21, [0] * 21, alpha=0.1).accepts
    'none'
    """
    labels = _labels_by_lot(scores, errors, seed)
    rate, failure = exact_level(alpha), exact_level(delta, "delta")
    return _threshold(labels, rate, failure)


def pac_thresholds(
    scores: ArrayLike,
    errors: ArrayLike,
    *,
    alpha: float | Fraction,
    delta: float | Fraction = 0.1,
    seed: Seed = 0,
) -> FloatArray:
    """Every observed score that the exact band certifies as a threshold, ascending.

    With probability at least 1 - delta all of them have a true error rate of at most alpha
    simultaneously. You can therefore choose any of them afterwards, by any criterion.
    `pac_threshold` uses the last one.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        alpha: Error level allowed among accepted verdicts.
        delta: How often the promise can fail.
        seed: Seed of the order of tied scores.

    >>> rows = [0.1] * 40 + [0.2] * 5 + [0.3] * 60
    >>> pac_thresholds(rows, [0] * 40 + [1] * 5 + [0] * 60, alpha=0.1).tolist()
    [0.1, 0.3]
    """
    labels = _labels_by_lot(scores, errors, seed)
    n, certified = len(labels), np.zeros(len(labels) + 1, dtype=np.bool_)
    band = exact_band(n, exact_level(alpha), exact_level(delta, "delta"))
    if band is not None:
        for _, boundary, last in _step_down(1, _error_ranks(labels), band):
            for start, end in zip(boundary.ranks, last[0], strict=True):
                certified[start : end + 1] = True
    block_ends = np.append(labels.scores[1:] != labels.scores[:-1], True)
    return np.compress(certified[1:] & block_ends, labels.scores)


def _labels_by_lot(scores: ArrayLike, errors: ArrayLike, seed: Seed) -> Labels:
    s, e = paired(scores, errors)
    return Labels(s, e).sort(order_by_lot(s, seed))


def _threshold(labels: Labels, alpha: Fraction, delta: Fraction) -> Threshold:
    """The loosest certified threshold of sorted rows; ties are in their random order."""
    band, rows = exact_band(len(labels), alpha, delta), 0
    if band is not None:
        block_ends = _block_ends(labels.scores)
        rows = int(_loosest_ranks(1, _error_ranks(labels), band, block_ends)[0])
    ordered = SortedScores(labels.scores, labels.scores[labels.errors == 1])
    return threshold_at(ordered, rows, method="pac", alpha=alpha, delta=delta)


def _error_ranks(labels: Labels) -> ErrorRanks:
    ranks = np.append(np.flatnonzero(labels.errors) + 1, len(labels) + 1)

    def of_errors(own: IntArray, errors: IntArray) -> IntArray:
        one_set = ranks[np.minimum(errors, len(ranks) - 1)]
        return np.broadcast_to(one_set, (len(own), len(errors)))

    return of_errors


def _block_ends(scores: FloatArray) -> BlockEnds | None:
    if not (scores[1:] == scores[:-1]).any():
        return None

    def last_ends(_: IntArray, ranks: IntArray) -> IntArray:
        value = scores[np.maximum(ranks, 1) - 1]
        end = np.searchsorted(scores, value, side="right")
        return np.where(end == ranks, ranks, np.searchsorted(scores, value, side="left"))

    return last_ends


def _loosest_ranks(
    sets: int, error_ranks: ErrorRanks, band: Band, block_ends: BlockEnds | None
) -> IntArray:
    """The largest certified block end of each calibration set; 0 if there is none."""
    loosest = np.zeros(sets, dtype=np.int64)
    for own, boundary, last in _step_down(sets, error_ranks, band):
        certified = last >= boundary.ranks
        if block_ends is not None:
            last = block_ends(own, last)
            certified &= last >= boundary.ranks
        at = certified.shape[1] - 1 - certified[:, ::-1].argmax(axis=1)
        rows = np.arange(len(own))
        loosest[own] = np.where(certified[rows, at], last[rows, at], 0)
    return loosest


def _step_down(
    sets: int, error_ranks: ErrorRanks, band: Band
) -> Iterator[tuple[IntArray, Boundary, IntArray]]:
    """Some calibration sets, their last boundary, and what it certifies.

    From each of the boundary's ranks on, all ranks up to the given one are certified; if the given
    one is lower, no rank is.
    """
    reached, at = np.zeros(sets, dtype=np.int64), 0
    while at < len(band.boundaries):
        own, boundary = np.flatnonzero(reached == at), band.boundaries[at]
        following = np.append(boundary.ranks[1:], band.n + 1).astype(np.int32)
        # A stretch ends at the first error above the allowed number.
        stop = np.minimum(error_ranks(own, boundary.errors), following)
        broken, rows = stop < following, np.arange(len(own))
        first = broken.argmax(axis=1)
        uncertified = np.maximum(stop[rows, first], boundary.ranks[first])
        uncertified[~broken[rows, first]] = band.n + 1
        reached[own] = np.maximum(at, band.loosest(uncertified))
        final = reached[own] == at
        if final.any():
            yield own[final], boundary, stop[final] - 1
        at = int(reached.min(where=reached > at, initial=len(band.boundaries)))


class Pac(Guarantee):
    """One threshold that holds with probability 1 - delta."""

    name = "pac"
    #: 1: runs of binomial tests from several ranks. 2: the exact band.
    version = 2
    summary = "this threshold, with probability 1 - delta"
    assumption = "the labelled rows are an independent random sample of the rows to be judged"
    uses_delta = True

    def decide(self, labels: Labels, levels: Levels) -> Rule:
        if (labels.scores[1:] < labels.scores[:-1]).any():
            labels = labels.take(np.argsort(labels.scores, kind="stable"))
        return _threshold(labels, levels.alpha, levels.delta).rule

    def fewest_labels(self, levels: Levels) -> int:
        return fewest_rows(levels.alpha, levels.delta)

    def promise(self, levels: Levels) -> str:
        return (
            f"with probability at least {level(float(1 - levels.delta))} over the labels drawn, "
            "the error rate of everything this rule will ever accept is at most "
            f"{level(float(levels.alpha))}"
        )

    def not_promised(self, levels: Levels) -> str:
        return "the share of errors in one particular batch, which scatters around that rate"

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        # Every split has the same number of calibration rows, so one band serves all of them.
        band = exact_band(int(splits.n_calibration[0]), levels.alpha, levels.delta)
        if band is None:
            return splits.below_rank(np.zeros(len(splits), dtype=np.int64))
        block_ends = splits.block_ends if splits.table.tied else None
        return splits.below_rank(_loosest_ranks(len(splits), splits.error_ranks, band, block_ends))


PAC = Pac()
