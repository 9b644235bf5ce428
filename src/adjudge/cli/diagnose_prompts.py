"""`adjudge diagnose prompts`: how often answers change with the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver
from adjudge.cli._diagnosis import FailAboveOption, enforce, thresholds
from adjudge.cli._options import (
    ColumnOption,
    ExplainFlag,
    JsonFlag,
    LabelsAsOption,
    OutputOption,
    PlotOption,
    column_map,
    label_map,
)
from adjudge.present.text import group_name

MEASURES = ("changed", "excess", "shift")


def prompts(
    first: Annotated[
        Path,
        typer.Argument(
            help="Scores, judgments or tournaments of a judge with one prompt.", show_default=False
        ),
    ],
    second: Annotated[
        Path, typer.Argument(help="The same rows with another prompt.", show_default=False)
    ],
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column of rows that belong together.",
            show_default="doc_id, else prompt_id, else id",
        ),
    ] = None,
    floor: Annotated[
        float, typer.Option(help="A smaller effect of the prompt does not count.")
    ] = 0.03,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    fail_above: FailAboveOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure how often answers change with the prompt.

    With repeats in both files (judge --repeats 3), it also measures what the prompt adds to asking
    again. --fail-above takes changed (the default), excess, or shift (of scores, without its sign).
    """
    from adjudge.diagnosis import diagnose_prompts

    limits = thresholds(fail_above, known=MEASURES, default="changed")
    result = diagnose_prompts(
        first,
        second,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        cluster=cluster,
        floor=floor,
    )
    deliver(result, as_json=as_json, output=output, plot=plot, explain=explain)
    enforce(
        limits,
        [
            (
                group_name(group.judge, group.criterion),
                {
                    "changed": group.changed,
                    "excess": group.excess,
                    "shift": None if group.shift is None else abs(group.shift),
                },
            )
            for group in result.groups
        ],
    )
