"""`adjudge policy show` and `adjudge policy verify`: print and check the file of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, deliver, remark
from adjudge.cli._options import ExplainFlag, JsonFlag, OutputOption, PlotOption

PolicyArgument = Annotated[
    Path, typer.Argument(help="The policy that calibrate wrote.", show_default=False)
]


def show_policy(
    policy: PolicyArgument,
    plot: PlotOption = None,
    explain: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what a policy accepts, promises and assumes.

    Refuses a policy that was edited.
    """
    from adjudge.selection import read_policy
    from adjudge.selection.verifying import policy_remarks

    result = read_policy(policy)
    deliver(result, as_json=as_json, output=None, plot=plot, explain=explain)
    for line in policy_remarks(result):
        remark(line)


def verify(policy: PolicyArgument, output: OutputOption = None, as_json: JsonFlag = False) -> None:
    """Check that a policy is as calibrate wrote it; exit 2 if not.

    Compares the digest with the content, and every count and threshold with the calibration
    scores in the file, but not the command in it. This detects mistakes, not attackers.
    """
    from adjudge.selection import verify_policy

    check = verify_policy(policy)
    deliver(check, as_json=as_json, output=output)
    if not check.intact:
        bad_finding()
