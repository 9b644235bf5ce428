"""What is promised when things go wrong for real: kill -9, Ctrl-C, two processes on one store.

The judge is an HTTP server in a process of its own; every run is the command line in another.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from judge_runs import CONCURRENCY, finish, kept, start, wait_for, write_pairs


@pytest.mark.attack("kills")
@pytest.mark.crash
def test_kill_9_in_the_middle_costs_no_more_than_what_was_in_flight(
    judge_server: Any, tmp_path: Path
) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", 2000)
    judge_server.script("ok", keep_log=False)
    whole = finish(
        start(judge_server.base_url, pairs, tmp_path / "whole.db", tmp_path / "whole.jsonl")
    )
    assert whole["statuses"] == {"ok": 2000}
    assert judge_server.counts()["requests"] == 4000

    judge_server.reset()
    judge_server.script("ok", keep_log=False)
    store, output = tmp_path / "killed.db", tmp_path / "killed.jsonl"
    for least in (1000, 2000):  # the second run is killed while it checks what the first has asked
        run = start(judge_server.base_url, pairs, store, output)
        wait_for(lambda least=least: kept(store) > least)
        # Looking at the store has put us right behind a commit; kill at a moment of no such luck.
        time.sleep(0.13)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        survived = kept(store)
        assert least < survived < 4000
        assert not output.exists()

    resumed = finish(start(judge_server.base_url, pairs, store, output))
    assert resumed["reused"] == survived
    assert resumed["calls"] == {"ok": 4000 - survived}
    counts = judge_server.counts()
    assert counts["contents"] == 4000
    assert counts["requests"] - counts["contents"] <= 2 * CONCURRENCY
    assert counts["most_per_content"] <= 3
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert kept(store) == 4000


@pytest.mark.crash
def test_a_signal_finishes_what_is_in_flight_and_says_how_to_go_on(
    judge_server: Any, tmp_path: Path
) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", 150)
    judge_server.script("ok", latency_s=0.05, keep_log=False)
    store, output = tmp_path / "s.db", tmp_path / "o.jsonl"
    for name, after in ((signal.SIGINT, 40), (signal.SIGTERM, 120)):
        run = start(judge_server.base_url, pairs, store, output)
        wait_for(lambda least=after: kept(store) > least)
        run.send_signal(name)
        told, remarks = run.communicate(timeout=30)
        assert run.returncode == 1
        summary = json.loads(told)
        assert summary["stopped"] == "interrupted"
        assert "run the same command again" in remarks
        assert summary["rows"] == len(output.read_text().splitlines()) > after // 4
        # Nothing was lost: what the server answered is what the store holds.
        assert judge_server.counts()["requests"] == kept(store) < 300
    finish(start(judge_server.base_url, pairs, store, output))
    counts = judge_server.counts()
    assert (counts["requests"], counts["most_per_content"]) == (300, 1)


@pytest.mark.crash
def test_two_processes_on_one_store_share_the_work(judge_server: Any, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", 400)
    # Slow enough for the process that starts later to find something left.
    judge_server.script("ok", latency_s=0.1, keep_log=False)
    store = tmp_path / "shared.db"
    runs = [start(judge_server.base_url, pairs, store, tmp_path / f"{n}.jsonl") for n in range(2)]
    told = [finish(run) for run in runs]
    counts = judge_server.counts()
    assert (counts["requests"], counts["most_per_content"]) == (800, 1)
    assert kept(store) == 800
    made = [sum(run["calls"].values()) for run in told]
    assert sum(made) == 800
    assert min(made) > 0, "one process did all the work"
    assert [run["statuses"] for run in told] == [{"ok": 400}] * 2
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()


@pytest.mark.attack("kills")
@pytest.mark.crash
def test_one_of_two_processes_is_killed_and_the_other_ends_the_work(
    judge_server: Any, tmp_path: Path
) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", 200)
    judge_server.script("ok", latency_s=0.02, keep_log=False)
    store = tmp_path / "shared.db"
    doomed = start(judge_server.base_url, pairs, store, tmp_path / "never.jsonl")
    other = start(judge_server.base_url, pairs, store, tmp_path / "o.jsonl")
    wait_for(lambda: kept(store) > 100)
    began = time.monotonic()
    doomed.kill()
    doomed.communicate()
    assert finish(other)["statuses"] == {"ok": 200}
    # Its claims were free at once, not after a minute of silence.
    assert time.monotonic() - began < 30
    counts = judge_server.counts()
    assert counts["contents"] == 400
    assert counts["requests"] - 400 <= CONCURRENCY
