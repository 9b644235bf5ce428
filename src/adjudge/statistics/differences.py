"""Differences of two systems on the same questions: intervals, many at once.

d is the score of B minus that of A on a question, so every difference is B - A. All functions take
checked arrays. The constants were chosen on resampled tables of real systems and are checked again
by simulation (`tests/montecarlo/test_compare_covers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from adjudge.records import Interval
from adjudge.statistics.numbers import slices
from adjudge.validation import BoolArray, FloatArray

#: Fewer questions, or fewer labelled ones, give no interval.
FEWEST = 30
#: With fewer labels than this, pseudo labels are added.
FEW_LABELS = 100
_FEW_RESIDUALS = 10
#: The power of the differences that are called detectable.
POWER = 0.8


@dataclass(frozen=True)
class Gap:
    """A difference B - A; its interval is around `centre`, by Student's t, or normal."""

    estimate: float = 0.0
    centre: float = 0.0
    standard_error: float = 0.0
    freedom: float = math.inf
    n: int = 0

    def interval(self, confidence_level: float, bound: float = math.inf) -> Interval:
        """The two-sided interval, within [-bound, bound]."""
        reach = _quantile((1 + confidence_level) / 2, self.freedom) * self.standard_error
        low, high = max(self.centre - reach, -bound), min(self.centre + reach, bound)
        return Interval(low, high, level=confidence_level)

    @property
    def statistic(self) -> float:
        """centre / standard error; 0 if both are 0."""
        return self.centre / self.standard_error if self.standard_error > 0 else 0.0

    @property
    def p_value(self) -> float:
        """Two-sided, of no difference."""
        size = -abs(self.statistic)
        return 2 * float(ndtr(size) if math.isinf(self.freedom) else stdtr(self.freedom, size))

    def detectable(self, confidence_level: float) -> float:
        """The smallest difference that is shown in four of five samples like this one."""
        tail = _quantile((1 + confidence_level) / 2, self.freedom)
        return (tail + float(ndtri(POWER))) * self.standard_error


def _quantile(p: float, freedom: float) -> float:
    return float(ndtri(p) if math.isinf(freedom) else stdtrit(freedom, p))


# --- two systems -----------------------------------------------------------------------------


def paired_gap(d: FloatArray, *, zero_one: bool) -> Gap:
    """The mean of d, one pair of `all_gaps`.

    >>> gap = paired_gap(np.array([1.0] * 20 + [0.0] * 70 + [-1.0] * 10), zero_one=True)
    >>> round(gap.estimate, 3), round(gap.centre, 3), round(gap.standard_error, 4)
    (0.1, 0.098, 0.0546)
    """
    return all_gaps(np.stack([np.zeros(len(d)), d], axis=1), zero_one=zero_one)[0]


def unpaired_gap(a: FloatArray, b: FloatArray, *, zero_one: bool) -> Gap:
    """Difference of means of other questions each: Welch's t, for 0 and 1 Agresti and Caffo's.

    With 0 and 1 a success and a failure are added to each side, and the interval is normal. Fewer
    than 30 on a side give no number.

    >>> gap = unpaired_gap(np.repeat([1.0, 0.0], [50, 50]), np.repeat([1.0, 0.0], [70, 30]),
    ...                    zero_one=True)
    >>> round(gap.estimate, 2), round(gap.standard_error, 4)
    (0.2, 0.0673)
    """
    if (n := min(len(a), len(b))) < FEWEST:
        return Gap(n=n)
    estimate = float(b.mean() - a.mean())
    if zero_one:
        shares = [(float(x.sum()) + 1) / (len(x) + 2) for x in (a, b)]
        parts = [p * (1 - p) / (len(x) + 2) for p, x in zip(shares, (a, b), strict=True)]
        return Gap(estimate, shares[1] - shares[0], math.sqrt(sum(parts)), n=n)
    parts = [float(x.var(ddof=1)) / len(x) for x in (a, b)]
    below = sum(v**2 / (len(x) - 1) for v, x in zip(parts, (a, b), strict=True))
    freedom = sum(parts) ** 2 / below if below > 0 else math.inf
    return Gap(estimate, estimate, math.sqrt(sum(parts)), freedom, n)


