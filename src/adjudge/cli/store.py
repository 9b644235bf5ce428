"""`adjudge store check FILE`: what a store holds, and what of it is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver
from adjudge.cli._options import JsonFlag, OutputOption


def check(
    file: Annotated[str, typer.Argument(help="The store.", show_default=False)],
    rescue: Annotated[
        Path | None, typer.Option(help="Copy what can be read into a new store, this file.")
    ] = None,
    as_json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Read the whole store and say what it holds; changes nothing.

    Exit 2 if anything is damaged.
    """
    from adjudge.store import check_store

    state = check_store(file, rescue=rescue)
    deliver(state, as_json=as_json, output=output)
    if state.damaged:
        bad_finding()
