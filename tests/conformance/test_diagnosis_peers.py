"""The same numbers as peers: networkx, scikit-learn, scipy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from adjudge.diagnosis import agreement, count_cycles
from adjudge.statistics.agreement import spearman


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_cycles_as_networkx_counts_them(gaps: float) -> None:
    rng = np.random.default_rng(3)
    upper = np.triu(rng.random((25, 25)) < 0.5, 1)
    wins = upper | np.tril(~upper.T, -1)
    missing = np.triu(rng.random((25, 25)) < gaps, 1)
    wins &= ~(missing | missing.T)
    census = nx.triadic_census(nx.from_numpy_array(wins.astype(int), create_using=nx.DiGraph))
    result = count_cycles(wins)
    assert result.cycles == census["030C"]
    assert result.triples == census["030C"] + census["030T"]


@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_kappa_as_scikit_learn_computes_it(weights: str | None) -> None:
    rng = np.random.default_rng(1)
    judge = rng.integers(1, 6, 400)
    human = np.clip(judge + rng.integers(-1, 2, 400), 1, 5)
    level = "nominal" if weights is None else "interval"
    result = agreement(judge.tolist(), human.tolist(), level=level)
    peer = cohen_kappa_score(judge, human, weights=weights)
    assert result.kappa == pytest.approx(peer, abs=1e-12)


def test_spearman_as_scipy_computes_it() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(1, 6, 300), rng.integers(1, 6, 300)
    expected = stats.spearmanr(x, y).statistic
    assert spearman(x, y) == pytest.approx(expected, abs=1e-12)
