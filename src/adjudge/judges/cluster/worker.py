"""One worker of a cluster: the ordinary runner in a separate process, which gets blocks."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from adjudge.errors import AdjudgeError
from adjudge.judges.flow import IDLE, Reason, ServerLoad, Stop, Tally
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.judges.runner import RunContext, Runner
from adjudge.records import Subject
from adjudge.store.thread import StoreThread

#: Seconds between two checks for a block.
_LOOK_S = 0.05


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

    fingerprint: str = ""
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
        context, runner = self._context, self._runner
        done = runner.open_calls == self._held
        return replace(
            basis,
            fingerprint=context.judge.fingerprint,
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
        options = replace(self._order.options, stop=self._stop)
        judge = options.make_judge()
        store = StoreThread(options.store)
        await store.open()
        try:
            context = RunContext(
                judge=judge,
                options=options,
                store=store,
                since=self._order.since,
                tally=self._tally,
            )
            with closing(context):
                await judge.backend.start()
                await context.settle(self._order.first)
                self._held = len(context.claimed)
                self._context, self._runner = context, Runner(context)
                await self._runner.run(self._given_blocks())
        finally:
            await judge.backend.close()
            await store.close()

    async def _given_blocks(self) -> AsyncIterator[Sequence[Subject]]:
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
