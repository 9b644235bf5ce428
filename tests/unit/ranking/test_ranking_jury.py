"""Several judges as one: gathered, calibrated, left out in turn without a look at the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import prepare_battles
from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking import fit_temperature, make_anchors, rank
from adjudge.ranking.evaluation import hold_out_each
from adjudge.ranking.targets import calibrate_jury, jury_rule
from adjudge.simulate.battles import simulate_battles


def scored_by(frame: pl.DataFrame, judge: str, scale: float, noise: float, seed: int):
    """The same battles as another judge scores them, on a scale of its own."""
    rng = np.random.default_rng(seed)
    s = (frame["score_a"] - frame["score_b"]).to_numpy()
    s = scale * (s + rng.normal(0, noise, len(s)))
    return frame.with_columns(
        judge=pl.lit(judge), score_a=pl.Series(5 + s / 2), score_b=pl.Series(5 - s / 2)
    )


@pytest.fixture(scope="module")
def panel() -> pl.DataFrame:
    """Three judges alike in skill, with errors of their own and scales from 0.5 to 4."""
    frame = simulate_battles(models=12, battles=1500, bias=0.0, seed=5).frame
    scales = {"ash": 1.0, "birch": 4.0, "cedar": 0.5}
    parts = [scored_by(frame, name, s, 2.0, k) for k, (name, s) in enumerate(scales.items())]
    return pl.concat(parts)


@pytest.fixture(scope="module")
def jury(panel: pl.DataFrame) -> Battles:
    return prepare_battles(panel, jury=True)


def test_a_board_of_a_jury_is_about_one_criterion(panel: pl.DataFrame) -> None:
    second = pl.when(pl.int_range(pl.len()) % 2 == 1).then(pl.lit("style")).otherwise(pl.lit("all"))
    with pytest.raises(DataError, match="column criterion: has 2 criteria: all, style"):
        prepare_battles(panel.with_columns(criterion=second), jury=True)


def test_the_jurys_score_is_the_mean_of_calibrated_scores(jury: Battles) -> None:
    assert jury.judges == ("ash", "birch", "cedar")
    assert jury.panel is not None
    assert jury.human is not None
    calibrated, jurors = calibrate_jury(jury)
    betas = [fit_temperature(jury.panel[:, j], jury.human).beta for j in range(3)]
    assert [row.beta for row in jurors] == betas
    np.testing.assert_allclose(
        calibrated.score, sum(b * jury.panel[:, j] for j, b in enumerate(betas)) / 3
    )
    # Scales do not matter: eight times the points is an eighth of the beta.
    assert betas[1] * 8 == pytest.approx(betas[2], rel=0.15)


def test_a_jury_of_independent_errors_beats_its_judges(panel: pl.DataFrame) -> None:
    board = rank(panel, jury=True, evaluate=True, interval="none", seed=1)
    errors = {row.method: row.mae for row in board.loo}
    alone = [errors[f"soft-elo, {name}"] for name in ("ash", "birch", "cedar")]
    assert errors["soft-elo"] < min(alone)
    assert board.outcome == "sigma(beta s), s = jury of 3 judges"
    assert board.n_battles == 1500
    assert [row.judge for row in board.jury] == ["ash", "birch", "cedar"]
    # Averages of independent errors are surer than each: the jury's own beta is above 1.
    assert board.beta is not None
    assert board.beta > 1.2


def test_no_vote_on_a_model_reaches_its_own_fold(jury: Battles) -> None:
    assert jury.human is not None
    held = hold_out_each(jury_rule(jury), replicates=0)
    mine = (jury.a == 4) | (jury.b == 4)
    turned = replace(jury, human=np.where(mine, 1 - jury.human, jury.human))
    other = hold_out_each(jury_rule(turned), replicates=0)
    assert other.elo[4] == pytest.approx(held.elo[4], abs=1e-9)
    assert abs(other.elo[3] - held.elo[3]) > 0.01


def test_verdicts_go_by_majority() -> None:
    rows = {
        "id": ["x"] * 3 + ["y"] * 3 + ["z"] * 2,
        "judge": ["p", "q", "r"] * 2 + ["p", "q"],
        "model_a": ["m"] * 8,
        "model_b": ["n"] * 8,
        "winner": ["model_a"] * 8,
        "verdict": ["A", "A", "B", "tie", "B", "A", "A", "A"],
    }
    jury = prepare_battles(rows, jury=True)
    assert jury.verdict is not None
    assert jury.verdict.tolist() == [1.0, 0.5]
    assert jury.dropped == {"not scored by every judge of the jury": 1}


def test_what_a_jury_refuses(panel: pl.DataFrame) -> None:
    with pytest.raises(DataError, match=r"judge.*two judges"):
        rank(panel.filter(pl.col("judge") == "ash"), jury=True)
    with pytest.raises(DataError, match=r"judge.*is missing"):
        rank(panel.drop("judge"), jury=True)
    with pytest.raises(DataError, match="twice"):
        rank(pl.concat([panel, panel.head(1).with_columns(score_a=9.5)]), jury=True)
    twice = rank(pl.concat([panel, panel.head(1)]), jury=True)
    assert twice.dropped["the same row again"] == 1
    with pytest.raises(ArgumentError, match="beta = 0.5: leave it out"):
        rank(panel, jury=True, beta=0.5)
    with pytest.raises(ArgumentError, match="human votes"):
        rank(panel.drop("human_pref"), jury=True, method="soft-elo")
    with pytest.raises(DataError, match="one judge at a time"):
        make_anchors(prepare_battles(panel, jury=True))


def test_the_command(
    panel: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    panel.write_csv(tmp_path / "panel.csv")
    assert (
        run(["rank", str(tmp_path / "panel.csv"), "--jury", "--interval", "none", "--explain"]) == 0
    )
    shown = capsys.readouterr().out
    assert "The jury: the temperature of each judge" in shown
    assert "jury of 3 judges" in shown
