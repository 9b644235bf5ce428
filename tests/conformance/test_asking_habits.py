"""Judges with habits of their own, behind a real server: the right number, or a status and why."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from habits import MASS, share, tie_share

from adjudge.cli import main
from adjudge.data import read_judgments
from adjudge.judges.judging import judge_pairs
from adjudge.judges.transcript import read_replies

SECRET = "sk-habits-secret-123456"
TEXT = "{prompt}\n{response_a}\n{response_b}\n--- answer ---\n"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def write_pairs(folder: Path, n: int) -> Path:
    rows = [
        {"id": f"p{i}", "prompt": f"q {i}", "response_a": f"left {i}.", "response_b": f"right {i}."}
        for i in range(n)
    ]
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judge(server: Any, folder: Path, *options: str, n: int = 12) -> list[str]:
    store = ("--store", str(folder / "s.db"), "-o", str(folder / "out.jsonl"))
    place = ("--base-url", server.base_url, *store, "--concurrency", "1")
    return ["judge", str(write_pairs(folder, n)), "--judge", "openai:m", *place, *options]


def run(
    server: Any, folder: Path, *options: str, code: int = 0, n: int = 12
) -> list[dict[str, Any]]:
    with pytest.raises(SystemExit) as ended:
        main(judge(server, folder, *options, n=n))
    assert ended.value.code == code
    return read_judgments(folder / "out.jsonl").to_dicts()


def asked(server: Any) -> dict[tuple[str, str], str]:
    """The key behind each answer of the stub, by row and order."""
    keys = {}
    for entry in server.log():
        messages = entry["body"]["messages"]
        text = messages[-1]["content"]
        number = text.partition("left ")[2].partition(".")[0]
        order = "ab" if text.index("left ") < text.index("right ") else "ba"
        key = hashlib.sha256(json.dumps([messages, None]).encode()).hexdigest()
        keys[f"p{number}", order] = key
    return keys


def prompt_file(folder: Path, answer: str) -> Path:
    path = folder / "own.txt"
    path.write_text(TEXT + answer)
    return path


@pytest.mark.parametrize(
    ("habit", "declared"),
    [
        ("cot_apart", None),
        ("cot_left", None),
        ("cot_right", None),
        ("cot_whole", None),
        ("cot_no_bytes", None),
        ("after_think", None),
        ("cot_apart", "format: [[A]]"),
        ("json", 'format: {"winner": "A"}'),
        ("last_line", "format: last line: A"),
    ],
)
def test_a_verdict_after_reasons_is_measured_where_it_is_written(
    judge_server: Any, tmp_path: Path, habit: str, declared: str | None
) -> None:
    judge_server.script(f"habit:{habit}")
    own = ("--prompt", str(prompt_file(tmp_path, declared))) if declared else ("--reason",)
    rows = run(judge_server, tmp_path, *own)
    keys = asked(judge_server)
    for row in rows:
        forward, reverse = share(keys[row["id"], "ab"]), 1 - share(keys[row["id"], "ba"])
        assert row["status"] == "ok"
        assert row["p_fwd"] == pytest.approx(forward, abs=1e-9)
        assert row["p_rev"] == pytest.approx(reverse, abs=1e-9)
        assert row["p_a"] == pytest.approx((forward + reverse) / 2, abs=1e-9)
        assert row["answer_mass"] == pytest.approx(MASS, abs=1e-9)


def test_a_letter_for_ties_gives_ties(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("habit:tie")
    rows = run(judge_server, tmp_path, "--prompt", str(prompt_file(tmp_path, "tie: C")), n=30)
    keys = asked(judge_server)
    for row in rows:
        (t_ab, p_ab), (t_ba, p_ba) = (
            (tie_share(key), share(key)) for key in (keys[row["id"], "ab"], keys[row["id"], "ba"])
        )
        p_tie = (t_ab + t_ba) / 2
        p_a = ((1 - t_ab) * p_ab + t_ab / 2 + (1 - t_ba) * (1 - p_ba) + t_ba / 2) / 2
        assert row["p_tie"] == pytest.approx(p_tie, abs=1e-9)
        assert row["p_a"] == pytest.approx(p_a, abs=1e-9)
        tie = p_tie > max(p_a, 1 - p_a) - p_tie / 2
        assert row["verdict"] == ("tie" if tie else "A" if p_a > 0.5 else "B")
    assert {"tie", "A", "B"} == {row["verdict"] for row in rows}


STOPS = {
    "think_first": ((), r"\d off_answer.*'<think>'\)?; ask with --reason, or --samples 10"),
    "refusal": ((), "all off_answer: A and B hold at least 0 % .*begins \"I'm sorry, but"),
    "cot_apart-mute": ((), "all no_logprobs: the server returned no log probabilities"),
    "json-mute": (("--reason",), r"all unparsed: no single verdict written as \[\[A\]\]"),
    "last_line-mute": (("--samples", "2"), "all unparsed: the reply is not A or B alone"),
    "cut_off": (("--reason",), "all unparsed: truncated at max_tokens; raise --max-tokens"),
    "cut_after": (("--reason",), "all unparsed: truncated at max_tokens"),
    "two_verdicts": (("--reason",), "all unparsed: no single verdict"),
    "cot_left-mute": (("--reason",), "all no_logprobs: .*at the verdict; add --sam"),
    "last_line": (("--protocol", "verbalized"), "all unparsed: no verdict with a confidence"),
    "tie": (("--protocol", "verbalized"), "all unparsed: truncated at max_tokens"),
    "json": (("--protocol", "rubric"), "all unparsed: no complete JSON|all unparsed: no scores"),
}


@pytest.mark.parametrize("habit", STOPS)
def test_a_run_without_a_number_stops_after_ten_and_says_why(
    judge_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    options, words = STOPS[habit]
    judge_server.script(f"habit:{habit}")
    with pytest.raises(SystemExit) as ended:
        main(judge(judge_server, tmp_path, *options, n=200))
    assert ended.value.code == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "10 replies of this run are kept" in said
    assert "openai:m: the first 10 replies have no usable score" in said
    assert re.search(words, said), said
    assert said.endswith("or continue with --keep-going")
    assert judge_server.counts()["requests"] == 10
    assert not (tmp_path / "out.jsonl").exists()
    kept = read_replies(store=tmp_path / "s.db")
    assert kept.matching == 10
    assert not set(kept.statuses) & {"ok", "censored"}


def test_keep_going_asks_on_and_every_row_says_why(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("habit:think_first")
    rows = run(judge_server, tmp_path, "--keep-going", n=15, code=2)
    assert len(rows) == 15
    assert {row["status"] for row in rows} <= {"off_answer", "no_logprobs"}
    assert all(row["p_a"] is None and row["verdict"] is None and row["detail"] for row in rows)
    off = [row for row in rows if row["status"] == "off_answer"]
    assert all(row["answer_mass"] == pytest.approx(0.03, abs=1e-9) for row in off)
    assert off
    # Rows are made anew from what is kept: nobody is asked again.
    asked_before = judge_server.counts()["requests"]
    again = run(judge_server, tmp_path, "--min-answer-mass", "0.01", n=15)
    assert judge_server.counts()["requests"] == asked_before
    assert [row["status"] for row in again].count("ok") == len(off)


def test_samples_read_the_verdict_by_the_same_format(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("habit:cot_apart-mute")
    rows = run(judge_server, tmp_path, "--reason", "--samples", "3", "--max-tokens", "77")
    assert {row["status"] for row in rows} == {"ok"}
    keys = asked(judge_server)
    for row in rows:
        first = 3.5 / 4 if share(keys[row["id"], "ab"]) > 0.5 else 0.5 / 4
        assert row["p_fwd"] == pytest.approx(first, abs=1e-9)
        assert row["answer_mass"] is None
    assert {entry["body"]["max_tokens"] for entry in judge_server.log()} == {77}


def test_the_command_in_its_own_process(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("habit:think_first")
    command = [sys.executable, "-m", "adjudge", *judge(judge_server, tmp_path, n=50)]
    environment = {**os.environ, "OPENAI_API_KEY": SECRET}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "first 10 replies have no usable score" in done.stderr


def test_a_batch_reads_reasons_as_single_calls_do(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("habit:cot_left", polls_needed=2)
    single = run(judge_server, tmp_path, "--reason")
    batch = judge_pairs(
        tmp_path / "pairs.jsonl",
        judge="openai:m",
        base_url=judge_server.base_url,
        store=tmp_path / "batch.db",
        reason=True,
        batch=True,
        batch_folder=tmp_path / "b",
        poll_s=0.02,
    ).judgments.to_dicts()
    own = ("status", "p_fwd", "p_rev", "p_a", "verdict", "answer_mass")
    assert [[row[c] for c in own] for row in batch] == [[row[c] for c in own] for row in single]
    assert {row["status"] for row in batch} == {"ok"}
