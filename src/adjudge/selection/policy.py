"""The policy file: read back, checked, and held against the judge of the new rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from adjudge._validation import exact_level
from adjudge.errors import DataError, PolicyMismatchError
from adjudge.io import read_result
from adjudge.judges.fingerprint import differing_parts
from adjudge.results.selection import Policy, PolicyGroup
from adjudge.selection.fingerprints import parts_in_store
from adjudge.selection.guarantees import find_guarantee
from adjudge.selection.split_counts import Levels


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
    return Levels(alpha) if policy.delta is None else Levels(alpha, exact_level(policy.delta))


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


def check_judge(
    policy: Policy, frame: pl.DataFrame, *, store: str | Path | None = None
) -> list[str]:
    """Remarks on rows that cannot be checked; PolicyMismatchError for another judge or prompt.

    Which part of the fingerprint differs is named where the policy and the store know the parts.
    """
    remarks: list[str] = []
    known = {(group.judge, group.protocol) for group in policy.groups}
    if policy.jury is not None:
        _check_members(policy, frame)
        return remarks
    for key, rows in frame.partition_by(["judge", "protocol"], as_dict=True).items():
        judge, protocol = str(key[0]), str(key[1])
        groups = [g for g in policy.groups if (g.judge, g.protocol) == (judge, protocol)]
        if not groups:
            raise _other_judge(judge, protocol, known)
        wanted = {g.judge_fingerprint for g in groups}
        given = rows.get_column("judge_fingerprint").drop_nulls().unique().sort().to_list()
        if given and None not in wanted:
            other = [name for name in given if name not in wanted]
            if other:
                raise _other_fingerprint(judge, groups[0], other, store)
        if not given:
            remarks.append(f"rows of {judge} have no judge_fingerprint: only its name was compared")
        elif None in wanted:
            remarks.append(f"the policy has no fingerprint of {judge}: only its name was compared")
        elif rows.get_column("judge_fingerprint").null_count():
            remarks.append(f"some rows of {judge} have no judge_fingerprint: taken on its name")
    return remarks


def _other_fingerprint(
    judge: str, group: PolicyGroup, given: list[str], store: str | Path | None
) -> PolicyMismatchError:
    known = parts_in_store(given[:1], store).get(given[0])
    if known is not None and group.fingerprint_parts is not None:
        differs = differing_parts(group.fingerprint_parts, known)
        return PolicyMismatchError(
            f"the policy was made for {judge} with other settings than these rows (differs: "
            f"{', '.join(differs)}); calibrate on judgments of this one",
            differs=differs,
        )
    return PolicyMismatchError(
        f"the policy was made for {judge} with fingerprint {_short([group.judge_fingerprint])}, "
        f"and these rows have {_short(given)}: same judge name and protocol, so its prompt, "
        "weights, engine or settings differ; calibrate on judgments of this one",
        differs=("judge_fingerprint",),
    )


def _check_members(policy: Policy, frame: pl.DataFrame) -> None:
    given = set(frame.get_column("judge_fingerprint").drop_nulls().unique().to_list())
    other = sorted(given - set(policy.judge_fingerprints))
    if policy.judge_fingerprints and other:
        raise PolicyMismatchError(
            f"the jury was calibrated with fingerprints {_short(policy.judge_fingerprints)}, and "
            f"these rows have {_short(other)}; calibrate on judgments of these judges",
            differs=("judge_fingerprint",),
        )


def _other_judge(
    judge: str, protocol: str, known: set[tuple[str, str | None]]
) -> PolicyMismatchError:
    names = sorted({name for name, _ in known})
    if judge in names:
        protocols = sorted(str(p) for name, p in known if name == judge)
        return PolicyMismatchError(
            f"the policy was made for {judge} by protocol {', '.join(protocols)}, and these rows "
            f"come from protocol {protocol}; calibrate on judgments of that one",
            differs=("protocol",),
        )
    return PolicyMismatchError(
        f"the policy was made for {', '.join(names)}, and these rows come from judge {judge}; "
        "calibrate on its judgments, or keep the right rows with --judge",
        differs=("judge",),
    )


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


def _short(names: Iterable[object]) -> str:
    return ", ".join(str(name)[:12] for name in names)
