"""Columns that a Parquet or JSON file may hold and a CSV may not: one line, no loss."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import read_table, write_rows
from adjudge.errors import DataError

ROWS = 40
BATTLES = {
    "id": [f"i{n}" for n in range(ROWS)],
    "model_a": ["x", "y"] * (ROWS // 2),
    "model_b": ["y", "z"] * (ROWS // 2),
    "winner": ["model_a", "model_b", "model_b", "model_a"] * (ROWS // 4),
}
JUDGED = {
    "id": BATTLES["id"],
    "p_fwd": [0.9, 0.2] * (ROWS // 2),
    "p_rev": [0.8, 0.3] * (ROWS // 2),
    "label": ["A", "B"] * (ROWS // 2),
}
BINARY = {"id": BATTLES["id"], "judge": [0, 1] * (ROWS // 2), "human": [0, 1, None, None] * 10}


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        (JUDGED, ["calibrate", "--by", "odd"]),
        (JUDGED, ["calibrate", "--cluster", "odd"]),
        (JUDGED, ["calibrate", "--guarantee", "fdr", "--weights", "odd"]),
        (JUDGED, ["evaluate", "--cluster", "odd", "--splits", "2"]),
        (JUDGED, ["diagnose", "bias", "--by", "odd"]),
        (JUDGED, ["diagnose", "bias", "--cluster", "odd"]),
        (BATTLES, ["rank", "--by", "odd"]),
        (BATTLES, ["rank", "--cluster", "odd"]),
        (BATTLES, ["rank", "--verdict", "odd"]),
        (BATTLES, ["rank", "--against", "odd"]),
    ],
)
@pytest.mark.parametrize("odd", [[1], {"a": 1}], ids=["list", "object"])
def test_lists_and_objects_name_no_group(
    table: dict[str, list[object]],
    arguments: list[str],
    odd: object,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "rows.jsonl"
    pl.DataFrame({**table, "odd": [odd] * ROWS}, strict=False).write_ndjson(path)
    cut = 2 if arguments[0] == "diagnose" else 1
    assert run([*arguments[:cut], str(path), *arguments[cut:]]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "column = 'odd': it contains lists or objects" in told.err
    assert told.err.count("\n") == 1


def test_lists_are_no_ids_and_no_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_rows(pl.DataFrame(BINARY), tmp_path / "rows.csv")
    for name, ours in (("id", "id"), ("human", "label")):
        labels = tmp_path / f"{name}.jsonl"
        pl.DataFrame({**BINARY, name: [[1]] * ROWS}).write_ndjson(labels)
        assert run(["estimate", str(rows), "--labels", str(labels)]) == 1
        assert f"column {ours}: contains a list" in capsys.readouterr().err


def test_kinds_that_only_parquet_has_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(
        {
            "bytes": [b"\xff", None],
            "utf8": [b"x", None],
            "span": [datetime.timedelta(days=1), None],
            "kind": pl.Series(["u", None], dtype=pl.Categorical),
        }
    ).write_parquet(path)
    assert read_table(path).rows() == [("ff", "x", "P1D", "u"), (None,) * 4]


def test_bytes_inside_objects_need_a_parquet_file(tmp_path: Path) -> None:
    rows = pl.DataFrame({"id": ["x"], "picture": [{"bytes": b"\xff"}]})
    for name in ("rows.csv", "rows.jsonl"):
        with pytest.raises(
            DataError, match=r"column picture: cannot hold bytes; write a \.parquet"
        ):
            write_rows(rows, tmp_path / name)
    assert read_table(write_rows(rows, tmp_path / "rows.parquet")).equals(rows)


def test_dates_and_gaps_beside_the_pairs_do_not_stop_the_rows(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.parquet"
    pl.DataFrame(
        {
            "id": ["x", "y"],
            "prompt": ["p", "q"],
            "response_a": ["a", "a"],
            "response_b": ["b", "b"],
            "asked": [datetime.date(2024, 5, 1)] * 2,
            "score": [float("nan"), 0.5],
        }
    ).write_parquet(pairs)
    out = tmp_path / "rows.jsonl"
    asked = ["judge", str(pairs), "--judge", "simulated:", "--store", str(tmp_path / "s.db")]
    assert run([*asked, "-o", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["asked"] for row in rows] == ["2024-05-01"] * 2
    assert [row["score"] for row in rows] == [None, 0.5]


def test_old_replies_in_a_csv_count_their_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("id,prompt,response_a,response_b\nx,p,a,b\n")
    old = tmp_path / "old.csv"
    asked = ["judge", str(pairs), "--judge", f"replay:{old}", "--store", str(tmp_path / "s.db")]
    old.write_text("id,p_fwd,p_rev,prompt_tokens\nx,0.9,0.8,12\n")
    assert run([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt_tokens"] == 24
    for column, value in (("prompt_tokens", "many"), ("logprobs", "none")):
        old.write_text(f"id,p_fwd,p_rev,{column}\nx,0.9,0.8,{value}\n")
        assert run([*asked, "--json"]) == 1
        told = capsys.readouterr().err
        assert f"old.csv, row 1, column {column}: is not" in told
        assert "Traceback" not in told
