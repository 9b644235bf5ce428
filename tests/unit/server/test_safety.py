"""Which names a server answers for, which tokens it takes, whom it no longer works for."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from adjudge.errors import ArgumentError, InputError, StoreError
from adjudge.server.guard import (
    Guard,
    explain_in_one_line,
    is_loopback,
    require_token_beyond_loopback,
)

TOKEN = "a-token-of-some-length"


async def nothing(*_: Any) -> None:
    """An application that is never asked."""


def test_the_network_needs_a_token() -> None:
    require_token_beyond_loopback("127.0.0.1", None)
    for token in (None, "", "short"):
        with pytest.raises(ArgumentError, match="ADJUDGE_TOKEN"):
            require_token_beyond_loopback("0.0.0.0", token)
    require_token_beyond_loopback("0.0.0.0", TOKEN)


@pytest.mark.parametrize("token", ["two words of a token", "a-token-with-an-é-in-it", "a\ttab" * 5])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_no_header_carries_is_refused_and_not_shown(host: str, token: str) -> None:
    with pytest.raises(InputError, match="printable ASCII") as refusal:
        require_token_beyond_loopback(host, token)
    assert token not in str(refusal.value)


@pytest.mark.parametrize(
    ("host", "port", "name", "known"),
    [("127.0.0.1", 80, "localhost", True), ("127.0.0.1", 8477, "localhost", False),
     ("127.0.0.9", 8477, "127.0.0.9:8477", True), ("::1", 8477, "[::1]:8477", True),
     ("10.0.0.5", 8477, "10.0.0.5:8477", True), ("10.0.0.5", 8477, "localhost:8477", False),
     ("judge.example", 8477, "JUDGE.example:8477", False)],
)  # fmt: skip
def test_the_names_a_server_answers_for(host: str, port: int, name: str, known: bool) -> None:
    assert (name in Guard(nothing, host=host, port=port).hosts) is known


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("example.com", False), ("10.0.0.1", False)],
)  # fmt: skip
def test_what_counts_as_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_work_for_a_client_that_left_is_given_up() -> None:
    async def ask() -> list[str]:
        seen: list[str] = []

        async def never_done(*_: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                seen.append("given up")

        async def receive() -> dict[str, Any]:
            if not seen:
                seen.append("body")
                return {"type": "http.request", "body": b"{}", "more_body": False}
            await asyncio.sleep(0.2)
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            seen.append(message["type"])

        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"[::1]:9")]}
        guard = Guard(never_done, host="::1", port=9)
        # Far below the two minutes that an answer may take.
        await asyncio.wait_for(guard(scope, receive, send), timeout=20)
        return seen

    assert asyncio.run(ask())[:2] == ["body", "given up"]


@pytest.mark.attack("disks")
def test_a_store_that_cannot_be_written_is_one_line_and_no_label(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = FastAPI()
    explain_in_one_line(app)

    @app.post("/api/label")
    def keep() -> None:
        raise StoreError("s.db: database or disk is full; free space on the disk")

    with caplog.at_level("ERROR", "adjudge.server"):
        answer = TestClient(app).post("/api/label")
    assert answer.status_code == 503
    assert answer.json()["detail"].startswith("nothing was kept: the store cannot be written")
    assert [record.exc_info for record in caplog.records if "adjudge" in record.name] == [None]
    assert "free space on the disk" in caplog.text
