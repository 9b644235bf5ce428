"""kill -9 at twenty moments of one run of 3,000 pairs, by one process, two and four.

The moments are drawn with a seed, by how much of the run is done, so that all twenty fall into it
on any machine; some fall into a start. The judge counts in a process of its own what it was asked.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from judge_runs import CONCURRENCY, finish, kept, start, undisturbed_run, wait_for, write_pairs
from tries import tried

PAIRS, KILLS = 3000, 20
CALLS = 2 * PAIRS


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("kills") / "pairs.jsonl", PAIRS)


@pytest.fixture(scope="module")
def undisturbed(judge_server_process: Any, pairs: Path) -> bytes:
    """The output of one run that nothing happened to."""
    return undisturbed_run(judge_server_process, pairs).read_bytes()


@pytest.mark.attack("kills")
@pytest.mark.crash
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_twenty_kills_change_no_byte_and_repeat_no_more_than_was_in_flight(
    processes: int,
    undisturbed: bytes,
    pairs: Path,
    judge_server: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    rng = random.Random(processes)
    # About 300 calls a second in all: enough between two kills, however many processes ask.
    judge_server.script("ok", latency_s=0.08 * processes, keep_log=False)
    store = tmp_path / "shared.db"
    outputs = [tmp_path / f"{n}.jsonl" for n in range(processes)]

    def begin(n: int) -> subprocess.Popen[str]:
        return start(judge_server.base_url, pairs, store, outputs[n])

    runs = [begin(n) for n in range(processes)]
    request.addfinalizer(lambda: [run.kill() for run in runs])
    lost: list[int] = []
    for moment in sorted(rng.sample(range(CALLS - 4 * CONCURRENCY * processes), KILLS)):
        wait_for(lambda least=moment: kept(store) >= least, 60)
        time.sleep(rng.uniform(0, 0.1))
        n = rng.randrange(processes)
        assert runs[n].poll() is None, "it had ended before it could be killed"
        runs[n].kill()
        tried()
        runs[n].communicate()
        if processes == 1:
            time.sleep(0.1)  # What was sent has arrived.
            # Asked and not kept: what was in flight at this kill, and is asked again.
            lost.append(judge_server.counts()["requests"] - kept(store) - sum(lost))
            assert 0 <= lost[-1] <= CONCURRENCY
        runs[n] = begin(n)

    assert [finish(run)["statuses"] for run in runs] == [{"ok": PAIRS}] * processes
    counts = judge_server.counts()
    repeated = counts["requests"] - counts["contents"]
    assert counts["contents"] == kept(store) == CALLS
    assert repeated == sum(lost) if processes == 1 else repeated <= KILLS * CONCURRENCY
    assert [output.read_bytes() == undisturbed for output in outputs] == [True] * processes
    assert not list(tmp_path.glob(".*partial"))
