"""The time limits of all requests, checked together.

One timer of the event loop per request costs as much as all other checks of a request together.
Instead one clock ticks while there are requests. A limit can act up to one tick late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

#: Seconds between two checks of the requests in flight.
TICK = 0.05


class Deadlines:
    """The limits that are running, and the moment at which the server stops."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._stops_at: float | None = None
        self._ticks = False

    @property
    def stopping(self) -> bool:
        """Whether the server was asked to stop."""
        return self._stops_at is not None

    def stop(self, seconds: float) -> None:
        """Let requests run for at most this many seconds from now."""
        self._stops_at = asyncio.get_running_loop().time() + seconds

    def within(self, seconds: float, on_slow: Callable[[], None] | None = None) -> Deadline:
        """A time limit for a block; a stop of the server shortens it.

        `on_slow` is called once, if the block takes longer than a tick.
        """
        loop = asyncio.get_running_loop()
        if not self._ticks:
            self._ticks = True
            loop.call_later(TICK, self._tick)
        return Deadline(loop.time(), seconds, on_slow, self._running)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        now, stops_at = loop.time(), self._stops_at
        stopped = stops_at is not None and stops_at <= now
        for one in list(self._running):
            if one.end <= now or stopped:
                one.expire()
            elif one.on_slow is not None and one.began + TICK <= now:
                one.on_slow()
                one.on_slow = None
        self._ticks = bool(self._running)
        if self._ticks:
            loop.call_later(TICK, self._tick)


class Deadline:
    """One limit, running while its block is: `async with`, as `asyncio.timeout`."""

    __slots__ = ("_running", "_timeout", "began", "end", "on_slow")

    def __init__(
        self,
        began: float,
        seconds: float,
        on_slow: Callable[[], None] | None,
        running: set[Deadline],
    ) -> None:
        self.began = began
        self.end = began + seconds
        self.on_slow = on_slow
        self._running = running
        self._timeout = asyncio.timeout(None)

    def expire(self) -> None:
        """End the block now, with a TimeoutError."""
        if not self._timeout.expired():
            self._timeout.reschedule(0)

    async def __aenter__(self) -> Deadline:
        self._running.add(self)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.discard(self)
        await self._timeout.__aexit__(kind, error, trace)
