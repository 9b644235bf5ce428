"""Orders from who beat whom, without a model of strength: win rate, Copeland, Schulze.

All take a table of wins, `wins[i, j]` = how often i beat j, ties as one half to each (diagnosis
paper, section 3.1). The higher the score the better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import FloatArray
from adjudge.errors import ArgumentError


def win_rate(wins: ArrayLike) -> FloatArray:
    """Share of its battles that each model won; one half without a battle would be a guess: NaN.

    Depends on whom a model met. Compare it across models only when opponents were drawn alike.

    >>> win_rate([[0, 3], [1, 0]]).tolist()
    [0.75, 0.25]
    """
    table = square(wins)
    won, lost = table.sum(axis=1), table.sum(axis=0)
    rate = np.full(len(table), np.nan)
    np.divide(won, won + lost, out=rate, where=(won + lost) > 0)
    return rate


def copeland(wins: ArrayLike) -> FloatArray:
    """Rivals beaten more often than not, minus rivals lost to. A pair that never met counts 0.

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
    """A checked table of wins, its diagonal emptied."""
    table = np.array(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ArgumentError("wins", f"shape {table.shape}", "give a square table, wins[i, j]")
    if not np.isfinite(table).all() or np.any(table < 0):
        raise ArgumentError("wins", "negative or missing", "give counts that are not negative")
    np.fill_diagonal(table, 0.0)
    return table
