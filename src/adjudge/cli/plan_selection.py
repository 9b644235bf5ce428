"""`adjudge plan selection`: how much coverage more labels give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    AlphaOption,
    ClusterOption,
    ColumnOption,
    DeltaOption,
    ExplainFlag,
    GuaranteeOption,
    JsonFlag,
    JudgeRowsOption,
    LabelsAsOption,
    LabelsOption,
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    ProtocolRowsOption,
    SeedOption,
    TiesOption,
    column_map,
    label_map,
)


def selection(
    judgments: Annotated[
        Path, typer.Argument(help="Judgments, some of them labelled.", show_default=False)
    ],
    alpha: AlphaOption = 0.1,
    labels: LabelsOption = None,
    guarantee: GuaranteeOption = "scope",
    delta: DeltaOption = 0.1,
    ties: TiesOption = "drop",
    judge: JudgeRowsOption = None,
    protocol: ProtocolRowsOption = None,
    cluster: ClusterOption = "auto",
    gain: Annotated[
        float, typer.Option(help="Smallest gain in coverage that is worth twice the labels.")
    ] = 0.02,
    repeats: Annotated[int, typer.Option(min=2, help="Random draws per point.")] = 200,
    write_ids: Annotated[
        Path | None,
        typer.Option(
            help="Draw the missing labels at random from the unlabelled rows; write their ids."
        ),
    ] = None,
    model_labels: ModelLabelsFlag = False,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Plan the labels for a policy: expected coverage by number.

    Uses the labels you have.
    """
    from adjudge.data import write_rows
    from adjudge.data.judgments import prepare_judgments
    from adjudge.selection import ids_to_label, plan_selection

    prepared = prepare_judgments(
        judgments,
        labels=labels,
        judge=judge,
        protocol=protocol,
        columns=column_map(column),
        labels_as=label_map(labels_as),
    )
    plan = plan_selection(
        prepared,
        alpha=alpha,
        guarantee=guarantee,
        delta=delta,
        ties=ties,
        cluster=cluster,
        gain=gain,
        repeats=repeats,
        model_labels=model_labels,
        seed=seed,
    )
    if write_ids is not None:
        wanted = (plan.recommended or plan.points[-1].n) - plan.n_labelled
        if wanted <= 0:
            remark(f"no more labels are needed, {plan.n_labelled} exist: {write_ids} not written")
        else:
            chosen = ids_to_label(prepared, wanted, cluster=cluster, seed=seed)
            write_rows(chosen, write_ids)
            remark(f"wrote {chosen.height} ids to {write_ids}")
    deliver(plan, as_json=as_json, output=output, plot=plot, explain=explain)
    if plan.points[-1].coverage < gain:
        remark(f"no planned number of labels accepts {gain:g} of the verdicts at alpha {alpha:g}")
        bad_finding()
