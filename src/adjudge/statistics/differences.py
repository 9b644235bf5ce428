"""Differences of two systems on the same questions: intervals, many at once.

d is the score of B minus that of A on a question, so every difference is B - A. All functions take
checked arrays. The constants were chosen on resampled tables of real systems and are checked again
by simulation (`tests/montecarlo/test_compare_covers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from adjudge.records import Interval
from adjudge.statistics.clusters import freedom_of, pulls
from adjudge.statistics.numbers import slices
from adjudge.validation import BoolArray, FloatArray, IntArray

#: Fewer questions, or fewer labelled ones, give no interval.
FEWEST = 30
#: With fewer labels than this, differences of scores have pseudo labels.
_FEW_LABELS = 100
#: With fewer scores that differ, the largest of the next ones is unknown.
_FEW_DIFFERENT = 10
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
        low = max(self.centre - reach, -bound)
        high = min(self.centre + reach, bound)
        return Interval(low, high, level=confidence_level)

    def limited(self, freedom: float) -> Gap:
        """The same with at most so many degrees of freedom."""
        return replace(self, freedom=min(self.freedom, freedom))

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

    With 0 and 1 a success and a failure are added to each side, and the interval is normal. If one
    score at an end of both sides' range would say twice as much about a side's variance as all of
    its own, or fewer than 10 decide it, both sides have pseudo scores (`labelled_mean`): without,
    30 scores of which 97 % are equal, against 300, cover .62, and 30 near 90 of 100 of which 3 %
    are 0, against 1,000, .74. Fewer than 30 on a side give no number.

    >>> gap = unpaired_gap(np.repeat([1.0, 0.0], [50, 50]), np.repeat([1.0, 0.0], [70, 30]),
    ...                    zero_one=True)
    >>> round(gap.estimate, 2), round(gap.standard_error, 4)
    (0.2, 0.0673)
    """
    if (n := min(len(a), len(b))) < FEWEST:
        return Gap(n=n)
    if zero_one:
        share_a = (float(a.sum()) + 1) / (len(a) + 2)
        share_b = (float(b.sum()) + 1) / (len(b) + 2)
        variance = share_a * (1 - share_a) / (len(a) + 2) + share_b * (1 - share_b) / (len(b) + 2)
        return Gap(float(b.mean() - a.mean()), share_b - share_a, math.sqrt(variance), n=n)
    ends = float(min(a.min(), b.min())), float(max(a.max(), b.max()))
    furthest = (max(abs(end - float(side.mean())) for end in ends) for side in (a, b))
    if any(map(_decided_by_few, (a, b), furthest)):
        return difference_of_means(*(labelled_mean(side, side, ends=ends) for side in (a, b)))
    return difference_of_means(_mean_of(a), _mean_of(b))


def _mean_of(scores: FloatArray) -> Gap:
    n = len(scores)
    mean = float(scores.mean())
    return Gap(mean, mean, float(scores.std(ddof=1)) / math.sqrt(n), n - 1, n)


