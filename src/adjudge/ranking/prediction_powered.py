"""Bradley-Terry from a few human votes and many judge verdicts, unbiased whatever the judge.

    minimise  mean_labelled l(theta; human)
              + lambda (mean_unlabelled l(theta; judge) - mean_labelled l(theta; judge))

(Angelopoulos et al. 2023; Boyeau et al. 2025 for Bradley-Terry.) The judge's part has mean zero at
any theta when the voted battles are a random part of all, so a bad judge costs width, not truth.
lambda is chosen to minimise the variance (power tuning); 0 ignores the judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from adjudge._bradley_terry import DEFAULT_L2, fit_strengths
from adjudge._validation import BoolArray, FloatArray, IntArray, positive, same_length
from adjudge.errors import ArgumentError
from adjudge.ranking.bradley_terry import elo_standard_errors
from adjudge.ranking.counts import Battles, wins_table
from adjudge.ranking.sandwich import score_matrix


@dataclass(frozen=True)
class PredictionPowered:
    """Strengths on people's scale, their covariance, and how much the judge was used."""

    theta: FloatArray
    covariance: FloatArray
    weight: float
    n_labelled: int
    n_unlabelled: int

    @property
    def se(self) -> FloatArray:
        """Standard errors in Elo."""
        return elo_standard_errors(self.covariance)


def prediction_powered(
    battles: Battles,
    human: FloatArray,
    judge: FloatArray,
    *,
    l2: float = DEFAULT_L2,
    weight: float | None = None,
) -> PredictionPowered:
    """Fit with human targets where there are any (NaN elsewhere) and judge targets everywhere.

    `weight` is lambda; None tunes it for the smallest total variance of theta, within [0, 1].
    Covariance: H^-1 (Cov(g_human - lambda g_judge)/n + lambda^2 Cov(g_judge)/N) H^-1, by prompt
    where `battles.prompts` is given. Right for many labelled battles that were drawn at random
    from all: not for votes that people chose to give on battles they found interesting.
    """
    l2 = positive(l2, "l2")
    same_length(battles=battles.a, human=human, judge=judge)
    judged = np.isfinite(judge)
    labelled = judged & np.isfinite(human)
    rest = judged & ~np.isfinite(human)
    n, m = int(labelled.sum()), int(rest.sum())
    if n < 2:
        raise ArgumentError("human", f"{n} votes on judged battles", "give at least two")
    if weight is not None and not 0 <= weight <= 1:
        raise ArgumentError("weight", weight, "give a number from 0 to 1, or leave it out")
    k = battles.n_models
    table_human = wins_table(battles.a[labelled], battles.b[labelled], human[labelled], k) / n
    table_judge = wins_table(battles.a[labelled], battles.b[labelled], judge[labelled], k) / n
    table_rest = np.zeros((k, k))
    if m:
        table_rest = wins_table(battles.a[rest], battles.b[rest], judge[rest], k) / m
    elif weight is None:
        weight = 0.0

    def fit(use: float) -> FloatArray:
        # As counts of n battles, so that the penalty weighs what it weighs on the votes alone.
        return fit_strengths(n * (table_human + use * (table_rest - table_judge)), l2=l2)

    def spread(theta: FloatArray, use: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        mixed = table_human + use * (table_rest - table_judge)
        p = expit(theta[:, None] - theta[None, :])
        pairs = (mixed + mixed.T) * p * (1 - p)
        np.fill_diagonal(pairs, 0.0)
        information = np.diag(pairs.sum(axis=1) + 2 * l2 / n) - pairs
        centre = np.full((k, k), 1 / k)
        inverse = np.linalg.inv(information + centre) - centre
        return inverse, *_gradients(battles, theta, human, judge, labelled)

    use = weight
    if use is None:
        theta = fit(0.0)
        inverse, g_human, g_judge = spread(theta, 0.0)
        g_judge = g_judge - g_judge.mean(axis=0)
        cross = inverse @ (g_human.T @ g_judge) @ inverse
        own = inverse @ (g_judge.T @ g_judge) @ inverse
        bottom = (1 + n / m) * float(np.trace(own)) if m else 0.0
        use = float(np.clip(np.trace(cross) / bottom, 0.0, 1.0)) if bottom > 0 else 0.0
    theta = fit(use)
    inverse, g_human, g_judge = spread(theta, use)
    # Centred by hand: at lambda > 0 the two halves' means cancel only in sum.
    first = _scatter(g_human - use * g_judge) / n**2
    meat = first
    if m and use:
        _, g_rest = _gradients(battles, theta, human, judge, rest)
        meat = meat + use**2 * _scatter(g_rest) / m**2
    return PredictionPowered(theta, inverse @ meat @ inverse, use, n, m)


def _gradients(
    battles: Battles, theta: FloatArray, human: FloatArray, judge: FloatArray, rows: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Gradients per cluster of the human and the judge target."""
    a, b = battles.a[rows], battles.b[rows]
    p = expit(theta[a] - theta[b])
    codes: IntArray | None = None
    if battles.prompts is not None:
        _, codes = np.unique(battles.prompts[rows], return_inverse=True)
    made = []
    for target in (human, judge):
        y = np.nan_to_num(target[rows], nan=0.5)
        made.append(score_matrix(a, b, y - p, battles.n_models, codes).toarray())
    return made[0], made[1]


def _scatter(gradients: FloatArray) -> FloatArray:
    centred = gradients - gradients.mean(axis=0)
    groups = len(centred)
    inflate = groups / (groups - 1) if groups > 1 else 1.0
    return np.asarray(inflate * (centred.T @ centred))
