"""`adjudge replies` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.cli import run

ROWS = [
    {"id": f"p{n}", "prompt": "q\x1b[31m", "response_a": f"left {n}", "response_b": f"right {n}"}
    for n in range(3)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    judge = ["judge", "pairs.jsonl", "--judge", "simulated:", "-o", "out.jsonl", "--reason"]
    assert run(judge) == 0
    return tmp_path


def test_one_object_with_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["replies", "p1", "--pairs", "pairs.jsonl", "--json", "-o", "replies.json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads(Path("replies.json").read_text())
    assert written.pop("digest").startswith("sha256:")
    assert written.pop("command") == (
        "adjudge replies p1 --pairs pairs.jsonl --json -o replies.json"
    )
    assert printed == written
    assert (printed["kind"], printed["matching"], printed["store"]) == ("replies", 2, "adjudge.db")
    first, second = printed["replies"]
    assert (first["order"], second["order"]) == ("ab", "ba")
    asked = second["asked"][-1]["text"]
    assert asked.index("right 1") < asked.index("left 1")


def test_text_of_the_data_is_shown_and_not_obeyed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["replies", "--pairs", "pairs.jsonl", "--limit", "1"]) == 0
    printed = capsys.readouterr().out
    assert "adjudge.db: 6 replies, 6 ok" in printed
    assert r"q\x1b[31m" in printed
    assert "\x1b" not in printed


def test_a_store_made_by_mistake_and_a_wrong_status(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replies", "--store", "other.db"]) == 1
    assert not Path("other.db").exists()
    assert run(["replies", "--status", "fine"]) == 1
    assert "off_answer" in capsys.readouterr().err
    assert run(["replies", "--status", "off_answer"]) == 0
    assert "no matching reply" in capsys.readouterr().out
