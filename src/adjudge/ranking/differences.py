"""Which models differ: tests of equal strength, step-down rank ranges, intervals of differences.

A model that won or lost everything has no finite strength, and 1500, the mean of all, is then set
by the penalty alone. What the battles still determine are differences: the likelihood without a
penalty, with the gap of two models fixed and everything else at its best,

    T(gap) = 2 (sup l - sup {l : theta_i - theta_j = gap})

is finite for every gap (`profile_gaps`). If wins lead from each of the two models to the other, T
at the true gap has about the chi-squared law with one degree of freedom. If not, the gap has a
bound on one side only, and exp(-T / 2) is the probability of so clean a sweep: exactly for two
models (0.5^n at gap 0), and at most that if the strengths of other models enter too. So

    p = P(chi2_1 >= T),  or  p = min(1, 2 exp(-T / 2)) for a sweep.

Rank ranges hold for all models together. Tests of all pairs step down: a difference once found
leaves the others fewer rivals (Holm 1979 for p-values; Romano and Wolf 2005 for max-|t|).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, chdtri, log_expit, ndtr, stdtr, stdtrit

from adjudge.data.battles import Battles
from adjudge.ranking.bradley_terry import information, wins_of
from adjudge.statistics.bradley_terry import (
    DEFAULT_L2,
    beats_through,
    dominance_groups,
    fit_strengths,
    fit_tied,
    profile_gaps,
)
from adjudge.statistics.differences import holm
from adjudge.statistics.numbers import normal_quantile, slices, student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, open_unit

#: Below this half-width in theta (17 Elo) the profile's ends are within 2 % of estimate -+ z SE.
_NARROW = 0.1
#: Steps in search of an end, and the precision of it in theta (0.02 Elo).
_MOST_STEPS = 60
_PRECISION = 1e-4
#: Cells of the table (pairs x battles) that are in memory together.
_CELLS = 1 << 18

# --- rank ranges ---


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


def rank_ranges(
    strength: FloatArray,
    replicates: FloatArray | None,
    *,
    wins: FloatArray | None = None,
    groups: int | None = None,
    confidence_level: float = 0.95,
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model, simultaneously valid with `confidence_level`.

    With `replicates`, i is better than j if theta_i - theta_j > c SE_ij, where c is the
    quantile of max |difference in the replicate - difference| / SE_ij over the pairs that are not
    decided yet, widened for few `groups` that were resampled. Valid as their number grows.

    Without replicates, `wins` of independent battles are tested by likelihood ratios with Holm's
    correction. With both, wins test only the pairs between which one side was swept, where
    resampling shows no variation: the level is divided by the numbers of pairs.

    >>> drawn = np.array([3.0, 0.0, 0.0]) + np.random.default_rng(0).normal(0, 0.1, (400, 3))
    >>> [r.tolist() for r in rank_ranges(np.array([3.0, 0.05, 0.0]), drawn)]
    [[1, 2, 2], [1, 3, 3]]
    >>> forty = np.array([[0.0, 40.0], [0.0, 0.0]])
    >>> [r.tolist() for r in rank_ranges(np.array([3.2, -3.2]), None, wins=forty)]
    [[1, 2], [1, 2]]
    """
    alpha = 1 - open_unit(confidence_level, "confidence_level")
    n = len(strength)
    i, j = np.triu_indices(n, 1)
    different = np.zeros(len(i), dtype=bool)
    tested = np.ones(len(i), dtype=bool)
    if wins is not None and len(i):
        if replicates is not None:
            group = dominance_groups(wins)[1]
            tested = group[i] != group[j]
        level = alpha * float(tested.mean())
        different[tested] = different_pairs(wins, i[tested], j[tested], alpha=level)
    if replicates is not None:
        rest = ~tested if wins is not None else tested
        level = alpha * (rest.mean() if len(i) else 1.0)
        different[rest] = _largest_differences(
            strength, replicates, i[rest], j[rest], level, groups
        )
    return ranges_of(strength, i, j, different)


