"""From a fit to the rows of a leaderboard: intervals, ranks and rank ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjudge._bradley_terry import ELO_PER_UNIT
from adjudge._stats import normal_quantile
from adjudge._validation import FloatArray, IntArray, Seed, generator, one_of
from adjudge.ranking.bootstrap import bootstrap_strengths
from adjudge.ranking.bradley_terry import Fit, elo_standard_errors, perfect_record_bounds
from adjudge.ranking.counts import battles_per_model
from adjudge.ranking.rank_ranges import rank_ranges, ranks
from adjudge.ranking.sandwich import sandwich
from adjudge.results.ranking import ModelRow

INTERVALS = ("bootstrap", "sandwich", "none")


@dataclass(frozen=True)
class Spread:
    """How sure each Elo is: standard errors, interval ends (NaN: open or none), rank ranges."""

    se: FloatArray
    low: FloatArray
    high: FloatArray
    open_end: np.ndarray[tuple[int], np.dtype[np.bool_]]
    rank_low: IntArray | None
    rank_high: IntArray | None


def elo_spread(
    fit: Fit,
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    *,
    interval: str,
    confidence_level: float,
    replicates: int,
    rng: Seed,
    clusters: IntArray | None,
) -> Spread:
    """elo -+ z SE with the bootstrap's or the sandwich's SE; exact bounds for clean sweeps.

    Not percentiles: sparse battles push estimates away from the mean, resamples push them further,
    and percentiles count that twice (30 models of 40 battles each, 95 %: 0.94 against 0.97). Rank
    ranges come from the bootstrap, or from normal draws with the sandwich's covariance: that one
    is singular with fewer clusters than models and would call some differences certain, so it
    takes twice as many. With few prompts neither holds its level.
    """
    one_of(interval, INTERVALS, "interval")
    n = len(fit.names)
    inverse = fit.inverse_information()
    swept = fit.structure.won_all | fit.structure.lost_all
    if interval == "none":
        nothing = np.full(n, np.nan)
        return Spread(nothing, nothing, nothing, np.zeros(n, dtype=bool), None, None)
    if interval == "sandwich":
        covariance = sandwich(fit, a, b, target, clusters=clusters)
        se = elo_standard_errors(covariance)
        drawn = None
        if enough_clusters(len(a) if clusters is None else len(np.unique(clusters)), n):
            drawn = normal_draws(fit.theta, covariance, replicates, rng)
    else:
        drawn = bootstrap_strengths(
            fit, a, b, target, replicates=replicates, rng=rng, clusters=clusters
        )
        se = ELO_PER_UNIT * drawn.std(axis=0, ddof=1)
    rank_low = rank_high = None
    if drawn is not None:
        rank_low, rank_high = _ranges(fit, drawn, inverse, swept, confidence_level)
    reach = normal_quantile(confidence_level) * se
    low, high = fit.elo - reach, fit.elo + reach
    # A clean sweep looks certain to resampling and to the sandwich alike.
    se = np.where(swept, np.maximum(se, elo_standard_errors(inverse)), se)
    bound_low, bound_high = perfect_record_bounds(fit, confidence_level)
    low = np.where(fit.structure.won_all, bound_low, np.where(fit.structure.lost_all, np.nan, low))
    high = np.where(
        fit.structure.lost_all, bound_high, np.where(fit.structure.won_all, np.nan, high)
    )
    return Spread(se, low, high, swept, rank_low, rank_high)


def enough_clusters(clusters: int, models: int) -> bool:
    """Whether a sandwich covariance can tell every difference from nothing."""
    return clusters >= 2 * models


def normal_draws(
    theta: FloatArray, covariance: FloatArray, replicates: int, rng: Seed
) -> FloatArray:
    """(replicates, n) strengths as far from the estimate as their covariance says."""
    drawn = generator(rng).multivariate_normal(theta, covariance, replicates, method="eigh")
    return np.asarray(drawn, dtype=np.float64)


def _ranges(
    fit: Fit,
    drawn: FloatArray,
    inverse: FloatArray,
    swept: np.ndarray[tuple[int], np.dtype[np.bool_]],
    confidence_level: float,
) -> tuple[IntArray, IntArray]:
    own = np.diag(inverse)
    least = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * inverse, 0.0))
    least = np.where(swept[:, None] | swept[None, :], least, 0.0)
    return component_ranges(
        fit.theta,
        drawn,
        fit.structure.component,
        confidence_level=confidence_level,
        least_se=least,
    )


def component_ranges(
    theta: FloatArray,
    drawn: FloatArray,
    component: IntArray,
    *,
    confidence_level: float,
    least_se: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model within its component (see `rank_ranges`)."""
    best, worst = np.ones_like(component), np.ones_like(component)
    for number in np.unique(component):
        inside = np.flatnonzero(component == number)
        best[inside], worst[inside] = rank_ranges(
            theta[inside],
            drawn[:, inside],
            confidence_level=confidence_level,
            least_se=None if least_se is None else least_se[np.ix_(inside, inside)],
        )
    return best, worst


