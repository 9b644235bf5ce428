"""Do intervals and rank ranges hold on boards where somebody won or lost everything?

A band is 3.5 standard errors of a share over independent boards: a right method leaves it once in
two thousand runs, and the seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples import load_example

from adjudge.data.battles import Battles
from adjudge.ranking import rank, rank_ranges

EXAMPLE = load_example("clean_sweeps")
FAR_ABOVE = "one far above, 4 models, 20 each"


def lowest(promise: float, boards: float) -> float:
    return promise - 3.5 * math.sqrt(promise * (1 - promise) / boards)


def check_sweeps(name: str, boards: int, seed: int) -> None:
    theta, per = EXAMPLE.WORLDS[name]
    found = EXAMPLE.simulate(np.array(theta), per, boards, seed)
    if found["boards swept"] > 10:
        assert found["cover now"] >= lowest(0.95, found["boards swept"])
        assert found["swept now"] >= lowest(0.975, found["boards swept"])
    assert found["held now"] >= lowest(0.95, boards)
    assert 1 - found.get("false now", 0.0) >= lowest(0.95, boards)
    assert found["size now"] <= found["size before"] + 0.05


def test_sweeps() -> None:
    check_sweeps(FAR_ABOVE, 60, 1)
    theta, per = EXAMPLE.WORLDS[FAR_ABOVE]
    # What this replaces: the penalty sets the scale, and intervals on it are false.
    assert EXAMPLE.simulate(np.array(theta), per, 60, 1)["cover before"] < 0.75


@pytest.mark.montecarlo
@pytest.mark.parametrize("name", EXAMPLE.WORLDS)
def test_sweeps_in_full(name: str) -> None:
    check_sweeps(name, 250, 2)


def share_of_false_differences(models: int, per: int, boards: int, seed: int) -> float:
    """How often any of these equal models, with `per` battles a pair, are called different."""
    draw = np.random.default_rng(seed)
    i, j = np.triu_indices(models, 1)
    false = 0
    for won in draw.binomial(per, 0.5, (boards, len(i))):
        wins = np.zeros((models, models))
        wins[i, j], wins[j, i] = won, per - won
        best, _ = rank_ranges(wins.sum(axis=1) - wins.sum(axis=0), None, wins=wins)
        false += bool((best > 1).any())
    return false / boards


def test_few_battles_of_equal_models() -> None:
    # By plain likelihood ratios 7 % of these boards had a false difference.
    assert 1 - share_of_false_differences(2, 8, 300, 3) >= lowest(0.95, 300)


@pytest.mark.montecarlo
@pytest.mark.parametrize(("models", "per"), [(2, 8), (3, 20), (6, 2), (6, 5), (10, 5)])
def test_few_battles_of_equal_models_in_full(models: int, per: int) -> None:
    assert share_of_false_differences(models, per, 2000, 4) <= 0.05


def prompt_board(seed: int, far: float) -> tuple[bool, bool]:
    """Battles that share prompts, on which a model does well or badly: ranges held, any found.

    The middle models are equal; `far` is the strength of the first.
    """
    draw = np.random.default_rng(seed)
    n, prompts = 4, 60
    theta = np.array([far, 0.0, 0.0, 0.0])
    i, j = np.triu_indices(n, 1)
    suits = draw.normal(0, 1.0, (prompts, n))
    code = np.repeat(np.arange(prompts), len(i))
    a, b = np.tile(i, prompts), np.tile(j, prompts)
    apart = theta[a] - theta[b] + suits[code, a] - suits[code, b]
    won = (draw.random(len(a)) < 1 / (1 + np.exp(-apart))).astype(float)
    battles = Battles(names=tuple("abcd"), a=a, b=b, human=won, prompts=code)
    # Every model is ranked, however wide its interval: this is about false differences.
    board = rank(battles, method="bt", replicates=200, seed=seed, widest=10_000)
    ranges = {row.model: (row.rank_low, row.rank_high) for row in board.models}
    first, *equal = (ranges[name] for name in "abcd")
    alike = all(low <= 2 and high >= 4 for low, high in equal if low and high)
    return alike, first == (1, 1)


@pytest.mark.montecarlo
@pytest.mark.parametrize("far", [3.0, 8.0])
def test_ranges_of_battles_that_share_prompts(far: float) -> None:
    boards = 200
    seen = np.array([prompt_board(seed, far) for seed in range(boards)])
    assert seen[:, 0].mean() >= lowest(0.95, boards)
    assert seen[:, 1].mean() > 0.9  # a sweep of 60 prompts is found
