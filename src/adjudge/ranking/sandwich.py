"""Standard errors that stay right when the model is not: the sandwich, clustered where asked."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from adjudge._validation import FloatArray, IntArray
from adjudge.ranking.bradley_terry import Fit


def score_matrix(
    a: IntArray,
    b: IntArray,
    residual: FloatArray,
    n: int,
    clusters: IntArray | None = None,
    groups: int | None = None,
) -> csr_array:
    """Each cluster's gradient of the log-likelihood: residuals put at +a and -b, then summed."""
    rows = np.arange(len(a)) if clusters is None else clusters
    height = groups if groups is not None else int(rows.max()) + 1 if len(rows) else 0
    return csr_array(
        (
            np.concatenate([residual, -residual]),
            (np.concatenate([rows, rows]), np.concatenate([a, b])),
        ),
        shape=(height, n),
    )


def sandwich(
    fit: Fit, a: IntArray, b: IntArray, target: FloatArray, *, clusters: IntArray | None = None
) -> FloatArray:
    """Covariance of theta:  I^-1 (sum_g u_g u_g') I^-1 * G / (G - 1).

    u_g is the gradient of the battles of cluster g (of one battle, without clusters). Holds for
    soft targets too, where the inverse information alone would be wrong: a target of 0.6 varies
    less than a coin of 0.6. Needs many clusters; with few, take the bootstrap and doubt both.
    """
    n = len(fit.names)
    residual = target - expit(fit.theta[a] - fit.theta[b])
    scores = score_matrix(a, b, residual, n, clusters)
    # A cluster code without battles must not count.
    groups = len(a) if clusters is None else len(np.unique(clusters))
    meat = (scores.T @ scores).toarray()
    if groups > 1:
        meat *= groups / (groups - 1)
    inverse = fit.inverse_information()
    covariance: FloatArray = inverse @ meat @ inverse
    return covariance
