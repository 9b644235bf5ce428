"""Check that a policy is consistent: its digest, its counts, and the rule from its own scores.

A policy is used long after it was written. This check detects editing mistakes and incomplete
copies. It does not protect against deliberate changes, which can be made consistent again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.data.writing import read_json
from adjudge.errors import DataError
from adjudge.present.load import from_dict
from adjudge.present.result import DigestState, digest_of, digest_state, problem_in_tree
from adjudge.results.cascade import CascadeReport
from adjudge.results.rules import Rule, share
from adjudge.results.selection import KEPT_SCORES, Contradiction, Policy, PolicyCheck, PolicyGroup
from adjudge.selection.cascade import members_of, stage_names
from adjudge.selection.cuts import beyond_cuts, limit_rule, promise_below
from adjudge.selection.guarantees import find_guarantee
from adjudge.selection.guarantees.base import Guarantee, Labels
from adjudge.selection.guarantees.fdr import effective_size
from adjudge.selection.split_counts import Levels
from adjudge.validation import exact_level

NO_DIGEST = (
    "the policy has an old schema without a digest: only its numbers were checked; calibrate "
    "again to have one"
)
_REMEDY = "write it again with adjudge calibrate -o; adjudge policy verify lists what differs"
#: Fields computed from sums of floats; every other number must be exactly the same.
_ROUNDED = ("coverage", "empirical_risk", "effective_size", "cost")


def verify_policy(path: str | Path) -> PolicyCheck:
    """Whether the policy in a file is as `calibrate` wrote it, and which fields are not.

    DataError if the file is not a policy. The digest is against mistakes, not attackers.

    Args:
        path: The policy that calibrate wrote.
    """
    loaded = read_json(path, remedy="give a policy that adjudge calibrate wrote")
    if not isinstance(loaded, Mapping) or loaded.get("kind") != Policy.kind:
        raise DataError(path, "is not a policy", remedy="give one that adjudge calibrate wrote")
    if (problem := problem_in_tree(loaded)) is not None:
        damage: DigestState = "differs" if "digest" in loaded else "none"
        return PolicyCheck(path=str(path), digest=damage, recomputed=False, unreadable=problem)
    digest = digest_state(loaded, Policy)
    # If the digest matches, the fields can be read, so those that differ can be named.
    fields = {**loaded, "digest": digest_of(loaded)} if digest != "none" else loaded
    try:
        policy = from_dict(fields, Policy, source=path)
    except DataError as error:
        return PolicyCheck(
            path=str(path), digest=digest, recomputed=False, unreadable=error.problem
        )
    return PolicyCheck(
        path=str(path),
        digest=digest,
        recomputed=all(_can_recompute(policy, group) for group in policy.groups),
        contradictions=tuple(contradictions(policy, source=path)),
    )


def check_policy(policy: Policy, *, source: str | Path) -> Policy:
    """The policy itself, or DataError if its numbers contradict each other."""
    for one in contradictions(policy, source=source):
        raise DataError(
            source, f"{one.field} is {one.stated}, but should be {one.expected}", remedy=_REMEDY
        )
    return policy


def levels_of(policy: Policy) -> Levels:
    """The levels that the policy was made for."""
    alpha = exact_level(policy.alpha)
    if policy.delta is None:
        return Levels(alpha)
    return Levels(alpha, exact_level(policy.delta, "delta"))


def contradictions(policy: Policy, *, source: str | Path) -> Iterator[Contradiction]:
    """Every field that the policy's own scores, counts and guarantee contradict.

    An unknown guarantee, or a newer version of one, is refused: its rule is not known.
    """
    chosen = find_guarantee(policy.guarantee)
    if policy.guarantee_version > chosen.version:
        raise DataError(
            source,
            f"guarantee {chosen.name} has version {policy.guarantee_version}, newer than "
            f"{chosen.version}",
            remedy="update adjudge, or calibrate again with this one",
        )
    if (policy.delta is None) == chosen.uses_delta:
        expected = "a number" if chosen.uses_delta else "null"
        yield Contradiction(field="delta", stated=_say(policy.delta), expected=expected)
        return
    levels = levels_of(policy)
    for at, group in enumerate(policy.groups):
        for one in _of_group(policy, group, chosen, levels):
            yield Contradiction(
                field=f"groups.{at}.{one.field}", stated=one.stated, expected=one.expected
            )
    yield from _compare(policy, _totals(policy, chosen))
    if policy.cascade is not None:
        yield from _of_cascade(policy.cascade)
    if policy.guarantee_version == chosen.version:
        promise = promise_below(chosen.promise(levels), policy.cuts)
        yield from _compare(policy, {"promise": promise})
    for other in policy.alternatives:
        if other.guarantee == policy.guarantee:
            copied = ("accepts", "threshold", "n_accepted", "coverage", "empirical_risk")
            words = ("indicative", "promise", "not_promised")
            yield from _compare(policy, {name: getattr(other, name) for name in copied + words})


def _of_group(
    policy: Policy, group: PolicyGroup, chosen: Guarantee, levels: Levels
) -> Iterator[Contradiction]:
    scores, errors = np.asarray(group.scores), np.asarray(group.errors)
    if np.any(np.diff(scores) < 0):
        yield Contradiction(field="scores", stated="not in order", expected="in ascending order")
        return
    if (beyond := beyond_cuts(group, policy.cuts)) is not None:
        yield beyond
        return
    whole = len(scores) == group.n_calibration
    if whole or chosen.per_batch or len(scores) != KEPT_SCORES:
        counts = {"n_calibration": len(scores), "n_errors": int(errors.sum())}
        yield from _compare(group, counts)
    if _can_recompute(policy, group):
        own = chosen.levels_per_rule(levels, len(policy.groups))
        rule = Rule(accepts="none")
        if len(scores) >= chosen.fewest_labels(own):
            labels = Labels(scores.astype(np.float64), errors.astype(np.int64))
            rule = limit_rule(chosen.decide(labels, own), scores, group, policy.cuts)
        yield from _compare(group, {"accepts": rule.accepts, "threshold": rule.threshold})
    if (group.accepts == "below") != (group.threshold is not None):
        expected = "a number" if group.accepts == "below" else "null"
        yield Contradiction(field="threshold", stated=_say(group.threshold), expected=expected)
        return
    yield from _compare(group, _implied(group))
    if group.accepts not in ("none", "batch"):
        yield from _compare(group, _counts_below(group, whole=whole))
    weights = None if group.weights is None else np.asarray(group.weights)
    size = None if weights is None or not len(weights) else effective_size(weights)
    yield from _compare(group, {"effective_size": size})


def _can_recompute(policy: Policy, group: PolicyGroup) -> bool:
    """Whether the group's rule can be computed from the file: same version, every score kept."""
    version = find_guarantee(policy.guarantee).version
    return policy.guarantee_version == version and len(group.scores) == group.n_calibration


