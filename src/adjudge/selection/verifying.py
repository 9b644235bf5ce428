"""Check that a policy is consistent: its digest, its counts, and the rule from its own scores.

A policy is used long after it was written. This check detects editing mistakes and incomplete
copies. It does not protect against deliberate changes, which can be made consistent again.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data import read_result
from adjudge.data.judgments import fixed_doubts
from adjudge.data.names import shorten
from adjudge.data.writing import read_json
from adjudge.errors import DataError, PolicyMismatchError
from adjudge.policy.result import (
    KEPT_SCORES,
    Contradiction,
    Cut,
    Policy,
    PolicyGroup,
    answers_of,
    join_rules,
    own_cuts,
    promise_below,
    share,
    sum_groups,
)
from adjudge.present.blocks import Block, Headline, Note, table_of
from adjudge.present.kinds import from_dict
from adjudge.present.result import (
    DigestState,
    Result,
    digest_of,
    digest_state,
    frozen,
    problem_in_tree,
)
from adjudge.present.text import count
from adjudge.records import About
from adjudge.selection.doubts.base import load_doubt
from adjudge.selection.guarantees import Guarantee, Labels, find_guarantee
from adjudge.selection.guarantees.fdr import effective_size
from adjudge.selection.thresholds import Levels
from adjudge.validation import exact_level

_ABOUT: Mapping[About, str] = {
    "pairs": "verdicts on pairs",
    "grades": "grades of single answers",
    "choices": "choices among all responses to a prompt",
}
_REMEDY = "write it again with adjudge calibrate -o; adjudge policy verify lists what differs"
_DIGESTS = {"matches": "matches", "differs": "differs", "missing": "is missing"}


@frozen
class PolicyCheck(Result):
    """Whether a policy file is as `calibrate` wrote it.

    `recomputed`: every threshold was computed again from the scores in the file. That needs the
    same version of the guarantee and all scores. `unreadable` names the field that could not be
    read; then nothing else was compared.
    """

    kind: ClassVar[str] = "policy_check"
    rows_in: ClassVar[str] = "contradictions"

    path: str
    digest: DigestState
    recomputed: bool
    contradictions: tuple[Contradiction, ...] = ()
    unreadable: str | None = None

    @property
    def intact(self) -> bool:
        """Whether `select` and `serve` accept it."""
        read = self.unreadable is None and not self.contradictions
        return read and self.digest == "matches"

    def view(self) -> list[Block]:
        wrong = self.contradictions
        numbers = "its numbers agree with its calibration scores"
        if wrong:
            ending = "s" if len(wrong) == 1 else ""
            numbers = f"{count(len(wrong), 'field')} contradict{ending} the rest"
        if self.unreadable is not None:
            numbers = f"it cannot be read: {self.unreadable}"
        digest = f"its digest {_DIGESTS[self.digest]}, and {numbers}"
        headline = Headline(f"{self.path} is unchanged: {digest}")
        if not self.intact:
            remedy = "Do not use it: calibrate again, or take an earlier copy."
            headline = Headline(f"{self.path} was changed: {digest}", remedy, tone="bad")
        blocks: list[Block] = [headline]
        if wrong:
            columns = {
                "field": lambda row: row.field,
                "in the file": lambda row: row.stated,
                "should be": lambda row: row.expected,
            }
            blocks.append(table_of(wrong, columns, text_columns=3))
        notes = [
            "The digest detects mistakes, not attacks: anyone who changes a policy on purpose can "
            "also write a new digest."
        ]
        if self.unreadable is None and not self.recomputed:
            notes.append(
                "Thresholds were compared with the counts in the file and not computed again, "
                "because the policy has an older version of its guarantee or keeps only some of "
                "its scores."
            )
        return [*blocks, Note(notes)]


def read_policy(path: str | Path) -> Policy:
    """Read the policy in a file that `calibrate -o` wrote; the error names what is wrong.

    An edited policy is refused, by its digest and by the rule that its own scores give.

    Args:
        path: The policy that calibrate wrote.

    >>> read_policy("missing.json")
    Traceback (most recent call last):
    adjudge.errors.DataError: missing.json: no such file; check the path, or write it: adjudge \
