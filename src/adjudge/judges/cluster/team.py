"""The workers of a run: each is the ordinary runner in a process, and gets blocks of subjects."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from adjudge.errors import AdjudgeError, JudgeError
from adjudge.judges.cluster.connection import START_S, RayCluster
from adjudge.judges.flow import IDLE, Reason, ServerLoad, Stop, Tally
from adjudge.judges.judge import differing_parts
from adjudge.judges.options import JudgingOptions, OneJudge
from adjudge.judges.prices import Price
from adjudge.judges.runner import RunContext, Runner
from adjudge.present.text import count, safe
from adjudge.records import Subject
from adjudge.store.thread import StoreThread

#: Seconds between two checks for a block.
_LOOK_S = 0.05
_POLL_S = 0.1
#: The number of blocks that wait at a worker, so that it has work between two polls.
_UNREAD = 2
#: The approximate number of blocks per worker, so that all end at about the same time.
_BLOCKS_EACH = 8
_LARGEST_BLOCK = 256
#: The number of first subjects that is enough to see how a server is asked.
_FIRST = 3
#: If a worker dies more often, the reason is permanent.
_MOST_DEATHS = 3
#: Ray's message about a worker that was never created: the next one would fail too.
_NOT_MADE = "error raised in its creation task"
#: Seconds for the calls in flight after one worker has failed.
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """What a worker needs to ask like the process that started the run.

    `first` are the first subjects of the run, for a judge whose server decides how it is asked.
    `environment` has the judge's key. It is sent with the order, because Ray's pages and logs would
    show a `runtime_env`.
    """

    options: JudgingOptions
    price: Price | None
    since: int
    first: tuple[Subject, ...]
    folder: str
    environment: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The progress of a worker.

    `parts` are the parts of its judge's fingerprint, None until it is ready to ask. `unread` is the
    number of blocks not started. `idle`: all its blocks are done. `passed`: it had a usable reply.
    """

    parts: Mapping[str, Any] | None = None
    tally: Tally
    unread: int = 0
    idle: bool = False
    passed: bool = False
    load: ServerLoad = IDLE
    remarks: tuple[str, ...] = ()
    ended: bool = False
    stopped: Reason | None = None
    failure: AdjudgeError | None = None


class Worker:
    """Made by Ray as an actor. Its calls, including `work`, run in one event loop."""

    def __init__(self, order: WorkOrder) -> None:
        with suppress(OSError):  # another machine can lack it
            os.chdir(order.folder)
        os.environ.update(order.environment)
        self._order = order
        self._stop = Stop()
        self._tally = Tally(order.price)
        self._blocks: deque[Sequence[Subject]] = deque()
        self._in_work = False
        self._no_more_blocks = False
        self._context: RunContext | None = None
        self._runner: Runner | None = None
        self._held = 0
        self._ended = False
        self._failure: AdjudgeError | None = None

    async def work(self) -> None:
        """Ask about incoming blocks, until there are no more or it is stopped."""
        try:
            await self._work()
        except AdjudgeError as error:
            self._failure = error
        finally:
            self._ended = True

    async def give(self, block: Sequence[Subject], *, trusted: bool) -> None:
        """Add a block; `trusted`: this judge is known to give usable replies."""
        self._blocks.append(block)
        if trusted and self._runner is not None:
            self._runner.first_replies.passed = True

    async def report(self) -> Report:
        """Its progress."""
        basis = Report(tally=self._tally, ended=self._ended, failure=self._failure)
        if self._context is None or self._runner is None:
            return basis
        context = self._context
        runner = self._runner
        done = runner.open_calls == self._held
        return replace(
            basis,
            parts=context.judge.fingerprint_parts,
            unread=len(self._blocks),
            idle=done and not self._blocks and not self._in_work,
            passed=runner.first_replies.passed,
            load=context.judge.backend.load(),
            remarks=tuple(context.judge.backend.remarks()),
            stopped=self._stop.reason,
        )

    async def end(self, reason: Reason | None) -> None:
        """Finish all blocks; with a `reason`, only the calls in flight."""
        self._no_more_blocks = True
        if reason is not None:
            self._stop.request(reason)

    async def _work(self) -> None:
        order = self._order
        tally = self._tally
        options = replace(order.options, stop=self._stop)
        judge = options.make_judge()
        store = StoreThread(options.store)
        await store.open()
        try:
            context = RunContext(
                judge=judge, options=options, store=store, since=order.since, tally=tally
            )
            with closing(context):
                await judge.backend.start()
                await context.settle(order.first)
                self._held = len(context.claimed)
                self._context = context
                self._runner = Runner(context)
                await self._runner.run(self._assigned_blocks())
        finally:
            await judge.backend.close()
            await store.close()

    async def _assigned_blocks(self) -> AsyncIterator[Sequence[Subject]]:
        while not self._stop.requested:
            if self._blocks:
                self._in_work = True
                yield self._blocks.popleft()
                self._in_work = False
            elif self._no_more_blocks:
                return
            else:
                yield ()  # the runner checks calls that other processes are making
                await asyncio.sleep(_LOOK_S)


