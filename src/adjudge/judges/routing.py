"""How the judge of a run is asked, if its server decides.

Replies by two routes are not mixed. A store continues with the route of its replies, even if the
server has changed, so that a patch release of a server does not ask everything again. Only the
first run on a store asks the server, with a question of the run, whose reply is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import chain, islice

from adjudge.judges.fingerprint import by_route
from adjudge.judges.flow import NotSentError
from adjudge.judges.interface import Judge
from adjudge.records import Subject
from adjudge.store.interface import Store, call_key
from adjudge.store.thread import StoreThread

#: Questions that can fail before the usual route is taken.
_QUESTIONS = 3
#: Seconds between two checks whether another process has learnt the route.
_POLL_S = 0.1
EARLIER = (
    "the store has replies of this judge from an earlier version, which did not keep their route:"
    " the route is not compared, and the run asks as that version did"
)


def kept_route(judge: Judge, store: Store) -> tuple[Judge, str | None] | None:
    """The judge by the route of the replies in the store, and a remark; None if it has none."""
    routed = by_route(judge)
    for route, candidate in routed.items():
        if store.judge_parts(candidate.fingerprint) is not None:
            judge.backend.take_route(route)
            return candidate, None
    if routed and store.judge_parts(judge.fingerprint) is not None:
        judge.backend.take_route(None)
        return judge, EARLIER
    return None


async def ask_route(judge: Judge, subjects: Iterable[Subject]) -> Judge:
    """The judge by the route that its server allows, asked by the first questions of the run."""
    routed = by_route(judge)
    questions = chain.from_iterable(map(judge.protocol.questions, subjects))
    for question in islice(questions, _QUESTIONS):
        route = await judge.backend.find_route(question)
        if route is not None:
            return routed[route]
    return usual_route(judge)


def usual_route(judge: Judge) -> Judge:
    """The judge by the route that most servers allow."""
    routed = by_route(judge)
    if not routed:
        return judge
    route, usual = next(iter(routed.items()))
    judge.backend.take_route(route)
    return usual


async def settle(
    judge: Judge, store: StoreThread, subjects: Iterable[Subject], *, batch: bool
) -> tuple[Judge, str | None, set[str]]:
    """The judge with its complete fingerprint, a remark, and the claimed calls.

    If several processes start together on one store, one asks. The others take its result, once it
    has claimed its first calls and stored the judge.
    """
    if not judge.backend.routes(judge.protocol.wants):
        return judge, None, set()
    claimed = call_key(judge.fingerprint, "route", None, 0, "")
    try:
        while True:
            claim = await store.do_apart(lambda opened: opened.claim([claimed], retry=(), since=0))
            kept = await store.do(lambda opened: kept_route(judge, opened))
            if kept is not None:
                return *kept, {claimed} & claim.ours
            if claimed in claim.ours:
                break
            await asyncio.sleep(_POLL_S)
        if batch:
            return usual_route(judge), None, {claimed}
        await judge.backend.start()
        return await ask_route(judge, subjects), None, {claimed}
    except NotSentError:
        # Stopped before its turn: nothing more is asked.
        await judge.backend.close()
        return judge, None, {claimed}
    except BaseException:
        await judge.backend.close()
        await store.do(lambda opened: opened.release([claimed]))
        raise
