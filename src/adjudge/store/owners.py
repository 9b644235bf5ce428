"""Who is asking: naming this process so that others can tell whether it still lives."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from functools import cache
from typing import Literal

import psutil

#: Two readings of one process' start differ by as much as the clock was set in between.
_CLOCK_S = 5.0


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
        return cls(uuid.uuid4().hex, this_host(), pid, repr(psutil.Process(pid).create_time()))


@cache
def this_host() -> str:
    """The host name, and the namespace that its process numbers belong to.

    Containers may share a store and even a host name while each counts its own processes: a
    process number means nothing outside its namespace. (psutil knows no namespaces.)
    """
    name = socket.gethostname()
    try:
        return f"{name}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return name


def state_of(owner: Owner) -> Literal["alive", "dead", "unknown"]:
    """Whether the owner's process still runs, as far as this process can see."""
    if owner.host != this_host():
        return "unknown"
    try:
        process = psutil.Process(owner.pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return "dead"  # A zombie makes no more calls.
        apart = abs(process.create_time() - float(owner.started))
    except psutil.NoSuchProcess:
        return "dead"
    except (psutil.AccessDenied, ValueError):
        return "unknown"
    return "alive" if apart <= _CLOCK_S else "dead"
