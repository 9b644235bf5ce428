"""Does the judge's confidence match its accuracy, and does the judge follow its own scores?

Both in the Soft-Elo paper, appendix G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.diagnosis._intervals import (
    FLOOR,
    codes_of,
    count_clusters,
    mean_interval,
    mean_or_none,
    share_interval,
    shows,
)
from adjudge.results.bias import Contradictions, Reliability, ReliabilityBin
from adjudge.statistics.numbers import (
    Bins,
    bootstrap_weights,
    expected_calibration_error,
    reliability_bins,
)
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    generator,
    non_negative,
    open_unit,
    optional_numbers,
    probabilities,
    same_length,
    zero_one,
)

#: With more clusters, sums over them are drawn as normal.
_MANY = 1000


def reliability(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    clusters: ArrayLike | Sequence[Any] | None = None,
    bins: int = 10,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
    replicates: int = 1000,
    seed: Seed = 0,
) -> Reliability:
    """Reliability curve, expected calibration error and over-confidence.

    ECE = sum over bins of n_b/n |share right - mean confidence|, with bins of equal width and of
    equal mass. It is above zero even for a calibrated judge, and larger with fewer rows.
    `ece_if_calibrated` is therefore the ECE of such a judge: the residuals (right - confidence) of
    each cluster get a random sign, which keeps their variance and their correlation within a
    cluster and removes their mean. `p_value` is how often that reaches the observed ECE (equal
    mass, at most one bin per eight clusters). The interval of the ECE is conservative: it misses
    the truth at most as often as stated, and can be wide. `over_confidence` = mean confidence -
    share right, with a clustered t interval.

    Args:
        confidence: The judge's confidence in its verdict, in [0, 1].
        correct: Whether the verdict is right, 1 or 0.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        bins: Number of bins of the curve and of the ECE.
        floor: A smaller difference from an unbiased judge does not count as bias.
        confidence_level: Level of all intervals.
        replicates: Simulations of a calibrated judge, and bootstraps of the ECE.
        seed: Seed of everything random.

    >>> judge = reliability([0.9] * 50, [1, 0] * 25)
    >>> round(judge.over_confidence, 3), round(judge.ece_uniform, 3), judge.biased
    (0.4, 0.4, True)
    """
    sure, right = probabilities(confidence, "confidence"), zero_one(correct, "correct")
    n = same_length(confidence=sure, correct=right)
    count(bins, "bins", least=2)
    count(replicates, "replicates", least=1)
    non_negative(floor, "floor")
    open_unit(confidence_level, "confidence_level")
    codes = codes_of(clusters, n)
    groups = int(codes.max()) + 1
    gap = sure - right
    low, high = mean_interval(gap, codes, confidence_level, bounds=(-1.0, 1.0))
    random = generator(seed)
    table = reliability_bins(sure, right, bins=bins, equal_mass=True)
    ece = table.calibration_error
    sums = _BinSums.of(gap, table, codes, groups)
    null = None
    if groups > 1:
        null = float((np.abs(sums.draw_signs(replicates, random)).sum(axis=1) / n).mean())
    coarse = max(2, min(bins, groups // 8))
    tested = sums
    if coarse < bins:
        few = reliability_bins(sure, right, bins=coarse, equal_mass=True)
        tested = _BinSums.of(gap, few, codes, groups)
    p_value = None if groups <= coarse else _p_value(tested, replicates, random)
    ece_range = _ece_interval(sums, n, ece, replicates, confidence_level, random)
    hits = share_interval(right.astype(np.float64), codes, confidence_level)
    return Reliability(
        n=n,
        clusters=groups,
        accuracy=float(right.mean()),
        accuracy_low=hits[0],
        accuracy_high=hits[1],
        mean_confidence=float(sure.mean()),
        ece_uniform=expected_calibration_error(sure, right, bins=bins),
        ece_equal_mass=ece,
        ece_low=ece_range[0],
        ece_high=ece_range[1],
        ece_if_calibrated=null,
        p_value=p_value,
        over_confidence=float(gap.mean()),
        low=low,
        high=high,
        biased=shows(float(gap.mean()), (low, high), 0.0, floor),
        floor=floor,
        curve=_curve(table, sure, right, codes, confidence_level),
        dropped={},
        confidence_level=confidence_level,
    )


@dataclass(frozen=True)
class _BinSums:
    """Summed residuals of clusters in bins; an ECE is sum over bins |total| / n.

    Sums over many clusters are normal, and only their covariance is needed. So `each`, the sums of
    every cluster (clusters, bins), is kept only if there are few; `products` is each' @ each.
    """

    groups: int
    total: FloatArray
    products: FloatArray
    each: FloatArray | None

    @classmethod
    def of(cls, gap: FloatArray, table: Bins, codes: IntArray, groups: int) -> _BinSums:
        """Add up the residuals `gap`."""
        bins = len(table.count)
        if groups == len(gap) > _MANY:
            # A cluster of one row lies in one bin: its products with other bins are 0.
            squares = np.bincount(table.which, weights=gap * gap, minlength=bins)
            total = np.bincount(table.which, weights=gap, minlength=bins)
            return cls(groups, total.astype(np.float64), np.diag(squares), None)
        flat = np.bincount(codes * bins + table.which, weights=gap, minlength=groups * bins)
        each = flat.reshape(groups, bins).astype(np.float64, copy=False)
        return cls(groups, each.sum(axis=0), each.T @ each, each if groups <= _MANY else None)

    def draw_signs(self, replicates: int, random: np.random.Generator) -> FloatArray:
        """Totals if each cluster's residuals get a random sign, (replicates, bins)."""
        if self.each is None:
            return _normal(self.products, replicates, random)
        signs = 2.0 * random.integers(0, 2, size=(replicates, self.groups)) - 1.0
        return np.asarray(signs @ self.each, dtype=np.float64)

    def resample(self, replicates: int, random: np.random.Generator) -> FloatArray:
        """The change of the totals if clusters are resampled, (replicates, bins)."""
        if self.each is None:
            around_mean = self.products - np.outer(self.total, self.total) / self.groups
            return _normal(around_mean, replicates, random)
        weights = bootstrap_weights(self.groups, replicates, random)
        return np.asarray((weights - 1) @ self.each, dtype=np.float64)


