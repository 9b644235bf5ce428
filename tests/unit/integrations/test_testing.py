"""Assertions for pytest: a corrected bound decides, and a failure says which numbers it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.data import write_rows
from adjudge.errors import ArgumentError
from adjudge.estimation import estimate
from adjudge.integrations.testing import assert_accepted, assert_not_worse, assert_rate
from adjudge.selection import calibrate, select
from simulators import BinaryModel, binary_rows

MODELS = {
    "old": BinaryModel(rate=0.55, specificity=0.7, sensitivity=0.9),
    "new": BinaryModel(rate=0.75, specificity=0.65, sensitivity=0.95),
}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return binary_rows(MODELS, prompts=400, labels=240, seed=1).drop("truth")


def test_a_rate_is_held_to_its_lower_end_not_to_the_estimate(rows: pl.DataFrame) -> None:
    new = rows.filter(pl.col("model") == "new")
    result = estimate(new)
    assert assert_rate(result, at_least=result.low) is result
    assert assert_rate(result, at_most=result.high) is result
    just_above = float(np.nextafter(result.low, 1))
    with pytest.raises(AssertionError):
        assert_rate(result, at_least=just_above)
    with pytest.raises(AssertionError):
        assert_rate(result, at_most=float(np.nextafter(result.high, 0)))


def test_the_failure_has_the_numbers(rows: pl.DataFrame) -> None:
    result = estimate(rows.filter(pl.col("model") == "new"))
    with pytest.raises(AssertionError) as failure:
        assert_rate(result, at_least=0.8, at_most=0.1)
    line = (
        f"  {result.estimate:.3f}, 95 % interval [{result.low:.3f}, {result.high:.3f}]; the judge "
        f"alone says {result.naive:.3f}"
    )
    assert str(failure.value).splitlines() == [
        "no rate of at least 0.8 is shown:",
        line,
        "no rate of at most 0.1 is shown:",
        line,
    ]


def test_every_group_counts_and_the_wrong_one_is_named(rows: pl.DataFrame) -> None:
    result = estimate(rows, by="model")
    lows = {one.group: one.low for one in result.groups}
    assert assert_rate(result, at_least=min(lows.values())) is result
    with pytest.raises(AssertionError) as failure:
        assert_rate(result, at_least=(lows["old"] + lows["new"]) / 2)
    lines = str(failure.value).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  old: 0.")


def test_a_table_is_estimated_first_and_no_estimate_is_a_failure(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    path = write_rows(rows.filter(pl.col("model") == "new"), tmp_path / "new.csv")
    assert assert_rate(path, at_least=0.1) == estimate(path)
    unlabelled = rows.with_columns(human=pl.lit(None, pl.Float64)).drop("model")
    with pytest.raises(AssertionError, match="no estimate: "):
        assert_rate(unlabelled, at_least=0.0)


def test_too_few_labels_for_peoples_difference_fail() -> None:
    rows = binary_rows(MODELS, prompts=400, labels=20, seed=1).drop("truth")
    old, new = (rows.filter(pl.col("model") == model) for model in ("old", "new"))
    unlabelled = [frame.drop("human") for frame in (old, new)]
    assert assert_not_worse(*unlabelled).better
    with pytest.raises(AssertionError, match="inconclusive by people: .* labelled question"):
        assert_not_worse(old, new)
    with pytest.raises(AssertionError, match="inconclusive by people"):
        assert_not_worse(old, new, margin=0.9)


def test_warnings_reach_pytest_where_the_assertion_holds(rows: pl.DataFrame) -> None:
    mixed = estimate(rows)
    assert mixed.warnings
    with pytest.warns(UserWarning, match="the rows of 2 models are mixed"):
        assert_rate(mixed, at_least=0.1)
    with pytest.raises(AssertionError, match="warning: the rows of 2 models are mixed"):
        assert_rate(mixed, at_least=0.99)


def test_limits_are_checked(rows: pl.DataFrame) -> None:
    with pytest.raises(ArgumentError, match="give at_least, at_most or both"):
        assert_rate(rows)
    with pytest.raises(ArgumentError, match="at_least = 80"):
        assert_rate(estimate(rows.drop("model")), at_least=80)


def judged(n: int, *, doubt: float, seed: int) -> pl.DataFrame:
    """Pairs whose p_a is far from one half, or as near as `doubt` says."""
    p_a = np.clip(np.random.default_rng(seed).beta(9, 1 + doubt, n), 0.501, 0.999)
    wrong = np.random.default_rng(seed + 1).random(n) > p_a
    labels = np.where(wrong, "B", "A")
    names = {"judge": "j", "protocol": "preference", "judge_fingerprint": "f"}
    rows = pl.DataFrame({"id": np.arange(n).astype(str), "p_a": p_a, "label": labels})
    return rows.with_columns(**{name: pl.lit(value) for name, value in names.items()})


def test_what_is_accepted_must_be_enough_and_look_like_the_calibration_rows() -> None:
    policy = calibrate(judged(400, doubt=0, seed=1), alpha=0.1)
    alike = select(judged(400, doubt=0, seed=3).drop("label"), policy)
    share = alike.summary.accepted_share
    assert share > 0.3
    assert assert_accepted(alike, at_least=share) is alike.summary
    with pytest.raises(AssertionError) as failure:
        assert_accepted(alike.summary, at_least=1)
    assert str(failure.value).startswith(f"{100 * share:.1f}".rstrip("0").rstrip(".") + " % of the")
    assert "(" + f"{alike.summary.n_accepted} of 400)" in str(failure.value)
    shifted = select(judged(400, doubt=4, seed=5).drop("label"), policy)
    with pytest.raises(AssertionError, match="do not look like the calibration scores"):
        assert_accepted(shifted, at_least=0)


def test_not_worse_is_held_to_the_interval(rows: pl.DataFrame) -> None:
    old, new = (rows.filter(pl.col("model") == name).drop("human") for name in ("old", "new"))
    ahead = assert_not_worse(old, new)
    assert (ahead.difference.a, ahead.difference.b) == ("old", "new")
    assert assert_not_worse(ahead, margin=0.02) is ahead
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(new, old)
    assert str(failure.value).startswith("new scores ")
    assert " points higher than old by this judge, " in str(failure.value)
    same = assert_not_worse(old, old.with_columns(model=pl.lit("again")))
    with pytest.raises(AssertionError, match="is not shown to lose at most 0.001 against old"):
        assert_not_worse(same, margin=0.001)
    with pytest.raises(AssertionError, match="20 questions: 30 or more are needed"):
        assert_not_worse(old.head(20), new.head(20))
    with pytest.raises(ArgumentError, match="use assert_not_worse"):
        assert_rate(ahead, at_least=0.1)
    with pytest.raises(ArgumentError, match="give the rows of the second system"):
        assert_not_worse(old)


def test_a_mean_can_have_a_limit_below_zero() -> None:
    people = [-2.0, -1.0, 0.0, 1.0, 2.0] * 40
    rows = {"judge_score": [score + 0.5 for score in people], "human_score": people}
    assert assert_rate(rows, at_least=-1.0) is not None
    with pytest.raises(AssertionError, match="no rate of at most -1 is shown"):
        assert_rate(rows, at_most=-1.0)
