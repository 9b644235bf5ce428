"""Judge requests per second on loopback with an instant server: adjudge and the openai SDK.

Same questions, same server, same concurrency, one client process each, in turn; the first round of
each warms up. Two rows are ours: the backend alone, which is what the SDK does, and the whole of
`judge_pairs`: reading, asking, keeping every reply in SQLite, and writing the rows. Both clients
have a key, and ours looks for it in every answer, as with any paid judge. The ratios are medians of
those of single rounds, so that whatever else the machine does meets both.

    python benchmarks/bench_requests.py [--pairs 3000] [--concurrency 32]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from operator import truediv
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

ROUNDS = 7
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


class SdkClient:
    """The official client in a process of its own, asked for the same things."""

    def __init__(self, questions: list[Question], url: str, concurrency: int) -> None:
        self._requests = len(questions)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("sdk_client.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        messages = [as_chat(question.messages) for question in questions]
        given = {"url": url, "key": KEY, "messages": messages, "concurrency": concurrency}
        self._send(json.dumps(given))

    def measure(self) -> Measured:
        """One round."""
        self._send("go")
        assert self._process.stdout is not None
        wall, processor = json.loads(self._process.stdout.readline())
        return Measured(self._requests / wall, self._requests / processor)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


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
    sdk = None
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        rates: dict[str, list[Measured]] = {"openai SDK": [], "backend": [], "judge_pairs": []}
        sdk = SdkClient(few, url, given.concurrency)
        for round_ in range(ROUNDS + 1):
            measured = {
                "openai SDK": sdk.measure(),
                "backend": asyncio.run(with_backend(questions, url, given.concurrency)),
                "judge_pairs": with_store(pairs, url, given.concurrency),
            }
            if round_:
                for name, rate in measured.items():
                    rates[name].append(rate)
    finally:
        if sdk is not None:
            sdk.close()
        server.terminate()
        server.wait()
    print(f"requests a second, concurrency {given.concurrency}, median of {ROUNDS} rounds")
    print(f"{'':<26} {'by the clock':>18} {'by processor time':>24}")
    for name, label, goal in (
        ("openai SDK", "openai SDK, nothing kept", ""),
        ("backend", "adjudge, backend alone", "goal 10x"),
        ("judge_pairs", "adjudge, store and rows", "goal 5x"),
    ):
        wall, processor = (
            (median(own), median(map(truediv, own, base)))
            for own, base in zip(
                zip(*rates[name], strict=True), zip(*rates["openai SDK"], strict=True), strict=True
            )
        )
        print(
            f"{label:<26} {wall[0]:>8,.0f}/s {wall[1]:6.1f}x"
            f" {processor[0]:>14,.0f}/s {processor[1]:6.1f}x  {goal}"
        )


if __name__ == "__main__":
    main()
