"""Wait for the server of a store if the connection is lost, for a limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from adjudge.errors import StoreLostError

T = TypeVar("T")
#: Seconds to wait for a lost server.
PATIENCE_S = 30.0
_AGAIN_S = 0.2


class Patience:
    """Repeats work on one store while its connection is lost."""

    def __init__(self) -> None:
        self._seconds = PATIENCE_S
        self._hurried = threading.Event()

    def run(self, work: Callable[[], T]) -> T:
        """Do `work`, which must be safe to repeat; StoreLostError after the time limit."""
        until = time.monotonic() + self._seconds
        while True:
            try:
                done = work()
            except StoreLostError:
                if time.monotonic() > until or self._hurried.wait(_AGAIN_S):
                    self._seconds = 0.0
                    raise
            else:
                self._seconds = PATIENCE_S
                return done

    def hurry(self, wanted: bool = True) -> None:
        """Stop waiting, for example after Ctrl-C; or wait again."""
        if wanted:
            self._hurried.set()
        else:
            self._hurried.clear()
