"""The exact band: how many errors each rank can have, so that a bad threshold rarely passes.

W is a walk of n independent steps that rise by 1 with probability alpha. A boundary b allows b(k)
errors among the k surest rows. This file computes P(W_k <= b(k) for some k >= k0), exactly except
for rounding, which is upwards. docs/guarantees.md proves what this means for real rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from adjudge.statistics.numbers import binomial_lower_tail
from adjudge.validation import FloatArray, IntArray

#: Up to this many rows every rank has its own boundary. With more rows, this many geometric ranks
#: have one, and a rank between two of them uses the boundary of the lower one.
_EVERY_RANK_UP_TO, _RANKS = 5000, 400
#: Above this many rows the crossing probabilities of single ranks are summed instead: there the
#: union bound costs less than a thousandth of alpha.
_EXACT_UP_TO = 100_000
#: No threshold below this share of the rows is certified: the surest few rows would cost the most.
_FIRST_SHARE = 20
#: Ratio of each level of the step-down to the one before.
_RATIO = 1.04
#: Precision of the bisection for the first level, and the margin below delta for float sums.
_CLOSE, _MARGIN = 1e-7, 1e-9
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
    rate, failure = float(alpha), float(delta)
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
    low, high = delta / (2 * len(ranks)), delta
    while high > low * (1 + _CLOSE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _holds_since(boundary: Boundary, earliest: int, n: int, alpha: float, delta: float) -> int:
    """The first rank from which W crosses with probability at most delta, by bisection."""
    since = crossing(boundary, alpha)
    low, high = earliest - 1, n
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
    ranks, errors = boundary.ranks, boundary.errors
    if len(ranks) == 0:
        return lambda rank: 0.0
    if ranks[-1] > _EXACT_UP_TO:
        tails = np.append(np.cumsum(binomial_lower_tail(errors, ranks, alpha)[::-1])[::-1], 0.0)
        return lambda rank: (
            _at_once(boundary, alpha, rank)
            + float(tails[np.searchsorted(ranks, rank, side="right")])
        )
    width = int(_REACH * math.sqrt(ranks[-1] * alpha * (1 - alpha))) + 9
    ahead = [np.zeros(width)]
    for i in range(len(ranks) - 2, -1, -1):
        steps, rise = int(ranks[i + 1] - ranks[i]), int(errors[i + 1] - errors[i])
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


def _at_once(boundary: Boundary, alpha: float, rank: int) -> float:
    """P(W is on or below the boundary at the rank)."""
    rank, at = _locate(boundary.ranks, rank)
    return float(binomial_lower_tail(boundary.errors[at], np.array(rank), alpha))


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
