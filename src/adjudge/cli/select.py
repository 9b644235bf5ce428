"""`adjudge select`: accept or abstain on new rows, by a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    BestFlag,
    ColumnOption,
    ExplainFlag,
    JsonFlag,
    JudgeRowsOption,
    KnownStoreOption,
    LabelsAsOption,
    ProtocolRowsOption,
    SeedOption,
    SummaryOption,
    TextsOption,
    column_map,
    label_map,
)


def select(
    judgments: Annotated[
        Path, typer.Argument(help="New judgments or grades, no labels needed.", show_default=False)
    ],
    policy: Annotated[
        Path, typer.Option(help="The policy that calibrate wrote.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write every row with its decision: .jsonl, .csv, .parquet (id, judge, verdict, "
            "p_a, uncertainty, accepted, reason, then your columns).",
        ),
    ] = None,
    pairs: TextsOption = None,
    judge: JudgeRowsOption = None,
    protocol: ProtocolRowsOption = None,
    best: BestFlag = False,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    summary: SummaryOption = None,
    store: KnownStoreOption = "adjudge.db",
    seed: SeedOption = 0,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Accept or abstain on every row, by a policy.

    Refuses a policy made for another judge or prompt.
    """
    from adjudge.data import write_rows
    from adjudge.records import LABELLED
    from adjudge.selection import select as run

    selection = run(
        judgments,
        policy,
        pairs=pairs,
        judge=judge,
        protocol=protocol,
        store=store,
        best=best,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        seed=seed,
    )
    if output is not None:
        write_rows(selection.rows, output)
        remark(f"wrote {output}")
    result = selection.summary
    deliver(result, as_json=as_json, output=summary, explain=explain)
    if result.drift.flagged:
        remark(
            "the new scores do not look like the calibration scores: the guarantee might not hold; "
            f"label some of the new {LABELLED[result.about]} and calibrate again"
        )
    if result.n_accepted == 0:
        remark("nothing was accepted")
    if result.drift.flagged or result.n_accepted == 0:
        bad_finding()