def labelled_gap(people: FloatArray, judge: FloatArray, *, zero_one: bool) -> Gap:
    """People's mean of d from m labelled questions (others NaN) and the judge's d on all.

    PPI++ (Angelopoulos, Duchi and Zrnic 2023): with n' unlabelled questions,
    lambda = cov(h, j) / ((1 + m/n') var j), at least 0, for 0 and 1 at most 1;
    theta = mean(h - lambda j) over labelled + lambda mean(j) over unlabelled;
    Var = SS/((m - 2) m) + lambda^2 var(j)/n', t with m - 2, SS of h - lambda j about its mean.
    Two pseudo labels +c and -c are in the error: SS gets 2 c^2 and its denominator is m (m + 2).
    For people's 0 and 1 c = 1. For scores it is the largest |h| or |j| if fewer than 10 labels
    differ, or fewer than 10 residuals decide their variance, (sum r^2)^2 / sum r^4, or one of that
    size would; with fewer than 100 labels half of the largest |h|; else there are none. Without
    them the interval covers too rarely where few questions differ, in one direction. Labels must be
    a random sample of the questions.

    >>> j = np.tile([1.0, 0.0, -1.0, 0.0], 100)
    >>> h = np.where(np.arange(400) < 100, j, np.nan)
    >>> gap = labelled_gap(h, j, zero_one=True)
    >>> round(gap.estimate, 3), gap.n
    (0.0, 100)
    """
    verdicts = zero_one and bool(np.isin(judge, (-1.0, 0.0, 1.0)).all())
    labelled, residual, rest, added = _corrected(people, judge, 1.0 if verdicts else math.inf)
    if len(labelled) == len(judge):
        return paired_gap(labelled, zero_one=zero_one)
    largest = float(np.abs(labelled).max())
    of_both = max(largest, float(np.abs(judge).max()))
    if zero_one:
        c = 1.0
    elif np.count_nonzero(labelled) < _FEW_DIFFERENT or _decided_by_few(residual, of_both):
        c = of_both
    elif len(labelled) < _FEW_LABELS:
        c = largest / 2
    else:
        return _from_residuals(residual, rest, added)
    return _from_residuals(residual, rest, added, 2 * c**2)


def _decided_by_few(scores: FloatArray, furthest: float) -> bool:
    """Whether few scores decide their variance, or one that far away would double it and more."""
    squares = float(((scores - scores.mean()) ** 2).sum())
    return furthest**2 > 2 * squares or _effective(scores) < _FEW_DIFFERENT


def _effective(residual: FloatArray) -> float:
    """How many equal residuals say as much about the variance: (sum r^2)^2 / sum r^4."""
    squares = (residual - residual.mean()) ** 2
    total = float(squares.sum())
    return total**2 / float(squares @ squares) if total else 0.0


def labelled_mean(
    labels: FloatArray,
    judge: FloatArray,
    *,
    ends: tuple[float, float],
    clusters: IntArray | None = None,
) -> Gap:
    """The mean that people would give: labels on some answers (others NaN), judge's on all.

    As `labelled_gap`, with one pseudo label at each of the scale's `ends`: labels that are alike do
    not show that no other score exists. Of 100 labels near 90, without them, a scale from 0 with
    one score of 0 in a hundred covers .84. With `clusters` (codes) it is the same mean, of rows;
    its error is that of sums over clusters, and a pseudo label is a cluster of average size.

    >>> j = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 60)
    >>> gap = labelled_mean(np.where(np.arange(300) < 100, j - 0.5, np.nan), j, ends=(0.5, 5))
    >>> round(gap.estimate, 3)
    2.5
    """
    labelled, residual, rest, added = _corrected(labels, judge, math.inf, clusters)
    m = len(residual)
    mean = float(labelled.mean())
    low, high = ends
    freedom = None
    if clusters is not None:
        freedom = max(freedom_of(clusters[~np.isnan(labels)]) - 1, 1.0)
    # A pseudo label has the judge's mean score: it moves the labels' mean alone.
    squares = (low - mean) ** 2 + (high - mean) ** 2
    shift = (low + high - 2 * mean) / (m + 2)
    return _from_residuals(residual, rest, added, squares, shift, freedom)


def _corrected(
    labels: FloatArray, judge: FloatArray, most: float, clusters: IntArray | None = None
) -> tuple[FloatArray, FloatArray, float, float]:
    """The labels h, h - lambda j, and the mean and variance that others add.

    lambda of PPI++ has the covariance over labelled questions, the variance over all. With
    `clusters` the second has one number for each cluster with a label (see `_of_clusters`).
    """
    has_label = ~np.isnan(labels)
    h = labels[has_label]
    shared = judge[has_label]
    rest = judge[~has_label]
    if not len(rest) or (spread := float(judge.var(ddof=1))) == 0:
        if clusters is None:
            return h, h, 0.0, 0.0
        return h, *_of_clusters(h, judge, 0.0, has_label, clusters)
    covariance = float((h - h.mean()) @ (shared - shared.mean())) / (len(h) - 1)
    best = covariance / ((1 + len(h) / len(rest)) * spread)
    slope = min(max(best, 0.0), most)
    if clusters is not None:
        return h, *_of_clusters(h, judge, slope, has_label, clusters)
    added_mean = slope * float(rest.mean())
    added_variance = slope**2 * spread / len(rest)
    return h, h - slope * shared, added_mean, added_variance


