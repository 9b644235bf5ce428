"""Many workers, one run: whatever dies, the rows are those of one process, and nobody asks twice.

Two Ray nodes on this machine, each a process tree of its own that can be killed; the judge is an
HTTP server in another process, which counts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from judge_runs import CONCURRENCY, finish, kept, start, undisturbed_run, wait_for, write_pairs
from postgres import ENCODED, PASSWORD
from ray_nodes import RayNodes

pytestmark = pytest.mark.crash
PAIRS = 2000
KEY = b"sk-test-not-a-real-key"
#: A judge that runs on a GPU and says which one it sees.
GPU_JUDGE = """
import asyncio, os, sys
from adjudge import judge_pairs
from adjudge.judges.interface import Backend, Choice
from adjudge.records import Reply
from adjudge.simulate.pairs import simulate_pairs

class OnGPU(Backend):
    name, uses_gpu, wants, concurrency = "on-gpu:1", True, frozenset({Choice}), 4
    def identity(self):
        return {"backend": "on-gpu"}
    async def ask(self, question):
        await asyncio.sleep(0.1)  # ten seconds for one worker alone: the other comes in time
        seen = f"GPU {os.environ.get('CUDA_VISIBLE_DEVICES')} in process {os.getpid()}"
        return Reply(status="ok", logprobs=dict.fromkeys(question.want.options, -1.0), server=seen)

run = judge_pairs(simulate_pairs(200, seed=1), judge=OnGPU(), store="gpu.db", engine="ray",
                  ray_address=sys.argv[1])
print(*run.judgments["server"].unique().to_list(), sep="\\n")
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    started = RayNodes()
    yield started
    started.close()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.jsonl", PAIRS)


@pytest.fixture(scope="module")
def whole(judge_server_process: Any, pairs: Path) -> Path:
    return undisturbed_run(judge_server_process, pairs)


def by_ray(nodes: RayNodes, *more: str) -> tuple[str, ...]:
    return ("--engine", "ray", "--ray-address", nodes.address, *more)


def test_a_judge_on_gpus_has_one_worker_on_each(nodes: RayNodes) -> None:
    Path("judge.py").write_text(GPU_JUDGE)
    done = subprocess.run(
        [sys.executable, "judge.py", nodes.address], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    seen = done.stdout.splitlines()
    assert len(seen) == 2
    assert all(one.startswith("GPU 0 in process") for one in seen)


def test_ten_unusable_replies_of_all_workers_together_stop_the_run(
    nodes: RayNodes, judge_server: Any, pairs: Path, tmp_path: Path
) -> None:
    judge_server.script("no_logprobs", latency_s=0.05)
    run = start(
        judge_server.base_url, pairs, tmp_path / "s.db", tmp_path / "o.jsonl", *by_ray(nodes)
    )
    _, remarks = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "the first 10 replies have no usable score" in remarks
    assert judge_server.counts()["requests"] <= 10 + CONCURRENCY
    assert not (tmp_path / "o.jsonl").exists()
    # The key came along with the work, and stands in nothing that Ray wrote.
    assert all(request["has_key"] for request in judge_server.log())
    assert KEY not in nodes.logs()


def test_max_cost_holds_over_all_workers(
    nodes: RayNodes, judge_server: Any, pairs: Path, tmp_path: Path
) -> None:
    judge_server.script("ok", latency_s=0.01, keep_log=False)
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"openai:judge-1": {"prompt": 10.0, "completion": 10.0}}))
    most = ("--max-cost", "0.3", "--prices", str(prices))
    run = start(
        judge_server.base_url, pairs, tmp_path / "s.db", tmp_path / "o.jsonl", *by_ray(nodes, *most)
    )
    said, remarks = run.communicate(timeout=120)
    assert run.returncode == 2, remarks
    summary = json.loads(said)
    assert summary["stopped"] == "max_cost"
    assert 0.25 < summary["cost_this_run"] <= 0.3
    assert 0 < summary["rows"] == PAIRS - summary["not_asked"]
    assert sum(summary["calls"].values()) == kept(tmp_path / "s.db")


