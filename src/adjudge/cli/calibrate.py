"""`adjudge calibrate`: from labelled judgments to a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import (
    JsonFlag,
    PlotOption,
    SeedOption,
    bad_finding,
    deliver,
    remark,
)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("calibrate")(calibrate)


def calibrate(
    judgments: Annotated[
        Path, typer.Argument(help="Judgments with p_a (or p_fwd and p_rev).", show_default=False)
    ],
    alpha: Annotated[
        float, typer.Option(help="Error level allowed among accepted verdicts.")
    ] = 0.1,
    labels: Annotated[
        Path | None, typer.Option(help="Human labels by id, where the judgments have none.")
    ] = None,
    guarantee: Annotated[
        str,
        typer.Option(
            help="scope: mean share over calibration sets; fdr: expected share in a batch; "
            "pac: this threshold, with probability 1 - delta."
        ),
    ] = "scope",
    delta: Annotated[float, typer.Option(help="How often pac may fail.")] = 0.1,
    ties: Annotated[str, typer.Option(help="Human ties: drop them, or count each an error.")] = (
        "drop"
    ),
    by: Annotated[str | None, typer.Option(help="A promise for each value of this column.")] = None,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="With --by and fdr: one promise for all groups.")
    ] = False,
    small_groups: Annotated[
        str, typer.Option(help="Groups with too few labels: refuse them, or pool them.")
    ] = "refuse",
    cluster: Annotated[
        str,
        typer.Option(
            help="Column of rows that are alike: one random row of each calibrates. "
            "auto: prompt_id where it repeats; none: all rows."
        ),
    ] = "auto",
    weights: Annotated[
        str | None, typer.Option(help="Column of weights for a shift in the pairs (fdr alone).")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge's rows.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Only this protocol's rows.")] = None,
    jury: Annotated[
        str | None,
        typer.Option(help="All judges of the file as one: mean or logistic weights of log odds."),
    ] = None,
    jury_share: Annotated[
        float, typer.Option(help="Share of the labels a logistic jury learns from.")
    ] = 0.3,
    store: Annotated[
        Path, typer.Option(help="Where judge kept its replies; names what differs, if it exists.")
    ] = Path("adjudge.db"),
    seed: SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the policy here (JSON).")
    ] = None,
    plot: PlotOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Choose which verdicts to accept at an error level you name; leaves a policy for `select`."""
    from adjudge.present.selection import policy_figure
    from adjudge.present.selection_tables import policy_view
    from adjudge.present.theme import save_figure
    from adjudge.selection import calibrate as run

    policy = run(
        judgments,
        alpha=alpha,
        labels=labels,
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
        jury_share=jury_share,
        seed=seed,
        store=store,
    )
    deliver(policy, as_json=as_json, output=output, view=policy_view(policy))
    if plot is not None:
        remark(f"wrote {save_figure(policy_figure(policy), plot)}")
    if not policy.feasible:
        remark(f"nothing can be accepted at alpha {alpha:g} under {guarantee}")
        bad_finding()
