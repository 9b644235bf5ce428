"""Ctrl-C and SIGTERM, whatever the server is doing: answered at once, ended within two seconds.

Complete rows are written, the exit code is 1, nothing is spoilt by a second one. The server is a
process of its own, and so is every run. Two seconds are promised on a machine that has time for us:
what a run, or this test, spends ready and waiting for a core does not count.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
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
#: Until a signal is answered, and until the run has ended.
ANSWERED_S, ENDED_S = 1.0, 2.0
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


def wait_until(condition: Any, run: subprocess.Popen[str]) -> None:
    """Wait for a moment of a run that has just begun."""
    began = time.monotonic()
    while not condition():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < began + 60, "it never came to that"
        time.sleep(0.02)


class Clock:
    """Seconds since now on a machine with nothing else to do, for a process and for us."""

    def __init__(self, pid: int) -> None:
        self._tasks = [Path(f"/proc/{one}/task") for one in (pid, os.getpid())]
        self._waits: dict[Path, float] = {}
        self._look()
        self._began, self._waited = time.monotonic(), sum(self._waits.values())

    def _look(self) -> None:
        """Note what each thread has waited for a core; a thread that has ended stays noted."""
        for task in (task for folder in self._tasks for task in folder.glob("*/schedstat")):
            with suppress(OSError):
                self._waits[task] = int(task.read_text().split()[1]) / 1e9

    def elapsed(self) -> float:
        self._look()
        return time.monotonic() - self._began - (sum(self._waits.values()) - self._waited)


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


def interrupt(run: subprocess.Popen[str], name: signal.Signals) -> tuple[str, str]:
    """What it says to a signal, which must be answered, and obeyed, in time."""
    clock = Clock(run.pid)
    run.send_signal(name)
    while "\nstopping: complete rows are written" not in f"\n{REMARKS.read_text()}":
        assert clock.elapsed() < ANSWERED_S, REMARKS.read_text()
        time.sleep(0.02)
    while run.poll() is None:
        assert clock.elapsed() < ENDED_S, REMARKS.read_text()
        time.sleep(0.02)
    said, _ = run.communicate(timeout=30)
    return said, REMARKS.read_text()


@pytest.mark.attack("signals")
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
    wait_until(good_replies_are_kept, run)
    wait_until(lambda: judge_server.counts()["contents"] >= 2 * GOOD + 2, run)
    said, remarks = interrupt(run, name)
    assert "Traceback" not in remarks
    assert run.returncode == 1
    summary = json.loads(said)
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert summary["stopped"] == "interrupted"
    assert [row["id"] for row in rows] == [str(n) for n in range(GOOD)]
    assert {row["status"] for row in rows} == {"ok"}
    assert summary["rows"] + summary["not_asked"] == 40


def connections_waited_for(port: int) -> int:
    """How many connections to a port of this machine are asked for and not yet answered."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(there.endswith(f":{port:04X}") and state == "02" for _, _, there, state, *_ in rows)


@pytest.mark.attack("signals")
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
        before = connections_waited_for(port)
        run = start(f"http://127.0.0.1:{port}/v1")
        wait_until(lambda: connections_waited_for(port) > before, run)
        said, _ = interrupt(run, signal.SIGINT)
        for filler in fillers:
            filler.close()
    assert (run.returncode, json.loads(said)["rows"]) == (1, 0)


@pytest.mark.attack("signals")
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
