"""(v) The rate corrected for the judge's errors: Eq. 4 to 9 of the reporting paper.

p = (q0 + q1 - 1) theta + (1 - q0): solve for theta, and the judge's rate gives the human rate.
There are versions for probabilities, for labels picked by a plan, and for strata.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adjudge.estimation.estimators.base import (
    Estimator,
    Outcome,
    refusal,
    refuse_everything,
    refuse_outside,
    why_outside,
    widen,
)
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.sample import Counts, Sample, counts_of, missing, variance_floor
from adjudge.statistics.numbers import normal_quantile, slices
from adjudge.validation import BoolArray, FloatArray, Seed, open_unit


class Bounds(NamedTuple):
    """Interval ends in [0, 1]; if `informative` is False they are 0 and 1 without meaning."""

    low: FloatArray
    high: FloatArray
    informative: BoolArray

    @property
    def length(self) -> FloatArray:
        return np.asarray(self.high - self.low)

    def covers(self, rate: FloatArray) -> BoolArray:
        return np.asarray((self.low <= rate) & (rate <= self.high))


class Rates(NamedTuple):
    """Corrected rates in [0, 1]; if `informative` is False the number has no meaning."""

    estimate: FloatArray
    informative: BoolArray


def corrected_rate(p: ArrayLike, q0: ArrayLike, q1: ArrayLike, *, clipped: bool = True) -> Rates:
    """theta = (p + q0 - 1) / (q0 + q1 - 1), Eq. 4 with known and Eq. 5 with estimated q0, q1.

    Elementwise on arrays that broadcast. With q0 + q1 <= 1 the judge is not better than chance and
    there is no rate: `informative` is False there.

    Args:
        p: Share of test rows that the judge calls 1.
        q0: The judge's specificity.
        q1: The judge's sensitivity.
        clipped: Clip the rates to [0, 1].

    >>> float(corrected_rate(0.55, 0.7, 0.9).estimate.round(6))
    0.416667
    """
    p, q0, q1 = _floats(p, q0, q1)
    edge = q0 + q1 - 1
    informative = np.asarray(edge > 0)
    theta = (p + q0 - 1) / np.where(informative, edge, 1.0)
    return Rates(np.clip(theta, 0, 1) if clipped else theta, informative)


def corrected_variance(
    p: ArrayLike, q0: ArrayLike, q1: ArrayLike, n: ArrayLike, m0: ArrayLike, m1: ArrayLike
) -> FloatArray:
    """Delta-method variance of the corrected rate, Eq. 9; only for q0 + q1 > 1.

    Args:
        p: Share of test rows that the judge calls 1.
        q0: The judge's specificity.
        q1: The judge's sensitivity.
        n: Number of test rows.
        m0: Labels of class 0.
        m1: Labels of class 1.

    >>> float(corrected_variance(0.55, 0.7, 0.9, 1000, 100, 100).round(6))
    0.003106
    """
    p, q0, q1, n, m0, m1 = _floats(p, q0, q1, n, m0, m1)
    theta = corrected_rate(p, q0, q1, clipped=False).estimate
    v0 = (1 - theta) ** 2 * q0 * (1 - q0) / m0
    v1 = theta**2 * q1 * (1 - q1) / m1
    of_test = p * (1 - p) / n
    return np.asarray((of_test + v0 + v1) / (q0 + q1 - 1) ** 2)


def corrected_interval(
    p: ArrayLike,
    q0: ArrayLike,
    q1: ArrayLike,
    n: ArrayLike,
    m0: ArrayLike,
    m1: ArrayLike,
    *,
    confidence_level: float = 0.95,
) -> Bounds:
    """Interval for the corrected rate, Eq. 6 with the adjusted quantities of Eq. 7 and 8.

    Elementwise on arrays that broadcast: a Monte Carlo of 200,000 intervals is one call. Measured
    coverage at 95 %: at least 0.948 for q0, q1 in {0.7, 0.9}, m0 = m1 >= 100 and every rate. For
    weak judges with few or unbalanced labels, coverage is too low: 0.90 at q0 = q1 = 0.6 with
    m0 = 100, m1 = 10. Use `profile_interval` there.

    Ends are clipped to [0, 1] as published, so an interval entirely outside becomes [0, 0] or
    [1, 1]. The Monte Carlo needs that. `estimate` refuses such a sample instead.

    Args:
        p: Share of test rows that the judge calls 1.
        q0: The judge's specificity.
        q1: The judge's sensitivity.
        n: Number of test rows.
        m0: Labels of class 0.
        m1: Labels of class 1.
        confidence_level: Confidence level of the intervals.

    >>> low, high, _ = corrected_interval(0.55, 0.7, 0.9, 1000, 100, 100)
    >>> float(low.round(4)), float(high.round(4))
    (0.3006, 0.523)
    """
    z = normal_quantile(open_unit(confidence_level, "confidence_level"))
    values = _floats(p, q0, q1, n, m0, m1)
    shape = np.broadcast_shapes(*(value.shape for value in values))
    size = math.prod(shape)
    if size <= _BLOCK:
        return _bounds(values, z)
    # Single numbers stay single, everything else becomes one array to be cut into blocks.
    flat = [v if v.ndim == 0 else np.broadcast_to(v, shape).reshape(-1) for v in values]
    low = np.empty(size)
    high = np.empty(size)
    informative = np.empty(size, dtype=np.bool_)
    for at in slices(size, _BLOCK):
        block = [v if v.ndim == 0 else v[at] for v in flat]
        low[at], high[at], informative[at] = _bounds(block, z)
    return Bounds(low.reshape(shape), high.reshape(shape), informative.reshape(shape))


#: Data sets per block, so that all intermediate arrays stay in the processor's cache.
_BLOCK = 16384
#: How far above 1 a sum can round that is exactly 1 in integers.
_ROUNDING = 1e-15


def _bounds(values: Sequence[FloatArray], z: float) -> Bounds:
    """One block; `values` are p, q0, q1, n, m0, m1."""
    p, q0, q1, n, m0, m1 = values
    centre, se, informative = adjust(p, q0, q1, n, m0, m1, z)
    half = z * se
    low = np.minimum(np.maximum(centre - half, 0), 1)
    high = np.minimum(np.maximum(centre + half, 0), 1)
    if not informative.all():
        low = np.where(informative, low, 0.0)
        high = np.where(informative, high, 1.0)
    return Bounds(low, high, np.broadcast_to(informative, low.shape))


def adjust(
    p: ArrayLike, q0: ArrayLike, q1: ArrayLike, n: ArrayLike, m0: ArrayLike, m1: ArrayLike, z: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Centre and standard error of Eq. 6 before clipping (Eq. 7, 8), and a mask of valid ones."""
    p, q0, q1, n, m0, m1 = _floats(p, q0, q1, n, m0, m1)
    # One over n~, m~0, m~1: dividing a million shares by one number is slower than multiplying.
    w = 1 / (n + z**2)
    w0 = 1 / (m0 + 2)
    w1 = 1 / (m1 + 2)
    p_ = p * (n * w) + z**2 / 2 * w
    q0_ = q0 * (m0 * w0) + w0
    q1_ = q1 * (m1 * w1) + w1
    edge = q0_ + q1_ - 1
    informative = np.asarray((edge > _ROUNDING) & (q0 + q1 - 1 > 0))
    if not informative.all():
        edge = np.where(informative, edge, 1.0)
    theta = (p_ + q0_ - 1) / edge
    rest = 1 - theta
    v0 = rest * (w0 * (q0_ - q0_**2))
    v1 = theta * (w1 * (q1_ - q1_**2))
    shift = 2 * z**2 * (v1 - v0)
    se = np.sqrt(w * (p_ - p_**2) + rest * v0 + theta * v1) / edge
    return theta + shift, se, informative


