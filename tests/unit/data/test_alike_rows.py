"""Rows of one id are alike, also without a prompt_id: an answer again is no new answer."""

from __future__ import annotations

import logging

import numpy as np
import polars as pl
import pytest

from adjudge import estimate
from adjudge.data.grades import prepare_grades
from adjudge.data.judgments import read_judgments
from adjudge.evaluation.evaluate import evaluate


def grades(n: int = 120, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 2, n)
    judge = np.where(rng.random(n) < 0.85, human, 1 - human)
    labels = [int(h) if at < n // 2 else None for at, h in enumerate(human)]
    return pl.DataFrame({"id": [f"r{at}" for at in range(n)], "judge": judge, "human": labels})


def four_times(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return pl.concat([frame.with_columns(pl.lit(at).alias(column)) for at in range(1, 5)])


@pytest.mark.parametrize("column", ["epoch", "order", "rater"])
def test_the_same_answers_four_times_are_no_more_information(column: str) -> None:
    once = estimate(grades())
    again = estimate(four_times(grades(), column))
    assert again.estimate == pytest.approx(once.estimate)
    width = once.interval.high - once.interval.low
    assert again.interval.high - again.interval.low == pytest.approx(width, rel=0.05)
    (judged,) = evaluate(four_times(grades(), column)).judges
    (judged_once,) = evaluate(grades()).judges
    assert judged.clusters == judged_once.n == 60
    assert judged.interval.low == pytest.approx(judged_once.interval.low, abs=0.02)


def test_ids_that_are_there_once_make_no_clusters() -> None:
    assert prepare_grades(grades()).clusters is None
    assert prepare_grades(four_times(grades(), "epoch"), cluster="none").clusters is None
    # A question of two systems is there once in each.
    systems = pl.concat([grades().with_columns(model=pl.lit(name)) for name in ("old", "new")])
    assert prepare_grades(systems, by="model").clusters is None
    assert prepare_grades(systems).clusters is not None


def test_orders_that_contradict_each_other_are_named(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(40).round(3)
    noise = rng.normal(0, 0.05, 40)
    other_side = pl.DataFrame({"id": range(40), "p_fwd": p, "p_rev": (1 - p + noise).clip(0, 1)})
    right = other_side.with_columns(p_rev=1 - pl.col("p_rev"))
    said = "p_rev is low where p_fwd is high"
    with caplog.at_level(logging.WARNING, "adjudge.data"):
        read_judgments(right)
        read_judgments(other_side.head(19))
        # adjudge wrote these: both are about response_a.
        read_judgments(other_side.with_columns(judge_fingerprint=pl.lit("f")))
        # A judge that always prefers the first response, as strongly each time.
        read_judgments(other_side.with_columns(p_fwd=pl.lit(0.9), p_rev=pl.lit(0.1)))
        assert said not in caplog.text
        read_judgments(other_side)
    assert said in caplog.text
    assert "then give 1 - p_rev" in caplog.text


def test_a_winner_by_name_is_the_side_of_the_model() -> None:
    rng = np.random.default_rng(2)
    a = np.where(rng.random(40) < 0.5, "x", "y")
    b = np.where(a == "x", "y", "x")
    label = np.where(rng.random(40) < 0.5, "A", "B")
    rows = pl.DataFrame({"id": range(40), "model_a": a, "model_b": b, "p_a": rng.random(40)})
    named = rows.with_columns(winner=pl.Series(np.where(label == "A", a, b)))
    by_side = rows.with_columns(winner=pl.Series(label))
    (judged,) = evaluate(named).judges
    assert judged == evaluate(by_side).judges[0]
    assert judged.n == 40


def test_the_mean_at_the_end_of_a_sheet_is_named(caplog: pytest.LogCaptureFixture) -> None:
    rows = grades().select("judge", "human").cast(pl.Float64)
    mean = pl.DataFrame({"judge": [0.55], "human": [0.5]})
    prepare_grades(pl.concat([rows, mean]))
    assert "row 121: warning: 0.55 is the only judge between 0 and 1" in caplog.text
    caplog.clear()
    prepare_grades(rows)
    prepare_grades(pl.concat([rows, mean, mean]))
    assert "between 0 and 1" not in caplog.text
