"""How a run is going: counts while it runs, a snapshot for whoever watches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudge.judges.prices import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One moment of a run. `total` is known from the first subject and may be off by a few.

    `rate` is calls a second over this run; `eta_s` is None until it can be told; `cost` is None
    when the price is not known.
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


@dataclass(slots=True)
class Tally:
    """The running counts behind `Progress`. Only this run's own calls cost anything."""

    price: Price | None
    total: int = 0
    made: Counter[str] = field(default_factory=Counter)
    reused: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    untold_tokens: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, status: str, prompt: int | None, completion: int | None) -> None:
        """Count one call made now."""
        self.made[status] += 1
        if prompt is None and completion is None:
            self.untold_tokens += 1
            return
        self.prompt_tokens += prompt or 0
        self.completion_tokens += completion or 0
        if self.price is not None:
            self.cost += self.price.of(prompt or 0, completion or 0)

    @property
    def calls_made(self) -> int:
        """Calls made in this run."""
        return self.made.total()

    def snapshot(self) -> Progress:
        """The counts as they stand."""
        made, reused = self.made.total(), self.reused.total()
        elapsed = time.monotonic() - self.began
        rate = made / elapsed if elapsed > 0 else 0.0
        left = max(0, self.total - made - reused)
        return Progress(
            done=made + reused,
            total=max(self.total, made + reused),
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
        )
