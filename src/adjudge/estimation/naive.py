"""(i) The judge's own rate, believed as it is: Eq. 2. Always printed beside the corrected one."""

from __future__ import annotations

import math

import numpy as np

from adjudge._stats import binomial_interval
from adjudge.estimation.clusters import TOO_FEW, holding, spread
from adjudge.estimation.outcome import Outcome, around, clip, refusal
from adjudge.estimation.sample import Sample

ASSUMPTION = "the judge makes no errors, or its errors cancel at exactly this rate"


def naive(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Share of test rows the judge calls 1, with a Clopper-Pearson interval (Eq. 2).

    The interval knows only the noise of the test rows. The expected distance from the true rate,
    (2 - q0 - q1)((1 - q0)/(2 - q0 - q1) - theta), is not in it and does not shrink with more rows.
    Judge probabilities and clusters get a normal, respectively Student, interval around the mean.

    >>> from adjudge.estimation.sample import make_sample
    >>> naive(make_sample([1, 1, 0, 1], [None] * 4)).estimate
    0.75
    """
    if sample.n == 0:
        return refusal("every row has a human label, so no row is left for the judge alone")
    x = sample.judge
    mean = float(x[sample.test].mean())
    influence = np.where(sample.test, (x - mean) / sample.n, 0.0)
    se = math.sqrt(float(influence @ influence))
    if sample.clusters is None and sample.scale == "binary":
        low, high = binomial_interval(int(x[sample.test].sum()), sample.n, confidence_level)
        half = (high - low) / 2
        return Outcome(mean, low, high, se, influence, (low + high) / 2, half)
    active = None
    if sample.clusters is not None:
        active = holding(sample.clusters, sample.test)
        if active < 2:
            return refusal(TOO_FEW)
    widened = spread(influence, sample.clusters, active, confidence_level)
    floor = variance_floor(mean, sample.n) if se == 0 else 0.0
    se = max(se * widened.inflation, floor)
    return around(mean, mean, widened.critical * se, se, influence)


def variance_floor(mean: float, n: int) -> float:
    """Standard error of a share after adding two successes and two failures.

    Stands in where all values are equal and the plain standard error is zero: no finite sample
    shows that a rate is exactly 0 or 1.
    """
    share = (n * clip(mean) + 2) / (n + 4)
    return math.sqrt(share * (1 - share) / (n + 4))
