"""The drift test cries wolf as rarely as it says, ties and all, and sees a real shift."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from adjudge.data.drift import DRIFT_LEVEL, drift_of


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (lambda rng, n: rng.random(n), "smooth"),
        (lambda rng, n: rng.integers(0, 4, n) / 4, "tied"),
        (lambda rng, n: rng.beta(0.2, 2, n), "over-confident"),
    ],
    ids=["smooth", "tied", "over-confident"],
)
@pytest.mark.parametrize(("n", "m"), [(100, 60), (400, 2000)])
@pytest.mark.parametrize(
    "runs", [200, pytest.param(2000, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)
def test_false_alarms(draw, name, n, m, runs):
    rng = np.random.default_rng([n, m, len(name)])
    alarms = sum(drift_of([("", draw(rng, n), draw(rng, m))]).flagged for _ in range(runs))
    assert alarms <= stats.binom.ppf(1 - 1e-5, runs, DRIFT_LEVEL)


def test_false_alarms_over_many_groups():
    rng = np.random.default_rng(1)
    alarms = sum(
        drift_of([(str(g), rng.random(80), rng.random(80)) for g in range(10)]).flagged
        for _ in range(150)
    )
    assert alarms <= stats.binom.ppf(1 - 1e-5, 150, DRIFT_LEVEL)


def test_power_against_a_shift_of_a_quarter():
    rng = np.random.default_rng(2)
    seen = [
        drift_of([("", rng.random(300), 0.25 + 0.75 * rng.random(300))]).flagged for _ in range(50)
    ]
    assert np.mean(seen) > 0.95


def test_a_large_sample_does_not_raise_trifles():
    rng = np.random.default_rng(3)
    result = drift_of([("", rng.random(200_000), rng.random(200_000) ** 1.03)])
    assert (result.p_value or 1) < 1e-6
    assert not result.flagged


def test_too_few_rows_are_not_tested():
    result = drift_of([("", [0.1] * 5, [0.9] * 100)])
    assert not result.tested
    assert "fewer than" in (result.note or "")
