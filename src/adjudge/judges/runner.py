"""The runner: asks every question of every subject once, through the store, in bounded memory.

Feeders read subjects in small batches, look their calls up and claim what is missing; workers ask.
A worker takes the next question only after its last reply is committed. So if the process is
killed, at most `concurrency` replies are lost. A resumed run has two feeders: one starts at the
place where the run stopped, so that the judge has work immediately, and the other checks the
answered beginning.

A batch service gets all calls at once. Its running batches are listed in a folder of the user, one
for each judge and store, so that the same command continues with them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from adjudge.data.writing import Row
from adjudge.errors import ArgumentError, StoreError, UnusableRepliesError
from adjudge.hashing import call_key
from adjudge.judges.flow import NotSentError, Pace, ServerLoad, Tally
from adjudge.judges.interface import Judge
from adjudge.judges.judge import ask_route, kept_route, usual_route
from adjudge.judges.options import BATCH_STORE, JudgingOptions
from adjudge.judges.redact import Redactor, check_reply, environment_secrets, without_raw
from adjudge.judges.rows import RowMaker, outdated_calls
from adjudge.judges.subjects import (
    CallNotes,
    OpenSubjects,
    Work,
    by_beginning,
    call_keys,
    expected_tokens,
    prepare_calls,
    take,
)
from adjudge.records import Reply, Status, Subject
from adjudge.store.interface import Store
from adjudge.store.tables import CALL_ID, Call, CallRow, Claim, answered, decode_reply
from adjudge.store.thread import StoreThread

if TYPE_CHECKING:
    from adjudge.judges.backends._batches import Batches

#: Seconds between two snapshots, with replies and without.
_SHOW_EVERY_S = 0.1
_WATCH_EVERY_S = 0.5
#: Seconds between two checks of calls that another process is making.
_POLL_S = 0.2
#: The number of calls that can wait for other processes before this one stops reading.
_MOST_WAITING = 4096
#: The number of calls that are sorted before they are asked, so that prompts follow each other.
_CALLS_AHEAD = 1024
#: The number of neighbours that are looked up together to find the place where a run stopped.
_NEIGHBOURS = 16
#: Calls looked up and sent to a batch service together; also the maximum held in memory.
_CALLS_AT_ONCE = 10_000
_ROWS_AT_ONCE = 512


@dataclass(slots=True, kw_only=True)
class RunContext:
    """What one run of one judge works with. `since` is the call id at which its history begins.

    `spent` is the cost of earlier judges, which share the maximum cost. `claimed` holds the calls
    that are claimed in the store and not answered yet. If workers ask instead, they report the
    `load` of their servers and their `remarks`. The calls about `count` subjects are noted in one
    part, or in several that are asked side by side; `total` is their number, estimated from the
    first subject. If the subjects were `copied` to a file, rows of calls that were answered before
    are noted there too, and not made at the end with the others. `elapsed_s` is the time that
    asking took. Rows of the questions in `certify` are marked: an alignment keeps them.
    """

    judge: Judge
    options: JudgingOptions
    store: StoreThread
    since: int
    tally: Tally
    parts: list[CallNotes] = field(default_factory=lambda: [CallNotes((), 0)])
    count: int = 0
    total: int = 0
    spent: float = 0.0
    load: ServerLoad | None = None
    remarks: tuple[str, ...] = ()
    copied: bool = False
    elapsed_s: float = 0.0
    certify: frozenset[str] = frozenset()
    pace: Pace | None = field(init=False)
    _redactor: Redactor = field(init=False)
    claimed: set[str] = field(default_factory=set)
    #: Calls to ask again, because another model has answered the others of their row.
    outdated: set[str] = field(default_factory=set)
    _remembered: bool = False
    _shown: float = 0.0

    def __post_init__(self) -> None:
        backend = self.judge.backend
        rpm = self.options.rpm
        self._redactor = Redactor([*environment_secrets(), *backend.secrets()])
        pace = None if rpm is None else Pace(rpm, self.options.stop)
        # One call can need several requests: then their sender takes the turns.
        self.pace = None if backend.keep_pace(pace) else pace

    async def settle(self, subjects: Iterable[Subject]) -> None:
        """Complete the judge's fingerprint, with these subjects if its server has to be asked.

        If several processes start together on one store, one asks. The others take its result, once
        it has claimed its first calls and stored the judge.
        """
        judge = self.judge
        if not judge.backend.routes(judge.protocol.wants):
            return
        key = call_key(judge.fingerprint, "route", None, 0, "")
        try:
            while True:
                claim = await self.store.do_apart(
                    lambda store: store.claim([key], retry=(), since=0)
                )
                self.claimed |= claim.ours
                settled = await self.store.do(lambda store: kept_route(judge, store))
                if settled is not None or key in claim.ours:
                    break
                await asyncio.sleep(_POLL_S)
            if settled is None and self.options.batch:
                settled = usual_route(judge)
            elif settled is None:
                if not self._affords(next(iter(subjects))):
                    self.options.stop.request("max_cost")
                    return
                await judge.backend.start()
                settled = await ask_route(judge, subjects)
            self.judge = settled
        except NotSentError:
            return  # stopped before its turn: nothing more is asked
        except BaseException:
            await self.release()
            raise

    def _affords(self, subject: Subject) -> bool:
        """Whether the maximum cost allows a first call."""
        price = self.tally.price
        most = self.options.max_cost
        if most is None or price is None:
            return True
        first = prepare_calls(self.judge, subject)[0]
        return self.spent + first.expected_cost(price, self.judge.backend) <= most

    def make_maker(self) -> RowMaker:
        price = self.tally.price
        store = self.store.name
        return RowMaker(self.judge, price=price, store=store, certify=self.certify)

    async def rows(self) -> AsyncIterator[tuple[list[Row], int]]:
        """The rows of all subjects in input order, in batches, read from the store.

        Each batch has the number of subjects without a row, which a stopped run has not asked.
        """
        remaining = chain.from_iterable(notes.read(self.judge) for notes in self.parts)
        maker = self.make_maker()
        while batch := await asyncio.to_thread(lambda: list(islice(remaining, _ROWS_AT_ONCE))):
            looked_up = [key for entry in batch if isinstance(entry, tuple) for key in entry[1]]
            stored: dict[str, CallRow] = await self.store.do(methodcaller("lookup_rows", looked_up))
            rows: list[Row] = []
            incomplete = 0
            for entry in batch:
                if isinstance(entry, list):
                    rows += entry
                    continue
                subject, keys = entry
                replies = [stored[key] for key in keys if key in stored]
                if len(replies) == len(keys):
                    rows += maker.rows_of(subject, replies)
                elif self.options.stop.requested:
                    incomplete += 1
                else:
                    lost = f"the store has lost a reply about {subject.id!r}"
                    raise StoreError(f"{lost}; run the same command again")
            yield rows, incomplete

    async def claim(self, work: list[Work]) -> tuple[list[Work], list[Work]]:
        """Claim calls: returns those that this run must make, each once, and those that others are
        making."""
        keys = [call.key for call in work]
        retry = self.options.statuses_to_ask_again
        again = frozenset(self.outdated.intersection(keys))
        if self.options.retry:
            again |= self._read_again(await self.store.do(methodcaller("lookup_rows", keys)))

        def claim_keys(store: Store) -> Claim:
            claim = store.claim(keys, retry=retry, since=self.since, again=again)
            if not self._remembered:
                # With the first claim, for processes that wait for the judge.
                judge = self.judge
                store.remember_judge(
                    judge.fingerprint,
                    judge=judge.backend.name,
                    protocol=judge.protocol.name,
                    parts=judge.fingerprint_parts,
                )
                self._remembered = True
            return claim

        claim = await self.store.do_apart(claim_keys)
        free = set(claim.ours)
        self.claimed |= free
        ours: list[Work] = []
        busy: list[Work] = []
        for call in work:
            if call.key in claim.done:
                self.tally.reused[claim.done[call.key]] += 1
            elif call.key in free:
                free.remove(call.key)
                ours.append(call)
            else:
                busy.append(call)
        self.show()
        return ours, busy

    async def look_up(
        self, keys: Sequence[str]
    ) -> tuple[Mapping[str, CallRow], Mapping[str, Status]]:
        """What the store has of these calls, and those of them that are not asked (again)."""
        stored: dict[str, CallRow] = await self.store.do(methodcaller("lookup_rows", keys))
        retry = self.options.statuses_to_ask_again
        again = self._read_again(stored)
        return stored, answered(stored, retry=retry, since=self.since, again=again)

    def note_outdated(self, keys: Sequence[str], stored: Mapping[str, CallRow]) -> set[str]:
        """The calls of one subject to ask again, given what an earlier run stored of them."""
        outdated = outdated_calls(keys, stored, self.judge.repeats, until=self.since)
        self.outdated |= outdated
        return outdated

    def _read_again(self, stored: Mapping[str, CallRow]) -> frozenset[str]:
        """Calls whose stored reply is ok, but is read as a status that is asked again."""
        if not self.options.retry:
            return frozenset()
        return frozenset(
            key
            for key, row in stored.items()
            if row[CALL_ID] <= self.since
            and self.options.asks_again(self.judge, decode_reply(row, self.store.name))
        )

    async def keep(self, key: str, description: Mapping[str, Any], reply: Reply) -> None:
        """Store and count a call, with its reply checked and redacted; returns once committed."""
        clean = self._redactor.clean(check_reply(reply))
        stored = clean if self.options.keep_raw else without_raw(clean)
        await self.store.save(Call(call_key=key, reply=stored, **description))
        self.claimed.discard(key)
        self.tally.add(clean)

    async def release(self) -> None:
        """Release calls that were claimed and never asked; an open store would keep the claims."""
        if self.claimed:
            keys = self.claimed
            self.claimed = set()
            await self.store.do(lambda store: store.release(keys))

    def show(self, *, force: bool = False) -> None:
        progress = self.options.progress
        now = time.monotonic()
        if callable(progress) and (force or now - self._shown >= _SHOW_EVERY_S):
            self._shown = now
            judge = self.judge.backend
            load = self.load or self.judge.backend.load()
            counted = {"total": self.total, "subjects": self.count}
            progress(self.tally.snapshot(**counted, judge=judge.name, load=load))

    def close(self) -> None:
        for notes in self.parts:
            notes.close()


async def ask_all(context: RunContext, subjects: OpenSubjects) -> None:
    """Ask everything about these subjects: one by one, or by a batch service."""
    backend = context.judge.backend
    options = context.options
    try:
        await context.settle(subjects)
        if options.stop.requested:
            return
        if (price := context.tally.price) is not None:
            at_once = 0 if options.batch else options.concurrency or backend.concurrency
            backend.plan_cache(price, calls=context.total, at_once=at_once)
        if options.batch:
            store_id = await context.store.do(lambda store: store.store_id)
            folder = batch_folder(options.batch_folder, context.judge.fingerprint, store_id)
            await BatchRunner(context, backend.open_batches(folder)).run()
            return
        # Inside: resources of a start that fails half-way are freed too.
        await backend.start()
        if place := await find_place(context, subjects):
            context.close()
            context.parts = [CallNotes(part, part.total) for part in subjects.cut(place)]
        await Runner(context).run()
    finally:
        context.remarks += tuple(backend.remarks())
        await backend.close()


async def find_place(context: RunContext, subjects: OpenSubjects) -> int:
    """The position at which an earlier run probably stopped; 0 if there was none.

    A run asks in input order: bisection needs about 20 look-ups for a million subjects. The place
    decides only what is asked first: both sides of it are looked up again. The majority of
    neighbours decides, because single calls can have failed.
    """
    if context.total <= _CALLS_AHEAD:
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
    low = 0
    high = -(-subjects.positions // _NEIGHBOURS)
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
        self._maker = context.make_maker()
        #: Calls that others are making.
        self.waiting: list[Work] = []
        # Most calls of a resumed run are answered: many are looked up together, and only
        # the others are prepared and claimed. A first run has no answered calls and stops looking.
        self._looks = True

    async def feed(self, blocks: AsyncIterator[Iterable[Subject]]) -> None:
        """Queue the open calls of subjects in blocks (empty ones: wait) until all are answered."""
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
                busy, reused = await self._offer(ahead[:size])
                self.waiting += busy
                answered += reused
                ahead = ahead[size:]
            self._looks = answered > 0
            while len(self.waiting) > _MOST_WAITING and not self._stop.requested:
                await self._wait_for_others()

    async def _next(self, subjects: Iterator[Subject]) -> tuple[list[Work], int]:
        """The next calls to claim, and the number of those that are already answered."""
        context = self._context
        keys_of = partial(call_keys, context.judge)
        prepare = partial(prepare_calls, context.judge)
        if not self._looks:
            prepared = await asyncio.to_thread(take, subjects, _CALLS_AHEAD, prepare)
            for _, calls in prepared:
                self._notes.note([call.key for call in calls])
            return self._sort([call for _, calls in prepared for call in calls]), 0
        batch = await asyncio.to_thread(take, subjects, _CALLS_AHEAD, keys_of)
        looked_up = [key for _, keys in batch for key in keys]
        stored, done = await context.look_up(looked_up)
        outdated = {key for _, keys in batch for key in context.note_outdated(keys, stored)}
        done = {key: status for key, status in done.items() if key not in outdated}
        context.tally.reused.update([done[key] for key in looked_up if key in done])
        work: list[Work] = []
        for subject, keys in batch:
            rows = None
            if any(key not in done for key in keys):
                work += [call for call in prepare(subject) if call.key not in done]
            elif context.copied:
                # All are answered: its rows are made of what was looked up for that.
                rows = self._maker.rows_of(subject, [stored[key] for key in keys])
            self._notes.note(keys, rows)
        context.show()
        return self._sort(work), len(looked_up) - len(work)

    def _sort(self, work: list[Work]) -> list[Work]:
        return by_beginning(work, apart=self._context.judge.backend.reads_again)

    async def _wait_for_others(self) -> None:
        await asyncio.sleep(_POLL_S)
        self.waiting, _ = await self._offer(self.waiting)

    async def _offer(self, batch: list[Work]) -> tuple[list[Work], int]:
        """Queue what it can claim; returns the calls of others, and the number already answered."""
        ours, busy = await self._context.claim(batch)
        for work in ours:
            await self._queue.put(work)
        return busy, len(batch) - len(ours) - len(busy)


class FirstReplies:
    """Checks the first replies of a run: if none is usable, the others will not be either."""

    REASONS = frozenset({"no_logprobs", "off_answer", "unparsed"})
    ENOUGH = 10

    def __init__(self, judge: Judge, *, keep_going: bool) -> None:
        self._judge = judge
        #: Whether the rest can be asked: one reply was usable, here or in another process, or
        #: --keep-going is set.
        self.passed = keep_going
        self._seen: list[tuple[str, str | None]] = []

    def add(self, reply: Reply) -> None:
        """Check one reply. Raises UnusableRepliesError after too many unusable ones."""
        if self.passed or len(self._seen) == self.ENOUGH:
            return
        status, detail = self._judge.protocol.status_of(reply)
        self._seen.append((status, detail))
        if status not in self.REASONS:
            self.passed = True
        elif len(self._seen) == self.ENOUGH:
            counts = Counter(status for status, _ in self._seen)
            (most, _), *others = counts.most_common()
            several = ", ".join(f"{n} {name}" for name, n in counts.items())
            words = next((words for status, words in self._seen if status == most), None)
            named = (several if others else f"all {most}") + (f": {words}" if words else "")
            first = f"{self._judge.backend.name}: the first {self.ENOUGH} replies"
            raise UnusableRepliesError(
                f"{first} have no usable score, {named}; or continue with --keep-going"
            )


async def _one_block(subjects: Iterable[Subject]) -> AsyncIterator[Iterable[Subject]]:
    yield subjects


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
        #: Calls with their expected prompt tokens, if the cost is limited.
        self._calls_sent = 0
        self._tokens_sent = 0
        self.first_replies = FirstReplies(context.judge, keep_going=context.options.keep_going)
        # Small claims for slow judges, so that a second process has work; large for fast ones.
        batch = min(max(4 * self._concurrency, 8), 512)
        self._queue: asyncio.Queue[Work | None] = asyncio.Queue(batch)
        self._feeders = [Feeder(context, notes, self._queue) for notes in context.parts]
        self._failure: Exception | None = None

    @property
    def open_calls(self) -> int:
        """Prepared calls without a reply, including calls that others are making."""
        waiting = sum(len(feeder.waiting) for feeder in self._feeders)
        return len(self._context.claimed) + waiting

    async def run(self, blocks: AsyncIterator[Iterable[Subject]] | None = None) -> None:
        """Ask everything. Raises the error that stopped it, after storing all replies.

        The last part of the subjects comes first: the parts before it are mostly answered. Or the
        subjects come in `blocks`; empty blocks come while it has to wait.
        """
        parts = [_one_block(notes.subjects) for notes in self._context.parts]
        asking = [self._feed(parts if blocks is None else [blocks])]
        asking += [self._work() for _ in range(self._concurrency)]
        watch, *tasks = map(asyncio.create_task, (self._watch(), *asking))
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in (watch, *tasks):
                task.cancel()
            await asyncio.gather(watch, *tasks, return_exceptions=True)
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
        await asyncio.gather(*(self._or_fail(feeder.feed(blocks)) for feeder, blocks in feeds))
        for _ in range(self._concurrency):
            await self._queue.put(None)

    async def _or_fail(self, work: Awaitable[None]) -> None:
        """Do it. Its error stops the run, after the calls in flight; the first error is kept."""
        try:
            await work
        except Exception as error:
            self._failure = self._failure or error
            self._stop.request("failed")

    async def _work(self) -> None:
        while (work := await self._queue.get()) is not None:
            if not self._stop.requested:
                await self._or_fail(self._make(work))

    async def _make(self, work: Work) -> None:
        context = self._context
        if (reserved := self._reserve(work)) is None:
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
        price = self._tally.price
        most = self._context.options.max_cost
        if most is None or price is None:
            return 0.0
        calls_made = self._tally.calls_made
        tokens = expected_tokens(work.question.messages, self._backend)
        if calls_made >= 8:
            # What calls cost so far, and what a longer prompt adds.
            longer = max(0.0, tokens - self._tokens_sent / self._calls_sent)
            expected = self._tally.cost / calls_made + price.of(round(longer), 0)
        else:
            expected = work.expected_cost(price, self._backend)
        if self._context.spent + self._tally.cost + self._reserved + expected > most:
            return None
        self._tokens_sent += tokens
        self._calls_sent += 1
        self._reserved += expected
        return expected


def batch_folder(root: str | Path | None, fingerprint: str, store_id: str | None) -> Path:
    """The folder of a judge's batch list for a store: in `root`, or in the user's data folder."""
    if store_id is None:
        raise ArgumentError("store", None, BATCH_STORE)
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
        (notes,) = self._context.parts
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
                    batch_keys = [[call.key for call in calls] for _, calls in batch]
                    looked_up = [key for keys in batch_keys for key in keys]
                    stored, _ = await self._context.look_up(looked_up)
                    for keys in batch_keys:
                        self._context.note_outdated(keys, stored)
                        notes.note(keys)
                    elsewhere += await self._send([call for _, calls in batch for call in calls])
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
            calls = [(call.key, call.question, call.describe(judge)) for call in ours]
            await self._batches.submit(calls)
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
        max_cost = self._context.options.max_cost
        price = self._tally.price
        if max_cost is None or price is None:
            return True
        under_way = self._batches.pending()
        backend = self._context.judge.backend
        new = (call for call in work if call.key not in under_way)
        self._committed += sum(call.expected_cost(price, backend) for call in new)
        return self._context.spent + self._committed <= max_cost

    def _watch(self, waiting: int) -> None:
        self._tally.in_flight = waiting
        self._context.show(force=True)
