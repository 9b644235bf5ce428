"""`adjudge replies`: what was asked, and what the judge wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver
from adjudge.cli._options import (
    STORE_VARIABLE,
    ColumnOption,
    JsonFlag,
    MinAnswerMassOption,
    OutputOption,
    column_map,
)


def replies(
    row_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this row.", show_default="all rows")
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Only replies with this status: ok, off_answer, unparsed ...")
    ] = None,
    store: Annotated[
        str, typer.Option(help="Store of the judge's replies.", envvar=STORE_VARIABLE)
    ] = "adjudge.db",
    judge: Annotated[str | None, typer.Option(help="Only replies of this judge.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Only replies by this protocol.")] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="The rows that were judged, to show the questions.")
    ] = None,
    column: ColumnOption = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Also show the server's complete answer.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of replies to show.")] = 20,
    min_answer_mass: MinAnswerMassOption = None,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what was asked and what the judge wrote.

    Shows the latest reply of every call.
    """
    from adjudge.judges.transcript import read_replies

    kept = read_replies(
        row_id,
        store=store,
        status=status,
        judge=judge,
        protocol=protocol,
        pairs=pairs,
        columns=column_map(column),
        raw=raw,
        limit=limit,
        min_answer_mass=min_answer_mass,
    )
    deliver(kept, as_json=as_json, output=output)
