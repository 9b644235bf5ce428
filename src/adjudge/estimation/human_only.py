"""(ii) People alone: the rate among the labelled rows, the judge left out."""

from __future__ import annotations

import math

import numpy as np

from adjudge._stats import binomial_interval
from adjudge.estimation.clusters import TOO_FEW, holding, spread
from adjudge.estimation.naive import variance_floor
from adjudge.estimation.outcome import Outcome, around, refusal
from adjudge.estimation.sample import Sample

ASSUMPTION = "the labelled rows are a random sample of the rows the rate is about"


def human_only(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """m1 / m with a Clopper-Pearson interval (Table 1, row ii).

    Needs no judge. Under label shift (labels drawn from easier, harder or balanced rows) it
    measures the labelled rows, not the test rows. With clusters: the mean with a cluster-robust
    Student interval.

    >>> from adjudge.estimation.sample import make_sample
    >>> human_only(make_sample([0, 0, 0, 1], [1, 0, 1, 1])).estimate
    0.75
    """
    if sample.m == 0:
        return refusal("no row has a human label; label some rows at random first")
    z = np.where(sample.labelled, sample.human, 0).astype(np.float64)
    mean = float(z.sum()) / sample.m
    influence = np.where(sample.labelled, (z - mean) / sample.m, 0.0)
    se = math.sqrt(float(influence @ influence))
    if sample.clusters is None:
        low, high = binomial_interval(int(z.sum()), sample.m, confidence_level)
        half = (high - low) / 2
        return Outcome(mean, low, high, se, influence, (low + high) / 2, half)
    active = holding(sample.clusters, sample.labelled)
    if active < 2:
        return refusal(TOO_FEW)
    widened = spread(influence, sample.clusters, active, confidence_level)
    floor = variance_floor(mean, active) if se == 0 else 0.0
    se = max(se * widened.inflation, floor)
    return around(mean, mean, widened.critical * se, se, influence)
