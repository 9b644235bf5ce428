"""`adjudge estimate`: the rate people would give, with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    LabelsOption,
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    PositiveOption,
    SeedOption,
    column_map,
    label_map,
)


def estimate(
    table: Annotated[
        Path,
        typer.Argument(
            help="Rows with the judge's verdict and, for some, a human label.", show_default=False
        ),
    ],
    judge_column: JudgeColumnOption = "judge",
    human_column: HumanColumnOption = "human",
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Two or more judges for one rate; repeatable. Columns of verdicts, or names in "
            "judge_name with a row per id and judge. Needs random labels.",
            show_default=False,
        ),
    ] = None,
    share: Annotated[
        bool,
        typer.Option(
            "--share", help="With --judge: a second interval that borrows from the other groups."
        ),
    ] = False,
    labels: LabelsOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The win rate of this model, from judgments of pairs with model_a and model_b; a "
            "tie is half a win. With --by opponent: one rate for each opponent.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto, misclassification, ppi++, conditional, difference, human-only or naive. "
            "auto: misclassification; with random labels conditional, or ppi++ for "
            "probabilities. It never tests."
        ),
    ] = "auto",
    interval: Annotated[
        str, typer.Option(help="wald (Eq. 6), or profile for weak judges and few labels.")
    ] = "wald",
    labels_are_random: Annotated[
        bool,
        typer.Option(
            "--labels-are-random",
            help="State that the labelled rows are a random sample of the test rows; not needed if "
            "sampled_by is random.",
        ),
    ] = False,
    by: Annotated[
        str | None, typer.Option(help="A rate for each value of this column, such as model.")
    ] = None,
    pool: Annotated[
        bool,
        typer.Option(
            "--pool", help="With --by: one confusion matrix for all groups (read the warning)."
        ),
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="With --by: the corrected difference of two groups, paired by --cluster.",
            metavar="A B",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column of rows that belong together; none: all rows are independent.",
            show_default="prompt_id if it repeats",
        ),
    ] = None,
    strata: Annotated[
        str | None, typer.Option(help="A confusion matrix for each value of this column.")
    ] = None,
    positive: PositiveOption = None,
    confidence_level: ConfidenceOption = 0.95,
    fail_below: Annotated[
        float | None,
        typer.Option(help="Exit 2 unless every interval lies above this rate.", min=0, max=1),
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
    """Estimate the rate people would give, from judge and labels.

    Rows with a human label calibrate; rows without one are the test set. Exit 2: no valid estimate
    (in some group), or an interval that reaches below --fail-below.
    """
    from adjudge.estimation import AnyEstimate
    from adjudge.estimation import estimate as compute

    options: dict[str, Any] = {
        "judges": judge or (),
        "share": share,
        "labels": labels,
        "model": model,
        "by": by,
        "pool": pool,
        "compare": compare,
        "cluster": cluster,
        "strata": strata,
        "method": method,
        "interval": interval,
        "labels_are_random": labels_are_random,
        "confidence_level": confidence_level,
        "judge_column": judge_column,
        "human_column": human_column,
        "positive": positive,
        "model_labels": model_labels,
        "columns": column_map(column),
        "labels_as": label_map(labels_as),
        "seed": seed,
    }
    result: AnyEstimate = compute(table, **options)
    if as_json:
        for text in getattr(result, "all_warnings", result.warnings):
            remark(f"warning: {text}")
    deliver(result, as_json=as_json, output=output, plot=plot, explain=explain)
    lows = [rate.low for rate in result.intervals()]
    if any(low is None for low in lows):
        bad_finding()
    if fail_below is not None and any(low is not None and low < fail_below for low in lows):
        remark(f"adjudge estimate: an interval reaches below {fail_below:g}")
        bad_finding()
