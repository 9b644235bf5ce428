"""Batches of a service against the test server, and the same questions asked one by one."""

from __future__ import annotations

import asyncio
from typing import Any

from adjudge.judges.backends._batches import Batches
from adjudge.judges.interface import Backend, Question
from adjudge.records import Reply

#: The key of each call, its question, and what is returned with its reply.
Calls = list[tuple[str, Question, dict[str, Any]]]


def collect_batches(batches: Batches, asked: Calls, **options: Any) -> dict[str, Reply]:
    """The reply of every call in flight, each once, after sending these."""

    async def run() -> dict[str, Reply]:
        found: dict[str, Reply] = {}
        async with batches:
            await batches.submit(asked)
            async for call, reply in batches.collect(poll_s=0.01, **options):
                assert call.key not in found
                assert call.key.endswith(str(call.meta.get("row", "")))
                found[call.key] = reply
        return found

    return asyncio.run(run())


def submit_batches(batches: Batches, asked: Calls) -> None:
    """Send these calls, and end."""

    async def run() -> None:
        async with batches:
            await batches.submit(asked)

    asyncio.run(run())


def ask_singly(judge: Backend, asked: Calls) -> dict[str, Reply]:
    """The reply of every call, without a batch."""

    async def run() -> dict[str, Reply]:
        await judge.start()
        replies = {key: await judge.ask(question) for key, question, _ in asked}
        await judge.close()
        return replies

    return asyncio.run(run())
