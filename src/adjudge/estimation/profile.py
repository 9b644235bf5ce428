"""An interval that keeps its level for weak judges and few, unbalanced labels.

A rate stays in the interval if the data are not too unlikely under it, by simulation at that rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from adjudge.estimation.sample import Counts
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, count, generator, open_unit

#: Rates that are tried before the two ends are bisected.
_GRID = 41
_BISECTIONS = 8
#: A rate with such a ratio is hardly ever rejected.
_LIKELY = 2.0
#: Three free shares: a ratio of this size has a probability below 2 in a million under any of them.
_HOPELESS = 30.0
_FIRST = 199
#: If no first replicate is as extreme, reject if that has a smaller probability than the level.
_RARE = 1e-4
_TINY = 1e-300
#: The number of steps after which a fit has converged.
_STEPS = 60


def profile_interval(
    counts: Counts, *, confidence_level: float = 0.95, replicates: int = 999, seed: Seed = 0
) -> tuple[float, float]:
    """Interval for the corrected rate by inverting a bootstrapped likelihood-ratio test.

    k ~ Bin(n, theta q1 + (1-theta)(1-q0)), c1 ~ Bin(m1, q1), c0 ~ Bin(m0, q0). For a rate theta the
    statistic is twice the log-likelihood lost by fixing the rate. Its cutoff is the larger of two
    parametric-bootstrap quantiles: with q0, q1 at their best fit given theta, and at that fit after
    adding one success and one failure to each class (with a fit of exactly 1 the bootstrap would
    have no noise). The interval is the hull of the rates that are not rejected. With
    q0 + q1 <= 1 in the labels it is [0, 1].

    Measured coverage at 95 %, pointwise, 1,500 samples per cell: 0.949 or more at m0 = m1 = 10
    and at 100 and 10, judges from 0.6 to 0.9, rates from 0 to 1. Rows are treated as
    independent; there is no version for clusters, strata, weights or probabilities.

    Args:
        counts: Test rows and labelled rows, counted by verdict and label.
        confidence_level: Confidence level of the interval.
        replicates: Simulated samples for a rate that is close to the cutoff.
        seed: Seed of everything random. A number or a numpy Generator.

    >>> weak = Counts(k=500, n=1000, c0=60, m0=100, c1=6, m1=10)
    >>> profile_interval(weak)
    (0.0, 1.0)
    """
    alpha = 1 - open_unit(confidence_level, "confidence_level")
    count(replicates, "replicates", least=99)
    if not counts.informative:
        return 0.0, 1.0
    # One stream per rate, so that the result does not depend on the order of the search.
    root = int(generator(seed).integers(2**62))
    data = Tallies.of(counts)

    def keep(rates: FloatArray) -> BoolArray:
        """Which rates are not rejected; clear cases are decided with few replicates."""
        if not rates.size:
            return np.zeros(0, dtype=np.bool_)
        streams = [np.random.default_rng([root, round(theta * 2**52)]) for theta in rates.tolist()]
        tests = _Tests.of(rates, data.repeat(len(rates)))
        first = tests.p_values(_FIRST, streams)
        kept = np.asarray(first > alpha)
        unsure = np.abs(first - alpha) <= 4.5 * math.sqrt(alpha * (1 - alpha) / _FIRST)
        if (1 - alpha) ** _FIRST < _RARE:
            unsure &= first > 1 / (_FIRST + 1)
        if unsure.any():
            again = [stream for stream, open_ in zip(streams, unsure, strict=True) if open_]
            kept[unsure] = tests.select(unsure).p_values(replicates, again) > alpha
        return kept

    edge = counts.q0 + counts.q1 - 1
    best = float(np.clip((counts.p + counts.q0 - 1) / edge, 0, 1))
    grid = np.arange(_GRID) / (_GRID - 1)
    ratios = likelihood_ratio(grid, data.repeat(_GRID))
    far = grid[(ratios > _LIKELY) & (ratios <= _HOPELESS)]
    hull = [best, *far[keep(far)].tolist()]
    # A likely rate is only needed where no rate further out is kept.
    near = grid[ratios <= _LIKELY]
    near = near[(near < min(hull)) | (near > max(hull))]
    hull += near[keep(near)].tolist()
    # Each end is between a kept rate and the next one of the grid, if there is one; both ends are
    # bisected together, and the outer end of the last bracket is returned.
    inside = np.array([min(hull), max(hull)])
    below = grid[grid < inside[0]]
    above = grid[grid > inside[1]]
    outside = np.array([max(below, default=0.0), min(above, default=1.0)])
    open_ = inside != outside
    for _ in range(_BISECTIONS if open_.any() else 0):
        middle = (inside + outside) / 2
        kept = np.ones_like(open_)
        kept[open_] = keep(middle[open_])
        inside = np.where(kept, middle, inside)
        outside = np.where(kept, outside, middle)
    return float(outside[0]), float(outside[1])


def p_values(theta: float, data: Tallies, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Bootstrap p-values of the rate `theta`, one per data set: the larger of the two fits'."""
    rates = np.full(len(data.k), theta)
    return _Tests.of(rates, data).p_values(replicates, [rng] * len(rates))


