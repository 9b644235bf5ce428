"""`adjudge select`: accept or abstain, by a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.cli.output import remark
from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import Option, Values, Verb


def _is_bad(run: Any, _: Values) -> bool:
    from adjudge.records import LABELLED

    drifted = bool(run.summary.drift.flagged)
    if drifted:
        remark(
            "the new scores do not look like the calibration scores: the guarantee might not hold; "
            f"label some of the new {LABELLED[run.summary.about]} and calibrate again"
        )
    if run.summary.n_accepted == 0:
        remark("nothing was accepted")
    return drifted or run.summary.n_accepted == 0


def _next(summary: Any, typed: Typed) -> str | None:
    if any("adjudge monitor judge" in line for line in summary.warnings):  # another served model
        return command(
            "monitor judge", "LABELLED_ROWS", "--judge", "JUDGE", "--state", "judge.json"
        )
    if summary.n_accepted == 0 or summary.drift.flagged:
        return typed.on_same_rows("plan labels", "--write-ids", "to_label.csv")
    judges = {group.judge for group in summary.groups if group.n}
    if len(judges) > 1 and typed["judge"] is None:
        return typed.again("--judge", min(judges))
    if (output := typed["output"]) is None:
        return typed.again("-o", "selected.csv")
    if summary.n_accepted == summary.n:
        return command("report", Path(output).parent)
    if (rows := typed["pairs"]) is None:
        return command("view", output, "--only", "abstained")
    return command("label", rows, "--abstentions", output, "-o", "labels.csv")


COMMAND = Verb(
    "select",
    "adjudge.selection:select",
    "Accept or abstain on every row, by a policy.",
    "select new.jsonl --policy policy.json -o accepted.csv",
    "Refuses a policy made for another judge or prompt.",
    added="output summary explain json",
    options=[
        Option(
            "output",
            "Write every row with its decision: .jsonl, .csv, .parquet (id, judge, verdict, p_a, "
            "uncertainty, accepted, reason, then your columns).",
        )
    ],
    bad=_is_bad,
    step=_next,
    panel="Trust and deploy",
    place=2,
)
