"""Run a Python program and write down what it connects to, starts and writes outside its folder.

    python tests/support/watched.py LOG PROGRAM [ARGUMENT ...]

LOG gets one line of JSON for each event: a connection, a name that is looked up, a port, a process,
or a file opened for writing. Python raises the events (`sys.addaudithook`); code that is not Python
is not seen, so a test of connections also takes the network away.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

_CALLS = {
    "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname",
    "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "urllib.Request",
}  # fmt: skip
_FILES = {"os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1, "sqlite3.connect": 0}


def watch(log: int) -> None:
    """Write every event of this process to an open file."""
    home = str(Path.cwd())

    def note(event: str, what: Any) -> None:
        os.write(log, (json.dumps([event, str(what)]) + "\n").encode())

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CALLS:
            note(event, arguments[1] if event in ("socket.connect", "socket.bind") else arguments)
            return
        path = None
        if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                path = arguments[0]
        elif event in _FILES:
            path = arguments[_FILES[event]]
        if isinstance(path, (str, bytes, os.PathLike)):
            where = os.path.abspath(os.fsdecode(path))
            if not where.startswith(home + os.sep):
                note(event, where)

    sys.addaudithook(hook)


if __name__ == "__main__":
    log, program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).parent))
    watch(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    runpy.run_path(program, run_name="__main__")
