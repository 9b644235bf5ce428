"""Win rate, Copeland, Schulze, exact order, rank ranges, agreement, online Elo, sampling."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking import (
    bradley_terry,
    copeland,
    least_reversals,
    online_elo,
    plan_battles,
    rank,
    rank_correlations,
    rank_ranges,
    ranking_agreement,
    schulze,
    win_rate,
)
from adjudge.ranking.bradley_terry import wins_table
from adjudge.ranking.plan import _Information, next_battles


def hidden_order(n: int, follow: float, seed: int) -> Any:
    """A tournament in which a share `follow` of the edges follows one order."""
    draw = np.random.default_rng(seed)
    up = np.triu(draw.random((n, n)) < follow, 1)
    wins = (up | np.tril(~up.T, -1)).astype(float)
    moved = draw.permutation(n)
    return wins[np.ix_(moved, moved)]


def reversed_wins(wins: Any, order: Any) -> float:
    return float(np.tril(wins[np.ix_(order, order)], -1).sum())


@pytest.mark.parametrize("seed", range(12))
def test_exact_order_is_the_best_of_all_orders(seed: int) -> None:
    draw = np.random.default_rng(seed)
    wins = draw.integers(0, 5, (6, 6)) / 2.0
    if seed % 3 == 0:
        wins = draw.random((6, 6))  # weights without a common step
    np.fill_diagonal(wins, 0)
    found = least_reversals(wins)
    best = min(reversed_wins(wins, list(o)) for o in itertools.permutations(range(6)))
    assert found.proven
    assert found.cost == pytest.approx(best)
    assert reversed_wins(wins, list(found.order)) == pytest.approx(best)
    assert found.gap == 0


@pytest.mark.parametrize("seed", range(5))
def test_thirty_models_are_proven_within_a_second(seed: int) -> None:
    began = time.process_time()
    found = least_reversals(hidden_order(30, 0.85, seed))
    assert found.proven
    assert sorted(found.order) == list(range(30))
    assert time.process_time() - began < 1.0


def test_beyond_reach_is_said() -> None:
    wins = hidden_order(60, 0.5, 0)
    began = time.process_time()
    found = least_reversals(wins, time_limit=0.5)
    seconds = time.process_time() - began
    assert not found.proven
    assert found.bound < found.cost
    assert found.gap == pytest.approx((found.cost - found.bound) / wins.sum())
    assert reversed_wins(wins, list(found.order)) == pytest.approx(found.cost)
    assert seconds < 3
    first, second = ([str(model) for model in side] for side in np.nonzero(wins))
    battles = {"model_a": first, "model_b": second, "winner": ["model_a"] * len(first)}
    assert "not proven" in str(rank(battles, method="mfas", time_limit=0.5))


def test_a_transitive_tournament_costs_nothing() -> None:
    found = least_reversals(np.triu(np.ones((8, 8)), 1))
    assert found.order == tuple(range(8))
    assert (found.cost, found.proven) == (0.0, True)


def test_groups_without_a_common_cycle_are_ordered_by_who_beat_whom() -> None:
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
    wins = np.block([[cycle, np.zeros((3, 3))], [np.ones((3, 3)), cycle]])
    found = least_reversals(wins)
    assert set(found.order[:3]) == {3, 4, 5}
    assert found.cost == 2
    assert found.proven


def test_simple_scores() -> None:
    wins = [[0, 3, 0], [1, 0, 0], [0, 0, 0]]
    rate = win_rate(wins)
    assert rate[:2].tolist() == [0.75, 0.25]
    assert np.isnan(rate[2])
    assert copeland(wins).tolist() == [1, -1, 0]
    assert schulze(wins).tolist() == [1, 0, 0]
    with pytest.raises(ArgumentError, match="square"):
        copeland([[1, 2]])
    with pytest.raises(ArgumentError, match="not negative"):
        schulze([[0, -1], [0, 0]])


def test_schulze_against_every_path() -> None:
    draw = np.random.default_rng(1)
    wins = draw.integers(0, 9, (5, 5)).astype(float)
    np.fill_diagonal(wins, 0)
    won = np.where(wins > wins.T, wins, 0)
    strongest = np.zeros((5, 5))
    for length in range(2, 6):
        for path in itertools.permutations(range(5), length):
            weakest = min(won[i, j] for i, j in itertools.pairwise(path))
            strongest[path[0], path[-1]] = max(strongest[path[0], path[-1]], weakest)
    assert schulze(wins).tolist() == (strongest > strongest.T).sum(axis=1).tolist()


def test_rank_ranges_widen_with_noise_and_never_exclude_the_rank() -> None:
    draw = np.random.default_rng(0)
    strength = np.array([2.0, 1.0, 0.9, -3.0])
    sharp = rank_ranges(strength, strength + draw.normal(0, 0.01, (300, 4)))
    assert [r.tolist() for r in sharp] == [[1, 2, 3, 4], [1, 2, 3, 4]]
    blunt = rank_ranges(strength, strength + draw.normal(0, 0.5, (300, 4)))
    assert blunt[0].tolist() == [1, 1, 1, 4]
    assert blunt[1].tolist() == [3, 3, 3, 4]
    none = rank_ranges(strength, strength + draw.normal(0, 9, (300, 4)))
    assert [r.tolist() for r in none] == [[1] * 4, [4] * 4]


def test_agreement_of_a_ranking_with_itself_and_its_reverse() -> None:
    draw = np.random.default_rng(2)
    n = 8
    a = draw.integers(0, n, 2000)
    b = (a + draw.integers(1, n, 2000)) % n
    y = (draw.random(2000) < 1 / (1 + np.exp((a - b) / 2.0))).astype(float)
    battles = Battles(names=tuple("abcdefgh"), a=a, b=b)
    same = ranking_agreement(battles, y, y, replicates=50)
    assert same.kendall_interval is not None
    for value in (same.kendall, same.spearman, *same.kendall_interval):
        assert value == pytest.approx(1.0, abs=1e-12)
    turned = ranking_agreement(battles, y, 1 - y, replicates=0)
    assert turned.kendall == pytest.approx(-1.0, abs=1e-12)
    assert turned.kendall_interval is None
    part = np.where(draw.random(2000) < 0.3, 1 - y, y)
    part[::5] = np.nan
    noisy = ranking_agreement(battles, y, part, replicates=100)
    assert noisy.kendall_interval is not None
    assert noisy.kendall is not None
    assert noisy.kendall in noisy.kendall_interval
    assert noisy.kendall != noisy.kendall_interval.low
    assert noisy.failed == 0


def test_correlations_of_constants_are_refused_as_numbers() -> None:
    assert rank_correlations([1, 1, 1], [1, 2, 3]) == (None, None)
    assert rank_correlations([1], [1]) == (None, None)


def test_online_elo_depends_on_order() -> None:
    a, b = np.array([0, 0, 1, 0]), np.array([1, 2, 2, 1])
    y = np.array([1.0, 1.0, 0.0, 0.0])
    forward = online_elo(a, b, y, 3)
    backward = online_elo(a[::-1], b[::-1], y[::-1], 3)
    assert not np.allclose(forward, backward)
    assert forward.sum() == pytest.approx(4500)


def test_coverage_sampling_evens_out_an_uneven_pool() -> None:
    draw = np.random.default_rng(0)
    n = 10
    a = np.concatenate([np.zeros(5000, dtype=int), draw.integers(0, n, 2000)])
    b = np.concatenate([np.ones(5000, dtype=int), np.zeros(2000, dtype=int)])
    b[5000:] = (a[5000:] + draw.integers(1, n, 2000)) % n
    chosen = next_battles(a, b, n, budget=400, seed=0)
    seen = np.bincount(np.concatenate([a[chosen], b[chosen]]), minlength=n)
    assert len(set(chosen.tolist())) == 400
    assert seen.max() - seen.min() <= 2
    random = draw.choice(7000, 400, replace=False)
    uneven = np.bincount(np.concatenate([a[random], b[random]]), minlength=n)
    assert np.ptp(uneven) > 100


def squared_error(rule: str | None, seed: int, judged: int = 30, budget: int = 300) -> float:
    """Mean squared error of strengths after more battles, chosen by `rule` or by chance."""
    draw = np.random.default_rng(seed)
    n, size = 12, 3000
    truth = draw.normal(0, 1.5, n)
    truth -= truth.mean()
    often = np.repeat([6.0, 1.0], [4, 8])
    a = draw.choice(n, size, p=often / often.sum())
    b = (a + draw.integers(1, n, size)) % n
    y = (draw.random(size) < 1 / (1 + np.exp(truth[b] - truth[a]))).astype(float)
    wins = wins_table(a[:judged], b[:judged], y[:judged], n)
    rest = np.arange(judged, size)
    chosen = draw.permutation(rest)[:budget]
    if rule is not None:
        chosen = rest[
            next_battles(a[rest], b[rest], n, budget=budget, rule=rule, wins=wins, seed=draw)
        ]
    used = np.concatenate([np.arange(judged), chosen])
    fitted = bradley_terry(wins_table(a[used], b[used], y[used], n)).theta
    return float(((fitted - truth) ** 2).mean())


def test_battles_chosen_by_information_leave_less_error_than_chance() -> None:
    chance = np.array([squared_error(None, seed) for seed in range(100)])
    chosen = np.array([squared_error("information", seed) for seed in range(100)])
    saved = chance - chosen
    assert saved.mean() > 2 * saved.std(ddof=1) / np.sqrt(len(saved))


def test_kept_up_variances_are_those_of_the_design() -> None:
    pair = np.array([1, 2, 5])
    pick = _Information(pair, 3, np.zeros((3, 3)), None)
    for at in (0, 2, 2, 1):
        pick.took(at)
    d = np.zeros((4, 3))
    for row, at in enumerate((0, 2, 2, 1)):
        d[row, pair[at] // 3], d[row, pair[at] % 3] = 1, -1
    direct = np.linalg.inv(0.5 * np.eye(3) + (d * pick.weight[[0, 2, 2, 1], None]).T @ d)
    np.testing.assert_allclose(pick.covariance, direct, atol=1e-12)
    np.testing.assert_allclose(pick.squared, direct @ direct, atol=1e-12)


def test_a_budget_above_the_pool_takes_it_all() -> None:
    chosen = next_battles(np.array([0, 1]), np.array([1, 2]), 3, budget=10)
    assert sorted(chosen.tolist()) == [0, 1]


@pytest.mark.attack("repeats")
def test_a_battle_that_is_in_the_pool_again_is_planned_once() -> None:
    pool = {"id": ["1", "1", "2"], "model_a": ["x", "y", "y"], "model_b": ["y", "x", "z"]}
    texts = {"response_a": ["one", "two", "three"], "response_b": ["two", "one", "four"]}
    plan = plan_battles({**pool, **texts}, budget=5)
    assert set(plan.rows) == {0, 2}
    assert plan.dropped == {"the same row again": 1}
    with pytest.raises(DataError, match="row 2, column id: .* is in the file twice"):
        plan_battles({**pool, "prompt_id": ["p", "q", "p"]}, budget=5)


@pytest.mark.attack("repeats")
def test_a_judged_battle_that_is_there_again_counts_once() -> None:
    pool = {"id": ["1", "2", "3"], "model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"]}
    judged = {"id": ["2"], "model_a": ["x"], "model_b": ["z"], "winner": ["model_a"]}
    twice = {name: values * 2 for name, values in judged.items()}
    once = plan_battles(pool, budget=1, judged=judged)
    assert plan_battles(pool, budget=1, judged=twice).appearances == once.appearances
    named = {**twice, "robot": ["A", "timeout"], "labelled_by": ["model", "model"]}
    named["id"] = ["2", "3"]
    plan = plan_battles(pool, budget=1, judged=named, verdict="robot")
    assert (plan.rows, plan.appearances["z"]) == ((0,), 1)


def test_plans_leave_judged_battles_out() -> None:
    pool = {"id": ["1", "2", "3"], "model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"]}
    judged = {"id": ["2"], "model_a": ["x"], "model_b": ["z"], "winner": ["model_a"]}
    plan = plan_battles(pool, budget=5, judged=judged)
    assert set(plan.rows) == {0, 2}
    assert plan.dropped == {"judged already": 1}
    assert plan.appearances == {"x": 2, "y": 2, "z": 2}
    assert "only 2 battles" in plan.warnings[0]
    with pytest.raises(ArgumentError, match="no battle left"):
        plan_battles({"model_a": ["x"], "model_b": ["x"]}, budget=1)
