"""Quantiles, splits, decomposition of width, and the unbounded case."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.ranking.evaluation import (
    Residuals,
    elo_quantile,
    held_out_intervals,
    interval_around,
    models_needed,
    split_conformal,
)


def made(n: int, seed: int = 0) -> Residuals:
    draw = np.random.default_rng(seed)
    human = draw.normal(1500, 100, n)
    se = draw.uniform(5, 15, n)
    judge = human + se * draw.normal(0, 2, n)
    return Residuals("soft-elo", tuple(f"m{k}" for k in range(n)), human, judge, se, None, {})


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.1, 0.05, 0.3])
def test_models_needed_is_the_smallest_that_works(alpha: float) -> None:
    n = models_needed(alpha)
    assert elo_quantile(np.ones(n), np.ones(n), alpha=alpha) == 1
    if n > 1:
        assert elo_quantile(np.ones(n - 1), np.ones(n - 1), alpha=alpha) is None


def test_quantile_is_the_exact_rank() -> None:
    scores = np.arange(1.0, 28.0)
    # ceil(0.9 * 28) = 26; a float product would say 26 or 25.2 rounded wrongly at other levels.
    assert elo_quantile(scores, np.ones(27), alpha=0.1) == 26
    assert elo_quantile(-scores, 2 * np.ones(27), alpha=0.1) == 13


def test_an_anchor_without_scale_counts_as_infinitely_far() -> None:
    se = np.ones(10)
    se[0] = 0
    found = elo_quantile(np.ones(10), se, alpha=0.1)
    assert found is None  # rank 10 of 10 is the infinite one
    assert elo_quantile(np.ones(10), se, alpha=0.2) == 1
    assert interval_around(1500, found, 10) == (None, None)


def test_interval_needs_a_scale() -> None:
    found = elo_quantile(np.ones(20), np.ones(20), alpha=0.1)
    assert interval_around(1500, found, 0) == (None, None)
    assert interval_around(1500, found, 10) == (1490, 1510)


def test_width_is_quantile_times_error() -> None:
    row = split_conformal(made(40), alpha=0.1, splits=1, seed=3)
    assert row.quantile is not None
    assert row.median_se is not None
    assert row.median_width == pytest.approx(2 * row.quantile * row.median_se)
    assert (row.n_calibration, row.n_test) == (20, 20)


def test_more_splits_have_a_range() -> None:
    row = split_conformal(made(55), alpha=0.1, splits=7, seed=0)
    assert row.width_low is not None
    assert row.width_high is not None
    assert row.median_width is not None
    assert row.width_low <= row.median_width <= row.width_high
    assert row.coverage is not None
    assert 0.7 < row.coverage <= 1


def test_too_few_models_say_how_many() -> None:
    row = split_conformal(made(14), alpha=0.1)
    assert row.unbounded
    assert (row.coverage, row.quantile, row.models_needed) == (None, None, 9)
    row.__class__(**{name: getattr(row, name) for name in row.__dataclass_fields__})


def test_seeded_splits_repeat() -> None:
    assert split_conformal(made(30), seed=5) == split_conformal(made(30), seed=5)
    assert split_conformal(made(30), seed=5) != split_conformal(made(30), seed=6)


def test_held_out_intervals_use_the_others() -> None:
    found = made(12)
    rows = held_out_intervals(found, alpha=0.1)
    scores = np.abs(found.values) / found.se
    for k, row in enumerate(rows):
        q = np.sort(np.delete(scores, k))[math.ceil(0.9 * 12) - 1]
        assert row.interval.high == pytest.approx(found.judge[k] + q * found.se[k])
        assert row.interval.level == 0.9
        assert row.covered == (scores[k] <= q)
    assert all(row.unbounded for row in held_out_intervals(made(9), alpha=0.1))


def test_bad_levels() -> None:
    with pytest.raises(ArgumentError, match="alpha"):
        elo_quantile([1.0], [1.0], alpha=1.5)
    with pytest.raises(ArgumentError, match="residual"):
        elo_quantile([np.nan], [1.0], alpha=0.1)
