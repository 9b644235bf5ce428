"""The exact interval keeps its level on rows that no model describes: clustered, drifting, rare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.estimation import VerdictCounts, rows_interval

LEVEL = 0.95


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Fixed rows: what people would say, and what the judge says."""
    rng = np.random.default_rng(11)
    if name == "clusters":
        human = np.repeat(rng.random(30) < 0.5, 20).astype(int)
        judge = np.where(np.repeat(rng.random(30) < 0.85, 20), human, 1 - human)
    elif name == "drift":
        human = (rng.random(900) < np.linspace(0.9, 0.2, 900)).astype(int)
        judge = np.where(rng.random(900) < np.linspace(0.95, 0.5, 900), human, 1 - human)
    elif name == "rare":
        human = (rng.random(700) < 0.03).astype(int)
        judge = np.where(rng.random(700) < 0.9, human, 1 - human)
    else:
        human = (rng.random(500) < 0.6).astype(int)
        judge = np.ones(500, dtype=int)
    return human, judge


def coverage(name: str, labels: int, draws: int) -> float:
    human, judge = rows_of(name)
    rng = np.random.default_rng(12)
    held = 0
    for _ in range(draws):
        labelled = np.zeros(len(human), dtype=bool)
        labelled[rng.permutation(len(human))[:labels]] = True
        counts = [
            VerdictCounts(
                int((judge == verdict).sum()),
                int((labelled & (judge == verdict)).sum()),
                int((labelled & (judge == verdict) & (human == 1)).sum()),
            )
            for verdict in (0, 1)
        ]
        low, high = rows_interval(*counts, confidence_level=LEVEL)
        held += low - 1e-12 <= human.mean() <= high + 1e-12
    return held / draws


def test_it_holds_where_rows_are_clustered() -> None:
    assert coverage("clusters", 60, 60) >= float(binom.ppf(1e-4, 60, LEVEL)) / 60


@pytest.mark.montecarlo
@pytest.mark.parametrize("labels", [40, 150])
@pytest.mark.parametrize("name", ["clusters", "drift", "rare", "useless judge"])
def test_it_holds_on_any_rows(name: str, labels: int) -> None:
    draws = 600
    assert coverage(name, labels, draws) >= float(binom.ppf(1e-4, draws, LEVEL)) / draws
