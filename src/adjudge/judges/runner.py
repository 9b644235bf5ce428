"""The runner: asks every question of every subject once, through the store, in bounded memory.

A feeder reads subjects in small batches, looks their calls up and claims what is missing; workers
ask. A worker takes the next question only after its last reply is committed. So if the process is
killed, at most `concurrency` replies are lost.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any

from adjudge.errors import UnusableRepliesError
from adjudge.judges.calls import CallList, Work, by_beginning, prepare_calls
from adjudge.judges.flow import NotSentError, Pace, ServerLoad
from adjudge.judges.interface import Judge
from adjudge.judges.options import JudgingOptions
from adjudge.judges.progress import Tally
from adjudge.judges.redact import Redactor, environment_secrets
from adjudge.judges.replies import check_reply, without_raw
from adjudge.judges.rows import RowMaker
from adjudge.records import Reply, Status, Subject
from adjudge.store.columns import CALL_ID, answered, decode_reply
from adjudge.store.interface import Call, CallRow, Claim, Store
from adjudge.store.thread import StoreThread

#: Seconds between two checks of calls that another process is making.
_POLL_S = 0.2
#: The number of calls that can wait for other processes before this one stops reading.
_MOST_WAITING = 4096
#: The number of calls that are sorted before they are asked, so that prompts follow each other.
_CALLS_AHEAD = 1024
_SHOW_EVERY_S = 0.1
_WATCH_EVERY_S = 0.5


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

    async def open_calls(self, batch: list[tuple[Subject, list[str]]]) -> list[Work]:
        """The calls of these subjects that are not answered yet; the others are counted.

        Rows are made of subjects whose calls are all answered, from what was looked up for that.
        """
        keys = [key for _, own in batch for key in own]
        kept: dict[str, CallRow] = await self.store.do(methodcaller("lookup_rows", keys))
        done = answered(
            kept,
            retry=self.options.statuses_to_ask_again,
            since=self.since,
            again=self._read_again(kept),
        )
        self.tally.reused.update([done[key] for key in keys if key in done])
        work: list[Work] = []
        for subject, own in batch:
            if any(key not in done for key in own):
                self.calls.note(own)
                work += [one for one in prepare_calls(self.judge, subject) if one.key not in done]
            else:
                replies = [kept[key] for key in own]
                rows = None if self.maker is None else self.maker.rows_of(subject, replies)
                self.calls.note(own, rows)
        self.show()
        return work

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
        if progress is not None and (force or now - self._shown >= _SHOW_EVERY_S):
            self._shown = now
            calls, backend = self.calls, self.judge.backend
            progress(
                self.tally.snapshot(
                    total=calls.total,
                    subjects=calls.subjects,
                    judge=backend.name,
                    load=self.load or backend.load(),
                )
            )


def _next_calls(calls: CallList, subjects: Iterator[Subject]) -> list[Work]:
    return by_beginning(calls.prepare(subjects, _CALLS_AHEAD))


async def _one_block(subjects: Iterable[Subject]) -> AsyncIterator[Iterable[Subject]]:
    yield subjects


class FirstReplies:
    """Checks the first replies of a run: if none is usable, the others will not be either.

    A server without log probabilities, or a judge that thinks first, would otherwise cost the
    complete run. Reasons can alternate: with a judge that thinks first the letters sometimes have
    too little probability, and sometimes are not listed.
    """

    REASONS = frozenset({"no_logprobs", "off_answer", "unparsed"})
    ENOUGH = 10

    def __init__(self, judge: Judge, *, keep_going: bool) -> None:
        self._judge = judge
        #: Whether the rest can be asked: one reply was usable, or --keep-going is set.
        self.passed = keep_going
        self._open = not keep_going
        self._seen: list[tuple[str, str | None]] = []

    def trust(self) -> None:
        """Stop checking: there was a usable reply, here or in another process."""
        self.passed, self._open = True, False

    def add(self, reply: Reply) -> None:
        """Check one reply. Raises UnusableRepliesError after too many unusable ones."""
        if not self._open:
            return
        status, detail = self._judge.protocol.status_of(reply)
        self._seen.append((status, detail))
        if status not in self.REASONS:
            self.trust()
        elif len(self._seen) == self.ENOUGH:
            self._open = False
            counts = Counter(status for status, _ in self._seen)
            (most, _), *others = counts.most_common()
            named = ", ".join(f"{n} {name}" for name, n in counts.items())
            words = next((words for status, words in self._seen if status == most), None)
            raise UnusableRepliesError(
                f"{self._judge.backend.name}: the first {self.ENOUGH} replies have no usable "
                f"score, {named if others else f'all {most}'}"
                + (f": {words}" if words else "")
                + "; or continue with --keep-going"
            )


class Runner:
    """One pass of asking. Make one per run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._backend = context.judge.backend
        self._tally = context.tally
        self._stop = context.options.stop
        self._concurrency = context.options.concurrency or self._backend.concurrency
        self._pace = context.pace
        self._reserved = 0.0
        self.first_replies = FirstReplies(context.judge, keep_going=context.options.keep_going)
        # Small claims for slow judges, so that a second process has work; large for fast ones.
        self._batch = min(max(4 * self._concurrency, 8), 512)
        self._queue: asyncio.Queue[Work | None] = asyncio.Queue(self._batch)
        self._waiting: list[Work] = []
        # Most calls of a resumed run are answered: many are looked up together, and only
        # the others are prepared and claimed. A first run has no answered calls and stops looking.
        self._looks = True
        self._failure: Exception | None = None

    @property
    def open_calls(self) -> int:
        """Prepared calls without a reply, including calls that others are making."""
        return len(self._context.claimed) + len(self._waiting)

    async def run(self, subjects: Iterable[Subject]) -> None:
        """Ask everything. Raises the error that stopped it, after storing all replies."""
        await self.run_blocks(_one_block(subjects))

    async def run_blocks(self, blocks: AsyncIterator[Iterable[Subject]]) -> None:
        """`run` for subjects that come in blocks; empty blocks come while it has to wait."""
        workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        feeder = asyncio.create_task(self._feed(blocks))
        watch = asyncio.create_task(self._watch())
        tasks = [watch, feeder, *workers]
        try:
            await asyncio.gather(feeder, *workers)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._context.release()
        self._context.show(force=True)
        if self._failure is not None:
            raise self._failure

    async def _watch(self) -> None:
        """Show progress also without replies: a server can ask to wait for minutes."""
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            self._context.show()

    async def _feed(self, blocks: AsyncIterator[Iterable[Subject]]) -> None:
        try:
            async for subjects in blocks:
                await self._feed_block(iter(subjects))
                if self._waiting and not self._stop.requested:
                    await self._wait_for_others()
            while self._waiting and not self._stop.requested:
                await self._wait_for_others()
        except Exception as error:
            self._fail(error)
        finally:
            for _ in range(self._concurrency):
                await self._queue.put(None)

    async def _feed_block(self, subjects: Iterator[Subject]) -> None:
        calls = self._context.calls
        while not self._stop.requested:
            reused = self._tally.reused.total()
            if self._looks:
                batch = await asyncio.to_thread(calls.look, subjects, _CALLS_AHEAD)
                ahead = by_beginning(await self._context.open_calls(batch))
                ended = not batch
            else:
                ahead = await asyncio.to_thread(_next_calls, calls, subjects)
                ended = not ahead
            if ended:
                return
            while ahead and not self._stop.requested:
                self._waiting += await self._offer(ahead[: self._batch])
                ahead = ahead[self._batch :]
            self._looks = self._tally.reused.total() > reused
            while len(self._waiting) > _MOST_WAITING and not self._stop.requested:
                await self._wait_for_others()

    async def _wait_for_others(self) -> None:
        await asyncio.sleep(_POLL_S)
        self._waiting = await self._offer(self._waiting)

    async def _offer(self, batch: list[Work]) -> list[Work]:
        """Claim a batch and queue the claimed calls; returns the calls that others are making."""
        ours, busy = await self._context.claim(batch)
        for work in ours:
            await self._queue.put(work)
        return busy

    async def _work(self) -> None:
        while (work := await self._queue.get()) is not None:
            if self._stop.requested:
                continue
            try:
                await self._make(work)
            except Exception as error:
                self._fail(error)

    async def _make(self, work: Work) -> None:
        context = self._context
        while (reserved := self._reserve(work)) is None:
            if context.more_budget is None or not await context.more_budget():
                self._stop.request("max_cost")
                return
        try:
            if self._pace is not None:
                await self._pace.turn()
            self._tally.in_flight += 1
            try:
                reply = await self._backend.ask_about(work.subject, work.question)
                await context.keep(work.key, work.describe(context.judge), reply)
                self.first_replies.add(reply)
            finally:
                self._tally.in_flight -= 1
        except NotSentError:
            return
        finally:
            self._reserved -= reserved
        context.show()

    def _reserve(self, work: Work) -> float | None:
        """Reserve the maximum cost of this call while it is in flight; None if it is too much."""
        price, budget = self._tally.price, self._context.budget
        if budget is None or price is None:
            return 0.0
        made = self._tally.calls_made
        expected = self._tally.cost / made if made >= 8 else work.expected_cost(price)
        if self._context.spent + self._tally.cost + self._reserved + expected > budget:
            return None
        self._reserved += expected
        return expected

    def _fail(self, error: Exception) -> None:
        """Keep the first error and wait for the calls in flight."""
        self._failure = self._failure or error
        self._stop.request("failed")
