"""Protection of a local server, and running an application behind it.

A page on loopback can be reached by any site that the user visits: DNS rebinding sends its own
Host, a forged request its own Origin. Both are refused here, before any handler runs. So are
callers without the token, bodies that are too large or too slow, and more requests than the memory
limit allows.

uvicorn waits without limit for the head of a request, and accepts connections until no more files
can be opened: a few clients that send one letter a minute would block it. So the time for a request
and the number of connections are limited too. One timer of the event loop per request would cost as
much as all other checks together; instead one clock ticks while there are requests, and a limit can
act up to one tick late.
"""

from __future__ import annotations

import asyncio
import gc
import hmac
import ipaddress
import json
import logging
import math
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType, TracebackType
from typing import Any, cast

import h11
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from adjudge.errors import ArgumentError, InputError, StoreError
from adjudge.present.text import clip

#: Seconds between two checks of the requests in flight.
TICK = 0.05


class Deadlines:
    """The limits that are running, and the moment at which the server stops."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._stops_at: float | None = None
        self._ticks = False

    @property
    def stopping(self) -> bool:
        """Whether the server was asked to stop."""
        return self._stops_at is not None

    def stop(self, seconds: float) -> None:
        """Let requests run for at most this many seconds from now."""
        self._stops_at = asyncio.get_running_loop().time() + seconds

    def within(self, seconds: float, on_slow: Callable[[], None] | None = None) -> Deadline:
        """A time limit for a block; a stop of the server shortens it.

        `on_slow` is called once, if the block takes longer than a tick.
        """
        loop = asyncio.get_running_loop()
        if not self._ticks:
            self._ticks = True
            loop.call_later(TICK, self._tick)
        return Deadline(loop.time(), seconds, on_slow, self._running)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        now, stops_at = loop.time(), self._stops_at
        stopped = stops_at is not None and stops_at <= now
        for one in list(self._running):
            if one.end <= now or stopped:
                one.expire()
            elif one.on_slow is not None and one.began + TICK <= now:
                one.on_slow()
                one.on_slow = None
        self._ticks = bool(self._running)
        if self._ticks:
            loop.call_later(TICK, self._tick)


class Deadline:
    """One limit, running while its block is: `async with`, as `asyncio.timeout`."""

    __slots__ = ("_running", "_timeout", "began", "end", "on_slow")

    def __init__(
        self,
        began: float,
        seconds: float,
        on_slow: Callable[[], None] | None,
        running: set[Deadline],
    ) -> None:
        self.began = began
        self.end = began + seconds
        self.on_slow = on_slow
        self._running = running
        self._timeout = asyncio.timeout(None)

    def expire(self) -> None:
        """End the block now, with a TimeoutError."""
        if not self._timeout.expired():
            self._timeout.reschedule(0)

    async def __aenter__(self) -> Deadline:
        self._running.add(self)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.discard(self)
        await self._timeout.__aexit__(kind, error, trace)


CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
#: Bodies up to this size are never refused for memory: their number is limited instead.
_SMALL_BODY = 65_536
#: For this long a refused body is still read and discarded. Otherwise a client that is sending
#: would see a broken connection instead of the reason.
_LINGER_SECONDS = 5.0
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one request, and of all requests together."""

    head_seconds: float = 10.0
    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    answer_seconds: float = 120.0
    #: Seconds for a client to read an answer that does not fit into the system's buffers.
    read_seconds: float = 30.0
    #: Seconds for requests in flight to finish after a stop signal.
    stop_seconds: float = 1.0
    connections: int = 500
    requests: int = 256
    #: Memory for bodies larger than 64 kB; as text, a body takes several times its size.
    bodies_bytes: int = 32_000_000


