"""Which battles to judge next: to cover every model alike, or to learn the most about strengths."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from adjudge._bradley_terry import DEFAULT_L2, fit_strengths
from adjudge._validation import FloatArray, IntArray, Seed, count, generator, one_of

RULES = ("coverage", "information")


def next_battles(
    a: IntArray,
    b: IntArray,
    n: int,
    *,
    budget: int,
    rule: str = "coverage",
    wins: FloatArray | None = None,
    l2: float = DEFAULT_L2,
    rng: Seed = 0,
) -> IntArray:
    """Positions in the pool (battle k would be a[k] against b[k]) of up to `budget` battles.

    `coverage` (appendix A): the model with the fewest battles so far meets, of the opponents the
    pool still holds for it, the one with the fewest. `information`: the pair whose battle adds most
    to log det of the information, p(1 - p) times the variance of the difference, updated after each
    choice (greedy D-optimal design). `wins` are the battles judged already. Battles of one pair are
    taken in random order. Choosing by pair leaves estimates of strength valid; choosing by prompt
    content would not.

    >>> a, b = np.array([0, 0, 0, 1]), np.array([1, 1, 1, 2])
    >>> sorted(next_battles(a, b, 3, budget=2, rng=0).tolist())[-1]
    3
    """
    rule = one_of(rule, RULES, "rule")
    budget = count(budget, "budget", least=1)
    draw = generator(rng)
    judged = np.zeros((n, n)) if wins is None else wins + wins.T
    low, high = np.minimum(a, b), np.maximum(a, b)
    shuffled = draw.permutation(len(a))
    order = shuffled[np.argsort((low * n + high)[shuffled], kind="stable")]
    pair, first, left = np.unique((low * n + high)[order], return_index=True, return_counts=True)
    taken = np.zeros(len(pair), dtype=np.int64)
    chosen = []
    pick: _Coverage | _Information = _Coverage(pair, n, judged)
    if rule == "information":
        pick = _Information(pair, n, judged, wins, l2)
    for _ in range(min(budget, len(a))):
        at = pick.best(taken < left)
        chosen.append(order[first[at] + taken[at]])
        taken[at] += 1
        pick.took(at)
    return np.array(chosen, dtype=np.int64)


class _Coverage:
    """Fewest battles first, on both sides."""

    def __init__(self, pair: IntArray, n: int, judged: FloatArray) -> None:
        self.i, self.j = pair // n, pair % n
        self.seen = judged.sum(axis=1)
        self.met = judged[self.i, self.j].copy()

    def best(self, available: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        x, y = self.seen[self.i], self.seen[self.j]
        # Scarcest side first, then the other side, then pairs that have met least.
        key = np.minimum(x, y) * 1e12 + np.maximum(x, y) * 1e6 + self.met
        return int(np.argmin(np.where(available, key, np.inf)))

    def took(self, at: int) -> None:
        self.seen[self.i[at]] += 1
        self.seen[self.j[at]] += 1
        self.met[at] += 1


class _Information:
    """Greatest gain ln(1 + p(1-p) Var(theta_i - theta_j)), the covariance kept up to date."""

    def __init__(
        self, pair: IntArray, n: int, judged: FloatArray, wins: FloatArray | None, l2: float
    ) -> None:
        self.i, self.j = pair // n, pair % n
        theta = np.zeros(n) if wins is None else fit_strengths(wins, l2=l2)
        p = expit(theta[:, None] - theta[None, :])
        weight = p * (1 - p)
        self.weight = weight[self.i, self.j]
        known = judged * weight
        np.fill_diagonal(known, 0.0)
        # Half a battle's worth of prior per model keeps unseen models finite and equally unknown.
        prior = max(2 * l2, 0.125)
        self.covariance = np.linalg.inv(np.diag(known.sum(axis=1) + prior) - known)

    def best(self, available: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        own = np.diag(self.covariance)
        variance = own[self.i] + own[self.j] - 2 * self.covariance[self.i, self.j]
        return int(np.argmax(np.where(available, self.weight * variance, -np.inf)))

    def took(self, at: int) -> None:
        i, j = self.i[at], self.j[at]
        column = self.covariance[:, i] - self.covariance[:, j]
        w = self.weight[at]
        self.covariance -= (w / (1 + w * (column[i] - column[j]))) * np.outer(column, column)
