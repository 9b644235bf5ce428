"""Simultaneous intervals of groups cover all of them, also if they answer the same questions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.examples import load_example

from adjudge.estimation import estimate

RUNS = [pytest.param(50, id="short"), pytest.param(500, id="full", marks=pytest.mark.montecarlo)]
WORLDS = load_example("estimates_hold")


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_all_eight_rates_are_covered(shared: float, runs: int) -> None:
    """The pointwise intervals cover all eight in about 70 % of the draws."""
    rng = np.random.default_rng(37)
    by = np.repeat(np.arange(8), 200)
    hits = np.zeros(2, dtype=int)
    for _ in range(runs):
        truth, people, judge = WORLDS._eight_models(rng, shared, "rates")
        labelled = np.tile(rng.permutation(200) < 100, 8)
        human = np.where(labelled, people, np.nan)
        rates = estimate(judge=judge, human=human, by=by, labels_are_random=True).rates
        pairs = list(zip(truth, rates, strict=True))
        hits += [
            all(rate in each.simultaneous_interval for rate, each in pairs),
            all(rate in each.interval for rate, each in pairs),
        ]
    assert hits[0] >= binom.ppf(1e-4, runs, 0.95)
    assert hits[1] <= binom.ppf(1 - 1e-4, runs, 0.75)
