"""Which addresses are loopback, which names a server answers for, which tokens it takes."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge.errors import ArgumentError, InputError
from adjudge.server.safety import Guard, is_loopback, require_token_beyond_loopback

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
