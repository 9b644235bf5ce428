"""`adjudge diagnose transitivity`: cycles per document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver
from adjudge.cli._diagnosis import DocColumnOption, FailAboveOption, enforce, thresholds
from adjudge.cli._options import (
    ColumnOption,
    ExplainFlag,
    JsonFlag,
    LabelsAsOption,
    OutputOption,
    PlotOption,
    SeedOption,
    column_map,
    label_map,
)
from adjudge.present.text import group_name

MEASURES = ("mean_rate", "median_rate", "max_rate", "share_with_cycle")


def transitivity(
    tournaments: Annotated[
        Path,
        typer.Argument(
            help="doc_id, model_a, model_b and verdict (A, B, tie, empty) or p_a, about model_a; "
            "or both orders in one row as verdict_fwd and verdict_rev.",
            show_default=False,
        ),
    ],
    combine: Annotated[
        str,
        typer.Option(
            help="How repeats and orders become one edge: mean (more than half) or unanimous."
        ),
    ] = "mean",
    replicates: Annotated[int, typer.Option(min=1, help="Simulations of the noisy judge.")] = 200,
    worst: Annotated[
        int, typer.Option(min=0, help="How many of the worst documents to list.")
    ] = 10,
    doc_column: DocColumnOption = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    fail_above: FailAboveOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    seed: SeedOption = 0,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Count cycles (A over B over C over A) per document.

    Also prints how many cycles a transitive but noisy judge would show.

    --fail-above takes mean_rate (the default), median_rate, max_rate or share_with_cycle.
    """
    from adjudge.diagnosis import diagnose_transitivity

    limits = thresholds(fail_above, known=MEASURES, default="mean_rate")
    result = diagnose_transitivity(
        tournaments,
        columns=column_map(column, doc_id=doc_column),
        labels_as=label_map(labels_as),
        combine=combine,  # type: ignore[arg-type]  # checked by its user
        replicates=replicates,
        worst=worst,
        seed=seed,
    )
    deliver(result, as_json=as_json, output=output, plot=plot, explain=explain)
    enforce(
        limits,
        [
            (group_name(g.judge, g.criterion), {name: getattr(g, name) for name in MEASURES})
            for g in result.groups
        ],
    )
    if all(g.mean_rate is None for g in result.groups):
        bad_finding()
