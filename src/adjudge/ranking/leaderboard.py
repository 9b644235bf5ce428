"""From strengths or scores to the rows of a leaderboard: intervals, ranks and rank ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjudge.ranking.bootstrap import Mapper, bootstrap_strengths, map_here
from adjudge.ranking.bradley_terry import Fit, elo_standard_errors, perfect_record_bounds, sandwich
from adjudge.results.ranking import ModelRow
from adjudge.statistics.bradley_terry import ELO_PER_UNIT
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator, one_of, open_unit

INTERVALS = ("bootstrap", "sandwich", "none")


@dataclass(frozen=True)
class Spread:
    """The uncertainty of each number: standard error, interval (NaN: no such end), rank range.

    An end is open if `open_end`; the ends are on the scale of their number.
    """

    se: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    open_end: BoolArray | None = None
    rank_low: IntArray | None = None
    rank_high: IntArray | None = None


def elo_spread(
    fit: Fit,
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    *,
    interval: str,
    confidence_level: float,
    replicates: int,
    seed: Seed,
    clusters: IntArray | None,
    mapper: Mapper = map_here,
) -> Spread:
    """elo -+ z SE with the bootstrap's or the sandwich's SE; exact bounds for clean sweeps.

    These are not percentiles: sparse battles push estimates away from the mean, resamples push them
    further, and percentiles count that twice (30 models of 40 battles each, 95 %: 0.94 against
    0.97). Rank ranges come from the bootstrap, or from normal draws with the sandwich covariance.
    That one is singular with fewer clusters than models and would call some differences certain, so
    it needs twice as many clusters as models. With few prompts neither keeps its level.
    """
    one_of(interval, INTERVALS, "interval")
    if interval == "none":
        return Spread()
    inverse = fit.inverse_information()
    won_all, lost_all = fit.structure.won_all, fit.structure.lost_all
    swept = won_all | lost_all
    if interval == "sandwich":
        covariance = sandwich(fit, a, b, target, clusters=clusters)
        se = elo_standard_errors(covariance)
        drawn = None
        if enough_clusters(
            len(a) if clusters is None else len(np.unique(clusters)), len(fit.names)
        ):
            drawn = normal_draws(fit.theta, covariance, replicates, seed)
    else:
        drawn = bootstrap_strengths(
            fit, a, b, target, replicates=replicates, seed=seed, clusters=clusters, mapper=mapper
        )
        se = ELO_PER_UNIT * drawn.std(axis=0, ddof=1)
    best = worst = None
    if drawn is not None:
        own = np.diag(inverse)
        least = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * inverse, 0.0))
        best, worst = component_ranges(
            fit.theta,
            drawn,
            fit.structure.component,
            confidence_level=confidence_level,
            least_se=np.where(swept[:, None] | swept[None, :], least, 0.0),
        )
    reach = normal_quantile(confidence_level) * se
    lowest, highest = perfect_record_bounds(fit, confidence_level)
    return Spread(
        # A model that won or lost everything looks certain to resampling and to the sandwich.
        se=np.where(swept, np.maximum(se, elo_standard_errors(inverse)), se),
        low=np.where(won_all, lowest, np.where(lost_all, np.nan, fit.elo - reach)),
        high=np.where(lost_all, highest, np.where(won_all, np.nan, fit.elo + reach)),
        open_end=swept,
        rank_low=best,
        rank_high=worst,
    )


def enough_clusters(clusters: int, models: int) -> bool:
    """Whether a sandwich covariance gives every difference a positive variance."""
    return clusters >= 2 * models


def normal_draws(
    theta: FloatArray, covariance: FloatArray, replicates: int, seed: Seed
) -> FloatArray:
    """(replicates, n) strengths drawn around the estimate with their covariance."""
    drawn = generator(seed).multivariate_normal(theta, covariance, replicates, method="eigh")
    return np.asarray(drawn, dtype=np.float64)


def model_rows(
    names: tuple[str, ...],
    strength: FloatArray,
    n_battles: IntArray,
    component: IntArray,
    *,
    elo: FloatArray | None = None,
    score: FloatArray | None = None,
    spread: Spread | None = None,
) -> tuple[ModelRow, ...]:
    """Rows in order: the largest component first, the strongest first within it.

    A row shows `elo`, or the method's own `score`, or neither if a method gives only an order;
    `spread` is on the same scale. A model without a battle is not on the leaderboard.
    """
    spread = spread or Spread()
    rank = component_ranks(strength, component)
    known = np.flatnonzero(n_battles > 0)
    order = sorted(known.tolist(), key=lambda k: (component[k], -strength[k], names[k]))
    return tuple(
        ModelRow(
            model=names[k],
            elo=None if elo is None else float(elo[k]),
            low=float_at(spread.low, k),
            high=float_at(spread.high, k),
            se=float_at(spread.se, k),
            n_battles=int(n_battles[k]),
            rank=int(rank[k]),
            rank_low=None if spread.rank_low is None else int(spread.rank_low[k]),
            rank_high=None if spread.rank_high is None else int(spread.rank_high[k]),
            score=None if score is None else float(score[k]),
            component=int(component[k]),
            unbounded=spread.open_end is not None and bool(spread.open_end[k]),
        )
        for k in order
    )


def component_names(
    names: tuple[str, ...], component: IntArray, n_battles: IntArray
) -> tuple[tuple[str, ...], ...]:
    """The models of each component that have battles, largest component first."""
    return tuple(
        tuple(names[k] for k in np.flatnonzero((component == number) & (n_battles > 0)))
        for number in np.unique(component[n_battles > 0])
    )


def float_at(values: FloatArray | None, k: int | None) -> float | None:
    """The number at k; None if there is none."""
    return None if values is None or k is None or not np.isfinite(values[k]) else float(values[k])


def rank_ranges(
    strength: FloatArray,
    replicates: FloatArray,
    *,
    confidence_level: float = 0.95,
    least_se: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model, simultaneously valid with `confidence_level`.

    i is significantly better than j if theta_i - theta_j > c SE_ij, where c is the quantile of
    max_ij |difference in the replicate - difference| / SE_ij. Best rank = 1 + how many are
    significantly better, worst = n - how many are significantly worse. Valid as the number of
    battles grows; ranks of models that met only through weak links are wide, as they should be.

    `least_se` bounds SE_ij from below if resampling underestimates the uncertainty (a model that
    won everything does so in every resample).

    >>> drawn = np.array([3.0, 0.0, 0.0]) + np.random.default_rng(0).normal(0, 0.1, (400, 3))
    >>> [r.tolist() for r in rank_ranges(np.array([3.0, 0.05, 0.0]), drawn)]
    [[1, 2, 2], [1, 3, 3]]
    """
    level = open_unit(confidence_level, "confidence_level")
    n = len(strength)
    if n == 1:
        return np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    i, j = np.triu_indices(n, 1)
    gap = strength[i] - strength[j]
    spread = np.empty(len(gap))
    largest = np.zeros(len(replicates))
    # Two passes over blocks of pairs, so that 500 replicates of 10,000 pairs fit in little memory.
    block = max(1, (1 << 21) // max(1, len(replicates)))
    for first in range(0, len(gap), block):
        part = slice(first, first + block)
        drawn = replicates[:, i[part]] - replicates[:, j[part]]
        se = drawn.std(axis=0, ddof=1)
        if least_se is not None:
            se = np.maximum(se, least_se[i[part], j[part]])
        spread[part] = se
        away = np.abs(drawn - gap[part])
        t = np.divide(away, se, out=np.zeros_like(away), where=se > 0)
        np.maximum(largest, t.max(axis=1), out=largest)
    # Never below the normal quantile of one pair, which larger standard errors would allow.
    critical = max(float(np.quantile(largest, level, method="higher")), normal_quantile(level))
    surely = np.abs(gap) > critical * spread
    better = np.zeros(n, dtype=np.int64)
    worse = np.zeros(n, dtype=np.int64)
    up, down = np.where(gap > 0, i, j), np.where(gap > 0, j, i)
    np.add.at(better, down[surely], 1)
    np.add.at(worse, up[surely], 1)
    return 1 + better, n - worse


def ranks(strength: FloatArray) -> IntArray:
    """1 for the largest; equal strengths share the better rank.

    >>> ranks(np.array([1.0, 3.0, 3.0, 0.0])).tolist()
    [3, 1, 1, 4]
    """
    ordered = np.sort(-strength)
    return np.searchsorted(ordered, -strength, side="left").astype(np.int64) + 1


def component_ranks(strength: FloatArray, component: IntArray) -> IntArray:
    """Ranks within each component."""
    rank = np.zeros(len(strength), dtype=np.int64)
    for number in np.unique(component):
        inside = component == number
        # Strengths that are equal by symmetry differ in the last bits.
        rank[inside] = ranks(np.round(strength[inside], 9))
    return rank


def component_ranges(
    theta: FloatArray,
    replicates: FloatArray,
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
            replicates[:, inside],
            confidence_level=confidence_level,
            least_se=None if least_se is None else least_se[np.ix_(inside, inside)],
        )
    return best, worst