def _implied(group: PolicyGroup) -> dict[str, Any]:
    """Values of a group's other fields that follow from its counts (of a batch: its shares)."""
    if group.accepts == "none":
        zero = ("n_accepted", "n_accepted_errors", "coverage", "empirical_risk")
        return {"feasible": False, **dict.fromkeys(zero, 0)}
    if group.accepts == "batch":
        rows = round(group.coverage * group.n_calibration)
        return {
            "feasible": group.coverage > 0,
            "n_accepted": rows,
            "n_accepted_errors": round(group.empirical_risk * rows),
        }
    return {
        "feasible": True,
        "coverage": share(group.n_accepted, group.n_calibration),
        "empirical_risk": share(group.n_accepted_errors, group.n_accepted),
    }


def _counts_below(group: PolicyGroup, *, whole: bool) -> dict[str, Any]:
    """How many rows the threshold accepts, computed from the scores.

    Rows without a verdict are errors that are never accepted. The file does not mark them, but
    accepted rows and accepted errors are lower by the same number. Thinned scores give the number
    of right accepted rows only up to chance: at least five standard deviations are allowed.
    """
    below, wrong = _below(group)
    if whole:
        mute = max(wrong - group.n_accepted_errors, 0)
        return {
            "n_accepted_errors": min(group.n_accepted_errors, wrong),
            "n_accepted": below - mute,
        }
    scale, chance = group.n_calibration / len(group.scores), 2 + 2.5 * math.sqrt(below)
    expected = group.n_accepted_errors + round((below - wrong) * scale)
    near = abs(group.n_accepted - expected) <= chance * scale
    return {"n_accepted": group.n_accepted if near else expected}


def _below(group: PolicyGroup) -> tuple[int, int]:
    accepted = group.rule.accept(np.asarray(group.scores))
    return int(accepted.sum()), int(np.asarray(group.errors)[accepted].sum())


def _totals(policy: Policy, chosen: Guarantee) -> dict[str, Any]:
    """The values of the policy's own fields that follow from its groups."""
    groups = policy.groups
    sums = ("n_calibration", "n_errors", "n_accepted", "n_accepted_errors")
    totals: dict[str, Any] = {name: sum(getattr(g, name) for g in groups) for name in sums}
    totals |= {
        "feasible": any(group.feasible for group in groups),
        "indicative": chosen.per_batch,
        "judges": tuple(dict.fromkeys(group.judge for group in groups)),
    }
    if policy.jury is not None:
        totals["judges"] = policy.jury.judges
    if policy.cascade is not None:
        totals["judges"] = stage_names(members_of(policy.cascade.rule))
    if len(groups) == 1:
        same = ("accepts", "threshold", "coverage", "empirical_risk")
        return totals | {name: getattr(groups[0], name) for name in same}
    rows = totals["n_accepted"]
    wrong = sum(group.empirical_risk * group.n_accepted for group in groups)
    decided = "batch" if chosen.per_batch else "groups"
    nothing = all(group.accepts == "none" for group in groups)
    return totals | {
        "accepts": "none" if nothing else decided,
        "threshold": None,
        "coverage": share(rows, totals["n_calibration"]),
        "empirical_risk": wrong / rows if rows else 0.0,
    }


def _of_cascade(cascade: CascadeReport) -> Iterator[Contradiction]:
    """The rows at the stages, and their cost, must add up to those of all rows."""
    if len(cascade.stopped) != len(cascade.rule.stages):
        expected = f"{len(cascade.rule.stages)} numbers"
        yield Contradiction(
            field="cascade.stopped", stated=_say(cascade.stopped), expected=expected
        )
        return
    costs = np.cumsum([stage.cost for stage in cascade.rule.stages])
    rows = sum(cascade.stopped)
    cost = float(np.repeat(costs, cascade.stopped).mean()) if rows else cascade.cost
    implied = {"n_verdicts": rows, "cost": cost, "cost_last": cascade.rule.stages[-1].cost}
    for one in _compare(cascade, implied):
        yield replace(one, field=f"cascade.{one.field}")


def _compare(
    part: Policy | PolicyGroup | CascadeReport, expected: Mapping[str, Any]
) -> Iterator[Contradiction]:
    for name, value in expected.items():
        stated = getattr(part, name)
        both = stated is not None and value is not None
        close = name in _ROUNDED and both and math.isclose(stated, value, rel_tol=1e-9)
        if stated != value and not close:
            yield Contradiction(field=name, stated=_say(stated), expected=_say(value))


def _say(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
