"""Online Elo: one update per battle, in the order they came. For those who ask for it.

    R_a += K (y - 1 / (1 + 10^((R_b - R_a) / 400)))

The result depends on the order of the battles, which says nothing about the models. The spread
over shuffled orders is measured beside it. Bradley-Terry uses the same battles without an order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjudge._bradley_terry import ELO_BASE
from adjudge._validation import FloatArray, IntArray, Seed, count, generator, positive

#: Shuffled orders are run side by side; beyond this many battles they take longer than they tell.
_MOST_SHUFFLED = 200_000


@dataclass(frozen=True)
class OnlineElo:
    """Ratings after the last battle, and their standard deviation over shuffled orders."""

    elo: FloatArray
    order_sd: FloatArray | None
    shuffles: int


def online_elo(
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    n: int,
    *,
    k: float = 16.0,
    shuffles: int = 20,
    rng: Seed = 0,
) -> OnlineElo:
    """Run the updates in the given order, then in `shuffles` random ones.

    >>> online_elo(np.array([0]), np.array([1]), np.array([1.0]), 2, k=32, shuffles=0).elo
    array([1516., 1484.])
    """
    k = positive(k, "k")
    shuffles = count(shuffles, "shuffles")
    draw = generator(rng)
    ratings = [ELO_BASE] * n
    for i, j, y in zip(a.tolist(), b.tolist(), target.tolist(), strict=True):
        change = k * (y - 1 / (1 + 10 ** ((ratings[j] - ratings[i]) / 400)))
        ratings[i] += change
        ratings[j] -= change
    spread = None
    if shuffles >= 2 and len(a) <= _MOST_SHUFFLED:
        spread = _shuffled(a, b, target, n, k, shuffles, draw).std(axis=0, ddof=1)
    return OnlineElo(np.array(ratings), spread, shuffles if spread is not None else 0)


def _shuffled(
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    n: int,
    k: float,
    shuffles: int,
    draw: np.random.Generator,
) -> FloatArray:
    ratings = np.full((shuffles, n), ELO_BASE)
    orders = np.stack([draw.permutation(len(a)) for _ in range(shuffles)])
    run = np.arange(shuffles)
    for step in range(len(a)):
        at = orders[:, step]
        i, j = a[at], b[at]
        gap = (ratings[run, j] - ratings[run, i]) / 400
        change = k * (target[at] - 1 / (1 + 10**gap))
        ratings[run, i] += change
        ratings[run, j] -= change
    return ratings
