"""`adjudge serve` in a process of its own, with a policy made for its judge."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjudge.data import write_result
from adjudge.judges.judging import judge_pairs
from adjudge.selection import calibrate
from adjudge.simulate.pairs import simulate_pairs
from simulators import simulate_items

JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"


def write_policy(
    folder: Path, *, judge: str = JUDGE, base_url: str | None = None, n: int = 400,
    about: str = "pairs", **options: object,
) -> Path:  # fmt: skip
    """Judge simulated pairs, or answers for a policy about grades, and calibrate on them."""
    grades = about == "grades"
    judged = judge_pairs(
        simulate_items(n, seed=1) if grades else simulate_pairs(n, seed=1),
        protocol="grade" if grades else "preference",
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
        # Remarks on the rows come before the address.
        lines: list[str] = []
        port = None
        while port is None:
            line = process.stderr.readline()
            assert line, "".join(lines)
            lines.append(line)
            port = re.search(r"http://[\w.:\[\]]+:(\d+)/", line)
        yield Service(process, int(port.group(1)))
    finally:
        process.kill()
        process.communicate()


def ask(port: int, path: str, body: object = None) -> tuple[int, Any]:
    """The status and the JSON that a server answers with; a body is posted."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body=content, headers=headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@contextmanager
def served(policy: Path, *options: str, judge: str = JUDGE) -> Iterator[int]:
    """The port of a running service."""
    with running("serve", "--policy", str(policy), "--judge", judge, *options) as service:
        yield service.port