def cut_blocks(subjects: Iterable[Subject], size: int) -> Iterator[list[Subject]]:
    """Blocks of about `size` subjects. Subjects with the same prompt stay in one block.

    Their questions have the same beginning, so one worker asks them one after the other. A prompt
    with more than two blocks of subjects is split nevertheless.

    >>> from adjudge.records import Item
    >>> items = [Item(id=str(n), prompt=p, response="r") for n, p in enumerate("aabbbc")]
    >>> [[one.id for one in block] for block in cut_blocks(items, 3)]
    [['0', '1', '2', '3', '4'], ['5']]
    """
    block: list[Subject] = []
    for subject in subjects:
        together = block and block[-1].prompt == subject.prompt and len(block) < 2 * size
        if len(block) >= size and not together:
            yield block
            block = []
        block.append(subject)
    if block:
        yield block


@dataclass(slots=True)
class Seat:
    """The place of one worker and of its replacements."""

    actor: Any = None
    report: Report | None = None
    blocks: set[int] = field(default_factory=set)
    deaths: int = 0
    #: Its counts when all its blocks were done.
    certain: Tally = field(default_factory=lambda: Tally(None))
    out_of_money: bool = False


class Team:
    """Asks with Ray workers instead of this process, one judge after the other."""

    def __init__(self, options: JudgingOptions) -> None:
        self._cluster = RayCluster(
            options.ray_address, workers=options.workers, announce=options.announce
        )

    async def ask(self, context: RunContext, subjects: Iterable[Subject], judge: OneJudge) -> None:
        """Ask about all subjects, as `Runner.run` does."""
        await self._cluster.join()
        self._cluster.check_store(context.options.store)
        context.tally.began = time.monotonic()  # without the time in which Ray started
        await _Work(context, self._cluster, subjects, judge).run()

    def close(self) -> None:
        self._cluster.leave()


