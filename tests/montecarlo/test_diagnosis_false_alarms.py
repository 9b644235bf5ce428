"""How often each diagnosis alarms on a judge without the fault it looks for.

Every judge here is unbiased on average, but alike within a prompt: rows of one prompt lean
together. An alarm is an interval that excludes the unbiased value, or a p-value of at most 0.05.
Each must happen in at most 5 % of trials, up to an exact binomial band.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

from adjudge.diagnosis import agreement, diagnose_transitivity, family_scores
from adjudge.diagnosis.consistency import position_bias
from adjudge.diagnosis.family import family_bias
from adjudge.diagnosis.length import length_bias, verbosity_bias
from adjudge.diagnosis.prompts import prompt_change
from adjudge.diagnosis.reliability import reliability
from adjudge.statistics.agreement import spearman_interval
from simulators import simulate_tournaments

Trial = Callable[[np.random.Generator], bool]


def _alike(rng: np.random.Generator, prompts: int, rows: int) -> np.ndarray:
    return np.repeat(np.arange(prompts), rows)


def position(rng: np.random.Generator) -> bool:
    prompts = _alike(rng, 20, 4)
    quality = rng.normal(0, 2, 20)[prompts] + rng.normal(0, 1, 80)
    lean = rng.choice([-1.0, 1.0], 20)[prompts] * rng.uniform(0, 2, 80)
    return position_bias(
        expit(quality + lean), expit(quality - lean), clusters=prompts, floor=0
    ).biased


def position_with_rare_flips(rng: np.random.Generator) -> bool:
    quality = rng.normal(0, 2, 200)
    lean = rng.normal(0, 0.15, 200)
    return position_bias(expit(quality + lean), expit(quality - lean), floor=0).biased


def verbosity(rng: np.random.Generator) -> bool:
    prompts = _alike(rng, 25, 4)
    a, b = rng.integers(10, 500, 100), rng.integers(10, 500, 100)
    taste = rng.choice([-1.0, 1.0], 25)[prompts] * rng.uniform(0.001, 0.2, 100)
    return verbosity_bias(np.where(a > b, taste, -taste), a, b, clusters=prompts, floor=0).biased


def _length_pairs(rng: np.random.Generator, prompts: int) -> dict[str, Any]:
    """Pairs of six models, of which the better write more; prompts at which length helps or hurts.

    Verdicts like length as much as they dislike it, over prompts, and so do people.
    """
    codes = _alike(rng, prompts, 4)
    n, theta = len(codes), rng.normal(0, 0.8, 6)
    a = rng.integers(0, 6, n)
    b = (a + rng.integers(1, 6, n)) % 6
    length_a, length_b = (200 * np.exp(0.3 * theta[m] + rng.normal(0, 0.5, n)) for m in (a, b))
    taste = rng.choice([-0.4, 0.4], prompts)[codes]
    chance = expit(theta[a] - theta[b] + taste * np.log2(length_a / length_b))
    wins, labels = rng.random(n) < chance, np.where(rng.random(n) < chance, "A", "B")
    return {
        "wins": wins.astype(float),
        "length_a": length_a,
        "length_b": length_b,
        "models_a": a.tolist(),
        "models_b": b.tolist(),
        "labels": labels.tolist(),
        "clusters": codes,
    }


def length(rng: np.random.Generator) -> bool:
    drawn = _length_pairs(rng, 40)
    return length_bias(**{**drawn, "labels": None}, floor=0.0).biased


def length_beyond_people(rng: np.random.Generator) -> bool:
    drawn = length_bias(**_length_pairs(rng, 25), floor=0.0)
    assert drawn.low is not None
    assert drawn.high is not None
    return not drawn.low <= 0 <= drawn.high


def family(rng: np.random.Generator) -> bool:
    prompts = _alike(rng, 20, 4)
    quality = rng.normal(0.5, 1, 20)[prompts]
    own = rng.random(80) < 0.5
    judge, people = (rng.random(80) < expit(quality) for _ in range(2))
    return family_bias(
        judge.astype(float), people.astype(float), own, ~own, clusters=prompts, floor=0
    ).biased


def family_points(rng: np.random.Generator) -> bool:
    # The judge likes single models, whoever made them: no liking for the family.
    model = np.repeat(np.arange(15), 20)
    gap = rng.normal(0, 0.3, 15)[model] + rng.normal(0, 1, 300)
    return family_scores(gap, model.tolist(), model < 4).biased


def family_points_of_two(rng: np.random.Generator) -> bool:
    # Two models spread little by chance too often for Welch's interval alone.
    model = np.repeat(np.arange(22), 20)
    gap = rng.normal(0, 0.3, 22)[model] + rng.normal(0, 1, 440)
    return family_scores(gap, model.tolist(), model < 2).biased


def chance_agreement(rng: np.random.Generator) -> bool:
    prompts = _alike(rng, 25, 4)
    judge, human = (rng.integers(0, 2, 25)[prompts] ^ (rng.random(100) < 0.2) for _ in range(2))
    found = agreement(judge.tolist(), human.tolist(), clusters=prompts)
    if found.kappa_interval is None:
        return False
    return 0 not in found.kappa_interval


def _calibrated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    prompts = _alike(rng, 60, 3)
    sure = rng.uniform(0.5, 1, 60)[prompts]
    together = rng.random(60)[prompts]
    draw = np.where(rng.random(180) < 0.6, together, rng.random(180))
    return sure, (draw < sure).astype(int), prompts


def over_confidence(rng: np.random.Generator) -> bool:
    sure, right, prompts = _calibrated(rng)
    return reliability(sure, right, clusters=prompts, floor=0, replicates=1, seed=rng).biased


def calibration(rng: np.random.Generator) -> bool:
    sure, right, prompts = _calibrated(rng)
    found = reliability(sure, right, clusters=prompts, replicates=199, seed=rng)
    assert found.p_value is not None
    return found.p_value <= 0.05


def prompt_beyond_asking_again(rng: np.random.Generator) -> bool:
    # Both prompts draw from one chance per row: they differ as two answers to one prompt do.
    prompts = _alike(rng, 20, 4)
    chance = expit(rng.normal(0, 1.5, 20)[prompts] + rng.normal(0, 1, 80))
    first, second = (np.where(rng.random((80, 3)) < chance[:, None], "A", "B") for _ in range(2))
    return prompt_change(first.tolist(), second.tolist(), clusters=prompts, floor=0).more_than_again


def prompt_shift(rng: np.random.Generator) -> bool:
    # A prompt moves the scores of a document up or down, and those of all documents not at all.
    documents = _alike(rng, 20, 4)
    seen = rng.normal(3, 1, 20)[documents] + rng.normal(0, 0.7, 80)
    moved = seen + rng.normal(0, 0.5, 20)[documents] + rng.normal(0, 0.4, 80)
    first, second = (np.clip(np.rint(s), 1, 5)[:, None].tolist() for s in (seen, moved))
    return prompt_change(first, second, scored=True, clusters=documents).shifted


def width_and_error(rng: np.random.Generator) -> bool:
    # Widths and errors are each alike within a document, and have nothing to do with each other.
    documents = _alike(rng, 20, 5)
    width = np.rint(rng.normal(3, 0.8, 20)[documents] + rng.normal(0, 0.5, 100))
    error = np.rint(np.abs(rng.normal(0, 1, 20)[documents] + rng.normal(0, 0.7, 100)))
    low, high = spearman_interval(width, error, documents)
    assert low is not None
    assert high is not None
    return not low <= 0 <= high


def cycles(rng: np.random.Generator) -> bool:
    drawn = simulate_tournaments(documents=15, models=6, spread=1.5, ties=0.05, seed=rng)
    [group] = diagnose_transitivity(drawn.frame, replicates=60, worst=0, seed=rng).groups
    assert group.p_value is not None
    return group.p_value <= 0.05


FAST: list[Trial] = [
    position,
    position_with_rare_flips,
    verbosity,
    length,
    length_beyond_people,
    family,
    family_points,
    family_points_of_two,
    chance_agreement,
    over_confidence,
    calibration,
    prompt_beyond_asking_again,
    prompt_shift,
    width_and_error,
]


def _alarms(trial: Trial, trials: int) -> int:
    rng = np.random.default_rng(20)
    return sum(trial(rng) for _ in range(trials))


@pytest.mark.parametrize("trial", FAST, ids=lambda trial: str(trial.__name__))
def test_false_alarms_are_rare(trial: Trial) -> None:
    assert _alarms(trial, 200) <= binom.ppf(1 - 1e-4, 200, 0.05)


@pytest.mark.montecarlo
@pytest.mark.parametrize("trial", FAST, ids=lambda trial: str(trial.__name__))
def test_false_alarms_are_rare_in_full(trial: Trial) -> None:
    assert _alarms(trial, 3000) <= binom.ppf(1 - 1e-4, 3000, 0.05)


#: Rows, share of the rare class by people, how often the judge says it where people do and do not.
KAPPAS = [(60, 0.1, 0.1, 0.1), (100, 0.5, 0.97, 0.03), (30, 0.1, 0.9, 0.1)]


@pytest.mark.parametrize("cell", KAPPAS, ids=str)
def test_kappa_of_few_rows_covers(cell: tuple[int, float, float, float]) -> None:
    """Leaving out one row at a time covered 0.57, 0.92 and 0.91 here, alpha 0.48, 0.90 and 0.91."""
    n, rare, hit, false = cell
    rng = np.random.default_rng(21)
    chance = rare * hit + (1 - rare) * false
    same = rare * hit + (1 - rare) * (1 - false)
    by_chance = rare * chance + (1 - rare) * (1 - chance)
    pooled = (rare + chance) / 2
    kappa = (same - by_chance) / (1 - by_chance)
    alpha = 1 - (1 - same) / (2 * pooled * (1 - pooled))
    trials = 300
    covered = np.zeros(2, dtype=int)
    for _ in range(trials):
        human = rng.random(n) < rare
        judge = rng.random(n) < np.where(human, hit, false)
        found = agreement(judge.tolist(), human.tolist())
        if found.kappa_interval is None or found.alpha_interval is None:
            covered += 1  # no number, and no interval that could be wrong
            continue
        covered += [kappa in found.kappa_interval, alpha in found.alpha_interval]
    assert covered.min() >= binom.ppf(1e-3, trials, 0.945)


def test_weighted_kappa_of_scores_that_are_nearly_all_equal_covers() -> None:
    """Quadratic weights of 1 to 5: leaving out one row at a time covered 0.83."""
    human = np.array([0.02, 0.03, 0.05, 0.1, 0.8])
    apart = np.abs(np.arange(5)[:, None] - np.arange(5))
    near = np.where(apart > 0, 0.5**apart, 0.0)
    judge_of_human = 0.8 * np.eye(5) + 0.2 * near / near.sum(axis=1, keepdims=True)
    joint = human[:, None] * judge_of_human
    by_chance = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    kappa = 1 - (joint * apart**2).sum() / (by_chance * apart**2).sum()
    rng = np.random.default_rng(22)
    trials = 300
    covered = 0
    for _ in range(trials):
        cells = rng.choice(25, 30, p=joint.ravel())
        found = agreement((cells % 5).tolist(), (cells // 5).tolist(), level="interval")
        covered += found.kappa_interval is None or kappa in found.kappa_interval
    assert covered >= binom.ppf(1e-3, trials, 0.93)


@pytest.mark.parametrize(
    "trials", [40, pytest.param(1000, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)
def test_a_noisy_transitive_judge_is_rarely_called_circular(trials: int) -> None:
    assert _alarms(cycles, trials) <= binom.ppf(1 - 1e-4, trials, 0.05)


def _true_bias(rng: np.random.Generator) -> bool:
    """Whether the interval contains the true first share of a judge that leans to one slot."""
    prompts = _alike(rng, 40, 3)
    quality = rng.normal(0, 2, 40)[prompts] + rng.normal(0, 1, 120)
    lean = 0.7
    # The verdict flips to the first slot where |quality| < lean, quality normal with variance 5.
    truth = 0.5 + 0.5 * float(norm.cdf(lean / np.sqrt(5)) - norm.cdf(-lean / np.sqrt(5)))
    found = position_bias(expit(quality + lean), expit(quality - lean), clusters=prompts)
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


@pytest.mark.montecarlo
def test_the_interval_of_a_biased_judge_contains_its_bias() -> None:
    rng = np.random.default_rng(7)
    held = sum(_true_bias(rng) for _ in range(1500))
    assert held >= binom.ppf(1e-4, 1500, 0.95)
