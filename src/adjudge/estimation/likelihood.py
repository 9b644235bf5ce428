"""The likelihood of a rate: the best fit, and the loss from fixing the rate, vectorised.

k ~ Bin(n, theta q1 + (1-theta)(1-q0)), c1 ~ Bin(m1, q1), c0 ~ Bin(m0, q0).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from adjudge.estimation.counts import Counts
from adjudge.validation import BoolArray, FloatArray, IntArray

_TINY = 1e-300
#: The number of steps after which a fit has converged.
_STEPS = 60


class Tallies(NamedTuple):
    """The counts of many data sets of the same three sizes, as float arrays."""

    k: FloatArray
    n: float
    c0: FloatArray
    m0: float
    c1: FloatArray
    m1: float

    @classmethod
    def of(cls, counts: Counts) -> Tallies:
        k, c0, c1 = (np.array([float(v)]) for v in (counts.k, counts.c0, counts.c1))
        return cls(k, counts.n, c0, counts.m0, c1, counts.m1)

    def lost_by_fit(self, q0: FloatArray, q1: FloatArray, p: FloatArray) -> FloatArray:
        """Twice the log-likelihood that a complete fit loses against the observed shares."""
        logs = _x_log_x(int(max(self.n, self.m0, self.m1)))
        lost = np.zeros(self.k.shape)
        k, n, c0, m0, c1, m1 = self
        for hits, size, share in ((k, n, p), (c0, m0, q0), (c1, m1, q1)):
            whole = hits.astype(np.int64)
            misses = size - hits
            lost += logs[whole] + logs[int(size) - whole] - logs[int(size)]
            # A share of 0 or 1 has no hits or no misses.
            lost -= hits * np.log(np.maximum(share, _TINY))
            lost -= misses * np.log(np.maximum(1 - share, _TINY))
        return 2 * lost

    def repeat(self, times: int) -> Tallies:
        k, c0, c1 = (array.repeat(times) for array in (self.k, self.c0, self.c1))
        return self._replace(k=k, c0=c0, c1=c1)

    def select(self, rows: BoolArray | tuple[IntArray, ...]) -> Tallies:
        return self._replace(k=self.k[rows], c0=self.c0[rows], c1=self.c1[rows])

    def smoothed(self) -> Tallies:
        return self._replace(c0=self.c0 + 1, m0=self.m0 + 2, c1=self.c1 + 1, m1=self.m1 + 2)


#: q0, q1 and p of each data set.
Fit = tuple[FloatArray, FloatArray, FloatArray]


def likelihood_ratio(theta: float | FloatArray, data: Tallies) -> FloatArray:
    """Twice the log-likelihood lost by fixing the rate at `theta`, with rates within [0, 1]."""
    return lost_by(data, *best_fit(theta, data))


def lost_by(data: Tallies, q0: FloatArray, q1: FloatArray, p: FloatArray) -> FloatArray:
    """Twice the log-likelihood that a fit loses against the best one with any rate in [0, 1]."""
    return np.maximum(2 * (_top(data) - _loglik(data, p, q0, q1)), 0.0)


def best_fit(theta: float | FloatArray, data: Tallies) -> Fit:
    """Maximum-likelihood q0, q1 and p = theta q1 + (1-theta)(1-q0) for a fixed rate.

    Converged elements leave the loop.
    """
    size = len(data.k)
    rate = np.broadcast_to(theta, size)
    fit = np.empty((2, size))
    search, active = _Search.begin(rate, data), np.arange(size)
    tolerance = 1e-5 / (data.n + data.m0 + data.m1)
    for _ in range(_STEPS):
        at = search.step()
        fit[:, active] = at.q0, at.q1
        going = np.abs(at.moved - search.p) > tolerance
        if not going.any():
            break
        active, search = active[going], search.move(at, going)
    return fit[0], fit[1], np.clip(rate * fit[1] + (1 - rate) * (1 - fit[0]), 0, 1)


def loses(theta: FloatArray, data: Tallies, enough: FloatArray) -> BoolArray:
    """Whether the likelihood ratio of each rate is at least `enough`.

    On the way to the best fit, the ratio lies between two bounds. No fit with this rate is better
    than the best fit. By duality, none is better than the three shares fitted separately, with a
    price `slope` per unit by which they miss the rate. An element leaves the loop when a bound
    decides it.
    """
    decided = np.zeros(len(data.k), dtype=bool)
    search, active, top = _Search.begin(theta, data), np.arange(len(decided)), _top(data)
    for _ in range(_STEPS):
        at = search.step()
        classes = _classes_loglik(search.data, at.q0, at.q1)
        apart = _share_loglik(search.data, search.p) + at.slope * at.gap
        together = _share_loglik(search.data, np.clip(search.p + at.gap, 0, 1))
        decided[active] = 2 * (top - classes - together) >= enough
        open_ = decided[active] & (2 * (top - classes - apart) < enough)
        if not open_.any():
            break
        active, top, enough = active[open_], top[open_], enough[open_]
        search = search.move(at, open_)
    return decided


class _Step(NamedTuple):
    """Best q0 and q1 for the slope at p, by how much they miss p, and the next p."""

    q0: FloatArray
    q1: FloatArray
    slope: FloatArray
    gap: FloatArray
    moved: FloatArray
    low: FloatArray
    high: FloatArray


class _Search(NamedTuple):
    """The search for the best p of each element, inside its bracket.

    The log-likelihood is concave. With s = k/p - (n-k)/(1-p), its slope in p, each class solves a
    quadratic, c/q - (m-c)/(1-q) + t = 0 with t = theta s or -(1-theta) s. What remains is one
    decreasing equation in p, solved by Newton's step if it stays inside the bracket, else by
    bisection.
    """

    theta: FloatArray
    data: Tallies
    p: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def begin(cls, theta: FloatArray, data: Tallies) -> _Search:
        k, n, c0, m0, c1, m1 = data
        rest = 1 - theta
        from_labels = theta * (c1 + 1) / (m1 + 2) + rest * (m0 - c0 + 1) / (m0 + 2)
        trust = theta**2 / (m1 + 2) + rest**2 / (m0 + 2)
        p = ((k + 1) / (n + 2) * trust + from_labels / (n + 2)) / (trust + 1 / (n + 2))
        return cls(theta, data, p, np.zeros(len(k)), np.ones(len(k)))

    def step(self) -> _Step:
        k, n, c0, m0, c1, m1 = self.data
        theta, p = self.theta, self.p
        rest = 1 - theta
        slope = k / p - (n - k) / (1 - p)
        q1, root1 = _class_fit(theta * slope, c1, m1)
        q0, root0 = _class_fit(-rest * slope, c0, m0)
        gap = theta * q1 + rest * (1 - q0) - p
        above = gap > 0
        low, high = np.where(above, p, self.low), np.where(above, self.high, p)
        give = theta**2 * q1 * (1 - q1) / root1 + rest**2 * q0 * (1 - q0) / root0
        moved = p + gap / (1 + give * (k / p**2 + (n - k) / (1 - p) ** 2))
        moved = np.where((moved <= low) | (moved >= high), (low + high) / 2, moved)
        return _Step(q0, q1, slope, gap, moved, low, high)

    def move(self, at: _Step, rows: BoolArray) -> _Search:
        """One more step for these elements only."""
        data, moved = self.data.select(rows), at.moved[rows]
        return _Search(self.theta[rows], data, moved, at.low[rows], at.high[rows])


def _class_fit(t: FloatArray, c: FloatArray, m: float) -> tuple[FloatArray, FloatArray]:
    """Root in [0, 1] of t q^2 + (m - t) q - c = 0, by the form without cancellation; and sqrt."""
    b = m - t
    root = np.sqrt(np.maximum(b * b + 4 * t * c, 0.0))
    plain = b > 0
    q = np.where(
        plain, 2 * c / np.maximum(b + root, _TINY), (root - b) / (2 * np.where(plain, 1.0, t))
    )
    return np.clip(q, 0, 1), np.maximum(root, 1e-12)


def _top(data: Tallies) -> FloatArray:
    """The maximum of the log-likelihood over all rates in [0, 1].

    This is the saturated fit if its rate lies inside, else the better of the two ends, which have a
    closed form: at rate 0, test rows and class 0 have the same share; at rate 1, test rows and
    class 1.
    """
    k, n, c0, m0, c1, m1 = data
    p, q0, q1 = k / n, c0 / m0, c1 / m1
    zero = (k + m0 - c0) / (n + m0)
    one = (k + c1) / (n + m1)
    ends = np.maximum(_loglik(data, zero, 1 - zero, q1), _loglik(data, one, q0, one))
    inside: BoolArray = (np.minimum(q1, 1 - q0) <= p) & (p <= np.maximum(q1, 1 - q0))
    return np.where(inside, _loglik(data, p, q0, q1), ends)


def _loglik(data: Tallies, p: FloatArray, q0: FloatArray, q1: FloatArray) -> FloatArray:
    return _share_loglik(data, p) + _classes_loglik(data, q0, q1)


def _share_loglik(data: Tallies, p: FloatArray) -> FloatArray:
    return np.asarray(xlogy(data.k, p) + xlog1py(data.n - data.k, -p))


def _classes_loglik(data: Tallies, q0: FloatArray, q1: FloatArray) -> FloatArray:
    _, _, c0, m0, c1, m1 = data
    total = xlogy(c0, q0) + xlog1py(m0 - c0, -q0)
    return np.asarray(total + xlogy(c1, q1) + xlog1py(m1 - c1, -q1))


@lru_cache(maxsize=2)
def _x_log_x(most: int) -> FloatArray:
    """x log x for the integers from 0 to `most`."""
    whole = np.arange(most + 1.0)
    return np.asarray(xlogy(whole, whole))
