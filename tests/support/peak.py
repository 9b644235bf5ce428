"""The most memory that a command of ours used, measured in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

#: `getrusage` would also count the process that starts this one: a peak survives `exec`.
_PROGRAM = """
import sys
from pathlib import Path
{first}
from adjudge.cli import run
code = run(sys.argv[1:])
sys.stdout.flush()
print(Path("/proc/self/status").read_text(), file=sys.stderr)
sys.exit(code)
"""


def run_for_peak(
    words: list[str], *, first: str = "", **options: Any
) -> tuple[subprocess.CompletedProcess[str], float]:
    """What `adjudge WORDS` returned, and its peak in MB; `first` is run before it."""
    program = [sys.executable, "-c", _PROGRAM.format(first=first), *words]
    done = subprocess.run(program, stderr=subprocess.PIPE, text=True, check=False, **options)
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stderr)
    assert peak is not None, done.stderr
    return done, int(peak[1]) / 1024
