"""Labels picked with known, unequal probabilities: sensitivity and specificity weighted back.

A row picked by its verdict and used as if random bends both: measured, an estimate of -0.02 where
the truth was 0.5. Weighting each labelled row by the inverse of its sampling probability undoes it.
"""

from __future__ import annotations

import math

import numpy as np

from adjudge.estimation.clusters import TOO_FEW, active_clusters, few_clusters, spread
from adjudge.estimation.counts import missing
from adjudge.estimation.influence import corrected_influence
from adjudge.estimation.naive import variance_floor
from adjudge.estimation.outcome import Outcome, around, refusal, settled
from adjudge.estimation.sample import Sample

ASSUMPTION = (
    "each labelled row was drawn independently with the sampling probability it carries, and the "
    "judge errs alike on labelled and on test rows of one human class"
)


def weighted_misclassification(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Eq. 5 with q1 = sum w x z / sum w z and q0 alike, w = 1 / sampling probability.

    The standard error comes from the influence values, so the double role of planned rows (they
    test and calibrate) is in it. It treats rows as drawn one by one: for a fixed number per verdict
    it is too wide rather than too narrow. A normal interval: with fewer than about 20 labels in a
    class it is approximate. Refused where the whole interval lies outside [0, 1].

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0] * 9, [1, None, 0, 0] * 9,
    ...                    sampling_probability=[0.5, None, 1, 1] * 9)
    >>> round(weighted_misclassification(rows).estimate, 3)
    0.5
    """
    lacking = missing(sample)
    if lacking is not None:
        return refusal(lacking)
    if sample.weights is None or bool(np.isnan(sample.weights[sample.labelled]).any()):
        return refusal(
            "some labelled rows carry no sampling probability, such as labels from before the "
            "plan; use method conditional, which needs none for labels drawn at random"
        )
    fit = corrected_influence(sample)
    if fit.edge <= 0:
        return refusal(
            f"weighted sensitivity {fit.mu1:.3f} + specificity {1 - fit.mu0:.3f} is not above 1: "
            "on these labels the judge is no better than a coin; use method conditional, more "
            "labels, or another judge"
        )
    active = active_clusters(sample)
    if active is not None and active < 2:
        return refusal(TOO_FEW)
    widened = spread(fit.influence, sample.clusters, active, confidence_level)
    se = math.sqrt(float(fit.influence @ fit.influence)) * widened.inflation
    if se == 0:
        # A judge without a single error and a single verdict would pass for certainty.
        se = variance_floor(fit.theta, min(sample.n, sample.m))
    warnings = few_clusters(active)
    fewest = min(int(sample.positive.sum()), int(sample.negative.sum()))
    if fewest < 20:
        warnings += (
            "fewer than 20 labels in one class: the weighted interval is approximate; label more "
            "rows",
        )
    got = around(fit.theta, fit.theta, widened.critical * se, se, fit.influence, warnings)
    return settled(got)
