"""Ctrl-C and SIGTERM, whatever the server is doing: answered at once, ended within two seconds.

Complete rows are written, the exit code is 1, nothing is spoilt by a second one. The server is a
process of its own, and so is every run. Two seconds are promised on a machine that has time for us:
a busy one, where the command itself is slow to start, is given as much longer.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

#: What the server does with the rows it does not answer.
MOMENTS = {
    "rate_limited": "429:60",
    "rate_limited_by_date": "429date:60",
    "backing_off": "503",
    "no_answer": "hang",
    "slow_reply": "mode:drip",
    "silent_body": "mode:hang_in_body",
}
GOOD = 12
#: From the command to its first questions, on a machine with nothing else to do.
USUAL_START_S = 1.5
REMARKS = Path("remarks.txt")


def start(server_url: str, *options: str, pairs: int = 40) -> subprocess.Popen[str]:
    rows = [
        {"id": str(n), "prompt": f"<{'good' if n < GOOD else 'bad'} {n}>", "response_a": "a",
         "response_b": "b"}
        for n in range(pairs)
    ]  # fmt: skip
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "adjudge", "judge", "pairs.jsonl", "--judge", "openai:m"]
    command += ["--base-url", server_url, "-o", "out.jsonl", "--json", *options]
    # A file: what a pipe's reader has taken from it ahead of its line, nobody else reads any more.
    with REMARKS.open("w") as remarks:
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=remarks,
            text=True,
            env={**os.environ, "OPENAI_API_KEY": "k" * 20},
        )


def wait_until(condition: Any, run: subprocess.Popen[str]) -> float:
    """Wait for a moment of a run that has just begun; what two seconds are on this machine."""
    began = time.monotonic()
    while not condition():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < began + 60, "it never came to that"
        time.sleep(0.02)
    return 2.0 * max(1.0, (time.monotonic() - began) / USUAL_START_S)


def good_replies_are_kept() -> bool:
    """Whether all the good replies are home; what the server has seen may still be under way."""
    if not Path("adjudge.db").exists():
        return False
    try:
        with closing(sqlite3.connect("file:adjudge.db?mode=ro", uri=True)) as store:
            (kept,) = store.execute("SELECT count(*) FROM calls WHERE status = 'ok'").fetchone()
    except sqlite3.OperationalError:  # its tables are being made
        return False
    return bool(kept == 2 * GOOD)


def interrupt(
    run: subprocess.Popen[str], name: signal.Signals, *, allowed: float
) -> tuple[str, str]:
    """What it says to a signal, which must be answered, and obeyed, in time."""
    began = time.monotonic()
    run.send_signal(name)
    while "\nstopping: complete rows are written" not in f"\n{REMARKS.read_text()}":
        assert time.monotonic() < began + allowed / 2, REMARKS.read_text()
        time.sleep(0.02)
    said, _ = run.communicate(timeout=30)
    assert time.monotonic() < began + allowed
    return said, REMARKS.read_text()


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        ("rate_limited", signal.SIGINT),
        pytest.param("slow_reply", signal.SIGTERM, marks=pytest.mark.crash),
        pytest.param("rate_limited_by_date", signal.SIGINT, marks=pytest.mark.crash),
        pytest.param("backing_off", signal.SIGINT, marks=pytest.mark.crash),
        pytest.param("no_answer", signal.SIGINT, marks=pytest.mark.crash),
        pytest.param("silent_body", signal.SIGINT, marks=pytest.mark.crash),
        pytest.param("rate_limited", signal.SIGTERM, marks=pytest.mark.crash),
    ],
)
def test_an_interrupt_is_answered_at_once_and_complete_rows_are_written(
    judge_server: Any, moment: str, name: signal.Signals
) -> None:
    judge_server.script("ok", rules=[{"contains": "<bad", "steps": [MOMENTS[moment]]}])
    run = start(judge_server.base_url)
    allowed = wait_until(good_replies_are_kept, run)
    wait_until(lambda: judge_server.counts()["contents"] >= 2 * GOOD + 2, run)
    said, remarks = interrupt(run, name, allowed=allowed)
    assert "Traceback" not in remarks
    assert run.returncode == 1
    summary = json.loads(said)
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert summary["stopped"] == "interrupted"
    assert [row["id"] for row in rows] == [str(n) for n in range(GOOD)]
    assert {row["status"] for row in rows} == {"ok"}
    assert summary["rows"] + summary["not_asked"] == 40


@pytest.mark.crash
def test_while_nobody_answers_at_all(tmp_path: Path) -> None:
    """A listener whose queue is full: the connection itself is waited for."""
    import socket

    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        run = start(f"http://127.0.0.1:{port}/v1")
        allowed = wait_until(lambda: Path("adjudge.db").exists(), run)
        time.sleep(0.7)
        said, _ = interrupt(run, signal.SIGINT, allowed=allowed)
        for filler in fillers:
            filler.close()
    assert (run.returncode, json.loads(said)["rows"]) == (1, 0)


@pytest.mark.crash
def test_more_interrupts_do_no_harm(judge_server: Any) -> None:
    judge_server.script("ok", rules=[{"contains": "<bad", "steps": ["429:60"]}])
    run = start(judge_server.base_url)
    wait_until(good_replies_are_kept, run)
    run.send_signal(signal.SIGTERM)
    while run.poll() is None:
        time.sleep(0.03)
        run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode == 1, REMARKS.read_text()
    assert "Traceback" not in REMARKS.read_text()
    judge_server.reset()
    done = start(judge_server.base_url)
    said, _ = done.communicate(timeout=60)
    assert done.returncode == 0, REMARKS.read_text()
    summary = json.loads(said)
    assert summary["statuses"] == {"ok": 40}
    assert summary["reused"] == 2 * GOOD, "what was answered before the interrupt was lost"
