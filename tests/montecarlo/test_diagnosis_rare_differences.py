"""Do the intervals of differences between judge and people cover where they seldom differ?

Differences are in one direction, and some draws have none. A band is 3.5 standard errors of a share
over independent draws, with fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from adjudge.diagnosis.family import family_bias
from adjudge.diagnosis.length import length_bias


def family_covers(rng: np.random.Generator, n: int, rare: float) -> bool:
    """A judge that prefers its own family in some pairs that people decide the other way."""
    people = rng.random(n) < 0.5
    judge = np.where((rng.random(n) < rare) | people, 0.9, 0.1)
    bias = family_bias(judge, people.astype(float), [True] * n, [False] * n)
    assert bias.interval is not None
    return rare / 2 in bias.interval


def length_covers(rng: np.random.Generator, n: int, rare: float) -> bool:
    """A judge that gives people's votes, some of them turned: it likes length that much less."""
    length_a = rng.lognormal(5, 0.6, n)
    length_b = rng.lognormal(5, 0.6, n)
    chance = expit(0.5 * np.log2(length_a / length_b) + rng.normal(0, 1, n))
    votes = rng.random(n) < chance
    judge = votes ^ (rng.random(n) < rare)
    labels = np.where(votes, "A", "B").tolist()
    bias = length_bias(judge.astype(float), length_a, length_b, labels=labels)
    assert bias.interval is not None
    # People's effect in these votes is 0.1 on average.
    return -0.2 * rare in bias.interval


def check(covers: object, n: int, rare: float, draws: int) -> None:
    assert callable(covers)
    share = np.mean([covers(np.random.default_rng(seed), n, rare) for seed in range(draws)])
    assert share >= 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize("covers", [family_covers, length_covers])
def test_rare_differences_are_covered_shortly(covers: object) -> None:
    check(covers, 100, 0.03, 60)


@pytest.mark.montecarlo
@pytest.mark.parametrize("n", [50, 100, 200])
@pytest.mark.parametrize("rare", [0.01, 0.03, 0.05, 0.1])
@pytest.mark.parametrize("covers", [family_covers, length_covers])
def test_rare_differences_are_covered(covers: object, n: int, rare: float) -> None:
    check(covers, n, rare, 400)
