"""`adjudge reproduce soft-elo`: the Soft-Elo paper's protocol on its released annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import JsonFlag, OutputOption, PlotOption, SeedOption, deliver


def register(group: typer.Typer) -> None:
    """Add the paper to `adjudge reproduce`."""
    group.command("soft-elo")(soft_elo)


def soft_elo(
    source: Annotated[
        Path,
        typer.Argument(
            help="The release's data folder, a folder of annotations_*.csv, or one file.",
            show_default=False,
        ),
    ],
    l2: Annotated[
        float, typer.Option(help="Penalty l2 |theta|^2; 0.005 is the released code's.")
    ] = 0.01,
    alpha: Annotated[float, typer.Option(help="Error level of conformal intervals.")] = 0.1,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the models.")] = 5,
    replicates: Annotated[int, typer.Option(min=2, help="Resamples per model.")] = 20,
    output: OutputOption = None,
    plot: PlotOption = None,
    seed: SeedOption = 42,
    as_json: JsonFlag = False,
) -> None:
    """Leave-one-model-out Elo, conformal intervals, smoothing and languages: Tables 1 to 8."""
    from adjudge.reproduce.soft_elo import reproduce_soft_elo

    result = reproduce_soft_elo(
        source, l2=l2, alpha=alpha, splits=splits, replicates=replicates, seed=seed
    )
    deliver(result, as_json=as_json, output=output, plot=plot)