class _Work:
    """One judge asked by one team."""

    def __init__(
        self, context: RunContext, cluster: RayCluster, subjects: Iterable[Subject], judge: OneJudge
    ) -> None:
        self._context = context
        self._cluster = cluster
        self._stop = context.options.stop
        backend = context.judge.backend
        protocol = context.judge.protocol
        workers, self._gpus = cluster.seats(uses_gpu=backend.uses_gpu)
        keys = {key for key in backend.secrets() if key}
        # The judge's key, the database's password.
        environment = {
            name: value
            for name, value in os.environ.items()
            if value.strip() in keys or name in backend.variables or name.startswith("PG")
        }
        options = context.options.for_worker(judge, protocol, workers=workers, spent=context.spent)
        self._order = WorkOrder(
            options=options,
            price=context.tally.price,
            since=context.since,
            first=tuple(islice(subjects, _FIRST)),
            folder=os.getcwd(),
            environment=environment,
        )
        self._seats = [Seat() for _ in range(workers)]
        size = min(-(-context.count // (_BLOCKS_EACH * workers)), _LARGEST_BLOCK)
        self._cut = partial(cut_blocks, subjects, size)
        self._blocks: Iterator[tuple[int, Sequence[Subject]]] = enumerate(self._cut())
        self._all_assigned = False
        #: Blocks whose worker has died.
        self._lost: set[int] = set()
        #: The only worker that asks until a reply is usable, so that a bad judge costs ten calls.
        self._first_seat: Seat | None = None
        self._trusted = context.options.keep_going
        self._judge_known = False
        self._over = False
        self._gone: list[Tally] = []
        self._asked_again: Counter[str] = Counter()
        self._ready_at = time.monotonic()

    async def run(self) -> None:
        """Ask about all subjects, or until the run is stopped."""
        watching = asyncio.create_task(self._watch())
        tending = [asyncio.create_task(self._tend(seat)) for seat in self._seats]
        tasks: list[asyncio.Task[None]] = [watching, *tending]
        try:
            waiting = set(tasks)
            while not watching.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                failures = [error for task in done if (error := task.exception()) is not None]
                if failures:
                    # The others finish the calls in flight.
                    self._stop.request("failed")
                    if ready := self._ready(tending):
                        await asyncio.wait(ready, timeout=_PATIENCE_S)
                    raise failures[0]
            await asyncio.gather(*self._ready(tending))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for seat in self._seats:
                if seat.actor is not None:
                    self._cluster.dismiss(seat.actor)
        if deaths := sum(seat.deaths for seat in self._seats):
            died = f"{count(deaths, 'worker')} died; others took over the work"
            self._context.remarks += (died,)
        self._context.show(force=True)

    def _next_block(self) -> tuple[int, Sequence[Subject]] | None:
        """The next block and its number; after the last one those whose worker has died."""
        block = next(self._blocks, None)
        if block is None and self._lost:
            lost = self._lost
            self._lost = set()
            self._blocks = (again for again in enumerate(self._cut()) if again[0] in lost)
            block = next(self._blocks)
        self._all_assigned = block is None
        return block

    async def _watch(self) -> None:
        """Wait until all blocks are done, or the run is stopped."""
        while not self._stop.requested:
            if self._all_assigned and not self._lost and not any(s.blocks for s in self._seats):
                break
            await asyncio.sleep(_POLL_S)
            now = time.monotonic()
            if any(seat.report for seat in self._seats):
                self._ready_at = now
            elif now - self._ready_at > START_S:
                raise JudgeError(f"no worker was placed within {START_S:g} s; see `ray status`")
            if all(seat.out_of_money for seat in self._seats):
                self._stop.request("max_cost")
        self._over = True

    async def _tend(self, seat: Seat) -> None:
        """Keep one seat working; a worker that dies is replaced.

        With a maximum cost it is not: how much of its share it has spent is not known.
        """
        while not self._over and not self._stop.requested:
            try:
                await self._keep_busy(seat)
                return
            except self._cluster.died as error:
                self._lose(seat)
                why = safe(str(error).strip().splitlines()[-1].strip())
                if _NOT_MADE in str(error):
                    raise JudgeError(
                        f"a worker cannot start: {why}; every machine of the cluster needs the "
                        "same adjudge, its extra ray and what the judge needs"
                    ) from error
                if seat.deaths > _MOST_DEATHS:
                    raise JudgeError(f"a worker died {seat.deaths} times: {why}") from error
                if self._order.options.max_cost is not None:
                    seat.out_of_money = True
                    return

    async def _keep_busy(self, seat: Seat) -> None:
        """One worker from its start to its end."""
        seat.actor = self._cluster.place(self._order, gpus=self._gpus)
        work = seat.actor.work.remote()
        leaving = False
        while True:
            report = await seat.actor.report.remote()
            self._take(seat, report)
            if report.ended:
                break
            if not leaving and (self._over or self._stop.requested):
                leaving = True
                await seat.actor.end.remote(self._stop.reason)
            elif self._may_have_more(seat, report) and (block := self._next_block()) is not None:
                number, subjects = block
                seat.blocks.add(number)
                await seat.actor.give.remote(subjects, trusted=self._trusted)
                continue
            await asyncio.sleep(_POLL_S)
        await work

    def _may_have_more(self, seat: Seat, report: Report) -> bool:
        if report.parts is None or report.unread >= _UNREAD:
            return False
        if not self._trusted:
            # The worker that decided the route comes first: it has already asked.
            self._first_seat = self._first_seat or seat
        return self._trusted or self._first_seat is seat

    def _take(self, seat: Seat, report: Report) -> None:
        """Process a report: counts, finished blocks, errors."""
        seat.report = report
        if report.failure is not None:
            raise report.failure
        if report.parts is not None:
            self._check_judge(report)
        self._trusted = self._trusted or report.passed
        if report.idle:
            seat.blocks.clear()
            seat.certain = report.tally
        if report.ended and report.stopped == "max_cost":
            seat.out_of_money = True
            self._give_back(seat)
        self._add_up()
        self._context.show()

    def _check_judge(self, report: Report) -> None:
        """All workers must be one judge. It is the judge of the rows: workers have the device."""
        context = self._context
        parts = report.parts or {}
        if not self._judge_known:
            self._judge_known = True
            context.judge = replace(context.judge, fingerprint_parts=parts)
        elif parts != context.judge.fingerprint_parts:
            differ = differing_parts(parts, context.judge.fingerprint_parts)
            raise JudgeError(
                f"{context.judge.backend.name} is not the same judge on all machines of the "
                f"cluster: {', '.join(differ) or 'route'} differ; give all the same versions"
            )

    def _add_up(self) -> None:
        reports = [seat.report for seat in self._seats if seat.report is not None]
        tally = self._context.tally
        tally.add_up([*self._gone, *(report.tally for report in reports)])
        # Replies of a worker that died are not reused ones: they were counted as made.
        tally.reused -= self._asked_again
        self._context.load = ServerLoad(
            sum(report.load.rate_limited for report in reports),
            max((report.load.waiting_s for report in reports), default=0.0),
        )
        remarks = (remark for report in reports for remark in report.remarks)
        self._context.remarks = tuple(dict.fromkeys((*self._context.remarks, *remarks)))

    def _lose(self, seat: Seat) -> None:
        """A worker has died: its blocks go to others, its calls stay counted."""
        seat.deaths += 1
        self._give_back(seat)
        if seat.report is not None:
            tally = seat.report.tally
            self._asked_again += tally.made - seat.certain.made
            self._gone.append(replace(tally, reused=seat.certain.reused, in_flight=0))
        # A worker that Ray has only lost contact with must not block the place of the next.
        self._cluster.dismiss(seat.actor)
        seat.report = None
        seat.actor = None
        seat.certain = Tally(None)

    def _give_back(self, seat: Seat) -> None:
        self._lost |= seat.blocks
        seat.blocks.clear()
        if self._first_seat is seat:
            self._first_seat = None

    def _ready(self, tending: Sequence[asyncio.Task[None]]) -> list[asyncio.Task[None]]:
        """The seats with a worker; a worker that was never placed is not waited for."""
        return [task for seat, task in zip(self._seats, tending, strict=True) if seat.report]
