"""Orders that need no fitted strengths: win rate, Copeland, Schulze, and online Elo.

The first three use a table of wins, `wins[i, j]` = how often i beat j, ties as one half to each
(diagnosis paper, section 3.1); a higher score is better. Online Elo updates after each battle, in
the order of the file:

    R_a += K (y - 1 / (1 + 10^((R_b - R_a) / 400)))

Its result depends on the order of the battles, which has no information about the models, so the
standard deviation over shuffled orders is reported too. Bradley-Terry does not depend on the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.statistics.bradley_terry import ELO_BASE
from adjudge.validation import FloatArray, IntArray, Seed, count, generator, positive

#: Shuffled orders run in parallel; above this many battles they are too slow for their value.
_MOST_SHUFFLED = 200_000


def win_rate(wins: ArrayLike) -> FloatArray:
    """Share of its battles that each model won; NaN without a battle.

    It depends on the opponents. Compare models only if their opponents were drawn in the same way.

    >>> win_rate([[0, 3], [1, 0]]).tolist()
    [0.75, 0.25]
    """
    table = square(wins)
    won, lost = table.sum(axis=1), table.sum(axis=0)
    rate = np.full(len(table), np.nan)
    np.divide(won, won + lost, out=rate, where=(won + lost) > 0)
    return rate


def copeland(wins: ArrayLike) -> FloatArray:
    """Rivals beaten more often than not, minus rivals lost to. A pair without a battle counts 0.

    >>> copeland([[0, 3, 1], [1, 0, 2], [0, 0, 0]]).tolist()
    [2.0, 0.0, -2.0]
    """
    margin = np.sign(square(wins) - square(wins).T)
    return np.asarray(margin.sum(axis=1), dtype=np.float64)


def schulze(wins: ArrayLike) -> FloatArray:
    """How many rivals each model beats by its strongest path (Schulze 2011, winning votes).

    A path is as strong as its weakest step; a step i to j is as strong as the wins of i over j, if
    i won the pair. Ties in the Schulze order get equal scores.

    >>> schulze([[0, 3, 1], [1, 0, 2], [2, 0, 0]]).tolist()
    [1.0, 0.0, 0.0]
    """
    table = square(wins)
    path = np.where(table > table.T, table, 0.0)
    for via in range(len(path)):
        np.maximum(path, np.minimum(path[:, via : via + 1], path[via : via + 1, :]), out=path)
    beats = path > path.T
    return np.asarray(beats.sum(axis=1), dtype=np.float64)


def square(wins: ArrayLike) -> FloatArray:
    """A checked table of wins with an empty diagonal."""
    table = np.array(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ArgumentError("wins", f"shape {table.shape}", "give a square table, wins[i, j]")
    if not np.isfinite(table).all() or np.any(table < 0):
        raise ArgumentError("wins", "negative or missing", "give counts that are not negative")
    np.fill_diagonal(table, 0.0)
    return table


@dataclass(frozen=True)
class OnlineElo:
    """Ratings after the last battle, and their standard deviation over shuffled orders."""

    elo: FloatArray
    order_sd: FloatArray | None


def online_elo(
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    n: int,
    *,
    k: float = 16.0,
    shuffles: int = 20,
    seed: Seed = 0,
) -> OnlineElo:
    """Run the updates in the given order, then in `shuffles` random ones.

    >>> online_elo(np.array([0]), np.array([1]), np.array([1.0]), 2, k=32, shuffles=0).elo
    array([1516., 1484.])
    """
    k = positive(k, "k")
    shuffles = count(shuffles, "shuffles")
    rng = generator(seed)
    ratings = [ELO_BASE] * n
    for i, j, y in zip(a.tolist(), b.tolist(), target.tolist(), strict=True):
        change = k * (y - 1 / (1 + 10 ** ((ratings[j] - ratings[i]) / 400)))
        ratings[i] += change
        ratings[j] -= change
    spread = None
    if shuffles >= 2 and len(a) <= _MOST_SHUFFLED:
        spread = _shuffled(a, b, target, n, k, shuffles, rng).std(axis=0, ddof=1)
    return OnlineElo(np.array(ratings), spread)


def _shuffled(
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    n: int,
    k: float,
    shuffles: int,
    rng: np.random.Generator,
) -> FloatArray:
    ratings = np.full((shuffles, n), ELO_BASE)
    orders = np.stack([rng.permutation(len(a)) for _ in range(shuffles)])
    run = np.arange(shuffles)
    for step in range(len(a)):
        at = orders[:, step]
        i, j = a[at], b[at]
        gap = (ratings[run, j] - ratings[run, i]) / 400
        change = k * (target[at] - 1 / (1 + 10**gap))
        ratings[run, i] += change
        ratings[run, j] -= change
    return ratings
