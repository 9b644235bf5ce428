"""The judge asked again: false alarms at every round, and how soon a change is noticed.

No retest rate enters. Anchors are noisy by different rates, some of them coins.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.monitoring.retest import log_retest

DELTA = 0.025


def draw_answers(
    n: int, columns: int, *, noisy: float, flips: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Answers of `columns` passes, and one more of a judge that flips a share of the anchors."""
    rng = np.random.default_rng(seed)
    likely = np.where(rng.random(n) < 0.5, 0.03, 0.97)
    is_noisy = rng.random(n) < noisy
    likely[is_noisy] = rng.uniform(0.3, 0.7, is_noisy.sum())
    spread = np.where(is_noisy, 0.15, 0.02)
    moved = np.where(rng.random(n) < flips, 1 - likely, likely)
    before = likely[:, None] + spread[:, None] * rng.standard_normal((n, columns))
    now = moved + spread * rng.standard_normal(n)
    return np.clip(before, 0, 1), np.clip(now, 0, 1)


def first_alarm(before: np.ndarray, now: np.ndarray, delta: float, *, verdicts: bool) -> float:
    reached = np.flatnonzero(log_retest(before, now, verdicts=verdicts) >= -math.log(delta))
    return float(reached[0] + 1) if len(reached) else math.inf


@pytest.mark.parametrize("noisy", [0.03, 0.25, 1.0])
@pytest.mark.parametrize("passes", [2, 3])
@pytest.mark.parametrize("verdicts", [True, False])
def test_an_unchanged_judge_rarely_raises_an_alarm(
    noisy: float, passes: int, verdicts: bool
) -> None:
    runs = 250
    alarms = 0
    for seed in range(runs):
        before, now = draw_answers(200, passes, noisy=noisy, flips=0.0, seed=seed)
        alarms += first_alarm(before, now, DELTA, verdicts=verdicts) < math.inf
    assert alarms <= binom.ppf(0.999, runs, DELTA)


@pytest.mark.montecarlo
@pytest.mark.parametrize("rounds", [12])
def test_all_rounds_together_keep_delta(rounds: int) -> None:
    """All rounds compare with the same first answers; round j has delta / (j (j + 1))."""
    runs = 800
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng(10_000 + seed)
        likely = rng.uniform(0.2, 0.8, 150)
        answers = (rng.random((150, 2 + rounds)) < likely[:, None]).astype(float)
        alarms += any(
            first_alarm(answers[:, :2], answers[:, 1 + j], DELTA / (j * (j + 1)), verdicts=True)
            < math.inf
            for j in range(1, rounds + 1)
        )
    assert alarms <= binom.ppf(0.999, runs, DELTA)


@pytest.mark.parametrize(("flips", "most"), [(0.1, 120), (0.3, 50)])
def test_a_changed_judge_is_noticed_soon(flips: float, most: int) -> None:
    delays = []
    for seed in range(100):
        before, now = draw_answers(400, 2, noisy=0.1, flips=flips, seed=seed)
        delays.append(first_alarm(before, now, DELTA, verdicts=True))
    assert np.median(delays) <= most
