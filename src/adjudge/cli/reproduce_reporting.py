"""`adjudge reproduce reporting`: the reporting paper's figures, or its protocol on your data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import (
    ColumnOption,
    ConfidenceOption,
    HumanColumnOption,
    JsonFlag,
    JudgeColumnOption,
    LabelsAsOption,
    OutputOption,
    SeedOption,
    column_map,
    label_map,
)


def reporting(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Your own rows, all labelled: runs the protocol of section 8.2 instead.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Samples per rate and setting.", min=10)] = 10_000,
    splits: Annotated[int, typer.Option(help="With TABLE: random splits.", min=1)] = 100,
    calibration: Annotated[
        float, typer.Option(help="With TABLE: share of rows whose labels are used.")
    ] = 0.1,
    judge_column: JudgeColumnOption = "judge",
    human_column: HumanColumnOption = "human",
    by: Annotated[str, typer.Option(help="The model's column (not for battles).")] = "model",
    confidence_level: ConfidenceOption = 0.95,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for Figures 3 to 7 and 9 to 16.")
    ] = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the reporting paper.

    Coverage, bias and length of the corrected rate: 21 rates, 8 settings, label shift.
    """
    from adjudge.io.opening import name_columns
    from adjudge.present.theme import save_figure
    from adjudge.present.views import figures_of
    from adjudge.reproduce.reporting import reproduce_reporting
    from adjudge.reproduce.reporting_protocol import arena_protocol

    if table is None:
        result = reproduce_reporting(repeats=repeats, confidence_level=confidence_level, seed=seed)
    else:
        with name_columns(column_map(column), label_map(labels_as)) as named:
            given = named(table)
        result = arena_protocol(
            given,
            judge_column=judge_column,
            human_column=human_column,
            by=by,
            splits=splits,
            calibration=calibration,
            confidence_level=confidence_level,
            seed=seed,
        )
    if figures is not None:
        for name, figure in figures_of(result).items():
            remark(f"wrote {save_figure(figure.draw(), figures / f'{name}.png')}")
    deliver(result, as_json=as_json, output=output)
