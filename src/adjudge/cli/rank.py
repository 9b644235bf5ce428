"""`adjudge rank`: leaderboards, and placing new models among known ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark, write
from adjudge.cli._diagnosis import FamiliesOption, read_families
from adjudge.cli._options import (
    ClusterOption,
    ColumnOption,
    ConfidenceOption,
    ExplainFlag,
    FormatOption,
    FormerFormatOption,
    JsonFlag,
    LabelsAsOption,
    ModelLabelsFlag,
    OutputOption,
    PlotOption,
    RayAddressOption,
    SeedOption,
    WorkersOption,
    column_map,
    label_map,
)

if TYPE_CHECKING:
    from adjudge.ranking.anchors import Anchors
    from adjudge.ranking.leaderboard import Leaderboard


#: Options not allowed with --anchors: the anchors fix them, or only a full board has them.
_NOT_WITH_ANCHORS = (
    *("method", "human", "beta", "smoothing", "l2", "interval", "confidence_level", "replicates"),
    *("cluster", "by", "against", "jury", "evaluate", "splits", "save_anchors", "time_limit"),
    *("engine", "workers", "ray_address"),
)


def rank(
    context: typer.Context,
    battles: Annotated[
        Path,
        typer.Argument(
            help="model_a, model_b and the result: winner or human_pref (people), "
            "score_a and score_b, p_a or verdict (the judge).",
            show_default=False,
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            help="soft-elo, hard-elo, smoothed, bt, prediction-powered, win-rate, copeland, "
            "schulze, mfas, online-elo; auto picks one of the first two, or bt."
        ),
    ] = "auto",
    verdict: Annotated[
        str | None, typer.Option(help="Column of the verdicts to rank by (A, B, tie).")
    ] = None,
    human: Annotated[str | None, typer.Option(help="Column of people's votes.")] = None,
    score: Annotated[
        str | None, typer.Option(help="Column of score differences, positive for model_a.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="Temperature of soft-elo, instead of fitting it.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(help="Constant of smoothed, instead of choosing it.")
    ] = None,
    l2: Annotated[float, typer.Option(help="Penalty l2 |theta|^2.")] = 0.01,
    interval: Annotated[str, typer.Option(help="bootstrap, sandwich or none.")] = "bootstrap",
    confidence_level: ConfidenceOption = 0.95,
    replicates: Annotated[int, typer.Option(min=2, help="Bootstrap resamples.")] = 500,
    cluster: ClusterOption = "auto",
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="Fit a temperature for each value of this column, such as language."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="votes, or a column: print the rank correlation with that leaderboard."),
    ] = None,
    jury: Annotated[
        bool,
        typer.Option(
            "--jury",
            help="All judges of the file as one: mean of calibrated scores, majority of verdicts.",
        ),
    ] = False,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate",
            help="Leave every model out in turn and compare hard, soft and smoothed with people.",
        ),
    ] = False,
    alpha: Annotated[float, typer.Option(help="Error level of conformal intervals.")] = 0.1,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the models.")] = 5,
    save_anchors: Annotated[
        Path | None, typer.Option(help="Save the anchors that are needed to place new models.")
    ] = None,
    anchors: Annotated[
        Path | None, typer.Option(help="Place the new models of BATTLES among these anchors.")
    ] = None,
    quantile: Annotated[
        str, typer.Option(help="With --anchors: pooled, or family (only models of the same maker).")
    ] = "pooled",
    families: FamiliesOption = None,
    time_limit: Annotated[float, typer.Option(help="Time limit for mfas, in seconds.")] = 10.0,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="With --evaluate: exit with code 2 if the mean held-out error is above this."
        ),
    ] = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    format: FormatOption = None,
    from_: FormerFormatOption = None,
    baseline: Annotated[
        str | None, typer.Option(help="Arena-Hard's baseline model, for --format arena-hard.")
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: leaderboard, reliability; with --evaluate also evaluation, "
            "held-out, residuals, widths, intervals or budgets."
        ),
    ] = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    model_labels: ModelLabelsFlag = False,
    engine: Annotated[
        str,
        typer.Option(
            help="Where the resamples are computed: local (this process) or ray. The numbers are "
            "the same; ray pays off from thousands of --replicates on."
        ),
    ] = "local",
    workers: WorkersOption = None,
    ray_address: RayAddressOption = None,
    seed: SeedOption = 0,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Rank models by their battles, or place new ones.

    --save-anchors writes a file from battles with judge scores and votes. With --anchors, new
    models without votes get an Elo on people's scale with a conformal interval.
    """
    from adjudge import ranking
    from adjudge.data.battles import prepare_battles
    from adjudge.errors import ArgumentError

    if anchors is not None:
        _only_placing(context)
    if fail_above is not None and not evaluate:
        raise ArgumentError("--fail-above", fail_above, "add --evaluate")
    # Prepared once for both the board and the anchors.
    prepared = prepare_battles(
        battles,
        format=format or from_,
        baseline=baseline,
        human=human,
        verdict=verdict,
        score=score,
        cluster=cluster,
        by=by,
        against=against,
        model_labels=model_labels,
        jury=jury,
        columns=column_map(column),
        labels_as=label_map(labels_as),
    )
    makers = read_families(families)
    if anchors is not None:
        board = ranking.place(
            prepared, anchors, alpha=alpha, quantile=quantile, families=makers, seed=seed
        )
    else:
        board = ranking.rank(
            prepared,
            method=method,
            beta=beta,
            smoothing=smoothing,
            l2=l2,
            interval=interval,
            confidence_level=confidence_level,
            replicates=replicates,
            families=makers,
            evaluate=evaluate,
            alpha=alpha,
            splits=splits,
            time_limit=time_limit,
            engine=engine,
            workers=workers,
            ray_address=ray_address,
            seed=seed,
        )
    if save_anchors is not None:
        _save_anchors(
            ranking.make_anchors(prepared, method=method, smoothing=smoothing, l2=l2, seed=seed),
            save_anchors,
        )
    if figure is None and board.held_out:
        figure = "evaluation"
    deliver(
        board,
        as_json=as_json,
        output=output,
        plot=plot if board.feasible else None,
        figure=figure,
        explain=explain,
    )
    if not board.feasible:
        bad_finding()
    placed = [row for row in board.models if row.origin == "new"]
    if placed and all(row.unbounded for row in placed):
        bad_finding()
    if fail_above is not None:
        _enforce(board, fail_above)


def _save_anchors(anchors: Anchors, path: Path) -> None:
    write(anchors, path)
    remark(f"wrote {path}: {str(anchors).splitlines()[0]}")


def _only_placing(context: typer.Context) -> None:
    """Refuse options that have no effect when models are placed."""
    from adjudge.errors import ArgumentError

    for name in _NOT_WITH_ANCHORS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            remedy = "leave it out: --anchors uses the values that were saved"
            if name == "confidence_level":
                remedy = "use --alpha: with --anchors intervals are conformal"
            option = "--" + name.replace("_", "-")
            raise ArgumentError(option, str(context.params[name]), remedy)


def _enforce(board: Leaderboard, limit: float) -> None:
    row = next((row for row in board.loo if row.method == board.method), None)
    if row is None:
        remark(f"--fail-above: {board.method} is not among the evaluated methods")
        bad_finding()
    if row.mae is None or row.mae > limit:
        error = "unknown" if row.mae is None else f"{row.mae:.1f} Elo, above {limit:g}"
        remark(f"{row.method}: mean held-out error {error}")
        bad_finding()
