"""The deployment path: keep anchors, place a model nobody voted on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data import write_result
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.ranking import make_anchors, place, rank, read_anchors
from adjudge.ranking.anchors import Anchors
from adjudge.ranking.leaderboard import ModelRow
from adjudge.records import Interval
from adjudge.simulate.battles import SimulatedBattles, simulate_battles


@pytest.fixture(scope="module")
def world() -> SimulatedBattles:
    return simulate_battles(models=14, battles=6000, new_models=2, seed=8)


@pytest.fixture(scope="module")
def old(world: SimulatedBattles) -> pl.DataFrame:
    return world.frame.filter(pl.col("human_pref").is_not_null())


@pytest.fixture(scope="module")
def new(world: SimulatedBattles) -> pl.DataFrame:
    return world.frame.filter(pl.col("human_pref").is_null()).drop("human_pref")


@pytest.fixture(scope="module")
def anchors(old: pl.DataFrame) -> Anchors:
    return make_anchors(old, seed=0)


def test_anchors_keep_what_placing_needs(anchors: Anchors, old: pl.DataFrame) -> None:
    board = rank(old, method="soft-elo", interval="none")
    assert anchors.beta == board.beta
    assert len(anchors.models) == 12
    elo = {row.model: row.elo for row in board.models}
    for row in anchors.models:
        assert 1500 + row.theta * 400 / np.log(10) == pytest.approx(elo[row.model])
        assert row.residual is not None
        assert row.se is not None
    assert anchors.judge == "simulated"


def test_a_new_model_lands_on_peoples_scale(
    anchors: Anchors, new: pl.DataFrame, world: SimulatedBattles
) -> None:
    board = place(new, anchors, seed=1)
    placed = {row.model: row for row in board.models if row.origin == "new"}
    assert set(placed) == {"model-12", "model-13"}
    assert len(board.models) == 14
    assert board.interval == "conformal"
    assert board.covers_judge_error
    assert board.confidence_level == pytest.approx(0.9)
    for row in placed.values():
        low, high = row.ends
        assert low is not None
        assert high is not None
        assert row.elo is not None
        assert low < row.elo < high
        assert row.rank_low is not None
        assert row.rank_high is not None
        assert 1 <= row.rank_low <= row.rank <= row.rank_high <= 14
    # Strength order of the two new models, known to the simulation, is not lost.
    stronger = max((12, 13), key=lambda k: world.theta[k])
    assert placed[f"model-{stronger}"].rank < placed[f"model-{25 - stronger}"].rank


def test_the_estimate_is_line_8_of_algorithm_1(anchors: Anchors, new: pl.DataFrame) -> None:
    assert anchors.beta is not None
    strength = {row.model: row.theta for row in anchors.models}
    mine = new.filter((pl.col("model_a") == "model-12") | (pl.col("model_b") == "model-12"))
    won, rivals = 0.0, []
    for row in mine.iter_rows(named=True):
        p = 1 / (1 + np.exp(-anchors.beta * (row["score_a"] - row["score_b"])))
        first = row["model_a"] == "model-12"
        won += p if first else 1 - p
        rivals.append(strength[row["model_b"] if first else row["model_a"]])
    placed = next(row for row in place(new, anchors).models if row.model == "model-12")
    assert placed.elo is not None
    theta = (placed.elo - 1500) * np.log(10) / 400
    expected = (1 / (1 + np.exp(np.array(rivals) - theta))).sum() + 2 * 0.01 * theta
    assert won == pytest.approx(expected, abs=1e-6)


def test_through_a_file(anchors: Anchors, new: pl.DataFrame, tmp_path: Path) -> None:
    path = write_result(anchors, tmp_path / "anchors.json")
    again = read_anchors(path)
    assert again == anchors
    assert place(new, path, seed=3) == place(new, anchors, seed=3)


@pytest.mark.parametrize("method", ["hard-elo", "smoothed", "soft-elo"])
def test_every_method_can_be_deployed(method: str, old: pl.DataFrame, new: pl.DataFrame) -> None:
    board = place(new, make_anchors(old, method=method))
    assert board.method == method
    assert any(row.origin == "new" and row.ends != (None, None) for row in board.models)


def test_battles_that_cannot_place_anybody_are_counted(
    anchors: Anchors, old: pl.DataFrame, new: pl.DataFrame
) -> None:
    strangers = new.head(3).with_columns(model_a=pl.lit("new-x"), model_b=pl.lit("new-y"))
    blank = new.head(2).with_columns(score_a=pl.lit(None, pl.Float64))
    mixed = pl.concat([new, old.head(5).drop("human_pref"), strangers, blank]).drop("id")
    board = place(mixed, anchors)
    assert board.dropped == {
        "both models are anchors": 5,
        "neither model is an anchor": 3,
        "no judge score": 2,
    }
    with pytest.raises(DataError, match="no judged battle"):
        place(strangers, anchors)


def test_another_judge_is_refused(anchors: Anchors, new: pl.DataFrame) -> None:
    with pytest.raises(PolicyMismatchError, match="other") as caught:
        place(new.with_columns(judge=pl.lit("other")), anchors)
    assert caught.value.differs == ("judge",)
    silent = place(new.drop("judge"), anchors)
    assert any("do not name their judge" in text for text in silent.warnings)
    verdicts = new.drop("score_a", "score_b").with_columns(verdict=pl.lit("A"))
    with pytest.raises(PolicyMismatchError, match="score_a - score_b"):
        place(verdicts, anchors)


def test_a_changed_score_scale_is_remarked(anchors: Anchors, new: pl.DataFrame) -> None:
    louder = new.with_columns(
        score_a=pl.col("score_b") + 4 * (pl.col("score_a") - pl.col("score_b"))
    )
    assert any("differ from the anchors'" in text for text in place(louder, anchors).warnings)
    assert not any("unlike" in text for text in place(new, anchors).warnings)


def repeated(new: pl.DataFrame, model: str, times: int) -> pl.DataFrame:
    """The model's own battles, `times` over."""
    own = new.filter((pl.col("model_a") == model) | (pl.col("model_b") == model))
    return pl.concat([own] * times).drop("id")


