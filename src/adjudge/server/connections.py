"""Limits for client connections: the time for a request, and the number of connections.

uvicorn waits without limit for the head of a request, and accepts connections until no more files
can be opened. A few clients that send one letter a minute would block it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adjudge.server.safety import Limits, Refusal

#: The maximum size of the head of a request, in bytes.
HEAD_BYTES = 32 * 1024
_LINGER_SECONDS = 0.5


def limited_connection(limits: Limits) -> type[asyncio.Protocol]:
    """The connection class that uvicorn uses for each client, with these limits."""
    made: Callable[..., asyncio.Protocol] = partial(_Connection, limits=limits)
    return cast(type[asyncio.Protocol], made)  # uvicorn only calls it


class _OneSend:
    """A transport that joins all writes of one pass of the event loop.

    uvicorn writes the head of an answer and its body separately: two system calls, two packets.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._written:
            written, self._written = b"".join(self._written), []
            self._transport.write(written)


class _Connection(H11Protocol):
    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._head_wait: asyncio.TimerHandle | None = None
        self._heard = False
        self._too_many = False
        self._hung_up = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _OneSend(transport, self.loop)))
        many = len(self.connections)
        self._too_many = many > self._limits.connections
        if many > 1.25 * self._limits.connections:
            transport.abort()  # above this number, not even a reason is sent
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        self._heard = True
        if self._hung_up:
            return  # read and discarded, so that the client receives our answer
        if self._too_many:
            # Only now: an answer sent before the request was read would be lost on closing.
            self._hang_up(Refusal(503, "too many connections are open; try again"))
            return
        super().data_received(data)
        if self._asked:
            self._end_wait()
        elif self._head_wait is None and not self._hung_up:
            self._await_head()  # a part of the next request of a connection that was kept alive

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._hang_up(Refusal(400, "this is not an HTTP request"))

    @property
    def _asked(self) -> bool:
        """Whether a request's head has arrived and its answer is not complete."""
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._head_wait = self.loop.call_later(self._limits.head_seconds, self._give_up)

    def _end_wait(self) -> None:
        if self._head_wait is not None:
            self._head_wait.cancel()
            self._head_wait = None

    def _give_up(self) -> None:
        if self._heard:
            self._hang_up(Refusal(408, "the request came too slowly"))
        else:
            self.transport.close()  # a browser that connected in advance expects no answer

    def _hang_up(self, refusal: Refusal) -> None:
        """Send the reason if no answer was started, and close once the client has read it."""
        self._end_wait()
        if self.transport.is_closing():
            return
        self._hung_up = True
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            reason = {400: b"Bad Request", 408: b"Request Timeout", 503: b"Service Unavailable"}
            head = h11.Response(
                status_code=refusal.status,
                headers=refusal.headers(closing=True),
                reason=reason[refusal.status],
            )
            for event in (head, h11.Data(data=refusal.body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self._head_wait = self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()
