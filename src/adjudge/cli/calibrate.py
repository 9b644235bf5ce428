"""`adjudge calibrate`: from labelled judgments to a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    AlphaOption,
    BestFlag,
    CascadeOption,
    CategoryOption,
    ClusterOption,
    ColumnOption,
    CostsOption,
    DeltaOption,
    DoubtOption,
    ExplainFlag,
    GuaranteeOption,
    JsonFlag,
    JudgeRowsOption,
    JudgmentsArgument,
    JuryOption,
    KnownStoreOption,
    LabelsAsOption,
    LabelsOption,
    LearningShareOption,
    MinAnswerMassOption,
    ModelLabelsFlag,
    PlotOption,
    ProtocolRowsOption,
    SeedOption,
    TextsOption,
    TiesOption,
    column_map,
    label_map,
    parse_costs,
)
from adjudge.records import MIN_ANSWER_MASS


def calibrate(
    judgments: JudgmentsArgument,
    alpha: AlphaOption = 0.1,
    labels: LabelsOption = None,
    pairs: TextsOption = None,
    guarantee: GuaranteeOption = "scope",
    delta: DeltaOption = 0.1,
    ties: TiesOption = "drop",
    by: Annotated[
        str | None, typer.Option(help="A guarantee for each value of this column.")
    ] = None,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="With --by and fdr: one guarantee for all groups.")
    ] = False,
    small_groups: Annotated[
        str, typer.Option(help="Groups with too few labels: refuse or pool.")
    ] = "refuse",
    cluster: ClusterOption = "auto",
    weights: Annotated[
        str | None,
        typer.Option(help="Column of weights that correct for a shift in the pairs (fdr)."),
    ] = None,
    judge: JudgeRowsOption = None,
    protocol: ProtocolRowsOption = None,
    jury: JuryOption = None,
    doubt: DoubtOption = None,
    cascade: CascadeOption = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Use the cascade of this plan (plan cascade -o) instead of --cascade."),
    ] = None,
    costs: CostsOption = None,
    learning_share: LearningShareOption = 0.3,
    category: CategoryOption = None,
    leave_out: Annotated[
        Path | None,
        typer.Option(
            help="Ids that were used to choose something; they are left out of calibration."
        ),
    ] = None,
    from_audits: Annotated[
        Path | None,
        typer.Option(
            help="State of `monitor check`: calibrate on the audits drawn after the alarm, below "
            "the old threshold."
        ),
    ] = None,
    since_change: Annotated[
        bool,
        typer.Option(
            "--since-change",
            help="With --from-audits: only audits since the estimated change; no proven guarantee.",
        ),
    ] = False,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    min_answer_mass: MinAnswerMassOption = None,
    store: KnownStoreOption = "adjudge.db",
    model_labels: ModelLabelsFlag = False,
    best: BestFlag = False,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the policy here (JSON).")
    ] = None,
    plot: PlotOption = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Choose which verdicts to accept at your error level.

    Writes a policy for `select` and `serve`.
    """
    from adjudge.selection import calibrate as run

    policy = run(
        judgments,
        alpha=alpha,
        labels=labels,
        pairs=pairs,
        guarantee=guarantee,
        delta=delta,
        ties=ties,
        judge=judge,
        protocol=protocol,
        by=by,
        pooled=pooled,
        small_groups=small_groups,
        cluster=cluster,
        weights=weights,
        jury=jury,
        doubt=doubt,
        cascade=cascade,
        plan=plan,
        costs=parse_costs(costs),
        learning_share=learning_share,
        category=category,
        leave_out=leave_out,
        from_audits=from_audits,
        since_change=since_change,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        min_answer_mass=MIN_ANSWER_MASS if min_answer_mass is None else min_answer_mass,
        model_labels=model_labels,
        best=best,
        seed=seed,
        store=store,
    )
    deliver(policy, as_json=as_json, output=output, plot=plot, explain=explain)
    if not policy.feasible:
        remark(f"nothing can be accepted at alpha {alpha:g} under {guarantee}")
        bad_finding()
