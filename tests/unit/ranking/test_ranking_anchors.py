"""The deployment path: keep anchors, place a model nobody voted on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from adjudge.cli.app import run
from adjudge.data import prepare_battles, write_result
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.ranking import check_anchors, make_anchors, place, rank, read_anchors
from adjudge.ranking.anchors import Anchors
from adjudge.ranking.leaderboard import ModelRow
from adjudge.ranking.placing import _strength_quantile
from adjudge.records import Interval
from adjudge.simulate.battles import SimulatedBattles, simulate_battles
from adjudge.validation import FloatArray, exact_level


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


def with_lengths(frame: pl.DataFrame, *, longer: str | None = None) -> pl.DataFrame:
    """The battles with lengths; one model can write ten times as much."""
    draw = np.random.default_rng(0)
    return frame.with_columns(
        (
            pl.Series(draw.poisson(300, frame.height))
            * pl.when(pl.col(f"model_{side}") == (longer or "")).then(10).otherwise(1)
        ).alias(f"length_{side}")
        for side in "ab"
    )


def test_a_new_model_that_writes_more_than_every_anchor_is_named() -> None:
    world = simulate_battles(models=13, battles=1500, new_models=1, seed=2)
    new = world.names[-1]
    voted = pl.col("human_pref").is_not_null()
    frame = with_lengths(world.frame, longer=new)
    plain = make_anchors(frame.filter(voted))
    assert plain.lengths is not None
    low, high = plain.lengths
    assert -0.05 < low < 0 < high < 0.05
    assert "answers longer than their rivals'" in str(plain)

    def warnings(rows: pl.DataFrame, anchors: Anchors) -> list[str]:
        placed = place(rows.filter(~voted), anchors)
        return [line for line in placed.warnings if "answers than every anchor" in line]

    [line] = warnings(frame, plain)
    assert line.startswith(f"{new} writes longer answers than every anchor (")
    assert line.endswith("its interval can miss; anchors make --control length")
    assert "times as long as its rivals, anchors" in line
    even = place(with_lengths(world.frame).filter(~voted), replace(plain, lengths=(-1.0, 1.0)))
    assert not any("every anchor" in line for line in even.warnings)
    # Without lengths in either file nothing is compared.
    assert warnings(world.frame, plain) == []
    assert make_anchors(world.frame.filter(voted)).lengths is None
    styled = make_anchors(frame.filter(voted), control=["length"])
    assert (styled.control, len(styled.gamma)) == (("length",), 1)
    [line] = warnings(frame, styled)
    assert line.endswith("assumes that length counts there as it does among the anchors")
    assert "gamma of length" in str(styled)


def test_style_in_the_target_takes_out_what_the_judge_adds() -> None:
    world = simulate_battles(models=13, battles=6000, seed=2)
    draw = np.random.default_rng(0)
    x = draw.uniform(-0.8, 0.8, world.frame.height)
    liked = world.frame.with_columns(
        score_a=pl.col("score_a") + 2 * pl.Series(x),
        length_a=pl.Series((1 + x) * 100), length_b=pl.Series((1 - x) * 100),
    )  # fmt: skip
    anchors = make_anchors(liked, control=["length"])
    assert anchors.beta is not None
    # sigma(beta (s + 2x) + gamma x) is that of s alone with gamma = -2 beta.
    assert anchors.gamma[0] == pytest.approx(-2 * anchors.beta, rel=0.1)
    assert anchors.beta == pytest.approx(make_anchors(world.frame).beta, rel=0.05)
    with pytest.raises(
        ArgumentError, match="control = 'length': leave it out, or use --method soft"
    ):
        make_anchors(liked, control=["length"], method="hard-elo")
    prepared = prepare_battles(liked.drop("human_pref"))
    with pytest.raises(ArgumentError, match="prepare the battles with control"):
        place(prepared, anchors)


def test_the_quantile_of_anchors_about_as_strong(
    world: SimulatedBattles, old: pl.DataFrame
) -> None:
    anchors = make_anchors(old)
    new = world.frame.filter(pl.col("human_pref").is_null())
    # With twelve anchors there is one group: the pooled quantile.
    one_group = place(new, anchors, quantile="strength")
    assert one_group.models == place(new, anchors).models
    assert "those of the anchors about as strong by the judge" in one_group.assumptions[0]
    # At 70 % three anchors are enough for a group; the best quarter of them are off by far.
    order = sorted(anchors.models, key=lambda row: row.theta)
    strong = {row.model for row in order[-3:]}
    rows = tuple(
        replace(row, residual=300.0 if row.model in strong else 1.0, se=10.0)
        for row in anchors.models
    )
    far = replace(anchors, models=rows)
    level = exact_level(0.3)
    weakest, strongest = (_strength_quantile(elo, far, level) for elo in (0.0, 3000.0))
    assert (weakest, strongest) == (pytest.approx(0.1), pytest.approx(30.0))
    [row, *_] = [row for row in place(new, far, alpha=0.3, quantile="strength").models
                 if row.origin == "new"]  # fmt: skip
    low, high = row.ends
    assert low is not None
    assert high is not None
    assert row.se is not None
    assert row.elo is not None
    expected = _strength_quantile(row.elo, far, level)
    assert expected is not None
    assert (high - low) / 2 == pytest.approx(expected * row.se)
    few = replace(far, models=far.models[:2])
    assert _strength_quantile(1500.0, few, level) is None
    with pytest.raises(ArgumentError, match="quantile = 'banana': choose one of pooled, family, s"):
        place(new, anchors, quantile="banana")


def test_votes_on_new_battles_test_the_anchors_temperature() -> None:
    world = simulate_battles(models=12, battles=3000, seed=4).frame
    anchors = make_anchors(world)
    assert anchors.made
    assert anchors.beta is not None

    def stale(rows: pl.DataFrame, by: Anchors = anchors) -> list[str]:
        renamed = pl.col("model_a").replace({"model-00": "newcomer"})
        return [line for line in place(rows.with_columns(model_a=renamed), by).warnings
                if "do not follow" in line]  # fmt: skip

    same = [stale(simulate_battles(models=12, battles=600, seed=seed).frame) for seed in range(20)]
    # At the 1 % level two of twenty would be chance once in sixty times.
    assert sum(map(len, same)) <= 1
    assert stale(world.drop("human_pref")) == []
    assert stale(world.head(60)) == []
    draw = np.random.default_rng(0)
    noise = pl.Series(draw.permutation(world["human_pref"].to_numpy()))
    half = pl.when(pl.Series(draw.random(world.height) < 0.6)).then(noise).otherwise("human_pref")
    [line] = stale(world.with_columns(human_pref=half))
    assert f"was {anchors.beta:.2f}); they were made on {anchors.made}" in line
    assert line.endswith(": make the anchors again with new votes")
    assert stale(world.with_columns(human_pref=half), replace(anchors, made=""))[0].endswith(
        f"was {anchors.beta:.2f}): make the anchors again with new votes"
    )


def test_new_votes_check_the_anchors() -> None:
    """Votes of the same world, few votes, none, and votes that are chance; with style, too."""
    world = simulate_battles(models=12, battles=3000, seed=4).frame
    draw = np.random.default_rng(3)
    world = world.with_columns(
        length_a=pl.Series(draw.integers(50, 500, world.height)),
        length_b=pl.Series(draw.integers(50, 500, world.height)),
    )
    old = world.head(2000)
    new = world.tail(1000)
    noise = new.with_columns(human_pref=pl.Series(draw.permutation(new["human_pref"].to_numpy())))
    for anchors in (make_anchors(old), make_anchors(old, control=["length"])):
        held = check_anchors(new, anchors)
        assert held.changed == ()
        assert held.p_value is not None
        assert held.p_value > 0.01
        # The error of beta is that of a fit of these votes.
        assert held.beta_se is not None
        assert abs((held.beta or 0) - (anchors.beta or 0)) < 3 * held.beta_se
        moved = check_anchors(noise, anchors)
        assert moved.p_value is not None
        assert moved.p_value < 0.01
        assert "do not follow the anchors' temperature" in moved.changed[0]
    few = check_anchors(new.head(80), anchors)
    assert few.p_value is None
    assert "100 are needed" in few.reason
    with pytest.raises(ArgumentError, match="no human votes"):
        check_anchors(new.drop("human_pref"), anchors)
    scaled = new.with_columns(pl.col("score_a", "score_b") * 10)
    assert "score differences here differ" in check_anchors(scaled, make_anchors(old)).changed[0]


def _world(theta: FloatArray, likes: FloatArray, battles: int, seed: int) -> pl.DataFrame:
    """Battles whose votes follow theta, and scores that follow theta and what the judge likes."""
    draw = np.random.default_rng(seed)
    models = len(theta)
    a = draw.integers(0, models, battles)
    b = (a + draw.integers(1, models, battles)) % models
    quality = 1.5 * (theta[a] - theta[b]) + draw.normal(0, 1.5, battles)
    score = quality + likes[a] - likes[b]
    names = np.array([f"m{k:02}" for k in range(models)])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "human_pref": np.where(draw.random(battles) < expit(0.6 * quality), "A", "B"),
            "score_a": 6 + score / 2,
            "score_b": 6 - score / 2,
        }
    )


def test_an_anchor_that_moved_is_named() -> None:
    """A model that got worse: the judge sees it too, or only people do; the temperature holds."""
    draw = np.random.default_rng(2)
    theta = draw.normal(0, 0.8, 12)
    likes = draw.normal(0, 0.3, 12)
    anchors = make_anchors(_world(theta, likes, 3000, 1), seed=1)
    same = check_anchors(_world(theta, likes, 2000, 2), anchors)
    assert same.changed == ()
    worse = theta - np.eye(12)[5]
    followed = check_anchors(_world(worse, likes, 2000, 3), anchors)
    assert followed.p_value is not None
    assert followed.p_value > 0.01
    by_judge, by_votes = followed.changed
    assert re.match(
        r"battles between anchors place m05 \(1\d+, was 1\d+\) elsewhere by the judge", by_judge
    )
    assert re.match(
        r"battles between anchors place m05 \(1\d+, was 1\d+\) elsewhere by the votes", by_votes
    )
    # The judge still likes it as much as before.
    kept = likes + 1.5 * np.eye(12)[5]
    [only_votes] = check_anchors(_world(worse, kept, 2000, 4), anchors).changed
    assert "m05" in only_votes
    assert "by the votes" in only_votes
    # Placing new models says so too: its battles between anchors are not used.
    new = _world(worse, likes, 2000, 5).drop("human_pref")
    mine = pl.col("model_a", "model_b").replace("m00", "newcomer")
    board = place(pl.concat([new, new.head(500).with_columns(mine)]), anchors)
    assert any("m05" in line and "by the judge" in line for line in board.warnings)


def test_names_in_another_case_are_pointed_at() -> None:
    """Ranked as two models, or placed as a new one beside its own anchor: never without a word."""
    world = simulate_battles(models=12, battles=2000, seed=4).frame
    name = world["model_a"][0]
    upper = pl.col("model_a", "model_b").replace(name, name.upper())
    line = f"{name.upper()!r} and {name!r} are 2 models here"
    mixed = pl.concat([world.head(1000), world.tail(1000).with_columns(upper)])
    assert any(text.startswith(line) for text in rank(mixed).warnings)
    anchors = make_anchors(world)
    assert anchors.warnings == ()
    board = place(world.drop("human_pref").with_columns(upper), anchors)
    assert [row.model for row in board.models if row.origin == "new"] == [name.upper()]
    assert any(
        f"{name!r} and {name.upper()!r} are 2 models here" in line for line in board.warnings
    )


def test_anchors_check_ends_with_its_finding(capsys: pytest.CaptureFixture[str]) -> None:
    world = simulate_battles(models=12, battles=2000, seed=4).frame
    world.write_csv("old.csv")
    world.head(60).write_csv("few.csv")
    draw = np.random.default_rng(3)
    noise = pl.Series(draw.permutation(world["human_pref"].to_numpy()))
    world.with_columns(human_pref=noise).write_csv("noise.csv")
    assert run(["anchors", "make", "old.csv", "--replicates", "5", "-o", "anchors.json"]) == 0
    codes = {"old.csv": 0, "noise.csv": 2, "few.csv": 3}
    for file, code in codes.items():
        capsys.readouterr()
        assert run(["anchors", "check", file, "--anchors", "anchors.json"]) == code
        lines = capsys.readouterr().out.splitlines()
    step = "next: adjudge anchors place NEW_BATTLES --anchors anchors.json"
    assert lines[-1] == f"{step} (NEW_BATTLES: battles of the new models)"
