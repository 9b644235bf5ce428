"""`adjudge monitor check`: is the promise still kept? Exit 2 on alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    ExplainFlag,
    JsonFlag,
    LabelsOption,
    OutputOption,
    PlotOption,
    parse_place,
)


def check(
    audits: Annotated[
        Path,
        typer.Argument(
            help="All audits that were drawn (monitor draw -o), or the store that has them.",
            parser=parse_place,
            metavar="AUDITS",
            show_default=False,
        ),
    ],
    policy: Annotated[
        Path, typer.Option(help="The policy whose accepted verdicts these are.", show_default=False)
    ],
    labels: LabelsOption = None,
    state: Annotated[
        str | None,
        typer.Option(help="File or store that keeps what was counted; the next check continues."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            help="Alarm above this error rate.",
            show_default="alpha of a policy by pac, 1.5 alpha of others",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Largest probability of a false alarm, ever.", show_default="0.05"),
    ] = None,
    horizon: Annotated[
        float | None,
        typer.Option(
            help="Audits within which a change is looked for most (mean of the weights).",
            show_default="1000",
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0, help="Days until an audit without a label is missing.")
    ] = 14.0,
    by: Annotated[
        str | None, typer.Option(help="A monitor for each value of this column; delta is shared.")
    ] = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[str | None, typer.Option(help="Which group's picture, with --by.")] = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Check the audits; exit 2 on an alarm.

    Audits count in the order of drawing.

    Run it as often as you like: the false alarm probability is for all looks together."""
    from adjudge.auditing import check_audits

    monitor = check_audits(
        audits,
        policy,
        labels=labels,
        state=state,
        limit=limit,
        delta=delta,
        horizon=horizon,
        wait=wait,
        by=by,
    )
    if state is None:
        remark("no --state: what is missing or counted now is not remembered by the next check")
    deliver(monitor, as_json=as_json, output=output, plot=plot, figure=figure, explain=explain)
    if monitor.alarm:
        bad_finding()
