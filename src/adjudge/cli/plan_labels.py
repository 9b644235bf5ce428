"""`adjudge plan labels`: which rows to label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import (
    ClusterOption,
    ColumnOption,
    JsonFlag,
    JudgeRowsOption,
    JudgmentsArgument,
    LabelsAsOption,
    LabelsOption,
    OutputOption,
    ProtocolRowsOption,
    SeedOption,
    column_map,
    label_map,
)
from adjudge.errors import ArgumentError


def labels(
    judgments: JudgmentsArgument,
    surest: Annotated[
        float | None,
        typer.Option(
            help="Draw among this share of the judge's surest verdicts, for a policy by pac. Do "
            "not choose it with these labels. The policy accepts nothing outside this share."
        ),
    ] = None,
    random: Annotated[
        bool, typer.Option("--random", help="Draw among all pairs: for any policy or rate.")
    ] = False,
    n: Annotated[int, typer.Option("--n", min=1, help="How many pairs to label.")] = 200,
    labels: LabelsOption = None,
    judge: JudgeRowsOption = None,
    protocol: ProtocolRowsOption = None,
    cluster: ClusterOption = "auto",
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    write_ids: Annotated[
        Path | None,
        typer.Option(
            help="Write the ids and how they were drawn here, for `adjudge label --plan`."
        ),
    ] = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw the rows to label: from all, or from the surest."""
    from adjudge.data import write_rows
    from adjudge.selection import plan_labels

    if random == (surest is not None):
        raise ArgumentError("surest", surest, "give either --surest SHARE or --random")
    plan = plan_labels(
        judgments,
        surest=surest,
        n=n,
        labels=labels,
        judge=judge,
        protocol=protocol,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        cluster=cluster,
        seed=seed,
    )
    if write_ids is not None:
        write_rows(plan.to_frame(), write_ids)
        remark(f"wrote {plan.n} ids to {write_ids}")
    elif output is None and not as_json:
        remark("nothing was written: give --write-ids FILE to write the ids")
    deliver(plan, as_json=as_json, output=output)
