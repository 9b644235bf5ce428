"""The policy file: read back, checked, and held against the judge of the new rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from adjudge._validation import exact_level
from adjudge.errors import DataError
from adjudge.io import read_result
from adjudge.results.selection import Policy, PolicyGroup
from adjudge.rows.identity import Identity, identities, match_judge
from adjudge.selection.guarantees import find_guarantee
from adjudge.selection.split_counts import Levels
from adjudge.store import StorePlace


def read_policy(path: str | Path) -> Policy:
    """The policy in a file that `calibrate -o` wrote; what is wrong with another is said in a line.

    >>> read_policy("missing.json")
    Traceback (most recent call last):
    adjudge.errors.DataError: missing.json: no such file; check the path
    """
    policy = read_result(path, Policy)
    find_guarantee(policy.guarantee)  # an unknown one is refused here, with those that are known
    for group in policy.groups:
        _check_group(group, str(path))
    return policy


def levels_of(policy: Policy) -> Levels:
    """The levels that the policy was made for."""
    alpha = exact_level(policy.alpha)
    if policy.delta is None:
        return Levels(alpha)
    return Levels(alpha, exact_level(policy.delta, "delta"))


def reason_to_abstain(
    accepted: bool, *, has_verdict: bool, group: PolicyGroup | None
) -> str | None:
    """Why a measured row is not accepted, in the words of select's rows and of the server."""
    if accepted:
        return None
    if not has_verdict:
        return "no verdict"
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


def check_judge(policy: Policy, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
    """Remarks on rows that cannot be checked; PolicyMismatchError for another judge or prompt.

    Which part of the fingerprint differs is named where the policy and the store know the parts.
    """
    remarks = []
    for given in identities(frame):
        if policy.jury is None:
            _, remark = matching_groups(policy, given, by_name=True, store=store)
            remarks.append(remark)
        elif given.fingerprint is not None and policy.judge_fingerprints:
            members = [Identity(fingerprint=name) for name in policy.judge_fingerprints]
            match_judge(members, Identity(fingerprint=given.fingerprint), made="the jury")
    return list(dict.fromkeys(remark for remark in remarks if remark is not None))


def _check_group(group: PolicyGroup, name: str) -> None:
    sorted_scores = all(a <= b for a, b in zip(group.scores, group.scores[1:], strict=False))
    same = len(group.scores) == len(group.errors)
    weighted = group.weights is None or len(group.weights) == len(group.scores)
    if not (sorted_scores and same and weighted and set(group.errors) <= {0, 1}):
        raise DataError(
            name,
            f"the calibration scores of {group.name} are not in order or do not match their errors",
            remedy="write it again with adjudge calibrate -o",
        )
    if (group.accepts == "below") != (group.threshold is not None):
        raise DataError(
            name,
            f"{group.name} accepts {group.accepts} with threshold {group.threshold}",
            remedy="write it again with adjudge calibrate -o",
        )
