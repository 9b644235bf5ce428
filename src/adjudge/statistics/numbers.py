"""Statistics that more than one room needs.

Finite-sample quantiles, exact binomial bounds, cluster resampling and the metrics of a
confidence. Everything here works on checked arrays; the rooms do the checking.

`scipy.stats` is imported inside functions: it takes as long as all other imports of a command.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import bdtr, betaincinv, ndtri, stdtrit

from adjudge.validation import FloatArray, IntArray

Number = TypeVar("Number", np.float64, np.int64)
#: From this length on polars sorts faster than numpy.
_MANY = 65_536
#: Two tables are equally probable if the logarithms of their probabilities differ by less.
_TIE = 1e-7

# --- conformal ranks -------------------------------------------------------------------------


def conformal_rank(n: int, alpha: Fraction) -> int:
    """ceil((1 - alpha)(n + 1)), exactly; above n means that no finite quantile exists.

    >>> conformal_rank(9, Fraction(1, 10)), conformal_rank(8, Fraction(1, 10))
    (9, 9)
    """
    return math.ceil((1 - alpha) * (n + 1))


def conformal_quantile(scores: FloatArray, alpha: Fraction) -> float | None:
    """The conformal_rank-th smallest score, or None if the rank exceeds the sample."""
    rank = conformal_rank(len(scores), alpha)
    return None if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])


# --- exact binomial --------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def binomial_interval(successes: float, n: float, confidence_level: float) -> tuple[float, float]:
    """Clopper-Pearson interval, also of an effective sample size; [0, 1] if n = 0.

    >>> low, high = binomial_interval(0, 10, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    if n == 0:
        return 0.0, 1.0
    tail = (1 - confidence_level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


def binomial_lower_tail(successes: NDArray[np.integer], n: IntArray, p: float) -> FloatArray:
    """P(Binomial(n, p) <= successes), elementwise."""
    return np.asarray(bdtr(successes, n, p), dtype=np.float64)


@lru_cache(maxsize=65_536)
def fisher_exact(ones: int, size: int, other_ones: int, other_size: int) -> float:
    """Two-sided p-value for two equal shares: of all tables that are no more probable.

    Ratios of neighbouring probabilities are added up from the observed table, so that equal
    probabilities are recognised with any number of rows.

    >>> round(fisher_exact(8, 10, 1, 6), 4)
    0.035
    """
    total = ones + other_ones
    lowest = max(0, total - other_size)
    highest = min(total, size)
    k = np.arange(lowest, highest)
    in_first = (size - k) / (k + 1)
    in_other = (total - k) / (other_size - total + k + 1)
    steps = np.log(in_first) + np.log(in_other)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    logs -= logs[ones - lowest]
    chances = np.exp(logs - logs.max())
    return min(float(chances[logs <= _TIE].sum() / chances.sum()), 1.0)


@lru_cache(maxsize=64)
def normal_quantile(confidence_level: float) -> float:
    """The two-sided normal quantile: 1.96 for 0.95."""
    return -float(ndtri((1 - confidence_level) / 2))


@lru_cache(maxsize=4096)
def student_quantile(confidence_level: float, freedom: float) -> float:
    """The two-sided quantile of Student's t: 2.26 for 0.95 and 9 degrees of freedom."""
    return -float(stdtrit(freedom, (1 - confidence_level) / 2))


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not missing; None if all are.

    >>> mean_known([1.0, None, 2.0]), mean_known([None])
    (1.5, None)
    """
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


# --- clusters --------------------------------------------------------------------------------

#: Marks the key of a row without a cluster; no cluster of a file can have this name.
_ALONE = object()


def cluster_codes(clusters: NDArray[np.generic] | Sequence[object]) -> tuple[IntArray, int]:
    """Codes 0..G-1 in order of first appearance, and G.

    A row without a cluster (None or NaN) is a cluster of one.

    >>> cluster_codes(["p", None, "p", None])
    (array([0, 1, 0, 2]), 3)
    """
    if isinstance(clusters, np.ndarray) and np.issubdtype(clusters.dtype, np.integer):
        fresh = np.maximum.accumulate(clusters, dtype=np.int64)
        fresh += 1
        first = len(clusters) > 0 and clusters[0] == 0 == clusters.min()
        if first and (clusters[1:] <= fresh[:-1]).all():
            # They are such codes already.
            return clusters.astype(np.int64, copy=False), int(fresh[-1])
        _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first)] = np.arange(len(first))
        return place[inverse], len(first)
    seen: dict[object, int] = {}
    keys = ((_ALONE, row) if key is None or key != key else key for row, key in enumerate(clusters))
    codes = np.fromiter(
        (seen.setdefault(key, len(seen)) for key in keys), dtype=np.int64, count=len(clusters)
    )
    return codes, len(seen)


def bootstrap_weights(groups: int, replicates: int, rng: np.random.Generator) -> IntArray:
    """How often each cluster is drawn in each replicate: a (replicates, groups) table."""
    return rng.multinomial(groups, np.full(groups, 1 / groups), size=replicates).astype(np.int64)


# --- how good is a confidence ----------------------------------------------------------------


@dataclass(frozen=True)
class Bins:
    """Per bin its edges, count, mean confidence and share correct; `which` is each row's bin."""

    low: FloatArray
    high: FloatArray
    count: IntArray
    confidence: FloatArray
    accuracy: FloatArray
    which: IntArray

    @property
    def calibration_error(self) -> float:
        """Mean |share correct - mean confidence| over bins, weighted by count."""
        gap = np.abs(self.accuracy - self.confidence)
        return float((self.count * gap).sum() / self.count.sum())


def reliability_bins(
    confidence: FloatArray, correct: IntArray, *, bins: int = 10, equal_mass: bool = False
) -> Bins:
    """Bins of a confidence on [0, 1]: of equal width, or of equal count. Empty bins left out."""
    if equal_mass:
        edges = np.unique(np.quantile(confidence, np.linspace(0, 1, bins + 1)))
        if len(edges) == 1:
            edges = np.array([edges[0], edges[0]])
        which = np.clip(np.searchsorted(edges[1:-1], confidence, side="left"), 0, len(edges) - 2)
    else:
        edges = np.linspace(0, 1, bins + 1)
        # (low, high] as in Naeini et al. 2015, with 0 in the first bin.
        which = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    size = len(edges) - 1
    n = np.bincount(which, minlength=size)
    filled = n > 0
    count = n[filled]
    sum_confidence = np.bincount(which, weights=confidence, minlength=size)[filled]
    n_correct = np.bincount(which, weights=correct, minlength=size)[filled]
    # The bins that are left are numbered again.
    number_of = np.cumsum(filled) - 1
    return Bins(
        low=edges[:-1][filled],
        high=edges[1:][filled],
        count=count,
        confidence=sum_confidence / count,
        accuracy=n_correct / count,
        which=number_of[which],
    )


def expected_calibration_error(
    confidence: FloatArray, correct: IntArray, *, bins: int = 10
) -> float:
    """Mean |share correct - mean confidence| over bins, weighted by count.

    >>> expected_calibration_error(np.array([0.9, 0.9]), np.array([1, 0]))
    0.4
    """
    return reliability_bins(confidence, correct, bins=bins).calibration_error


def sort_values(values: NDArray[Number]) -> NDArray[Number]:
    """The values ascending; a large array takes half the time of `np.sort`.

    >>> sort_values(np.array([0.3, 0.1]))
    array([0.1, 0.3])
    """
    if len(values) < _MANY:
        return np.sort(values)
    return pl.Series(values).sort().to_numpy()


def slices(n: int, size: int = 65_536) -> Iterator[slice]:
    """Slices of n rows, in order; the values of one fit into the processor's cache.

    >>> [(rows.start, rows.stop) for rows in slices(70_000)]
    [(0, 65536), (65536, 70000)]
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def auroc(confidence: FloatArray, correct: IntArray) -> float | None:
    """P(confidence of a correct row > of a wrong row), ties half; None if one class is empty."""
    positive = int(correct.sum())
    negative = len(correct) - positive
    if positive == 0 or negative == 0:
        return None
    right = sort_values(confidence[correct == 1])
    wrong = sort_values(confidence[correct == 0])
    below = int(np.searchsorted(wrong, right, "left").sum())
    up_to = int(np.searchsorted(wrong, right, "right").sum())
    return (below + up_to) / 2 / (positive * negative)


def auprc(confidence: FloatArray, correct: IntArray) -> float | None:
    """Average precision with correct = positive; tied confidences enter together."""
    positive = int(correct.sum())
    if positive == 0:
        return None
    ordered = sort_values(confidence)
    right = sort_values(confidence[correct == 1])
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[::-1]
    hits = positive - np.searchsorted(right, ordered[first])
    precision = hits / (len(ordered) - first)
    recall = hits / positive
    return float((np.diff(recall, prepend=0.0) * precision).sum())
