"""Clusters: influence values are summed per cluster before they are squared.

Errors on several answers to one prompt are correlated. Test and calibration rows of one cluster are
summed together too, so that their shared part is counted once, with its sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adjudge.estimation.sample import Sample
from adjudge.statistics.numbers import normal_quantile, student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray

TOO_FEW = (
    "fewer than two clusters have labels, or test rows: the variance between clusters is unknown; "
    "label rows from more clusters"
)


@dataclass(frozen=True)
class Spread:
    """How clusters widen an interval: `inflation` of the standard error, `critical` value."""

    inflation: float
    critical: float


def spread(
    influence: FloatArray, clusters: IntArray | None, active: int | None, confidence_level: float
) -> Spread:
    """Inflation of the standard error by clusters, and the matching critical value.

    With influence values f_i and cluster sums S_c, the clustered variance is G/(G-1) sum S_c^2 and
    the independent one is sum f_i^2. The square root of their ratio inflates the standard error (or
    deflates it: rows of one cluster can err in opposite directions). The critical value is
    Student's with G-1 degrees of freedom. G = `active` counts the clusters with the scarcer kind of
    rows. With fewer than about 20 clusters this is approximate. Without clusters: inflation 1, the
    normal quantile.

    >>> spread(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1]), 2, 0.95).inflation
    2.0
    """
    if clusters is None or active is None:
        return Spread(1.0, normal_quantile(confidence_level))
    critical = student_quantile(confidence_level, active - 1)
    alone = variance(influence, None, None)
    together = variance(influence, clusters, active)
    return Spread(math.sqrt(together / alone) if alone > 0 else 1.0, critical)


def variance(influence: FloatArray, clusters: IntArray | None, active: int | None) -> float:
    """Variance of an estimate with these influence values, as in `spread`."""
    if clusters is None or active is None:
        return float(influence @ influence)
    sums = np.bincount(clusters, weights=influence)
    return active / (active - 1) * float(sums @ sums)


def holding(clusters: IntArray, rows: BoolArray) -> int:
    """How many clusters have some of these rows."""
    return int(np.count_nonzero(np.bincount(clusters[rows])))


def active_clusters(sample: Sample) -> int | None:
    """Clusters with labelled rows, or with test rows if those are fewer; None without clusters."""
    if sample.clusters is None:
        return None
    return min(holding(sample.clusters, rows) for rows in (sample.labelled, sample.test))


def few_clusters(active: int | None) -> tuple[str, ...]:
    """A warning if there are too few clusters for Student's approximation."""
    if active is None or active >= 20:
        return ()
    return (
        "fewer than 20 clusters have labels, or test rows: the interval is approximate; label rows "
        "of more clusters",
    )
