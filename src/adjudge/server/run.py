"""Running an ASGI application on an address that is known before the first request."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import uvicorn
from starlette.types import ASGIApp

from adjudge.errors import ArgumentError
from adjudge.server.safety import require_token_beyond_loopback


def serve(
    make_app: Callable[[int], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 takes a free one; `ready` is told the address."""
    require_token_beyond_loopback(host, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ArgumentError(
            "port", port, f"cannot listen there ({error.strerror or error}); choose another --port"
        ) from None
    with closing(bound):
        taken = bound.getsockname()[1]
        config = uvicorn.Config(
            make_app(taken),
            log_level="warning",
            access_log=False,  # addresses may carry ids of pairs; nothing of them is logged
            server_header=False,
            date_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=64 * 1024,
            ws="none",
        )
        shown = f"[{host}]" if ":" in host else host
        # What is loaded by now stays: collections during requests need not walk through it.
        gc.collect()
        gc.freeze()
        ready(f"http://{shown}:{taken}/")
        with _outliving_signals():
            uvicorn.Server(config).run(sockets=[bound])


@contextmanager
def _outliving_signals() -> Iterator[None]:
    """Let the caller go on after the server has stopped on a signal.

    uvicorn shuts down on SIGINT and SIGTERM and then raises them once more for whoever stood there
    before; with nobody there they would end the process before the labels are written.
    """
    stopping = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in stopping}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
