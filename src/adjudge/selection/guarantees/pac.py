"""PAC: one threshold whose true error rate is at most alpha, with probability 1 - delta.

By an exact band: how many errors each rank can have, so that a bad threshold rarely passes. W is a
walk of n independent steps that rise by 1 with probability alpha. A boundary b allows b(k) errors
among the k surest rows. This file computes P(W_k <= b(k) for some k >= k0), exactly except for
rounding, which is upwards. docs/guarantees.md proves what this means for real rows.

If the protocol allows only a few scores, their thresholds are known before any label. They are
tested from strict to loose, each at delta, until one fails (fixed-sequence testing).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from adjudge.policy.result import Rule
from adjudge.present.text import level
from adjudge.selection.guarantees import Guarantee, Labels
from adjudge.selection.thresholds import (
    Halves,
    Levels,
    ScoreOrder,
    SplitCounts,
    SplitOutcome,
    SplitTable,
    Threshold,
    order_by_lot,
    threshold_at,
)
from adjudge.statistics.numbers import binomial_lower_tail
from adjudge.validation import FloatArray, IntArray, Seed, exact_level, paired

#: Up to this many rows every rank has its own boundary.
_EVERY_RANK_UP_TO = 5000
#: With more rows, this many geometric ranks have one, and a rank between two of them uses the
#: boundary of the lower one.
_RANKS = 400
#: Above this many rows the crossing probabilities of single ranks are summed instead: there the
#: union bound costs less than a thousandth of alpha.
_EXACT_UP_TO = 100_000
#: No threshold below this share of the rows is certified: the surest few rows would cost the most.
_FIRST_SHARE = 20
#: Ratio of each level of the step-down to the one before.
_RATIO = 1.04
#: Precision of the bisection for the first level.
_CLOSE = 1e-7
#: The margin below delta for float sums.
_MARGIN = 1e-9
#: A score of a file this close to a value of the protocol is that value.
_SAME = 1e-9
#: More labels than anyone has: above them, how many are needed is not stated.
_MOST_NEEDED = 10_000_000
#: How many standard deviations above the boundary, and off the mean, are kept.
_REACH = 9.0


@dataclass(frozen=True)
class Boundary:
    """`errors[i]` errors are allowed from rank `ranks[i]` up to the next of `ranks`."""

    ranks: IntArray
    errors: IntArray


@dataclass(frozen=True)
class Band:
    """Boundaries from strict to loose for n rows.

    The first holds on all ranks. From rank `since[i]` on, boundary i is crossed with a probability
    of at most delta. `since` never decreases.
    """

    n: int
    since: IntArray
    boundaries: tuple[Boundary, ...]

    def loosest(self, rank: IntArray | int) -> IntArray:
        """The loosest boundary that holds on all ranks from `rank` on."""
        return np.searchsorted(self.since, rank, side="right") - 1


def fewest_rows(alpha: Fraction, delta: Fraction) -> int:
    """The smallest k at which zero errors are evidence: (1 - alpha)^k < delta.

    >>> fewest_rows(Fraction(1, 10), Fraction(1, 10)), fewest_rows(Fraction(1, 2), Fraction(1, 2))
    (22, 2)
    """
    k = max(1, math.ceil(math.log(delta) / math.log1p(-float(alpha))))
    # If the power equals delta, floats cannot decide; for larger k they can.
    if k < _EVERY_RANK_UP_TO and (1 - alpha) ** k >= delta:
        k += 1
    return k


@lru_cache(maxsize=128)
def exact_band(n: int, alpha: Fraction, delta: Fraction) -> Band | None:
    """The boundaries for n rows; None if n rows are too few to certify anything.

    A boundary of level c allows b(k) = max{E : P(Binomial(k, alpha) <= E) <= c} errors. The first
    one has the largest c for which W crosses it on the ranks from k1 = max(`fewest_rows`, n / 20)
    on with probability at most delta. Each other boundary has a level 1.04 times the one before,
    up to delta. It holds from the first rank at which its crossing probability is at most delta.

    >>> band = exact_band(100, Fraction(1, 10), Fraction(1, 10))
    >>> band.boundaries[0].ranks.tolist(), band.boundaries[0].errors.tolist()
    ([31, 48, 63, 78, 92], [0, 1, 2, 3, 4])
    """
    first = max(fewest_rows(alpha, delta), -(-n // _FIRST_SHARE))
    if first > n:
        return None
    rate = float(alpha)
    failure = float(delta)
    if n <= _EVERY_RANK_UP_TO:
        ranks = np.arange(first, n + 1)
    else:
        ranks = np.unique(np.geomspace(first, n, _RANKS).round().astype(np.int64))
    level = _first_level(ranks, rate, failure)
    boundaries = [_boundary(ranks, rate, level)]
    # Ranks that the first boundary cannot certify are left out entirely: the step-down could never
    # pass them.
    ranks = ranks[ranks >= boundaries[0].ranks[0]]
    since = [int(ranks[0])]
    while level < failure:
        level = min(level * _RATIO, failure)
        boundaries.append(_boundary(ranks, rate, level))
        since.append(_holds_since(boundaries[-1], since[-1], n, rate, failure))
    return Band(n, np.array(since), tuple(boundaries))


def _first_level(ranks: IntArray, alpha: float, delta: float) -> float:
    """The largest level at which W crosses with probability at most delta, from below.

    A level above delta never allows more, because W would cross at a single rank too often. The
    probability is a step function of the level: the bisection ends just below one of its steps.
    """

    def holds(level: float) -> bool:
        return crossing(_boundary(ranks, alpha, level), alpha)(0) <= delta * (1 - _MARGIN)

    if holds(delta):
        return delta
    low = delta / (2 * len(ranks))
    high = delta
    while high > low * (1 + _CLOSE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _holds_since(boundary: Boundary, earliest: int, n: int, alpha: float, delta: float) -> int:
    """The first rank from which W crosses with probability at most delta, by bisection."""
    since = crossing(boundary, alpha)
    low = earliest - 1
    high = n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if since(middle) <= delta * (1 - _MARGIN) else (middle, high)
    return high


def _boundary(ranks: IntArray, alpha: float, level: float) -> Boundary:
    """The ranks where the allowed errors rise: W never falls, so it can cross only there."""
    errors = most_errors(ranks, alpha, level)
    rises = np.flatnonzero(np.diff(errors, prepend=-1) > 0)
    return Boundary(ranks[rises], errors[rises])


def most_errors(ranks: IntArray, alpha: float, level: float) -> IntArray:
    """max{E : P(Binomial(k, alpha) <= E) <= level} at each rank k; -1 if no E satisfies it.

    >>> most_errors(np.array([21, 22, 38, 52]), 0.1, 0.1)
    array([-1,  0,  1,  2])
    """
    z = float(ndtri(level))
    guess = alpha * ranks + z * np.sqrt(ranks * alpha * (1 - alpha))
    guess += (z * z - 1) * (1 - 2 * alpha) / 6 - 0.5
    errors: IntArray = np.clip(np.floor(guess), -1, ranks - 1).astype(np.int64)

    def passes(at: IntArray, more: int) -> IntArray:
        return at[binomial_lower_tail(errors[at] + more, ranks[at], alpha) <= level]

    rest = np.arange(len(ranks))
    while len(rest := passes(rest, 1)):
        errors[rest] += 1
    rest = np.flatnonzero(errors >= 0)
    while len(rest := np.setdiff1d(rest, passes(rest, 0), assume_unique=True)):
        errors[rest] -= 1
        rest = rest[errors[rest] >= 0]
    return errors


def crossing(boundary: Boundary, alpha: float) -> Callable[[int], float]:
    """P(W_k <= b(k) for some k >= rank), for the given rank.

    Computed backwards from the last rank: ahead[i][j] is the probability that a walk which is
    j + 1 above the boundary at `ranks[i]` crosses later. It decreases in j, so using its last value
    for all larger j is conservative.
    """
    ranks = boundary.ranks
    errors = boundary.errors
    if len(ranks) == 0:
        return lambda rank: 0.0
    if ranks[-1] > _EXACT_UP_TO:
        tails = np.append(np.cumsum(binomial_lower_tail(errors, ranks, alpha)[::-1])[::-1], 0.0)

        def bound(rank: int) -> float:
            later = float(tails[np.searchsorted(ranks, rank, side="right")])
            rank, at = _locate(ranks, rank)
            return float(binomial_lower_tail(errors[at], np.array(rank), alpha)) + later

        return bound
    width = int(_REACH * math.sqrt(ranks[-1] * alpha * (1 - alpha))) + 9
    ahead = [np.zeros(width)]
    for i in range(len(ranks) - 2, -1, -1):
        steps = int(ranks[i + 1] - ranks[i])
        rise = int(errors[i + 1] - errors[i])
        ahead.append(_step_back(ahead[-1], rise, steps, alpha, width))
    ahead.reverse()

    def probability(rank: int) -> float:
        rank, at = _locate(ranks, rank)
        onwards = ahead[at]
        if rank > ranks[at] and at + 1 < len(ranks):
            rise = int(errors[at + 1] - errors[at])
            onwards = _step_back(ahead[at + 1], rise, int(ranks[at + 1]) - rank, alpha, width)
        return float(_step_back(onwards, int(errors[at]) + 1, rank, alpha, 1)[0])

    return probability


def _locate(ranks: IntArray, rank: int) -> tuple[int, int]:
    """The rank, and the index of the last of the boundary's `ranks` up to it.

    Nothing can be crossed before the first of them, so an earlier rank becomes that one.
    """
    rank = max(int(rank), int(ranks[0]))
    return rank, int(np.searchsorted(ranks, rank, side="right")) - 1


def _step_back(ahead: FloatArray, rise: int, steps: int, alpha: float, heights: int) -> FloatArray:
    """The crossing probabilities `steps` before the boundary rises by `rise` to where `ahead` is.

    One for each of the lowest `heights` above the boundary at that time.
    """
    offset, masses = _masses(steps, alpha)
    onwards = np.empty(rise + len(ahead) + offset + len(masses) + heights)
    onwards[:rise] = 1.0
    onwards[rise : rise + len(ahead)] = ahead
    onwards[rise + len(ahead) :] = ahead[-1]
    return np.correlate(onwards[offset : offset + heights + len(masses) - 1], masses)


@lru_cache(maxsize=4096)
def _masses(steps: int, alpha: float) -> tuple[int, FloatArray]:
    """Binomial(steps, alpha): the first number of rises that matters, and the masses."""
    spread = _REACH * math.sqrt(steps * alpha * (1 - alpha)) + 9
    low = max(0, math.floor(steps * alpha - spread))
    rises = np.arange(low, min(steps, math.ceil(steps * alpha + spread)) + 1)
    ratios = (steps - rises[:-1]) / rises[1:] * (alpha / (1 - alpha))
    logs = np.append(0.0, np.cumsum(np.log(ratios)))
    masses = np.exp(logs - logs.max())
    return low, masses / masses.sum()


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
    values: Sequence[float] = (),
) -> Threshold:
    """The loosest threshold that the exact band certifies, or one of a few fixed thresholds.

    With S_k errors among the k surest rows, the threshold at rank k is certified if S_k <= b(k).
    The boundary b is the loosest one that a walk of independent Bernoulli(alpha) steps crosses with
    probability at most delta (`exact_band`). If every rank up to k0 is certified, a looser boundary
    is used, which must hold only from k0 on (step-down, Romano and Wolf 2005). This is repeated
    until nothing changes. Tied scores are certified together as one block. For k0 they are put in a
    random order once, by `seed`, without using the errors.

    With `values` the thresholds are fixed: each is tested in its turn, strict to loose, until
    P(Binomial(k, alpha) <= E) <= delta fails for E errors among its k rows. The first bad threshold
    passes with probability at most delta, and no later one is tested if it fails. With up to about
    four values this accepts more than the band; with more, leave `values` out.

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
        values: The scores of a verdict, if the protocol allows only a few. They must be known
            before the labels: never read them from the data.

    >>> rows, wrong = [0.0] * 40 + [0.7] * 20, [0] * 40 + [1] * 20
    >>> pac_threshold(rows, wrong, alpha=0.1, values=[0.0]).threshold
    0.0
    >>> pac_threshold([0.1] * 22, [0] * 22, alpha=0.1).accepts
    'all'
    >>> pac_threshold([0.1] * 21, [0] * 21, alpha=0.1).accepts
    'none'
    """
    labels = replace(_labels_by_lot(scores, errors, seed), values=tuple(sorted(values)))
    rate = exact_level(alpha)
    failure = exact_level(delta, "delta")
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
    n = len(labels)
    certified = np.zeros(len(labels) + 1, dtype=np.bool_)
    band = exact_band(n, exact_level(alpha), exact_level(delta, "delta"))
    if band is not None:
        for _, boundary, last in _step_down(1, _as_split(labels).error_ranks, band):
            for start, end in zip(boundary.ranks, last[0], strict=True):
                certified[start : end + 1] = True
    block_ends = np.append(labels.scores[1:] != labels.scores[:-1], True)
    return np.compress(certified[1:] & block_ends, labels.scores)


def _labels_by_lot(scores: ArrayLike, errors: ArrayLike, seed: Seed) -> Labels:
    s, e = paired(scores, errors)
    order = order_by_lot(s, seed)
    return Labels(order.scores, e[order.rows])


def _threshold(labels: Labels, alpha: Fraction, delta: Fraction) -> Threshold:
    """The loosest certified threshold of sorted rows; ties are in their random order."""
    rows = int(_loosest_ranks(_as_split(labels), alpha, delta)[0])
    wrong = labels.scores[labels.errors == 1]
    return threshold_at(labels.scores, wrong, rows, method="pac", alpha=alpha, delta=delta)


def _as_split(labels: Labels) -> SplitCounts:
    """One split in which all of the sorted rows calibrate."""
    everything = np.ones((1, len(labels)), dtype=np.bool_)
    rows = np.arange(len(labels))
    order = ScoreOrder(rows, labels.scores)
    table = SplitTable.build(labels.scores, labels.errors, None, None, order, tuple(labels.values))
    return SplitCounts(table, Halves(everything))


def _ends_of(scores: FloatArray, values: Sequence[float]) -> IntArray:
    """How many of the sorted scores are at most each of the values."""
    return np.searchsorted(scores, np.asarray(values) + _SAME, side="right")


def _last_in_sequence(
    rows: IntArray, errors: IntArray, alpha: Fraction, delta: Fraction
) -> IntArray:
    """The rows of the last fixed threshold before the first that fails; 0 if the first fails.

    A line for each calibration set, with the thresholds from strict to loose.

    >>> tenth = Fraction(1, 10)
    >>> _last_in_sequence(np.array([[30, 60]]), np.array([[0, 3]]), tenth, tenth).tolist()
    [30]
    """
    level = float(delta) * (1 - _MARGIN)
    allowed = most_errors(rows.ravel(), float(alpha), level).reshape(rows.shape)
    passed = np.logical_and.accumulate(errors <= allowed, axis=1).sum(axis=1)
    padded = np.column_stack([np.zeros(len(rows), dtype=np.int64), rows])
    return np.asarray(padded[np.arange(len(rows)), passed])


def _loosest_ranks(splits: SplitCounts, alpha: Fraction, delta: Fraction) -> IntArray:
    """The largest certified block end of each calibration set; 0 if there is none."""
    table = splits.table
    loosest = np.zeros(len(splits), dtype=np.int64)
    if table.values:
        cuts = _ends_of(table.scores, table.values)
        every = np.arange(len(splits))[:, None]
        rows = splits.calibration.before(every, cuts)
        wrong = splits.wrong.before(every, cuts)
        return _last_in_sequence(rows, wrong, alpha, delta)
    # Every set has the same number of rows, so one band serves all of them.
    band = exact_band(int(splits.n_calibration[0]), alpha, delta)
    if band is None:
        return loosest
    for ended, boundary, last in _step_down(len(splits), splits.error_ranks, band):
        certified = last >= boundary.ranks
        if table.tied:
            last = splits.block_ends(ended, last)
            certified &= last >= boundary.ranks
        at = certified.shape[1] - 1 - certified[:, ::-1].argmax(axis=1)
        rows = np.arange(len(ended))
        loosest[ended] = np.where(certified[rows, at], last[rows, at], 0)
    return loosest


def _step_down(
    sets: int, error_ranks: ErrorRanks, band: Band
) -> Iterator[tuple[IntArray, Boundary, IntArray]]:
    """Some calibration sets, their last boundary, and what it certifies.

    From each of the boundary's ranks on, all ranks up to the given one are certified; if the given
    one is lower, no rank is.
    """
    reached = np.zeros(sets, dtype=np.int64)
    at = 0
    while at < len(band.boundaries):
        ended = np.flatnonzero(reached == at)
        boundary = band.boundaries[at]
        following = np.append(boundary.ranks[1:], band.n + 1).astype(np.int32)
        # A stretch ends at the first error above the allowed number.
        stop = np.minimum(error_ranks(ended, boundary.errors), following)
        broken = stop < following
        rows = np.arange(len(ended))
        first = broken.argmax(axis=1)
        uncertified = np.maximum(stop[rows, first], boundary.ranks[first])
        uncertified[~broken[rows, first]] = band.n + 1
        reached[ended] = np.maximum(at, band.loosest(uncertified))
        final = reached[ended] == at
        if final.any():
            yield ended[final], boundary, stop[final] - 1
        at = int(reached.min(where=reached > at, initial=len(band.boundaries)))


class Pac(Guarantee):
    """One threshold that holds with probability 1 - delta."""

    name = "pac"
    #: 1: runs of binomial tests from several ranks. 2: the exact band.
    version = 2
    summary = "proven for one threshold"
    assumption = "the labelled rows are an independent random sample of the rows to be judged"
    uses_delta = True
    uses_lot = True

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

    def worth(self, levels: Levels) -> str:
        sure = level(float(1 - levels.delta))
        rate = level(float(levels.alpha))
        return f"Proven: with probability {sure} at most {rate} of all that it accepts is wrong"

    def labels_needed(self, labels: Labels, rows: int, wrong: int, levels: Levels) -> int | None:
        """By the strictest boundary, at its level with these labels; fixed values: at delta."""
        if rows == 0:
            return None
        alpha = float(levels.alpha)
        tail = float(levels.delta)
        n = len(labels)
        fewest = fewest_rows(levels.alpha, levels.delta)
        band = exact_band(max(n, 4 * fewest), levels.alpha, levels.delta)
        if band is not None and not labels.values:
            first = band.boundaries[0]
            tail = float(binomial_lower_tail(first.errors[-1], first.ranks[-1], alpha))
        ranks = np.unique(np.geomspace(rows, _MOST_NEEDED, _RANKS).astype(np.int64))
        passes = most_errors(ranks, alpha, tail) * rows >= wrong * ranks
        return round(n * int(ranks[passes.argmax()]) / rows) if passes.any() else None

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.below_rank(_loosest_ranks(splits, levels.alpha, levels.delta))


PAC = Pac()
