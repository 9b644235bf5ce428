"""Juries: one probability from several judges of the same pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from adjudge._validation import FloatArray, one_of, positive, probabilities, zero_one
from adjudge.errors import ArgumentError

JURIES = ("mean", "logistic")
#: Log odds beyond this are cut: a file that keeps six decimals cannot say more.
_MOST_ODDS = math.log(1e6)


@dataclass(frozen=True)
class Jury:
    """Several judges as one. `predict` needs the judges' p in the order of the weights.

        p = sigma(sum_j w_j x_j),    x_j = log(p_j / (1 - p_j))

    with equal weights that sum to 1 (`mean`) or learned ones (`logistic`). There is no intercept,
    so that swapping A and B turns p into 1 - p. Odds and not probabilities are added up, because
    judges are over-confident: where p is 0.99 or 0.9999 for most pairs, a mean of p counts votes
    and no longer tells the surer pairs apart.
    """

    method: str
    weights: FloatArray

    def predict(self, p: ArrayLike) -> FloatArray:
        """The jury's p about response_a; one row per pair, one column per judge."""
        table = _table(p)
        if table.shape[1] != len(self.weights):
            raise ArgumentError(
                "p", table.shape, f"give one column for each of {len(self.weights)} judges"
            )
        return _sigmoid(_odds(table) @ self.weights)


def mean_jury(judges: int) -> Jury:
    """Every judge weighs the same; nothing is learned.

    >>> mean_jury(2).predict([[0.9, 0.5]]).round(3)
    array([0.75])
    """
    return Jury("mean", np.full(judges, 1 / judges))


def calibrate_jury(p: ArrayLike, label_a: ArrayLike, *, l2: float = 10.0) -> Jury:
    """Weights by penalised maximum likelihood: sum_i log loss + l2/2 |w|^2 over all w >= 0.

    A judge may be ignored, never counted against itself: on a few dozen labels a negative weight
    is nearly always noise. The penalty matters little between 1 and 100. The labels used here may
    not calibrate the threshold as well: the jury would look surer on them than it is.

    >>> p = np.array([[0.9, 0.4], [0.2, 0.6], [0.8, 0.3], [0.1, 0.7]])
    >>> calibrate_jury(p, [1, 0, 1, 0], l2=1).weights.round(2)
    array([1., 0.])
    """
    table, y = _odds(_table(p)), zero_one(label_a, "label_a")
    penalty = positive(l2, "l2")
    if len(table) != len(y):
        raise ArgumentError("label_a", len(y), f"give one label for each of {len(table)} pairs")

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        z = table @ w
        value = (np.logaddexp(0, z) - y * z).sum() + penalty / 2 * (w @ w)
        return float(value), table.T @ (_sigmoid(z) - y) + penalty * w

    judges = table.shape[1]
    found = minimize(
        loss,
        np.full(judges, 1 / judges),
        jac=True,
        bounds=[(0, None)] * judges,
        options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000},
    )
    return Jury("logistic", np.asarray(found.x, dtype=np.float64))


def combine(method: str, p: ArrayLike, label_a: ArrayLike | None = None) -> Jury:
    """The jury of this method; logistic needs labels (1 where A is preferred)."""
    one_of(method, JURIES, "jury")
    if method == "mean":
        return mean_jury(_table(p).shape[1])
    if label_a is None:
        raise ArgumentError("label_a", None, "a logistic jury learns from labels")
    return calibrate_jury(p, label_a)


def _table(p: ArrayLike) -> FloatArray:
    table = np.asarray(p, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ArgumentError("p", table.shape, "give a table: rows are pairs, columns judges")
    probabilities(table.ravel(), "p", allow_empty=True)
    return table


def _odds(table: FloatArray) -> FloatArray:
    # A mirror image for p and 1 - p to the last bit: both sides come from the larger one.
    top = np.maximum(table, 1 - table)
    with np.errstate(divide="ignore"):
        size = np.log(top) - np.log(1 - top)
    return np.asarray(np.where(table > 0.5, 1.0, -1.0) * np.minimum(size, _MOST_ODDS))


def _sigmoid(x: FloatArray) -> FloatArray:
    # sigma(-x) is computed as 1 - sigma(x), so that a swapped pair mirrors exactly.
    top = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x >= 0, top, 1 - top)
