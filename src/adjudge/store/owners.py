"""Who is asking: naming this process so that others can tell whether it still lives."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

SYSTEM = platform.system()


@dataclass(frozen=True, slots=True)
class Owner:
    """One run in one process. `started` tells a process from a later one with the same pid."""

    owner: str
    host: str
    pid: int
    started: str

    @classmethod
    def here(cls) -> Owner:
        """A new owner in this process."""
        pid = os.getpid()
        return cls(uuid.uuid4().hex, this_host(), pid, process_start(pid) or "")


@cache
def this_host() -> str:
    """The host name, and the namespace that its process numbers belong to.

    Containers may share a store and even a host name while each counts its own processes: a
    process number means nothing outside its namespace.
    """
    name = socket.gethostname()
    try:
        return f"{name}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return name


def process_start(pid: int) -> str | None:
    """When the process began, as text to compare for equality; None if there is no way to know."""
    if SYSTEM == "Linux":
        return _linux_start(pid)
    if SYSTEM == "Windows":
        return None
    command = ["/bin/ps", "-o", "lstart=", "-p", str(pid)]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (fixed program, the argument is a number)
    except OSError:
        return None
    return told.stdout.strip() or None


def state_of(owner: Owner) -> Literal["alive", "dead", "unknown"]:
    """Whether the owner's process still runs, as far as this process can see."""
    if owner.host != this_host() or SYSTEM == "Windows":
        return "unknown"
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return "dead"
    except PermissionError:
        pass  # It exists and belongs to somebody else.
    started = process_start(owner.pid)
    if started is None or not owner.started:
        return "unknown"
    return "alive" if started == owner.started else "dead"


def _linux_start(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    # The command name stands in parentheses and may itself hold spaces and parentheses.
    after_name = fields.rpartition(")")[2].split()
    if after_name[0] in {"Z", "X"}:
        return f"{boot}:ended"  # A zombie makes no more calls.
    return f"{boot}:{after_name[19]}"
