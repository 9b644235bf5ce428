"""Requests to a JSON server, with retries.

429, 5xx, timeouts, broken connections and bodies that are not JSON are retried, with full jitter
and not before the server's Retry-After. After `max_attempts` the error is returned as text. Any
other answer is returned unchanged. Keys come from the environment, are sent in a header, and are
redacted in every message. An answer is read up to a maximum size, compressed or not.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic_core import from_json, to_json
from yarl import URL

from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.judges.flow import Limiter, Pace
from adjudge.judges.redact import Redactor, environment_secrets
from adjudge.validation import count, positive

#: The compressions that are accepted in requests and can be read.
PACKINGS = ("gzip", "deflate")
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
#: Statuses that mean overload; other errors have no information about the load.
OVERLOAD = frozenset({429, 503, 529})
#: If a server asks for a longer pause than this, the run does not wait.
LONGEST_PAUSE_S = 120.0
#: How long a server can take to accept a first connection.
_REACH_S = 10.0
#: The largest answer about files and batches, which are small.
LARGEST_ANSWER = 4 << 20
_KEPT_RAW = 64 << 10
#: Bytes read of an error. More than is kept, so that no part of a key is left at the end.
_LARGEST_ERROR = 2 * _KEPT_RAW
_LONGEST_WORDS = 300
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exchange:
    """The last answer, or the reason why there is none (`trouble`)."""

    http_status: int | None
    payload: Any
    raw: str | None
    latency_s: float
    trouble: str | None = None
    not_as_stated: bool = False


@dataclass(frozen=True, slots=True)
class _Failure:
    """One failed attempt that can be retried."""

    reason: str
    http_status: int | None = None
    raw: str | None = None
    wait_s: float = 0.0
    overload: bool = False
    connected: bool = True
    #: The head cannot be read; or its status was 200, but the body is an error, no JSON, or
    #: shorter than its length.
    not_as_stated: bool = False
    #: It took the whole time limit: another attempt would too.
    hung: bool = False


class PackingError(Exception):
    """A body that cannot be decompressed."""


def key_from(variable: str) -> str:
    """The API key in an environment variable, or "" if there is none."""
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise JudgeError(f"{variable} contains characters that cannot be sent; set it again")
    return key


#: A piece of a path that is named like a secret.
_KEY_IN_PATH = re.compile(r"(?i)(?:^|[/_;-])(?:api)?(?:key|token|secret|password)[=:/]+[^/]{8,}")


def check_base_url(base_url: str) -> str:
    """The URL without a trailing slash; refused if it could contain a secret.

    >>> check_base_url("http://localhost:8000/v1/")
    'http://localhost:8000/v1'
    """
    parts = urlsplit(base_url)
    remedy = "leave out the key; export it and name its variable with --api-key-env NAME"
    if _KEY_IN_PATH.search(parts.path) or Redactor(environment_secrets())(base_url) != base_url:
        raise ArgumentError("base_url", f"{parts.scheme}://{parts.hostname or ''}/...", remedy)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        host = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        remedy = "leave out user, password and query; keys come from the environment"
        raise ArgumentError("base_url", host, remedy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError("base_url", base_url, "give a URL such as http://localhost:8000/v1")
    return base_url.rstrip("/")


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The pause a server asks for, in seconds: a number, or a date.

    >>> retry_after({"Retry-After": "2.5"})
    2.5
    >>> retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"},
    ...             datetime(2015, 10, 21, 7, 27, tzinfo=UTC))
    60.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("Retry-After", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            try:
                date = parsedate_to_datetime(value)
            except (OverflowError, TypeError, ValueError):
                continue
            if date.tzinfo is None:
                date = date.replace(tzinfo=UTC)
            seconds = (date - (now or datetime.now(UTC))).total_seconds()
        if seconds == seconds and seconds != float("inf"):
            return max(0.0, seconds)
    return None


class Server:
    """One HTTP server, asked for JSON over keep-alive connections."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        secrets: list[str],
        concurrency: int,
        timeout_s: float,
        max_attempts: int,
        first_pause_s: float = 0.5,
    ) -> None:
        self.base_url = check_base_url(base_url)
        self.redact = Redactor(secrets)
        self.limiter = Limiter(count(concurrency, "concurrency", least=1))
        self.timeout_s = positive(timeout_s, "timeout")
        self.max_attempts = count(max_attempts, "max_attempts", least=1)
        self.first_pause_s = positive(first_pause_s, "first_pause_s")
        self.reached = False
        #: Whether a question was answered.
        self.answered = False
        self.pace: Pace | None = None
        #: Number of answers "too many requests" so far.
        self.rate_limited = 0
        self._headers = dict(headers)
        self._session: aiohttp.ClientSession | None = None
        self._proxy = _proxy_for(self.base_url)

    def reach(self) -> str | None:
        """Why no connection can be opened; None if one was."""
        host, port = _place_of(self._proxy or self.base_url)
        try:
            socket.create_connection((host, port), timeout=_REACH_S).close()
        except OSError as error:
            return f"no connection to {host}:{port} ({error.strerror or error})"
        return None

    async def open(self) -> None:
        if self._session is None:
            headers = {
                "Accept": "application/json",
                "Accept-Encoding": ", ".join(PACKINGS),
                "Content-Type": "application/json",
                **self._headers,
            }
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self.limiter.most, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self.timeout_s),
                headers=headers,
                # A judge's server has no session, and cookie lookups cost time.
                cookie_jar=aiohttp.DummyCookieJar(),
                # Decompressed here with a limit: a few kilobytes can become gigabytes.
                auto_decompress=False,
            )

    async def close(self) -> None:
        if self._session is not None:
            session = self._session
            self._session = None
            await session.close()

    async def post_json(self, path: str, body: Mapping[str, Any], *, largest: int) -> Exchange:
        return await self.exchange("POST", path, largest=largest, data=_written(body))

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        sink: IO[bytes] | None = None,
        attempts: int | None = None,
        largest: int = LARGEST_ANSWER,
        **request: Any,
    ) -> Exchange:
        """One request with its retries. A successful answer is written to `sink`, if given."""
        limiter = self.limiter
        most = attempts or self.max_attempts
        for attempt in range(1, most + 1):
            cuts = await limiter.enter()
            try:
                # A GET does not ask the judge: `--rpm` is only about questions.
                if self.pace is not None and method != "GET":
                    await self.pace.turn(first=attempt == 1)
                began = time.perf_counter()
                outcome = await self._attempt(method, path, sink, largest, request)
            finally:
                limiter.leave()
            if isinstance(outcome, Exchange):
                self.reached = True
                limiter.answered()
                return outcome
            if outcome.http_status is not None:
                self.reached = True
            if outcome.http_status == 429:
                self.rate_limited += 1
            if outcome.overload:
                pause = outcome.wait_s if outcome.wait_s <= LONGEST_PAUSE_S else 0.0
                limiter.overloaded(cuts, pause)
            trouble = f"{outcome.reason} ({attempt} of {most} attempts)"
            if outcome.wait_s > LONGEST_PAUSE_S:
                trouble = f"{outcome.reason}; the server asks to wait {outcome.wait_s:.0f} s"
            elif attempt < most and (self.answered or not outcome.hung or method == "GET"):
                ceiling = min(60.0, self.first_pause_s * 2 ** (attempt - 1))
                await asyncio.sleep(outcome.wait_s + random.uniform(0, ceiling))
                continue
            if not outcome.connected and not self.reached:
                unreached = f"cannot reach {self.base_url}: {outcome.reason}"
                remedy = "check that the server is running and --base-url"
                raise JudgeRefusedError(self.redact(f"{unreached}; {remedy}"))
            latency = time.perf_counter() - began
            words = self.redact(trouble)
            return Exchange(
                outcome.http_status, None, outcome.raw, latency, words, outcome.not_as_stated
            )
        raise AssertionError("the loop returns on its last attempt")

    async def _attempt(
        self, method: str, path: str, sink: IO[bytes] | None, largest: int, request: dict[str, Any]
    ) -> Exchange | _Failure:
        session = self._session
        if session is None:
            # A connection opened here, for a question that waited while the judge was closed,
            # would never be closed.
            raise JudgeError(f"{self.base_url} is not open; start the judge before asking it")
        url = URL(self.base_url + path if path.startswith("/") else path, encoded=True)
        began = time.perf_counter()
        status = 0
        try:
            async with session.request(
                method, url, allow_redirects=False, proxy=self._proxy, **request
            ) as response:
                status = response.status
                headers = response.headers
                limits = (largest, sink) if status < 300 else (_LARGEST_ERROR, None)
                content, whole = await read_body(response, *limits)
        except TimeoutError:
            begun = 200 <= status < 300
            words = f"no answer within {self.timeout_s:g} s" + (", only its start" if begun else "")
            return _Failure(words, overload=True, not_as_stated=begun, hung=begun)
        except aiohttp.ClientConnectorCertificateError as error:
            if not self.reached:
                raise JudgeRefusedError(f"{self.base_url}: {self._cause(error)}") from None
            return _Failure(self._cause(error), connected=False)
        except aiohttp.ClientConnectorError as error:
            return _Failure(self._cause(error), overload=True, connected=False)
        except PackingError as error:
            return _Failure(str(error), status)
        # The client library raises ValueError for some headers that cannot be read.
        except (aiohttp.ClientError, OSError, ValueError) as error:
            unreadable = isinstance(error, aiohttp.ClientResponseError)
            cut = unreadable or 200 <= status < 300
            words = f"the connection broke: {self._cause(error)}"
            return _Failure(words, overload=True, not_as_stated=cut)
        latency = time.perf_counter() - began
        if status < 300 and (sink is not None or not whole):
            trouble = None if whole else too_large_words(largest)
            return Exchange(status, None, None, latency, trouble)
        return self._understood(status, headers, content, latency)

    def _understood(
        self, status: int, headers: Mapping[str, str], content: bytes, latency: float
    ) -> Exchange | _Failure:
        """The content of an answer, or the reason for a retry."""
        try:
            text = content.decode(errors="strict" if status < 300 else "replace")
        except UnicodeDecodeError as error:
            return _Failure(f"the answer is not UTF-8 at byte {error.start}", status)
        raw = self.redact.exact(text)
        payload: Any = None
        try:
            payload = _parsed(raw)
        except (ValueError, RecursionError):
            if status < 300:
                shown = raw[:80]
                words = f"the answer is not JSON: {shown!r}"
                return _Failure(words, status, raw[:_KEPT_RAW], not_as_stated=True)
        if status >= 300:
            raw = raw[:_KEPT_RAW]
        explained = error_in(payload)
        code = status
        if explained and not {"choices", "content"} & payload.keys():
            # A gateway can return an error inside a 200.
            inner = explained.get("code")
            code = inner if isinstance(inner, int) and 400 <= inner < 600 else status
        # Waiting does not help if there is no money left.
        spent = "insufficient_quota" in (explained.get("code"), explained.get("type"))
        if code in RETRIED and not spent:
            return _Failure(
                f"HTTP {code}: {self.words(payload, raw)}",
                code,
                raw[:_KEPT_RAW],
                wait_s=retry_after(headers) or 0.0,
                overload=code in OVERLOAD,
                not_as_stated=status < 300,
            )
        return Exchange(code, payload, raw, latency)

    def at_root(self, path: str) -> str:
        """A path that is not below /v1, for `exchange`.

        >>> Server("http://localhost:8000/v1", headers={}, secrets=[], concurrency=1, timeout_s=1,
        ...        max_attempts=1).at_root("/tokenize")
        'http://localhost:8000/tokenize'
        """
        return self.base_url.removesuffix("/v1") + path

    def words(self, payload: Any, raw: str | None) -> str:
        """The server's error message, on one line, without secrets."""
        message: Any = payload
        if isinstance(message, dict):
            message = message.get("error", message.get("detail", message.get("message", message)))
        if isinstance(message, dict):
            message = message.get("message", message)
        # Other values are shown as received: they could be nested too deep to write.
        text = self.redact(message if isinstance(message, str) else raw or "")
        return shorten(text) or "no explanation"

    def _cause(self, error: BaseException) -> str:
        """The client library's message, which can quote the server."""
        return shorten(self.redact(str(error))) or type(error).__name__


