"""`adjudge reproduce reporting`: the reporting paper's figures, or its protocol on your data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver
from adjudge.cli._options import (
    ColumnOption,
    ConfidenceOption,
    FiguresOption,
    JsonFlag,
    LabelsAsOption,
    OutputOption,
    PlotOption,
    ReasonOption,
    SeedOption,
    StoreOption,
    column_map,
    label_map,
    parse_place,
)


def reporting(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Your own rows for section 8.2, all labelled: grades, judgments or battles; with "
            "--judge, pairs or items. Without it, simulated battles.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="The judge to ask about the pairs or items of TABLE.")
    ] = None,
    store: StoreOption = "adjudge.db",
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rows of TABLE to ask about, drawn at random; without TABLE, battles to simulate.",
            show_default="all; 4500",
        ),
    ] = None,
    reason: ReasonOption = False,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Written answers per question, for judges without logprobs."),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Continue even if the first ten replies have no score."),
    ] = False,
    repeats: Annotated[int, typer.Option(help="Samples per rate and setting.", min=10)] = 10_000,
    splits: Annotated[int, typer.Option(help="Random splits of section 8.2.", min=1)] = 100,
    calibration: Annotated[
        float, typer.Option(help="Share of rows whose labels are used in a split.")
    ] = 0.1,
    judge_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the judge's verdicts, or of its probability that the answer is right "
            "or that A wins.",
            show_default="p_a, p_pass or judge",
        ),
    ] = None,
    human_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the human labels.", show_default="human, label, winner or human_pref"
        ),
    ] = None,
    by: Annotated[str, typer.Option(help="Column of the model (not for battles).")] = "model",
    confidence_level: ConfidenceOption = 0.95,
    figures: FiguresOption = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: figure2 to figure7, figure9 to figure16.",
            show_default="figure2",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the reporting paper.

    Coverage, bias and length of the corrected rate: 21 rates, 8 settings, label shift. Section 8.2,
    splits of labelled rows, runs on your own data.
    """
    from adjudge.cli._progress import watch_run
    from adjudge.io.opening import name_columns
    from adjudge.reproduce.reporting import reproduce_reporting

    with name_columns(column_map(column), label_map(labels_as)) as named:
        given = named(table)
    with watch_run("asked") as watch:
        result = reproduce_reporting(
            given,
            judge=judge,
            judge_column=judge_column,
            human_column=human_column,
            by=by,
            repeats=repeats,
            splits=splits,
            calibration=calibration,
            sample=sample,
            confidence_level=confidence_level,
            seed=seed,
            store=parse_place(store),
            reason=reason or None,
            samples=samples,
            keep_going=keep_going,
            progress=watch.show,
        )
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)
