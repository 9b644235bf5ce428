"""`adjudge plan battles`: which battles to judge next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import (
    ColumnOption,
    JsonFlag,
    LabelsAsOption,
    OutputOption,
    SeedOption,
    column_map,
    label_map,
)


def battles(
    pool: Annotated[
        Path,
        typer.Argument(
            help="Pairs or battles that could be judged: model_a, model_b.", show_default=False
        ),
    ],
    budget: Annotated[int, typer.Option(min=1, help="How many battles to choose.")],
    rule: Annotated[
        str,
        typer.Option(
            help="coverage: all models equally; information: most information about strengths."
        ),
    ] = "coverage",
    judged: Annotated[
        Path | None,
        typer.Option(help="Battles already judged. They count, and are not chosen again."),
    ] = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    write_rows: Annotated[
        Path | None, typer.Option(help="Write the chosen rows of the pool to this file.")
    ] = None,
    output: OutputOption = None,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Choose the battles to judge next, within a budget."""
    from adjudge import data
    from adjudge.data.source import name_columns
    from adjudge.ranking import plan_battles

    with name_columns(column_map(column), label_map(labels_as)) as name:
        rows, done = data.open_table(name(pool)), name(judged)
    plan = plan_battles(rows, budget=budget, rule=rule, judged=done, seed=seed)
    if write_rows is not None:
        data.write_rows(rows.frame[list(plan.rows)], write_rows)
        remark(f"wrote {write_rows}")
    deliver(plan, as_json=as_json, output=output)
