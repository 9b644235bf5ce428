"""(iv) The human rate given the verdict, weighted by how often the judge gives that verdict."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from adjudge.estimation.estimators.base import Estimator, Outcome, refusal, widen
from adjudge.estimation.sample import TOO_FEW, Sample
from adjudge.present.text import percent
from adjudge.records import Interval
from adjudge.statistics.by_verdict import measure_by_verdict
from adjudge.statistics.clusters import share_interval
from adjudge.statistics.numbers import binomial_interval, normal_quantile
from adjudge.validation import FloatArray

#: What it assumes of labels drawn by verdict.
OF_ALL_ROWS = (
    "within each verdict the labelled rows are a random (or complete) sample of all rows with it"
)


class _Conditional(Estimator):
    """theta = p r1 + (1 - p) r0, r_v the human rate among labelled rows of verdict v (row iv).

    Only this estimator of Table 1 can use labels picked by verdict without weights: selection by
    verdict changes the number of labels of each r_v, not its expectation. If the sampling
    probability varies within a verdict, r_v is weighted by its inverse. Biased under label shift.
    If the labels are known to be a random sample, or drawn by verdict, p is the judge's rate on all
    rows, including labelled ones. The interval adds one success and one failure to each r_v and
    z^2/2 of each to p, as Eq. 7 does for the corrected rate, so that r_v = 1 is not treated as
    certain; for labels drawn by verdict it is of draws (`draw_tables`), with clusters as above.

    If no row of a verdict has a label, there is an interval without an estimate: r_v of that
    verdict is in [0, 1], the other in its exact interval.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0, 1, 1, 1, 0], [1, 1, 0, 0] + [None] * 4)
    >>> CONDITIONAL.compute(rows).estimate
    0.75
    """

    name = "conditional"
    assumption = (
        "within each verdict the labelled rows are a random sample of the test rows (labels can be "
        "picked by verdict)"
    )
    assumes = "random labels"
    assumes_with_plan = "random labels within each verdict"
    needs_labels_of_group = True
    needs_verdicts = True
    takes_shares = False
    takes_plan = True
    takes_verdict_draw = True

    def interval(self, sample: Sample) -> str:
        return "jeffreys" if sample.drawn_by_verdict and sample.clusters is None else "wald"

    def compute(self, sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
        if sample.scale != "binary":
            return refusal("this method needs verdicts of 0 and 1, not probabilities")
        if sample.n == 0:
            return refusal("every row has a human label: use the human rate (method human-only)")
        labelled = sample.sums.labelled
        n = sample.about.size
        p = sample.about.ones / n
        weights = _weights(sample)
        if sample.planned and weights is None:
            return refusal(
                "some labelled rows were picked with unequal probabilities within a verdict and "
                "others have none; give a sampling probability for every labelled row"
            )
        sizes = labelled.ones, labelled.size - labelled.ones
        unlabelled = [
            (verdict, share)
            for verdict, share, size in zip((1, 0), (p, 1 - p), sizes, strict=True)
            if share > 0 and size == 0
        ]
        if unlabelled:
            return _bounds(sample, *unlabelled[0], confidence_level)
        rates = [
            _verdict_rate(sample, weights, v, size) for v, size in zip((1, 0), sizes, strict=True)
        ]
        (r1, size1), (r0, size0) = rates
        theta = p * r1 + (1 - p) * r0

        def influence() -> FloatArray:
            values = sample.spread(sample.about_rows, p, r1 - r0, n)
            for verdict, share, rate in ((1, p, r1), (0, 1 - p, r0)):
                rows = sample.labelled & (sample.judge == verdict)
                w = np.ones(len(rows)) if weights is None else weights
                values[rows] += share * w[rows] * (sample.human[rows] - rate) / (w[rows].sum() or 1)
            return values

        plain = None
        if not sample.planned:
            between = (r1 - r0) ** 2 * p * (1 - p) / n
            within = p**2 * r1 * (1 - r1) / max(size1, 1)
            within += (1 - p) ** 2 * r0 * (1 - r0) / max(size0, 1)
            plain = math.sqrt(between + within)
        z = normal_quantile(confidence_level)
        centre, se = adjust(p, r1, r0, n, size1, size0, z)
        fewest = min(size for size, share in ((size1, p), (size0, 1 - p)) if share > 0)
        few = "fewer than 10 labels for one verdict: the interval is approximate"
        warnings = (f"{few}; label more rows of that verdict",) if fewest < 10 else ()
        around = float(centre), float(se)
        if self.interval(sample) == "jeffreys":
            drawn = measure_by_verdict(*sample.by_verdict, confidence_level=confidence_level)
            low, high = drawn["rate"].interval or (None, None)
            return Outcome(theta, low, high, plain, warnings=warnings)
        return widen(
            sample, theta, influence, confidence_level, se=plain, around=around, warnings=warnings
        )

    def assumption_for(self, sample: Sample) -> str:
        if sample.drawn_by_verdict:
            return OF_ALL_ROWS
        if not sample.random:
            return self.assumption
        return (
            "the labelled rows are a random sample of the same rows as the test rows (the judge's "
            "rate is computed on both)"
        )


def adjust(
    p: ArrayLike,
    r1: ArrayLike,
    r0: ArrayLike,
    n: float,
    size1: ArrayLike,
    size0: ArrayLike,
    z: float,
) -> tuple[FloatArray, FloatArray]:
    """Centre and standard error of the interval before clipping; elementwise on arrays."""
    p = np.asarray(p, dtype=np.float64)
    r1 = np.asarray(r1, dtype=np.float64)
    r0 = np.asarray(r0, dtype=np.float64)
    size1 = np.asarray(size1, dtype=np.float64)
    size0 = np.asarray(size0, dtype=np.float64)
    n_ = n + z**2
    p_ = (n * p + z**2 / 2) / n_
    a1 = (size1 * r1 + 1) / (size1 + 2)
    a0 = (size0 * r0 + 1) / (size0 + 2)
    of_rate = (a1 - a0) ** 2 * p_ * (1 - p_) / n_
    of_ones = p**2 * a1 * (1 - a1) / (size1 + 2)
    of_zeros = (1 - p) ** 2 * a0 * (1 - a0) / (size0 + 2)
    return p * a1 + (1 - p) * a0, np.sqrt(of_rate + (of_ones + of_zeros))


def _bounds(sample: Sample, verdict: int, share: float, level: float) -> Outcome:
    """The interval without labels of a verdict that is this share of the rows: r_v in [0, 1]."""
    rows = "rows" if sample.about_everyone or sample.drawn_by_verdict else "test rows"
    says = f"the judge says {verdict} on {percent(share)} of the {rows}, but no row of that verdict"
    remedy = f"for an estimate, label some rows of verdict {verdict} at random"
    reason = f"{says} has a human label; {remedy}"
    labels = sample.human[sample.labelled]
    ends: Interval | tuple[float, float] | None
    if sample.planned or not len(labels):
        return refusal(reason)
    if sample.clusters is None:
        ends = binomial_interval(int(labels.sum()), len(labels), level)
    else:
        ends = share_interval(labels, sample.clusters[sample.labelled], level)
    if ends is None:
        return refusal(TOO_FEW)
    low, high = ends
    return Outcome(None, (1 - share) * (low or 0), (1 - share) * (high or 0) + share, reason=reason)


def _weights(sample: Sample) -> FloatArray | None:
    """Weights of labelled rows; None if they vary within a verdict and some are unknown."""
    if sample.weights is None:
        return None
    weights = sample.weights.copy()
    for verdict in (0.0, 1.0):
        rows = sample.labelled & (sample.judge == verdict)
        unknown = rows & np.isnan(weights)
        chosen = weights[rows & ~unknown]
        if unknown.any() and len(np.unique(chosen)) > 1:
            return None
        # A random label among labels of one probability within the verdict counts like them.
        weights[unknown] = chosen[0] if chosen.size else 1.0
    return weights


def _verdict_rate(
    sample: Sample, weights: FloatArray | None, verdict: int, size: int
) -> tuple[float, float]:
    """The human rate of the labelled rows of a verdict, and their number; weighted, if planned."""
    if size == 0:
        return 0.0, 0.0
    if weights is None:
        ones = sample.sums.positive.ones
        return (ones if verdict else sample.sums.positive.size - ones) / size, size
    rows = sample.labelled & (sample.judge == verdict)
    w = weights[rows]
    total = float(weights[rows].sum())
    return float(w @ sample.human[rows]) / total, total**2 / float(w @ w)


CONDITIONAL = _Conditional()
