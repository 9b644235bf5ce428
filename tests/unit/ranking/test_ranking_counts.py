"""Battles to tables of wins, and resampled tables."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.ranking import count_wins
from adjudge.ranking.bradley_terry import (
    bootstrap_strengths,
    bradley_terry,
    resampled_wins,
    wins_table,
)


@pytest.mark.parametrize("made", [list, np.array, pd.Series, pl.Series])
def test_columns_of_any_kind(made: type) -> None:
    names, wins = count_wins(made(["x", "y", "x"]), made(["y", "x", "x"]), made(["A", "B", "A"]))
    assert names == ("x", "y")
    assert wins.tolist() == [[0, 2], [0, 0]]  # a battle with oneself does not count


def test_soft_targets_sum() -> None:
    _, wins = count_wins(["x", "y"], ["y", "x"], [0.75, 0.5])
    np.testing.assert_allclose(wins, [[0, 1.25], [0.75, 0]])


def test_probabilities_must_be_probabilities() -> None:
    with pytest.raises(ArgumentError, match="target"):
        count_wins(["x"], ["y"], [1.5])


def test_resampling_cells_is_resampling_battles() -> None:
    draw = np.random.default_rng(0)
    a = np.array([0] * 30 + [1] * 20 + [2] * 10)
    b = np.array([1] * 30 + [0] * 20 + [0] * 10)
    y = np.array([1.0] * 18 + [0.5] * 12 + [1.0] * 20 + [0.0] * 10)
    tables = resampled_wins(Battles(names=tuple("xyz"), a=a, b=b), y, replicates=4000, seed=1)
    rows = draw.integers(0, 60, size=(4000, 60))
    direct = np.stack([wins_table(a[r], b[r], y[r], 3) for r in rows])
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 60)
    np.testing.assert_allclose(tables.mean(axis=0), direct.mean(axis=0), atol=0.35)
    np.testing.assert_allclose(tables.std(axis=0), direct.std(axis=0), atol=0.25)
    cross = [np.cov(t[:, 0, 1], t[:, 1, 0])[0, 1] for t in (tables, direct)]
    assert cross[0] == pytest.approx(cross[1], abs=1.0)


def test_battles_of_a_prompt_come_together() -> None:
    a, b = np.zeros(40, dtype=int), np.ones(40, dtype=int)
    y = np.repeat([1.0, 0.0], 20)
    clusters = np.repeat([0, 1], 20)
    battles = Battles(names=tuple("xy"), a=a, b=b, prompts=clusters)
    tables = resampled_wins(battles, y, replicates=50, seed=0)
    assert set(np.unique(tables[:, 0, 1])) <= {0.0, 20.0, 40.0}
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 40)


@pytest.mark.parametrize("prompts", [None, 60])
def test_a_bootstrap_does_not_depend_on_the_memory(
    prompts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 300)
    b = rng.integers(4, 8, 300)
    y = rng.integers(0, 2, 300).astype(float)
    fit = bradley_terry(wins_table(a, b, y, 8), names=tuple("abcdefgh"))
    clusters = None if prompts is None else rng.integers(0, prompts, 300)
    battles = Battles(names=fit.names, a=a, b=b, prompts=clusters)
    draw = partial(bootstrap_strengths, fit, battles, y, seed=5)
    together = draw(replicates=300)
    np.testing.assert_allclose(together[:100], draw(replicates=100), atol=1e-4)
    assert len(np.unique(together, axis=0)) > 290, "two replicates are alike"
    fitting = import_module("adjudge.ranking.bradley_terry")
    monkeypatch.setattr(fitting, "_BATCH_BYTES", 8 * 64 * 7)  # seven replicates
    np.testing.assert_allclose(together, draw(replicates=300), atol=1e-4)
