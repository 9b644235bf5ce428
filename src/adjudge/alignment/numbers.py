"""The gain of one prompt over another on rows that neither was chosen on, and what can be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjudge.records import Interval
from adjudge.statistics.clusters import codes_of, recode, share_interval
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import FloatArray

#: Error of all looks together.
ERROR = 0.05
#: Share of rows on which two prompts differ, for planning: .07 to .17 in real comparisons.
DISCORDANT = 0.10
#: Quantiles of 95 % confidence and 80 % power together.
_POWER = 2.80


def paired_gain(
    own: FloatArray, chosen: FloatArray, clusters: Sequence[Any], *, looks: int
) -> tuple[float, Interval | None]:
    """The mean of chosen - own over clusters, with its interval at 1 - 0.05/looks.

    Cluster means d, one +1 and one -1 added (Bonett and Price 2012): mean' = sum d/(n + 2),
    SE^2 = ((sum d^2 + 2)/(n + 2) - mean'^2)/(n + 2), t with n - 1 degrees of freedom. The gain is
    the plain mean; the interval is around mean'. Checked by simulation, not proven.

    >>> own, chosen = np.array([0.0] * 40 + [1.0] * 60), np.ones(100)
    >>> gain, interval = paired_gain(own, chosen, range(100), looks=1)
    >>> gain, round(interval.low, 3), round(interval.high, 3)
    (0.4, 0.292, 0.492)
    """
    d = cluster_means(chosen - own, clusters)
    n = len(d)
    gain = float(d.mean())
    if n < 2:
        return gain, None
    centre = float(d.sum()) / (n + 2)
    variance = (float(d @ d) + 2) / (n + 2) - centre**2
    level = 1 - ERROR / looks
    reach = student_quantile(level, n - 1) * math.sqrt(variance / (n + 2))
    return gain, Interval(max(-1.0, centre - reach), min(1.0, centre + reach), level=level)


def accuracy_interval(
    correct: FloatArray, clusters: Sequence[Any], *, looks: int
) -> Interval | None:
    """The interval of the mean over clusters at 1 - 0.025/looks: both accuracies hold together."""
    means = cluster_means(correct, clusters)
    return share_interval(means, np.arange(len(means)), 1 - ERROR / 2 / looks)


def standard_error(d: FloatArray, clusters: Sequence[Any]) -> float:
    """The standard error of the mean of d over clusters; infinite from fewer than two."""
    means = cluster_means(d, clusters)
    return float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.inf


def mean_over_clusters(values: FloatArray, clusters: Sequence[Any]) -> float:
    """The mean of cluster means, as in `paired_gain`."""
    return float(cluster_means(values, clusters).mean())


def cluster_means(values: FloatArray, clusters: Sequence[Any]) -> FloatArray:
    codes, groups = recode(codes_of(list(clusters), len(values)))
    sums = np.bincount(codes, weights=values, minlength=groups)
    return np.asarray(sums / np.bincount(codes, minlength=groups))


def smallest_gain(rows: int) -> float:
    """The smallest gain that this many certify rows show in four of five cases.

    g = 2.80 sqrt(s/n), s = max(0.10, g): prompts differ on at least as many rows as they gain.

    >>> [round(smallest_gain(n), 3) for n in (50, 100, 200, 500)]
    [0.157, 0.089, 0.063, 0.04]
    """
    gain = _POWER * math.sqrt(DISCORDANT / rows)
    return gain if gain <= DISCORDANT else _POWER**2 / rows


def rows_needed(gain: float) -> int:
    """Certify rows for which `smallest_gain` is at most this gain.

    >>> rows_needed(0.05)
    314
    """
    return math.ceil(_POWER**2 * max(DISCORDANT, gain) / gain**2)
