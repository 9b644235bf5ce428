"""Progress of a run: running counts, and snapshots to show."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from adjudge.judges.flow import IDLE, ServerLoad
from adjudge.judges.prices import Price
from adjudge.records import Reply

#: The rate is measured over this many last seconds.
_PACE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A snapshot of a run, while it asks `judge`.

    `total` is estimated from the first subject and can be off by a few. `rows` is the number of
    rows made by these calls, of `subjects`. `rate` is calls per second over the last seconds;
    `eta_s` is None until it is known; `cost` is None if the price is not known. `rate_limited`
    requests were refused ("too many requests") so far. `waiting_s` is how many more seconds the
    server asks to wait.
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
        prompt, completion = reply.prompt_tokens or 0, reply.completion_tokens or 0
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        if self.price is not None:
            self.cost += self.price.of(prompt, completion)

    def add_up(self, parts: Iterable[Tally]) -> None:
        """Replace the counts with the sum of the counts of several processes."""
        tallies = list(parts)
        self.made = sum((one.made for one in tallies), Counter())
        self.reused = sum((one.reused for one in tallies), Counter())
        self.in_flight = sum(one.in_flight for one in tallies)
        self.prompt_tokens = sum(one.prompt_tokens for one in tallies)
        self.completion_tokens = sum(one.completion_tokens for one in tallies)
        self.cost = sum(one.cost for one in tallies)
        self.without_tokens = sum(one.without_tokens for one in tallies)

    @property
    def calls_made(self) -> int:
        """Calls made in this run."""
        return self.made.total()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run started."""
        return time.monotonic() - self.began

    def snapshot(
        self, *, total: int, subjects: int = 0, judge: str = "", load: ServerLoad = IDLE
    ) -> Progress:
        """The current counts, of `total` calls about `subjects`."""
        made, reused = self.made.total(), self.reused.total()
        rate = self._pace(made)
        left = max(0, total - made - reused)
        return Progress(
            done=made + reused,
            total=max(total, made + reused),
            rows=(made + reused) * subjects // max(total, made + reused, 1),
            subjects=subjects,
            reused=reused,
            made=made,
            in_flight=self.in_flight,
            statuses=dict(self.made + self.reused),
            rate=rate,
            eta_s=left / rate if rate > 0 else None,
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
