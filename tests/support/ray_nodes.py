"""A Ray cluster of two nodes on this machine, each `ray start` in a process of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

import adjudge

START_S = 120.0
STARTED = "Ray runtime started"


class RayNodes:
    """Head and node, with one CPU and one GPU (which is none) each. Close it in the end."""

    def __init__(self) -> None:
        # The path of a socket has at most 107 characters: no test's own folder is short enough.
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self._started: list[subprocess.Popen[bytes]] = []
        port = _free_port()
        self.address = f"127.0.0.1:{port}"
        try:
            self._start("--head", "--port", str(port), "--temp-dir", str(self.folder))
            self._start("--address", self.address)
        except BaseException:
            self.close()
            raise

    def workers(self, node: int) -> list[psutil.Process]:
        """The processes that ask, on the head (0) or on the node (1)."""
        return [process for process in _tree(self._started[node]) if _asks(process)]

    def kill(self, node: int) -> None:
        """Kill a node and all that runs on it, as a power cut would."""
        _kill(_tree(self._started[node]))

    def logs(self) -> bytes:
        """All that Ray wrote down so far."""
        files = [
            path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()
        ]
        return b"\n".join(path.read_bytes() for path in files)

    def close(self) -> None:
        """End what was started here, and nothing else."""
        for started in self._started:
            _kill(_tree(started))
            started.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *arguments]
        command += ["--num-cpus", "1", "--num-gpus", "1", "--object-store-memory", "80000000"]
        command += ["--include-dashboard", "false", "--disable-usage-stats"]
        for agent in ("dashboard-agent-listen", "dashboard-agent-grpc", "metrics-export"):
            command += [f"--{agent}-port", str(_free_port())]
        command += ["--runtime-env-agent-port", str(_free_port())]
        if "--head" not in arguments:
            command = [word for word in command if word not in ("--include-dashboard", "false")]
        log = self.folder / f"node{len(self._started)}.log"
        with log.open("wb") as out:
            started = subprocess.Popen(
                command,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(Path(adjudge.__file__).parents[1])},
            )
        self._started.append(started)
        until = time.monotonic() + START_S
        while STARTED not in log.read_text():
            late = time.monotonic() > until
            if late or started.poll() is not None:
                why = f"not within {START_S:g} s" if late else f"exit code {started.returncode}"
                raise AssertionError(f"Ray did not start, {why}:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)


def _tree(started: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        root = psutil.Process(started.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _asks(process: psutil.Process) -> bool:
    try:
        return any("ray::Worker" in word for word in process.cmdline())
    except psutil.Error:  # it has ended
        return False


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=10)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])