def is_loopback(host: str) -> bool:
    """Whether an address to bind to is reachable only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token_beyond_loopback(host: str, token: str | None) -> None:
    """Refuse to listen to the network without a long enough token that can be sent.

    Errors name the variable and never the token.
    """
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise InputError("ADJUDGE_TOKEN: use printable ASCII characters without spaces")
    if not is_loopback(host) and (token is None or len(token) < 16):
        raise ArgumentError(
            "host",
            host,
            "an address other than loopback needs a token of 16 or more characters in "
            "the environment variable ADJUDGE_TOKEN"
        )  # fmt: skip


class Guard:
    """ASGI middleware: host, origin, token, size and time, and the headers of every answer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        port: int,
        token: str | None = None,
        limits: Limits | None = None,
        open_paths: frozenset[str] = frozenset({"/healthz"}),
    ) -> None:
        self.app = app
        self.token = token
        self.limits = limits or Limits()
        self.open_paths = open_paths
        names = {host.lower()} | (_LOOPBACK_NAMES if is_loopback(host) else set())
        # If bound to every address, the machine's names are unknown; the token protects instead.
        self.any_host = host in {"0.0.0.0", "::"}  # noqa: S104
        shown = {f"[{name}]" if ":" in name else name for name in names}
        self.hosts = {f"{name}:{port}" for name in shown} | (shown if port == 80 else set())
        self.origins = {f"http://{name}" for name in self.hosts}
        self._requests = 0
        self._held_bytes = 0
        self._deadlines = Deadlines()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # websockets are not served
        headers = _first_values(scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await self._refuse(headers, receive, send, refusal)
            return
        await self._serve(scope, headers, receive, send)

    def stop(self, seconds: float) -> None:
        """Let requests in flight finish within this many seconds; the others then get 503."""
        self._deadlines.stop(seconds)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        host = headers.get("host", "").lower()
        if not self.any_host and host not in self.hosts:
            return Refusal(421, "this server does not answer for that host name")
        if "origin" in headers and not self._known_origins(scope, host):
            return Refusal(403, "requests from other sites are refused")
        # A link to the page is harmless: no site can frame it or read it.
        followed = (
            scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and scope["path"] in self.open_paths
        )
        own_site = headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        if not own_site and not followed:
            return Refusal(403, "requests from other sites are refused")
        if self.token is not None and scope["path"] not in self.open_paths:
            given = headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
                return Refusal(401, "send the token as: Authorization: Bearer TOKEN")
        if {"content-length", "transfer-encoding"} <= headers.keys():
            # A proxy in front can take the other one for the end of the body.
            return Refusal(400, "give content-length or transfer-encoding, not both")
        length = headers.get("content-length", "0")
        # Unicode digits pass isdigit() and int(); HTTP allows only ASCII.
        if not (length.isascii() and length.isdigit()):
            return Refusal(400, "content-length is not a number")
        if len(length) > 12 or int(length) > self.limits.body_bytes:
            return self._too_large
        return None

    def _known_origins(self, scope: Scope, host: str) -> bool:
        """Whether all given origins are ours: of several, any can be the browser's."""
        known = self.origins | ({f"http://{host}"} if self.any_host else set())
        given = [value for name, value in scope["headers"] if name == b"origin"]
        return all(one.decode("latin-1").lower() in known for one in given)

    async def _serve(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> None:
        chunks: list[bytes] = []
        announced = int(headers.get("content-length", "0"))
        large = 0  # the part of the memory for large bodies that this body takes
        try:
            try:
                async with self._deadlines.within(self.limits.body_seconds):
                    size = 0
                    async for chunk in _chunks(receive):
                        size += len(chunk)
                        if size > self.limits.body_bytes:
                            raise _RefusedError(self._too_large)
                        if size > max(large, _SMALL_BODY):
                            # Reserve it completely: otherwise many growing bodies would all fail.
                            needed = max(size, announced)
                            self._held_bytes += needed - large
                            large = needed
                            if self._held_bytes > self.limits.bodies_bytes:
                                raise _RefusedError(self._busy)
                        chunks.append(chunk)
            except _RefusedError as error:
                chunks.clear()
                await self._refuse(headers, receive, send, error.refusal)
            except TimeoutError:
                late = Refusal(408, "the body came too slowly")
                await _answer(send, self._stopped or late, closing=True)
            except _GoneError:
                pass
            else:
                if self._requests >= self.limits.requests:
                    await _answer(send, self._busy)
                    return
                self._requests += 1
                try:
                    await self._hand_on(scope, b"".join(chunks), receive, send)
                finally:
                    self._requests -= 1
        finally:
            self._held_bytes -= large

    async def _hand_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the application answer within the time limit, while the client is connected."""
        begun = False

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = message.get("headers", ())
                named = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(own for own in _HEADERS if own[0] not in named)]
            await send(message)

        async def give_up_when_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            if not begun:
                deadline.expire()

        watches: list[asyncio.Task[None]] = []

        def watch() -> None:
            watches.append(asyncio.create_task(give_up_when_gone()))

        # Most answers are too fast for a disconnect: a task for each would be waste.
        deadline = self._deadlines.within(self.limits.answer_seconds, on_slow=watch)
        try:
            async with deadline:
                try:
                    await self.app(scope, replay(body), guarded_send)
                finally:
                    for task in watches:
                        task.cancel()
        except TimeoutError:
            if not begun:
                late = Refusal(504, "no answer within the time limit")
                await _answer(send, self._stopped or late)

    async def _refuse(
        self, headers: Mapping[str, str], receive: Receive, send: Send, refusal: Refusal
    ) -> None:
        if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
            await _answer(send, refusal)
            return
        await _answer(send, refusal, closing=True, more=True)
        try:
            async with self._deadlines.within(_LINGER_SECONDS):
                async for _ in _chunks(receive):
                    pass
        except (TimeoutError, _GoneError):
            pass
        await send({"type": "http.response.body", "body": b""})

    @property
    def _too_large(self) -> Refusal:
        return Refusal(413, f"the body can have at most {self.limits.body_bytes:,} bytes")

    @property
    def _busy(self) -> Refusal:
        return Refusal(503, "too many requests in flight; try again")

    @property
    def _stopped(self) -> Refusal | None:
        return Refusal(503, "the server is stopping") if self._deadlines.stopping else None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a request is not served."""

    status: int
    detail: str

    def headers(self, *, closing: bool) -> list[tuple[bytes, bytes]]:
        """The headers of the answer: the common ones, and those of this status."""
        return [
            *_HEADERS,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self.body)).encode()),
            *([(b"connection", b"close")] if closing else []),
            *([(b"retry-after", b"1")] if self.status == 503 else []),
            *([(b"www-authenticate", b"Bearer")] if self.status == 401 else []),
        ]

    @property
    def body(self) -> bytes:
        """One line for the client."""
        return json.dumps({"detail": self.detail}).encode()