def _normal(covariance: FloatArray, replicates: int, random: np.random.Generator) -> FloatArray:
    zero = np.zeros(len(covariance))
    drawn = random.multivariate_normal(zero, covariance, replicates, method="eigh")
    return np.asarray(drawn, dtype=np.float64)


def _p_value(sums: _BinSums, replicates: int, random: np.random.Generator) -> float:
    """How often random signs give the observed ECE, with at most one bin per eight clusters.

    Residuals that are fitted to their own bin are too small by sqrt(1 - bins/groups). Without that
    factor, or with a bin per two clusters, the false-alarm rate is 7 to 14 % instead of 5 %.
    """
    null = np.abs(sums.draw_signs(replicates, random)).sum(axis=1)
    null *= np.sqrt(sums.groups / (sums.groups - len(sums.total)))
    seen = float(np.abs(sums.total).sum())
    return (1 + int((null >= seen * (1 - 1e-12)).sum())) / (1 + replicates)


def _ece_interval(
    sums: _BinSums,
    n: int,
    ece: float,
    replicates: int,
    confidence_level: float,
    random: np.random.Generator,
) -> tuple[float | None, float | None]:
    """ECE -+ a quantile of sum |noise of a bin|: by the triangle inequality never too narrow."""
    groups, size = sums.groups, len(sums.total)
    if groups <= size:
        return None, None
    moved = sums.resample(replicates, random)
    noise = np.abs(moved).sum(axis=1) / n * np.sqrt(groups / (groups - size))
    reach = float(np.quantile(noise, confidence_level))
    return max(0.0, ece - reach), min(1.0, ece + reach)


def _curve(
    table: Bins, sure: FloatArray, right: IntArray, codes: IntArray, confidence_level: float
) -> tuple[ReliabilityBin, ...]:
    curve = []
    for at in range(len(table.count)):
        rows = table.which == at
        low, high = share_interval(right[rows].astype(np.float64), codes[rows], confidence_level)
        curve.append(
            ReliabilityBin(
                low=float(table.low[at]),
                high=float(table.high[at]),
                n=int(rows.sum()),
                confidence=float(sure[rows].mean()),
                accuracy=float(right[rows].mean()),
                accuracy_low=low,
                accuracy_high=high,
            )
        )
    return tuple(curve)


def contradictions(
    verdicts: Sequence[Any],
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    clusters: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
    unit: Literal["pair", "reply"] = "pair",
) -> Contradictions:
    """Share of decisive pairs (or replies) whose verdict and scores point in opposite directions.

    Decisive: a verdict "A" or "B" and two different scores; the others are counted by reason. The
    share is 0 for a judge that follows its own scores.

    Args:
        verdicts: The judge's verdicts: "A", "B", "tie" or None.
        score_a: The judge's score of response_a; NaN without one.
        score_b: The judge's score of response_b; NaN without one.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        confidence_level: Level of all intervals.
        unit: What a row is: pair or reply.

    >>> contradictions(["A", "B", "A", None], [5, 5, 3, 4], [3, 3, 3, 1]).share
    0.5
    """
    open_unit(confidence_level, "confidence_level")
    a, b = optional_numbers(score_a, "score_a"), optional_numbers(score_b, "score_b")
    named = np.array(list(verdicts), dtype=object)
    n = same_length(verdicts=named, score_a=a, score_b=b)
    codes = codes_of(clusters, n)
    decided = np.array([verdict in ("A", "B") for verdict in named], dtype=bool)
    scored = np.isfinite(a) & np.isfinite(b)
    unequal = scored & (a != b)
    kept = decided & unequal
    opposite = (np.equal(named, "A") != (a > b)).astype(np.float64)[kept]
    low, high = share_interval(opposite, codes[kept], confidence_level)
    return Contradictions(
        unit=unit,
        n=len(opposite),
        clusters=count_clusters(codes[kept]),
        share=mean_or_none(opposite),
        low=low,
        high=high,
        dropped=merge_dropped(
            {
                "no verdict": int((~decided).sum()),
                "no scores": int((decided & ~scored).sum()),
                "equal scores": int((decided & scored & ~unequal).sum()),
            }
        ),
        confidence_level=confidence_level,
    )
