"""`adjudge evaluate`: uncertainty quality, risk and coverage over random splits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("evaluate")(evaluate)


def evaluate(
    judgments: Annotated[
        Path, typer.Argument(help="Judgments with p_a (or p_fwd and p_rev).", show_default=False)
    ],
    labels: Annotated[
        Path | None, typer.Option(help="Human labels by id, where the judgments have none.")
    ] = None,
    alpha: Annotated[
        list[float] | None,
        typer.Option(help="Error level; repeatable.", show_default="0.05 to 0.25"),
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random 50/50 splits by item.")] = 1000,
    delta: Annotated[float, typer.Option(help="How often pac may fail.")] = 0.1,
    ties: Annotated[str, typer.Option(help="Human ties: drop them, or count each an error.")] = (
        "drop"
    ),
    cluster: Annotated[
        str, typer.Option(help="Column of rows that stay in one half. auto: prompt_id; none.")
    ] = "auto",
    judge: Annotated[str | None, typer.Option(help="Only this judge's rows.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Only this protocol's rows.")] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(help="Exit 2 if the main signal's ECE is above this for any judge."),
    ] = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    as_json: JsonFlag = False,
) -> None:
    """How good is the doubt, and what does each method make of it? For labelled judgments."""
    from adjudge.present.selection import evaluation_figure, main_signal
    from adjudge.present.selection_tables import evaluation_view
    from adjudge.present.theme import save_figure
    from adjudge.selection import evaluate as run
    from adjudge.selection.splits import ALPHAS

    found = run(
        judgments,
        labels=labels,
        judge=judge,
        protocol=protocol,
        ties=ties,
        alphas=alpha or ALPHAS,
        delta=delta,
        splits=splits,
        cluster=cluster,
        seed=seed,
    )
    deliver(found, as_json=as_json, output=output, view=evaluation_view(found))
    if plot is not None:
        remark(f"wrote {save_figure(evaluation_figure(found), plot)}")
    if fail_above is not None:
        bad = [
            s
            for s in found.signals
            if s.signal == main_signal(found, s.judge, s.protocol) and s.ece > fail_above
        ]
        for s in bad:
            remark(f"{s.judge}: ECE {s.ece:.3f} is above {fail_above:g}")
        if bad:
            bad_finding()
