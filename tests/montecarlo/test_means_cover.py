"""Means of scores: nearly equal labels, and rows of prompts of which longer ones score lower."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from tests.support.examples import load_example

from adjudge.estimation import estimate
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.sample import make_sample
from adjudge.statistics.clusters import share_interval

RUNS = [pytest.param(200, id="short"), pytest.param(1500, id="full", marks=pytest.mark.montecarlo)]
WORLDS = load_example("estimates_hold")


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("labels", [30, 100])
@pytest.mark.parametrize("at", [4, 5])
def test_nearly_equal_scores(at: int, labels: int, runs: int) -> None:
    """97 % of the scores are one; the range of the labels alone covers 0.43 to 0.80 here."""
    rng = np.random.default_rng(29)
    other = 9 - at
    truth = 0.97 * at + 0.03 * (1 + other) / 2
    hits = 0
    for _ in range(runs):
        people = np.where(rng.random(400) < 0.97, at, rng.choice([1, other], 400))
        judge = np.clip(people - rng.integers(0, 3, 400), 1, 5)
        human = np.where(np.arange(400) < labels, people, np.nan)
        got = estimate(judge=judge, human=human, labels_are_random=True)
        hits += got.low <= truth <= got.high
    assert hits >= binom.ppf(1e-4, runs, 0.95)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("whole", [True, False])
def test_rows_of_prompts(whole: bool, runs: int) -> None:
    """A mean of the prompts' means covers 0.03 to 0.06 here."""
    rng = np.random.default_rng(31)
    truth = float(WORLDS._prompts(rng, 100_000)[1].mean())
    hits = 0
    for _ in range(runs):
        codes, people, judge = WORLDS._prompts(rng, 250)
        labelled = rng.random(len(codes)) < 0.5
        if whole:
            labelled = (rng.random(250) < 0.5)[codes]
        human = np.where(labelled, people, np.nan)
        got = estimate(judge=judge, human=human, cluster=codes, labels_are_random=True)
        hits += got.low <= truth <= got.high
    assert binom.ppf(1e-4, runs, 0.94) <= hits <= binom.ppf(1 - 1e-4, runs, 0.96)


@pytest.mark.parametrize("runs", [RUNS[0], pytest.param(600, id="full", marks=RUNS[1].marks)])
def test_a_few_large_clusters(runs: int) -> None:
    """Student's quantile by the number of clusters covers 0.86 for rates, 0.87 for means."""
    rng = np.random.default_rng(3)
    kind = "one in twenty has 60 rows"
    truth = float(WORLDS._uneven(rng, 200_000, kind)[1].mean())
    hits = np.zeros(2, dtype=int)
    for _ in range(runs):
        codes, people, judge = WORLDS._uneven(rng, 200, kind)
        labelled = (rng.permutation(200) < 40)[codes]
        for at, (scale, shift) in enumerate([(1, 0), (2, 1)]):
            human = np.where(labelled, scale * people + shift, np.nan)
            options = {"cluster": codes, "labels_are_random": True}
            got = estimate(judge=scale * judge + shift, human=human, **options)
            # An interval that is all of [0, 1] is refused.
            hits[at] += got.low is None or got.low <= scale * truth + shift <= got.high
    assert hits.min() >= binom.ppf(1e-4, runs, 0.94)


@pytest.mark.parametrize(
    "runs", [pytest.param(3000, id="short"), pytest.param(12_000, id="full", marks=RUNS[1].marks)]
)
def test_a_large_cluster_pulls_the_rate_to_itself(runs: int) -> None:
    """With the sums of its influence as they are, 0.909 is covered; with its pull 0.935."""
    rng = np.random.default_rng(5)
    kind = "one in twenty has 60 rows"
    truth = float(WORLDS._uneven(rng, 200_000, kind)[1].mean())
    hits = 0
    for _ in range(runs):
        codes, people, judge = WORLDS._uneven(rng, 200, kind)
        labelled = (rng.permutation(200) < 40)[codes]
        sample = make_sample(judge, np.where(labelled, people, np.nan), clusters=codes)
        got = PPI.compute(sample, confidence_level=0.95)
        hits += got.low <= truth <= got.high
    assert hits >= binom.ppf(1e-3, runs, 0.935)


@pytest.mark.parametrize("runs", [RUNS[0], pytest.param(3000, id="full", marks=RUNS[1].marks)])
def test_shares_of_a_few_large_clusters(runs: int) -> None:
    """One prompt of ten has 30 rows, the others 2: by the number of prompts 0.87 are covered."""
    rng = np.random.default_rng(3)

    def draw(prompts: int) -> tuple[np.ndarray, np.ndarray]:
        codes = np.repeat(np.arange(prompts), np.where(rng.random(prompts) < 0.1, 30, 2))
        rate = expit(rng.normal(0.8, 1.2, prompts))[codes]
        return codes, (rng.random(len(codes)) < rate).astype(float)

    truth = float(draw(100_000)[1].mean())
    hits = 0
    for _ in range(runs):
        codes, right = draw(15)
        low, high = share_interval(right, codes, 0.95)
        hits += low <= truth <= high
    assert hits >= binom.ppf(1e-4, runs, 0.96)
