"""`adjudge monitor draw`: which accepted verdicts people should audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import (
    AuditRateOption,
    JsonFlag,
    JudgeRowsOption,
    SecretOption,
    SummaryOption,
    parse_place,
    read_secret,
)
from adjudge.errors import ArgumentError


def draw(
    served: Annotated[
        Path,
        typer.Argument(
            help="Rows of `adjudge select -o`, or the store that serve kept its audits in.",
            parser=parse_place,
            metavar="SERVED",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the rows to label: .jsonl, .csv, .parquet."),
    ] = None,
    audit_rate: AuditRateOption = None,
    secret_env: SecretOption = None,
    earlier: Annotated[
        Path | None,
        typer.Option(help="Audits drawn before. They keep their numbers; new ones follow."),
    ] = None,
    judge: JudgeRowsOption = None,
    policy: Annotated[
        Path | None, typer.Option(help="With a store: only audits of this policy.")
    ] = None,
    summary: SummaryOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw random audits among accepted verdicts.

    A keyed hash of the id decides each draw, so that the rows cannot be chosen.
    """
    from adjudge.data import write_rows
    from adjudge.monitoring import draw_audits
    from adjudge.monitoring.drawing import read_served_audits
    from adjudge.selection import read_policy
    from adjudge.store import is_store, store_name

    if is_store(served):
        if audit_rate is not None or earlier is not None:
            raise ArgumentError(
                "served",
                store_name(served),
                "serve has already drawn these audits: leave out the rate",
            )
        rules = None if policy is None else read_policy(policy).rules_id
        run = read_served_audits(served, rules_id=rules)
    else:
        if audit_rate is None:
            raise ArgumentError("audit_rate", None, "give a share, such as --audit-rate 0.05")
        secret = read_secret(secret_env)
        run = draw_audits(
            served, audit_rate=audit_rate, secret=secret, judge=judge, earlier=earlier
        )
    if output is not None:
        write_rows(run.rows, output)
        remark(f"wrote {output}")
    elif summary is None and not as_json:
        remark("nothing was written: give -o FILE to write the rows to label")
    deliver(run.summary, as_json=as_json, output=summary)
