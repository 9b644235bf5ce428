"""Run a guarded application on an address that is known before the first request."""

from __future__ import annotations

import asyncio
import gc
import math
import socket
from collections.abc import Callable
from contextlib import closing
from types import FrameType

import uvicorn

from adjudge.errors import ArgumentError
from adjudge.server.connections import HEAD_BYTES, limited_connection
from adjudge.server.safety import Guard, require_token_beyond_loopback


def serve(
    make_app: Callable[[int], Guard],
    *,
    host: str,
    port: int,
    token: str | None,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 takes a free one; `ready` gets the address.

    Requests in flight then have the guard's `stop_seconds` to finish; the others get 503. A second
    signal ends that time immediately.
    """
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
        guard = make_app(taken)
        config = uvicorn.Config(
            guard,
            http=limited_connection(guard.limits),
            log_level="warning",
            access_log=False,  # addresses can contain ids of pairs, which must not be logged
            server_header=False,
            date_header=False,
            proxy_headers=False,  # the client's address is not used
            timeout_keep_alive=30,
            # The guard has answered all requests by then; this is for tasks that it cannot end.
            timeout_graceful_shutdown=math.ceil(guard.limits.stop_seconds) + 1,
            h11_max_incomplete_event_size=HEAD_BYTES,
            ws="none",
        )
        shown = f"[{host}]" if ":" in host else host
        # Loaded objects stay: garbage collections during requests can skip them.
        gc.collect()
        gc.freeze()
        server = _Server(config, guard, ready=lambda: ready(f"http://{shown}:{taken}/"))
        server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """Calls `ready` once it answers requests and signals; stops by its guard's time limit."""

    def __init__(self, config: uvicorn.Config, guard: Guard, *, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._guard = guard
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's handler would raise the signal again after shutdown, and end the process before
        # the labels are written.
        seconds = 0.0 if self.should_exit else self._guard.limits.stop_seconds
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._guard.stop, seconds)
