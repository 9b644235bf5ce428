"""The openai SDK as a program of its own: what somebody would write who has nothing else.

In a process that loads nothing but the SDK: with all of adjudge in memory, every round of the
garbage collector would cost it more. Reads a JSON object from standard input (url, key, messages of
each request, concurrency), then one line for every round; prints the seconds by the clock and by
processor time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from openai import AsyncOpenAI


async def ask_all(given: dict[str, Any]) -> tuple[float, float]:
    """All requests, with so many in flight."""
    pending = iter(given["messages"])
    async with AsyncOpenAI(base_url=given["url"], api_key=given["key"]) as client:

        async def worker() -> None:
            for messages in pending:
                reply = await client.chat.completions.create(
                    model="instant",
                    messages=messages,
                    max_tokens=1,
                    temperature=0,
                    logprobs=True,
                    top_logprobs=20,
                )
                content = reply.choices[0].logprobs
                assert content is not None
                assert content.content
                assert content.content[0].top_logprobs

        wall, processor = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker() for _ in range(given["concurrency"])))
        return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    given = json.loads(sys.stdin.readline())
    for _ in sys.stdin:
        print(json.dumps(asyncio.run(ask_all(given))), flush=True)


if __name__ == "__main__":
    main()
