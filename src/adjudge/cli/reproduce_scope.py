"""`adjudge reproduce scope`: the SCOPE paper's protocol, its figures next to ours."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli._common import deliver
from adjudge.cli._options import (
    STORE_VARIABLE,
    ColumnOption,
    FiguresOption,
    JsonFlag,
    LabelsAsOption,
    OutputOption,
    PlotOption,
    SeedOption,
    column_map,
    label_map,
    parse_files,
)


def scope(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FILE, repeatable: labelled judgments, or pairs to be judged. Names with "
            "published figures: mt-bench, rewardbench, chatbot-arena.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="The judge to ask if a file holds pairs: in both orders, for its confidence, "
            "and as five annotators."
        ),
    ] = None,
    store: Annotated[
        str, typer.Option(help="Store of that judge's replies.", envvar=STORE_VARIABLE)
    ] = "adjudge.db",
    sample: Annotated[int, typer.Option(min=10, help="Items sampled from each data set.")] = 2000,
    splits: Annotated[int, typer.Option(min=1, help="Random 50/50 splits.")] = 1000,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: figure-02, figure-03, table-03 or quality.",
            show_default="figure-02",
        ),
    ] = None,
    figures: FiguresOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the SCOPE paper.

    Ties dropped, 2,000 items, 1,000 halves, alphas 0.05 to 0.25. Without data, it runs on simulated
    judgments of the same shape.
    """
    from adjudge.io.opening import name_columns
    from adjudge.reproduce.scope import reproduce_scope

    with name_columns(column_map(column), label_map(labels_as)) as named:
        tables = {name: named(path) for name, path in parse_files(data, "--data").items()}
    done = reproduce_scope(tables, judge=judge, n=sample, splits=splits, seed=seed, store=store)
    deliver(done, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)
