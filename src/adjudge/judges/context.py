"""What one run of one judge works with: its options, its store, its calls and its counts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any

from adjudge.judges.calls import CallList, Work
from adjudge.judges.flow import Pace, ServerLoad
from adjudge.judges.interface import Judge
from adjudge.judges.options import JudgingOptions
from adjudge.judges.progress import Tally
from adjudge.judges.redact import Redactor, environment_secrets
from adjudge.judges.replies import check_reply, without_raw
from adjudge.judges.rows import RowMaker
from adjudge.records import Reply, Status
from adjudge.store.interface import Call, CallRow, Claim, Store
from adjudge.store.tables import CALL_ID, answered, decode_reply
from adjudge.store.thread import StoreThread

_SHOW_EVERY_S = 0.1


@dataclass(slots=True, kw_only=True)
class RunContext:
    """What one run of one judge works with. `since` is the call id at which its history begins.

    `budget` is the amount that can be spent. `more_budget` waits for more of it and returns whether
    there was any. `spent` is the cost of earlier judges, which share the budget. `claimed` holds
    the calls that are claimed in the store and not answered yet. If workers ask instead, they
    report the `load` of their servers and their `remarks`. `maker` makes rows of calls that were
    answered before; without it, these are made at the end with the others.
    """

    judge: Judge
    options: JudgingOptions
    store: StoreThread
    since: int
    calls: CallList
    tally: Tally
    budget: float | None = None
    more_budget: Callable[[], Awaitable[bool]] | None = None
    spent: float = 0.0
    pace: Pace | None = None
    load: ServerLoad | None = None
    remarks: tuple[str, ...] = ()
    maker: RowMaker | None = None
    _redactor: Redactor = field(init=False)
    claimed: set[str] = field(default_factory=set)
    _remembered: bool = False
    _shown: float = 0.0

    def __post_init__(self) -> None:
        self._redactor = Redactor([*environment_secrets(), *self.judge.backend.secrets()])

    async def claim(self, work: list[Work]) -> tuple[list[Work], list[Work]]:
        """Claim calls: returns those that this run must make, and those that others are making.

        If a question occurs twice, it is asked once and waited for once.
        """
        keys, retry = [one.key for one in work], self.options.statuses_to_ask_again
        again: frozenset[str] = frozenset()
        if self.options.retry:
            again = self._read_again(await self.store.do(methodcaller("lookup_rows", keys)))
        claim = await self.store.do_apart(lambda store: self._claim(store, keys, retry, again))
        free = set(claim.ours)
        self.claimed |= free
        ours: list[Work] = []
        busy: list[Work] = []
        for one in work:
            if one.key in claim.done:
                self.tally.reused[claim.done[one.key]] += 1
            elif one.key in free:
                free.remove(one.key)
                ours.append(one)
            else:
                busy.append(one)
        self.show()
        return ours, busy

    async def look_up(
        self, keys: Sequence[str]
    ) -> tuple[Mapping[str, CallRow], Mapping[str, Status]]:
        """What the store has of these calls, and those of them that are not asked (again)."""
        kept: dict[str, CallRow] = await self.store.do(methodcaller("lookup_rows", keys))
        retry, again = self.options.statuses_to_ask_again, self._read_again(kept)
        return kept, answered(kept, retry=retry, since=self.since, again=again)

    def _read_again(self, kept: Mapping[str, CallRow]) -> frozenset[str]:
        """Calls whose stored reply is ok, but is read as a status that is asked again."""
        if not self.options.retry:
            return frozenset()
        return frozenset(
            key
            for key, row in kept.items()
            if row[CALL_ID] <= self.since
            and self.options.asks_again(self.judge, decode_reply(row, self.store.name))
        )

    def _claim(
        self, store: Store, keys: list[str], retry: frozenset[Status], again: frozenset[str]
    ) -> Claim:
        """Claim calls. The first claim also stores the judge, for processes that wait for it."""
        claim = store.claim(keys, retry=retry, since=self.since, again=again)
        if not self._remembered:
            judge = self.judge
            store.remember_judge(
                judge.fingerprint,
                judge=judge.backend.name,
                protocol=judge.protocol.name,
                parts=judge.fingerprint_parts,
            )
            self._remembered = True
        return claim

    async def keep(self, key: str, description: Mapping[str, Any], reply: Reply) -> None:
        """Store and count a call, with its reply checked and secrets redacted.

        Returns once it is committed.
        """
        clean = self._redactor.clean(check_reply(reply))
        kept = clean if self.options.keep_raw else without_raw(clean)
        await self.store.save(Call(call_key=key, reply=kept, **description))
        self.claimed.discard(key)
        self.tally.add(clean)

    async def release(self) -> None:
        """Release calls that were claimed and never asked; an open store would keep the claims."""
        if self.options.stop.reason == "interrupted":
            self.store.hurry()
        if self.claimed:
            keys, self.claimed = self.claimed, set()
            await self.store.do(lambda store: store.release(keys))

    def show(self, *, force: bool = False) -> None:
        """Report a snapshot from time to time."""
        progress, now = self.options.progress, time.monotonic()
        if callable(progress) and (force or now - self._shown >= _SHOW_EVERY_S):
            self._shown = now
            calls, backend = self.calls, self.judge.backend
            progress(
                self.tally.snapshot(
                    total=calls.total,
                    subjects=calls.count,
                    judge=backend.name,
                    load=self.load or backend.load(),
                )
            )