def _of_clusters(
    h: FloatArray, judge: FloatArray, slope: float, has_label: BoolArray, clusters: IntArray
) -> tuple[FloatArray, float, float]:
    """Residuals by cluster with a label, and what the others add to the mean and the variance.

    The influence of a labelled row is (r - mean r)/m, r = h - lambda j, that of another row
    lambda (j - mean j)/n'. They are summed over each cluster, which can have rows of both kinds. A
    residual is the mean r plus G times the sum, G the clusters with a label, times the pull of a
    cluster with more than its share of labels (`pulls`): so the error is that of the mean of rows,
    and their mean with what the others add is the estimate.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    r = h - slope * judge[has_label]
    influence = np.empty(len(judge))
    influence[has_label] = (r - r.mean()) / len(r)
    rest = judge[~has_label]
    mean_of_rest = float(rest.mean()) if len(rest) else 0.0
    influence[~has_label] = slope * (rest - mean_of_rest) / max(len(rest), 1)
    sums = np.bincount(codes, influence)
    with_label = np.bincount(codes, has_label) > 0
    groups = int(with_label.sum())
    pulled = (pulls(codes, has_label) * sums)[with_label]
    others = sums[~with_label]
    added = float(others @ others) * len(others) / max(len(others) - 1, 1)
    total = float(pulled.sum())
    return r.mean() + groups * pulled, slope * mean_of_rest - total, added


def _from_residuals(
    residual: FloatArray,
    rest: float,
    added: float,
    pseudo: float | None = None,
    shift: float = 0.0,
    freedom: float | None = None,
) -> Gap:
    """The estimate, with the squares of two pseudo labels (None: without) in its error."""
    m = len(residual)
    estimate = float(residual.mean()) + rest
    about = residual - residual.mean()
    below = (m - 2) * m if pseudo is None else m * (m + 2)
    error = math.sqrt((float(about @ about) + (pseudo or 0.0)) / below + added)
    return Gap(estimate, estimate + shift, error, freedom or m - 2, m)


def difference_of_means(first: Gap, second: Gap) -> Gap:
    """The difference of two means from other questions each, by Welch's t."""
    variances = [gap.standard_error**2 for gap in (first, second)]
    # Welch and Satterthwaite's degrees of freedom.
    below = variances[0] ** 2 / first.freedom + variances[1] ** 2 / second.freedom
    return Gap(
        estimate=second.estimate - first.estimate,
        centre=second.centre - first.centre,
        standard_error=math.sqrt(sum(variances)),
        freedom=sum(variances) ** 2 / below if below else math.inf,
        n=min(first.n, second.n),
    )


# --- many systems ----------------------------------------------------------------------------


