"""A judge with a policy, for programs with or without their own event loop."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Unpack

from adjudge.policy.result import Policy
from adjudge.selection import read_policy
from adjudge.server.service import Case, JudgeOptions, JudgeService, make_service
from adjudge.server.webhook import Outcome, outcome_of


class PolicyJudge:
    """Asks in a separate thread, whose event loop keeps the judge's connections.

    `policy` is a file that `adjudge calibrate` wrote or a `Policy`. `judge` and the options are
    those of `adjudge judge`; leave out `judge` for the policy of a cascade. A judge other than the
    policy's is refused here, before anything is asked. The backend starts with the first case.
    `close` or the end of the program closes it.
    """

    def __init__(
        self, policy: str | Path | Policy, judge: str | None = None, **options: Unpack[JudgeOptions]
    ) -> None:
        rules = policy if isinstance(policy, Policy) else read_policy(policy)
        self.service = make_service(rules, judge, **options)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] | None = None

    @property
    def policy(self) -> Policy:
        return self.service.policy

    @property
    def name(self) -> str:
        """The judge and the policy, for tools that use a name as cache key."""
        judges = " -> ".join(asked.backend.name for asked in self.service.judges)
        return f"{judges} under policy {self.service.policy_id}"

    def submit(self, case: Case) -> Future[Outcome]:
        """Ask without waiting. The future has a `JudgeError` if the judge cannot be asked."""
        loop = self._started()
        return asyncio.run_coroutine_threadsafe(_decide(self.service, case), loop)

    def decide(self, case: Case) -> Outcome:
        return self.submit(case).result()

    def close(self) -> None:
        """Close the backend and end the thread; the next case starts them again."""
        with self._lock:
            if self._end is not None:
                self._end()
            self._loop = self._end = None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=loop.run_forever, name="adjudge-policy-judge", daemon=True
                )
                thread.start()
                self._end = weakref.finalize(self, _stop, self.service, loop, thread)
                try:
                    asyncio.run_coroutine_threadsafe(self.service.start(), loop).result()
                except BaseException:
                    self._end()
                    raise
                self._loop = loop
            return self._loop


async def _decide(service: JudgeService, case: Case) -> Outcome:
    ruling = await service.rule(case.subject, group=case.group, category=case.category)
    return outcome_of(ruling, service)


def _stop(service: JudgeService, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    asyncio.run_coroutine_threadsafe(service.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
