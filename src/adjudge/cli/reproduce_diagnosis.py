"""`adjudge reproduce diagnosis`: cycles and score sets, the paper's numbers and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import (
    ColumnOption,
    FiguresOption,
    JsonFlag,
    OutputOption,
    SeedOption,
    column_map,
)


def diagnosis(
    summeval: Annotated[
        Path | None,
        typer.Option(
            help="SummEval as published (model_annotations.aligned.jsonl): its crowd workers are "
            "judged by its experts.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="Scores of your judges, in the scores format.", show_default=False),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="All of SummEval, not the paper's 30 by 8.")
    ] = False,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the documents.")] = 20,
    figures: FiguresOption = None,
    column: ColumnOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the diagnosis paper.

    Cycles per document and conformal sets.
    """
    from adjudge.io.opening import name_columns
    from adjudge.present.figures.diagnosis import save_figures
    from adjudge.reproduce.diagnosis import reproduce_diagnosis

    with name_columns(column_map(column)) as named:
        given = named(scores)
    run = reproduce_diagnosis(
        summeval, scores=given, paper_size=not whole, splits=splits, seed=seed
    )
    if figures is not None:
        for path in save_figures(run, figures):
            remark(f"wrote {path}")
    deliver(run.summary, as_json=as_json, output=output)
