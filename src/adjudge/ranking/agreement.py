"""The similarity of two rankings: Kendall's tau and Spearman's rho, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from adjudge.ranking.bootstrap import cluster_weights
from adjudge.ranking.counts import battles_per_model, target_battles, wins_table
from adjudge.ranking.mfas import least_reversals, order_strengths
from adjudge.ranking.orders import copeland, online_elo, schulze, win_rate
from adjudge.results.ranking import RankAgreement
from adjudge.rows.battles import Battles
from adjudge.statistics.bradley_terry import DEFAULT_L2, fit_strengths
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    finite,
    generator,
    open_unit,
    same_length,
)


def rank_correlations(one: ArrayLike, other: ArrayLike) -> tuple[float | None, float | None]:
    """Kendall's tau-b and Spearman's rho; None with fewer than two models or all tied.

    >>> rank_correlations([3, 2, 1], [30, 10, 20])
    (0.333..., 0.5)
    """
    x, y = finite(one, "one", allow_empty=True), finite(other, "other", allow_empty=True)
    same_length(one=x, other=y)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    from scipy import stats

    return float(stats.kendalltau(x, y).statistic), float(stats.spearmanr(x, y).statistic)


def ranking_agreement(
    battles: Battles,
    one: FloatArray,
    other: FloatArray,
    *,
    method: str = "bt",
    l2: float = DEFAULT_L2,
    confidence_level: float = 0.95,
    replicates: int = 200,
    time_limit: float = 10.0,
    seed: Seed = 0,
) -> RankAgreement:
    """Agreement of `one`, ranked by `method`, with the Bradley-Terry ranking of `other`.

    The reference is the same for every method, so that methods can be compared. The exact order
    (`mfas`) and `online-elo` are too slow to repeat, and get no interval.

    Battles (or prompts, if there are prompt codes) are resampled once for both rankings, so that
    their correlation is kept. Noise in either ranking lowers the correlation, and resampling lowers
    it again. So percentiles are too low and their reflection (on Fisher's scale) too high; the
    interval is the hull of both. It is rough: for the correlation with unlimited battles, 95 %
    intervals covered in 80 to 93 % of simulated worlds (15 to 40 models, 50 to 400 battles each),
    percentiles alone in as few as 25 %.
    """
    level = open_unit(confidence_level, "confidence_level")
    rng = generator(seed)
    replicates = count(replicates, "replicates")
    n = battles.n_models
    met = np.ones(n, dtype=bool)
    for target in (one, other):
        known = np.isfinite(target)
        met &= battles_per_model(battles.a[known], battles.b[known], n) > 0
    slow = method in ("mfas", "online-elo")
    replicates = 0 if slow else replicates
    codes = np.arange(len(battles)) if battles.prompts is None else battles.prompts
    present, code = np.unique(codes, return_inverse=True)
    weights = cluster_weights(len(present), replicates, rng).T
    if slow:
        ours = _slow_order(battles, one, method, time_limit)[None]
    else:
        ours = _orders(battles, one, weights, code, method, l2)
    theirs = _orders(battles, other, weights, code, "bt", l2)
    (tau, rho), *resampled = (
        rank_correlations(x[met], y[met]) for x, y in zip(ours, theirs, strict=True)
    )
    drawn = [(t, r) for t, r in resampled if t is not None and r is not None]
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
        failed=replicates - len(drawn) if tau is not None else 0,
    )


def _hull(estimate: FloatArray, drawn: FloatArray, level: float) -> FloatArray:
    """Lower and upper ends over percentiles and their reflection about the estimate."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    direct = np.quantile(drawn, tails, axis=0)
    most = np.nextafter(1.0, 0.0)
    z = np.arctanh(np.clip(np.vstack([estimate, direct]), -most, most))
    reflected = np.tanh(2 * z[0] - z[[2, 1]])
    return np.stack([np.minimum(direct[0], reflected[0]), np.maximum(direct[1], reflected[1])])


#: Orders from one table of wins; every other method uses Bradley-Terry.
_BY_TABLE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "win-rate": win_rate,
    "copeland": copeland,
    "schulze": schulze,
}


def _orders(
    battles: Battles,
    target: FloatArray,
    weights: FloatArray,
    code: IntArray,
    method: str,
    l2: float,
) -> FloatArray:
    """(1 + replicates, models): the order of these battles, then of each resample of them."""
    used, y = target_battles(battles, target)
    drawn_with = code[np.isfinite(target)]
    whole = wins_table(used.a, used.b, y, used.n_models)
    drawn = [wins_table(used.a, used.b, y, used.n_models, w[drawn_with]) for w in weights]
    if (order := _BY_TABLE.get(method)) is not None:
        return np.nan_to_num(np.stack([order(table) for table in (whole, *drawn)]), nan=0.5)
    fit = fit_strengths(whole, l2=l2)
    if not drawn:
        return fit[None]
    refits = fit_strengths(np.stack(drawn), l2=l2, start=fit, tolerance=1e-5)
    return np.vstack([fit[None], refits])


def _slow_order(battles: Battles, target: FloatArray, method: str, time_limit: float) -> FloatArray:
    used, y = target_battles(battles, target)
    if method == "online-elo":
        return online_elo(used.a, used.b, y, used.n_models, shuffles=0).elo
    wins = wins_table(used.a, used.b, y, used.n_models)
    return order_strengths(least_reversals(wins, time_limit=time_limit))
