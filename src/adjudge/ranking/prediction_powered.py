"""Bradley-Terry from a few human votes and many judge verdicts, unbiased for any judge.

    minimise  mean_labelled l(theta; human)
              + lambda (mean_unlabelled l(theta; judge) - mean_labelled l(theta; judge))

(Angelopoulos et al. 2023; Boyeau et al. 2025 for Bradley-Terry.) The judge's part has mean zero at
any theta if the voted battles are a random sample of all, so a bad judge adds width, not bias.
lambda is chosen to minimise the variance (power tuning); 0 ignores the judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.ranking.bradley_terry import elo_standard_errors, information, score_matrix, wins_table
from adjudge.statistics.bradley_terry import DEFAULT_L2, fit_strengths
from adjudge.validation import BoolArray, FloatArray, positive, same_length


@dataclass(frozen=True)
class PredictionPowered:
    """Strengths on people's scale, their covariance, and the weight of the judge."""

    theta: FloatArray
    covariance: FloatArray
    weight: float
    n_labelled: int

    @property
    def se(self) -> FloatArray:
        """Standard errors in Elo."""
        return elo_standard_errors(self.covariance)


def prediction_powered(
    battles: Battles, human: FloatArray, judge: FloatArray, *, l2: float = DEFAULT_L2
) -> PredictionPowered:
    """Fit with human targets on some battles (NaN elsewhere) and judge targets on all.

    lambda is tuned for the smallest total variance of theta, within [0, 1].
    Covariance: H^-1 (Cov(g_human - lambda g_judge)/n + lambda^2 Cov(g_judge)/N) H^-1, summed by
    prompt if `battles.prompts` is given. Valid for many labelled battles that were drawn at random
    from all: not for votes that people chose to give on battles that interested them.

    Args:
        battles: Result of `prepare_battles`.
        human: Human target of each battle (1, 0 or one half), NaN without a vote.
        judge: Judge's target of each battle.
        l2: Penalty l2 |theta|^2.
    """
    l2 = positive(l2, "l2")
    same_length(battles=battles.a, human=human, judge=judge)
    judged = np.isfinite(judge)
    labelled = judged & np.isfinite(human)
    rest = judged & ~np.isfinite(human)
    n, m = int(labelled.sum()), int(rest.sum())
    if n < 2:
        raise ArgumentError("human", f"{n} votes on judged battles", "give at least two")
    k = battles.n_models
    table_human = wins_table(battles.a[labelled], battles.b[labelled], human[labelled], k) / n
    table_judge = wins_table(battles.a[labelled], battles.b[labelled], judge[labelled], k) / n
    table_rest = np.zeros((k, k))
    if m:
        table_rest = wins_table(battles.a[rest], battles.b[rest], judge[rest], k) / m

    def fit(use: float) -> FloatArray:
        # As counts of n battles, so that the penalty has the same weight as on the votes alone.
        return fit_strengths(n * (table_human + use * (table_rest - table_judge)), l2=l2)

    def inverse_information(theta: FloatArray, use: float) -> FloatArray:
        mixed = table_human + use * (table_rest - table_judge)
        hessian = information(mixed + mixed.T, theta, l2 / n)
        centre = np.full((k, k), 1 / k)
        return np.asarray(np.linalg.inv(hessian + centre) - centre)

    use = 0.0
    if m:
        theta = fit(0.0)
        inverse = inverse_information(theta, 0.0)
        _, cross, squared = _scatters(battles, theta, human, judge, labelled, rest)
        bottom = float(np.trace(inverse @ squared @ inverse))
        best = -float(np.trace(inverse @ cross @ inverse)) / bottom if bottom > 0 else 0.0
        use = float(np.clip(best, 0.0, 1.0))
    theta = fit(use)
    inverse = inverse_information(theta, use)
    alone, cross, squared = _scatters(battles, theta, human, judge, labelled, rest)
    meat = alone + use * (cross + cross.T) + use**2 * squared
    return PredictionPowered(theta, inverse @ meat @ inverse, use, n)


def _scatters(
    battles: Battles,
    theta: FloatArray,
    human: FloatArray,
    judge: FloatArray,
    labelled: BoolArray,
    rest: BoolArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Covariance of the gradient at lambda = 0, lambda and lambda squared: its three parts.

    The gradient is u + lambda v with u = sum_labelled g_human / n and v = sum_rest g_judge / m -
    sum_labelled g_judge / n, each summed by prompt, because a prompt with battles in both halves
    correlates them. Both halves are centred on their own means, which cancel only in the sum.
    """
    judged = np.flatnonzero(labelled | rest)
    prompts = judged if battles.prompts is None else battles.prompts[judged]
    present, code = np.unique(prompts, return_inverse=True)
    groups = len(present)
    a, b = battles.a[judged], battles.b[judged]
    p = expit(theta[a] - theta[b])
    half = labelled[judged], rest[judged]
    sizes = [max(1, int(rows.sum())) for rows in half]

    def part(target: FloatArray, rows: BoolArray, size: int) -> csr_array:
        residual = (target[judged] - p)[rows] / size
        return score_matrix(a[rows], b[rows], residual, battles.n_models, code[rows], groups)

    u = part(human, half[0], sizes[0])
    v_labelled, v_rest = (part(judge, *of) for of in zip(half, sizes, strict=True))
    v = v_rest - v_labelled
    nothing = np.zeros(battles.n_models)
    # Means per row of each half, and how many rows of each half a prompt has.
    mean_u = np.column_stack([u.sum(axis=0) / sizes[0], nothing])
    mean_v = np.column_stack([-v_labelled.sum(axis=0) / sizes[0], v_rest.sum(axis=0) / sizes[1]])
    count = np.column_stack([np.bincount(code[rows], minlength=groups) for rows in half])
    inflate = groups / (groups - 1) if groups > 1 else 1.0

    def product(x: csr_array, mean_x: FloatArray, y: csr_array, mean_y: FloatArray) -> FloatArray:
        """(x - count mean_x')' (y - count mean_y'), without a dense table over prompts."""
        raw = (x.T @ y).toarray() - (x.T @ count) @ mean_y.T - mean_x @ (y.T @ count).T
        return np.asarray(inflate * (raw + mean_x @ (count.T @ count) @ mean_y.T))

    return (
        product(u, mean_u, u, mean_u),
        product(u, mean_u, v, mean_v),
        product(v, mean_v, v, mean_v),
    )
