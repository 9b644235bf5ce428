"""`adjudge serve` in a process of its own, with a policy made for its judge."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adjudge.io import write_result
from adjudge.judges.judging import judge_pairs
from adjudge.selection import calibrate
from adjudge.simulate.pairs import simulate_pairs

JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"


def write_policy(
    folder: Path, *, judge: str = JUDGE, base_url: str | None = None, n: int = 400,
    **options: object,
) -> Path:  # fmt: skip
    """Judge simulated pairs and calibrate on them."""
    judged = judge_pairs(
        simulate_pairs(n, seed=1),
        judge=judge,
        base_url=base_url,
        output=folder / "judgments.jsonl",
        store=":memory:",
    )
    assert judged is not None
    policy = calibrate(folder / "judgments.jsonl", **{"alpha": 0.1, **options})  # type: ignore[arg-type]
    return write_result(policy, folder / "policy.json")


@dataclass(frozen=True)
class Service:
    """A running server and where it listens."""

    process: subprocess.Popen[str]
    port: int

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float, str]:
        """The exit code, the seconds it took to end, and what it wrote."""
        began = time.monotonic()
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, time.monotonic() - began, err


@contextmanager
def running(
    *arguments: str, cwd: Path | None = None, token: str | None = None
) -> Iterator[Service]:
    """`adjudge ARGUMENTS --port 0`, ready; it is killed at the end."""
    environment = {name: value for name, value in os.environ.items() if name != "ADJUDGE_TOKEN"}
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", *arguments, "--port", "0"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=cwd,
        env=environment | ({"ADJUDGE_TOKEN": token} if token else {}),
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = re.search(r":(\d+)/", line)
        assert port is not None, line + process.stderr.read()
        yield Service(process, int(port.group(1)))
    finally:
        process.kill()
        process.communicate()


@contextmanager
def served(policy: Path, *options: str, judge: str = JUDGE) -> Iterator[int]:
    """The port of a running service."""
    with running("serve", "--policy", str(policy), "--judge", judge, *options) as service:
        yield service.port
