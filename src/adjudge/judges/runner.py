"""The runner: asks every question of every subject once, through the store, in bounded memory.

Feeders read subjects in small batches, look their calls up and claim what is missing; workers ask.
A worker takes the next question only after its last reply is committed. So if the process is
killed, at most `concurrency` replies are lost.

A resumed run has two feeders. One starts at the place where the run stopped, so that the judge has
work immediately. Meanwhile the other checks the answered beginning, and asks what is missing there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence

from adjudge.errors import UnusableRepliesError
from adjudge.judges.calls import Work
from adjudge.judges.context import RunContext
from adjudge.judges.feeding import Feeder
from adjudge.judges.flow import NotSentError
from adjudge.judges.interface import Judge
from adjudge.records import Reply, Subject

_WATCH_EVERY_S = 0.5


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
        batch = min(max(4 * self._concurrency, 8), 512)
        self._queue: asyncio.Queue[Work | None] = asyncio.Queue(batch)
        self._feeders = [Feeder(context, notes, self._queue) for notes in context.calls.parts]
        self._failure: Exception | None = None

    @property
    def open_calls(self) -> int:
        """Prepared calls without a reply, including calls that others are making."""
        waiting = sum(len(feeder.waiting) for feeder in self._feeders)
        return len(self._context.claimed) + waiting

    async def run(self) -> None:
        """Ask everything. Raises the error that stopped it, after storing all replies.

        The last part of the subjects comes first: the parts before it are mostly answered.
        """
        await self._run([_one_block(notes.subjects) for notes in self._context.calls.parts])

    async def run_blocks(self, blocks: AsyncIterator[Iterable[Subject]]) -> None:
        """`run` for subjects that come in blocks; empty blocks come while it has to wait."""
        await self._run([blocks])

    async def _run(self, parts: Sequence[AsyncIterator[Iterable[Subject]]]) -> None:
        workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        feeding = asyncio.create_task(self._feed(parts))
        watch = asyncio.create_task(self._watch())
        tasks = [watch, feeding, *workers]
        try:
            await asyncio.gather(feeding, *workers)
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

    async def _feed(self, parts: Sequence[AsyncIterator[Iterable[Subject]]]) -> None:
        feeds = zip(reversed(self._feeders), reversed(parts), strict=True)
        await asyncio.gather(*(self._feed_part(feeder, blocks) for feeder, blocks in feeds))
        for _ in range(self._concurrency):
            await self._queue.put(None)

    async def _feed_part(self, feeder: Feeder, blocks: AsyncIterator[Iterable[Subject]]) -> None:
        try:
            await feeder.feed(blocks)
        except Exception as error:
            self._fail(error)

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
