"""Running an ASGI application on an address that is known before the first request."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing

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
        ready(f"http://{shown}:{taken}/")
        uvicorn.Server(config).run(sockets=[bound])
