"""`adjudge store check`, `adjudge store copy`: check the content of a store, copy it to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver
from adjudge.cli._options import JsonFlag, OutputOption


def check(
    store: Annotated[str, typer.Argument(help="The store, a file or a URL.", show_default=False)],
    rescue: Annotated[
        Path | None, typer.Option(help="Copy what can be read into this new store.")
    ] = None,
    as_json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Read a store completely and count what it holds.

    Changes nothing. Exit 2 if anything is damaged.
    """
    from adjudge.store import check_store

    state = check_store(store, rescue=rescue)
    deliver(state, as_json=as_json, output=output)
    if state.damaged:
        bad_finding()


def copy(
    source: Annotated[str, typer.Argument(help="The store to read.", show_default=False)],
    target: Annotated[
        str,
        typer.Argument(
            help="The store to add to; created if it does not exist.", show_default=False
        ),
    ],
    as_json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Copy a store: SQLite to PostgreSQL, or back.

    Copies every reply, label, audit and monitor. Safe to repeat. If the target has other content
    for the same key, it is kept and the exit code is 2.
    """
    from adjudge.store import copy_store

    done = copy_store(source, target)
    deliver(done, as_json=as_json, output=output)
    if done.conflicts:
        bad_finding()