def elo_rows(fit: Fit, a: IntArray, b: IntArray, spread: Spread) -> tuple[ModelRow, ...]:
    """Rows in order: the largest component first, the strongest first within it."""
    component = fit.structure.component
    n_battles = battles_per_model(a, b, len(fit.names))
    rank = component_ranks(fit.theta, component)
    # A model nobody has seen battle has no place on a leaderboard.
    known = np.flatnonzero(n_battles > 0)
    order = sorted(known.tolist(), key=lambda k: (component[k], -fit.theta[k], fit.names[k]))
    elo = fit.elo
    return tuple(
        ModelRow(
            model=fit.names[k],
            elo=float(elo[k]),
            low=number_or_none(spread.low[k]),
            high=number_or_none(spread.high[k]),
            se=number_or_none(spread.se[k]),
            n_battles=int(n_battles[k]),
            rank=int(rank[k]),
            rank_low=None if spread.rank_low is None else int(spread.rank_low[k]),
            rank_high=None if spread.rank_high is None else int(spread.rank_high[k]),
            component=int(component[k]),
            unbounded=bool(spread.open_end[k]),
        )
        for k in order
    )


def score_rows(
    names: tuple[str, ...],
    score: FloatArray,
    n_battles: IntArray,
    component: IntArray,
    *,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
    se: FloatArray | None = None,
) -> tuple[ModelRow, ...]:
    """Rows of a method that has no Elo; `low` and `high` are on the scale of `score`."""
    rank = component_ranks(score, component)
    known = np.flatnonzero(n_battles > 0)
    order = sorted(known.tolist(), key=lambda k: (component[k], -score[k], names[k]))
    return tuple(
        ModelRow(
            model=names[k],
            elo=None,
            low=None if low is None else number_or_none(low[k]),
            high=None if high is None else number_or_none(high[k]),
            se=None if se is None else number_or_none(se[k]),
            n_battles=int(n_battles[k]),
            rank=int(rank[k]),
            score=float(score[k]),
            component=int(component[k]),
        )
        for k in order
    )


def component_ranks(strength: FloatArray, component: IntArray) -> IntArray:
    """Ranks within each component."""
    rank = np.zeros(len(strength), dtype=np.int64)
    for number in np.unique(component):
        inside = component == number
        # Strengths equal by symmetry differ in the last bits.
        rank[inside] = ranks(np.round(strength[inside], 9))
    return rank


def component_names(
    names: tuple[str, ...], component: IntArray, n_battles: IntArray
) -> tuple[tuple[str, ...], ...]:
    """The models of each component, largest component first."""
    return tuple(
        tuple(names[k] for k in np.flatnonzero((component == number) & (n_battles > 0)))
        for number in np.unique(component)
        if np.any((component == number) & (n_battles > 0))
    )


def number_or_none(value: float) -> float | None:
    """A float, or None for NaN."""
    return float(value) if np.isfinite(value) else None