def test_more_battles_than_the_anchors_had_do_not_narrow_the_interval(
    anchors: Anchors, new: pl.DataFrame
) -> None:
    def placed(battles: pl.DataFrame) -> tuple[ModelRow, tuple[str, ...]]:
        board = place(battles, anchors, seed=1)
        return next(row for row in board.models if row.origin == "new"), board.warnings

    usual, quiet = placed(repeated(new, "model-12", 1))
    many, warned = placed(repeated(new, "model-12", 50))
    assert usual.se is not None
    assert many.se is not None
    typical = np.median([row.n_battles for row in anchors.models])
    assert usual.n_battles <= 1.5 * typical
    assert many.se == pytest.approx(
        usual.se * np.sqrt(min(1.0, usual.n_battles / typical)), rel=0.25
    )
    assert not any("its interval is as wide" in text for text in quiet)
    assert any("its interval is as wide" in text for text in warned)


def test_a_clean_sweep_has_no_interval(old: pl.DataFrame, new: pl.DataFrame) -> None:
    first = pl.col("model_a") == "model-12"
    swept = repeated(new, "model-12", 1).with_columns(
        score_a=pl.when(first).then(9.0).otherwise(1.0),
        score_b=pl.when(first).then(1.0).otherwise(9.0),
    )
    board = place(swept, make_anchors(old, method="hard-elo"))
    row = next(row for row in board.models if row.origin == "new")
    assert (row.interval, row.unbounded) == (Interval(None, None, 0.9), True)
    assert any("won all" in text and "stronger models" in text for text in board.warnings)
    # Soft targets are never 1: an Elo beyond every anchor is finite, and remarked on.
    soft = place(swept, make_anchors(old))
    assert any("above every anchor" in text for text in soft.warnings)


