"""A policy: the rules that calibration leaves behind. Field names are JSON names."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.policy.doubts import CascadeReport, DoubtReport, JuryReport, SavedDoubt
from adjudge.policy.rules import Accepts, Cut, Rule
from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    ResultWithDigest,
    ZeroOne,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.records import About

POLICY_SCHEMA = 1
#: Calibration scores that a rule with a threshold keeps: enough for the drift test, which ignores
#: gaps below 0.05, and the file stays small.
KEPT_SCORES = 20_000
#: Fields computed from sums of floats; every other number must be exactly the same.
_ROUNDED = ("coverage", "empirical_risk", "effective_size", "cost")


@dataclass(frozen=True, kw_only=True)
class PolicyGroup:
    """The rule for one judge, or for one group of rows if there are groups.

    `scores` are sorted, with their `errors` (and `weights`). fdr needs all of them for every batch.
    scope and pac need them only for the drift test and a figure: of more than 20,000 calibration
    rows they keep 20,000, evenly spaced in that order, which changes no share below any score by
    more than 1 / 20,000. All counts are for all rows.
    """

    judge: str
    protocol: str | None
    group: str | None
    judge_fingerprint: str | None
    accepts: Accepts
    threshold: float | None
    feasible: bool
    n_calibration: Count
    n_errors: Count
    n_accepted: Count
    n_accepted_errors: Count
    empirical_risk: Proportion
    coverage: Proportion
    note: str | None = None
    effective_size: NotNegative | None = None
    fingerprint_parts: Mapping[str, Any] | None = None
    members: tuple[str, ...] = ()
    scores: tuple[float, ...] = field(repr=False)
    errors: tuple[ZeroOne, ...] = field(repr=False)
    weights: tuple[Positive, ...] | None = field(default=None, repr=False)

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("scores", "errors", "weights"),
        not_empty("scores"),
        at_most("n_errors", "n_calibration"),
        at_most("n_accepted", "n_calibration"),
        at_most("n_accepted_errors", "n_accepted"),
    )

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.judge if self.group is None else f"{self.judge} / {self.group}"

    @property
    def covers(self) -> tuple[str | None, ...]:
        """The values of the grouping column that it is for; a pool of small groups has several."""
        return self.members or (self.group,)

    @property
    def rule(self) -> Rule:
        """The rule of the policy's guarantee."""
        return Rule(
            accepts=self.accepts,
            threshold=self.threshold,
            scores=self.scores,
            errors=self.errors,
            weights=self.weights,
        )


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """What one guarantee would accept on the same labels, what it promises and what it does not.

    `summary` is the promise in a few words.
    """

    guarantee: str
    summary: str
    accepts: Accepts
    threshold: float | None
    n_accepted: Count
    coverage: Proportion
    empirical_risk: Proportion
    indicative: bool
    promise: str
    not_promised: str


@frozen
class Policy(ResultWithDigest):
    """The result of calibration: all that `select` needs, and its promise.

    `about` is what its verdicts are: which of two answers is better, whether one passes, or which
    of several is best.
    `guarantee_version` is that of the guarantee's rule. Rows with an answer_mass below
    `min_answer_mass` are `off_answer`. If labels were drawn among the surest rows, everything here
    holds below the `cuts`.
    """

    kind: ClassVar[str] = "policy"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups", "judges"),)

    schema_version: Count = POLICY_SCHEMA
    about: About = "pairs"
    guarantee: str
    guarantee_version: Count = 1
    alpha: Level
    delta: Level | None
    ties: str
    accepts: Accepts
    threshold: float | None
    feasible: bool
    indicative: bool
    n_calibration: Count
    n_errors: Count
    n_accepted: Count
    n_accepted_errors: Count
    empirical_risk: Proportion
    coverage: Proportion
    judges: tuple[str, ...]
    judge_fingerprints: tuple[str, ...]
    by: str | None = None
    pooled: bool = False
    cluster: str | None = None
    weights_column: str | None = None
    jury: JuryReport | None = None
    doubt: DoubtReport | None = None
    cascade: CascadeReport | None = None
    min_answer_mass: Proportion | None = None
    cuts: tuple[Cut, ...] = ()
    seed: Count | None = None
    promise: str
    not_promised: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]
    groups: tuple[PolicyGroup, ...]
    alternatives: tuple[Alternative, ...] = ()
    adjudge_version: str

    @property
    def doubts(self) -> tuple[SavedDoubt, ...]:
        """What it saves of its doubt; nothing if that is the judge's own."""
        return tuple(doubt for doubt in self._doubt_fields if doubt is not None)

    @property
    def _doubt_fields(self) -> tuple[SavedDoubt | None, ...]:
        return (self.jury, self.doubt, self.cascade)

    @property
    def learned(self) -> bool:
        """Whether it accepts a learned verdict, which can differ from the judge's."""
        return any(doubt.learned for doubt in self.doubts)

    @property
    def category(self) -> str | None:
        """The column of categories that it learned from."""
        columns = (doubt.category_column for doubt in self.doubts)
        return next((column for column in columns if column is not None), None)

    @property
    def rules_id(self) -> str:
        """An id of what the policy accepts: the same rules have the same id in every version.

        A monitor counts the audits of one set of rules.
        """
        rules = [
            (g.judge, g.protocol, g.judge_fingerprint, *g.covers, g.accepts, repr(g.threshold))
            # A batch is decided by the labels themselves.
            + ((g.scores, g.errors, g.weights) if g.accepts == "batch" else ())
            for g in self.groups
        ]
        content = (
            self.guarantee,
            self.alpha,
            self.delta,
            self.by,
            self.ties,
            sorted(map(str, rules)),
            self.min_answer_mass,
            self.cuts,
            *(None if doubt is None else doubt.way for doubt in self._doubt_fields),
        )
        return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def view(self) -> list[Block]:
        from adjudge.policy.view import view_policy

        return view_policy(self)


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """A field of a policy, its value in the file, and the value that the other fields imply."""

    field: str
    stated: str
    expected: str

    def __str__(self) -> str:
        return f"{self.field} is {self.stated}, but should be {self.expected}"

    @classmethod
    def of(cls, field: str, stated: object, *, expected: str) -> Contradiction:
        """The value in the file as JSON-like text, and what was expected."""
        return cls(field=field, stated=_shorten(stated), expected=expected)

    @classmethod
    def between(
        cls, part: object, expected: Mapping[str, Any], *, within: str = ""
    ) -> Iterator[Contradiction]:
        """The fields of a part that differ from these values."""
        for name, value in expected.items():
            stated = getattr(part, name)
            both = stated is not None and value is not None
            close = name in _ROUNDED and both and math.isclose(stated, value, rel_tol=1e-9)
            if stated != value and not close:
                yield cls.of(within + name, stated, expected=_shorten(value))


def _shorten(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
