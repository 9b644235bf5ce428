"""A Ray for one run on this machine. It ends with the run, also if the run is killed.

    python -m adjudge.judges.cluster.head FOLDER ARGUMENTS...

starts `ray start --head --block` with its files in FOLDER, and ends it when standard input is
closed, also if the process at the other end was killed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import psutil

LOG = "start.log"
STARTED = "Ray runtime started"


def main(folder: str, *arguments: str) -> None:
    """Run Ray until standard input is closed."""
    closed = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.buffer.read()
        closed.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    with (Path(folder) / LOG).open("wb") as log:
        ray = subprocess.Popen(  # noqa: S603  (our own arguments)
            [*command, "--temp-dir", folder, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        while not closed.wait(0.2) and ray.poll() is None:
            pass
    started = psutil.Process().children(recursive=True)
    for process in started:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(started, timeout=10)
    if closed.is_set():  # otherwise the caller reads why it failed
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
