"""`adjudge diagnose bias`: position, verbosity, family, agreement, reliability, contradictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli._common import (
    JsonFlag,
    OutputOption,
    PlotOption,
    SeedOption,
    bad_finding,
    deliver,
    remark,
)
from adjudge.cli._diagnosing import (
    ColumnOption,
    FailAboveOption,
    FamiliesOption,
    column_map,
    enforce,
    read_families,
    thresholds,
)

if TYPE_CHECKING:
    from adjudge.results.bias import JudgeBias

#: Position is about either slot: its threshold bounds the distance from one half.
MEASURES = (
    "position",
    "flip_share",
    "verbosity",
    "family",
    "ece",
    "over_confidence",
    "contradictions",
)


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("bias")(bias)


def bias(
    judgments: Annotated[
        Path,
        typer.Argument(
            help="id, judge, p_fwd and p_rev or p_a (or verdict_fwd and verdict_rev); label, "
            "response_a, response_b, model_a, model_b, score_a, score_b if there are. Or battles, "
            "as rank takes them.",
            show_default=False,
        ),
    ],
    pairs: Annotated[
        Path | None, typer.Option(help="Pairs with the texts and models, joined by id.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Human labels, joined by id.")] = None,
    judge: Annotated[
        str | None, typer.Option(help="Name of the judge, where the file does not say.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column whose rows are alike.",
            show_default="prompt_id where it repeats, else id",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Position bias for each value of this column, too.")
    ] = None,
    near_tie: Annotated[
        float | None,
        typer.Option(help="How near a tie is, for verbosity.", show_default="0.1, scores 0.3"),
    ] = None,
    families: FamiliesOption = None,
    column: ColumnOption = None,
    fail_above: FailAboveOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """What moves the judge besides the answers: slot, length, family; and how far to trust it.

    --fail-above takes position (the default; distance of the first slot's share from one half),
    flip_share, verbosity (distance from one half), family, ece, over_confidence, contradictions.
    """
    from adjudge.diagnosis import diagnose_bias
    from adjudge.present.diagnosis_tables import bias_view
    from adjudge.results.diagnosis import named

    limits = thresholds(fail_above, known=MEASURES, default="position")
    result = diagnose_bias(
        judgments,
        pairs=pairs,
        labels=labels,
        columns=column_map(column),
        judge=judge,
        cluster=cluster,
        by=by,
        near_tie=near_tie,
        families=read_families(families),
        rng=seed,
    )
    deliver(result, as_json=as_json, output=output, view=bias_view(result))
    if plot is not None:
        from adjudge.present.diagnosis import bias_figure
        from adjudge.present.theme import save_figure

        remark(f"wrote {save_figure(bias_figure(result), plot)}")
    enforce(limits, [(named(one.judge, None), _measures(one)) for one in result.judges])
    if not any(one.findings() for one in result.judges):
        bad_finding()


def _measures(judge: JudgeBias) -> dict[str, float | None]:
    p, v, r = judge.position, judge.verbosity, judge.reliability
    longer = None if v is None or v.longer_share is None else abs(v.longer_share - 0.5)
    return {
        "position": None if p is None else abs(p.first_share - 0.5),
        "flip_share": None if p is None else p.flip_share,
        "verbosity": longer,
        "family": None if judge.family is None else judge.family.excess,
        "ece": None if r is None else r.ece_equal_mass,
        "over_confidence": None if r is None else r.over_confidence,
        "contradictions": None if judge.contradictions is None else judge.contradictions.share,
    }
