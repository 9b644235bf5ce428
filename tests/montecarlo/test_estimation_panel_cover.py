"""Rates from several judges, and the methods taken without asking: each model's coverage.

A cell fails when its count of hits would have a chance below 1 in 20,000 under nominal coverage;
for several models the worst one is held to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.estimation.estimate import choose
from adjudge.estimation.panel import METHOD, Panel, PanelEstimate, estimate_panel, prepare_panel
from adjudge.estimation.sample import Sample
from simulators import panel_rows

SKILLS = {"a": 0.9, "b": 0.8, "c": 0.7}
EIGHT = tuple(np.linspace(0.35, 0.85, 8).round(3).tolist())


def floor(replications: int, level: float = 0.95) -> float:
    return float(binom.ppf(1 / 20_000, replications, level)) / replications


def draw_panels(rates: Sequence[float], labels: int, runs: int, seed: int) -> list[Panel]:
    """Panels of the same models, questions and judges with new answers, verdicts and labels."""
    models = {f"m{i}": rate for i, rate in enumerate(rates)}
    stream = np.random.default_rng(seed)
    first, panels = None, []
    for _ in range(runs):
        rows = panel_rows(models, SKILLS, questions=300, labels=labels, seed=stream)
        first = first or prepare_panel(rows, list(SKILLS), by="model")
        verdicts = rows.select(list(SKILLS)).to_numpy().astype(np.float64)
        human = rows["human"].cast(float).fill_null(np.nan).to_numpy()
        grades = replace(first.grades, judge=verdicts[:, 0], human=human)
        panels.append(replace(first, grades=grades, verdicts=verdicts))
    return panels


def rates_of(panel: Panel, *, share: bool = False) -> PanelEstimate:
    return estimate_panel(panel, labels_are_random=True, share=share, confidence_level=0.95, seed=0)


@pytest.mark.parametrize(
    ("rates", "labels", "runs"),
    [
        pytest.param(EIGHT, 50, 30, id="short"),
        pytest.param(EIGHT, 50, 600, id="50 labels", marks=pytest.mark.montecarlo),
        pytest.param(EIGHT, 120, 300, id="120 labels", marks=pytest.mark.montecarlo),
        pytest.param((0.5, 0.9, 0.95), 50, 600, id="rare", marks=pytest.mark.montecarlo),
    ],
)
def test_several_judges_cover_every_model(rates: Sequence[float], labels: int, runs: int) -> None:
    covered, widths, alone = np.zeros(len(rates)), 0.0, 0.0
    for panel in draw_panels(rates, labels, runs, seed=1):
        for i, (one, rate) in enumerate(zip(rates_of(panel).groups, rates, strict=True)):
            assert one.method == METHOD
            covered[i] += one.low <= rate <= one.high
            widths += one.high - one.low
            alone += one.alone[0].width
    assert (covered / runs).min() >= floor(runs), covered / runs
    if rates == EIGHT:
        assert widths < 0.95 * alone  # three judges of like skill must pay


@pytest.mark.parametrize(
    "runs",
    [pytest.param(12, id="short"), pytest.param(200, id="full", marks=pytest.mark.montecarlo)],
)
@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.52, 0.48, 0.5), (0.3, 0.32, 0.31, 0.9, 0.3)])
def test_shared_intervals_cover_every_model_also_the_odd_one_out(
    rates: Sequence[float], runs: int
) -> None:
    covered, widths, plain = np.zeros(len(rates)), 0.0, 0.0
    for panel in draw_panels(rates, 60, runs, seed=2):
        for i, (one, rate) in enumerate(
            zip(rates_of(panel, share=True).groups, rates, strict=True)
        ):
            covered[i] += rate in one.shared_interval
            widths += one.shared_interval.high - one.shared_interval.low
            plain += one.high - one.low
    assert (covered / runs).min() >= floor(runs), covered / runs
    if max(rates) < 0.6:
        assert widths < 0.97 * plain  # models that are alike must narrow each other


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