class _RefusedError(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


class _GoneError(Exception):
    pass


def _first_values(scope: Scope) -> dict[str, str]:
    """The headers by name; of those given twice the first counts."""
    given = reversed(scope["headers"])
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in given}


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def replay(body: bytes) -> Receive:
    """A receive channel that returns the body that was read, and nothing after it."""
    handed = False

    async def again() -> Message:
        nonlocal handed
        if handed:
            await asyncio.Event().wait()
        handed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _answer(
    send: Send, refusal: Refusal, *, closing: bool = False, more: bool = False
) -> None:
    headers = refusal.headers(closing=closing)
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body, "more_body": more})


#: The maximum size of the head of a request, in bytes.
HEAD_BYTES = 32 * 1024
_CLOSE_SECONDS = 0.5


def limited_connection(limits: Limits) -> type[asyncio.Protocol]:
    """The connection class that uvicorn uses for each client, with these limits."""
    made: Callable[..., asyncio.Protocol] = partial(_Connection, limits=limits)
    return cast(type[asyncio.Protocol], made)  # uvicorn only calls it


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
            written, self._written = b"".join(self._written), []
            self._transport.write(written)


class _Connection(H11Protocol):
    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._head_wait: asyncio.TimerHandle | None = None
        self._read_wait: asyncio.TimerHandle | None = None
        self._heard = False
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

    def pause_writing(self) -> None:
        """The buffers are full: the client must read them in time."""
        super().pause_writing()
        self._read_wait = self.loop.call_later(self._limits.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read what was sent."""
        super().resume_writing()
        self._end_read_wait()

    def _end_read_wait(self) -> None:
        if self._read_wait is not None:
            self._read_wait.cancel()
            self._read_wait = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        self._end_read_wait()
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
            self._head_wait = self.loop.call_later(_CLOSE_SECONDS, self.transport.close)
        else:
            self.transport.close()


_log = logging.getLogger("adjudge.server")


def explain_in_one_line(app: FastAPI) -> None:
    """Replace the framework's answers to bad requests and to internal errors."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StoreError, _not_kept)
    app.add_exception_handler(Exception, _unexpected)


async def _invalid(request: Request, error: Exception) -> Response:
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    where = ".".join(str(part) for part in problems[0]["loc"]) if problems else "request"
    said = problems[0]["msg"] if problems else "the request cannot be read"
    # The location can contain a field name of the client, of any length and content.
    where = clip(where.encode("utf-8", "replace").decode(), 200)
    return JSONResponse({"detail": f"{where}: {said}"}, status_code=422)


async def _not_kept(request: Request, error: Exception) -> Response:
    _log.error("%s", error)
    return JSONResponse(
        {"detail": "nothing was kept: the store cannot be written; see the server's log"},
        status_code=503,
    )


async def _unexpected(request: Request, error: Exception) -> Response:
    # The traceback is only in the server's log: it would help an attacker, not a client.
    _log.error("unexpected error", exc_info=error)
    return JSONResponse({"detail": "unexpected error; see the server's log"}, status_code=500)


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
    make_app: Callable[[int], Guard],
    *,
    host: str,
    port: int,
    token: str | None,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 takes a free one; `ready` gets the address.

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
        guard = make_app(taken)
        config = uvicorn.Config(
            guard,
            http=limited_connection(_within_open_files(guard.limits)),
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
        server = _Server(config, guard, ready=lambda: ready(f"http://{shown}:{taken}/"))
        server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """Calls `ready` once it answers requests and signals; stops by its guard's time limit."""

    def __init__(self, config: uvicorn.Config, guard: Guard, *, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._guard = guard
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(_QUEUE)  # uvicorn's `backlog` is both; clients can wait in a longer queue
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's handler would raise the signal again after shutdown, and end the process before
        # the labels are written.
        seconds = 0.0 if self.should_exit else self._guard.limits.stop_seconds
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._guard.stop, seconds)
