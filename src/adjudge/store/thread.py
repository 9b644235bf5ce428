"""A store in a thread of its own, for use from an event loop.

Everything that waits when the thread comes round is done in one transaction (group commit), so
that a thousand replies a second cost a few dozen commits. A caller is told that its call is kept
only after the commit that kept it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from adjudge.errors import StoreError
from adjudge.records import Status
from adjudge.store.interface import HEARTBEAT_S, Call, Claimed, Store

T = TypeVar("T")
_MOST_PER_COMMIT = 1024


class StoreThread:
    """The event loop's side of a store. `opener` runs in the thread that will use the store."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._opener = opener
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[tuple[Any, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="adjudge-store", daemon=True)

    async def open(self) -> None:
        """Start the thread and wait until the store is open."""
        self._thread.start()
        await self._opened

    def save(self, call: Call) -> asyncio.Future[None]:
        """Keep one call; done once it is committed."""
        return self._put(call)

    def claim(
        self, keys: Sequence[str], *, retry: Collection[Status], since: int
    ) -> asyncio.Future[Claimed]:
        """Claim calls; see Store.claim."""
        return self._put(lambda store: store.claim(keys, retry=retry, since=since))

    def do(self, work: Callable[[Store], T]) -> asyncio.Future[T]:
        """Run `work(store)` in the store's thread, inside the next transaction."""
        return self._put(work)

    async def close(self) -> None:
        """Finish what waits, give claims back, end the thread."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _put(self, job: Any) -> asyncio.Future[Any]:
        future = self._loop.create_future()
        self._jobs.put((job, future))
        return future

    def _run(self) -> None:
        try:
            store = self._opener()
        except BaseException as error:
            self._tell([(self._opened, None, error)])
            return
        self._tell([(self._opened, None, None)])
        try:
            beat = time.monotonic()
            closing = False
            while not closing:
                jobs, closing = self._waiting(HEARTBEAT_S / 2)
                if jobs:
                    self._tell(self._commit(store, jobs))
                if time.monotonic() - beat > HEARTBEAT_S and not closing:
                    beat = time.monotonic()
                    self._beat(store)
        finally:
            store.close()

    def _waiting(self, patience_s: float) -> tuple[list[tuple[Any, asyncio.Future[Any]]], bool]:
        jobs: list[tuple[Any, asyncio.Future[Any]]] = []
        try:
            job = self._jobs.get(timeout=patience_s)
            while job is not None and len(jobs) < _MOST_PER_COMMIT:
                jobs.append(job)
                job = self._jobs.get_nowait()
        except queue.Empty:
            return jobs, False
        if job is not None:
            jobs.append(job)
        return jobs, job is None

    def _commit(
        self, store: Store, jobs: list[tuple[Any, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, BaseException | None]]:
        told: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
        try:
            with store.transaction():
                store.save([job for job, _ in jobs if isinstance(job, Call)])
                for job, future in jobs:
                    told.append((future, None if isinstance(job, Call) else job(store), None))
        except Exception as error:
            failure = error if isinstance(error, StoreError) else StoreError(f"store: {error}")
            return [(future, None, failure) for _, future in jobs]
        return told

    def _beat(self, store: Store) -> None:
        try:
            store.heartbeat()
        except StoreError:
            # A missed beat is no harm: silence is forgiven for a minute, and a store that is
            # really broken fails the next save, where somebody is listening.
            return

    def _tell(self, told: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
        try:
            self._loop.call_soon_threadsafe(_resolve, told)
        except RuntimeError:
            # The loop was torn down without `close`; what was committed stays committed.
            return


def _resolve(told: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in told:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
