"""`adjudge reproduce soft-elo`: the Soft-Elo paper on its released annotations, or simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver
from adjudge.cli._options import FiguresOption, JsonFlag, OutputOption, PlotOption, SeedOption


def soft_elo(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="The release's data folder, a folder of annotations_*.csv, or one file; without "
            "it, simulated battles of the same shape.",
            show_default=False,
        ),
    ] = None,
    l2: Annotated[
        float, typer.Option(help="Penalty l2 |theta|^2; 0.005 is the released code's.")
    ] = 0.01,
    alpha: Annotated[float, typer.Option(help="Error level of conformal intervals.")] = 0.1,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the models.")] = 5,
    replicates: Annotated[int, typer.Option(min=2, help="Resamples per model.")] = 20,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: errors, or figure-01 to figure-17.", show_default="errors"
        ),
    ] = None,
    figures: FiguresOption = None,
    seed: SeedOption = 42,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the Soft-Elo paper.

    Leave-one-model-out Elo, conformal intervals, smoothing, temperature, languages, biases.
    """
    from adjudge.reproduce.soft_elo import reproduce_soft_elo

    result = reproduce_soft_elo(
        source, l2=l2, alpha=alpha, splits=splits, replicates=replicates, seed=seed
    )
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)