class _Tests(NamedTuple):
    """Tests of a rate on a data set each: the loss there, and the two fits to sample from.

    `fits` has an axis for the fit, one for its shares (q0, q1, p) and one for the data set.
    """

    theta: FloatArray
    data: Tallies
    observed: FloatArray
    fits: FloatArray

    @classmethod
    def of(cls, theta: FloatArray, data: Tallies) -> _Tests:
        fit = best_fit(theta, data)
        fits = np.stack([fit, best_fit(theta, data.smoothed())])
        return cls(theta, data, lost_by(data, *fit), fits)

    def select(self, rows: BoolArray) -> _Tests:
        theta = self.theta[rows]
        observed = self.observed[rows]
        fits = self.fits[:, :, rows]
        return _Tests(theta, self.data.select(rows), observed, fits)

    def p_values(self, replicates: int, streams: Sequence[np.random.Generator]) -> FloatArray:
        """The larger of the two fits' bootstrap p-values.

        Data sets are sampled from a fit that has the rate. None can lose more by the rate than it
        loses by the complete fit, which decides most of them.
        """
        drawn = self._draw(replicates, streams)
        shape = drawn.k.shape
        # Equal counts must count as equal: their ratios can differ in the last bits.
        enough = np.broadcast_to(self.observed[:, None] - 1e-7, shape)
        unsettled = drawn.lost_by_fit(*(self.fits[:, share, :, None] for share in range(3)))
        rows = np.nonzero(unsettled >= enough - 1e-7)
        theta = np.broadcast_to(self.theta[:, None], shape)[rows]
        far = likelihood_ratio(theta, drawn.select(rows)) >= enough[rows]
        at = np.ravel_multi_index((rows[0][far], rows[1][far]), shape[:2])
        as_far = np.bincount(at, minlength=shape[0] * shape[1]).reshape(shape[:2])
        return np.asarray(np.max((1 + as_far) / (replicates + 1), axis=0))

    def _draw(self, replicates: int, streams: Sequence[np.random.Generator]) -> Tallies:
        """Data sets from both fits of each test, by its own stream."""
        _, n, _, m0, _, m1 = self.data
        shape = (2, len(self.theta), replicates)
        k = np.empty(shape)
        c0 = np.empty(shape)
        c1 = np.empty(shape)
        for i, stream in enumerate(streams):
            for j, (q0, q1, p) in enumerate(self.fits[:, :, i].tolist()):
                k[j, i] = stream.binomial(int(n), p, replicates)
                c0[j, i] = stream.binomial(int(m0), q0, replicates)
                c1[j, i] = stream.binomial(int(m1), q1, replicates)
        return Tallies(k, n, c0, m0, c1, m1)


# --- the likelihood of a rate: the best fit, and the loss from fixing the rate, vectorised ---


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
        def one(value: int) -> FloatArray:
            return np.array([float(value)])

        c = counts
        return cls(one(c.k), c.n, one(c.c0), c.m0, one(c.c1), c.m1)

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
        return self._replace(
            k=self.k.repeat(times), c0=self.c0.repeat(times), c1=self.c1.repeat(times)
        )

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
    """Maximum-likelihood q0, q1 and p = theta q1 + (1-theta)(1-q0) for a fixed rate."""
    size = len(data.k)
    rate = np.broadcast_to(theta, size)
    fit = np.empty((2, size))
    search = _Search(rate, data)
    tolerance = 1e-5 / (data.n + data.m0 + data.m1)
    for _ in range(_STEPS):
        search.step()
        fit[:, search.active] = search.q0, search.q1
        going = np.abs(search.moved - search.p) > tolerance
        if not going.any():
            break
        search.move(going)
    q0, q1 = fit
    return q0, q1, np.clip(rate * q1 + (1 - rate) * (1 - q0), 0, 1)


