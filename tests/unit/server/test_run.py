"""A server tells its address when it answers, and stops when it is told to."""

from __future__ import annotations

import subprocess
import sys

import pytest

STOPPED_AT_ONCE = """
import os, signal, sys
from adjudge.server.run import serve
from adjudge.server.safety import Guard

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
    lambda port: Guard(app, host="127.0.0.1", port=port),
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
