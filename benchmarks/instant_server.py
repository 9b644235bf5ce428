"""A chat server that answers every request immediately with the same 20 log probabilities.

It reads only the length of a request, so that the client is measured. Runs as a separate process:
`python benchmarks/instant_server.py` prints its port.
"""

from __future__ import annotations

import asyncio
import json
import math


def _answer() -> bytes:
    tokens = ["A", "B", " A", " B", *(f"word{n}" for n in range(16))]
    weights = [0.55, 0.35, 0.03, 0.02, *(0.05 / 2 ** (n + 1) for n in range(16))]
    top = [
        {"token": token, "logprob": math.log(weight), "bytes": list(token.encode())}
        for token, weight in zip(tokens, weights, strict=True)
    ]
    first = {"token": "A", "logprob": top[0]["logprob"], "bytes": [65], "top_logprobs": top}
    body = json.dumps(
        {
            "id": "chatcmpl-instant",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "instant",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "A", "refusal": None},
                    "logprobs": {"content": [first], "refusal": None},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 180, "completion_tokens": 1, "total_tokens": 181},
        }
    ).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


ANSWER = _answer()


class Instant(asyncio.Protocol):
    """One connection: counts bytes until a request is complete, then answers."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            self._transport.write(ANSWER)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
