"""Coverage of pass@1 and pass^k over questions, with and without labels, and of flips.

Errors of the judge about one question repeat; the interval is over questions.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.estimation.runs import _group_runs, _mean_interval, _Runs, pass_all
from adjudge.statistics.differences import labelled_mean

RUNS = 4


def draw(n: int, rng: np.random.Generator, *, repeat: float) -> tuple[np.ndarray, np.ndarray]:
    """Truth and verdicts of four runs; `repeat` is how often an error of a question repeats."""
    rates = rng.beta(2, 0.8, (n, 1))
    truth = (rng.random((n, RUNS)) < rates).astype(float)
    shared = rng.random((n, 1)) < 0.15
    alone = rng.random((n, RUNS)) < 0.15
    wrong = np.where(rng.random((n, 1)) < repeat, shared, alone)
    return truth, np.where(wrong, 1 - truth, truth)


def true_pass_all() -> float:
    rng = np.random.default_rng(0)
    return float((rng.beta(2, 0.8, 2_000_000) ** RUNS).mean())


def holds(interval: object, truth: float) -> bool:
    return interval.low <= truth <= interval.high  # type: ignore[attr-defined]


@pytest.mark.parametrize("repeat", [0.0, 0.7])
@pytest.mark.parametrize("m", [40, 100])
def test_pass_all_corrected_by_questions_covers(repeat: float, m: int) -> None:
    target = true_pass_all()
    repeats = 300
    covered = 0
    for seed in range(repeats):
        truth, verdicts = draw(300, np.random.default_rng(seed), repeat=repeat)
        people = truth.all(axis=1).astype(float)
        people[m:] = np.nan
        gap = labelled_mean(people, verdicts.all(axis=1).astype(float), ends=(0.0, 1.0))
        covered += holds(gap.interval(0.95), target)
    assert covered >= binom.ppf(0.001, repeats, 0.925)


@pytest.mark.parametrize("n", [30, 100])
def test_rates_without_labels_cover(n: int) -> None:
    target = true_pass_all()
    repeats = 800
    covered = 0
    for seed in range(repeats):
        truth, _ = draw(n, np.random.default_rng(seed), repeat=0.0)
        values = pass_all(truth.sum(axis=1), np.full(n, RUNS), RUNS)
        covered += holds(_mean_interval(values, 0.95), target)
    assert covered >= binom.ppf(0.001, repeats, 0.935)


def test_a_gate_flips_as_often_as_stated() -> None:
    """Suites at a distance from the gate: the stated rate against the truth, on average."""
    stated = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rates = rng.beta(2, 0.8, 200)
        runs = (rng.random((200, 12)) < rates[:, None]).sum(axis=1)
        at = float(rates.mean()) + 0.01
        sample = _Runs(np.full(200, 12), runs, np.full(200, np.nan), (runs / 12, runs / 12))
        gate = _group_runs(None, sample, 2, at, 0.95, labelled=False).gate
        assert gate is not None
        again = (rng.random((400, 200)) < rates).mean(axis=1) >= at
        true = 2 * again.mean() * (1 - again.mean())
        stated.append((gate.flips, true, holds(gate.interval, true)))
    flips, truth, covered = np.array(stated).T
    assert abs(flips.mean() - truth.mean()) < 0.05
    assert covered.sum() >= binom.ppf(0.001, 150, 0.91)


def test_a_product_of_corrected_runs_would_not_cover() -> None:
    """Why labels on scattered runs give no pass^k: (pass@1)^k is far from it."""
    truth, _ = draw(100_000, np.random.default_rng(1), repeat=0.0)
    assert true_pass_all() - truth.mean() ** RUNS > 0.07
