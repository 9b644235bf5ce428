"""Feeding a run: the place where it resumes, and its open calls on their way to the workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from itertools import islice

from adjudge.judges.calls import (
    CallNotes,
    Work,
    by_beginning,
    call_keys,
    prepare_calls,
    take,
)
from adjudge.judges.context import RunContext
from adjudge.judges.subjects import OpenSubjects
from adjudge.records import Subject

#: Seconds between two checks of calls that another process is making.
_POLL_S = 0.2
#: The number of calls that can wait for other processes before this one stops reading.
_MOST_WAITING = 4096
#: The number of calls that are sorted before they are asked, so that prompts follow each other.
_CALLS_AHEAD = 1024
#: The number of neighbours that are looked up together to find the place where a run stopped.
_NEIGHBOURS = 16


async def find_place(context: RunContext, subjects: OpenSubjects) -> int:
    """The position at which an earlier run probably stopped; 0 if there was none.

    A run asks in input order, so the place is found by bisection, with about 20 look-ups for a
    million subjects. It decides what is asked first and nothing else: the calls on both sides of it
    are looked up again. The majority of neighbours decides, because single calls can have failed.
    """
    if context.calls.total <= _CALLS_AHEAD:
        return 0

    async def is_answered(at: int) -> bool:
        _, rest = subjects.cut(at)
        near = islice(rest, _NEIGHBOURS)
        keys = [key for subject in near for key in call_keys(context.judge, subject)]
        _, done = await context.look_up(keys)
        return 2 * sum(key in done for key in keys) > len(keys)

    if not await is_answered(0):
        return 0
    # In steps of neighbours: `low` is answered, `high` is not, or is the end.
    low, high = 0, -(-subjects.positions // _NEIGHBOURS)
    while high - low > 1:
        middle = (low + high) // 2
        if await is_answered(middle * _NEIGHBOURS):
            low = middle
        else:
            high = middle
    return low * _NEIGHBOURS


class Feeder:
    """Queues the open calls of consecutive subjects, in small batches: looked up, then claimed."""

    def __init__(
        self, context: RunContext, notes: CallNotes, queue: asyncio.Queue[Work | None]
    ) -> None:
        self._context = context
        self._notes = notes
        self._queue = queue
        self._stop = context.options.stop
        #: Calls that others are making.
        self.waiting: list[Work] = []
        # Most calls of a resumed run are answered: many are looked up together, and only
        # the others are prepared and claimed. A first run has no answered calls and stops looking.
        self._looks = True

    async def feed(self, blocks: AsyncIterator[Iterable[Subject]]) -> None:
        """Queue the open calls of subjects that come in blocks; returns when all are answered.

        Empty blocks come while there is nothing else to do.
        """
        async for subjects in blocks:
            await self._feed_block(iter(subjects))
            if self.waiting and not self._stop.requested:
                await self._wait_for_others()
        while self.waiting and not self._stop.requested:
            await self._wait_for_others()

    async def _feed_block(self, subjects: Iterator[Subject]) -> None:
        size = self._queue.maxsize
        while not self._stop.requested:
            ahead, answered = await self._next(subjects)
            if not ahead and not answered:
                return
            while ahead and not self._stop.requested:
                busy, known = await self._offer(ahead[:size])
                self.waiting += busy
                answered += known
                ahead = ahead[size:]
            self._looks = answered > 0
            while len(self.waiting) > _MOST_WAITING and not self._stop.requested:
                await self._wait_for_others()

    async def _next(self, subjects: Iterator[Subject]) -> tuple[list[Work], int]:
        """The next calls to claim, and the number of those that are already answered."""
        judge = self._context.judge
        if self._looks:
            batch = await asyncio.to_thread(take, subjects, _CALLS_AHEAD, partial(call_keys, judge))
            work = await self._open_calls(batch)
            return by_beginning(work), sum(len(keys) for _, keys in batch) - len(work)
        prepare = partial(prepare_calls, judge)
        prepared = await asyncio.to_thread(take, subjects, _CALLS_AHEAD, prepare)
        for _, own in prepared:
            self._notes.note([one.key for one in own])
        return by_beginning([one for _, own in prepared for one in own]), 0

    async def _open_calls(self, batch: list[tuple[Subject, list[str]]]) -> list[Work]:
        """The calls of these subjects that are not answered yet; the others are counted.

        Rows are made of subjects whose calls are all answered, from what was looked up for that.
        """
        context = self._context
        keys = [key for _, own in batch for key in own]
        kept, done = await context.look_up(keys)
        context.tally.reused.update([done[key] for key in keys if key in done])
        work: list[Work] = []
        for subject, own in batch:
            if any(key not in done for key in own):
                self._notes.note(own)
                calls = prepare_calls(context.judge, subject)
                work += [one for one in calls if one.key not in done]
            else:
                replies = [kept[key] for key in own]
                rows = None if context.maker is None else context.maker.rows_of(subject, replies)
                self._notes.note(own, rows)
        context.show()
        return work

    async def _wait_for_others(self) -> None:
        await asyncio.sleep(_POLL_S)
        self.waiting, _ = await self._offer(self.waiting)

    async def _offer(self, batch: list[Work]) -> tuple[list[Work], int]:
        """Claim a batch and queue the claimed calls.

        Returns the calls that others are making, and the number of those already answered.
        """
        ours, busy = await self._context.claim(batch)
        for work in ours:
            await self._queue.put(work)
        return busy, len(batch) - len(ours) - len(busy)
