"""Evidence that a judge changed, from the same rows asked again. No retest rate is estimated.

Each anchor was asked k >= 2 times at calibration and is asked once more now. If the judge did not
change, its k + 1 answers are exchangeable: the new one is each of them with equal probability. So
for any property that one answer of the k + 1 has, the probability p0 that the new answer has it is
known, however often the judge contradicts itself on this anchor. A bet on it at the probability q
multiplies its wealth by

    q / p0                  if the new answer has the property,
    (1 - q) / (1 - p0)      if not,                                  which is 1 on average.

**Verdicts.** c of the k + 1 are on the smaller side: p0 = c / (k + 1), and q is at least p0. If all
are equal, or both sides are, nothing is bet.

**Scores.** The new one is strictly the highest; strictly the lowest; strictly the farthest from the
mean of the others: p0 = 1 / (k + 1) each. If two share the extreme, nothing is bet on it.

The wealth of every bet is a martingale over the anchors, and e is a mean of them. By Ville's
inequality P(e >= 1 / delta after some anchor) <= delta while the judge is unchanged.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.validation import BoolArray, FloatArray

#: Probabilities that the new verdict is on the smaller side.
_SMALLER = np.array([0.5, 0.7, 0.9, 0.97])
#: Probabilities that the new score is the extreme one.
_EXTREME = np.array([0.45, 0.6, 0.8])


def log_retest(before: ArrayLike, now: ArrayLike, *, verdicts: bool) -> FloatArray:
    """ln e after each anchor that has an answer now, in the order of the anchors.

    Args:
        before: The judge's numbers at calibration: a row per anchor, a column per pass; NaN for no
            answer. An anchor with fewer than two of them bets nothing.
        now: Its number for each anchor now; NaN for no answer.
        verdicts: Whether the numbers are probabilities, whose side of one half is a verdict. Then
            half of the evidence is about verdicts, half about the numbers themselves.

    >>> before = [[0.9, 0.9], [0.2, 0.2], [0.8, 0.7]]
    >>> float(log_retest(before, [0.9, 0.2, 0.75], verdicts=True)[-1].round(2))
    -0.15
    >>> log_retest(before, [0.1, 0.8, 0.2], verdicts=True).round(2).tolist()
    [0.66, 1.39, 2.21]
    """
    answers = _with_new(before, now)
    logs = _log_wealth(_score_bets(answers))
    if verdicts:
        sides = np.where(answers == 0.5, np.nan, (answers > 0.5).astype(float))
        sides[np.isnan(answers)] = np.nan
        logs = np.logaddexp(logs, _log_wealth(_verdict_bets(sides))) - math.log(2)
    return logs


def moved_verdicts(before: ArrayLike, now: ArrayLike) -> BoolArray:
    """Which new verdicts differ from all verdicts of an anchor at calibration.

    >>> moved_verdicts([[0.9, 0.8], [0.9, 0.4]], [0.3, 0.3]).tolist()
    [True, False]
    """
    answers = _with_new(before, now)
    sides = np.sign(answers - 0.5)
    others = sides[:, :-1]
    new = sides[:, -1:]
    differs = np.isnan(others) | (others * new < 0)
    return np.asarray(differs.all(axis=1) & ~np.isnan(new[:, 0]) & (new[:, 0] != 0))


def _with_new(before: ArrayLike, now: ArrayLike) -> FloatArray:
    """All answers about each anchor, the new one last."""
    earlier = np.asarray(before, dtype=float)
    new = np.asarray(now, dtype=float)
    if earlier.ndim != 2 or new.shape != earlier.shape[:1]:
        shapes = f"{earlier.shape} and {new.shape}"
        raise ArgumentError("now", shapes, "give a row of earlier answers for each new one")
    return np.column_stack([earlier, new])


def _verdict_bets(sides: FloatArray) -> FloatArray:
    """The logarithm of each bet's factor: a row per anchor, a column per bet."""
    n = (~np.isnan(sides)).sum(axis=1)
    ones = np.nansum(sides, axis=1)
    new = sides[:, -1]
    smaller = np.minimum(ones, n - ones)
    bets = (n >= 3) & (smaller > 0) & (2 * ones != n) & ~np.isnan(new)
    chance = np.where(bets, smaller / np.maximum(n, 1), 1 / 3)
    hit = new == (2 * ones < n)
    return _log_factors(bets, hit, chance, _SMALLER)


def _score_bets(answers: FloatArray) -> FloatArray:
    """The logarithm of each bet's factor: a row per anchor, a column per bet and extreme."""
    n = (~np.isnan(answers)).sum(axis=1)
    # Sorted, so that rounding depends on the values alone and not on which of them is new.
    total = np.nansum(np.sort(answers, axis=1), axis=1)
    from_mean = np.abs(n[:, None] * answers - total[:, None])
    chance = 1 / np.maximum(n, 3)
    factors = []
    for heights in (answers, -answers, from_mean):
        highest = np.max(np.where(np.isnan(heights), -np.inf, heights), axis=1)
        alone = (heights == highest[:, None]).sum(axis=1) == 1
        bets = (n >= 3) & alone & ~np.isnan(answers[:, -1])
        factors.append(_log_factors(bets, heights[:, -1] == highest, chance, _EXTREME))
    return np.concatenate(factors, axis=1)


def _log_factors(bets: BoolArray, hit: BoolArray, chance: FloatArray, on: FloatArray) -> FloatArray:
    p0 = chance[:, None]
    q = np.maximum(p0, on)
    factors = np.where(hit[:, None], np.log(q / p0), np.log((1 - q) / (1 - p0)))
    return np.where(bets[:, None], factors, 0.0)


def _log_wealth(factors: FloatArray) -> FloatArray:
    wealth = np.cumsum(factors, axis=0)
    return np.asarray(np.logaddexp.reduce(wealth, axis=1) - math.log(wealth.shape[1]))
