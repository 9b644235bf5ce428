"""`adjudge select`: accept or abstain on new rows, as a policy says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import JsonFlag, SeedOption, bad_finding, deliver, remark


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("select")(select)


def select(
    judgments: Annotated[
        Path, typer.Argument(help="New judgments, no labels needed.", show_default=False)
    ],
    policy: Annotated[
        Path, typer.Option(help="The policy that calibrate wrote.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write every row with its fate: .jsonl, .csv, .parquet (id, judge, verdict, p_a, "
            "uncertainty, accepted, reason, then your columns).",
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge's rows.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Only this protocol's rows.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Write the summary here as JSON, for `adjudge report`.")
    ] = None,
    store: Annotated[
        Path, typer.Option(help="Where judge kept its replies; names what differs, if it exists.")
    ] = Path("adjudge.db"),
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Accept or abstain on every row; refuses a policy made for another judge or prompt."""
    from adjudge.io import write_rows
    from adjudge.present.selection_tables import selection_view
    from adjudge.selection import select as run

    done = run(judgments, policy, judge=judge, protocol=protocol, store=store, seed=seed)
    if output is not None:
        write_rows(done.rows, output)
        remark(f"wrote {output}")
    view = selection_view(done.summary)
    deliver(done.summary, as_json=as_json, output=summary, view=view)
    if done.summary.drift.flagged:
        remark(
            "the new scores do not look like the calibration scores: the promise may not hold; "
            "label some of the new pairs and calibrate again"
        )
    if done.summary.n_accepted == 0:
        remark("nothing was accepted")
    if done.summary.drift.flagged or done.summary.n_accepted == 0:
        bad_finding()
