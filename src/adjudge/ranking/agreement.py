"""How alike two rankings are: Kendall's tau and Spearman's rho, with bootstrap intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from adjudge._bradley_terry import DEFAULT_L2, fit_strengths
from adjudge._validation import FloatArray, Seed, count, finite, generator, open_unit, same_length
from adjudge.ranking.bootstrap import cluster_weights
from adjudge.ranking.counts import battles_per_model, wins_table
from adjudge.results.ranking import RankAgreement
from adjudge.rows.battles import Battles


def rank_correlations(one: ArrayLike, other: ArrayLike) -> tuple[float | None, float | None]:
    """Kendall's tau-b and Spearman's rho; None with fewer than two models or all tied.

    >>> rank_correlations([3, 2, 1], [30, 10, 20])
    (0.333..., 0.5)
    """
    x, y = finite(one, "one", allow_empty=True), finite(other, "other", allow_empty=True)
    same_length(one=x, other=y)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    return float(stats.kendalltau(x, y).statistic), float(stats.spearmanr(x, y).statistic)


def ranking_agreement(
    battles: Battles,
    one: FloatArray,
    other: FloatArray,
    *,
    l2: float = DEFAULT_L2,
    confidence_level: float = 0.95,
    replicates: int = 200,
    seed: Seed = 0,
) -> RankAgreement:
    """Agreement of the Bradley-Terry rankings of two sets of targets on the same battles.

    Battles (prompts, where there are prompt codes) are resampled once for both rankings, so that
    what they share is kept. Noise in either ranking pulls the correlation down, and resampling
    pulls it down once more, so percentiles sit too low and their reflection (on Fisher's scale) too
    high; the interval is the hull of both. It is rough: for the correlation that unlimited battles
    would show, 95 % intervals held in 80 to 93 % of simulated worlds (15 to 40 models, 50 to 400
    battles each), percentiles alone in as few as 25 %.
    """
    level = open_unit(confidence_level, "confidence_level")
    rng = generator(seed)
    replicates = count(replicates, "replicates")
    n = battles.n_models
    met = np.ones(n, dtype=bool)
    for target in (one, other):
        known = np.isfinite(target)
        met &= battles_per_model(battles.a[known], battles.b[known], n) > 0
    tables = [_table(battles, target, None) for target in (one, other)]
    fits = [fit_strengths(table, l2=l2) for table in tables]
    tau, rho = rank_correlations(fits[0][met], fits[1][met])
    drawn: list[tuple[float, float]] = []
    if replicates and tau is not None:
        codes = np.arange(len(battles)) if battles.prompts is None else battles.prompts
        present, code = np.unique(codes, return_inverse=True)
        weights = cluster_weights(len(present), replicates, rng)
        refits = [
            fit_strengths(
                np.stack([_table(battles, target, w[code]) for w in weights.T]),
                l2=l2,
                start=fit,
                tolerance=1e-5,
            )
            for target, fit in zip((one, other), fits, strict=True)
        ]
        for x, y in zip(refits[0], refits[1], strict=True):
            t, r = rank_correlations(x[met], y[met])
            if t is not None and r is not None:
                drawn.append((t, r))
    low = high = (None, None)
    if drawn and tau is not None and rho is not None:
        low, high = _hull(np.array([tau, rho]), np.array(drawn), level).tolist()
    return RankAgreement(
        n_models=int(met.sum()),
        kendall=tau,
        kendall_low=low[0],
        kendall_high=high[0],
        spearman=rho,
        spearman_low=low[1],
        spearman_high=high[1],
        confidence_level=level,
        replicates=replicates,
        failed=(replicates if tau is not None else 0) - len(drawn),
    )


def _hull(estimate: FloatArray, drawn: FloatArray, level: float) -> FloatArray:
    """Lower and upper ends over percentiles and their reflection about the estimate."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    direct = np.quantile(drawn, tails, axis=0)
    most = np.nextafter(1.0, 0.0)
    z = np.arctanh(np.clip(np.vstack([estimate, direct]), -most, most))
    reflected = np.tanh(2 * z[0] - z[[2, 1]])
    return np.stack([np.minimum(direct[0], reflected[0]), np.maximum(direct[1], reflected[1])])


def _table(battles: Battles, target: FloatArray, weight: FloatArray | None) -> FloatArray:
    known = np.isfinite(target)
    a, b = battles.a[known], battles.b[known]
    w = None if weight is None else weight[known]
    return wins_table(a, b, target[known], battles.n_models, w)
