"""The bets of abtest: a fair game if there is no difference, and its plain form."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from adjudge.estimation.bets import BETS, log_capital


def plain_capital(people: list[float], judge: list[float], null: float) -> list[float]:
    """The capital after each label, step by step as it is defined."""
    n, v = len(judge), float(np.var(judge))
    mean, capitals = [], [1.0] * len(BETS)
    products, squares = 5 * v, 10 * v
    for t, h in enumerate(people):
        expected = sum(judge[t:]) / (n - t)
        m = (n * null - sum(people[:t])) / (n - t)
        off = judge[t] - expected
        slope = min(max(products / squares if squares > 0 else 0.0, 0.0), 1.0)
        if -1 <= m <= 1:
            room = m + 1 + slope * (1 - expected)
            for at, bet in enumerate(BETS):
                stake = min(bet, 0.95 / room) if room > 0 else bet
                capitals[at] *= 1 + stake * (h - slope * off - m)
        mean.append(sum(capitals) / len(BETS))
        products, squares = products + h * off, squares + off**2
    return mean


@pytest.mark.parametrize("null", [-0.2, 0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_the_capital_is_that_of_the_definition(seed: int, null: float) -> None:
    rng = np.random.default_rng(seed)
    people = rng.integers(-1, 2, 30).astype(float)
    judge = people if seed == 0 else np.zeros(60) if seed == 1 else rng.uniform(-1, 1, 60)
    judge = np.resize(judge, 60)
    ours = np.exp(log_capital(people[None], judge[None], null))[0]
    plain = plain_capital(people.tolist(), judge.tolist(), null)
    assert ours == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("judge", ["good", "reversed", "none"])
def test_over_all_orders_of_drawing_the_game_is_fair(judge: str) -> None:
    """With the difference at its null the mean capital is the one that was put in."""
    people = np.array([1.0, 1.0, 0.0, -1.0, 0.5, -0.6])
    opinions = {"good": people * 0.8, "reversed": -people, "none": np.zeros(6)}[judge]
    orders = np.array(list(permutations(range(6))))
    capital = np.exp(log_capital(people[orders], opinions[orders], float(people.mean())))
    assert capital.mean(axis=0) == pytest.approx(np.ones(6), rel=1e-9)
    more = np.exp(log_capital(people[orders], opinions[orders], float(people.mean()) - 0.3))
    assert (more[:, :5].mean(axis=0) > 1).all()
    assert math.isinf(more[0, -1])