async def read_body(
    response: aiohttp.ClientResponse, largest: int, sink: IO[bytes] | None
) -> tuple[bytes, bool]:
    """The body, decompressed (empty if it went to `sink`), and whether it is complete."""
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    length = response.content_length
    if packing == "identity" and sink is None and length is not None and length <= largest:
        return await response.read(), True
    if packing not in ("identity", *PACKINGS):
        raise PackingError(f"the answer is compressed as {packing[:40]!r}, which was not requested")
    unpacked = None if packing == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
    if sink is not None:
        sink.seek(0)
        sink.truncate()
    body = bytearray()
    size = 0
    async for block in response.content.iter_any():
        try:
            piece = block if unpacked is None else unpacked.decompress(block, largest + 1 - size)
        except zlib.error as error:
            raise PackingError(f"the answer cannot be decompressed ({error})") from None
        size += len(piece)
        if size > largest:
            response.close()
            return bytes(body + piece)[:largest], False
        if sink is None:
            body += piece
        else:
            sink.write(piece)
    if unpacked is not None and not unpacked.eof:
        raise PackingError("the compressed answer ends early")
    return bytes(body), True


def too_large_words(largest: int) -> str:
    """The error text of an answer that was too large to read.

    >>> too_large_words(3 << 19)
    'an answer of more than 1.5 MiB; --max-reply SIZE allows more'
    """
    unit, name = (1 << 20, "MiB") if largest >= 1 << 20 else (1 << 10, "KiB")
    return f"an answer of more than {largest / unit:.4g} {name}; --max-reply SIZE allows more"


