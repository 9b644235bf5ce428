"""Likelihood ratios, profiles and step-down tests against closed forms and plain optimisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, binomtest, chi2
from statsmodels.stats.multitest import multipletests

from adjudge.data.battles import Battles
from adjudge.ranking import rank_ranges
from adjudge.ranking.differences import (
    choose_reference,
    difference_intervals,
    different_pairs,
    independent_wins,
)
from adjudge.statistics.bradley_terry import ELO_PER_UNIT, fit_strengths, profile_gaps
from adjudge.validation import FloatArray


def draw_wins(n: int, per: int, spread: float, seed: int) -> FloatArray:
    draw = np.random.default_rng(seed)
    theta = draw.normal(0, spread, n)
    i, j = np.triu_indices(n, 1)
    won = draw.binomial(per, 1 / (1 + np.exp(theta[j] - theta[i])))
    wins = np.zeros((n, n))
    wins[i, j], wins[j, i] = won, per - won
    return wins


def plain_supremum(wins: FloatArray, i: int, j: int, gap: float) -> float:
    """The same by a general optimiser, with a penalty too small to see."""

    def loss(x: FloatArray) -> float:
        theta = np.insert(x, i, x[j - (j > i)] + gap)
        apart = theta[:, None] - theta[None, :]
        return float((wins * np.logaddexp(0, -apart)).sum() + 1e-9 * (theta**2).sum())

    return -float(minimize(loss, np.zeros(len(wins) - 1), method="BFGS", tol=1e-9).fun)


@pytest.mark.parametrize(("spread", "seed"), [(0.5, 0), (3.0, 1), (6.0, 2)])
def test_profiles_agree_with_a_general_optimiser_with_and_without_sweeps(
    spread: float, seed: int
) -> None:
    wins = draw_wins(5, 12, spread, seed)
    i, j = np.triu_indices(5, 1)
    for gap in (0.0, 1.5):
        fit = profile_gaps(wins, i, j, np.full(len(i), gap))
        plain = [plain_supremum(wins, a, b, gap) for a, b in zip(i, j, strict=True)]
        np.testing.assert_allclose(fit.log_likelihood, plain, atol=2e-4)
        further = profile_gaps(wins, i, j, np.full(len(i), gap + 1e-4)).log_likelihood
        np.testing.assert_allclose(fit.slope, (further - fit.log_likelihood) / 1e-4, atol=5e-2)


def test_two_models_have_the_exact_bound_and_the_exact_test() -> None:
    for n in (4, 20, 40):
        table = np.array([[0.0, n], [0.0, 0.0]])
        low, high = difference_intervals(table, 1, 0.95)
        assert (1 / (1 + np.exp(-low[0]))) ** n == pytest.approx(0.025, rel=1e-3)
        assert high.tolist() == [np.inf, 0.0]
        exact = 2 * binom.pmf(n, n, 0.5)
        at = np.array([0]), np.array([1])
        assert different_pairs(table, *at, alpha=1.0001 * exact).all()
        assert not different_pairs(table, *at, alpha=0.9999 * exact).any()
    forty = difference_intervals(np.array([[0, 40.0], [0, 0]]), 1, 0.95)[0][0]
    assert ELO_PER_UNIT * forty == pytest.approx(406, abs=0.1)


def test_ends_are_where_the_ratio_reaches_its_critical_value() -> None:
    wins = draw_wins(5, 15, 0.8, 3)
    wins[0, 1:] += wins[1:, 0]
    wins[1:, 0] = 0.0  # the first model won everything
    reference = choose_reference(wins, np.arange(5))
    low, high = difference_intervals(wins, reference, 0.9)
    assert reference != 0
    assert (np.isinf(low) | np.isinf(high)).tolist() == [True, False, False, False, False]
    inside = wins * (np.arange(5) > 0)[:, None] * (np.arange(5) > 0)
    theta = fit_strengths(inside, l2=0.0)
    best = -float((inside * np.logaddexp(0, theta[None, :] - theta[:, None])).sum())
    for k in (k for k in range(5) if k != reference):
        wanted = 2 * np.log(2 / 0.1) if k == 0 else chi2.ppf(0.9, 1)
        for end in (end for end in (low[k], high[k]) if np.isfinite(end)):
            value = plain_supremum(wins, k, reference, float(end))
            assert 2 * (best - value) == pytest.approx(wanted, rel=5e-3)


def test_groups_that_no_win_joins_have_no_bound() -> None:
    # Both lost to the first only: nothing compares them.
    wins = np.zeros((3, 3))
    wins[0, 1:] = 30.0
    low, high = difference_intervals(wins, 1, 0.95)
    assert (low[2], high[2]) == (-np.inf, np.inf)
    best, worst = rank_ranges(fit_strengths(wins), None, wins=wins)
    assert (best.tolist(), worst.tolist()) == ([1, 2, 2], [1, 3, 3])


def half_win_ratio(wins: np.ndarray, i: int, j: int) -> float:
    """T of the same battles with half a win of the better model given to the other."""
    theta = fit_strengths(wins, l2=1e-9)
    better, worse = (i, j) if theta[i] > theta[j] else (j, i)
    moved = wins.copy()
    moved[better, worse] -= 0.5
    moved[worse, better] += 0.5
    shifted = fit_strengths(moved, l2=1e-9)
    if shifted[better] <= shifted[worse]:
        return 0.0
    top = -float((moved * np.logaddexp(0, shifted[None, :] - shifted[:, None])).sum())
    return 2 * (top - plain_supremum(moved, i, j, 0.0))


@pytest.mark.parametrize("seed", range(8))
def test_bounds_that_skip_ratios_change_no_decision(seed: int) -> None:
    wins = draw_wins(9, 8 + 6 * seed, 0.3 + 0.3 * seed, seed)
    i, j = np.triu_indices(9, 1)
    theta = fit_strengths(wins, l2=1e-9)
    top = -float((wins * np.logaddexp(0, theta[None, :] - theta[:, None])).sum())
    ratio = 2 * (top - profile_gaps(wins, i, j, np.zeros(len(i))).log_likelihood)
    reach = np.linalg.matrix_power((wins > 0) + np.eye(9), 9) > 0
    within = (reach & reach.T)[i, j]
    halved = np.zeros(len(i))
    for at in np.flatnonzero(within & (ratio > 0)):
        halved[at] = half_win_ratio(wins, int(i[at]), int(j[at]))
    p = np.where(within, chi2.sf(halved, 1), np.minimum(1, 2 * np.exp(-ratio / 2)))
    peer = multipletests(p, 0.05, method="holm")[0]
    np.testing.assert_array_equal(different_pairs(wins, i, j, alpha=0.05), peer)


def test_two_models_are_tested_nearly_as_by_the_binomial() -> None:
    at = np.array([0]), np.array([1])
    for n in (8, 12, 20, 60):
        for won in range(n // 2 + 2, n):
            exact = binomtest(won, n).pvalue
            if exact < 1e-4:
                continue
            table = np.array([[0.0, won], [n - won, 0.0]])
            assert different_pairs(table, *at, alpha=1.25 * exact).all()
            assert not different_pairs(table, *at, alpha=0.8 * exact).any()


def test_step_down_finds_what_one_step_misses() -> None:
    draw = np.random.default_rng(1)
    strength = np.array([0.0, 20.0, 40.0, 60.0, 63.2])
    drawn = strength + draw.normal(0, 1 / np.sqrt(2), (4000, 5))
    best, worst = rank_ranges(strength, drawn)
    # One pair is left: its quantile is 1.96, where that of ten pairs is 2.7 and of four 2.4.
    assert (best.tolist(), worst.tolist()) == ([5, 4, 3, 2, 1], [5, 4, 3, 2, 1])
    close = strength - np.array([0, 0, 0, 0, 0.9])  # 2.3 standard errors
    best, _ = rank_ranges(close, close + draw.normal(0, 1 / np.sqrt(2), (4000, 5)))
    assert best.tolist() == [5, 4, 3, 2, 1]


def test_a_models_battles_on_one_prompt_count_as_one() -> None:
    battles = Battles(
        names=("x", "y", "z"),
        a=np.array([0, 0, 0, 1]),
        b=np.array([1, 1, 2, 2]),
        prompts=np.array([0, 0, 0, 1]),
    )
    wins = independent_wins(battles, np.ones(4))
    np.testing.assert_allclose(wins, [[0, 2 / 3, 1 / 3], [0, 0, 1], [0, 0, 0]])
