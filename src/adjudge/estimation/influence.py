"""Each row's share in the error of the corrected rate; what clusters and differences add up.

With x the judge's 0/1 or probability, mu_z its mean among rows people call z, J = mu1 - mu0:
theta = (mean x - mu0) / J, and to first order its error is the sum over rows of

    [ (x_i - mean x)/n  on test rows
      - (1 - theta) w_i (x_i - mu0)/W0  on labelled rows of class 0
      - theta       w_i (x_i - mu1)/W1  on labelled rows of class 1 ] / J,

w the inverse sampling probabilities (1 when labels are a plain sample), W their sums. Squared and
summed over independent rows that is Eq. 9; summed within clusters first it allows for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge._validation import FloatArray
from adjudge.estimation.sample import Sample


class Corrected(NamedTuple):
    """The raw corrected rate, the judge's edge J = mu1 - mu0, its means and the influences."""

    theta: float
    edge: float
    mu0: float
    mu1: float
    influence: FloatArray


def corrected_influence(sample: Sample) -> Corrected:
    """Rate and influence values of a sample that has test rows and labels of both classes.

    With J <= 0 rate and influence are zero and mean nothing: look at `edge` first.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, None, None])
    >>> corrected_influence(rows).theta
    0.5
    """
    x = sample.judge
    weights = np.ones_like(x) if sample.weights is None else sample.weights
    mean = float(x[sample.test].mean())
    mu0, part0 = _class_mean(x, weights, sample.negative)
    mu1, part1 = _class_mean(x, weights, sample.positive)
    edge = mu1 - mu0
    if edge <= 0:
        return Corrected(0.0, edge, mu0, mu1, np.zeros_like(x))
    theta = (mean - mu0) / edge
    test = np.where(sample.test, (x - mean) / sample.n, 0.0)
    influence = (test - (1 - theta) * part0 - theta * part1) / edge
    return Corrected(theta, edge, mu0, mu1, influence)


def _class_mean(x: FloatArray, weights: FloatArray, rows: np.ndarray) -> tuple[float, FloatArray]:
    total = float(weights[rows].sum())
    mean = float((weights[rows] * x[rows]).sum()) / total
    part = np.zeros_like(x)
    part[rows] = weights[rows] * (x[rows] - mean) / total
    return mean, part
