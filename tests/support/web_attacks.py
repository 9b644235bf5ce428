"""Requests that no honest client sends, byte by byte, and what came back."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

#: The headers that every answer has, whatever it answers.
SAFE_HEADERS = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

#: Ways to name a file outside the folder of static files.
TRAVERSALS = (
    "/../pyproject.toml", "/static/label.html", "/label.html", "/label.js/../../judge_app.py",
    "/%2e%2e/judge_app.py", "/%2e%2e%2fjudge_app.py", "/%252e%252e%252fjudge_app.py",
    "/..%5cjudge_app.py", "/..\\judge_app.py", "/.%00./judge_app.py", "/label.js%00.html",
    "//etc/passwd", "///etc/passwd", "/file:///etc/passwd", "/%2fetc%2fpasswd", "/etc/passwd",
    "/....//....//etc/passwd", "/%c0%ae%c0%ae/etc/passwd", "/..;/etc/passwd", "/label.css/",
    "http://evil.example/etc/passwd", "/./label.js", "/linked.html", "/pairs.jsonl", "/adjudge.db",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What a server said, and after how many seconds it had said it."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @property
    def detail(self) -> str:
        """The one line of a refusal."""
        return str(json.loads(self.body)["detail"])

    def missing_headers(self) -> list[str]:
        """Which of the headers that every answer has are not there."""
        return [
            name
            for name, value in SAFE_HEADERS.items()
            if not self.headers.get(name, "").startswith(value)
        ]


def request(
    port: int, method: str = "GET", path: str = "/healthz", *, body: bytes | Any = b"",
    **headers: str | None,
) -> bytes:  # fmt: skip
    """The bytes of one request; a header that is None is left out."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
        headers = {"Content_Type": "application/json", **headers}
    given = {"Host": f"127.0.0.1:{port}", **headers}
    if body:
        given = {"Content_Length": str(len(body)), **given}
    lines = [f"{n.replace('_', '-')}: {v}\r\n" for n, v in given.items() if v is not None]
    return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + body


def talk(
    port: int, sent: bytes, *, address: str = "127.0.0.1", timeout: float = 30.0
) -> Answer | None:
    """Send these bytes and read one answer; None where the server hung up without a word."""
    began = time.monotonic()
    with socket.create_connection((address, port), timeout=timeout) as raw:
        with suppress(BrokenPipeError, ConnectionResetError):  # an answer can still be there
            raw.sendall(sent)
        return read_answer(raw, began)


def read_answer(raw: socket.socket, began: float) -> Answer | None:
    """One answer from an open connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        try:
            piece = raw.recv(65536)
        except ConnectionResetError:
            return None
        if not piece:
            return None
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        piece = raw.recv(65536)
        if not piece:
            break
        body += piece
    return Answer(int(status.split()[1]), headers, body, time.monotonic() - began)