def labelled_gap(people: FloatArray, judge: FloatArray, *, zero_one: bool) -> Gap:
    """People's mean of d from m labelled questions (others NaN) and the judge's d on all.

    PPI++ (Angelopoulos, Duchi and Zrnic 2023): with n' unlabelled questions,
    lambda = cov(h, j) / ((1 + m/n') var j), at least 0, for 0 and 1 at most 1;
    theta = mean(h - lambda j) over labelled + lambda mean(j) over unlabelled;
    Var = SS/((m - 2) m) + lambda^2 var(j)/n', t with m - 2, SS of h - lambda j about its mean.
    With fewer than 100 labels, or fewer than 10 residuals that are not 0, SS gets 2 c^2 (c = 1, of
    scores half the largest |h|) and its denominator is m (m + 2): few discordant questions would
    otherwise give intervals of no width. Labels must be a random sample of the questions.

    >>> j = np.tile([1.0, 0.0, -1.0, 0.0], 100)
    >>> h = np.where(np.arange(400) < 100, j, np.nan)
    >>> gap = labelled_gap(h, j, zero_one=True)
    >>> round(gap.estimate, 3), gap.n
    (0.0, 100)
    """
    known, residual, rest, added = _corrected(people, judge, 1.0 if zero_one else math.inf)
    if len(known) == len(judge):
        return paired_gap(known, zero_one=zero_one)
    c = 1.0 if zero_one else float(np.abs(known).max()) / 2
    few = len(known) < FEW_LABELS or np.count_nonzero(residual) < _FEW_RESIDUALS
    return _from_residuals(residual, rest, added, 2 * c**2 if few else None)


def labelled_mean(labels: FloatArray, judge: FloatArray, *, ends: tuple[float, float]) -> Gap:
    """The mean that people would give: labels on some answers (others NaN), judge's on all.

    As `labelled_gap`, with one pseudo label at each of the scale's `ends` below 100 labels, or if
    more than half of the labels are at one end.

    >>> j = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 60)
    >>> gap = labelled_mean(np.where(np.arange(300) < 100, j - 0.5, np.nan), j, ends=(0.5, 5))
    >>> round(gap.estimate, 3)
    2.5
    """
    known, residual, rest, added = _corrected(labels, judge, math.inf)
    m, mean, (low, high) = len(known), float(known.mean()), ends
    at_one_end = max(np.count_nonzero(known == low), np.count_nonzero(known == high)) > m / 2
    if m >= FEW_LABELS and not at_one_end:
        return _from_residuals(residual, rest, added)
    # A pseudo label has the judge's mean score: it moves the labels' mean alone.
    squares, shift = (low - mean) ** 2 + (high - mean) ** 2, (low + high - 2 * mean) / (m + 2)
    return _from_residuals(residual, rest, added, squares, shift)


def _corrected(
    labels: FloatArray, judge: FloatArray, most: float
) -> tuple[FloatArray, FloatArray, float, float]:
    """The labels h that are known, h - lambda j, and the mean and variance that others add.

    lambda of PPI++ has the covariance over labelled questions, the variance over all.
    """
    known = ~np.isnan(labels)
    h, shared, rest = labels[known], judge[known], judge[~known]
    if not len(rest) or (spread := float(judge.var(ddof=1))) == 0:
        return h, h, 0.0, 0.0
    covariance = float((h - h.mean()) @ (shared - shared.mean())) / (len(h) - 1)
    slope = min(max(covariance / ((1 + len(h) / len(rest)) * spread), 0.0), most)
    return h, h - slope * shared, slope * float(rest.mean()), slope**2 * spread / len(rest)


def _from_residuals(
    residual: FloatArray, rest: float, added: float, pseudo: float | None = None, shift: float = 0.0
) -> Gap:
    """The estimate, with the squares of two pseudo labels (None: without) in its error."""
    m, estimate = len(residual), float(residual.mean()) + rest
    about = residual - residual.mean()
    below = (m - 2) * m if pseudo is None else m * (m + 2)
    error = math.sqrt((float(about @ about) + (pseudo or 0.0)) / below + added)
    return Gap(estimate, estimate + shift, error, m - 2, m)


def difference_of_means(first: Gap, second: Gap) -> Gap:
    """The difference of two means from other questions each."""
    estimate, centre = second.estimate - first.estimate, second.centre - first.centre
    error = math.hypot(first.standard_error, second.standard_error)
    return Gap(estimate, centre, error, min(first.freedom, second.freedom), min(first.n, second.n))


