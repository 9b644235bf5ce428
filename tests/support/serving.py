"""`adjudge serve` in a process of its own, with a policy made for its simulated judge."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adjudge.io import write_result
from adjudge.judges.judging import judge_pairs
from adjudge.selection import calibrate
from adjudge.simulate.pairs import simulate_pairs

JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"


def write_policy(folder: Path, **options: object) -> Path:
    """Judge 400 simulated pairs and calibrate on them."""
    judged = judge_pairs(
        simulate_pairs(400, seed=1),
        judge=JUDGE,
        output=folder / "judgments.jsonl",
        store=":memory:",
    )
    assert judged is not None
    policy = calibrate(folder / "judgments.jsonl", **{"alpha": 0.1, **options})  # type: ignore[arg-type]
    return write_result(policy, folder / "policy.json")


@contextmanager
def served(policy: Path, *options: str, judge: str = JUDGE) -> Iterator[int]:
    """The port of a running service; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "serve", "--policy", str(policy), "--judge", judge,
         "--port", "0", *options],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = re.search(r":(\d+)/", line)
        assert port is not None, line + process.stderr.read()
        yield int(port.group(1))
    finally:
        process.kill()
        process.communicate()
