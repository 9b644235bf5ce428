"""How a run is going: counts while it runs, a snapshot for whoever watches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adjudge.judges.prices import Price
from adjudge.records import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One moment of a run, while it asks `judge`.

    `total` is known from the first subject and may be off by a few.
    `rate` is calls a second over this run; `eta_s` is None until it is known; `cost` is None when
    the price is not known.
    """

    done: int
    total: int
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


ProgressCallback = Callable[[Progress], None]


@dataclass(slots=True)
class Tally:
    """The running counts behind `Progress`. Only this run's own calls cost anything."""

    price: Price | None
    made: Counter[str] = field(default_factory=Counter)
    reused: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    without_tokens: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, reply: Reply) -> None:
        """Count one call made now."""
        self.made[reply.status] += 1
        if reply.prompt_tokens is None and reply.completion_tokens is None:
            self.without_tokens += 1
            return
        prompt, completion = reply.prompt_tokens or 0, reply.completion_tokens or 0
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        if self.price is not None:
            self.cost += self.price.of(prompt, completion)

    @property
    def calls_made(self) -> int:
        """Calls made in this run."""
        return self.made.total()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def snapshot(self, *, total: int, judge: str = "") -> Progress:
        """The counts as they are now, of `total` calls to come."""
        made, reused = self.made.total(), self.reused.total()
        elapsed = self.elapsed_s
        rate = made / elapsed if elapsed > 0 else 0.0
        left = max(0, total - made - reused)
        return Progress(
            done=made + reused,
            total=max(total, made + reused),
            reused=reused,
            made=made,
            in_flight=self.in_flight,
            statuses=dict(self.made + self.reused),
            rate=rate,
            eta_s=left / rate if rate > 0 else None,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost=self.cost if self.price is not None else None,
            elapsed_s=elapsed,
            judge=judge,
        )
