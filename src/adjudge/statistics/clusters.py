"""Intervals for means of clustered rows (rows of one prompt are alike)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.records import Interval
from adjudge.statistics.numbers import binomial_interval, cluster_codes, slices, student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, same_length

#: The largest share of rows for which a cluster's pull is followed.
_MOST = 0.9


def codes_of(clusters: ArrayLike | Sequence[Any] | None, n: int) -> IntArray:
    """Cluster codes of n rows; each row is its own cluster if none are given."""
    if clusters is None:
        return np.arange(n, dtype=np.int64)
    whole = isinstance(clusters, np.ndarray) and np.issubdtype(clusters.dtype, np.integer)
    keys = np.asarray(clusters, dtype=None if whole else object)
    if keys.ndim != 1:
        raise ArgumentError("clusters", f"shape {keys.shape}", "give one name per row")
    same_length(rows=range(n), clusters=keys)
    return cluster_codes(keys)[0]


def count_clusters(codes: IntArray) -> int:
    """How many different codes there are."""
    return int(np.count_nonzero(_mark_present(codes)))


def effective_clusters(codes: IntArray) -> float:
    """How many clusters of equal size say as much about their variance: (sum n)^2 / sum n^2.

    >>> effective_clusters(np.array([0, 0, 1, 1])), effective_clusters(np.array([0] * 9 + [1]))
    (2.0, 1.2195121951219512)
    """
    sizes = np.bincount(codes).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes)) if len(sizes) else 0.0


def freedom_of(codes: IntArray) -> float:
    """Degrees of freedom of a variance between clusters: those of as many equal ones, less one.

    A few large clusters decide the variance alone.

    >>> freedom_of(np.arange(30)), freedom_of(np.repeat([0, 1, 2], [60, 1, 1]))
    (29.0, 1.0)
    """
    return max(effective_clusters(codes) - 1, 1.0)


def pulls(codes: IntArray, rows: BoolArray) -> FloatArray:
    """How much further an estimate moves without a cluster than its influence on it says.

    A cluster with the share h of these rows pulls the estimate to itself, so its rows look better
    fitted than they are. Without it the estimate moves 1/(1 - h) times as far: the jackknife over
    clusters. It is divided by that of G equal clusters, and at least 1.

    >>> pulls(np.repeat([0, 1, 2, 3], [4, 1, 2, 1]), np.ones(8, dtype=bool)).tolist()
    [1.5, 1.0, 1.0, 1.0]
    """
    sizes = np.bincount(codes, rows)
    shares = np.minimum(sizes / max(sizes.sum(), 1), _MOST)
    groups = max(int(np.count_nonzero(sizes)), 1)
    return np.asarray(np.maximum((1 - 1 / groups) / (1 - shares), 1.0))


def _mark_present(codes: IntArray) -> BoolArray:
    here = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.bool_)
    here[codes] = True
    return here


def recode(codes: IntArray) -> tuple[IntArray, int]:
    """Codes 0..G-1 of the clusters that remain after rows were removed."""
    if len(codes) and (codes[1:] > codes[:-1]).all():
        # Every row is its own cluster: nothing to look up.
        numbered = codes[-1] + 1 == len(codes)
        return codes if numbered else np.arange(len(codes)), len(codes)
    here = _mark_present(codes)
    return (np.cumsum(here) - 1)[codes], int(np.count_nonzero(here))


def cluster_means_se(values: FloatArray, codes: IntArray, groups: int) -> tuple[float, float]:
    """Mean over rows and its cluster-robust standard error (linearised ratio of cluster sums).

    Sums count with the pull of a cluster that has more than its share of the rows. With one row per
    cluster this is the usual standard error of a mean.
    """
    n = len(values)
    mean = float(values.mean())
    if groups < 2:
        return mean, float("nan")
    sums = values - mean
    if groups < n:
        sums = pulls(codes, np.ones(n, dtype=np.bool_)) * np.bincount(codes, weights=sums)
    variance = groups / (groups - 1) * float(sums @ sums) / n**2
    return mean, math.sqrt(variance)


def mean_interval(
    values: FloatArray,
    codes: IntArray,
    confidence_level: float,
    *,
    bounds: tuple[float, float],
    pseudo: float = 0.0,
) -> Interval | None:
    """t interval on `freedom_of` the clusters with the cluster-robust standard error.

    Clipped to the `bounds` of the mean. If all rows are equal, there is no variance to measure.
    Then the share of clusters that could differ unobserved is at most 1 - tail^(1/groups), and the
    interval assumes the far bound for them. There is no interval from fewer than two clusters.
    `pseudo` adds two clusters to the error, of this distance from the mean, one each way.
    """
    numbered, groups = recode(codes)
    if groups < 2:
        return None
    mean, se = cluster_means_se(values, numbered, groups)
    low, high = bounds
    if se == 0 or np.ptp(values) == 0:
        unseen = 1 - ((1 - confidence_level) / 2) ** (1 / groups)
        ends = mean - unseen * (mean - low), mean + unseen * (high - mean)
        return Interval(*ends, level=confidence_level)
    reach = student_quantile(confidence_level, freedom_of(numbered)) * math.hypot(
        se, pseudo * 2**0.5 / groups
    )
    return Interval(max(low, mean - reach), min(high, mean + reach), level=confidence_level)


def share_interval(values: FloatArray, codes: IntArray, confidence_level: float) -> Interval | None:
    """Exact binomial interval at the effective sample size (Korn and Graubard 1998).

    n_eff = p (1 - p) / SE^2, SE cluster-robust, corrected for the degrees of freedom and never
    above the number of rows; Clopper-Pearson at (p n_eff, n_eff). One row per cluster gives exactly
    Clopper-Pearson, or a little wider. Values are in [0, 1].
    """
    numbered, groups = recode(codes)
    if groups < 2:
        return None
    n = len(values)
    mean, se = cluster_means_se(values, numbered, groups)
    if se == 0 or np.ptp(values) == 0:
        return mean_interval(values, codes, confidence_level, bounds=(0.0, 1.0))
    by_rows = student_quantile(confidence_level, n - 1)
    by_groups = student_quantile(confidence_level, freedom_of(numbered))
    shrink = (by_rows / by_groups) ** 2
    effective = min(float(n), mean * (1 - mean) / se**2 * shrink)
    ends = binomial_interval(mean * effective, effective, confidence_level)
    return Interval(*ends, level=confidence_level)


def jackknife_interval(
    statistic: Callable[[FloatArray], FloatArray],
    tables: FloatArray,
    confidence_level: float,
    *,
    bounds: tuple[float, float],
    clusters: IntArray | None = None,
) -> Interval | None:
    """t interval from leaving out one cluster at a time.

    `tables` has one additive table per cluster, shape (groups, ...), or one per kind of clusters
    that are equal, with their number in `clusters`; `statistic` takes a stack of summed tables and
    returns one number each. It is deterministic, and for smooth statistics as good as a bootstrap.
    There is no interval if the statistic is undefined without some cluster.
    """
    error = jackknife_error(statistic, tables, clusters)
    if error is None:
        return None
    groups = len(tables) if clusters is None else int(clusters.sum())
    whole = float(statistic(sum_tables(tables, clusters)[None])[0])
    reach = student_quantile(confidence_level, groups - 1) * error
    ends = max(bounds[0], whole - reach), min(bounds[1], whole + reach)
    return Interval(*ends, level=confidence_level)


def jackknife_error(
    statistic: Callable[[FloatArray], FloatArray], tables: FloatArray, clusters: IntArray | None
) -> float | None:
    """The standard error of `jackknife_interval`; None if there is none."""
    alike = np.ones(len(tables), dtype=np.int64) if clusters is None else clusters
    groups = int(alike.sum())
    if groups < 2:
        return None
    total = sum_tables(tables, clusters)
    batches = slices(len(tables), 16_384)
    left_out = np.concatenate([statistic(total[None] - tables[batch]) for batch in batches])
    if not (np.isfinite(statistic(total[None])).all() and np.isfinite(left_out).all()):
        return None
    spread = left_out - float(alike @ left_out) / groups
    return math.sqrt((groups - 1) / groups * float((alike * spread) @ spread))


def sum_tables(tables: FloatArray, clusters: IntArray | None) -> FloatArray:
    """The sum over clusters; `clusters` as in `jackknife_interval`."""
    if clusters is None:
        return np.asarray(tables.sum(axis=0))
    return np.tensordot(clusters.astype(np.float64), tables, axes=1)
