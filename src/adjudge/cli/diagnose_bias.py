"""`adjudge diagnose bias`: position, verbosity, family, agreement, reliability and more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._diagnosis import (
    FailAboveOption,
    FamiliesOption,
    enforce,
    read_families,
    thresholds,
)
from adjudge.cli._options import (
    ColumnOption,
    ExplainFlag,
    JsonFlag,
    LabelsAsOption,
    LabelsOption,
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    SeedOption,
    column_map,
    label_map,
)
from adjudge.present.text import group_name

if TYPE_CHECKING:
    from adjudge.diagnosis.bias import JudgeBias
    from adjudge.diagnosis.measures import BiasMeasures

#: The names that a threshold can have: a diagnosis, and one of its measures. If an unbiased judge
#: has one half, the threshold is on the distance from one half.
MEASURES = {
    "position": ("position", 0),
    "flip_share": ("position", -1),
    "length": ("length", 0),
    "verbosity": ("verbosity", 0),
    "family": ("family", 0),
    "ece": ("reliability", -1),
    "over_confidence": ("reliability", 0),
    "contradictions": ("contradictions", 0),
    "retest": ("retest", 0),
}


def bias(
    judgments: Annotated[
        Path,
        typer.Argument(
            help="id, judge, p_fwd and p_rev or p_a (or verdict_fwd and verdict_rev). Optional: "
            "label, response_a, response_b, model_a, model_b, score_a, score_b. Or battles, "
            "as rank takes them.",
            show_default=False,
        ),
    ],
    pairs: Annotated[
        Path | None, typer.Option(help="Pairs with the texts and models, joined by id.")
    ] = None,
    labels: LabelsOption = None,
    judge: Annotated[
        str | None, typer.Option(help="Name of the judge, if the file has none.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column of rows that belong together.",
            show_default="prompt_id if it repeats, else id",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Also measure position bias for each value of this column.")
    ] = None,
    near_tie: Annotated[
        float | None,
        typer.Option(
            help="Largest difference that is a near tie, for verbosity.",
            show_default="0.1, scores 0.3",
        ),
    ] = None,
    floor: Annotated[
        float,
        typer.Option(help="A smaller difference from an unbiased judge does not count as bias."),
    ] = 0.03,
    families: FamiliesOption = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    fail_above: FailAboveOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    model_labels: ModelLabelsFlag = False,
    seed: SeedOption = 0,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure position, length and family bias, and agreement.

    --fail-above takes position (the default; distance of the first slot's share from one half),
    flip_share, length (points that length adds, minus people's if there are labels), verbosity
    (near-tied pairs; distance from one half), family, ece, over_confidence, contradictions, retest.
    A measure counts if the rows exclude an unbiased judge and it is not below --floor.
    """
    from adjudge.diagnosis import diagnose_bias

    limits = thresholds(fail_above, known=tuple(MEASURES), default="position")
    result = diagnose_bias(
        judgments,
        pairs=pairs,
        labels=labels,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        judge=judge,
        cluster=cluster,
        by=by,
        near_tie=near_tie,
        floor=floor,
        families=read_families(families),
        model_labels=model_labels,
        seed=seed,
    )
    deliver(result, as_json=as_json, output=output, plot=plot, explain=explain)
    enforce(limits, [_amounts(one, limits) for one in result.judges])
    if not any(one.parts() for one in result.judges):
        bad_finding()


def _amounts(judge: JudgeBias, limits: Mapping[str, float]) -> tuple[str, dict[str, float | None]]:
    """How large each measure is; None if it does not count as a bias."""
    from adjudge.diagnosis.measures import BiasTest

    who = group_name(judge.judge, none="the judge")
    amounts: dict[str, float | None] = dict.fromkeys(MEASURES)
    for name, (field, at) in MEASURES.items():
        part: BiasMeasures | None = getattr(judge, field)
        measure = None if part is None else part.measures()[at]
        if measure is None or measure.value is None:
            continue
        value = abs(measure.value - 0.5) if measure.unbiased == 0.5 else measure.value
        if measure.departs:
            amounts[name] = value
        elif name in limits and value > limits[name]:
            small = isinstance(part, BiasTest) and part.floor > abs(value)
            but = "below --floor" if small else "these rows do not exclude an unbiased judge"
            remark(f"{who}: {name} {value:.4g} is above {limits[name]:g}, but {but}: not counted")
    return who, amounts