calibrate JUDGMENTS --alpha 0.1 -o missing.json
    """
    if not Path(path).exists():
        command = f"adjudge calibrate JUDGMENTS --alpha 0.1 -o {shlex.quote(str(path))}"
        raise DataError(path, "no such file", remedy=f"check the path, or write it: {command}")
    return check_policy(read_result(path, Policy), source=path)


def verify_policy(path: str | Path) -> PolicyCheck:
    """Whether the policy in a file is as `calibrate` wrote it, and which fields are not.

    DataError if the file is not a policy. The digest is against mistakes, not attackers.

    Args:
        path: The policy that calibrate wrote.
    """
    loaded = read_json(path, remedy="give a policy that adjudge calibrate wrote")
    if not isinstance(loaded, Mapping) or loaded.get("kind") != Policy.kind:
        raise DataError(path, "is not a policy", remedy="give one that adjudge calibrate wrote")
    check = partial(PolicyCheck, path=str(path))
    if (problem := problem_in_tree(loaded)) is not None:
        damage: DigestState = "differs" if "digest" in loaded else "missing"
        return check(digest=damage, recomputed=False, unreadable=problem)
    digest = digest_state(loaded)
    # If the digest matches, the fields can be read, so those that differ can be named.
    fields = {**loaded, "digest": digest_of(loaded)}
    try:
        policy = from_dict(fields, Policy, source=path)
    except DataError as error:
        return check(digest=digest, recomputed=False, unreadable=error.problem)
    return check(
        digest=digest,
        recomputed=all(_can_recompute(policy, group) for group in policy.groups),
        contradictions=tuple(contradictions(policy, source=path)),
    )


def check_policy(policy: Policy, *, source: str | Path) -> Policy:
    """The policy itself, or DataError if its numbers contradict each other."""
    for contradiction in contradictions(policy, source=source):
        raise DataError(source, str(contradiction), remedy=_REMEDY)
    return policy


def check_about(policy: Policy, about: About) -> None:
    """PolicyMismatchError if the policy and the rows are of different kinds (pairs, grades)."""
    if policy.about != about:
        best = " with --best" if about == "choices" else ""
        raise PolicyMismatchError(
            f"the policy is about {_ABOUT[policy.about]}, but these are {_ABOUT[about]}; calibrate "
            f"on rows like these{best}",
            differs=("about",),
        )


def remark_answers(
    calibrated_on: Mapping[str, Sequence[str]], frame: pl.DataFrame, *, made: str = "the policy"
) -> list[str]:
    """What the rows state about their answers, and the labelled rows of a policy or card do not.

    Nothing if these have no value of that column: older ones did not record them.
    """
    remarks = []
    for column, values in answers_of(frame).items():
        expected = calibrated_on.get(column, ())
        others = [value for value in values if value not in expected]
        if expected and others:
            remark = (
                f"{column} is {shorten(others, 5)} in some rows, but {made} was calibrated on "
                f"{shorten(expected, 5)}: its promise is about that"
            )
            if column == "served_model":
                remark += "; to test whether the judge changed: adjudge monitor judge"
            remarks.append(remark)
    return remarks


def levels_of(policy: Policy) -> Levels:
    delta = {} if policy.delta is None else {"delta": exact_level(policy.delta, "delta")}
    return Levels(exact_level(policy.alpha), **delta)


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
        yield Contradiction.of("delta", policy.delta, expected=expected)
        return
    levels = levels_of(policy)
    for at, group in enumerate(policy.groups):
        for wrong in _of_group(policy, group, chosen, levels):
            yield replace(wrong, field=f"groups.{at}.{wrong.field}")
    groups = policy.groups
    doubt = load_doubt(policy)
    sums = sum_groups(policy.groups)
    together = join_rules(groups, groups, sums["n_calibration"], per_batch=chosen.per_batch)
    judges = doubt.judges or tuple(dict.fromkeys(group.judge for group in groups))
    implied = {**sums, **together, "indicative": chosen.per_batch, "judges": judges}
    yield from Contradiction.between(policy, implied)
    yield from doubt.contradictions()
    if policy.guarantee_version == chosen.version:
        promise = promise_below(chosen.promise(levels), policy.cuts)
        yield from Contradiction.between(policy, {"promise": promise})
    for other in policy.alternatives:
        if other.guarantee == policy.guarantee:
            yield from Contradiction.between(policy, other.stated)


def _of_group(
    policy: Policy, group: PolicyGroup, chosen: Guarantee, levels: Levels
) -> Iterator[Contradiction]:
    scores = np.asarray(group.scores)
    errors = np.asarray(group.errors)
    if np.any(np.diff(scores) < 0):
        yield Contradiction(field="scores", stated="not in order", expected="in ascending order")
        return
    for beyond in _beyond_cuts(group, policy.cuts):
        yield beyond
        return
    whole = len(scores) == group.n_calibration
    if whole or chosen.per_batch or len(scores) != KEPT_SCORES:
        sums = {"n_calibration": len(scores), "n_errors": int(errors.sum())}
        yield from Contradiction.between(group, sums)
    if _can_recompute(policy, group):
        rule_levels = chosen.levels_per_rule(levels, len(policy.groups))
        values = fixed_doubts(group.protocol) if load_doubt(policy).of_protocol else ()
        labels = Labels(scores.astype(np.float64), errors.astype(np.int64), values=values)
        rule = chosen.rule_below(labels, rule_levels, policy.cuts, group.judge, group.protocol)
        yield from Contradiction.between(
            group, {"accepts": rule.accepts, "threshold": rule.threshold}
        )
    if (group.accepts == "below") != (group.threshold is not None):
        expected = "a number" if group.accepts == "below" else "null"
        yield Contradiction.of("threshold", group.threshold, expected=expected)
        return
    yield from Contradiction.between(group, _implied(group))
    weights = None if group.weights is None else np.asarray(group.weights)
    size = None if weights is None or not len(weights) else effective_size(weights)
    yield from Contradiction.between(group, {"effective_size": size})


def _can_recompute(policy: Policy, group: PolicyGroup) -> bool:
    """Whether the group's rule can be computed from the file: same version, every score kept."""
    version = find_guarantee(policy.guarantee).version
    return policy.guarantee_version == version and len(group.scores) == group.n_calibration


