"""Asking: every question of every subject, once, through the store, in bounded memory.

A feeder reads subjects in small batches, looks their calls up and claims what is missing; workers
ask. A worker takes the next question only after its last reply is committed, so that whatever
kills the process, no more than `concurrency` replies are ever lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from adjudge.judges.fingerprint import question_hash
from adjudge.judges.interface import Judge, KeepsPace, KnowsSubject, Question
from adjudge.judges.pace import NotSentError, Pace
from adjudge.judges.prices import Price
from adjudge.judges.progress import Progress, Tally
from adjudge.judges.redact import Secrets
from adjudge.judges.stopping import Stop
from adjudge.judges.subjects import Subject
from adjudge.records import Reply, Status
from adjudge.store.interface import Call
from adjudge.store.keys import call_key
from adjudge.store.thread import StoreThread

ProgressCallback = Callable[[Progress], None]

#: Between two looks at calls that another process is making.
_POLL_S = 0.2
#: So many calls may wait for other processes before this one stops reading on.
_MOST_WAITING = 4096
_SHOW_EVERY_S = 0.1
_CHARACTERS_PER_TOKEN = 4.0


@dataclass(frozen=True, slots=True)
class Work:
    """One call to make: its question, and the key it is kept under."""

    subject: Subject
    question: Question
    content: str
    key: str


def prepare(judge: Judge, subject: Subject) -> list[Work]:
    """The calls of one subject."""
    # Not isinstance: for a protocol class that costs as much as all the rest of this function.
    told = subject if hasattr(judge.backend, "ask_about") else None
    work = []
    for question in judge.protocol.questions(subject):
        content = question_hash(question, told)
        key = call_key(judge.fingerprint, content, question.order, question.repeat, question.slot)
        work.append(Work(subject, question, content, key))
    return work


def expected_cost(question: Question, price: Price) -> float:
    """What a call will cost, by its length; what is written may be as long as it is allowed."""
    characters = sum(len(message.text) for message in question.messages)
    written = getattr(question.want, "max_tokens", 1)
    return price.of(round(characters / _CHARACTERS_PER_TOKEN), written)


def kept_call(
    reply: Reply, question: Question, *, key: str, content: str, subject_id: str, fingerprint: str
) -> Call:
    """A reply as the store keeps it."""
    return Call(
        call_key=key,
        judge_fingerprint=fingerprint,
        subject_id=subject_id,
        content_hash=content,
        order=question.order,
        repeat=question.repeat,
        slot=question.slot,
        reply=reply,
    )


class Runner:
    """One pass of asking. Make one per run."""

    def __init__(
        self,
        judge: Judge,
        store: StoreThread,
        *,
        tally: Tally,
        stop: Stop,
        concurrency: int,
        retry: Collection[Status],
        since: int,
        rpm: float | None = None,
        max_cost: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._judge = judge
        self._backend = judge.backend
        self._knowing = self._backend if isinstance(self._backend, KnowsSubject) else None
        self._store = store
        self._tally = tally
        self._stop = stop
        self._concurrency = concurrency
        self._retry = retry
        self._since = since
        self._pace = Pace(rpm, stop) if rpm is not None else None
        if isinstance(self._backend, KeepsPace):
            # One call may take several requests: who sends them takes the turns.
            self._backend.keep_pace(self._pace)
            self._pace = None
        self._max_cost = max_cost
        self._reserved = 0.0
        self._progress = progress
        self._shown = 0.0
        self._secrets = Secrets()
        # Small claims for slow judges, so that a second process finds work; large for fast ones.
        self._batch = min(max(4 * concurrency, 8), 512)
        self._queue: asyncio.Queue[Work | None] = asyncio.Queue(self._batch)
        self._failure: Exception | None = None

    async def run(self, subjects: Iterable[Subject]) -> None:
        """Ask all there is to ask. Raises what stopped it, after keeping all that came back."""
        workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        feeder = asyncio.create_task(self._feed(iter(subjects)))
        tasks = [feeder, *workers]
        self._stop.on_abort(lambda: _cancel(tasks))
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            if not self._stop.at_once:
                raise
        finally:
            _cancel(tasks)
            await asyncio.gather(*tasks, return_exceptions=True)
        self._show(force=True)
        if self._failure is not None:
            raise self._failure

    async def _feed(self, subjects: Iterator[Subject]) -> None:
        waiting: list[Work] = []
        try:
            while not self._stop.requested:
                batch = await asyncio.to_thread(self._next_batch, subjects)
                if not batch:
                    break
                waiting += await self._offer(batch)
                while len(waiting) > _MOST_WAITING and not self._stop.requested:
                    waiting = await self._wait_for_others(waiting)
            while waiting and not self._stop.requested:
                waiting = await self._wait_for_others(waiting)
        except Exception as error:
            self._fail(error)
        finally:
            for _ in range(self._concurrency):
                await self._queue.put(None)

    def _next_batch(self, subjects: Iterator[Subject]) -> list[Work]:
        batch: list[Work] = []
        while len(batch) < self._batch:
            taken = list(islice(subjects, 8))
            if not taken:
                break
            for subject in taken:
                batch += prepare(self._judge, subject)
        return batch

    async def _wait_for_others(self, waiting: list[Work]) -> list[Work]:
        await asyncio.sleep(_POLL_S)
        return await self._offer(waiting)

    async def _offer(self, batch: list[Work]) -> list[Work]:
        """Claim a batch, queue what is ours; returns what others are making."""
        claimed = await self._store.claim(
            [work.key for work in batch], retry=self._retry, since=self._since
        )
        busy = []
        ours = set(claimed.ours)
        for work in batch:
            if work.key in claimed.done:
                self._tally.reused[claimed.done[work.key]] += 1
            elif work.key in ours:
                # The same question twice in one batch is asked once and waited for once.
                ours.remove(work.key)
                await self._queue.put(work)
            else:
                busy.append(work)
        self._show()
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
        reserved = self._reserve(work)
        if reserved is None:
            self._stop.request("max_cost")
            return
        try:
            if self._pace is not None:
                await self._pace.turn()
            self._tally.in_flight += 1
            try:
                if self._knowing is not None:
                    reply = await self._knowing.ask_about(work.subject, work.question)
                else:
                    reply = await self._backend.ask(work.question)
                await self._store.save(
                    kept_call(
                        self._secrets.of(reply),
                        work.question,
                        key=work.key,
                        content=work.content,
                        subject_id=work.subject.id,
                        fingerprint=self._judge.fingerprint,
                    )
                )
            finally:
                self._tally.in_flight -= 1
        except NotSentError:
            return
        finally:
            self._reserved -= reserved
        self._tally.add(reply.status, reply.prompt_tokens, reply.completion_tokens)
        self._show()

    def _reserve(self, work: Work) -> float | None:
        """What this call may cost, set aside while it is in flight; None if that is too much."""
        price = self._tally.price
        if self._max_cost is None or price is None:
            return 0.0
        made = self._tally.calls_made
        expected = self._tally.cost / made if made >= 8 else expected_cost(work.question, price)
        if self._tally.cost + self._reserved + expected > self._max_cost:
            return None
        self._reserved += expected
        return expected

    def _fail(self, error: Exception) -> None:
        """Remember the first failure and let what is in flight come home."""
        self._failure = self._failure or error
        self._stop.request("failed")

    def _show(self, *, force: bool = False) -> None:
        if self._progress is None:
            return
        now = time.monotonic()
        if force or now - self._shown >= _SHOW_EVERY_S:
            self._shown = now
            self._progress(self._tally.snapshot())


def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