class _Search:
    """The search for the best p of each active element, inside its bracket.

    The log-likelihood is concave. With s = k/p - (n-k)/(1-p), its slope in p, each class solves a
    quadratic, c/q - (m-c)/(1-q) + t = 0 with t = theta s or -(1-theta) s. What remains is one
    decreasing equation in p, solved by Newton's step inside the bracket, else by bisection.
    """

    def __init__(self, theta: FloatArray, data: Tallies) -> None:
        k, n, c0, m0, c1, m1 = data
        rest = 1 - theta
        # With one right and one wrong verdict added to each class, no share is 0 or 1.
        from_labels = theta * (c1 + 1) / (m1 + 2) + rest * (m0 - c0 + 1) / (m0 + 2)
        trust = theta**2 / (m1 + 2) + rest**2 / (m0 + 2)
        self.theta = theta
        self.data = data
        self.active = np.arange(len(k))
        from_verdicts = (k + 1) / (n + 2) * trust
        self.p = (from_verdicts + from_labels / (n + 2)) / (trust + 1 / (n + 2))
        self.low = np.zeros(len(k))
        self.high = np.ones(len(k))

    def step(self) -> None:
        """Best q0 and q1 for the slope at p, the gap by which they miss p, and the next p."""
        k, n, c0, m0, c1, m1 = self.data
        theta = self.theta
        p = self.p
        rest = 1 - theta
        self.slope = k / p - (n - k) / (1 - p)
        self.q1, root1 = _class_fit(theta * self.slope, c1, m1)
        self.q0, root0 = _class_fit(-rest * self.slope, c0, m0)
        q0 = self.q0
        q1 = self.q1
        self.gap = theta * q1 + rest * (1 - q0) - p
        above = self.gap > 0
        low = np.where(above, p, self.low)
        high = np.where(above, self.high, p)
        give1 = theta**2 * q1 * (1 - q1) / root1
        give0 = rest**2 * q0 * (1 - q0) / root0
        curve = k / p**2 + (n - k) / (1 - p) ** 2
        moved = p + self.gap / (1 + (give1 + give0) * curve)
        self.moved = np.where((moved <= low) | (moved >= high), (low + high) / 2, moved)
        self.low = low
        self.high = high

    def move(self, rows: BoolArray) -> None:
        self.data = self.data.select(rows)
        self.p = self.moved[rows]
        self.theta = self.theta[rows]
        self.active = self.active[rows]
        self.low = self.low[rows]
        self.high = self.high[rows]


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

    This is the saturated fit if its rate lies inside, else the better of the two ends: at rate 0,
    test rows and class 0 have the same share; at rate 1, test rows and class 1.
    """
    k, n, c0, m0, c1, m1 = data
    p = k / n
    q0 = c0 / m0
    q1 = c1 / m1
    zero = (k + m0 - c0) / (n + m0)
    one = (k + c1) / (n + m1)
    ends = np.maximum(_loglik(data, zero, 1 - zero, q1), _loglik(data, one, q0, one))
    inside: BoolArray = (np.minimum(q1, 1 - q0) <= p) & (p <= np.maximum(q1, 1 - q0))
    return np.where(inside, _loglik(data, p, q0, q1), ends)


def _loglik(data: Tallies, p: FloatArray, q0: FloatArray, q1: FloatArray) -> FloatArray:
    of_test = _share_loglik(data.k, data.n, p)
    return of_test + (_share_loglik(data.c0, data.m0, q0) + _share_loglik(data.c1, data.m1, q1))


def _share_loglik(hits: FloatArray, size: float, share: FloatArray) -> FloatArray:
    return np.asarray(xlogy(hits, share) + xlog1py(size - hits, -share))


@lru_cache(maxsize=2)
def _x_log_x(most: int) -> FloatArray:
    """x log x for the integers from 0 to `most`."""
    whole = np.arange(most + 1.0)
    return np.asarray(xlogy(whole, whole))