def misclassification(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Corrected rate of a 0/1 sample with the interval of Eq. 6, widened if there are clusters.

    This and the other versions need test rows and labels of both classes. Clusters do not move the
    centre of Eq. 6. They scale its half-length by the design effect of the influence values.
    """
    counts = counts_of(sample)
    weak = uninformative(counts)
    if weak is not None:
        return refusal(weak)
    shares = (counts.p, counts.q0, counts.q1, counts.n, counts.m0, counts.m1)
    centre, se, _ = adjust(*shares, normal_quantile(confidence_level))
    rate = float(corrected_rate(*shares[:3], clipped=False).estimate)
    variance = float(corrected_variance(*shares))
    return widen(
        sample,
        rate,
        lambda: correct_means(sample).influence,
        confidence_level,
        se=math.sqrt(variance),
        around=(float(centre), float(se)),
        doubts=doubts(counts),
    )


def uninformative(counts: Counts) -> str | None:
    """Why a judge not better than chance cannot be corrected."""
    if counts.informative and counts.informative_adjusted:
        return None
    which = " after the adjustment for small samples (Eq. 7)" if counts.informative else ""
    return (
        f"sensitivity {counts.q1:.3f} + specificity {counts.q0:.3f} is not above 1{which}: on "
        "these labels the judge is not better than chance, and no correction can recover the rate; "
        "use the human labels alone (method human-only), more labels, or another judge"
    )


def doubts(counts: Counts) -> tuple[str, ...]:
    """Cases in which the interval of Eq. 6 is known to cover less than its level."""
    q0 = (counts.c0 + 1) / (counts.m0 + 2)
    q1 = (counts.c1 + 1) / (counts.m1 + 2)
    variance0 = q0 * (1 - q0) / (counts.m0 + 2)
    variance1 = q1 * (1 - q1) / (counts.m1 + 2)
    noise = math.sqrt(variance0 + variance1)
    fewer, more = sorted((counts.m0, counts.m1))
    if q0 + q1 - 1 < 4 * noise:
        return (
            "the judge's advantage over chance is within four standard errors of zero: the "
            "interval of Eq. 6 can cover less than its level (measured at 95 %: 0.90; with ten "
            "labels per class 0.66, if there is an estimate)",
        )
    if fewer < 20 or more > 5 * fewer:
        return (
            "few labels in one class, or far fewer than in the other: the interval of Eq. 6 can "
            "cover less than its level (measured with about ten per class: 0.88 at 95 %)",
        )
    return ()


def _floats(*values: ArrayLike) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


class Correction(NamedTuple):
    """The raw corrected rate of a sample, the judge's edge J = mu1 - mu0, and its means."""

    theta: float
    edge: float
    mu0: float
    mu1: float
    sample: Sample

    @property
    def influence(self) -> FloatArray:
        sample = self.sample
        if self.edge <= 0:
            return np.zeros_like(sample.judge)
        values = sample.spread(sample.test, sample.sums.test.mean, 1.0, sample.n)
        for rows, share, mean in (
            (sample.negative, 1 - self.theta, self.mu0),
            (sample.positive, self.theta, self.mu1),
        ):
            weights = 1.0 if sample.weights is None else sample.weights[rows]
            total = np.sum(np.broadcast_to(weights, int(rows.sum())))
            values[rows] -= share * weights * (sample.judge[rows] - mean) / total
        values /= self.edge
        return values


def correct_means(sample: Sample) -> Correction:
    """Rate and influence values of a sample that has test rows and labels of both classes.

    With x the judge's 0/1 or probability, mu_z its mean among rows people call z, J = mu1 - mu0:
    theta = (mean x - mu0) / J, and to first order its error is the sum over rows of

        [ (x_i - mean x)/n  on test rows
          - (1 - theta) w_i (x_i - mu0)/W0  on labelled rows of class 0
          - theta       w_i (x_i - mu1)/W1  on labelled rows of class 1 ] / J,

    w the inverse sampling probabilities (1 if labels are a simple random sample), W their sums.
    Squared and summed over independent rows this is Eq. 9; summed within clusters first, it allows
    for them. With J <= 0, rate and influence are zero and have no meaning: check `edge` first.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, None, None])
    >>> correct_means(rows).theta
    0.5
    """
    negative = sample.sums.negative.mean
    positive = sample.sums.positive.mean
    if sample.weights is not None:
        negative = _weighted_mean(sample.judge, sample.weights, sample.negative)
        positive = _weighted_mean(sample.judge, sample.weights, sample.positive)
    edge = positive - negative
    theta = (sample.sums.test.mean - negative) / edge if edge > 0 else 0.0
    return Correction(theta, edge, negative, positive, sample)


def _weighted_mean(values: FloatArray, weights: FloatArray, rows: BoolArray) -> float:
    return float(np.average(values[rows], weights=weights[rows]))


def soft(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """theta = (mean x - mu0) / (mu1 - mu0), mu_z the mean probability among rows people call z.

    Delta method with sample variances s^2 (divided by size - 1):
    [s_test^2/n + (1-theta)^2 s_0^2/m0 + theta^2 s_1^2/m1] / (mu1 - mu0)^2. The probabilities need
    not be calibrated. With 0/1 values this is Eq. 5 and, up to size/(size-1), Eq. 9. The interval
    is normal: it needs about 30 labels per class and a gap mu1 - mu0 well above its own noise.
    Eq. 6 to 8, exact intervals, profile and conditional are only for 0/1.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([0.9, 0.7, 0.3, 0.1, 0.5, 0.5], [1, 1, 0, 0, None, None])
    >>> round(soft(rows).estimate, 6)
    0.5
    """
    test = sample.sums.test
    negative = sample.sums.negative
    positive = sample.sums.positive
    for name, rows in (("1", positive), ("0", negative)):
        if rows.size < 2:
            alone = f"one row with human label {name}"
            return refusal(f"{alone}: its spread is unknown; label more rows")
    if sample.n < 2:
        return refusal("one test row: the spread of probabilities is unknown; judge more rows")
    fit = correct_means(sample)
    if fit.edge <= 0:
        return refusal(
            f"the judge's mean probability is {fit.mu1:.3f} where people say 1 and {fit.mu0:.3f} "
            "where they say 0: it does not separate the classes in the right direction; use the "
            "human labels alone (method human-only), or another judge"
        )
    v0 = negative.variance_of_mean
    v1 = positive.variance_of_mean
    of_zeros = (1 - fit.theta) ** 2 * v0
    of_ones = fit.theta**2 * v1
    variance = (test.variance_of_mean + of_zeros + of_ones) / fit.edge**2
    warnings: tuple[str, ...] = ()
    if fit.edge < 3 * math.sqrt(v0 + v1):
        warnings += (
            "the gap between the classes' mean probabilities is within three standard errors of "
            "zero: coverage can be below the stated level; label more rows",
        )
    if sample.fewest_labels < 30:
        warnings += (
            "fewer than 30 labels in one class: the normal interval is approximate; label more "
            "rows, or turn the probabilities into verdicts of 0 and 1 and use --interval profile",
        )
    return _around_itself(sample, fit, math.sqrt(variance), confidence_level, warnings)


def _around_itself(
    sample: Sample, fit: Correction, se: float | None, level: float, warnings: tuple[str, ...]
) -> Outcome:
    """The corrected rate as the centre of its own interval."""
    # Otherwise a judge whose errors or verdicts do not vary would be treated as certain.
    floor = variance_floor(fit.theta, min(sample.n, sample.m))
    return widen(
        sample, fit.theta, lambda: fit.influence, level, se=se, floor=floor, warnings=warnings
    )


def weighted_misclassification(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Eq. 5 with q1 = sum w x z / sum w z and q0 alike, w = 1 / sampling probability.

    Rows picked by verdict and treated as random bias both; weights correct this. The standard error
    comes from the influence values, so it includes the double role of planned rows (they test and
    calibrate). It treats rows as sampled independently: for a fixed number per verdict it is too
    wide rather than too narrow. With fewer than about 20 labels in a class it is approximate.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0] * 9, [1, None, 0, 0] * 9,
    ...                    sampling_probability=[0.5, None, 1, 1] * 9)
    >>> round(weighted_misclassification(rows).estimate, 3)
    0.5
    """
    if not sample.weighted:
        return refusal(
            "some labelled rows have no sampling probability, such as labels from before the "
            "plan; use method conditional, which needs none for labels sampled at random"
        )
    fit = correct_means(sample)
    if fit.edge <= 0:
        return refusal(
            f"weighted sensitivity {fit.mu1:.3f} + specificity {1 - fit.mu0:.3f} is not above 1: "
            "on these labels the judge is not better than chance; use method conditional, more "
            "labels, or another judge"
        )
    few = "fewer than 20 labels in one class: the weighted interval is approximate; label more rows"
    warnings = (few,) if sample.fewest_labels < 20 else ()
    return _around_itself(sample, fit, None, confidence_level, warnings)


#: The reasons of this many strata are given; a column of ids would give thousands.
_MOST_SHOWN = 3


def stratify(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Corrected rate with one confusion matrix per stratum (the paper's section 9, item 1).

    For a judge whose error rates differ between rows: theta = sum over strata of share_s * theta_s,
    share_s the stratum's share of the test rows. Variance: sum share_s^2 V_s + sum share_s (theta_s
    - theta)^2 / n; the second term is the noise of the shares themselves. V_s and the centres are
    those of Eq. 6 per stratum before clipping; only the final number is clipped. With one stratum
    this is Eq. 5 to 8. Every stratum with test rows needs labels of both classes. Eq. 7 moves each
    stratum's sensitivity towards one half: strata with fewer than about 20 labels a class bias it.

    Refused if the entire interval of one stratum lies outside [0, 1] at the level shared among the
    strata. One outside only at the plain level gives a warning: among many some are by chance.
    """
    if sample.strata is None or sample.n == 0:
        return refusal("no test rows to stratify")
    names = sample.strata_names
    theta = centre = variance = 0.0
    strata: list[tuple[Sample, float, float]] = []
    refused: list[str] = []
    warnings: list[str] = []
    doubts: list[str] = []
    unused: list[str] = []
    z = normal_quantile(confidence_level)
    wider = normal_quantile(1 - (1 - confidence_level) / max(len(names), 1)) / z
    flat = replace(sample, clusters=None, strata=None)
    for code, name in enumerate(names):
        stratum = flat.restrict(np.asarray(sample.strata == code))
        if stratum.n == 0:
            unused.append(name)
            continue
        outcome = MISCLASSIFICATION.compute(stratum, confidence_level=confidence_level)
        reason = outcome.reason or why_outside(outcome, wider)
        if reason or outcome.estimate is None or outcome.centre is None or outcome.half is None:
            refused.append(f"{name}: {reason}")
            continue
        if why_outside(outcome):
            warnings.append(
                f"stratum {name}: its rate before clipping, {outcome.estimate:.3f}, has its entire "
                "interval outside [0, 1]: by chance, or the judge's errors differ on its test rows"
            )
        share = stratum.n / sample.n
        strata.append((stratum, share, outcome.estimate))
        theta += share * outcome.estimate
        centre += share * outcome.centre
        variance += (share * outcome.half / z) ** 2
        warnings += [f"stratum {name}: {text}" for text in outcome.warnings]
        doubts += [f"stratum {name}: {text}" for text in outcome.doubts]
    if refused:
        shown = "; ".join(refused[:_MOST_SHOWN])
        more = f"; and {len(refused) - _MOST_SHOWN:,} more" if len(refused) > _MOST_SHOWN else ""
        return refusal(
            f"{len(refused)} of {len(names)} strata have no estimate ({shown}{more}); merge "
            "strata or label more rows in them"
        )
    between = sum(share * (rate - theta) ** 2 for _, share, rate in strata) / sample.n
    if unused:
        warnings.append(f"strata without test rows, their labels unused: {', '.join(unused)}")

    def influence() -> FloatArray:
        values = np.zeros_like(sample.judge)
        for stratum, share, rate in strata:
            values += share * correct_means(stratum).influence
            values[stratum.test] += (rate - theta) / sample.n
        return values

    return widen(
        sample,
        theta,
        influence,
        confidence_level,
        around=(centre, math.sqrt(variance + between)),
        warnings=tuple(warnings),
        doubts=tuple(doubts),
    )


class _Misclassification(Estimator):
    name = "misclassification"
    assumption = (
        "within each human class, the judge has the same error rate on labelled and on test rows "
        "(same sensitivity and specificity); the shares of the classes can differ"
    )
    assumes = "same judge errors on labelled rows"
    needs_random_labels = False
    takes_shares = False
    takes_plan = True
    has_matrix = True

    def compute(self, sample: Sample, *, confidence_level: float) -> Outcome:
        if sample.strata is not None:
            return stratify(sample, confidence_level=confidence_level)
        lacking = missing(sample)
        if lacking is not None:
            return refusal(lacking)
        version = soft if sample.scale == "probability" else misclassification
        if sample.planned:
            version = weighted_misclassification
        return version(sample, confidence_level=confidence_level)

    def assumption_for(self, sample: Sample) -> str:
        if sample.strata is not None:
            return (
                "within each stratum and human class, the judge has the same error rate on "
                "labelled and on test rows; strata and class shares can differ between labelled "
                "and test rows"
            )
        if sample.planned:
            return (
                "each labelled row was sampled independently with its stated sampling "
                "probability, and within each human class the judge has the same error rate on "
                "labelled and on test rows"
            )
        if sample.scale == "probability":
            return (
                "within each human class, the judge's probabilities have the same mean on "
                "labelled and on test rows"
            )
        return self.assumption

    def estimate_profile(self, sample: Sample, *, confidence_level: float, seed: Seed) -> Outcome:
        """The corrected rate with the profile interval.

        The likelihood is compared only among rates in [0, 1]. Its interval is never empty, even if
        all rates fit badly. The interval of Eq. 6 therefore decides whether any rate fits.
        """
        wald = refuse_outside(self.compute(sample, confidence_level=confidence_level))
        counts = counts_of(sample)
        if min(counts.n, counts.m0, counts.m1) == 0:
            return refuse_everything(wald)
        if wald.estimate is None and uninformative(counts) is None:
            return wald  # there was a rate, and its entire interval lay outside [0, 1]
        low, high = profile_interval(counts, confidence_level=confidence_level, seed=seed)
        if wald.estimate is None:
            return refuse_everything(Outcome(None, low, high, reason=wald.reason))
        return refuse_everything(Outcome(wald.estimate, low, high, wald.standard_error))


MISCLASSIFICATION = _Misclassification()
