"""`--rpm`: at most so many requests a minute, a server's retries among them."""

from __future__ import annotations

import asyncio
import time

from adjudge.judges.stopping import Stop

#: Between two looks at whether the run was stopped.
_LOOK_S = 0.2


class NotSentError(Exception):
    """The run was stopped before a call's first request had its turn."""


class Pace:
    """Turns, evenly spaced. One for a whole run: every request takes one."""

    def __init__(self, per_minute: float, stop: Stop) -> None:
        self._gap = 60.0 / per_minute
        self._next = 0.0
        self._stop = stop

    async def turn(self, *, first: bool = True) -> None:
        """Wait for the next turn. `first` of its call: it is not sent once the run is stopped.

        A call that is being retried is in flight, and goes on.
        """
        at = max(time.monotonic(), self._next)
        self._next = at + self._gap
        while True:
            if first and self._stop.requested:
                raise NotSentError
            left = at - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LOOK_S))