# --- many systems ----------------------------------------------------------------------------


def all_gaps(scores: FloatArray, *, zero_one: bool) -> list[Gap]:
    """The mean of d = x_j - x_i for all columns i < j of a table (questions, systems).

    NaN where a system has no number: a pair has the questions of both. Two pseudo questions +c and
    -c are in the interval: mean' = sum d / (n + 2), var' = (sum d^2 + 2 c^2)/(n + 2) - mean'^2.
    Verdicts of 0 and 1: c = 1, SE^2 = var'/(n + 2), normal (Bonett and Price 2012). Scores:
    c = max|d|/2, SE^2 = var'/(n + 1), t with n - 1. Coverage is near its level from 30 questions
    on; probabilities of a sure judge need 60. Sums over common questions are products of matrices;
    only max|d| needs a pass over pairs.
    """
    here = ~np.isnan(scores)
    mask, x = here.astype(np.float64), np.where(here, scores, 0.0)
    counts, totals, square = (mask.T @ numbers for numbers in (mask, x, x**2))
    i, j = np.triu_indices(len(counts), 1)
    n, total = counts[i, j], totals[i, j] - totals[j, i]
    squares = np.maximum(square[i, j] + square[j, i] - 2 * (x.T @ x)[i, j], 0.0)
    largest, freedom = np.full(len(n), 2.0), np.full(len(n), math.inf)
    if not zero_one:
        columns = np.asfortranarray(scores)
        apart = (np.abs(columns[:, k + 1 :] - columns[:, k : k + 1]) for k in range(len(counts)))
        most = [np.fmax.reduce(gaps, axis=0, initial=0.0) for gaps in apart]
        largest, freedom = np.nan_to_num(np.concatenate(most)), n - 1
    centre = total / (n + 2)
    variance = np.maximum((squares + largest**2 / 2) / (n + 2) - centre**2, 0.0)
    error = np.sqrt(variance / (n + 2 if zero_one else n + 1))
    estimate = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    table = np.stack([estimate, centre, error, freedom, n], axis=1).tolist()
    return [Gap(e, c, s, f, int(size)) for e, c, s, f, size in table]


def holm(values: FloatArray) -> FloatArray:
    """p-values adjusted for the family by Holm's step-down rule.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return np.minimum(steps, 1.0)[np.argsort(order)]


def benjamini_hochberg(values: FloatArray) -> FloatArray:
    """p-values adjusted for the false discovery rate.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    order, n = np.argsort(values, kind="stable")[::-1], len(values)
    steps = np.minimum.accumulate(values[order] * n / np.arange(n, 0, -1))
    return np.minimum(steps, 1.0)[np.argsort(order)]


def possibly_best(
    gaps: Sequence[Gap],
    influence: FloatArray,
    rng: np.random.Generator,
    *,
    confidence_level: float = 0.95,
    draws: int = 500,
) -> BoolArray:
    """Which systems are not shown to be below another: each max over the others is tested once.

    System i leaves if max_j (Y_j - Y_i)/SE_ij passes the one-sided quantile of its maximum under no
    difference, by multiplier draws of the `influence` (questions, systems) and mapped to Student's
    t. The set contains the best in about 95 % of samples if all are equal (measured, approximate).
    """
    systems = influence.shape[1]
    sums = np.empty((draws, systems))
    for part in slices(draws, 64):
        sums[part] = rng.standard_normal((part.stop - part.start, len(influence))) @ influence
    pairs = np.triu_indices(systems, 1)
    error, statistic, freedom = np.zeros((3, systems, systems))
    error[pairs] = [gap.standard_error or math.inf for gap in gaps]
    statistic[pairs] = [gap.statistic for gap in gaps]
    freedom[pairs] = [gap.freedom for gap in gaps]
    error, statistic, freedom = error + error.T, statistic - statistic.T, freedom + freedom.T
    keep = np.ones(systems, dtype=np.bool_)
    for i in range(systems):
        others = np.arange(systems) != i
        maxima = ((sums[:, others] - sums[:, [i]]) / error[i, others]).max(axis=1)
        quantile, least = float(np.quantile(maxima, confidence_level)), freedom[i, others].min()
        if math.isfinite(least):
            quantile = float(stdtrit(least, float(ndtr(quantile))))
        keep[i] = statistic[i, others].max() <= quantile
    return keep
