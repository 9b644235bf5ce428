"""The certified gain keeps its level whatever the search tried."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.alignment.align import measure_gain, standard_error

LEVEL = 0.95
#: Probability that a test fails although the promise is kept.
_CHANCE = 1e-4


def assert_at_least(hits: int, n: int, share: float) -> None:
    assert hits >= binom.ppf(_CHANCE, n, share), (hits, n, share)


def assert_at_most(hits: int, n: int, share: float) -> None:
    assert hits <= binom.ppf(1 - _CHANCE, n, share), (hits, n, share)


def worlds(
    labels: int, candidates: int, spread: float, repeats: int, seed: int
) -> tuple[list[bool], list[float], list[bool]]:
    """Near-equal prompts: whether the gain is covered, its error, whether a false gain is shown."""
    rng = np.random.default_rng(seed)
    n_select, n_certify = round(0.3 * labels), round(0.5 * labels)
    covered, errors, false = [], [], []
    for _ in range(repeats):
        base = rng.uniform(0.6, 0.85)
        accuracy = np.clip(base + spread * rng.standard_normal(candidates), 0.05, 0.99)
        # Prompts of one judge are right on mostly the same rows.
        n = n_select + n_certify
        ease = rng.random(n)
        noise = rng.random((candidates + 1, n)) < 0.15
        drawn = np.where(noise, rng.random((candidates + 1, n)), ease)
        right = (drawn < np.append(accuracy, base)[:, None]).astype(float)
        select, certify = right[:, :n_select], right[:, n_select:]
        best = int(select[:-1].mean(axis=1).argmax())
        d = select[best] - select[-1]
        if d.mean() <= standard_error(d):
            continue
        truth = accuracy[best] - base
        gap = measure_gain(certify[best] - certify[-1])
        interval = gap.interval(LEVEL, 1.0)
        covered.append(interval.low <= truth <= interval.high)
        errors.append(gap.estimate - truth)
        false.append(interval.low > 0 and truth <= 0)
    return covered, errors, false


@pytest.mark.parametrize("labels", [100, 200, 400])
@pytest.mark.parametrize("candidates", [5, 50])
@pytest.mark.parametrize("spread", [0.0, 0.03])
@pytest.mark.montecarlo
def test_the_gain_is_covered_and_not_biased(labels: int, candidates: int, spread: float) -> None:
    covered, errors, false = worlds(labels, candidates, spread, repeats=1500, seed=labels)
    assert len(covered) > 100
    assert_at_least(sum(covered), len(covered), LEVEL - 0.01)
    assert_at_most(sum(false), len(false), (1 - LEVEL) / 2)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(len(errors))


def test_the_gain_is_covered_in_a_short_run() -> None:
    covered, _, false = worlds(200, 15, 0.02, repeats=200, seed=1)
    assert_at_least(sum(covered), len(covered), LEVEL - 0.01)
    assert_at_most(sum(false), len(false), (1 - LEVEL) / 2)
