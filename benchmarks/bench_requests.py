"""Judge requests per second on loopback with an instant server: adjudge and the openai SDK.

Same questions, same server, same concurrency, one client process each in turn. Two rows are ours:
the backend alone, which is what the SDK does, and the whole of `judge_pairs`: reading, asking,
keeping every reply in SQLite, and writing the rows. Both clients have a key, and ours looks for it
in every answer, as with any paid judge.

    python benchmarks/bench_requests.py [--pairs 3000] [--concurrency 32]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from adjudge.judges.backends._chat_server import as_chat
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.interface import Question
from adjudge.judges.judging import judge_pairs
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Pair
from adjudge.simulate.pairs import simulate_pairs

ROUNDS = 3
#: Of the length and letters of a real one; a word such as "none" would not be looked for.
KEY = "sk-proj-" + "Qe7vX2mN9rTgB4kLw8ZcYh3PdUa6Jf1sVxR0oEiM5tKn" * 3


class Measured(NamedTuple):
    """Requests per second of wall time, and of processor time of this process.

    The second does not change when other programs use the machine.
    """

    wall: float
    processor: float


class Clock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def measured(self, requests: int) -> Measured:
        wall = time.perf_counter() - self._wall
        return Measured(requests / wall, requests / (time.process_time() - self._processor))


async def at_once(
    questions: list[Question], ask: Callable[[Question], Awaitable[object]], concurrency: int
) -> Measured:
    """Requests with this many in flight."""
    pending: Iterator[Question] = iter(questions)

    async def worker() -> None:
        for question in pending:
            await ask(question)

    began = Clock()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return began.measured(len(questions))


async def with_sdk(questions: list[Question], url: str, concurrency: int) -> Measured:
    """The official client, asked for the same thing."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key=KEY) as client:

        async def ask(question: Question) -> object:
            reply = await client.chat.completions.create(
                model="instant",
                messages=as_chat(question.messages),  # type: ignore[arg-type]  # plain dicts
                max_tokens=1,
                temperature=0,
                logprobs=True,
                top_logprobs=20,
            )
            content = reply.choices[0].logprobs
            assert content is not None
            assert content.content
            return content.content[0].top_logprobs

        return await at_once(questions, ask, concurrency)


async def with_backend(questions: list[Question], url: str, concurrency: int) -> Measured:
    """Our backend alone."""
    backend = OpenAIBackend("instant", base_url=url, concurrency=concurrency)
    await backend.start()
    try:
        return await at_once(questions, backend.ask, concurrency)
    finally:
        await backend.close()


def with_store(pairs: list[Pair], url: str, concurrency: int) -> Measured:
    """The complete run: read, ask, store, write."""
    with tempfile.TemporaryDirectory() as folder:
        began = Clock()
        done = judge_pairs(
            pairs,
            judge="openai:instant",
            base_url=url,
            concurrency=concurrency,
            store=Path(folder) / "store.db",
            output=Path(folder) / "rows.jsonl",
        )
        measured = began.measured(2 * len(pairs))
    assert done.summary.statuses == {"ok": len(pairs)}
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--concurrency", type=int, default=32)
    given = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    pairs = simulate_pairs(given.pairs, seed=0)
    questions = [question for pair in pairs for question in Preference().questions(pair)]
    few = questions[: max(500, len(questions) // 8)]
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("instant_server.py"))],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        rates: dict[str, list[Measured]] = {"openai SDK": [], "backend": [], "judge_pairs": []}
        for _ in range(ROUNDS):
            rates["openai SDK"].append(asyncio.run(with_sdk(few, url, given.concurrency)))
            rates["backend"].append(asyncio.run(with_backend(questions, url, given.concurrency)))
            rates["judge_pairs"].append(with_store(pairs, url, given.concurrency))
    finally:
        server.terminate()
        server.wait()
    middle = {
        name: Measured(*(median(column) for column in zip(*rounds, strict=True)))
        for name, rounds in rates.items()
    }
    base = middle["openai SDK"]
    print(f"requests a second, concurrency {given.concurrency}, median of {ROUNDS} rounds")
    print(f"{'':<26} {'by the clock':>18} {'by processor time':>24}")
    for name, label, goal in (
        ("openai SDK", "openai SDK, nothing kept", ""),
        ("backend", "adjudge, backend alone", "goal 10x"),
        ("judge_pairs", "adjudge, store and rows", "goal 5x"),
    ):
        rate = middle[name]
        print(
            f"{label:<26} {rate.wall:>8,.0f}/s {rate.wall / base.wall:6.1f}x"
            f" {rate.processor:>14,.0f}/s {rate.processor / base.processor:6.1f}x  {goal}"
        )


if __name__ == "__main__":
    main()
