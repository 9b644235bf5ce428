"""`adjudge reproduce diagnosis`: cycles and score sets, the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import JsonFlag, OutputOption, SeedOption, deliver, remark


def register(group: typer.Typer) -> None:
    """Add the paper to `adjudge reproduce`."""
    group.command("diagnosis")(diagnosis)


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
    figures: Annotated[
        Path | None, typer.Option(help="Save the paper's figures on our data in this folder.")
    ] = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Cycles per document and conformal sets: the paper's tables on SummEval and the simulator."""
    from adjudge.present.reproduction_diagnosis import reproduction_figures, reproduction_view
    from adjudge.reproduce.diagnosis import reproduce_diagnosis

    run = reproduce_diagnosis(
        summeval, scores=scores, paper_size=not whole, splits=splits, seed=seed
    )
    deliver(run.summary, as_json=as_json, output=output, view=reproduction_view(run.summary))
    if figures is not None:
        for path in reproduction_figures(run, figures):
            remark(f"wrote {path}")
