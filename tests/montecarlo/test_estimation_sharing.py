"""Shared intervals, the mean of several judges, and the methods taken without asking: coverage.

A cell fails when its count of hits would have a chance below 1 in 20,000 under nominal coverage;
for several groups the worst one is held to that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.estimation import estimate
from adjudge.estimation.estimate import choose
from adjudge.estimation.estimators.base import Outcome
from adjudge.estimation.sample import Sample
from adjudge.estimation.sharing import shared_intervals
from adjudge.statistics.numbers import student_quantile
from simulators import panel_rows

SKILLS = {"a": 0.9, "b": 0.8, "c": 0.7}
EIGHT = tuple(np.linspace(0.35, 0.85, 8).round(3).tolist())


def floor(replications: int, level: float = 0.95) -> float:
    return float(binom.ppf(1 / 20_000, replications, level)) / replications


@pytest.mark.parametrize(
    "runs",
    [pytest.param(1000, id="short"), pytest.param(10_000, id="full", marks=pytest.mark.montecarlo)],
)
@pytest.mark.parametrize(
    "rates", [(0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.8), (0.3, 0.4, 0.5, 0.6)]
)
def test_a_prior_from_the_other_groups_keeps_the_level(rates: Sequence[float], runs: int) -> None:
    """Exactly: estimates are normal. With the group itself in the prior, four equal rates have
    coverage 0.92, which fails here."""
    freedom = 60
    rng = np.random.default_rng(5)
    quantile = student_quantile(0.95, freedom)
    covered = np.zeros(len(rates))
    shared = plain = 0.0
    for _ in range(runs):
        errors = 0.05 * np.sqrt(rng.chisquare(freedom, len(rates)) / freedom)
        estimates = np.array(rates) + 0.05 * rng.normal(size=len(rates))
        outcomes = [
            Outcome(rate, centre=rate, half=quantile * error, standard_error=error)
            for rate, error in zip(estimates.tolist(), errors.tolist(), strict=True)
        ]
        intervals = shared_intervals(outcomes, [freedom] * len(rates), confidence_level=0.95)
        for at, (interval, rate) in enumerate(zip(intervals, rates, strict=True)):
            covered[at] += rate in interval
            shared += interval.high - interval.low
        plain += 2 * sum(outcome.half for outcome in outcomes)
    assert (covered / runs).min() >= floor(runs), covered / runs
    assert covered.sum() / (runs * len(rates)) >= floor(runs * len(rates))
    if max(rates) == 0.5:
        assert shared < 0.9 * plain  # groups that are alike must narrow each other


@pytest.mark.parametrize(
    "runs",
    [pytest.param(12, id="short"), pytest.param(300, id="full", marks=pytest.mark.montecarlo)],
)
@pytest.mark.parametrize("judges", [["a"], ["a", "b", "c"]], ids=["one judge", "mean"])
@pytest.mark.parametrize("rates", [EIGHT, (0.5, 0.5, 0.52, 0.48, 0.5), (0.3, 0.32, 0.31, 0.9, 0.3)])
def test_shared_intervals_cover_every_model_also_the_odd_one_out(
    rates: Sequence[float], judges: list[str], runs: int
) -> None:
    models = {f"m{at}": rate for at, rate in enumerate(rates)}
    covered = np.zeros(len(rates))
    covered_by_plain = np.zeros(len(rates))
    shared = plain = 0.0
    rng = np.random.default_rng(2)
    for _ in range(runs):
        rows = panel_rows(models, SKILLS, questions=300, labels=60, seed=rng)
        result = estimate(rows, judges=judges, by="model", share=True, labels_are_random=True)
        for at, (group, rate) in enumerate(zip(result.rates, rates, strict=True)):
            assert group.method == ("conditional" if len(judges) == 1 else "ppi++")
            covered[at] += rate in group.shared_interval
            covered_by_plain[at] += rate in group.interval
            shared += group.shared_interval.high - group.shared_interval.low
            plain += group.width
    assert (covered / runs).min() >= floor(runs), covered / runs
    assert (covered_by_plain / runs).min() >= floor(runs), covered_by_plain / runs
    if max(rates) < 0.6:
        assert shared < 0.97 * plain


@pytest.mark.parametrize(
    "runs",
    [pytest.param(100, id="short"), pytest.param(1500, id="full", marks=pytest.mark.montecarlo)],
)
@pytest.mark.parametrize("labels", [60, 200])
@pytest.mark.parametrize("theta", [0.1, 0.5, 0.85])
def test_conditional_is_what_random_labels_get_and_covers(
    theta: float, labels: int, runs: int
) -> None:
    estimator, _ = choose("auto", labels_drawn="recorded", scale="binary", matrix=None)
    assert estimator.name == "conditional"
    rng = np.random.default_rng(3)
    known = np.arange(labels + 1000) < labels
    covered = 0
    for _ in range(runs):
        truth = rng.random(len(known)) < theta
        right = rng.random(len(known)) < np.where(truth, 0.85, 0.75)
        judge = np.where(right, truth, ~truth).astype(np.float64)
        human = np.where(known, truth, -1).astype(np.int64)
        sample = Sample(judge, human, ~known, known, random=True)
        got = estimator.estimate(sample, confidence_level=0.95)
        covered += got.low <= theta <= got.high
    assert covered / runs >= floor(runs)
