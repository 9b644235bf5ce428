"""`adjudge rank`, `adjudge plan battles` and `adjudge reproduce soft-elo`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.simulate.battles import simulate_battles


@pytest.fixture
def battles(tmp_path: Path) -> Path:
    path = tmp_path / "battles.csv"
    simulate_battles(models=12, battles=1500, seed=3).frame.write_csv(path)
    return path


def test_a_board_for_people(battles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rank", str(battles), "--replicates", "50"]) == 0
    shown = capsys.readouterr()
    assert "by soft-elo, from the judge's scores" in shown.out
    assert "beta 0." not in shown.out
    # The table, and headline, advice, assumption and next step.
    around = [line for line in shown.out.splitlines() if line.strip() and not line.startswith(" ")]
    assert len(around) == 4
    assert run(["rank", str(battles), "--replicates", "50", "--explain"]) == 0
    assert "beta 0." in capsys.readouterr().out
    assert "model-11" in shown.out


def test_json_is_one_object_with_the_issues_names(
    battles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--evaluate", "--alpha", "0.2", "--json", "--replicates", "20"]
    assert run(["rank", str(battles), *options]) == 0
    board = json.loads(capsys.readouterr().out)
    assert board["kind"] == "leaderboard"
    assert {"method", "n_models", "mae", "spearman", "kendall", "mean_beta"} <= board["loo"][
        0
    ].keys()
    assert {"method", "alpha", "coverage", "median_width", "quantile"} <= board["conformal"][
        0
    ].keys()
    assert board["conformal"][0]["n_calibration"] == 6


def test_files_and_figures(battles: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "board.json", tmp_path / "board.svg"
    options = ["--method", "bt", "--interval", "sandwich", "-o", str(out), "--plot", str(picture)]
    assert run(["rank", str(battles), *options]) == 0
    assert json.loads(out.read_text())["method"] == "bt"
    assert picture.read_text().startswith("<?xml")


def test_the_evaluation_is_drawn_when_there_is_one(battles: Path, tmp_path: Path) -> None:
    picture = tmp_path / "figure.png"
    options = ["--evaluate", "--interval", "none", "--alpha", "0.2", "--plot", str(picture)]
    assert run(["rank", str(battles), *options]) == 0
    assert picture.stat().st_size > 50_000


def test_save_and_use_anchors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = simulate_battles(models=15, battles=4000, new_models=1, seed=1).frame
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    world.filter(pl.col("human_pref").is_not_null()).write_ndjson(old)
    world.filter(pl.col("human_pref").is_null()).drop("human_pref").write_ndjson(new)
    anchors = tmp_path / "anchors.json"
    assert run(["anchors", "make", str(old), "-o", str(anchors)]) == 0
    assert "soft-elo: 14 anchors" in capsys.readouterr().out
    place = ["anchors", "place", str(new), "--anchors", str(anchors)]
    assert run([*place, "--json"]) == 0
    board = json.loads(capsys.readouterr().out)
    placed = [row for row in board["models"] if row["origin"] == "new"]
    assert [row["model"] for row in placed] == ["model-14"]
    ends = placed[0]["interval"]
    assert ends["low"] < placed[0]["elo"] < ends["high"]
    # The table answers first: the new model, wherever it stands, then its neighbours.
    assert run(place) == 0
    shown = capsys.readouterr().out
    table = shown[shown.index("new model") :]
    assert table.index("model-14") < table.index("Among people's Elo")
    assert "of 15" in table
    assert "- new models" not in table
    assert table.count("(--explain: more)\n") == 1
    assert run([*place, "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "- new models" in shown
    assert "--explain" not in shown
    # What the anchors fix is no option here.
    for option in ("--l2", "--confidence-level", "--evaluate", "--cluster", "--human", "--jury"):
        assert run([*place, option]) == 1
        assert f"No such option '{option}'" in capsys.readouterr().err
    assert run([*place[:-1], str(tmp_path / "nowhere.json")]) == 1
    assert "nowhere.json" in capsys.readouterr().err
    # At 99 % fourteen anchors are too few: the finding is bad.
    assert run([*place, "--alpha", "0.01", "--explain"]) == 2
    assert "99 needed" in capsys.readouterr().out


def test_a_named_verdict_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,human_pref,gpt4_pref\nx,y,A,B\ny,z,tie,A\nz,x,,B\nx,y,B,tie\n")
    options = ["--verdict", "gpt4_pref", "--method", "bt", "--interval", "none", "--json"]
    assert run(["rank", str(path), *options]) == 0
    board = json.loads(capsys.readouterr().out)
    assert (board["outcome"], board["n_battles"]) == ("gpt4_pref", 4)
    assert run(["rank", str(path), "--interval", "none", "--json"]) == 0
    people = json.loads(capsys.readouterr().out)
    assert (people["outcome"], people["dropped"]) == ("votes", {"no outcome": 1})


def test_scores_against_people_leave_with_two(
    battles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turned = pl.read_csv(battles).rename({"score_a": "score_b", "score_b": "score_a"})
    turned.write_csv(battles)
    assert run(["rank", str(battles)]) == 2
    assert "No leaderboard by soft-elo" in capsys.readouterr().out


def test_thresholds_for_ci(battles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["rank", str(battles), "--evaluate", "--interval", "none", "--fail-above"]
    assert run([*base, "500"]) == 0
    assert run([*base, "1"]) == 2
    assert "held-out error of soft-elo is shown to be above 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "best"], "method = 'best'"),
        (["--fail-above", "3"], "add --evaluate"),
        (["--verdict", "nobody"], "nobody"),
        (["--anchors", "nowhere.json"], "No such option '--anchors'"),
        (["--evaluate", "--plot", "x.png", "--figure", "pie"], "figure = 'pie': choose one of"),
        (["--plot", "x.png", "--figure", "budgets"], "choose one of leaderboard, reliability"),
    ],
)
def test_what_cannot_run_says_why(
    options: list[str], said: str, battles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rank", str(battles), "--interval", "none", *options]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert said in lines[-1]


def test_plan_battles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool, rows = tmp_path / "pool.csv", tmp_path / "next.csv"
    simulate_battles(models=6, battles=400, seed=0).frame.select(
        "id", "model_a", "model_b"
    ).write_csv(pool)
    options = ["--budget", "30", "--write-rows", str(rows), "--json"]
    assert run(["plan", "battles", str(pool), *options]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["chosen"] == 30
    assert plan["most"] - plan["least"] <= 2
    assert pl.read_csv(rows).height == 30


def test_a_format_by_name(battles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rank", str(battles), "--interval", "none", "--format", "battles", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_battles"] == 1500
    assert run(["rank", str(battles), "--format", "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err
