"""Several judges in one prediction, and an interval that uses the other groups' rates.

The prediction is a cross-fitted ridge logit of the human label: each row is predicted by a fit
without the labels of its question, so labelled and unlabelled rows have predictions of one
distribution. The interval (Yu and Hoff 2018, Adaptive multigroup confidence intervals with constant
coverage) is narrower if a prior N(mu, tau^2) for the rates is right. Its test keeps its level for
any prior that does not come from the same labels: a wrong one costs width and not coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri, stdtrit

from adjudge.validation import BoolArray, FloatArray, IntArray

FOLDS = 5
#: On the squared weights of columns scaled to a root mean square of 1; the sum of log losses is not
#: divided by the number of rows. Between 3 and 30, widths differ by 1 % (examples/rates.py).
PENALTY = 10.0
_STEPS = 25


def make_columns(
    verdicts: FloatArray, groups: IntArray, size: int, questions: IntArray | None
) -> FloatArray:
    """The columns of the prediction, centred and scaled, after a column of ones.

    They are: the verdict of every judge; the group; group x the first judge's verdict (it can be
    more lenient with one model); and, if rows share questions, each judge's mean verdict on the
    other groups' answers to the question, which measures how hard it is.

    >>> make_columns(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([0, 1]), 2, None).shape
    (2, 7)
    """
    member = np.eye(size)[groups]
    parts = [verdicts]
    if questions is not None:
        parts.append(_others_on_question(verdicts, groups, size, questions))
    if size > 1:
        first = verdicts[:, :1] - verdicts[:, 0].mean()
        parts += [member, member * first]
    columns = np.concatenate(parts, axis=1)
    columns = columns - columns.mean(axis=0)
    scale = np.sqrt((columns**2).mean(axis=0))
    columns /= np.where(scale > 0, scale, 1.0)
    return np.concatenate([np.ones((len(verdicts), 1)), columns], axis=1)


def _others_on_question(
    verdicts: FloatArray, groups: IntArray, size: int, questions: IntArray
) -> FloatArray:
    """Each judge's mean verdict on the question's rows of other groups, or overall."""
    count = int(questions.max()) + 1
    cells = questions * size + groups

    def others(values: FloatArray) -> FloatArray:
        whole = np.bincount(questions, weights=values, minlength=count)[questions]
        cell = np.bincount(cells, weights=values, minlength=count * size)[cells]
        return np.asarray(whole - cell)

    rows = others(np.ones(len(questions)))
    most = np.maximum(rows, 1)
    means = [np.where(rows > 0, others(said) / most, said.mean()) for said in verdicts.T]
    return np.stack(means, axis=1)


def cross_fit(
    columns: FloatArray, labels: FloatArray, labelled: BoolArray, folds: IntArray
) -> FloatArray:
    """P(human label 1) of every row, by the fit to the labels of the other folds."""
    predicted = np.empty(len(labels))
    for fold in range(FOLDS):
        out = folds == fold
        fit = labelled & ~out
        predicted[out] = expit(columns[out] @ ridge_logit(columns[fit], labels[fit]))
    return predicted


def ridge_logit(columns: FloatArray, labels: FloatArray) -> FloatArray:
    """Weights that minimise the sum of log losses + PENALTY/2 |w|^2; the first is not penalised.

    >>> x = np.array([[1.0, 1.0], [1.0, -1.0]] * 40)
    >>> weights = ridge_logit(x, np.array([1.0, 0.0] * 40))
    >>> bool(abs(weights[0]) < 1e-9), bool(0.5 < weights[1] < 3)
    (True, True)
    """
    penalty = np.full(columns.shape[1], PENALTY)
    penalty[0] = 1e-3  # keeps the fit finite if all labels are equal
    weights = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        p = expit(columns @ weights)
        slope = columns.T @ (labels - p) - penalty * weights
        curve = (columns * (p * (1 - p))[:, None]).T @ columns + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        # Far from the solution a full step can overshoot; log odds change by at most 4.
        weights = weights + step * min(1.0, 4.0 / float(np.abs(columns @ step).max(initial=1e-12)))
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


#: The number of other groups with an estimate that a prior needs.
FEWEST_OTHERS = 3
#: The most one-sided test.
_EDGE = 1e-12


class Prior(NamedTuple):
    """The prior for the rate: mean and standard deviation."""

    mean: float
    sd: float


def prior_from(estimates: Sequence[float], errors: Sequence[float]) -> Prior:
    """The spread of the other models' rates, with their noise removed (DerSimonian and Laird).

    The noise of the mean itself is part of the prior's spread.

    >>> prior = prior_from([0.4, 0.5, 0.6], [0.01, 0.01, 0.01])
    >>> round(prior.mean, 3), 0.09 < prior.sd < 0.13
    (0.5, True)
    """
    rates, weights = np.asarray(estimates), np.maximum(errors, 1e-6) ** -2.0
    total = weights.sum()
    excess = weights @ (rates - np.average(rates, weights=weights)) ** 2
    spread = total - weights @ weights / total
    between = max((excess - (len(weights) - 1)) / spread, 0.0) if spread > 0 else 0.0
    weights = 1 / (1 / weights + between)
    mean = float(np.average(rates, weights=weights))
    return Prior(mean, math.sqrt(between + 1 / weights.sum()))


def shared_interval(
    estimate: float, error: float, freedom: float, prior: Prior, *, confidence_level: float
) -> tuple[float, float]:
    """The rates that the biased test does not reject, before clipping.

    C = {theta: t(alpha (1 - s)) < (theta - estimate)/error < t(1 - alpha s)}, t Student's quantile,
    s = s(theta) with Phi^-1(alpha s) - Phi^-1(alpha (1 - s)) = 2 error (theta - mu) / tau^2. With
    s = 1/2 this is Student's interval, which a vague prior gives.

    >>> low, high = shared_interval(0.5, 0.05, 49, Prior(0.5, 100.0), confidence_level=0.95)
    >>> round(low, 3), round(high, 3)
    (0.4, 0.6)
    >>> low, high = shared_interval(0.5, 0.05, 49, Prior(0.5, 0.05), confidence_level=0.95)
    >>> round(high - low, 3)
    0.168
    """
    alpha = 1 - confidence_level

    def upper(s: float) -> float:
        return estimate - error * float(stdtrit(freedom, alpha * s))

    def lower(s: float) -> float:
        return estimate + error * float(stdtrit(freedom, alpha * (1 - s)))

    def tilted(s: float) -> float:
        bias = float(ndtri(alpha * s) - ndtri(alpha * (1 - s)))
        return prior.mean + prior.sd**2 / (2 * error) * bias

    return lower(_crossing(lower, tilted)), upper(_crossing(upper, tilted))


def _crossing(end: Callable[[float], float], tilted: Callable[[float], float]) -> float:
    """The s for which a rate is both the end of its test and the rate with this s.

    `tilted` rises from below `end` to above it, unless a sharp prior makes the test one-sided.
    """
    if tilted(1 - _EDGE) <= end(1 - _EDGE):
        return 1 - _EDGE
    if tilted(_EDGE) >= end(_EDGE):
        return _EDGE
    return float(brentq(lambda s: tilted(s) - end(s), _EDGE, 1 - _EDGE, xtol=1e-15))
