"""`adjudge diagnose scores`: prediction sets around a judge's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._diagnosis import (
    DocColumnOption,
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
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    SeedOption,
    column_map,
)
from adjudge.errors import ArgumentError
from adjudge.present.text import group_name

#: The miss rate is one minus coverage. It is used since --fail-above is an upper limit.
MEASURES = ("mean_size", "miss_rate")
FIGURES = ("sizes", "coverage", "width", "agreement")


def scores(
    file: Annotated[
        Path,
        typer.Argument(
            help="doc_id, judge_score and human_score or one column per rater. Optional: model, "
            "criterion, judge, score_probs.",
            show_default=False,
        ),
    ],
    alpha: Annotated[
        list[str] | None,
        typer.Option(help="Error level; repeatable.", show_default="0.05 0.1 0.15 0.2"),
    ] = None,
    scale: Annotated[str, typer.Option(help="Lowest and highest score, such as 1-5.")] = "1-5",
    labels: Annotated[
        Path | None,
        typer.Option(help="Human scores by id, as `adjudge label --scale` writes them."),
    ] = None,
    sets: Annotated[
        str,
        typer.Option(
            help="learned (human scores given the judge's score), cross-fitted (smaller sets, "
            "a weaker guarantee), residual (|judge - human|) or adaptive (score_probs).",
            show_default="learned if there are enough documents, else residual",
        ),
    ] = "auto",
    raters: Annotated[
        str | None, typer.Option(help="The raters' columns, separated by commas.")
    ] = None,
    target: Annotated[
        str, typer.Option(help="mean: the rounded mean of the raters; rater: one at random.")
    ] = "mean",
    by: Annotated[
        str | None, typer.Option(help="Also calibrate each value of this column separately.")
    ] = None,
    weigh: Annotated[
        str,
        typer.Option(
            help="documents, or rows as in the paper (valid only for one row per document)."
        ),
    ] = "documents",
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the documents.")] = 20,
    write_sets: Annotated[
        Path | None,
        typer.Option(help="Write every row with its set and advice (first alpha) to this file."),
    ] = None,
    figure: Annotated[
        str, typer.Option(help="For --plot: sizes, coverage, width or agreement.")
    ] = "sizes",
    doc_column: DocColumnOption = None,
    model_column: Annotated[
        str | None, typer.Option(help="Your name for the column model.")
    ] = None,
    families: FamiliesOption = None,
    column: ColumnOption = None,
    fail_above: FailAboveOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    model_labels: ModelLabelsFlag = False,
    seed: SeedOption = 0,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Make sets that contain the human score at your rate.

    --fail-above takes mean_size (the default) or miss_rate, of these sets at the first alpha.
    """
    from adjudge.data.scores import prepare_scores
    from adjudge.diagnosis import diagnose_scores, score_set_rows
    from adjudge.diagnosis.scores.diagnose import ALPHAS

    limits = thresholds(fail_above, known=MEASURES, default="mean_size")
    if figure not in FIGURES:
        raise ArgumentError("--figure", figure, "choose one of " + ", ".join(FIGURES))
    alphas = alpha or [str(level) for level in ALPHAS]
    columns = column_map(column, doc_id=doc_column, model=model_column)
    named_raters = [name.strip() for name in raters.split(",")] if raters else None
    prepared = prepare_scores(
        file, raters=named_raters, columns=columns, labels=labels, model_labels=model_labels
    )
    result = diagnose_scores(
        prepared,
        alphas=alphas,
        sets=sets,
        scale=_scale(scale),
        target=target,
        by=by,
        weigh=weigh,
        splits=splits,
        families=read_families(families),
        seed=seed,
    )
    if write_sets is not None:
        from adjudge.data import write_rows

        rows = score_set_rows(
            prepared,
            alpha=alphas[0],
            sets=sets,
            scale=_scale(scale),
            target=target,
            weigh=weigh,
            seed=seed,
        )
        used = ", ".join(rows["sets"].drop_nulls().unique())
        remark(f"wrote {write_rows(rows, write_sets)}: {rows.height:,} rows, {used} sets")
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, explain=explain)
    enforce(
        limits,
        [
            (
                group_name(g.judge, g.criterion),
                {"mean_size": g.mean_size, "miss_rate": 1 - g.coverage},
            )
            for g in result.groups
            if (g.method, g.alpha) == (result.main_method, float(alphas[0]))
        ],
    )
    if all(g.whole_scale for g in result.groups):
        bad_finding()


def _scale(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":" if ":" in text else "-")
    try:
        return int(low), int(high)
    except ValueError:
        raise ArgumentError(
            "--scale", text, "write the lowest and highest score, such as 1-5"
        ) from None
