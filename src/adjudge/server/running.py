"""Running an application behind its guard: connections with limits, signals, the end.

uvicorn waits without limit for the head of a request, and accepts connections until no more files
can be opened: a few clients that send one letter a minute would block it. So the time for a head,
for reading an answer, and the number of connections are limited here.
"""

from __future__ import annotations

import asyncio
import gc
import math
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from adjudge.errors import ArgumentError
from adjudge.server.guard import Guard, Limits, Refusal, require_token_beyond_loopback

#: The maximum size of the head of a request, in bytes.
HEAD_BYTES = 32 * 1024
_CLOSE_SECONDS = 0.5


class _OneSend:
    """A transport that joins all writes of one pass of the event loop.

    uvicorn writes the head of an answer and its body separately: two system calls, two packets.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, read_seconds: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._read_seconds = read_seconds
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
        if self._transport.get_write_buffer_size():
            # It closes once the rest is sent: never, if the client does not read.
            self._loop.call_later(self._read_seconds, self._transport.abort)

    def _send(self) -> None:
        if self._written:
            joined = b"".join(self._written)
            self._written = []
            self._transport.write(joined)


class _Connection(H11Protocol):
    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._head_wait: asyncio.TimerHandle | None = None
        self._read_wait: asyncio.TimerHandle | None = None
        self._received = False
        self._too_many = False
        self._hung_up = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        joined = _OneSend(transport, self.loop, self._limits.read_seconds)
        super().connection_made(cast(asyncio.Transport, joined))
        many = len(self.connections)
        self._too_many = many > self._limits.connections
        if many > 1.25 * self._limits.connections:
            transport.abort()  # above this number, not even a reason is sent
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        self._received = True
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

    def pause_writing(self) -> None:
        """The buffers are full: the client must read them in time."""
        super().pause_writing()
        self._read_wait = self.loop.call_later(self._limits.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read what was sent."""
        super().resume_writing()
        if self._read_wait is not None:
            self._read_wait.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        if self._read_wait is not None:
            self._read_wait.cancel()
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
        if self._received:
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
            self._head_wait = self.loop.call_later(_CLOSE_SECONDS, self.transport.close)
        else:
            self.transport.close()


#: Connections that the system keeps until they are accepted.
_QUEUE = 1024
#: asyncio accepts this many before it looks at one of them: too many to be refused in time, if all
#: that wait are accepted together. Then no file can be opened, and it logs that for each of them.
_ACCEPTED_AT_ONCE = 64
_OPEN_FILES = 4096


def _within_open_files(limits: Limits) -> Limits:
    """No more connections than files can be open; a low limit (256 on macOS) is raised first."""
    try:
        import resource
    except ImportError:  # not on every system
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    most = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    room = int((max(soft, most) - 2 * _ACCEPTED_AT_ONCE) / 1.25)
    return replace(limits, connections=min(limits.connections, max(16, room)))


def serve(
    make_app: Callable[..., Guard],
    *,
    host: str,
    port: int,
    token: str | None,
    ready: Callable[[str], None],
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Serve until SIGINT or SIGTERM, or until it `is_over`. Port 0 takes a free one.

    `make_app` gets host, port and token; `ready` gets the address.

    Requests in flight then have the guard's `stop_seconds` to finish; the others get 503. A second
    signal ends that time immediately.
    """
    require_token_beyond_loopback(host, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=_QUEUE)
    except OSError as error:
        raise ArgumentError(
            "port", port, f"cannot listen there ({error.strerror or error}); choose another --port"
        ) from None
    with closing(bound):
        taken = bound.getsockname()[1]
        guard = make_app(host=host, port=taken, token=token)
        connection = partial(_Connection, limits=_within_open_files(guard.limits))
        config = uvicorn.Config(
            guard,
            http=cast(type[asyncio.Protocol], connection),  # uvicorn only calls it
            backlog=_ACCEPTED_AT_ONCE,
            log_level="warning",
            access_log=False,  # addresses can contain ids of pairs, which must not be logged
            server_header=False,
            date_header=False,
            proxy_headers=False,  # the client's address is not used
            timeout_keep_alive=30,
            # The guard has answered all requests by then; this is for tasks that it cannot end.
            timeout_graceful_shutdown=math.ceil(guard.limits.stop_seconds) + 1,
            h11_max_incomplete_event_size=HEAD_BYTES,
            ws="none",
        )
        shown = f"[{host}]" if ":" in host else host
        # Loaded objects stay: garbage collections during requests can skip them.
        gc.collect()
        gc.freeze()
        server = _Server(
            config, guard, ready=lambda: ready(f"http://{shown}:{taken}/"), is_over=is_over
        )
        server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """Calls `ready` once it answers requests and signals; stops by its guard's time limit."""

    def __init__(
        self,
        config: uvicorn.Config,
        guard: Guard,
        *,
        ready: Callable[[], None],
        is_over: Callable[[], bool],
    ) -> None:
        super().__init__(config)
        self._guard = guard
        self._ready = ready
        self._is_over = is_over
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(_QUEUE)  # uvicorn's `backlog` is both; clients can wait in a longer queue
        if self.started:
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second; true ends the server."""
        if self._is_over() and not self.should_exit:
            self.handle_exit(signal.SIGTERM, None)
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's handler would raise the signal again after shutdown, and end the process before
        # the labels are written.
        seconds = 0.0 if self.should_exit else self._guard.limits.stop_seconds
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._guard.stop, seconds)
