"""`adjudge plan rate`: how many labels, and of which kind, a precise rate needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    ColumnOption,
    ConfidenceOption,
    ExplainFlag,
    HumanColumnOption,
    JsonFlag,
    JudgeColumnOption,
    LabelsAsOption,
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    PositiveOption,
    SeedOption,
    column_map,
    label_map,
)


def rate(
    table: Annotated[
        Path | None, typer.Argument(help="Judged rows, some labelled: a pilot.", show_default=False)
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Wanted width of the interval.", min=0, max=1)
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(
            help="A budget of labels instead of a width, including the labels in TABLE.", min=2
        ),
    ] = None,
    judge_rate: Annotated[
        float | None,
        typer.Option(
            help="Share of rows that the judge passes; by default from TABLE.", min=0, max=1
        ),
    ] = None,
    sensitivity: Annotated[
        float | None,
        typer.Option(
            help="Guess of the sensitivity; by default from the labels of TABLE.", min=0, max=1
        ),
    ] = None,
    specificity: Annotated[
        float | None,
        typer.Option(
            help="Guess of the specificity; by default from the labels of TABLE.", min=0, max=1
        ),
    ] = None,
    n_test: Annotated[
        int | None, typer.Option(help="Number of judged rows; by default from TABLE.", min=1)
    ] = None,
    judge_column: JudgeColumnOption = "judge",
    human_column: HumanColumnOption = "human",
    positive: PositiveOption = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    step: Annotated[
        int, typer.Option(help="Also show the effect of this many more labels.", min=1)
    ] = 50,
    confidence_level: ConfidenceOption = 0.95,
    write_ids: Annotated[
        Path | None, typer.Option(help="Write the rows to label next (.csv, .jsonl, .parquet).")
    ] = None,
    draw: Annotated[
        str,
        typer.Option(
            help="How --write-ids draws. random: label from the top until both classes have enough "
            "labels. verdict: the plan by verdict, for method conditional."
        ),
    ] = "random",
    model_labels: ModelLabelsFlag = False,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Plan the labels for a rate; compare with people alone.

    Exit 2: infeasible.
    """
    from adjudge.data import open_table, write_rows
    from adjudge.estimation.plan_from_table import plan_from_table, rows_to_label

    rows = None
    if table is not None:
        rows = open_table(table, columns=column_map(column), labels_as=label_map(labels_as))
    plan = plan_from_table(
        rows,
        width=width,
        labels=labels,
        judge_rate=judge_rate,
        sensitivity=sensitivity,
        specificity=specificity,
        n_test=n_test,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive,
        step=step,
        confidence_level=confidence_level,
        model_labels=model_labels,
    )
    if plot is not None and plan.rate is None:
        remark("adjudge plan rate: no picture, this judge cannot be corrected")
        plot = None
    if write_ids is not None and plan.m0 is None:
        remark("adjudge plan rate: no rows written, the plan cannot be carried out")
    elif write_ids is not None:
        drawn = rows_to_label(
            rows,
            plan,
            draw=draw,
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            seed=seed,
        )
        write_rows(drawn, write_ids)
        remark(f"wrote {drawn.height} rows to {write_ids}")
    deliver(plan, as_json=as_json, output=output, plot=plot, explain=explain)
    if plan.m0 is None:
        bad_finding()
