"""A store in its own thread, for use from an event loop.

Everything that is waiting when the thread is free is done in one transaction (group commit), so
that a thousand replies a second cost a few dozen commits. A caller's future is done only after the
commit of its call.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from adjudge.errors import StoreError
from adjudge.store import store_name, use_store
from adjudge.store.interface import HEARTBEAT_S, HURRIED_S, Patience, Store, StorePlace
from adjudge.store.tables import Call

T = TypeVar("T")
#: A call to store, or work with the store; its future; and whether it runs in its own transaction.
Job = tuple[Any, asyncio.Future[Any], bool]
Outcome = tuple[asyncio.Future[Any], Any, BaseException | None]
_MOST_PER_COMMIT = 1024


class StoreThread:
    """The event loop's side of a store, which is opened in the thread unless it is already open.

    Jobs are passed on once per iteration of the loop, so that replies that came together are
    written together: waking the thread for every reply would cost more than writing it.
    """

    def __init__(self, place: StorePlace) -> None:
        self._place = place
        #: The name of the store in messages, once it is open.
        self.name = ""
        self._loop = asyncio.get_running_loop()
        self._groups: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._gathering: list[Job] = []
        self._patience = Patience()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._given_up = False
        self._thread = threading.Thread(target=self._run, name="adjudge-store", daemon=True)

    async def open(self) -> None:
        """Start the thread and wait until the store is open."""
        self._thread.start()
        await self._opened

    def save(self, call: Call) -> asyncio.Future[None]:
        """Store one call; the future is done once it is committed."""
        return self._put(call)

    def do(self, work: Callable[[Store], T]) -> asyncio.Future[T]:
        """Run `work(store)` in the store's thread, inside the next transaction."""
        return self._put(work)

    def do_apart(self, work: Callable[[Store], T]) -> asyncio.Future[T]:
        """Run `work(store)` after the next transaction, for work with its own, such as a claim."""
        return self._put(work, apart=True)

    def hurry(self) -> None:
        """Stop waiting for a lost server or a lock: the run should end."""
        self._patience.hurry()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._loop.call_later, HURRIED_S, self._give_up)

    def _give_up(self) -> None:
        """Wait no longer for a store that another program has locked: its thread ends later."""
        if self._thread.is_alive() and not self._opened.done():
            remedy = "close that program and run the same command again"
            error = StoreError(
                f"{store_name(self._place)}: another program has locked it; {remedy}"
            )
            self._opened.set_exception(error)
            self._given_up = True

    async def close(self) -> None:
        """Finish waiting jobs, release claims, end the thread."""
        self._flush()
        self._groups.put(None)
        if not self._given_up:
            await asyncio.to_thread(self._thread.join)

    def _put(self, job: Any, *, apart: bool = False) -> asyncio.Future[Any]:
        future = self._loop.create_future()
        if not self._gathering:
            self._loop.call_soon(self._flush)
        self._gathering.append((job, future, apart))
        return future

    def _flush(self) -> None:
        if self._gathering:
            self._groups.put(self._gathering)
            self._gathering = []

    # --- everything below runs in the store's thread -------------------------------------------

    def _run(self) -> None:
        with ExitStack() as stack:
            try:
                store = stack.enter_context(use_store(self._place))
            except BaseException as error:
                self._tell([(self._opened, None, error)])
                return
            self.name = store.name
            self._patience = store.patience
            self._patience.hurry(False)
            self._tell([(self._opened, None, None)])
            beat = time.monotonic()
            last = False
            while not last:
                jobs, last = self._waiting()
                if jobs:
                    self._tell(_commit(store, jobs))
                if time.monotonic() - beat > HEARTBEAT_S and not last:
                    beat = time.monotonic()
                    # A missed heartbeat does no harm for a minute, and a broken store also fails
                    # the next save, which has a caller.
                    with suppress(StoreError):
                        store.heartbeat()

    def _waiting(self) -> tuple[list[Job], bool]:
        """All waiting jobs, or none after a timeout; and whether these were the last."""
        jobs: list[Job] = []
        try:
            group = self._groups.get(timeout=HEARTBEAT_S / 2)
            while group is not None:
                jobs += group
                if len(jobs) >= _MOST_PER_COMMIT:
                    return jobs, False
                group = self._groups.get_nowait()
        except queue.Empty:
            return jobs, False
        return jobs, True

    def _tell(self, outcomes: list[Outcome]) -> None:
        try:
            self._loop.call_soon_threadsafe(_resolve, outcomes)
        except RuntimeError:
            # The loop ended without `close`; committed calls stay committed.
            return


def _commit(store: Store, jobs: list[Job]) -> list[Outcome]:
    """Run jobs in one transaction, or fail all of them; then the jobs with their own transaction.

    If the server of the store is lost, this waits: all jobs are safe to repeat.
    """
    together = [job for job in jobs if not job[-1]]
    groups = [together, *([job] for job in jobs if job[-1])]
    return [outcome for group in groups if group for outcome in _try(store, group)]


def _try(store: Store, group: list[Job]) -> list[Outcome]:
    try:
        return store.patience.run(lambda: _do(store, group))
    except Exception as error:
        failure = error if isinstance(error, StoreError) else StoreError(f"store: {error}")
        return [(future, None, failure) for _, future, _ in group]


def _do(store: Store, group: list[Job]) -> list[Outcome]:
    work, future, apart = group[0]
    if apart:
        return [(future, work(store), None)]
    with store.transaction():
        store.save([job for job, _, _ in group if isinstance(job, Call)])
        return [
            (future, None if isinstance(job, Call) else job(store), None)
            for job, future, _ in group
        ]


def _resolve(outcomes: list[Outcome]) -> None:
    for future, value, error in outcomes:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
