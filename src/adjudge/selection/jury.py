"""Juries: one probability from several judges of the same pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import FloatArray, IntArray, one_of, positive, probabilities, zero_one
from adjudge.errors import ArgumentError

JURIES = ("mean", "logistic")
#: Log odds beyond this say no more: a judge's 0.9999 is seldom ten times surer than its 0.999.
_MOST_ODDS = 6.0


@dataclass(frozen=True)
class Jury:
    """Several judges as one. `predict` needs the judges' p in the order of the weights.

    `mean` averages probabilities. `logistic` has learned weights on clipped log odds,

        p = sigma(sum_j w_j x_j),    x_j = log(p_j / (1 - p_j)) cut to [-6, 6],

    without an intercept, so that swapping A and B turns p into 1 - p.
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
        if self.method == "mean":
            return np.asarray(table.mean(axis=1))
        return _sigmoid(_odds(table) @ self.weights)


def mean_jury(judges: int) -> Jury:
    """Every judge weighs the same; nothing is learned.

    >>> mean_jury(2).predict([[0.9, 0.5]])
    array([0.7])
    """
    return Jury("mean", np.full(judges, 1 / judges))


def calibrate_jury(p: ArrayLike, label_a: ArrayLike, *, l2: float = 10.0) -> Jury:
    """Weights by penalised maximum likelihood: sum_i log loss + l2/2 |w - 1/J|^2.

    Without labels to speak of this is the mean of the log odds, and it moves away from it only as
    far as the labels insist. The labels used here may not calibrate the threshold as well: the
    jury would look surer on them than it is.

    >>> p = np.array([[0.9, 0.4], [0.2, 0.6], [0.8, 0.3], [0.1, 0.7]])
    >>> calibrate_jury(p, [1, 0, 1, 0], l2=1).weights.round(2)
    array([1.26, 0.2 ])
    """
    table, y = _odds(_table(p)), zero_one(label_a, "label_a")
    penalty = positive(l2, "l2")
    if len(table) != len(y):
        raise ArgumentError("label_a", len(y), f"give one label for each of {len(table)} pairs")
    start = np.full(table.shape[1], 1 / table.shape[1])
    weights = start.copy()
    # Newton on a strictly convex loss; halving the step keeps it falling from any start.
    for _ in range(100):
        p_hat = _sigmoid(table @ weights)
        gradient = table.T @ (p_hat - y) + penalty * (weights - start)
        hessian = (table * (p_hat * (1 - p_hat))[:, None]).T @ table
        hessian += penalty * np.eye(len(weights))
        step = np.linalg.solve(hessian, gradient)
        now, size = _loss(table, y, weights, start, penalty), 1.0
        while size > 1e-6 and _loss(table, y, weights - size * step, start, penalty) > now:
            size /= 2
        weights = weights - size * step
        if np.abs(step).max() < 1e-10:
            break
    return Jury("logistic", weights)


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


def _loss(
    table: FloatArray, y: IntArray, w: FloatArray, start: FloatArray, penalty: float
) -> float:
    z = table @ w
    gap = w - start
    return float((np.logaddexp(0, z) - y * z).sum() + penalty / 2 * (gap @ gap))