def all_gaps(scores: FloatArray, *, zero_one: bool) -> list[Gap]:
    """The mean of d = x_j - x_i for all columns i < j of a table (questions, systems).

    NaN where a system has no number: a pair has the questions of both. Two pseudo questions +c and
    -c are in the interval: mean' = sum d / (n + 2), var' = (sum d^2 + 2 c^2)/(n + 2) - mean'^2.
    Verdicts of 0 and 1: c = 1, SE^2 = var'/(n + 2), normal (Bonett and Price 2012). Scores:
    c = max|d|/2, SE^2 = var'/(n + 1), t with n - 1; if fewer than 10 differ, or decide the variance
    (`_few_decide`), c is the range of the two systems' scores, because the next difference can be
    larger than all of these. Coverage is near its level from 30 questions on; probabilities of a
    sure judge need 60. Sums over common questions are products of matrices; only c needs a pass
    over pairs.
    """
    here = ~np.isnan(scores)
    mask = here.astype(np.float64)
    x = np.where(here, scores, 0.0)
    counts = mask.T @ mask
    totals = mask.T @ x
    square_totals = mask.T @ x**2
    i, j = np.triu_indices(len(counts), 1)
    n = counts[i, j]
    total = totals[i, j] - totals[j, i]
    # Each table has, at [i, j], a sum over the questions that i and j share.
    products = (x.T @ x)[i, j]
    squares = np.maximum(square_totals[i, j] + square_totals[j, i] - 2 * products, 0.0)
    pseudo = np.ones(len(n))
    freedom = np.full(len(n), math.inf)
    if not zero_one:
        pseudo = _pseudo_scores(np.asfortranarray(scores), here)
        freedom = n - 1
    centre = total / (n + 2)
    variance = np.maximum((squares + 2 * pseudo**2) / (n + 2) - centre**2, 0.0)
    error = np.sqrt(variance / (n + 2 if zero_one else n + 1))
    estimate = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    # Sums of equal scores can differ in the last bits.
    alike = pseudo == 0
    for numbers in (estimate, centre, error):
        numbers[alike] = 0.0
    table = np.stack([estimate, centre, error, freedom, n], axis=1).tolist()
    return [Gap(e, c, s, f, int(size)) for e, c, s, f, size in table]


def _pseudo_scores(scores: FloatArray, here: BoolArray) -> FloatArray:
    """The size of the two pseudo scores of every pair of columns; 0 if they never differ."""
    highest = np.where(here, scores, -np.inf).max(axis=0, initial=-np.inf)
    lowest = np.where(here, scores, np.inf).min(axis=0, initial=np.inf)
    sizes = []
    for k in range(scores.shape[1]):
        others = slice(k + 1, None)
        gaps = scores[:, others] - scores[:, k : k + 1]
        largest = np.nan_to_num(np.abs(gaps)).max(axis=0, initial=0.0)
        top = np.maximum(highest[others], highest[k])
        bottom = np.minimum(lowest[others], lowest[k])
        few = (largest > 0) & _few_decide(gaps)
        sizes.append(np.where(few, top - bottom, largest / 2))
    return np.concatenate(sizes)


def _few_decide(gaps: FloatArray) -> BoolArray:
    """Whether few questions differ, or few decide the variance, for each column of differences.

    Numbers of unequal clusters, and probabilities, differ a little everywhere: then the few that
    differ much count. Normal differences of n questions decide it as n/3 equal ones would.
    """
    shared = ~np.isnan(gaps)
    n = shared.sum(axis=0)
    gaps = np.where(shared, gaps, 0.0)
    squares = np.where(shared, gaps - gaps.sum(axis=0) / np.maximum(n, 1), 0.0) ** 2
    total = squares.sum(axis=0)
    few = np.count_nonzero(gaps, axis=0) < _FEW_DIFFERENT
    # The same as `_effective`, which is the quotient.
    return np.asarray(
        few | (total**2 < np.minimum(_FEW_DIFFERENT, n / 6) * (squares**2).sum(axis=0))
    )


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
    order = np.argsort(values, kind="stable")[::-1]
    n = len(values)
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
    for batch in slices(draws, 64):
        sums[batch] = rng.standard_normal((batch.stop - batch.start, len(influence))) @ influence
    pairs = np.triu_indices(systems, 1)
    error, statistic, freedom = np.zeros((3, systems, systems))
    error[pairs] = [gap.standard_error or math.inf for gap in gaps]
    error += error.T
    statistic[pairs] = [gap.statistic for gap in gaps]
    statistic -= statistic.T
    freedom[pairs] = [gap.freedom for gap in gaps]
    freedom += freedom.T
    keep = np.ones(systems, dtype=np.bool_)
    for i in range(systems):
        others = np.arange(systems) != i
        maxima = ((sums[:, others] - sums[:, [i]]) / error[i, others]).max(axis=1)
        quantile = float(np.quantile(maxima, confidence_level))
        least = freedom[i, others].min()
        if math.isfinite(least):
            quantile = float(stdtrit(least, float(ndtr(quantile))))
        keep[i] = statistic[i, others].max() <= quantile
    return keep
