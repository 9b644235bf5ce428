"""How fast and how long a run asks: stopping it, spacing its requests, yielding to the server."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Reason = Literal["interrupted", "max_cost", "failed"]
T = TypeVar("T")
#: How long after an interrupt a reply that is under way is still waited for.
GRACE_S = 0.5
#: Between two looks at whether the run was stopped.
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """What a server says of its load: requests it turned away, and how long it wants none."""

    rate_limited: int = 0
    waiting_s: float = 0.0


IDLE = ServerLoad()


class Stop:
    """Asked once, a run has a moment to finish what is in flight; asked again, it drops it."""

    def __init__(self, on_interrupt: Callable[[], None] = lambda: None) -> None:
        self.reason: Reason | None = None
        self.at_once = False
        self._on_interrupt = on_interrupt

    @property
    def requested(self) -> bool:
        """Whether no new call should be made."""
        return self.reason is not None

    def request(self, reason: Reason) -> None:
        """Make no new calls. The first reason stays, unless somebody interrupts the waiting."""
        if self.reason is None or reason == "interrupted":
            self.reason = reason

    def interrupt(self) -> None:
        """A signal came: the first asks to stop, the second to stop at once."""
        if self.reason == "interrupted":
            self.at_once = True
            return
        self.request("interrupted")
        self._on_interrupt()

    async def see_through(self, work: Coroutine[Any, Any, T], *, grace_s: float) -> T | None:
        """Do `work` to its end; None when it was dropped, `grace_s` after an interrupt."""
        task = asyncio.create_task(work)
        until, dropped = math.inf, False
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK_S)
                if self.reason == "interrupted" and not dropped:
                    until = min(until, time.monotonic() + grace_s)
                    dropped = self.at_once or time.monotonic() >= until
                    if dropped:
                        task.cancel()
        finally:
            if not task.done():  # whoever waits for us was cancelled
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return None if dropped and task.cancelled() else task.result()


class NotSentError(Exception):
    """The run was stopped before a call's first request had its turn."""


class Pace:
    """`--rpm`: turns, evenly spaced. One for a whole run: every request takes one, retries too."""

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


class Limiter:
    """How many requests may be under way: a gate whose width follows the server.

    Additive increase, multiplicative decrease, as TCP does it: every answer raises the limit by
    1/limit (one more after a full round), every sign of overload halves it. Requests that were
    already under way when the limit was cut do not cut it again.

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

    @property
    def closed_s(self) -> float:
        """How long the server still wants no request."""
        if not self._closed_until:
            return 0.0
        return max(0.0, self._closed_until - asyncio.get_running_loop().time())

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
