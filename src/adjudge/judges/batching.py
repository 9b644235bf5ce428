"""The runner for a batch service: all calls are sent, then collected within a day, at half price.

Keys, store and rows are the same as when asking one by one. Running batches belong to the service
and continue after this process ends. Their list is kept in a folder of the user, one for each judge
and store, so that the same command continues with them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from platformdirs import user_data_path

from adjudge.errors import ArgumentError
from adjudge.judges.calls import Work, prepare_calls, take
from adjudge.judges.context import RunContext
from adjudge.judges.interface import Batches, BatchProgress

#: Calls looked up and sent together; also the maximum held in memory.
_CALLS_AT_ONCE = 10_000


def batch_folder(root: str | Path | None, fingerprint: str, store_id: str | None) -> Path:
    """The folder of a judge's batch list for a store: in `root`, or in the user's data folder."""
    if store_id is None:
        raise ArgumentError(
            "store", None, "a batch continues after this process; give a store file"
        )
    place = user_data_path("adjudge", appauthor=False) / "batches" if root is None else Path(root)
    return place.expanduser() / f"{fingerprint[:16]}-{store_id[:16]}"


class BatchRunner:
    """One pass of sending and collecting. Make one per run."""

    def __init__(self, context: RunContext, batches: Batches) -> None:
        self._context = context
        self._batches = batches
        self._tally = context.tally
        self._stop = context.options.stop
        self._committed = 0.0

    async def run(self) -> None:
        """Send the calls that are neither stored nor in flight, then wait for all of them."""
        (notes,) = self._context.calls.parts
        remaining = iter(notes.subjects)
        prepare = partial(prepare_calls, self._context.judge)
        poll_s = self._context.options.poll_s
        try:
            async with self._batches:
                elsewhere: list[Work] = []
                while not self._stop.requested:
                    batch = await asyncio.to_thread(take, remaining, _CALLS_AT_ONCE, prepare)
                    if not batch:
                        break
                    for _, own in batch:
                        notes.note([one.key for one in own])
                    elsewhere += await self._send([one for _, own in batch for one in own])
                await self._collect()
                while elsewhere and not self._stop.requested:
                    # Another process is asking these: it answers them, or releases them.
                    await asyncio.sleep(min(poll_s, 1.0))
                    elsewhere = await self._send(elsewhere)
                    await self._collect()
        finally:
            await self._context.release()
        self._context.show(force=True)

    async def _send(self, work: list[Work]) -> list[Work]:
        """Send the calls that this process claimed; returns those of another process."""
        ours, elsewhere = await self._context.claim(work)
        if not self._affordable(ours):
            self._stop.request("max_cost")
        elif ours:
            judge = self._context.judge
            await self._batches.submit((one.key, one.question, one.describe(judge)) for one in ours)
        self._context.show(force=True)
        return elsewhere

    async def _collect(self) -> None:
        """Store every reply. Sent calls are paid for, so only a signal ends the waiting."""
        async for call, reply in self._batches.collect(
            poll_s=self._context.options.poll_s,
            on_poll=self._watch,
            stopped=lambda: self._stop.reason == "interrupted",
        ):
            await self._context.keep(call.key, call.meta, reply)
            self._context.show(force=True)

    def _affordable(self, work: list[Work]) -> bool:
        max_cost, price = self._context.options.max_cost, self._tally.price
        if max_cost is None or price is None:
            return True
        under_way = self._batches.pending()
        self._committed += sum(one.expected_cost(price) for one in work if one.key not in under_way)
        return self._context.spent + self._committed <= max_cost

    def _watch(self, now: BatchProgress) -> None:
        self._tally.in_flight = now.calls - now.answered
        self._context.show(force=True)
