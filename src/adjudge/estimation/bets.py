"""Bets on people's difference: the capital after each label, and when it decides.

theta is the mean of h, people's difference on each of N questions, in [-1, 1], and j is the
judge's. A bettor who stakes on theta > theta_0 can multiply a capital by more than 1/alpha with
probability at most alpha if theta <= theta_0, at any time and for any judge (Ville; Waudby-Smith
and Ramdas 2024 for bets without replacement): a poor judge costs labels, not validity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjudge.validation import BoolArray, FloatArray, IntArray

#: The shares of the capital that are staked; the capital is the mean over them.
BETS = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 0.9)
#: No bet loses more than this share.
_MOST_LOST = 0.95
#: Of the error level: to the direction that the judge favours, and to the other.
FAVOURED = 0.8


def log_capital(people: FloatArray, judge: FloatArray, null: float = 0.0) -> FloatArray:
    """Log capital of the bets on theta > `null` after each label, for rows of draws (runs, N).

    `judge` has all N questions in the order of drawing, `people` the first t of them. J_t is the
    mean of j over what remains before draw t, S the sum of past h,
    m_t = (N theta_0 - S)/(N - t + 1), lambda_t = clip((sum h (j - J) + 5 v)/(sum (j - J)^2 + 10 v))
    to [0, 1] from past draws (v = var j), x_t = h - lambda_t (j - J_t) - m_t. Each bet b multiplies
    its capital by 1 + min(b, .95/(m_t + 1 + lambda_t (1 - J_t))) x_t. If m_t < -1, theta > theta_0
    is certain: the capital is infinite. If m_t > 1, theta < theta_0 is certain: nothing is staked.

    >>> sure = log_capital(np.ones((1, 20)), np.zeros((1, 40)))[0]
    >>> bool((np.diff(sure[:20]) > 0).all()), math.exp(sure[-1]) > 1000
    (True, True)
    """
    t, n = people.shape[1], judge.shape[1]
    left = n - np.arange(t)
    drawn = judge[:, :t]
    remaining = (judge.sum(axis=1, keepdims=True) - _before(drawn)) / left
    needed = (n * null - _before(people)) / left
    spread = judge.var(axis=1, keepdims=True)
    off = drawn - remaining
    below = _before(off**2) + 10 * spread
    together = _before(people * off) + 5 * spread
    slope = np.divide(together, below, out=np.zeros_like(off), where=below > 0)
    slope = np.clip(slope, 0.0, 1.0)
    gain = people - slope * off - needed
    worst = needed + 1 + slope * (1 - remaining)
    most = np.divide(_MOST_LOST, worst, out=np.full_like(worst, np.inf), where=worst > 1e-12)
    playing = (needed >= -1) & (needed <= 1)
    capitals = np.empty((len(BETS), *gain.shape))
    for at, bet in enumerate(BETS):
        stake = np.where(playing, np.minimum(bet, most), 0.0)
        capitals[at] = np.cumsum(np.log1p(np.maximum(stake * gain, -1 + 1e-12)), axis=1)
    top = capitals.max(axis=0)
    mixed = top + np.log(np.exp(capitals - top).mean(axis=0))
    # m_t is known before label t, but only after the sums that make it certain.
    certain = np.maximum.accumulate(needed < -1 - 1e-12, axis=1)
    finished = np.zeros_like(certain)
    if t == n:
        finished[:, -1] = people.mean(axis=1) > null + 1e-12
    return np.where(certain | finished, np.inf, mixed)


def _before(values: FloatArray) -> FloatArray:
    """Sums over all earlier draws."""
    return np.pad(np.cumsum(values, axis=1)[:, :-1], ((0, 0), (int(values.shape[1] > 0), 0)))


class Decisions(NamedTuple):
    """For each run the first label at which it was decided (0: not), and what was decided.

    `sign`: 1 if theta > 0, -1 if theta < 0, 0 if equal within delta; undecided runs have 0 too.
    `capitals` are the log capitals up and down after each label, `needs` what of each decides.
    """

    label: IntArray
    sign: IntArray
    equal: BoolArray
    capitals: Sequence[FloatArray]
    needs: Sequence[FloatArray]


def decide(
    people: FloatArray, judge: FloatArray, *, alpha: float = 0.05, delta: float | None = None
) -> Decisions:
    """When the bets decide: above 0, below 0, or within [-delta, delta].

    Above 0 needs a capital of 1/(.8 alpha) if the judge's mean is above 0, else 1/(.2 alpha); below
    0 is its mirror (.5 and .5 if the judge's mean is 0). Equal within delta needs 1/alpha of both
    bets: above -delta and below +delta. The error is at most alpha for any judge.
    """
    means = judge.mean(axis=1)
    weight = np.where(means > 1e-12, FAVOURED, np.where(means < -1e-12, 1 - FAVOURED, 0.5))
    needs = -np.log(weight * alpha), -np.log((1 - weight) * alpha)
    sides = (people, judge), (-people, -judge)
    capitals = [log_capital(*side) for side in sides]
    # A column before the first label, in which nothing is decided.
    before = ((0, 0), (1, 0))
    up, down = (np.pad(c >= need[:, None], before) for c, need in zip(capitals, needs, strict=True))
    equal = np.zeros_like(up)
    if delta is not None:
        bets = [log_capital(*side, -delta) >= -math.log(alpha) for side in sides]
        above, below = (np.maximum.accumulate(bet, axis=1) for bet in bets)
        equal = np.pad(above & below, before)
    label = (up | down | equal).argmax(axis=1)
    first = np.arange(len(label)), label
    sign = np.where(up[first], 1, np.where(down[first], -1, 0))
    return Decisions(label, sign, equal[first] & (sign == 0), capitals, needs)


def smallest_decided(spread: float, questions: int, labels: int, alpha: float = 0.05) -> float:
    """About the smallest mean difference that this many labels of N decide in half of runs.

    The capital grows by g^2/(2 s^2) per label, drawn without replacement:
    t0 = 2 s^2 log(7/(.8 alpha))/g^2, labels = t0/(1 + t0/N).

    >>> round(smallest_decided(0.45, 1000, 600), 3), smallest_decided(0.45, 600, 600)
    (0.037, 0.0)
    """
    if labels >= questions:
        return 0.0
    effective = labels / (1 - labels / questions)
    return spread * math.sqrt(2 * math.log(len(BETS) / (FAVOURED * alpha)) / effective)
