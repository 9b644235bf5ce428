"""A server tells its address when it answers, and stops when it is told to."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from tries import tried
from web_attacks import read_answer, request, talk

STOPPED_AT_ONCE = """
import os, signal, sys
from adjudge.server.running import serve
from adjudge.server.guard import Guard

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            event = (await receive())["type"]
            print(event, flush=True)
            await send({"type": event + ".complete"})
            if event == "lifespan.shutdown":
                return

def ready(address):
    print("ready", flush=True)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))

serve(
    lambda **at: Guard(app, **at),
    host="127.0.0.1", port=0, token=None, ready=ready,
)
print("the caller goes on")
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_as_soon_as_the_address_is_told_stops_the_server(number: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED_AT_ONCE, number],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split("\n")[:-1] == [
        "lifespan.startup",
        "ready",
        "lifespan.shutdown",
        "the caller goes on",
    ]


TIGHT = """
from adjudge.server.running import serve
from adjudge.server.guard import Guard, Limits

async def app(scope, receive, send):
    if scope["type"] == "http":
        size = int(scope["path"].strip("/")) if scope["path"] != "/healthz" else 0
        await send({"type": "http.response.start", "status": 200 if size else 204, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * size})

limits = Limits(head_seconds=1, body_seconds=1, read_seconds=1, connections=4)
serve(
    lambda **at: Guard(app, **at, limits=limits),
    host="127.0.0.1", port=0, token=None, ready=lambda address: print(address, flush=True),
)
"""


@pytest.fixture(scope="module")
def tight_port() -> Iterator[int]:
    """A server with limits that a test has the time to reach."""
    process = subprocess.Popen([sys.executable, "-c", TIGHT], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline().strip().rstrip("/").rpartition(":")[2])
    process.kill()
    process.communicate()


@pytest.mark.attack("connections")
@pytest.mark.parametrize("first", [b"", b"GET /"], ids=["silent", "half a head"])
def test_a_client_that_does_not_ask_is_cut_off(tight_port: int, first: bytes) -> None:
    with socket.create_connection(("127.0.0.1", tight_port), timeout=20) as raw:
        raw.sendall(first)
        answer = read_answer(raw, time.monotonic())
    assert (None if answer is None else answer.status) == (408 if first else None)


@pytest.mark.attack("connections")
def test_so_is_one_that_asked_before_and_then_drips(tight_port: int) -> None:
    with socket.create_connection(("127.0.0.1", tight_port), timeout=20) as raw:
        raw.sendall(request(tight_port))
        first = read_answer(raw, time.monotonic())
        raw.sendall(b"GET / HTTP/1.1\r\n")
        second = read_answer(raw, time.monotonic())
    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (204, 408)
    assert second.missing_headers() == []


@pytest.mark.attack("connections")
def test_a_body_that_drips_is_cut_off(tight_port: int) -> None:
    answer = talk(tight_port, request(tight_port, "POST", "/", Content_Length="9"))
    assert answer is not None
    assert (answer.status, answer.detail) == (408, "the body came too slowly")


@pytest.mark.attack("connections")
def test_one_connection_too_many_hears_why(tight_port: int) -> None:
    others = [socket.create_connection(("127.0.0.1", tight_port)) for _ in range(4)]
    try:
        answer = talk(tight_port, request(tight_port))
    finally:
        for one in others:
            one.close()
    assert answer is not None
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.missing_headers() == []


@pytest.mark.attack("connections")
def test_an_answer_that_nobody_reads_is_given_up(tight_port: int) -> None:
    """The rest of it would stay in memory, and its connection open, until the server ends."""
    with socket.create_connection(("127.0.0.1", tight_port), timeout=20) as raw:
        raw.sendall(request(tight_port, "GET", "/50000000", Connection="close"))
        time.sleep(3)
        received = 0
        with suppress(ConnectionResetError):
            while piece := raw.recv(1 << 20):
                received += len(piece)
    assert received < 50_000_000


def test_an_answer_that_is_read_slowly_arrives(tight_port: int) -> None:
    with socket.create_connection(("127.0.0.1", tight_port), timeout=20) as raw:
        raw.sendall(request(tight_port, "GET", "/4000000", Connection="close"))
        received = 0
        while piece := raw.recv(1 << 18):
            received += len(piece)
            time.sleep(0.05)
    assert received > 4_000_000


@pytest.mark.attack("connections")
def test_more_connections_at_once_than_files_can_be_open_leave_no_line_in_the_log() -> None:
    """asyncio would log each of them with a traceback, and accept nobody meanwhile."""

    def few_files() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))

    process = subprocess.Popen(
        [sys.executable, "-c", TIGHT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=few_files,
    )  # fmt: skip
    assert process.stdout is not None
    port = int(process.stdout.readline().strip().rstrip("/").rpartition(":")[2])
    process.send_signal(signal.SIGSTOP)  # all of them wait when it looks
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        tried(300)
        process.send_signal(signal.SIGCONT)
        answer = None
        until = time.monotonic() + 20
        while answer is None and time.monotonic() < until:
            time.sleep(0.5)  # silent connections are given up, those that wait come next
            answer = talk(port, request(port))
    process.terminate()
    _, written = process.communicate(timeout=20)
    assert (answer.status if answer else None, written) == (204, "")
