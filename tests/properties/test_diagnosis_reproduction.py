"""The diagnosis paper's tables of any scores and tournaments: a finite result or a clear error."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.data.scores import prepare_scores
from adjudge.errors import AdjudgeError
from adjudge.present.result import plain
from adjudge_papers.diagnosis_tables import (
    compare_by_scores,
    compare_rankings,
    people_means,
    set_tables,
    variance_row,
)

SCORE = st.one_of(st.none(), st.sampled_from([1.0, 2.0, 2.5, 4.0, 5.0]))


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_tables_of_any_scores(data: st.DataObject) -> None:
    documents, models = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    judges = data.draw(st.sampled_from([("x",), ("x", "y")]))
    n = documents * models
    frame = pl.concat(
        pl.DataFrame(
            {
                "doc_id": [f"d{k // models}" for k in range(n)],
                "model": [f"m{k % models}" for k in range(n)],
                "criterion": ["c"] * n,
                "judge": [judge] * n,
                "judge_score": pl.Series(
                    data.draw(st.lists(SCORE, min_size=n, max_size=n)), dtype=pl.Float64
                ),
                "human_score": pl.Series(
                    data.draw(st.lists(SCORE, min_size=n, max_size=n)), dtype=pl.Float64
                ),
            }
        )
        for judge in judges
    )
    try:
        scores = prepare_scores(frame)
        tables = set_tables(scores, splits=2)
    except AdjudgeError:
        return
    plain(tables)
    assert all(0 <= c["coverage"] <= 1 and 0 <= c["mean_size"] <= 5 for c in tables["sets"])
    rows = compare_rankings(
        compare_by_scores(scores.frame), people_means(scores.frame), replicates=5
    )
    plain(rows)
    for row in rows:
        assert row["tau"] is None or -1 - 1e-9 <= row["tau"] <= 1 + 1e-9
        if row["tau_low"] is not None:
            assert row["tau_low"] - 1e-9 <= row["tau"] <= row["tau_high"] + 1e-9


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.floats(-1e3, 1e3)), min_size=3, max_size=3), max_size=4
    )
)
@settings(max_examples=60)
def test_shares_of_variance_add_up(table: list[list[float | None]]) -> None:
    grid = {(str(i), str(j)): value for i, row in enumerate(table) for j, value in enumerate(row)}
    for share in variance_row("data", "size", grid):
        parts = (share["criterion"], share["judge"], share["rest"])
        assert np.isfinite(parts).all()
        assert math.isclose(sum(parts), 1, abs_tol=1e-6)