def _beyond_cuts(group: PolicyGroup, cuts: Sequence[Cut]) -> Iterator[Contradiction]:
    """The fields of a group that are above a cut of that score."""
    if cuts and group.accepts == "all":
        yield Contradiction.of("accepts", "all", expected="'below', up to the cut")
    for cut in own_cuts(cuts, group.judge, group.protocol):
        for field, value in (("scores", max(group.scores)), ("threshold", group.threshold)):
            if value is not None and not cut.rule.accept([value])[0]:
                yield Contradiction.of(field, value, expected=f"at most the cut, {cut.at!r}")


def _implied(group: PolicyGroup) -> dict[str, Any]:
    """Values of a group's other fields that follow from its counts and scores.

    Rows without a verdict are errors that are never accepted. The file does not mark them, but
    accepted rows and accepted errors are lower by the same number. Thinned scores give the number
    of right accepted rows only up to chance: at least five standard deviations are allowed.
    """
    if group.accepts == "none":
        zero = ("n_accepted", "n_accepted_errors", "coverage", "empirical_risk")
        return {"feasible": False, **dict.fromkeys(zero, 0)}
    if group.accepts == "batch":
        rows = round(group.coverage * group.n_calibration)
        wrong = round(group.empirical_risk * rows)
        return {"feasible": group.coverage > 0, "n_accepted": rows, "n_accepted_errors": wrong}
    accepted = group.rule.accept(np.asarray(group.scores))
    below = int(accepted.sum())
    wrong = int(np.asarray(group.errors)[accepted].sum())
    errors = group.n_accepted_errors
    rows = group.n_accepted
    scale = group.n_calibration / len(group.scores)
    chance = 2 + 2.5 * math.sqrt(below)
    expected = errors + round((below - wrong) * scale)
    if len(group.scores) == group.n_calibration:
        errors = min(errors, wrong)
        rows = below - (wrong - errors)
    elif abs(rows - expected) > chance * scale:
        rows = expected
    return {
        "feasible": True,
        "coverage": share(group.n_accepted, group.n_calibration),
        "empirical_risk": share(group.n_accepted_errors, group.n_accepted),
        "n_accepted_errors": errors,
        "n_accepted": rows,
    }
