"""A board as one table to publish, and as many models as are asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from shown_ranking import BOARD, MODELS

from adjudge.cli import run
from adjudge.errors import ArgumentError
from adjudge.ranking import rank, write_table
from adjudge.ranking.leaderboard_view import leaderboard_figure
from adjudge.simulate.battles import simulate_battles


def test_the_table_in_markdown(tmp_path: Path) -> None:
    board = replace(BOARD, models=(MODELS[1], MODELS[0], *MODELS[2:]))
    lines = write_table(board, tmp_path / "board.md").read_text(encoding="utf-8").splitlines()
    assert lines[:6] == [
        "| place | model | Elo | 95 % interval | rank range | battles |",
        "|---|---|---|---|---|---|",
        # ash and birch share a place: no model is shown to be better than either.
        "| 1 | ash | 1641 | \\[1611, 1674\\] | 1 to 3 | 101 |",
        "|  | birch | 1588 | \\[1552, 1623\\] | 1 to 2 | 102 |",
        "| 3 | cedar | 1449 | \\[1409, 1488\\] | 3 | 103 |",
        # dogwood lost everything: the penalty alone gives it an Elo.
        "| 4 | dogwood | at most 1377 | (-∞, 1377\\] | 4 | 104 |",
    ]
    assert lines[-1] == "- Models of one place: as many models are shown to be better than each."
    short = write_table(replace(board, top=3), tmp_path / "top.md").read_text(encoding="utf-8")
    assert "cedar" in short
    assert "dogwood" not in short
    assert short.endswith("- 1 more model not listed.\n")


def test_a_published_table_asks_nothing_of_its_readers(tmp_path: Path) -> None:
    frame = simulate_battles(models=5, battles=400, seed=1).frame
    board = rank(frame.select("model_a", "model_b", winner="human_pref"))
    assert "people's votes in winner (a judge's? --verdict winner)" in str(board)
    published = write_table(board, tmp_path / "board.md").read_text(encoding="utf-8")
    assert "people's votes in winner; " in published
    assert "--verdict" not in published


def test_a_published_table_has_the_groups_and_the_places_moved(tmp_path: Path) -> None:
    pairs = [("x", "y"), ("y", "z"), ("x", "z"), ("p", "q\nr")] * 30
    rows = pl.DataFrame(
        {
            "model_a": [a for a, _ in pairs],
            "model_b": [b for _, b in pairs],
            "human_pref": [1, 0, 1, 1, 0, 1, 0] * 17 + [1],
            "tone": [1.0, -0.5, 0.1, 2.0, -1.1] * 24,
        }
    )
    board = rank(rows, control=["tone"], widest=1000)
    lines = write_table(board, tmp_path / "board.md").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("| group | place | model | Elo |")
    assert lines[0].endswith("| plain Elo | moved | votes |")
    assert [line[:5] for line in lines[2:7]] == ["| 1 |"] * 3 + ["| 2 |"] * 2
    assert any("| q r |" in line for line in lines)


def test_the_table_as_csv(tmp_path: Path) -> None:
    table = pl.read_csv(write_table(replace(BOARD, top=2), tmp_path / "board.csv"))
    assert table.to_dicts() == [
        {"place": 1, "model": "ash", "elo": 1641.2, "low": 1611.3, "high": 1673.8,
         "rank_low": 1, "rank_high": 3, "battles": 101},
        {"place": 1, "model": "birch", "elo": 1587.6, "low": 1552.4, "high": 1622.9,
         "rank_low": 1, "rank_high": 2, "battles": 102},
    ]  # fmt: skip
    with pytest.raises(ArgumentError, match="end the name in .md or .csv"):
        write_table(BOARD, tmp_path / "board.txt")


def test_differences_to_a_model_are_published_as_differences(tmp_path: Path) -> None:
    pairs = [("best", "x"), ("x", "y"), ("y", "z"), ("z", "x"), ("best", "z")] * 12
    rows = {
        "model_a": [a for a, _ in pairs],
        "model_b": [b for _, b in pairs],
        "winner": ["model_a"] * 40 + ["model_a", "model_b", "tie", "model_b", "model_a"] * 4,
    }
    board = rank(rows, interval="bootstrap", replicates=20)
    assert board.references
    reference = board.references[0]
    text = write_table(board, tmp_path / "board.md").read_text(encoding="utf-8")
    assert f"| 95 % interval of Elo minus {reference} |" in text.splitlines()[0]
    first = pl.read_csv(write_table(board, tmp_path / "board.csv")).row(0, named=True)
    assert first["reference"] == reference
    assert first["difference_high"] is None
    assert "low" not in first


def test_top_limits_what_is_shown_and_not_the_result(tmp_path: Path) -> None:
    frame = simulate_battles(models=9, battles=1500, seed=1).frame
    board = rank(frame, method="bt", top=4)
    every = rank(frame, method="bt")
    assert board.models == every.models
    assert "the first 4 of 9 models" in str(board)
    assert every.models[5].model not in str(board)
    heights = [
        leaderboard_figure(shown).get_size_inches()[1]
        for shown in (board, rank(frame, method="bt", top=5))
    ]
    # Each model adds the same height.
    assert heights[1] - heights[0] == pytest.approx(0.26)
    with pytest.raises(ArgumentError, match="top"):
        rank(frame, top=0)


def test_the_command_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    battles = tmp_path / "battles.csv"
    simulate_battles(models=5, battles=400, seed=1).frame.write_csv(battles)
    target = tmp_path / "board.md"
    assert run(["rank", str(battles), "--table", str(target)]) == 0
    assert f"wrote {target}" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8").startswith("| place | model | Elo")
    assert run(["rank", str(battles), "--table", str(tmp_path / "board.html")]) == 1
    assert "end the name in .md or .csv" in capsys.readouterr().err