def _written(body: Mapping[str, Any]) -> bytes:
    """The JSON of an object that was fingerprinted before: plain values, no NaN."""
    try:
        return to_json(body)
    except ValueError:
        # Lone surrogates: only the standard library writes them.
        return _ENCODER.encode(body).encode()


def _parsed(text: str) -> Any:
    """Like `json.loads`, in half the time for all but unusual texts."""
    try:
        return from_json(text)
    except (TypeError, ValueError):
        # Lone surrogates and deep nesting, which only the standard library reads; or not JSON.
        return json.loads(text)


def shorten(text: str) -> str:
    """A server's message on one line, shortened."""
    line = " ".join(text[: 8 * _LONGEST_WORDS].split())
    return line if len(line) <= _LONGEST_WORDS else line[: _LONGEST_WORDS - 3] + "..."


def error_in(payload: Any) -> dict[str, Any]:
    """The object `error` of an answer; empty if there is none."""
    return field_of(payload, "error", dict)


def field_of(answer: object, name: str, kind: type[T]) -> T:
    """A field of an answer if it is of this kind; otherwise an empty value of the kind."""
    value = answer.get(name) if isinstance(answer, dict) else None
    return value if isinstance(value, kind) else kind()


def _place_of(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def _proxy_for(base_url: str) -> str | None:
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)
