"""The profile interval as it was first written: every rate of the grid, every draw fitted.

Nothing is skipped and nothing bounded: what the quick search in `estimation/profile.py` must equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from adjudge.estimation.sample import Counts
from adjudge.validation import BoolArray, FloatArray, generator

#: Rates tried first, before the two ends are bisected.
_GRID = 41
_BISECTIONS = 8
_TINY = 1e-300
_HOPELESS = 30.0
_FIRST = 199


def slow_profile_interval(
    counts: Counts, *, confidence_level: float = 0.95, replicates: int = 999, seed: int = 0
) -> tuple[float, float]:
    """The ends of the interval; for q0 + q1 > 1 only."""
    # One stream per rate, so that the answer does not depend on the order of the search.
    root = int(generator(seed).integers(2**62))
    data = Tallies.of(counts)
    seen: dict[float, bool] = {}

    def kept(theta: float) -> bool:
        if theta not in seen:
            stream = np.random.default_rng([root, round(theta * 2**52)])
            seen[theta] = _kept(theta, data, 1 - confidence_level, replicates, stream)
        return seen[theta]

    grid = [i / (_GRID - 1) for i in range(_GRID)]
    best = float(np.clip((counts.p + counts.q0 - 1) / (counts.q0 + counts.q1 - 1), 0, 1))
    inside = sorted([theta for theta in grid if kept(theta)] + [best])
    low = _edge(kept, inside[0], max([t for t in grid if t < inside[0]], default=None))
    high = _edge(kept, inside[-1], min([t for t in grid if t > inside[-1]], default=None))
    return low, high


def _kept(
    theta: float, data: Tallies, alpha: float, replicates: int, rng: np.random.Generator
) -> bool:
    """Whether the rate is not rejected; plain cases are decided with few or no replicates."""
    # Three free shares: a ratio of this size has a chance below 2 in a million under any of them.
    if float(likelihood_ratio(theta, data)[0]) > _HOPELESS:
        return False
    first = float(p_values(theta, data, _FIRST, rng)[0])
    doubt = 4.5 * math.sqrt(alpha * (1 - alpha) / _FIRST)
    if abs(first - alpha) > doubt:
        return first > alpha
    return float(p_values(theta, data, replicates, rng)[0]) > alpha


def p_values(theta: float, data: Tallies, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Bootstrap p-values of the rate `theta`, one per data set: the larger of the two fits'."""
    observed = likelihood_ratio(theta, data)
    size = len(observed)
    largest = np.zeros(size)
    for q0, q1, p in (best_fit(theta, data), best_fit(theta, data.smoothed())):
        shape = (replicates, size)
        drawn = Tallies(
            k=rng.binomial(int(data.n), p, shape).astype(np.float64).ravel(),
            n=data.n,
            c0=rng.binomial(int(data.m0), q0, shape).astype(np.float64).ravel(),
            m0=data.m0,
            c1=rng.binomial(int(data.m1), q1, shape).astype(np.float64).ravel(),
            m1=data.m1,
        )
        ratios = likelihood_ratio(theta, drawn).reshape(shape)
        # Equal counts must count as equal: their ratios may differ in the last bits.
        as_far = (ratios >= observed - 1e-7).sum(axis=0)
        largest = np.maximum(largest, (1 + as_far) / (replicates + 1))
    return largest


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

    def smoothed(self) -> Tallies:
        return self._replace(c0=self.c0 + 1, m0=self.m0 + 2, c1=self.c1 + 1, m1=self.m1 + 2)


def likelihood_ratio(theta: float, data: Tallies) -> FloatArray:
    """Twice the log-likelihood lost by fixing the rate at `theta`, rates kept within [0, 1]."""
    q0, q1, p = best_fit(theta, data)
    lost = 2 * (_top(data) - _loglik(data, p, q0, q1))
    return np.maximum(lost, 0.0)


def best_fit(theta: float, data: Tallies) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Maximum-likelihood q0, q1 and p = theta q1 + (1-theta)(1-q0) for a fixed rate.

    The log-likelihood is concave. With s = k/p - (n-k)/(1-p), its slope in p, each class solves a
    quadratic, c/q - (m-c)/(1-q) + t = 0 with t = theta s or -(1-theta) s, and what remains is one
    decreasing equation in p: Newton's step where it stays inside the bracket, else bisection.
    Elements that have converged leave the loop.
    """
    k, n, c0, m0, c1, m1 = data
    rest = 1 - theta
    size = len(k)
    q0_out, q1_out = np.empty(size), np.empty(size)
    low, high = np.zeros(size), np.ones(size)
    from_labels = theta * (c1 + 1) / (m1 + 2) + rest * (m0 - c0 + 1) / (m0 + 2)
    trust = theta**2 / (m1 + 2) + rest**2 / (m0 + 2)
    p = ((k + 1) / (n + 2) * trust + from_labels / (n + 2)) / (trust + 1 / (n + 2))
    active = np.arange(size)
    tolerance = 1e-5 / (n + m0 + m1)
    for _ in range(60):
        slope = k / p - (n - k) / (1 - p)
        q1, root1 = _class_fit(theta * slope, c1, m1)
        q0, root0 = _class_fit(-rest * slope, c0, m0)
        gap = theta * q1 + rest * (1 - q0) - p
        above = gap > 0
        low, high = np.where(above, p, low), np.where(above, high, p)
        give = theta**2 * q1 * (1 - q1) / root1 + rest**2 * q0 * (1 - q0) / root0
        step = gap / (1 + give * (k / p**2 + (n - k) / (1 - p) ** 2))
        moved = p + step
        moved = np.where((moved <= low) | (moved >= high), (low + high) / 2, moved)
        q0_out[active], q1_out[active] = q0, q1
        going = np.abs(moved - p) > tolerance
        if not going.any():
            break
        active, p = active[going], moved[going]
        low, high, k, c0, c1 = (array[going] for array in (low, high, k, c0, c1))
    return q0_out, q1_out, np.clip(theta * q1_out + rest * (1 - q0_out), 0, 1)


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
    """The log-likelihood at its highest with the rate anywhere in [0, 1].

    The saturated fit where its rate lies inside, else the better of the two ends, which are
    closed: at rate 0 test rows and class 0 share one share, at rate 1 test rows and class 1.
    """
    k, n, c0, m0, c1, m1 = data
    p, q0, q1 = k / n, c0 / m0, c1 / m1
    zero = (k + m0 - c0) / (n + m0)
    one = (k + c1) / (n + m1)
    ends = np.maximum(_loglik(data, zero, 1 - zero, q1), _loglik(data, one, q0, one))
    inside: BoolArray = (np.minimum(q1, 1 - q0) <= p) & (p <= np.maximum(q1, 1 - q0))
    return np.where(inside, _loglik(data, p, q0, q1), ends)


def _loglik(data: Tallies, p: FloatArray, q0: FloatArray, q1: FloatArray) -> FloatArray:
    k, n, c0, m0, c1, m1 = data
    total = xlogy(k, p) + xlog1py(n - k, -p)
    total = total + xlogy(c0, q0) + xlog1py(m0 - c0, -q0)
    return np.asarray(total + xlogy(c1, q1) + xlog1py(m1 - c1, -q1))


def _edge(kept: Callable[[float], bool], inside: float, outside: float | None) -> float:
    """Where keeping ends between a kept and a rejected rate; the outer end of the last bracket."""
    if outside is None:
        return inside
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        if kept(middle):
            inside = middle
        else:
            outside = middle
    return outside
