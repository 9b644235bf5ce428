"""What stands between a local server and everything else that can reach a browser.

A page on loopback is reachable by any site the user visits: DNS rebinding sends its own Host, a
forged request its own Origin. Both are refused here, before any handler runs, together with
bodies that are too large or too slow and callers without the token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adjudge.errors import ArgumentError

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
#: A body up to so many times the limit is read and thrown away before it is refused: a client that
#: is still sending would otherwise see a broken connection instead of the reason.
_DRAINED = 4
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may cost."""

    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    answer_seconds: float = 120.0


def is_loopback(host: str) -> bool:
    """Whether an address to bind to is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token_beyond_loopback(host: str, token: str | None) -> None:
    """Refuse to listen to the network without a token of some length."""
    if is_loopback(host):
        return
    if not token or len(token) < 16:
        raise ArgumentError(
            "host", host, "another address than loopback needs a token of 16 or more characters in "
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
        names = set(_LOOPBACK_NAMES) if is_loopback(host) else {host.lower()}
        # Bound to every address, the machine has names we cannot know; the token guards instead.
        self.any_host = host in {"0.0.0.0", "::"}  # noqa: S104
        shown = {f"[{name}]" if ":" in name else name for name in names}
        self.hosts = {f"{name}:{port}" for name in shown} | (shown if port == 80 else set())
        self.origins = {f"http://{name}" for name in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websocket is served
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        await self._serve(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if not self.any_host and host not in self.hosts:
            return 421, "this server does not answer for that host name"
        origin = headers.get("origin")
        if origin is not None and not self._known_origin(origin.lower(), host):
            return 403, "requests from other sites are refused"
        # Following a link to the page is harmless: no site can frame it or read it.
        followed = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        own_site = headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        if not own_site and not followed:
            return 403, "requests from other sites are refused"
        length = headers.get("content-length")
        if length is not None:
            # Unicode digits pass isdigit() and int() alike; ASCII alone is HTTP.
            if not (length.isascii() and length.isdigit()):
                return 400, "content-length is not a number"
            if len(length) > 12 or int(length) > _DRAINED * self.limits.body_bytes:
                return 413, self._too_large
        if self.token is not None and scope["path"] not in self.open_paths:
            given = headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
                return 401, "send the token as: Authorization: Bearer TOKEN"
        return None

    def _known_origin(self, origin: str, host: str) -> bool:
        return origin in self.origins or (self.any_host and origin == f"http://{host}")

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = message.get("headers", ())
                named = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(own for own in _HEADERS if own[0] not in named)]
            await send(message)

        try:
            async with asyncio.timeout(self.limits.body_seconds):
                body = await self._body(receive)
        except _TooLargeError:
            await _answer(send, 413, self._too_large)
            return
        except TimeoutError:
            await _answer(send, 408, "the body came too slowly")
            return
        except _GoneError:
            return
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                await self.app(scope, _replay(body, receive), guarded_send)
        except TimeoutError:
            if not begun:
                await _answer(send, 504, "no answer within the time limit")

    @property
    def _too_large(self) -> str:
        return f"the body may have at most {self.limits.body_bytes:,} bytes"

    async def _body(self, receive: Receive) -> bytes:
        """The whole body, read before any handler: none is served that is too large or too slow."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            chunk = message.get("body", b"")
            size += len(chunk)
            if size <= self.limits.body_bytes:
                chunks.append(chunk)
            elif size > _DRAINED * self.limits.body_bytes or not message.get("more_body", False):
                raise _TooLargeError
            if not message.get("more_body", False):
                return b"".join(chunks)


class _TooLargeError(Exception):
    pass


class _GoneError(Exception):
    pass


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive channel that hands out the body already read, then listens on."""
    handed = False

    async def again() -> Message:
        nonlocal handed
        if not handed:
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


async def _answer(send: Send, status: int, detail: str) -> None:
    body: bytes = json.dumps({"detail": detail}).encode()
    headers = [
        *_HEADERS,
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if status in {408, 413}:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
