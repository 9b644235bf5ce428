"""The labelling page and other servers: their options, and how a verb opens them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from adjudge.cli.output import remark
from adjudge.cli.verb import Option, Values
from adjudge.errors import BackendMissingError, how_to_install

if TYPE_CHECKING:
    from adjudge.server.guard import Guard
    from adjudge.server.labelling import LabellingRound


def address(port: int) -> list[Option]:
    """--host and --port."""
    host = "Address to listen on; other than loopback needs ADJUDGE_TOKEN."
    free = "Port to listen on; 0 picks a free one."
    return [
        Option("host", host, default="127.0.0.1"),
        Option("port", free, int, default=port, least=0, most=65535),
    ]


def page_options(port: int) -> list[Option]:
    """The options of verbs that open a page."""
    return [*address(port), Option("browser", "Open the page in a browser.", bool, default=True)]


#: Options of verbs that open the labelling page.
PAGE = page_options(8477)


def require_server() -> None:
    """Raise a one-line error if the packages of pages and services are not installed."""
    modules = ("fastapi", "jinja2", "prometheus_client", "uvicorn")
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise BackendMissingError(f"{', '.join(missing)} not installed; {how_to_install('server')}")


def open_page(round_: LabellingRound, store: str, options: Values) -> None:
    """Serve the labelling page until it is stopped, or its round closes it."""
    import time

    from adjudge.server.label_page import label_app
    from adjudge.store import store_name

    def is_over() -> bool:
        return time.monotonic() >= round_.closes_at

    line = f"labelling page: {{}}  (Ctrl-C when done; labels are in {store_name(store)})"
    open_in_browser(partial(label_app, round_), options, line, is_over)


def open_in_browser(
    make_app: Callable[..., Guard],
    options: Values,
    line: str,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Serve a page, say its address in this line, and open it unless --no-browser."""
    import webbrowser

    def ready(address: str) -> None:
        remark(line.format(address))
        if os.environ.get("ADJUDGE_TOKEN"):
            remark("the page asks for the token in ADJUDGE_TOKEN")
        if options["browser"]:
            webbrowser.open(address)

    listen(make_app, options, ready, is_over)


def listen(
    make_app: Callable[..., Guard],
    options: Values,
    ready: Callable[[str], None],
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Serve an app at --host and --port until it is stopped, or over."""
    from adjudge.server.running import serve

    serve(
        make_app,
        host=options["host"],
        port=options["port"],
        token=os.environ.get("ADJUDGE_TOKEN") or None,
        ready=ready,
        is_over=is_over,
    )
