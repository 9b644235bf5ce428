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
    """Serve until SIGINT or SIGTERM. Port 0 takes a free one; `ready` gets the address."""
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
        server = _Server(config, ready=lambda: ready(f"http://{shown}:{taken}/"))
        with _stopping(server):
            server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """Tells that it is ready once it answers requests and signals, and no sooner."""

    def __init__(self, config: uvicorn.Config, *, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def _stopping(server: uvicorn.Server) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the server, and the caller go on after it.

    uvicorn shuts down on a signal and then raises it once more for whoever stood there before; with
    nobody there it would end the process before the labels are written.
    """

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
