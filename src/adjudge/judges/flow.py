"""Flow control of a run: stopping it, spacing its requests, slowing down for the server."""

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
#: How long to wait for replies in flight after an interrupt.
GRACE_S = 0.5
#: Seconds between two checks whether the run was stopped.
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """A server's load: the requests it refused, and how long it asks to wait."""

    rate_limited: int = 0
    waiting_s: float = 0.0


IDLE = ServerLoad()


class Stop:
    """Stops a run. The first request lets calls in flight finish; the second drops them."""

    def __init__(self, on_interrupt: Callable[[], None] = lambda: None) -> None:
        self.reason: Reason | None = None
        self.at_once = False
        self._on_interrupt = on_interrupt

    @property
    def requested(self) -> bool:
        """Whether new calls must not be made."""
        return self.reason is not None

    def request(self, reason: Reason) -> None:
        """Make no new calls. The first reason is kept, unless an interrupt comes later."""
        if self.reason is None or reason == "interrupted":
            self.reason = reason

    def interrupt(self) -> None:
        """A signal came: the first requests a stop, the second an immediate stop."""
        if self.reason == "interrupted":
            self.at_once = True
            return
        self.request("interrupted")
        self._on_interrupt()

    async def see_through(self, work: Coroutine[Any, Any, T], *, grace_s: float) -> T | None:
        """Finish `work`; None if it was dropped, `grace_s` after an interrupt."""
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
            if not task.done():  # the caller was cancelled
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return None if dropped and task.cancelled() else task.result()


class NotSentError(Exception):
    """The run was stopped before the first request of a call was sent."""


class Pace:
    """`--rpm`: evenly spaced turns, one object per run. Every request takes one, also retries."""

    def __init__(self, per_minute: float, stop: Stop) -> None:
        self._gap = 60.0 / per_minute
        self._next = 0.0
        self._stop = stop

    async def turn(self, *, first: bool = True) -> None:
        """Wait for the next turn. The `first` request of a call is not sent after a stop.

        A call that is being retried is in flight and continues.
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
    """How many requests can be in flight: a limit that follows the server.

    Additive increase, multiplicative decrease, as in TCP: every answer raises the limit by 1/limit
    (one more after a full round), every sign of overload halves it. Requests that were in flight
    when the limit was halved do not halve it again.

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
        """Wait for a free place. Returns the number of cuts so far, for `overloaded`."""
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
                self.leave()  # the place was already given to this waiter
            raise
        return self.cuts

    def leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    @property
    def closed_s(self) -> float:
        """How many more seconds the server asks to wait."""
        if not self._closed_until:
            return 0.0
        return max(0.0, self._closed_until - asyncio.get_running_loop().time())

    def answered(self) -> None:
        """The server answered: raise the limit a little."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def overloaded(self, seen_cuts: int, pause_s: float = 0.0) -> None:
        """The server was overloaded by a request that entered after `seen_cuts` cuts."""
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
            # There is room, but the server asked for a pause: nothing else would wake the queue.
            self._alarm = asyncio.get_running_loop().call_at(self._closed_until, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake()
