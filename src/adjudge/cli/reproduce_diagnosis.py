"""`adjudge reproduce diagnosis`: cycles and score sets, the paper's numbers and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import (
    ColumnOption,
    FiguresOption,
    JsonFlag,
    MinAnswerMassOption,
    OutputOption,
    PlotOption,
    SeedOption,
    StoreOption,
    column_map,
)


def diagnosis(
    summeval: Annotated[
        Path | None,
        typer.Option(
            help="SummEval as published (model_annotations.aligned.jsonl, with its articles for "
            "--judge). Its crowd workers are compared with its experts.",
            show_default=False,
        ),
    ] = None,
    tournaments: Annotated[
        Path | None,
        typer.Option(
            help="Your judges' pairwise verdicts: a tournaments file.", show_default=False
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="Scores of your judges, in the scores format.", show_default=False),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Ask this judge about SummEval with both protocols of the paper, all pairs and "
            "all scores; repeatable: several are asked one after the other.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = "adjudge.db",
    repeats: Annotated[
        int, typer.Option(min=1, help="How often each pair is asked in one order.")
    ] = 3,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Written answers per question, for judges without logprobs."),
    ] = None,
    min_answer_mass: MinAnswerMassOption = None,
    documents: Annotated[int, typer.Option(min=2, help="Documents of SummEval.")] = 30,
    systems: Annotated[int, typer.Option(min=2, help="Systems of SummEval, of its 16.")] = 8,
    whole: Annotated[
        bool, typer.Option("--whole", help="All of SummEval, not the paper's 30 by 8.")
    ] = False,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the rows.")] = 20,
    column: ColumnOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(help="What --plot draws: figure-02 to figure-06.", show_default="figure-02"),
    ] = None,
    figures: FiguresOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the diagnosis paper.

    Cycles, rankings, score sets and the meaning of their width: on your files, on judges asked
    about SummEval, on its crowd workers, or simulated if no data is given.
    """
    from adjudge.io.opening import name_columns
    from adjudge.reproduce.diagnosis import reproduce_diagnosis

    with name_columns(column_map(column)) as named:
        compared, scored = named(tournaments), named(scores)
    asking: dict[str, Any] = {}
    if judge:
        asking = {"store": store, "announce": remark, "min_answer_mass": min_answer_mass}
    result = reproduce_diagnosis(
        summeval,
        tournaments=compared,
        scores=scored,
        judge=judge,
        documents=None if whole else documents,
        systems=None if whole else systems,
        repeats=repeats,
        samples=samples,
        splits=splits,
        seed=seed,
        **asking,
    )
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)
