"""`adjudge monitor check`: does the guarantee still hold? Exit 2 on an alarm."""

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
            help="All audits drawn so far (monitor draw -o), or the store that has them.",
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
        typer.Option(help="File or store of the counts; the next check continues from them."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            help="Alarm above this error rate.",
            show_default="alpha for a policy by pac, 1.5 alpha for others",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Largest probability of a false alarm over all checks.", show_default="0.05"
        ),
    ] = None,
    horizon: Annotated[
        float | None,
        typer.Option(
            help="Number of audits within which a change is detected best (mean of the weights).",
            show_default="1000",
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0, help="Days until an audit without a label counts as missing.")
    ] = 14.0,
    by: Annotated[
        str | None, typer.Option(help="A monitor for each value of this column; delta is shared.")
    ] = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[str | None, typer.Option(help="With --by: the group to plot.")] = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Check the audits; exit 2 on an alarm.

    Audits count in the order of drawing.

    Run it as often as you like: delta bounds false alarms over all checks together."""
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
        remark("no --state: the next check starts again without these counts")
    deliver(monitor, as_json=as_json, output=output, plot=plot, figure=figure, explain=explain)
    if monitor.alarm:
        bad_finding()
