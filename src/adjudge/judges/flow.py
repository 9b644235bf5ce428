"""A run while it asks: how it is stopped and paced, how it follows the server, and its progress."""

from __future__ import annotations

import asyncio
import importlib
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from adjudge.present.text import clip, safe
from adjudge.records import Reply

if TYPE_CHECKING:
    from adjudge.judges.prices import Price

Reason = Literal["interrupted", "max_cost", "failed"]
T = TypeVar("T")
#: How long to wait for replies in flight after an interrupt.
GRACE_S = 0.5
#: Seconds between two checks whether the run was stopped.
_LOOK_S = 0.1
#: The rate is measured over this many last seconds.
_PACE_S = 10.0
#: Seconds between two lines if a line cannot be updated: in a log file, say.
LINE_EVERY_S = 10.0
_WIDTH = 100


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
        #: Called after an interrupt, so that nothing waits long for the store.
        self.hurry: Callable[[], None] = lambda: None

    @property
    def requested(self) -> bool:
        """Whether new calls must not be made."""
        return self.reason is not None

    def request(self, reason: Reason) -> None:
        """Make no new calls. The first reason is kept, unless an interrupt comes later."""
        if self.reason is None or reason == "interrupted":
            self.reason = reason
        if reason == "interrupted":
            self.hurry()

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
        until = math.inf
        dropped = False
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
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def overloaded(self, seen_cuts: int, pause_s: float = 0.0) -> None:
        """The server was overloaded by a request that entered after `seen_cuts` cuts."""
        if seen_cuts == self.cuts:
            self.cuts += 1
            self.limit = max(1.0, self.limit / 2)
        if pause_s > 0:
            until = asyncio.get_running_loop().time() + pause_s
            self._closed_until = max(self._closed_until, until)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A snapshot of a run, while it asks `judge`.

    `total` is estimated from the first subject. `rows` is the number of rows made by these calls,
    of `subjects`. `rate` is calls per second over the last seconds; `eta_s` is None until it is
    known; `cost` is None if the price is not known. `rate_limited` and `waiting_s` are those of
    `ServerLoad`.
    """

    done: int
    total: int
    rows: int = 0
    subjects: int = 0
    reused: int
    made: int
    in_flight: int
    statuses: Mapping[str, int]
    rate: float
    eta_s: float | None
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    elapsed_s: float
    judge: str = ""
    rate_limited: int = 0
    waiting_s: float = 0.0


ProgressCallback = Callable[[Progress], None]


@dataclass(slots=True)
class Tally:
    """The running counts of `Progress`. Only calls made in this run have a cost."""

    price: Price | None
    made: Counter[str] = field(default_factory=Counter)
    reused: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    without_tokens: int = 0
    began: float = field(default_factory=time.monotonic)
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, reply: Reply) -> None:
        """Count one call of this run."""
        self.made[reply.status] += 1
        if reply.prompt_tokens is None and reply.completion_tokens is None:
            self.without_tokens += 1
            return
        prompt = reply.prompt_tokens or 0
        completion = reply.completion_tokens or 0
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.cached_tokens += reply.cached_tokens or 0
        if self.price is not None:
            self.cost += self.price.of_replies([reply])

    def add_up(self, parts: Iterable[Tally]) -> None:
        """Replace the counts with the sum of the counts of several processes."""
        tallies = list(parts)
        self.made = sum((tally.made for tally in tallies), Counter())
        self.reused = sum((tally.reused for tally in tallies), Counter())
        tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "without_tokens")
        for name in (*tokens, "in_flight", "cost"):
            setattr(self, name, sum(getattr(tally, name) for tally in tallies))

    @property
    def calls_made(self) -> int:
        return self.made.total()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def snapshot(
        self, *, total: int, subjects: int = 0, judge: str = "", load: ServerLoad = IDLE
    ) -> Progress:
        """The current counts, of `total` calls about `subjects`."""
        made = self.made.total()
        reused = self.reused.total()
        done = made + reused
        total = max(total, done)
        rate = self._pace(made)
        return Progress(
            done=done,
            total=total,
            rows=done * subjects // max(total, 1),
            subjects=subjects,
            reused=reused,
            made=made,
            in_flight=self.in_flight,
            statuses=dict(self.made + self.reused),
            rate=rate,
            eta_s=(total - done) / rate if rate > 0 else None,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost=self.cost if self.price is not None else None,
            elapsed_s=self.elapsed_s,
            judge=judge,
            rate_limited=load.rate_limited,
            waiting_s=load.waiting_s,
        )

    def _pace(self, made: int) -> float:
        """Calls per second over the last seconds, or since the run started."""
        now = time.monotonic()
        self._recent.append((now, made))
        while len(self._recent) > 2 and now - self._recent[1][0] >= _PACE_S:
            self._recent.popleft()
        since, before = self._recent[0] if now - self.began > _PACE_S else (self.began, 0)
        return (made - before) / (now - since) if now > since else 0.0


def describe_progress(now: Progress) -> str:
    """The state of a run as one line of text.

    >>> describe_progress(Progress(done=50, total=100, rows=25, subjects=50, reused=10, made=40,
    ...      in_flight=4, statuses={"ok": 49, "unparsed": 1}, rate=8.0, eta_s=6.25,
    ...      prompt_tokens=4000, completion_tokens=40, cost=0.5, elapsed_s=5.0, rate_limited=3, waiting_s=2.0))
    '25/50 rows · 8.0 calls/s · 6 s left · waiting 2 s, requested by the server · rate limited (429) 3 times · 4,040 tokens · $0.50 · 10 reused · 1 unparsed'
    """  # noqa: E501  (one line, as it is shown)
    left = None if now.done >= now.total else now.eta_s
    tokens = now.prompt_tokens + now.completion_tokens
    parts = [f"{now.rows:,}/{now.subjects:,} rows", f"{now.rate:,.1f} calls/s"]
    if left is not None:
        parts.append(f"{_span(left)} left")
    if now.waiting_s > 0:
        parts.append(f"waiting {_span(now.waiting_s)}, requested by the server")
    if now.rate_limited:
        parts.append(f"rate limited (429) {now.rate_limited:,} times")
    if tokens:
        parts.append(f"{tokens:,} tokens")
    if now.cost:
        parts.append(f"${now.cost:,.2f}")
    if now.reused:
        parts.append(f"{now.reused:,} reused")
    parts += [f"{n:,} {name}" for name, n in now.statuses.items() if name != "ok" and n]
    return " · ".join(parts)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class ProgressLine:
    """Shows snapshots as they come, one line for each judge."""

    def __init__(self) -> None:
        self._cells: dict[str, Any] = {}
        self._line_at = time.monotonic()

    def __call__(self, now: Progress) -> None:
        """Take one snapshot."""
        words = describe_progress(now)
        line = safe(f"{now.judge}: {words}" if now.judge else words)
        if _in_notebook():
            bar = f'<progress value="{now.done}" max="{max(now.total, 1)}"></progress>'
            shown = {"text/plain": line, "text/html": f"<div>{bar} {escape(line)}</div>"}
            if now.judge in self._cells:
                self._cells[now.judge].update(shown, raw=True)
            else:
                display = importlib.import_module("IPython.display").display
                self._cells[now.judge] = display(shown, raw=True, display_id=True)
        elif sys.stderr.isatty():
            end = "\n" if now.done >= now.total else ""
            print(f"\r\x1b[2K{clip(line, _WIDTH)}", end=end, file=sys.stderr, flush=True)
        elif time.monotonic() - self._line_at >= LINE_EVERY_S:
            self._line_at = time.monotonic()
            print(line, file=sys.stderr, flush=True)


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code; IPython in a terminal has none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
