"""Asking through a batch service: everything is sent, then collected within a day, at half price.

The same keys, the same store, the same rows as asking one by one. What is under way belongs to
the service and outlives this process; its list lies in a folder beside the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from adjudge.errors import ArgumentError
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.backends.openai_batch import PRICE_FACTOR, BatchProgress, OpenAIBatches
from adjudge.judges.interface import Judge, Question, Text
from adjudge.judges.prices import Price
from adjudge.judges.progress import Tally
from adjudge.judges.redact import Secrets
from adjudge.judges.runner import ProgressCallback, Work, expected_cost, kept_call, prepare
from adjudge.judges.stopping import Stop
from adjudge.judges.subjects import Subject
from adjudge.records import Reply, Status
from adjudge.store.thread import StoreThread

#: Calls looked up and sent together; also the most that are held in memory.
_CALLS_AT_ONCE = 10_000


def batch_price(price: Price | None) -> Price | None:
    """What the same tokens cost in a batch."""
    if price is None:
        return None
    share = PRICE_FACTOR
    return Price(price.prompt * share, price.completion * share, f"{price.source}, batch: half")


class BatchRunner:
    """One pass of sending and collecting. Make one per run."""

    def __init__(
        self,
        judge: Judge,
        store: StoreThread,
        *,
        folder: Path,
        tally: Tally,
        stop: Stop,
        retry: Collection[Status],
        since: int,
        max_cost: float | None = None,
        progress: ProgressCallback | None = None,
        poll_s: float = 30.0,
    ) -> None:
        if not isinstance(judge.backend, OpenAIBackend):
            raise ArgumentError(
                "batch", judge.backend.name, "only openai: judges have batches; leave it out"
            )
        self._backend = judge.backend
        self._judge = judge
        self._store = store
        self._folder = folder
        self._tally = tally
        self._stop = stop
        self._retry = retry
        self._since = since
        self._max_cost = max_cost
        self._progress = progress
        self._poll_s = poll_s
        self._committed = 0.0
        self._secrets = Secrets()

    async def run(self, subjects: Iterable[Subject]) -> None:
        """Send what is neither kept nor under way, then wait for all of it."""
        remaining = iter(subjects)
        async with OpenAIBatches(self._backend, self._folder) as batches:
            elsewhere: list[Work] = []
            while not self._stop.requested:
                work = await asyncio.to_thread(self._next, remaining)
                if not work:
                    break
                elsewhere += await self._send(batches, work)
            await self._collect(batches)
            while elsewhere and not self._stop.requested:
                # Another process asks these now: it answers them, or leaves them to us.
                await asyncio.sleep(min(self._poll_s, 1.0))
                elsewhere = await self._send(batches, elsewhere)
                await self._collect(batches)
        self._show()

    def _next(self, subjects: Iterator[Subject]) -> list[Work]:
        work: list[Work] = []
        while len(work) < _CALLS_AT_ONCE and (some := list(islice(subjects, 64))):
            for subject in some:
                work += prepare(self._judge, subject)
        return work

    async def _send(self, batches: OpenAIBatches, work: list[Work]) -> list[Work]:
        """Send what is ours to send; returns what is under way in another process."""
        claimed = await self._store.claim(
            [one.key for one in work], retry=self._retry, since=self._since
        )
        for one in work:
            if one.key in claimed.done:
                self._tally.reused[claimed.done[one.key]] += 1
        ours = list({one.key: one for one in work if one.key in claimed.ours}.values())
        if not self._affordable(ours, batches.pending()):
            self._stop.request("max_cost")
        elif ours:
            await batches.submit((one.key, one.question, self._meta(one)) for one in ours)
        self._show()
        return [one for one in work if one.key in claimed.busy]

    async def _collect(self, batches: OpenAIBatches) -> None:
        """Keep every reply. What was paid for is waited for; only a signal ends the waiting."""
        async for call, reply in batches.collect(
            poll_s=self._poll_s,
            on_poll=self._told,
            stopped=lambda: self._stop.reason == "interrupted",
        ):
            await self._keep(call.key, dict(call.meta), reply)

    def _affordable(self, work: list[Work], under_way: set[str]) -> bool:
        if self._max_cost is None or self._tally.price is None:
            return True
        self._committed += sum(
            expected_cost(one.question, self._tally.price)
            for one in work
            if one.key not in under_way
        )
        return self._committed <= self._max_cost

    async def _keep(self, key: str, meta: dict[str, Any], reply: Reply) -> None:
        question = Question((), Text(0), meta["order"], meta["repeat"], meta["slot"])
        await self._store.save(
            kept_call(
                self._secrets.of(reply),
                question,
                key=key,
                content=meta["content"],
                subject_id=meta["subject"],
                fingerprint=meta["fingerprint"],
            )
        )
        self._tally.add(reply.status, reply.prompt_tokens, reply.completion_tokens)
        self._show()

    def _meta(self, work: Work) -> dict[str, Any]:
        question = work.question
        return {
            "subject": work.subject.id,
            "content": work.content,
            "order": question.order,
            "repeat": question.repeat,
            "slot": question.slot,
            "fingerprint": self._judge.fingerprint,
        }

    def _told(self, now: BatchProgress) -> None:
        self._tally.in_flight = now.calls - now.answered
        self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress(self._tally.snapshot())
