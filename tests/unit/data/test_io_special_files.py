"""Paths that are no plain files: one line, and nobody waits for a pipe that never speaks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.cli.output import show
from adjudge.data import read_table
from adjudge.data.columns import input_name
from adjudge.data.labels import join_labels
from adjudge.data.names import shorten
from adjudge.data.writing import read_json, row_writer, rows_frame
from adjudge.errors import ArgumentError, DataError
from adjudge.judges.prices import read_prices
from adjudge.judges.prompting import read_prompt
from adjudge.present.blocks import Table
from adjudge.ranking import plan_battles

READERS = [read_table, read_json, read_prices, read_prompt]


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_file_is_refused_unopened(read, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pipe, folder, loop = tmp_path / "pipe", tmp_path / "folder", tmp_path / "loop"
    os.mkfifo(pipe)
    folder.mkdir()
    loop.symlink_to(loop)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        for path, problem in {
            pipe: "is a pipe and can be read only once; write it into a file first",
            folder: "is a folder; name one file in it",
            loop: "check the path and its permissions",
            tmp_path / "none": "no such file; check the path",
            tmp_path / "door": "is a device, not a file; write it into a file first",
            Path("/dev/zero"): "is a device, not a file; write it into a file first",
        }.items():
            with pytest.raises(DataError) as caught:
                read(path)
            assert str(path) in str(caught.value)
            assert str(caught.value).endswith(problem)


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\n1\n")
    (tmp_path / "link").symlink_to("rows.csv")
    assert read_table(tmp_path / "link")["a"].to_list() == [1]


def test_no_verb_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pairs.jsonl")
    command = ["judge", "pairs.jsonl", "--judge", "simulated:", "-o", "out.jsonl"]
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "adjudge: pairs.jsonl: is a pipe and can be read only once; write it into a file first\n"
    )


@pytest.mark.parametrize("odd", ["\x1b[31mred", "\u202etxt.exe", "a\nb", "\x07", "[bold]x"])
def test_names_of_files_and_columns_are_printed_as_text(
    odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in ((odd, b""), (f"{odd}.csv", f'"{odd}",b\n1,2\n'.encode())):
        (tmp_path / name).write_bytes(content)
        assert run(["rank", str(tmp_path / name)]) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert not set(said) & set("\x1b\u202e\x07\r")
        assert "[bold]x" in said or "\\" in said


def test_json_for_a_terminal_escapes_what_would_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"\u202em{n},\x9bm{n + 1},model_a\n" for n in range(3)] * 3
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,winner\n" + "".join(rows))
    assert run(["rank", str(path), "--interval", "none", "--json"]) == 0
    said = capsys.readouterr().out
    assert "\\u202em0" in said
    assert "\\u009bm1" in said
    assert not set(said) & set("\u202e\x9b")


def test_a_monster_in_a_file_is_not_printed_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shorten(["x" * 100, "y"]) == "x" * 57 + "..., y"
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": "a", "p_fwd": "' + "x" * 5000 + '", "p_rev": 0.5}\n')
    (tmp_path / "pairs.csv").write_text("id,prompt,response_a,response_b\na,p,x,y\n")
    asked = ["judge", str(tmp_path / "pairs.csv"), "--judge", f"replay:{path}", "--json"]
    assert run([*asked, "--store", str(tmp_path / "s.db")]) == 1
    said = capsys.readouterr().err
    assert len(said) < 1100
    assert "replies.jsonl, row 1, column p_fwd" in said


def test_a_table_in_the_terminal_cuts_a_monster(capsys: pytest.CaptureFixture[str]) -> None:
    show(Table(columns=("group", "n"), rows=(("x" * 100_000, "1"),)))
    assert 50 < capsys.readouterr().out.count("x") < 80


def test_a_stream_of_mixed_rows_becomes_parquet(tmp_path: Path) -> None:
    odd = [True, 2, "x", None, [1], {"a": 1}, 0.5, 10**400]
    rows = [{"id": str(n), "odd": value, "p": 0.5} for n, value in enumerate(odd)]
    with row_writer(tmp_path / "rows.parquet", schema={"p": pl.Float64}) as writer:
        writer.write(rows)
    back = read_table(tmp_path / "rows.parquet")
    assert back["p"].to_list() == [0.5] * len(odd)
    assert back["odd"].to_list() == ["true", "2", "x", None, "[1]", '{"a": 1}', "0.5", str(10**400)]
    assert rows_frame(rows, schema={})["odd"].to_list() == back["odd"].to_list()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_an_id_that_is_missing_was_not_judged_before() -> None:
    pool = {"id": ["1", None], "model_a": ["x", "x"], "model_b": ["y", "z"]}
    judged = {"id": ["1"], "model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]}
    assert plan_battles(pool, budget=2, judged=judged).rows == (1,)


def test_an_id_that_is_an_object_is_refused_in_a_line() -> None:
    pool = {"id": [{"a": 1}], "model_a": ["x"], "model_b": ["y"]}
    judged = {"id": ["1"], "model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]}
    with pytest.raises(ArgumentError, match="column = 'id': it contains lists or objects"):
        plan_battles(pool, budget=1, judged=judged)


def test_a_label_join_names_the_file_of_the_rows() -> None:
    with pytest.raises(DataError, match="answers.csv, column id: is missing; labels join by id"):
        join_labels(
            pl.DataFrame({"judge": [1]}),
            {"id": ["a"], "human": [1]},
            about="values",
            column="human",
            source="answers.csv",
        )


def test_a_name_for_what_the_user_had_is_free() -> None:
    assert input_name("x", ["input_x", "input_input_x"]) == "input_input_input_x"
