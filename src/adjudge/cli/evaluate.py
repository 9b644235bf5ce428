"""`adjudge evaluate`: uncertainty quality, risk and coverage over random splits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    BestFlag,
    CategoryOption,
    ClusterOption,
    ColumnOption,
    DeltaOption,
    DoubtOption,
    ExplainFlag,
    JsonFlag,
    JudgeRowsOption,
    JudgmentsArgument,
    JuryOption,
    LabelsAsOption,
    LabelsOption,
    LearningShareOption,
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    ProtocolRowsOption,
    SeedOption,
    TextsOption,
    TiesOption,
    column_map,
    label_map,
)


def evaluate(
    judgments: JudgmentsArgument,
    labels: LabelsOption = None,
    pairs: TextsOption = None,
    alpha: Annotated[
        list[float] | None,
        typer.Option(help="Error level; repeatable.", show_default="0.05 to 0.25"),
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random 50/50 splits by item.")] = 1000,
    delta: DeltaOption = 0.1,
    ties: TiesOption = "drop",
    cluster: ClusterOption = "auto",
    judge: JudgeRowsOption = None,
    protocol: ProtocolRowsOption = None,
    jury: JuryOption = None,
    doubt: DoubtOption = None,
    learning_share: LearningShareOption = 0.3,
    category: CategoryOption = None,
    choose_on: Annotated[
        Path | None,
        typer.Option(help="Evaluate only these ids; calibrate --leave-out takes the same file."),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(help="Exit 2 if the ECE of the main doubt is above this for any judge."),
    ] = None,
    model_labels: ModelLabelsFlag = False,
    best: BestFlag = False,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="The picture to save: risk, coverage, reliability or risk-coverage.",
            show_default="risk",
        ),
    ] = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure how well the doubt separates right from wrong verdicts.

    Needs labelled judgments. Also measures what each method would accept, over random splits.
    """
    from adjudge.selection import evaluate as run
    from adjudge.selection.splits import ALPHAS

    evaluation = run(
        judgments,
        labels=labels,
        pairs=pairs,
        judge=judge,
        protocol=protocol,
        ties=ties,
        alphas=alpha or ALPHAS,
        delta=delta,
        splits=splits,
        jury=jury,
        doubt=doubt,
        learning_share=learning_share,
        category=category,
        choose_on=choose_on,
        cluster=cluster,
        model_labels=model_labels,
        best=best,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        seed=seed,
    )
    deliver(evaluation, as_json=as_json, output=output, plot=plot, figure=figure, explain=explain)
    if fail_above is not None:
        main = map(evaluation.main_signal, evaluation.judges)
        bad = [quality for quality in main if quality.ece is None or quality.ece > fail_above]
        for quality in bad:
            ece = None if quality.ece is None else f"ECE {quality.ece:.3f} is above {fail_above:g}"
            remark(f"{quality.judge}: {ece or 'no verdict, so no ECE'}")
        if bad:
            bad_finding()
