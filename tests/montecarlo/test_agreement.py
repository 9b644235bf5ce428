"""Kappa and Krippendorff's alpha of few rows: coverage of their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.diagnosis import agreement
from adjudge.validation import FloatArray

RUNS = [pytest.param(60, id="short"), pytest.param(600, id="full", marks=pytest.mark.montecarlo)]


def of_two(passes: float, sensitivity: float, specificity: float) -> FloatArray:
    """Shares of rows by judge and person, fail first."""
    fails = 1 - passes
    return np.array(
        [
            [fails * specificity, passes * (1 - sensitivity)],
            [fails * (1 - specificity), passes * sensitivity],
        ]
    )


#: Rows, rows of a cluster, the level, shares of rows by judge and person.
SCORES = np.diag([0.04, 0.06, 0.2, 0.3, 0.4]) + 0.004
CELLS = {
    "half pass": (30, 1, "nominal", of_two(0.5, 0.85, 0.8)),
    "nine in ten pass": (30, 1, "nominal", of_two(0.9, 0.97, 0.4)),
    "nearly all pass": (100, 1, "nominal", of_two(0.95, 0.99, 0.5)),
    "no better than chance": (60, 1, "nominal", of_two(0.8, 0.8, 0.2)),
    "clusters": (100, 4, "nominal", of_two(0.8, 0.9, 0.7)),
    "ranks": (40, 1, "ordinal", np.diag([0.5, 0.2, 0.12]) + 0.02),
    "scores": (40, 1, "interval", SCORES),
    "scores in clusters": (120, 4, "interval", SCORES),
}


def of_table(table: FloatArray, level: str) -> float:
    """Kappa of a table of shares, with squared distances unless it is of names."""
    places = np.arange(len(table))
    distance = (places[:, None] - places) ** 2 if level != "nominal" else 1 - np.eye(len(table))
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(1 - (table * distance).sum() / (chance * distance).sum())


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("name", CELLS)
def test_kappa_and_alpha_cover(name: str, runs: int) -> None:
    """A jackknife covered .74 to .93 here."""
    n, size, level, shares = CELLS[name]
    table = shares / shares.sum()
    kappa = of_table(table, level)
    # Of many rows alpha is kappa of the table counted in both directions.
    alpha = of_table((table + table.T) / 2, level)
    rng = np.random.default_rng(37)
    clusters = np.repeat(np.arange(n // size), size)
    files = 0
    missed = {"kappa": 0, "alpha": 0}
    for _ in range(runs):
        of_cluster = rng.choice(table.size, n // size, p=table.ravel())[clusters]
        alone = rng.choice(table.size, n, p=table.ravel())
        cells = np.where((size > 1) & (rng.random(n) < 0.6), of_cluster, alone)
        judge, human = np.divmod(cells, len(table))
        if len({*judge, *human}) < 2:
            continue
        files += 1
        both = agreement(judge.tolist(), human.tolist(), level=level, clusters=clusters)
        assert both.kappa_interval is not None
        assert both.alpha_interval is not None
        missed["kappa"] += kappa not in both.kappa_interval
        missed["alpha"] += alpha not in both.alpha_interval
    most = binom.ppf(0.999, files, 0.085)
    assert max(missed.values()) <= most, (missed, files)
