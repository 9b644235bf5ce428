"""`adjudge store check`: exit codes, JSON, a rescue that a run can go on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judge_runs import write_pairs

from adjudge.cli import run
from adjudge.data.writing import read_result
from adjudge.store.checking import StoreCheck

JUDGE = ["judge", "pairs.jsonl", "--judge", "simulated:accuracy=0.8", "--concurrency", "8"]


def test_a_run_resumes_with_a_rescued_store(capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(Path("pairs.jsonl"), 60)
    assert run([*JUDGE, "--store", "s.db", "-o", "whole.jsonl"]) == 0
    assert run(["store", "check", "sqlite:///s.db", "-o", "check.json"]) == 0
    tables = read_result("check.json", StoreCheck).tables
    assert {table.table: table.rows for table in tables}["calls"] == 120
    whole = Path("s.db").read_bytes()
    Path("s.db").write_bytes(whole[: len(whole) * 2 // 3])
    capsys.readouterr()

    assert run([*JUDGE, "--store", "s.db", "-o", "o.jsonl"]) == 1
    assert "`adjudge store check s.db` shows what can be read" in capsys.readouterr().err
    assert run(["store", "check", "s.db", "--rescue", "new.db", "--json"]) == 2
    check = json.loads(capsys.readouterr().out)
    [kept] = [table["rows"] for table in check["tables"] if table["table"] == "calls"]
    assert (check["kind"], check["rescued"]) == ("store_check", "new.db")
    assert 0 < kept < 120
    assert run([*JUDGE, "--store", "new.db", "-o", "o.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reused"] == kept
    assert Path("o.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["pairs.jsonl", "none.db"])
def test_what_is_no_store_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(Path("pairs.jsonl"), 60)
    assert run(["store", "check", name]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert name in said.err


def test_another_database_is_refused_without_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["store", "check", "postgresql://me:hunter2@db/judgments"]) == 1
    said = capsys.readouterr().err
    assert "postgresql://db/judgments: failed to resolve host" in said
    assert said.endswith("check the address and that the server is running\n")
    assert "hunter2" not in said


def test_a_rescue_writes_over_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(Path("pairs.jsonl"), 5)
    run([*JUDGE, "--store", "s.db", "-o", "o.jsonl"])
    for place, told in (
        ("s.db", "give another file: this one is the store"),
        ("o.jsonl", "this file exists; name a new one"),
    ):
        before = Path(place).read_bytes()
        assert run(["store", "check", "s.db", "--rescue", place]) == 1
        assert told in capsys.readouterr().err
        assert Path(place).read_bytes() == before
