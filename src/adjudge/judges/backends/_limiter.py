"""How many requests may be under way: lowered when a server is overloaded, raised again slowly.

Additive increase, multiplicative decrease, as TCP does it: every answer raises the limit by
1/limit (one more after a full round), every sign of overload halves it. Requests that were
already under way when the limit was cut do not cut it again.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Limiter:
    """A gate whose width follows the server.

    >>> gate = Limiter(8)
    >>> gate.overloaded(gate.cuts); gate.limit
    4.0
    >>> for _ in range(4): gate.answered()
    >>> 4.9 < gate.limit < 5
    True
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self.cuts = 0
        self._closed_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    async def enter(self) -> int:
        """Wait for room. Returns the number of cuts so far, for `overloaded`."""
        if not self._waiting and self._open():
            self.in_flight += 1
            return self.cuts
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wake()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.leave()  # the room had been given to this waiter already
            raise
        return self.cuts

    def leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def answered(self) -> None:
        """The server coped: a little more room."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def overloaded(self, seen_cuts: int, pause_s: float = 0.0) -> None:
        """The server did not cope with a request that entered after `seen_cuts` cuts."""
        if seen_cuts == self.cuts:
            self.cuts += 1
            self.limit = max(1.0, self.limit / 2)
        if pause_s > 0:
            self._closed_until = max(
                self._closed_until, asyncio.get_running_loop().time() + pause_s
            )

    def _open(self) -> bool:
        if self.in_flight >= int(self.limit):
            return False
        return not self._closed_until or asyncio.get_running_loop().time() >= self._closed_until

    def _wake(self) -> None:
        while self._waiting and self._open():
            future = self._waiting.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)
        if self._waiting and self.in_flight < int(self.limit) and self._alarm is None:
            # Room, but the server asked for a pause: nobody else will wake the queue.
            self._alarm = asyncio.get_running_loop().call_at(self._closed_until, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake()
