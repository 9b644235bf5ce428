"""A signed ridge: logistic regression that changes a given order only if the labels support it.

Columns change sign if A and B are swapped, and there is no intercept. A row enters as u = +x if
people prefer A and -x if they prefer B, so that only u is needed:

    loss(w) = sum_i log(1 + exp(-u_i w)) + 1/2 sum_k penalty_k w_k^2

with every column scaled by its root mean square. The first two columns are the order that needs no
labels: the judges' mean log odds and its sign. Their penalty is small (`HOME`). On all others it is
the largest of `PENALTIES` whose loss over held-out folds is within one standard error of the best.

The sign must not have a weight opposite to the mean: w_0 w_1 >= 0. Without this constraint it is
negative in half of all samples by chance, and then every verdict with small odds is reversed, with
the highest confidence for the verdict nearest to one half (one verdict in twenty of a judge with
nothing to learn: examples/learned_doubt.py).

Many samples are fitted together, so that `evaluate` can learn again in each of its splits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from adjudge.statistics.numbers import slices
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The penalty on the two columns of the order that needs no labels.
HOME = 0.1
#: Penalties on all other columns; the first almost removes them.
PENALTIES = (1e4, 100.0, 30.0, 10.0, 3.0)
FOLDS = 5
_MOST_STEPS = 60
#: A fit has converged if its Newton decrement (relative to the loss) is below this.
_CLOSE = 1e-18
#: How many numbers a batch of fits has in memory.
_CELLS = 4_000_000


class RidgeFit(NamedTuple):
    """Scales and weights of the columns (one row per sample), and the penalty of each sample."""

    scales: FloatArray
    weights: FloatArray
    penalty: FloatArray


def fit_ridge(
    signed: FloatArray, learns: BoolArray, *, units: IntArray, rng: np.random.Generator
) -> RidgeFit:
    """Fit one ridge for every sample of rows.

    `signed` is (rows, columns), the mean and its sign first; `learns` (samples, rows) marks the
    rows of each sample; rows with the same number in `units` share a fold.
    """
    samples = len(learns)
    columns = signed.shape[1]
    folds = _random_folds(learns, units, rng)
    size = int(np.count_nonzero(learns, axis=1).max())
    rows = np.argsort(~learns, axis=1, kind="stable")[:, :size]
    fits = RidgeFit(np.empty((samples, columns)), np.empty((samples, columns)), np.empty(samples))
    at_once = max(1, _CELLS // (len(PENALTIES) * FOLDS * size * columns))
    for batch in slices(samples, at_once):
        used = np.take_along_axis(learns[batch], rows[batch], axis=1)
        u = signed[rows[batch]] * used[..., None]
        power = (u * u).sum(axis=1) / np.maximum(used.sum(axis=1), 1)[:, None]
        fits.scales[batch] = np.where(power > 0, np.sqrt(power), 1.0)
        u /= fits.scales[batch][:, None]
        batch_folds = np.take_along_axis(folds[batch], rows[batch], axis=1)
        penalty, weights = _choose_and_fit(u, used, batch_folds)
        against = weights[:, 0] * weights[:, 1] < 0
        if against.any():
            u[against, :, 1] = 0  # a column of zeros gets the weight 0
            again = _choose_and_fit(u[against], used[against], batch_folds[against])
            penalty[against], weights[against] = again
        fits.penalty[batch] = penalty
        fits.weights[batch] = weights
    return fits


def _choose_and_fit(
    signed: FloatArray, used: BoolArray, folds: IntArray
) -> tuple[FloatArray, FloatArray]:
    penalty = _choose(signed, used, folds)
    return penalty, _fit(signed, used, _penalties(penalty, signed.shape[-1]))


def _random_folds(learns: BoolArray, units: IntArray, rng: np.random.Generator) -> IntArray:
    """Folds with equal numbers of units within each sample: a (samples, rows) table."""
    keys = rng.random((len(learns), int(units.max()) + 1))
    outside = np.ones(keys.shape, dtype=np.bool_)
    sample, row = np.nonzero(learns)
    outside[sample, units[row]] = False
    ranks = np.argsort(np.argsort(keys + outside, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(ranks[:, units] % FOLDS)


def _penalties(penalty: FloatArray, columns: int) -> FloatArray:
    return np.where(np.arange(columns) < 2, HOME, penalty[..., None])


def _choose(signed: FloatArray, used: BoolArray, folds: IntArray) -> FloatArray:
    """The largest penalty whose held-out loss is within one standard error of the best."""
    levels = np.array(PENALTIES)
    held = folds[:, None, :] == np.arange(FOLDS)[:, None]  # samples, folds, rows
    learns = (used[:, None, :] & ~held)[:, None]
    every_fit = signed[:, None, None]  # samples, levels, folds, then rows and columns
    weights = _fit(every_fit, learns, _penalties(levels, signed.shape[-1])[:, None])
    margins = np.matmul(every_fit, weights[..., None])[..., 0]
    losses = (np.logaddexp(0, -margins) * held[:, None]).sum(axis=2) * used[:, None]
    n = np.maximum(used.sum(axis=1), 1)
    means = losses.sum(axis=2) / n[:, None]
    lowest = means.min(axis=1)
    at_best = np.take_along_axis(losses, means.argmin(axis=1)[:, None, None], axis=1)[:, 0]
    squares = ((at_best - lowest[:, None]) ** 2 * used).sum(axis=1)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / n)
    return np.asarray(levels[(means <= (lowest + error)[:, None]).argmax(axis=1)])


def _fit(signed: FloatArray, used: BoolArray, penalty: FloatArray) -> FloatArray:
    """Newton's method with step halving, until no fit's decrement is above rounding."""
    shape = np.broadcast_shapes(signed.shape[:-2], used.shape[:-1], penalty.shape[:-1])
    weights = np.zeros((*shape, signed.shape[-1]))
    turned = np.swapaxes(signed, -1, -2)
    ridge = penalty[..., None] * np.eye(signed.shape[-1])

    def loss_at(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        margins = np.matmul(signed, w[..., None])[..., 0]
        loss = (np.logaddexp(0, -margins) * used).sum(axis=-1)
        return loss + (penalty * w * w).sum(-1) / 2, margins

    loss, margins = loss_at(weights)
    for _ in range(_MOST_STEPS):
        wrong = expit(-margins)
        counted = used * wrong
        slope = penalty * weights - np.matmul(turned, counted[..., None])[..., 0]
        information = counted * (1 - wrong)
        curve = np.matmul(turned, information[..., None] * signed) + ridge
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        if ((slope * step).sum(axis=-1) <= _CLOSE * (1 + loss)).all():
            break
        scale = np.ones(shape)
        while True:
            tried = weights - scale[..., None] * step
            new, margins = loss_at(tried)
            worse = new > loss + 1e-12 * (1 + loss)
            if not worse.any():
                break
            scale = np.where(worse, scale / 2, scale)
        weights = tried
        loss = new
    return weights
