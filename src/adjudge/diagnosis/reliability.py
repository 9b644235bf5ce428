"""Does the judge's confidence match its accuracy? (Soft-Elo paper, appendix G.)"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import Rows, confidences
from adjudge.diagnosis.measures import (
    BOTH_SCORES,
    NO_INTERVAL,
    BiasRows,
    BiasTest,
    Measure,
    Sample,
    Sampling,
    ends_of,
)
from adjudge.present import figure as theme
from adjudge.present.result import Count, Proportion
from adjudge.present.text import count, level, number, percent, percent_interval, signed
from adjudge.records import Interval
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
    generator,
    probabilities,
    same_length,
    zero_one,
)
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: Over-confidence is known if its interval is this close to zero.
_CLOSE = 0.05
#: With more clusters, sums over them are drawn as normal.
_MANY = 1000


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Rows of similar confidence: the judge's confidence, and how often it was right."""

    low: float
    high: float
    n: Count
    confidence: Proportion
    accuracy: Proportion
    accuracy_interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Reliability(BiasTest):
    """Whether the judge's confidence matches its accuracy.

    `ece_if_calibrated` is the ECE of a calibrated judge on as many rows; `p_value` is how often its
    ECE is at least this large. `over_confidence` is mean confidence minus accuracy.
    """

    title: ClassVar[str] = "confidence"
    clusters: Count
    accuracy: Proportion
    accuracy_interval: Interval | None
    mean_confidence: Proportion
    ece_uniform: Proportion
    ece_equal_mass: Proportion
    ece_interval: Interval | None
    ece_if_calibrated: Proportion | None
    p_value: Proportion | None
    over_confidence: float
    curve: tuple[ReliabilityBin, ...] = field(repr=False)

    @property
    def remedy(self) -> str:
        return "calibrate before you trust"

    @property
    def miscalibrated(self) -> bool:
        """Chance does not explain the ECE: it is too large for a calibrated judge."""
        return self.p_value is not None and self.p_value <= 1 - self.confidence_level

    def measures(self) -> tuple[Measure, ...]:
        over = self.over_confidence
        n = self.n
        ece = self.ece_equal_mass
        expected = self.ece_if_calibrated
        return (
            self.measure("over-confidence", over, self.interval, 0.0, self.floor),
            # A calibrated judge also has an ECE above zero: the p-value is its test.
            Measure("ECE, equal mass", ece, self.ece_interval, expected, n, self.miscalibrated),
        )

    def describe(self) -> str:
        words = f"ECE {self.ece_equal_mass:.3f}, equal mass"
        if self.ece_if_calibrated is not None:
            words += f" (a calibrated judge would show {self.ece_if_calibrated:.3f})"
        low, high = ends_of(self.interval)
        if low is None or high is None:
            return words + NO_INTERVAL
        return f"{words}: {self._describe_finding(low, high)}"

    def _describe_finding(self, low: float, high: float) -> str:
        rows = count(self.n, "row")
        over = self.over_confidence
        ends = self.interval
        if self.negligible and not self.miscalibrated:
            small = self.describe_negligible()
            return f"over-confidence {signed(100 * over, 1)} points, {small}"
        if low > 0:
            return f"over-confident by {100 * over:.1f} points {percent_interval(ends)}"
        if high < 0:
            ends = Interval(-high, -low, level=self.confidence_level)
            return f"under-confident by {-100 * over:.1f} points {percent_interval(ends)}"
        if self.miscalibrated:
            return (
                "not over- or under-confident on average, but miscalibrated at some confidence "
                f"levels (p = {number(self.p_value)})"
            )
        least, _ = ends_of(self.accuracy_interval)
        if least is None or least <= 0.5:
            right = percent_interval(self.accuracy_interval)
            return (
                "whether its confidence can be trusted is not known, because its verdicts are not "
                f"shown to beat chance ({percent(self.accuracy)} of {rows} right {right})"
            )
        points = f"{percent_interval(ends, sign=True)} points"
        if max(-low, high) <= _CLOSE:
            return f"calibrated as far as {rows} show, over-confidence in {points}"
        return (
            f"no miscalibration shown, but with {rows} its over-confidence can be anywhere in "
            f"{points}"
        )


