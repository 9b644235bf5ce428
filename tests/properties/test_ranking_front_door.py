"""Whatever battles come in: a finite board or a clear error, never a NaN, never a crash."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.errors import AdjudgeError
from adjudge.ranking import METHODS, fit_temperature, make_anchors, place, rank

NAMES = st.sampled_from(["a", "b", "c", "d", "$e$", "[red]f", "é"])
OUTCOMES = st.sampled_from(["A", "B", "tie", "tie (bothbad)", None])
SCORES = st.one_of(st.none(), st.sampled_from([1.0, 5.0, 5.5, 10.0]), st.floats(-1e6, 1e6))


@st.composite
def frames(draw: Any) -> pl.DataFrame:
    size = draw(st.integers(1, 40))
    a = draw(st.lists(NAMES, min_size=size, max_size=size))
    b = draw(st.lists(NAMES, min_size=size, max_size=size))
    columns: dict[str, Any] = {"model_a": a, "model_b": b}
    votes = draw(st.lists(OUTCOMES, min_size=size, max_size=size))
    columns["human_pref"] = pl.Series(votes, dtype=pl.String)
    if draw(st.booleans()):
        for side in ("score_a", "score_b"):
            values = draw(st.lists(SCORES, min_size=size, max_size=size))
            columns[side] = pl.Series(values, dtype=pl.Float64)
    elif draw(st.booleans()):
        p = st.one_of(st.none(), st.floats(0, 1))
        values = draw(st.lists(p, min_size=size, max_size=size))
        columns["p_a"] = pl.Series(values, dtype=pl.Float64)
    if draw(st.booleans()):
        columns["prompt_id"] = draw(
            st.lists(st.sampled_from(["1", "2", "3"]), min_size=size, max_size=size)
        )
    frame = pl.DataFrame(columns)
    return frame.filter(pl.col("model_a") != pl.col("model_b")) if draw(st.booleans()) else frame


def one_line(error: Exception) -> None:
    assert "\n" not in str(error)


@settings(max_examples=60)
@given(frames(), st.sampled_from(("auto", *METHODS)), st.booleans(), st.booleans())
def test_rank(frame: pl.DataFrame, method: str, evaluate: bool, quick: bool) -> None:
    interval = "none" if quick else "bootstrap"
    try:
        board = rank(
            frame, method=method, evaluate=evaluate, interval=interval, replicates=5, time_limit=1
        )
    except AdjudgeError as error:
        one_line(error)
        return
    json.loads(board.to_json())  # refuses NaN and infinity
    assert str(board)
    assert board.models or board.reason


@settings(max_examples=40)
@given(frames(), frames())
def test_anchors(old: pl.DataFrame, new: pl.DataFrame) -> None:
    try:
        anchors = make_anchors(old, replicates=3)
        json.loads(anchors.to_json())
        renamed = new.with_columns(model_a=pl.lit("new")).drop("human_pref")
        board = place(renamed, anchors)
    except AdjudgeError as error:
        one_line(error)
        return
    json.loads(board.to_json())


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.floats(-50, 50), st.sampled_from([0.0, 0.5, 1.0, float("nan")])), max_size=30
    )
)
def test_temperature(rows: list[tuple[float, float]]) -> None:
    fit = fit_temperature([s for s, _ in rows], [y for _, y in rows])
    json.dumps(asdict(fit), allow_nan=False)
    assert (fit.beta is None) == (fit.beta_se is None)
    if fit.beta is None:
        assert fit.reason
