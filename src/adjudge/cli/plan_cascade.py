"""`adjudge plan cascade`: which judges to ask in which order, and when to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import (
    AlphaOption,
    CategoryOption,
    ClusterOption,
    CostsOption,
    ExplainFlag,
    JsonFlag,
    JudgmentsArgument,
    KnownStoreOption,
    LabelsOption,
    LearningShareOption,
    MinAnswerMassOption,
    OutputOption,
    PlotOption,
    SeedOption,
    TextsOption,
    TiesOption,
    parse_costs,
)
from adjudge.records import MIN_ANSWER_MASS


def cascade(
    judgments: JudgmentsArgument,
    cascade: Annotated[
        str,
        typer.Option(
            help="Judges of the file, cheap to strong, separated by commas.", show_default=False
        ),
    ],
    alpha: AlphaOption = 0.1,
    costs: CostsOption = None,
    tau: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Stop if the fitted probability of an error is at most this. A smaller tau costs "
            "more and accepts more. Choose it from the curve, before calibrating.",
            show_default="the largest that reaches alpha",
        ),
    ] = None,
    labels: LabelsOption = None,
    pairs: TextsOption = None,
    ties: TiesOption = "drop",
    cluster: ClusterOption = "auto",
    category: CategoryOption = None,
    learning_share: LearningShareOption = 0.3,
    min_answer_mass: MinAnswerMassOption = None,
    store: KnownStoreOption = "adjudge.db",
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Plan a cascade of judges: its cost and its coverage.

    Uses a share of the labels. The plan is for `calibrate --plan`.

    Drops judges that do not pay off. The labels outside that share are left for calibration."""
    from adjudge.selection import plan_cascade

    plan = plan_cascade(
        judgments,
        cascade,
        alpha=alpha,
        costs=parse_costs(costs),
        tau=tau,
        labels=labels,
        pairs=pairs,
        ties=ties,
        cluster=cluster,
        category=category,
        learning_share=learning_share,
        min_answer_mass=MIN_ANSWER_MASS if min_answer_mass is None else min_answer_mass,
        seed=seed,
        store=store,
    )
    deliver(plan, as_json=as_json, output=output, plot=plot, explain=explain)
    if not plan.feasible:
        remark(f"no tau passes at alpha {alpha:g}: every row would go to the last judge")
        bad_finding()