def few_groups(groups: int) -> float:
    """What a bootstrap's standard error over this many groups is too small by."""
    return float(np.sqrt(groups / (groups - 1))) if groups > 1 else np.nan


def reach_of(level: float, groups: int) -> float:
    """Student's quantile for this many groups; NaN for one, over which no error is known.

    >>> round(reach_of(0.95, 10), 2), round(reach_of(0.95, 10_000), 2)
    (2.26, 1.96)
    """
    return student_quantile(level, groups - 1) if groups > 1 else np.nan


def ranges_of(
    strength: FloatArray, first: IntArray, second: IntArray, different: BoolArray
) -> tuple[IntArray, IntArray]:
    """Best rank = 1 + how many are better, worst = n - how many are worse, by pairs that differ."""
    n = len(strength)
    gap = strength[first] - strength[second]
    up = np.where(gap > 0, first, second)[different]
    down = np.where(gap > 0, second, first)[different]
    return 1 + np.bincount(down, minlength=n), n - np.bincount(up, minlength=n)


def component_ranges(
    theta: FloatArray,
    replicates: FloatArray | None,
    component: IntArray,
    *,
    wins: FloatArray | None = None,
    groups: int | None = None,
    confidence_level: float,
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model within its component (see `rank_ranges`)."""

    def ranges(inside: IntArray) -> tuple[IntArray, IntArray]:
        drawn = None if replicates is None else replicates[:, inside]
        table = None if wins is None else wins[np.ix_(inside, inside)]
        return rank_ranges(
            theta[inside], drawn, wins=table, groups=groups, confidence_level=confidence_level
        )

    return ranges_by_component(component, ranges)


def ranges_by_component(
    component: IntArray, ranges: Callable[[IntArray], tuple[IntArray, IntArray]]
) -> tuple[IntArray, IntArray]:
    """Best and worst rank of each model, by the ranges of the models of each component.

    A model whose component is negative has none: 1.
    """
    best = np.ones_like(component)
    worst = np.ones_like(component)
    for number in np.unique(component[component >= 0]):
        inside = np.flatnonzero(component == number)
        best[inside], worst[inside] = ranges(inside)
    return best, worst


def _largest_differences(
    strength: FloatArray,
    replicates: FloatArray,
    i: IntArray,
    j: IntArray,
    alpha: float,
    groups: int | None,
) -> BoolArray:
    """Which pairs differ by the step-down quantile of max |t| over the pairs not yet decided."""
    gap = strength[i] - strength[j]
    size = np.zeros(len(i))
    different = np.zeros(len(i), dtype=bool)
    # Blocks of pairs, so that 500 replicates of 10,000 pairs fit in little memory.
    block = max(1, (1 << 21) // max(1, len(replicates)))
    while not different.all():
        largest = np.zeros(len(replicates))
        open_pairs = np.flatnonzero(~different)
        for begin in range(0, len(open_pairs), block):
            pairs = open_pairs[begin : begin + block]
            drawn = replicates[:, i[pairs]] - replicates[:, j[pairs]]
            se = drawn.std(axis=0, ddof=1)
            away = np.abs(drawn - gap[pairs])
            t = np.divide(away, se, out=np.zeros_like(away), where=se > 0)
            np.maximum(largest, t.max(axis=1), out=largest)
            size[pairs] = np.abs(gap[pairs]) / np.where(se > 0, se, np.inf)
        quantile = float(np.quantile(largest, 1 - alpha, method="higher"))
        # Never below the normal quantile of one pair.
        critical = max(quantile, normal_quantile(1 - alpha))
        if groups is not None:
            critical = few_groups(groups) * float(stdtrit(groups - 1, ndtr(critical)))
        larger = ~different & (size > critical)
        if not larger.any():
            break
        different |= larger
    return different


# --- tests and intervals by the likelihood ---


def different_pairs(
    wins: FloatArray, first: IntArray, second: IntArray, *, alpha: float
) -> BoolArray:
    """Which pairs differ: Holm's procedure on the likelihood ratios of theta_first = theta_second.

    Wins are whole numbers: T is that of the battles with half a win moved towards equality, to the
    second order T - g + SE^2 / 4 for a gap g with SE by the information. Without it, two equal
    models with 8 battles differ in 7 % of all cases; with it in less than 5 %.

    A ratio is computed only where it matters. 2 (e^-g + g - 1) <= T SE^2 <= 2 (e^g - g - 1),
    because no other model moves further than the two do, and any strengths with both equal bound T
    from above; so Holm on the bounds decides most pairs.

    >>> table = np.array([[0.0, 5.0], [0.0, 0.0]])
    >>> different_pairs(table, np.array([0]), np.array([1]), alpha=2 * 0.5**5).tolist()
    [True]
    """
    fit = _Unpenalised.of(wins)
    within = fit.within[first, second]
    gap = np.abs(fit.theta[first] - fit.theta[second])
    variance = variances_of_gaps(fit.inverse, first, second)

    def reject(ratio: FloatArray) -> BoolArray:
        sweep = np.minimum(1.0, 2 * np.exp(-ratio / 2))
        halved = np.where(gap > variance / 2, np.maximum(ratio - gap + variance / 4, 0.0), 0.0)
        return holm(np.where(within, chdtrc(1, halved), sweep)) <= alpha

    low, high = _bounds(gap, variance)
    # Between groups only the ratio itself decides; without a path of wins any gap is possible.
    path = fit.reach[first, second] | fit.reach[second, first]
    low = np.where(within, low, 0.0)
    high = np.where(within, high, np.where(path, np.inf, 0.0))

    def closer(pairs: IntArray) -> tuple[FloatArray, FloatArray]:
        theta = fit_strengths(wins)
        inverse = np.asarray(np.linalg.inv(information(wins + wins.T, theta, DEFAULT_L2)))
        start = _equal_strengths(theta, inverse, first[pairs], second[pairs])
        return start, 2 * (fit.log_likelihood - _log_likelihoods(wins, start))

    def exact(pairs: IntArray, start: FloatArray) -> FloatArray:
        equal = np.zeros(len(pairs))
        # The supremum is flat: strengths within 0.01 give a ratio far closer than the test needs.
        profile = profile_gaps(
            wins, first[pairs], second[pairs], equal, start=start, tolerance=1e-2
        )
        return np.maximum(2 * (fit.log_likelihood - profile.log_likelihood), 0.0)

    return _decide(low, high, reject, closer, exact)


def penalised_differences(
    wins: FloatArray,
    theta: FloatArray,
    inverse: FloatArray,
    first: IntArray,
    second: IntArray,
    *,
    l2: float,
    scale: float,
    freedom: float,
    alpha: float,
) -> BoolArray:
    """Which pairs differ: Holm's procedure on ratios of likelihoods that both have the penalty.

    T = 2 (l - sup {l : theta_first = theta_second}) / `scale` has the F law with 1 and `freedom`
    degrees. `inverse` is that of the penalised information. Bounds are as in `different_pairs`.
    """
    gap = np.abs(theta[first] - theta[second])
    variance = variances_of_gaps(inverse, first, second)

    def reject(ratio: FloatArray) -> BoolArray:
        p = np.asarray(2 * stdtr(freedom, -np.sqrt(ratio / scale)), dtype=np.float64)
        return holm(p) <= alpha

    def likelihood(strengths: FloatArray) -> FloatArray:
        penalty = l2 * (strengths**2).sum(axis=-1)
        return np.asarray(_log_likelihoods(wins, strengths) - penalty)

    largest = likelihood(theta[None])[0]

    def closer(pairs: IntArray) -> tuple[FloatArray, FloatArray]:
        start = _equal_strengths(theta, inverse, first[pairs], second[pairs])
        return start, 2 * (largest - likelihood(start))

    def exact(pairs: IntArray, start: FloatArray) -> FloatArray:
        equal = fit_tied(wins, first[pairs], second[pairs], l2=l2, start=start, tolerance=1e-2)
        return np.asarray(np.maximum(2 * (largest - likelihood(equal)), 0.0))

    low, high = _bounds(gap, variance)
    return _decide(low, high, reject, closer, exact)


def _bounds(gap: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a ratio is between, by the gap of two strengths and its variance."""
    double = 2 / np.maximum(variance, 1e-300)
    with np.errstate(over="ignore"):
        return double * (np.expm1(-gap) + gap), double * (np.expm1(gap) - gap)


def _log_likelihoods(wins: FloatArray, strengths: FloatArray) -> FloatArray:
    """The log likelihood of each line of strengths."""
    winner, loser = np.nonzero(wins)
    value = np.empty(len(strengths))
    for rows in slices(len(strengths), max(1, _CELLS // max(1, len(winner)))):
        apart = strengths[rows][:, winner] - strengths[rows][:, loser]
        value[rows] = log_expit(apart) @ wins[winner, loser]
    return value


def _decide(
    low: FloatArray,
    high: FloatArray,
    reject: Callable[[FloatArray], BoolArray],
    closer: Callable[[IntArray], tuple[FloatArray, FloatArray]],
    exact: Callable[[IntArray, FloatArray], FloatArray],
) -> BoolArray:
    """What `reject` decides on ratios between `low` and `high`, computed only where it matters.

    `closer` gives strengths that satisfy the hypotheses and the upper bounds that follow from them,
    `exact` the ratios.
    """
    todo = np.flatnonzero(reject(high) & ~reject(low))
    if len(todo):
        start, upper = closer(todo)
        # Rounding must not decide a p-value that equals its level.
        high[todo] = np.minimum(high[todo], upper * (1 + 1e-9))
        left = (reject(high) & ~reject(low))[todo]
        todo = todo[left]
        low[todo] = exact(todo, start[left])
    return reject(low)


def _equal_strengths(
    theta: FloatArray, inverse: FloatArray, first: IntArray, second: IntArray
) -> FloatArray:
    """Strengths with theta_first = theta_second, a line for each pair: close to the best such ones.

    The penalised estimate, moved along its covariance until the two are equal.
    """
    apart = inverse[first] - inverse[second]
    share = (theta[first] - theta[second]) / variances_of_gaps(inverse, first, second)
    return np.asarray(theta - apart * share[:, None])


def variances_of_gaps(covariance: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """The variance of each difference theta_first - theta_second."""
    diagonal = np.diag(covariance)
    variance = diagonal[first] + diagonal[second] - 2 * covariance[first, second]
    return np.asarray(np.maximum(variance, 0.0))


@dataclass(frozen=True)
class _Unpenalised:
    """The likelihood's supremum: strengths within groups in which every model reaches the others.

    `within[i, j]` is true if i and j are in one group, `reach[i, j]` if wins lead from i to j.
    """

    theta: FloatArray
    log_likelihood: float
    within: BoolArray
    reach: BoolArray
    inverse: FloatArray

    @classmethod
    def of(cls, wins: FloatArray) -> _Unpenalised:
        """Fit each group on the battles within it; battles between groups add 0."""
        reach = beats_through(wins)
        within = reach & reach.T
        table = wins * within
        theta = fit_strengths(table, l2=0.0)
        value = float(_log_likelihoods(table, theta[None])[0])
        pin = within / within.sum(axis=1)[:, None]
        inverse = np.linalg.inv(information(table + table.T, theta, 0.0) + pin) - pin
        return cls(theta, value, within, reach, np.asarray(inverse))


def independent_wins(battles: Battles, target: FloatArray) -> FloatArray:
    """The table of wins, in which a model's battles on one prompt count as one at most.

    Battles of one prompt are alike: a sweep of 40 battles on four prompts is four wins.
    """
    if battles.prompts is None:
        return wins_of(battles, target)
    sides = [battles.prompts * battles.n_models + model for model in (battles.a, battles.b)]
    _, code, counts = np.unique(np.concatenate(sides), return_inverse=True, return_counts=True)
    most = counts[code].reshape(2, -1).max(axis=0)
    return wins_of(replace(battles, weights=1 / most), target)


def choose_reference(wins: FloatArray, members: IntArray) -> int:
    """The model that intervals of differences refer to.

    It is in the largest group in which wins lead from every model to every other, if possible not
    one that won or lost everything, and the one with the most battles.
    """
    table = wins[np.ix_(members, members)]
    group = dominance_groups(table)[1]
    won = table.sum(axis=1)
    lost = table.sum(axis=0)
    mixed = (won > 0) & (lost > 0)
    order = np.lexsort((won, -(won + lost), ~mixed, -np.bincount(group)[group]))
    return int(members[order[0]])


def difference_intervals(
    wins: FloatArray,
    reference: int,
    level: float,
    *,
    normal: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Ends of theta_i - theta_reference for every model i; infinite if there is no bound.

    Ends are where T(gap) reaches its critical value; see the module. `normal` has each difference
    and its half-width over prompts, which replace the profile where the gap is finite on both
    sides: battles of one prompt are not independent. The reference's own ends are 0.

    >>> low, high = difference_intervals(np.array([[0.0, 40.0], [0.0, 0.0]]), 1, 0.95)
    >>> (400 / np.log(10) * low).round(1).tolist(), high.tolist()
    ([406.0, 0.0], [inf, 0.0])
    """
    fit = _Unpenalised.of(wins)
    n = len(wins)
    low = np.full(n, -np.inf)
    high = np.full(n, np.inf)
    every = np.arange(n)
    fixed = np.full(n, reference)
    gap = fit.theta - fit.theta[reference]
    within = fit.within[reference]
    half = normal_quantile(level) * np.sqrt(variances_of_gaps(fit.inverse, every, fixed))
    if normal is not None:
        gap, half = normal
    low[within] = (gap - half)[within]
    high[within] = (gap + half)[within]
    wide = np.flatnonzero(within & (half > _NARROW) & (every != reference) & (normal is None))
    critical = float(chdtri(1, 1 - level))
    high[wide] = _find_ends(fit, wins, wide, fixed[wide], gap[wide] + half[wide], critical)
    low[wide] = -_find_ends(fit, wins, fixed[wide], wide, half[wide] - gap[wide], critical)
    critical = -2 * float(np.log((1 - level) / 2))
    above = np.flatnonzero(fit.reach[:, reference] & ~within)
    below = np.flatnonzero(fit.reach[reference] & ~within)
    low[above] = _find_ends(fit, wins, above, fixed[above], np.zeros(len(above)), critical)
    high[below] = -_find_ends(fit, wins, fixed[below], below, np.zeros(len(below)), critical)
    low[reference] = high[reference] = 0.0
    return low, high


def _find_ends(
    fit: _Unpenalised,
    wins: FloatArray,
    first: IntArray,
    second: IntArray,
    gap: FloatArray,
    critical: float,
) -> FloatArray:
    """Gaps of first - second at which T is `critical`, by Newton's method from `gap`.

    Within a group that is the upper end, and sqrt(T) is nearly straight. Between groups, of which
    the first was never beaten by the second, it is the lower end, and ln T is nearly straight.
    """
    gap = gap.copy()
    within = fit.within[first, second]
    centre = fit.theta[first] - fit.theta[second]
    theta = np.repeat(fit.theta[None], len(gap), axis=0)
    todo = np.arange(len(gap))
    for _ in range(_MOST_STEPS):
        if not len(todo):
            return gap
        profile = profile_gaps(wins, first[todo], second[todo], gap[todo], start=theta[todo])
        theta[todo] = profile.theta
        ratio = np.maximum(2 * (fit.log_likelihood - profile.log_likelihood), 1e-12)
        straight = np.where(
            within[todo],
            2 * (ratio - np.sqrt(critical * ratio)),
            ratio * np.log(ratio / critical),
        )
        step = straight / np.where(np.abs(profile.slope) > 1e-300, 2 * profile.slope, np.inf)
        # At most to a third of the way back to the estimate, or three times as far.
        reach = np.where(within[todo], np.abs(gap[todo] - centre[todo]), 6.0)
        step = np.clip(step, -2 * reach / 3, 2 * reach)
        gap[todo] += step
        todo = todo[np.abs(step) > _PRECISION]
    raise ArithmeticError(f"the ends of the intervals did not converge in {_MOST_STEPS} steps")
