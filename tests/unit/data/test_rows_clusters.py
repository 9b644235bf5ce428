"""One rule for clusters, one count of what was left out, one kappa, one test of drift."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.data.drift import drift_from_quantiles, drift_of
from adjudge.data.rows import (
    Rows,
    cluster_column,
    code_clusters,
    merge_dropped,
    one_row_per_cluster,
)
from adjudge.errors import ArgumentError
from adjudge.statistics.agreement import cohen_kappa, kappa_of_tables
from adjudge.statistics.numbers import cluster_codes


def test_a_row_without_a_cluster_is_one_of_its_own() -> None:
    codes, groups = cluster_codes(["p", None, "q", float("nan"), "p"])
    assert (codes.tolist(), groups) == ([0, 1, 2, 3, 0], 4)
    # The same pair in the rows of two judges stays one cluster.
    without = pl.Series([None, None, None], dtype=pl.String)
    assert code_clusters(without, pl.Series(["x", "y", "x"])).tolist() == [0, 1, 0]


def test_a_cluster_that_is_not_a_number_is_none() -> None:
    given = pl.Series([7.0, float("nan"), 7.0, float("nan"), None])
    assert code_clusters(given).tolist() == [0, 1, 0, 2, 3]


def test_one_row_of_each_cluster_is_drawn_by_the_seed() -> None:
    clusters = ["p"] * 5 + ["q"] * 5 + [None] * 2
    drawn = {tuple(one_row_per_cluster(clusters, seed=seed).tolist()) for seed in range(30)}
    assert len(drawn) > 5
    for rows in drawn:
        assert [sum(r < 5 for r in rows), sum(5 <= r < 10 for r in rows)] == [1, 1]
        assert rows[2:] == (10, 11)


def test_prompts_cluster_where_they_repeat() -> None:
    frame = pl.DataFrame({"judge": ["a", "b", "a"], "prompt_id": ["p", "p", None]})
    assert cluster_column(frame, "auto") == "prompt_id"
    assert cluster_column(frame, "auto", within=["judge"]) is None
    assert cluster_column(frame.with_columns(prompt_id=None), "auto") is None
    assert cluster_column(frame, "judge") == "judge"
    assert cluster_column(frame, "none") is None
    with pytest.raises(ArgumentError, match="cluster = 'nowhere': choose a column: judge"):
        cluster_column(frame, "nowhere")


def test_what_was_left_out_adds_up_in_the_order_of_the_steps() -> None:
    rows = Rows(pl.DataFrame({"x": [1, 2, None, 4]}), {"unread": 2})
    kept = rows.without(pl.col("x") > 3, "large").without(pl.col("x") > 3, "large")
    assert (kept.frame.height, kept.dropped) == (3, {"unread": 2, "large": 1})
    assert rows.dropped == {"unread": 2}
    assert merge_dropped({"a": 1, "b": 0}, {"c": 2, "a": 3}) == {"a": 4, "c": 2}


def test_kappa_is_the_textbook_one_with_and_without_weights() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 3, (2, 500)) / 2
    table = np.array(
        [[np.sum((one == a) & (other == b)) for b in (0, 0.5, 1)] for a in (0, 0.5, 1)]
    )
    share = table / table.sum()
    chance = np.outer(share.sum(axis=1), share.sum(axis=0))
    plain = (np.trace(share) - np.trace(chance)) / (1 - np.trace(chance))
    assert cohen_kappa(one, other) == pytest.approx(plain)
    points = np.array([0.0, 0.5, 1.0])
    far = (points[:, None] - points) ** 2
    weighted = 1 - (share * far).sum() / (chance * far).sum()
    assert kappa_of_tables(table[None].astype(float), points=points)[0] == pytest.approx(weighted)
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([np.nan, 1], [1, np.nan]) is None


def test_drift_against_quantiles_leaves_room_for_chance_and_strength() -> None:
    rng = np.random.default_rng(1)
    old = rng.normal(size=5000)
    quantiles = np.quantile(old, np.linspace(0, 1, 101))
    assert not drift_from_quantiles(quantiles, rng.normal(size=200)).flagged
    # A shift that a test of two samples would report is one that new models may bring along.
    moved = rng.normal(0.3, size=2000)
    assert drift_of([("", old, moved)]).flagged
    assert not drift_from_quantiles(quantiles, moved).flagged
    assert drift_from_quantiles(quantiles, rng.normal(1.5, size=200)).flagged
    few = drift_from_quantiles(quantiles, rng.normal(5, size=20))
    assert (few.tested, few.flagged) == (False, False)
