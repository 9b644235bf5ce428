"""Several judges in one prediction: a cross-fitted ridge logit of the human label.

Each row is predicted by a fit without the labels of its question. Predictions on labelled and on
unlabelled rows therefore have the same distribution, and their difference can correct a mean.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

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
        own = np.bincount(cells, weights=values, minlength=count * size)[cells]
        return np.asarray(whole - own)

    rows = others(np.ones(len(questions)))
    means = [
        np.where(rows > 0, others(column) / np.maximum(rows, 1), column.mean())
        for column in verdicts.T
    ]
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
