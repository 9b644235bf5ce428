"""Protection of a local server: what is refused before any handler runs.

A page on loopback can be reached by any site that the user visits: DNS rebinding sends its own
Host, a forged request its own Origin. Both are refused here, before any handler runs. So are
callers without the token, bodies that are too large or too slow, and more requests than the memory
limit allows. The time for a request is limited too.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adjudge.errors import ArgumentError, InputError, StoreError
from adjudge.present.text import clip

#: After so many seconds a request is slow: then its client is watched.
_SLOW_SECONDS = 0.05


class Deadlines:
    """The time limits that are running, and the moment at which the server stops."""

    def __init__(self) -> None:
        self._running: set[asyncio.Timeout] = set()
        self._stops_at = math.inf

    @property
    def stopping(self) -> bool:
        """Whether the server was asked to stop."""
        return self._stops_at < math.inf

    def stop(self, seconds: float) -> None:
        """Let requests run for at most this many seconds from now."""
        self._stops_at = asyncio.get_running_loop().time() + seconds
        for limit in self._running:
            if not limit.expired():
                limit.reschedule(min(limit.when() or math.inf, self._stops_at))

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[asyncio.Timeout]:
        """A time limit for a block; a stop of the server shortens it."""
        end = asyncio.get_running_loop().time() + seconds
        async with asyncio.timeout_at(min(end, self._stops_at)) as limit:
            self._running.add(limit)
            try:
                yield limit
            finally:
                self._running.discard(limit)


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
        remedy = "an address other than loopback needs a token of 16 or more characters in the "
        raise ArgumentError("host", host, remedy + "environment variable ADJUDGE_TOKEN")


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
        headers = Headers(scope=scope)  # of those given twice the first counts
        try:
            self._check(scope, headers)
            await self._serve(scope, headers, receive, send)
        except Refusal as refusal:
            await self._refuse(headers, receive, send, refusal)
        except _GoneError:
            return

    def stop(self, seconds: float) -> None:
        """Let requests in flight finish within this many seconds; the others then get 503."""
        self._deadlines.stop(seconds)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "").lower()
        if not self.any_host and host not in self.hosts:
            raise Refusal(421, "this server does not answer for that host name")
        # All given origins must be ours: of several, any can be the browser's.
        ours = {*self.origins, f"http://{host}"} if self.any_host else self.origins
        foreign = any(origin.lower() not in ours for origin in headers.getlist("origin"))
        # A link to the page is harmless: no site can frame it or read it.
        followed = (
            scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and scope["path"] in self.open_paths
        )
        own_site = headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        if foreign or not (own_site or followed):
            raise Refusal(403, "requests from other sites are refused")
        if self.token is not None and scope["path"] not in self.open_paths:
            sent = headers.get("authorization", "")
            if not hmac.compare_digest(sent.encode(), f"Bearer {self.token}".encode()):
                raise Refusal(401, "send the token as: Authorization: Bearer TOKEN")
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy in front can take the other one for the end of the body.
            raise Refusal(400, "give content-length or transfer-encoding, not both")
        length = headers.get("content-length", "0")
        # Unicode digits pass isdigit() and int(); HTTP allows only ASCII.
        if not (length.isascii() and length.isdigit()):
            raise Refusal(400, "content-length is not a number")
        if len(length) > 12 or int(length) > self.limits.body_bytes:
            raise self._too_large

    async def _serve(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        announced = int(headers.get("content-length", "0"))
        large = 0  # the part of the memory for large bodies that this body takes
        chunks: list[bytes] = []
        try:
            try:
                async with self._deadlines.within(self.limits.body_seconds):
                    size = 0
                    async for chunk in _chunks(receive):
                        size += len(chunk)
                        if size > self.limits.body_bytes:
                            raise self._too_large
                        if size > max(large, _SMALL_BODY):
                            # Reserve it completely: otherwise many growing bodies would all fail.
                            needed = max(size, announced)
                            self._held_bytes += needed - large
                            large = needed
                            if self._held_bytes > self.limits.bodies_bytes:
                                raise self._busy
                        chunks.append(chunk)
            except TimeoutError:
                late = Refusal(408, "the body came too slowly")
                await _answer(send, self._stopped or late, closing=True)
                return
            if self._requests >= self.limits.requests:
                await _answer(send, self._busy)
                return
            self._requests += 1
            try:
                await self._hand_on(scope, b"".join(chunks), receive, send)
            finally:
                self._requests -= 1
        finally:
            chunks.clear()  # an exception would keep them while a refusal is sent
            self._held_bytes -= large

    async def _hand_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the application answer within the time limit, while the client is connected."""
        begun = False

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = list(message.get("headers", ()))
                names = {name.lower() for name, _ in headers}
                message["headers"] = headers + [pair for pair in _HEADERS if pair[0] not in names]
            await send(message)

        async def give_up_when_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            if not begun and not limit.expired():
                limit.reschedule(0)

        watches: list[asyncio.Task[None]] = []

        def watch() -> None:
            watches.append(asyncio.create_task(give_up_when_gone()))

        try:
            async with self._deadlines.within(self.limits.answer_seconds) as limit:
                # Most answers are too fast for a disconnect: a task for each would be waste.
                slow = asyncio.get_running_loop().call_later(_SLOW_SECONDS, watch)
                try:
                    await self.app(scope, replay(body), guarded_send)
                finally:
                    slow.cancel()
                    for task in watches:
                        task.cancel()
        except TimeoutError:
            if not begun:
                late = Refusal(504, "no answer within the time limit")
                await _answer(send, self._stopped or late)

    async def _refuse(
        self, headers: Headers, receive: Receive, send: Send, refusal: Refusal
    ) -> None:
        if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
            await _answer(send, refusal)
            return
        await _answer(send, refusal, closing=True, more=True)
        with suppress(TimeoutError, _GoneError):
            async with self._deadlines.within(_LINGER_SECONDS):
                async for _ in _chunks(receive):
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


class Refusal(Exception):  # noqa: N818  (it is an answer, not a failure)
    """The reason why a request is not served."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        #: One line for the client.
        self.body = json.dumps({"detail": detail}).encode()

    def headers(self, *, closing: bool) -> list[tuple[bytes, bytes]]:
        """The headers of the answer: the common ones, and those of this status."""
        length = str(len(self.body)).encode()
        headers = [*_HEADERS, (b"content-type", b"application/json"), (b"content-length", length)]
        if closing:
            headers.append((b"connection", b"close"))
        if self.status == 503:
            headers.append((b"retry-after", b"1"))
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        return headers


class _GoneError(Exception):
    pass


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


_log = logging.getLogger("adjudge.server")


def explain_in_one_line(app: FastAPI) -> None:
    """Replace the framework's answers to bad requests and to internal errors."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StoreError, _not_kept)
    app.add_exception_handler(Exception, _unexpected)


async def _invalid(request: Request, error: Exception) -> Response:
    problem = cast(RequestValidationError, error).errors()[0]
    # The location can contain a field name of the client, of any length and content.
    where = ".".join(map(str, problem["loc"])).encode("utf-8", "replace").decode()
    return JSONResponse({"detail": f"{clip(where, 200)}: {problem['msg']}"}, status_code=422)


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
