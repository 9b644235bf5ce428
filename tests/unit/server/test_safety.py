"""The guard, tried from outside: a real server in another process, requests made by hand."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adjudge.errors import ArgumentError
from adjudge.server.safety import is_loopback, require_token_beyond_loopback

TOKEN = "a-token-of-some-length"


def start(folder: Path, token: str | None) -> tuple[subprocess.Popen[str], int]:
    rows = [{"id": str(i), "prompt": "q", "response_a": "a", "response_b": "b"} for i in range(3)]
    (folder / "pairs.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    environment = {name: value for name, value in os.environ.items() if name != "ADJUDGE_TOKEN"}
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "label", "pairs.jsonl", "--no-browser", "--port", "0"],
        cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env=environment | ({"ADJUDGE_TOKEN": token} if token else {}),
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert found, line
    return process, int(found.group(1))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    process, taken = start(tmp_path_factory.mktemp("open"), None)
    yield taken
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def guarded_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    process, taken = start(tmp_path_factory.mktemp("guarded"), TOKEN)
    yield taken
    process.kill()
    process.communicate()


def ask(
    port: int, path: str = "/api/next?rater=ann", *, method: str = "GET", body: bytes | None = None,
    **headers: str,
) -> http.client.HTTPResponse:  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(connection):
        connection.request(method, path, body=body, headers=named)
        answer = connection.getresponse()
        answer.body = answer.read()  # type: ignore[attr-defined]
    return answer


CLICK = {"rater": "ann", "id": "0", "side": "left", "shown_order": "ab", "nonce": "12345678"}


def test_its_own_page_is_served_with_a_strict_policy(port: int) -> None:
    answer = ask(port, "/")
    assert answer.status == 200
    policy = answer.getheader("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.getheader("x-frame-options") == "DENY"
    assert answer.getheader("server") is None


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_another_host_name_is_refused(port: int, host: str) -> None:
    assert ask(port, Host=host).status == 421


def test_localhost_is_a_name_for_loopback(port: int) -> None:
    assert ask(port, Host=f"localhost:{port}").status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
def test_requests_of_other_sites_are_refused(port: int, origin: str) -> None:
    body = json.dumps(CLICK).encode()
    answer = ask(port, "/api/label", method="POST", body=body, Origin=origin,
                 Content_Type="application/json")  # fmt: skip
    assert answer.status == 403


def test_a_cross_site_fetch_is_refused_and_a_followed_link_is_not(port: int) -> None:
    assert ask(port, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
    assert ask(port, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200


def test_a_form_post_is_not_taken_for_json(port: int) -> None:
    answer = ask(port, "/api/label", method="POST", body=json.dumps(CLICK).encode(),
                 Content_Type="text/plain")  # fmt: skip
    assert answer.status == 422


@pytest.mark.parametrize("length", ["100000000", "9" * 40, "-1", "x"])
def test_a_body_that_says_it_is_too_large_is_refused(port: int, length: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        raw.sendall(
            f"POST /api/label HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Length: {length}\r\n\r\n".encode()
        )
        assert re.match(rb"HTTP/1\.1 4(00|13)", raw.recv(200))


def test_a_body_that_grows_too_large_is_refused(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        raw.sendall(
            f"POST /api/label HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        try:
            for _ in range(100):
                raw.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may hang up before all is sent
        assert raw.recv(200).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 100_000, b"\xff" * 1000],
)
def test_garbage_leaves_it_serving(port: int, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        raw.sendall(garbage)
        raw.shutdown(socket.SHUT_WR)
        raw.recv(1000)
    assert ask(port).status == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"rater": "ann"}', b"\xff\xfe", b'"' + b"x" * 5000 + b'"']
)
def test_malformed_bodies_get_one_line_and_no_trace(port: int, body: bytes) -> None:
    answer = ask(port, "/api/label", method="POST", body=body, Content_Type="application/json")
    assert 400 <= answer.status < 500
    told = json.loads(answer.body)["detail"]  # type: ignore[attr-defined]
    assert "\n" not in told
    assert "Traceback" not in told


def test_a_token_is_needed_for_every_call_but_the_page(guarded_port: int) -> None:
    assert ask(guarded_port, "/").status == 200
    assert ask(guarded_port).status == 401
    assert ask(guarded_port, Authorization="Bearer wrong").status == 401
    assert ask(guarded_port, Authorization=f"Bearer {TOKEN}").status == 200


def test_the_network_needs_a_token() -> None:
    require_token_beyond_loopback("127.0.0.1", None)
    for token in (None, "", "short"):
        with pytest.raises(ArgumentError, match="ADJUDGE_TOKEN"):
            require_token_beyond_loopback("0.0.0.0", token)
    require_token_beyond_loopback("0.0.0.0", TOKEN)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("example.com", False), ("10.0.0.1", False)],
)  # fmt: skip
def test_what_counts_as_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
