"""Run commands one after another in this process, each with a standard output nobody reads.

`python closed_output.py COMMANDS.json CODES.json`: the commands, and where their exit codes go.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from adjudge.cli import main


def run_unread(arguments: list[str]) -> int:
    """The exit code of a command whose reader was gone before the first line."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    os.close(writer)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    try:
        main(arguments)
    except SystemExit as left:
        return int(left.code or 0)
    raise RuntimeError("main came back")


if __name__ == "__main__":
    commands, codes = map(Path, sys.argv[1:])
    done = [run_unread(arguments) for arguments in json.loads(commands.read_text())]
    codes.write_text(json.dumps(done))
    os._exit(0)  # nothing is left to flush but the pipe that nobody reads