def test_few_battles_do_not_look_like_another_judge(anchors: Anchors, new: pl.DataFrame) -> None:
    draw = np.random.default_rng(0)
    own = repeated(new, "model-12", 1)
    alarms = 0
    for _ in range(40):
        few = own[draw.choice(own.height, 30, replace=False).tolist()]
        alarms += any("unlike" in text for text in place(few, anchors, replicates=2).warnings)
    # Chance alone crossed a bound without room for it in a third of such samples.
    assert alarms <= 5


def test_too_few_anchors_give_no_bound() -> None:
    world = simulate_battles(models=8, battles=3000, new_models=1, seed=1)
    board = place(
        world.frame.filter(pl.col("human_pref").is_null()),
        make_anchors(world.frame.filter(pl.col("human_pref").is_not_null())),
    )
    row = next(row for row in board.models if row.origin == "new")
    assert (row.interval, row.unbounded) == (Interval(None, None, 0.9), True)
    assert row.elo is not None
    assert any(
        "7 anchors with a residual, 9 needed at alpha = 0.1; 7 allow alpha from 0.125" in text
        for text in board.warnings
    )
    json.loads(board.to_json())


@pytest.mark.parametrize("broken", [{"method": "soft-elo"}, {"models": [{"model": "x"}]}])
def test_broken_files_are_refused(broken: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "anchors.json"
    path.write_text(json.dumps({"kind": "anchors", **broken}))
    with pytest.raises(DataError, match=r"anchors\.json"):
        read_anchors(path)


def test_anchors_on_two_scales_are_refused(old: pl.DataFrame) -> None:
    apart = old.with_columns(model_a=pl.col("model_a") + "-x", model_b=pl.col("model_b") + "-x")
    with pytest.raises(DataError, match="never met"):
        make_anchors(pl.concat([old, apart]))


def test_battles_without_a_score_leave_the_scores_of_the_others(old: pl.DataFrame) -> None:
    # hard-elo goes by verdicts: a battle may have one and no score.
    first = pl.col("score_a") > pl.col("score_b")
    judged = old.with_columns(
        pl.when(first).then(pl.lit("A")).otherwise(pl.lit("B")).alias("verdict"),
        pl.when(pl.int_range(pl.len()) % 5 > 0).then("score_a"),
    )
    kept = make_anchors(judged, method="hard-elo", replicates=10)
    assert np.isfinite(kept.score_quantiles).all()
    assert kept.dropped == {}
    soft = make_anchors(judged, method="soft-elo", replicates=10)
    assert soft.dropped == {"no judge score": old.height - soft.n_battles}
    assert soft.n_battles < old.height


@pytest.mark.parametrize(("method", "field"), [("soft-elo", "beta"), ("smoothed", "smoothing")])
def test_anchors_without_their_own_constant_are_refused(
    old: pl.DataFrame, method: str, field: str
) -> None:
    # Without it placing would quietly take hard verdicts, on another scale than the anchors'.
    saved = make_anchors(old, method=method, replicates=10)
    with pytest.raises(DataError, match="not a complete anchors file"):
        read_anchors(replace(saved, **{field: None}))


@pytest.mark.parametrize("replicates", [0, 1])
def test_anchors_need_a_standard_error_to_place_by(old: pl.DataFrame, replicates: int) -> None:
    with pytest.raises(ArgumentError, match="replicates"):
        make_anchors(old, replicates=replicates)


def test_placing_says_that_probabilities_were_clipped(old: pl.DataFrame, new: pl.DataFrame) -> None:
    def with_odds(frame: pl.DataFrame) -> pl.DataFrame:
        gap = pl.col("score_a") - pl.col("score_b")
        return frame.with_columns(p_a=1 / (1 + (-gap).exp())).drop("score_a", "score_b")

    kept = make_anchors(with_odds(old), replicates=10)
    certain = pl.when(pl.int_range(pl.len()) == 0).then(1.0).otherwise("p_a").alias("p_a")
    board = place(with_odds(new).with_columns(certain), kept)
    clipped = "1 probability closer than 1e-6 to 0 or 1, clipped to that distance"
    assert clipped in board.warnings