def test_an_interrupt_stops_all_workers_and_the_same_command_goes_on(
    nodes: RayNodes, judge_server: Any, pairs: Path, whole: Path, tmp_path: Path
) -> None:
    judge_server.reset()
    judge_server.script("ok", latency_s=0.05, keep_log=False)
    store, output = tmp_path / "s.db", tmp_path / "o.jsonl"
    run = start(judge_server.base_url, pairs, store, output, *by_ray(nodes))
    wait_for(lambda: kept(store) > 500, 120)
    run.send_signal(signal.SIGTERM)  # as Ctrl-C; Ray would print a stack
    said, remarks = run.communicate(timeout=30)
    assert run.returncode == 1
    assert remarks.splitlines()[-1] == "stopped; run the same command again to resume"
    assert "SIGTERM" not in remarks
    summary = json.loads(said)
    assert summary["rows"] == len(output.read_text().splitlines()) > 100
    wait_for(lambda: not nodes.workers(0) and not nodes.workers(1))
    survived = kept(store)

    resumed = finish(start(judge_server.base_url, pairs, store, output, *by_ray(nodes)))
    assert resumed["reused"] == survived
    assert resumed["calls"] == {"ok": 2 * PAIRS - survived}
    assert output.read_bytes() == whole.read_bytes()
    counts = judge_server.counts()
    assert counts["contents"] == 2 * PAIRS
    assert counts["requests"] - counts["contents"] <= 2 * CONCURRENCY


def test_a_worker_that_is_killed_is_replaced(
    nodes: RayNodes, judge_server: Any, pairs: Path, whole: Path, tmp_path: Path
) -> None:
    judge_server.reset()
    judge_server.script("ok", latency_s=0.1, keep_log=False)
    store, output = tmp_path / "s.db", tmp_path / "o.jsonl"
    run = start(judge_server.base_url, pairs, store, output, *by_ray(nodes))
    wait_for(lambda: kept(store) > 800, 120)
    (victim,) = nodes.workers(0)
    victim.kill()
    wait_for(lambda: bool(nodes.workers(0)) and nodes.workers(0) != [victim], 60)
    complete(finish(run), judge_server, output, whole)


def test_a_node_is_killed_in_the_middle_and_the_other_ends_the_work(
    nodes: RayNodes,
    judge_server: Any,
    postgres_server: Any,
    pairs: Path,
    whole: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge_server.reset()
    judge_server.script("ok", latency_s=0.05, keep_log=False)
    output = Path("o.jsonl")

    def kept_there() -> int:
        """Rows committed so far in the store that machines share."""
        with postgres_server.connect() as db:
            there = db.execute("SELECT to_regclass('nodes.calls') IS NOT NULL").fetchone()
            return int(
                db.execute("SELECT count(*) FROM nodes.calls").fetchone()[0] if there[0] else 0
            )

    # The password is known where the run is started, and nowhere else in the cluster.
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    store = postgres_server.url(schema="nodes").replace(f":{ENCODED}@", "@")
    run = start(judge_server.base_url, pairs, store, output, *by_ray(nodes))
    wait_for(lambda: kept_there() > 1500 and bool(nodes.workers(1)), 120)
    nodes.kill(1)
    assert kept_there() < 2 * PAIRS, "the node outlived the work"
    complete(finish(run), judge_server, output, whole)
    assert PASSWORD.encode() not in nodes.logs()


def complete(summary: dict[str, Any], judge_server: Any, output: Path, whole: Path) -> None:
    assert summary["statuses"] == {"ok": PAIRS}
    assert summary["notes"] == ["1 worker died; others took over the work"]
    assert output.read_bytes() == whole.read_bytes()
    counts = judge_server.counts()
    assert counts["contents"] == 2 * PAIRS
    assert counts["requests"] - counts["contents"] <= CONCURRENCY
    assert counts["most_per_content"] <= 2


def test_a_ray_of_its_own_ends_with_the_run_even_if_that_is_killed(
    judge_server: Any, pairs: Path, tmp_path: Path
) -> None:
    judge_server.script("ok", latency_s=0.05, keep_log=False)
    store = tmp_path / "s.db"
    alone = ("--engine", "ray", "--workers", "1")
    run = start(judge_server.base_url, pairs, store, tmp_path / "o.jsonl", *alone)
    wait_for(lambda: kept(store) > 100, 120)
    below = psutil.Process(run.pid).children(recursive=True)
    assert any("raylet" in process.name() for process in below)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    began = time.monotonic()
    gone, alive = psutil.wait_procs(below, timeout=20)
    assert not alive, f"after {time.monotonic() - began:.0f} s"
    assert len(gone) > 3
