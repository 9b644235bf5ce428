"""pac's rule straight from its definition: every rank, every step, in whole numbers. Slow."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

#: Levels of the step-down; rounding of float sums, and of the bisection for the first level.
RATIO, MARGIN, CLOSE = Fraction("1.04"), Fraction(1, 10**9), Fraction(1, 2 * 10**7)


Boundary = list[int]


def crossing_probabilities(most: Boundary, n: int, alpha: Fraction) -> dict[int, Fraction]:
    """P(W_k <= most[k] for some k >= since) for since = 1, ..., n, by one step at a time."""
    rise, flat = alpha.numerator, alpha.denominator - alpha.numerator
    ahead = [0] * (n + 2)  # paths that cross from rank k + 1 on, by where they stand at rank k
    result: dict[int, Fraction] = {}
    for k in range(n, 0, -1):
        every = alpha.denominator ** (n - k)
        ahead = [every if w <= most[k] else ahead[w] for w in range(k + 1)]
        paths = sum(comb(k, w) * rise**w * flat ** (k - w) * ahead[w] for w in range(k + 1))
        result[k] = Fraction(paths, alpha.denominator**n)
        ahead = [flat * ahead[w] + rise * ahead[w + 1] for w in range(k)] + [0]
    return result


@lru_cache
def slow_band(n: int, alpha: Fraction, delta: Fraction) -> list[tuple[int, Boundary]]:
    """(since, most errors at each rank) of every boundary, from strict to loose."""
    fewest = next(k for k in range(1, 10**6) if (1 - alpha) ** k < delta)
    first = max(fewest, -(-n // 20))
    tails = {
        k: list(accumulate(comb(k, i) * alpha**i * (1 - alpha) ** (k - i) for i in range(k)))
        for k in range(first, n + 1)
    }

    def most(level: Fraction, start: int) -> Boundary:
        ranks = range(n + 1)
        return [sum(t <= level for t in tails[k]) - 1 if k >= start else -1 for k in ranks]

    def holds(level: Fraction) -> bool:
        return crossing_probabilities(most(level, first), n, alpha)[first] <= delta * (1 - MARGIN)

    if first > n:
        return []
    steps = [*sorted({t for tail in tails.values() for t in tail if t <= delta}), delta]
    low, high = 0, len(steps) - 1  # the first of them allows one pair of rank and errors alone
    if holds(delta):
        low, level = high, delta
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(steps[middle]) else (low, middle)
    if low < len(steps) - 1:
        level = steps[high] * (1 - CLOSE)  # anything from steps[low] up to there is the same
    boundary = most(level, first)
    start = next(k for k in range(n + 1) if boundary[k] >= 0)
    band, earliest = [(start, boundary)], start
    while level < delta:
        level = min(level * RATIO, delta)
        boundary = most(level, start)
        chances = crossing_probabilities(boundary, n, alpha)
        held = (k for k in range(earliest, n) if chances[k] <= delta * (1 - MARGIN))
        earliest = next(held, n)
        band.append((earliest, boundary))
    return band


def slow_pac(
    scores: Sequence[float], errors: Sequence[int], alpha: str | float, delta: str | float
) -> list[float]:
    """Every certified threshold of rows in order; ties are in their random order."""
    n, band = len(scores), slow_band(len(scores), Fraction(alpha), Fraction(delta))
    if not band:
        return []
    wrong, (start, boundary) = [0, *accumulate(errors)], band[0]
    while True:
        uncertified = (k for k in range(start, n + 1) if wrong[k] > boundary[k])
        reached = next(uncertified, n + 1)
        looser = [most for since, most in band if since <= reached][-1]
        if looser == boundary:
            break
        boundary = looser
    return [
        scores[k - 1]
        for k in range(start, n + 1)
        if wrong[k] <= boundary[k] and (k == n or scores[k] != scores[k - 1])
    ]
