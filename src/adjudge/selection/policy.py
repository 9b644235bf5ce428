"""The policy file: read, check, and compare with the judge of the new rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from adjudge.data import read_result
from adjudge.data.rows import Identity, identities
from adjudge.errors import PolicyMismatchError
from adjudge.judges.identity import match_judge
from adjudge.records import MEASURED, About
from adjudge.results.selection import Policy, PolicyGroup
from adjudge.rows.cuts import BEYOND
from adjudge.selection.cascade import members_of, of_stages
from adjudge.selection.cascade_policy import check_stages
from adjudge.selection.verifying import NO_DIGEST, check_policy
from adjudge.store import StorePlace
from adjudge.validation import FloatArray, IntArray

SAME_ROWS = (
    "these are, or include, the rows that the policy was calibrated on: the error share among them "
    "is not a promise about new rows"
)
_ABOUT: Mapping[About, str] = {
    "pairs": "verdicts on pairs",
    "grades": "grades of single answers",
    "choices": "choices among all responses to a prompt",
}


def read_policy(path: str | Path) -> Policy:
    """Read the policy in a file that `calibrate -o` wrote; the error names what is wrong.

    An edited policy is refused, by its digest and by the rule that its own scores give.

    Args:
        path: The policy that calibrate wrote.

    >>> read_policy("missing.json")
    Traceback (most recent call last):
    adjudge.errors.DataError: missing.json: no such file; check the path
    """
    return check_policy(read_result(path, Policy), source=path)


def policy_remarks(policy: Policy) -> list[str]:
    """What a user of the policy should know about its file."""
    return [NO_DIGEST] if policy.digest is None else []


def are_calibration_rows(policy: Policy, scores: FloatArray, placed: IntArray) -> bool:
    """Whether every calibration score, as often as it occurs, is among the new rows' scores.

    `placed` has the policy's group of each new row. Groups without a new row do not count. Scores
    with few distinct values are not evidence, because all of them occur in any file: at least half
    of the old and half of the new scores must be distinct.
    """
    parts = [
        (np.asarray(group.scores), scores[placed == number])
        for number, group in enumerate(policy.groups)
        if (placed == number).any()
    ]
    return bool(parts) and all(_mostly_distinct(*part) and _contains(*part) for part in parts)


def _mostly_distinct(*samples: FloatArray) -> bool:
    return all(2 * len(np.unique(scores)) >= len(scores) for scores in samples)


def _contains(old: FloatArray, new: FloatArray) -> bool:
    """Whether every value of `old` occurs in `new` at least as often."""
    values, times = np.unique(old, return_counts=True)
    ordered = np.sort(new)
    there = np.searchsorted(ordered, values, "right") - np.searchsorted(ordered, values, "left")
    return bool(np.all(there >= times))


def reason_to_abstain(
    accepted: bool,
    *,
    status: str = "ok",
    verdict: str | None,
    group: PolicyGroup | None,
    beyond_cut: bool = False,
) -> str | None:
    """Why a row is not accepted, as written in select's rows and by the server."""
    if accepted:
        return None
    if status not in MEASURED:
        return f"status {status}"
    if verdict is None:
        return "no verdict"
    if verdict == "tie":
        return "judge tie"
    if beyond_cut:
        return BEYOND
    if group is None:
        return "group not calibrated"
    return "nothing is accepted in this group" if group.accepts == "none" else "too uncertain"


def matching_groups(
    policy: Policy, given: Identity, *, by_name: bool = False, store: StorePlace = None
) -> tuple[list[PolicyGroup], str | None]:
    """The policy's groups for this judge, and what could not be compared.

    PolicyMismatchError for another judge or prompt, as in `match_judge`.
    """
    known = [
        Identity(group.judge, group.protocol, group.judge_fingerprint, group.fingerprint_parts)
        for group in policy.groups
    ]
    match = match_judge(known, given, by_name=by_name, store=store)
    return [policy.groups[at] for at in match.positions], match.remark


def check_about(policy: Policy, about: About) -> None:
    """PolicyMismatchError if the policy and the rows are of different kinds (pairs, grades)."""
    if policy.about != about:
        best = " with --best" if about == "choices" else ""
        raise PolicyMismatchError(
            f"the policy is about {_ABOUT[policy.about]}, but these are {_ABOUT[about]}; calibrate "
            f"on rows like these{best}",
            differs=("about",),
        )


def check_judge(policy: Policy, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
    """Notes on rows that cannot be checked; PolicyMismatchError for another judge or prompt.

    The error names the part of the fingerprint that differs, if policy and store have the parts.
    """
    remarks: list[str | None] = []
    if policy.cascade is not None:
        rule = policy.cascade.rule
        return check_stages(rule, frame.filter(of_stages(members_of(rule))), store=store)
    for given in identities(frame):
        if policy.jury is None:
            _, remark = matching_groups(policy, given, by_name=True, store=store)
            remarks.append(remark)
        elif given.fingerprint is not None and policy.judge_fingerprints:
            members = [Identity(fingerprint=name) for name in policy.judge_fingerprints]
            match_judge(members, Identity(fingerprint=given.fingerprint), made="the jury")
    return list(dict.fromkeys(remark for remark in remarks if remark is not None))
