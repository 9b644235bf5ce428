"""Owners of claims: identify this process, so that others can check whether it lives."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import psutil

#: If the clock is set, two readings of a process' start time differ by this much.
_CLOCK_S = 5.0
#: The active owners in this process.
_HERE: set[str] = set()


@dataclass(frozen=True, slots=True)
class Owner:
    """One run in one process. `started` distinguishes it from a later process with the same pid."""

    owner: str
    host: str
    pid: int
    started: str

    @classmethod
    def here(cls) -> Owner:
        """A new owner in this process."""
        pid = os.getpid()
        owner = cls(uuid.uuid4().hex, this_host(), pid, _start_of(pid))
        _HERE.add(owner.owner)
        return owner

    def end(self) -> None:
        """Make no more calls. Its claims are free, even if the store could not record that."""
        _HERE.discard(self.owner)


@cache
def this_host() -> str:
    """The host name, and the namespace that its process numbers belong to.

    Containers can share a store and even a host name, but each numbers its own processes. So a
    process number has no meaning outside its namespace. (psutil does not support namespaces.)
    """
    name = socket.gethostname()
    try:
        return f"{name}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return name


def state_of(owner: Owner) -> Literal["alive", "dead", "unknown"]:
    """Whether the owner's process still runs, if this process can see it."""
    if owner.host != this_host():
        return "unknown"
    try:
        process = psutil.Process(owner.pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return "dead"  # A zombie makes no more calls.
        same = _same_start(owner.started, owner.pid)
    except psutil.NoSuchProcess:
        return "dead"
    except (psutil.AccessDenied, ValueError):
        return "unknown"
    if same and owner.pid == os.getpid():
        return "alive" if owner.owner in _HERE else "dead"
    return "alive" if same else "dead"


def _start_of(pid: int) -> str:
    """The start of a process: on Linux in ticks since boot, which do not depend on the clock."""
    boot = _boot_id()
    if boot is None:
        return repr(psutil.Process(pid).create_time())
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    # The name, second and in brackets, can contain blanks and brackets; the start is field 22.
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


def _same_start(started: str, pid: int) -> bool:
    now = _start_of(pid)
    if ":" in now and ":" in started:
        return now == started
    began: float = psutil.Process(pid).create_time()
    return abs(began - float(started)) <= _CLOCK_S


@cache
def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
