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
        str | None,
        typer.Argument(metavar="[ID]", help="Only about this row.", show_default="all rows"),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(help="Only replies worth this on their own: ok, off_answer, unparsed ..."),
    ] = None,
    store: Annotated[
        str, typer.Option(help="Store of the judge's replies.", envvar=STORE_VARIABLE)
    ] = "adjudge.db",
    judge: Annotated[str | None, typer.Option(help="Only this judge's.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Only those asked this way.")] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="The rows that were judged, to see what was asked.")
    ] = None,
    column: ColumnOption = None,
    raw: Annotated[bool, typer.Option("--raw", help="The server's whole answer too.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    min_answer_mass: MinAnswerMassOption = None,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what was asked and what the judge wrote, the latest reply of every call."""
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
