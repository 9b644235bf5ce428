"""The correction with means instead of shares: probabilities, and labels picked by a plan.

With x the judge's 0/1 or probability, mu_z its mean among rows people call z, J = mu1 - mu0:
theta = (mean x - mu0) / J, and to first order its error is the sum over rows of

    [ (x_i - mean x)/n  on test rows
      - (1 - theta) w_i (x_i - mu0)/W0  on labelled rows of class 0
      - theta       w_i (x_i - mu1)/W1  on labelled rows of class 1 ] / J,

w the inverse sampling probabilities (1 if labels are a simple random sample), W their sums. Squared
and summed over independent rows this is Eq. 9; summed within clusters first, it allows for them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.estimation.counts import missing
from adjudge.estimation.outcome import Outcome, refusal, variance_floor, widen
from adjudge.estimation.sample import Sample
from adjudge.validation import BoolArray, FloatArray


class Correction(NamedTuple):
    """The raw corrected rate, the judge's edge J = mu1 - mu0, its means and the influences."""

    theta: float
    edge: float
    mu0: float
    mu1: float
    influence: FloatArray


def correct_means(sample: Sample) -> Correction:
    """Rate and influence values of a sample that has test rows and labels of both classes.

    With J <= 0, rate and influence are zero and have no meaning: check `edge` first.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, None, None])
    >>> correct_means(rows).theta
    0.5
    """
    x = sample.judge
    mean = float(x[sample.test].mean())
    negative, positive = sample.negative, sample.positive
    mu0, part0 = _class_mean(sample, negative)
    mu1, part1 = _class_mean(sample, positive)
    edge = mu1 - mu0
    if edge <= 0:
        return Correction(0.0, edge, mu0, mu1, np.zeros_like(x))
    theta = (mean - mu0) / edge
    influence = sample.spread(sample.test, mean, 1.0, sample.n)
    influence[negative] -= (1 - theta) * part0
    influence[positive] -= theta * part1
    influence /= edge
    return Correction(theta, edge, mu0, mu1, influence)


def _class_mean(sample: Sample, rows: BoolArray) -> tuple[float, FloatArray]:
    """The weighted mean over these rows, and the influence of each."""
    x = sample.judge[rows]
    weights = np.ones_like(x) if sample.weights is None else sample.weights[rows]
    total = float(weights.sum())
    mean = float((weights * x).sum()) / total
    return mean, weights * (x - mean) / total


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
    lacking = missing(sample)
    if lacking is not None:
        return refusal(lacking)
    sizes = {"1": int(sample.positive.sum()), "0": int(sample.negative.sum())}
    for name, size in sizes.items():
        if size < 2:
            return refusal(
                f"one row with human label {name}: its spread is unknown; label more rows"
            )
    if sample.n < 2:
        return refusal("one test row: the spread of probabilities is unknown; judge more rows")
    fit = correct_means(sample)
    if fit.edge <= 0:
        return refusal(
            f"the judge's mean probability is {fit.mu1:.3f} where people say 1 and {fit.mu0:.3f} "
            "where they say 0: it does not separate the classes in the right direction; use the "
            "human labels alone (method human-only), or another judge"
        )
    x = sample.judge
    v0 = float(x[sample.negative].var(ddof=1)) / sizes["0"]
    v1 = float(x[sample.positive].var(ddof=1)) / sizes["1"]
    v = float(x[sample.test].var(ddof=1)) / sample.n
    variance = (v + (1 - fit.theta) ** 2 * v0 + fit.theta**2 * v1) / fit.edge**2
    warnings: tuple[str, ...] = ()
    if fit.edge < 3 * math.sqrt(v0 + v1):
        warnings += (
            "the gap between the classes' mean probabilities is within three standard errors of "
            "zero: coverage can be below the stated level; label more rows",
        )
    if min(sizes.values()) < 30:
        warnings += (
            "fewer than 30 labels in one class: the normal interval is approximate; label more "
            "rows, or turn the probabilities into verdicts of 0 and 1 and use --interval profile",
        )
    return _around_itself(sample, fit, math.sqrt(variance), confidence_level, warnings)


def _around_itself(
    sample: Sample, fit: Correction, se: float, confidence_level: float, warnings: tuple[str, ...]
) -> Outcome:
    """The corrected rate as the centre of its own interval."""
    # Otherwise a judge whose errors or verdicts do not vary would be treated as certain.
    floor = variance_floor(fit.theta, min(sample.n, sample.m))
    return widen(
        sample, fit.theta, fit.influence, confidence_level, se=se, floor=floor, warnings=warnings
    )


def weighted_misclassification(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Eq. 5 with q1 = sum w x z / sum w z and q0 alike, w = 1 / sampling probability.

    Rows picked by verdict and treated as random bias both: measured, an estimate of -0.02 for a
    truth of 0.5. Weights correct this. The standard error comes from the influence values, so it
    includes the double role of planned rows (they test and calibrate). It treats rows as sampled
    independently: for a fixed number per verdict it is too wide rather than too narrow. The
    interval is normal: with fewer than about 20 labels in a class it is approximate.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0] * 9, [1, None, 0, 0] * 9,
    ...                    sampling_probability=[0.5, None, 1, 1] * 9)
    >>> round(weighted_misclassification(rows).estimate, 3)
    0.5
    """
    lacking = missing(sample)
    if lacking is not None:
        return refusal(lacking)
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
    warnings: tuple[str, ...] = ()
    if min(int(sample.positive.sum()), int(sample.negative.sum())) < 20:
        warnings = (
            "fewer than 20 labels in one class: the weighted interval is approximate; label more "
            "rows",
        )
    se = math.sqrt(float(fit.influence @ fit.influence))
    return _around_itself(sample, fit, se, confidence_level, warnings)