def reliability(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    bins: int = 10,
    replicates: int = 1000,
    seed: Seed = 0,
    **sampling: Unpack[Sampling],
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

    >>> judge = reliability([0.9] * 50, [1, 0] * 25)
    >>> round(judge.over_confidence, 3), round(judge.ece_uniform, 3), judge.biased
    (0.4, 0.4, True)
    """
    sure = probabilities(confidence, "confidence")
    right = zero_one(correct, "correct")
    n = same_length(confidence=sure, correct=right)
    check_count(bins, "bins", least=2)
    check_count(replicates, "replicates", least=1)
    rows = Sample.of(n, **sampling)
    codes = rows.codes
    groups = int(rows.codes.max()) + 1
    gap = sure - right
    over_confidence = float(gap.mean())
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
    p_value = None if groups <= coarse else tested.p_value(replicates, random)
    ece_ends: Interval | None = None
    if groups > len(sums.total):
        # ECE -+ a quantile of sum |noise of a bin|: by the triangle inequality never too narrow.
        moved = np.abs(sums.resample(replicates, random)).sum(axis=1)
        reach = float(np.quantile(moved / n * sums.freedom, rows.confidence_level))
        low = max(0.0, ece - reach)
        high = min(1.0, ece + reach)
        ece_ends = Interval(low, high, level=rows.confidence_level)
    curve = []
    for at in range(len(table.count)):
        among = table.which == at
        hits = right[among].astype(np.float64)
        interval = rows.only(among).share_interval(hits)
        entry = ReliabilityBin(
            low=float(table.low[at]),
            high=float(table.high[at]),
            n=len(hits),
            confidence=float(sure[among].mean()),
            accuracy=float(hits.mean()),
            accuracy_interval=interval,
        )
        curve.append(entry)
    test = rows.test(over_confidence, rows.mean_interval(gap), 0.0)
    accuracy_interval = rows.share_interval(right.astype(np.float64))
    return Reliability(
        **test,
        accuracy=float(right.mean()),
        accuracy_interval=accuracy_interval,
        mean_confidence=float(sure.mean()),
        ece_uniform=expected_calibration_error(sure, right, bins=bins),
        ece_equal_mass=ece,
        ece_interval=ece_ends,
        ece_if_calibrated=null,
        p_value=p_value,
        over_confidence=over_confidence,
        curve=tuple(curve),
    )


def measure_reliability(rows: BiasRows) -> Reliability | str:
    """Reliability of one judge's labelled verdicts, or why there is none."""
    if not rows.verdicts.graded:
        return "verdicts without probabilities have no confidence"
    if rows.has(*BOTH_SCORES):
        return "a rubric's p_a is a score difference, not a probability: see rank"
    if not rows.has("label"):
        return "no label: add label, or give --labels"
    verdict = pl.col("verdict")
    label = pl.col("label")
    decided = (
        Rows(rows.frame)
        .without(verdict.is_null(), "no judge answer")
        .without(verdict == "tie", "judge tie")
        .without(label.is_null(), "no human label")
        .without(label == "tie", "human tie")
    )
    frame = decided.frame
    if frame.is_empty():
        return "no row has a verdict and a label that is not a tie"
    result = reliability(
        confidences(frame),
        (frame["verdict"] == frame["label"]).to_numpy().astype(np.int64),
        seed=rows.seed,
        **rows.sampling(frame),
    )
    return replace(result, dropped=decided.dropped)


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
            return _draw_normal(self.products, replicates, random)
        signs = 2.0 * random.integers(0, 2, size=(replicates, self.groups)) - 1.0
        return np.asarray(signs @ self.each, dtype=np.float64)

    def resample(self, replicates: int, random: np.random.Generator) -> FloatArray:
        """The change of the totals if clusters are resampled, (replicates, bins)."""
        if self.each is None:
            around_mean = self.products - np.outer(self.total, self.total) / self.groups
            return _draw_normal(around_mean, replicates, random)
        weights = bootstrap_weights(self.groups, replicates, random)
        return np.asarray((weights - 1) @ self.each, dtype=np.float64)

    @property
    def freedom(self) -> float:
        """Residuals that are fitted to their own bin are too small by 1 / this factor."""
        return math.sqrt(self.groups / (self.groups - len(self.total)))

    def p_value(self, replicates: int, random: np.random.Generator) -> float:
        """How often random signs give the observed ECE, with at most one bin per eight clusters.

        Without the factor `freedom`, or with a bin per two clusters, the false-alarm rate is 7 to
        14 % instead of 5 %.
        """
        null = np.abs(self.draw_signs(replicates, random)).sum(axis=1) * self.freedom
        seen = float(np.abs(self.total).sum())
        return (1 + int((null >= seen * (1 - 1e-12)).sum())) / (1 + replicates)


def _draw_normal(
    covariance: FloatArray, replicates: int, random: np.random.Generator
) -> FloatArray:
    zero = np.zeros(len(covariance))
    drawn = random.multivariate_normal(zero, covariance, replicates, method="eigh")
    return np.asarray(drawn, dtype=np.float64)


def reliability_figure(result: Reliability) -> Drawing:
    """How often the judge is right at each confidence, with intervals."""
    with theme.themed():
        figure = theme.new_figure(6.1, 3.9)
        axes = figure.subplots()
        theme.draw_reliability(
            axes,
            [entry.confidence for entry in result.curve],
            [entry.accuracy for entry in result.curve],
            intervals=[entry.accuracy_interval for entry in result.curve],
        )
        axes.set_xlabel("confidence (dashed: equal)")
        axes.set_ylabel(f"share of verdicts right, {level(result.confidence_level)} interval")
        finding = "No over- or under-confidence shown"
        if result.biased:
            finding = "Over-confident" if result.over_confidence > 0 else "Under-confident"
        axes.set_title(f"{finding} (ECE {result.ece_equal_mass:.2f})")
    return figure
