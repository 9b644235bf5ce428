"""A policy and its rules: thresholds, and the cuts below which they hold.

Field names are JSON names.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import Identity
from adjudge.data.tables import as_text
from adjudge.data.turns import JUDGED_AS
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import CascadeReport, DoubtReport, JuryReport, SavedDoubt
from adjudge.present.blocks import (
    Block,
)
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    Repeats,
    ResultWithDigest,
    ZeroOne,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.present.text import group_name, percent
from adjudge.records import CUT_COLUMNS, About
from adjudge.validation import BoolArray, FloatArray, IntArray, finite

if TYPE_CHECKING:
    pass


Accepts = Literal["all", "none", "below", "batch", "groups"]


def share(count: float, total: int) -> float:
    """count / total, and 0 if nothing was accepted: an empty selection has no errors."""
    return count / total if total else 0.0


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A guarantee's decision on labelled rows: all that is needed to accept new ones.

    `scores`, `errors` and `weights` are the calibration rows, if a batch is decided with them.
    """

    accepts: Accepts
    threshold: float | None = None
    scores: Sequence[float] | FloatArray = field(default=(), repr=False)
    errors: Sequence[Count] | IntArray = field(default=(), repr=False)
    weights: Sequence[NotNegative] | FloatArray | None = field(default=None, repr=False)

    def accept(self, scores: ArrayLike) -> BoolArray:
        """Which scores are at most the threshold. All comparisons with a threshold are here.

        >>> Rule(accepts="below", threshold=0.2).accept([0.1, 0.2, 0.3])
        array([ True,  True, False])
        """
        s = finite(scores, "scores", allow_empty=True)
        if self.threshold is not None:
            return np.asarray(s <= self.threshold)
        if self.accepts in ("all", "none"):
            return np.full(len(s), self.accepts == "all")
        raise ArgumentError("accepts", self.accepts, "use the guarantee: one score is not enough")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Labels drawn only among the surest rows: no row above `at` calibrates or is accepted.

    The score is the uncertainty of this judge and protocol, whatever score a policy uses. `share`
    of the rows that it was drawn from are at or below the cut.
    """

    judge: str
    protocol: str | None
    judge_fingerprint: str | None = None
    at: float
    share: Proportion

    @property
    def rule(self) -> Rule:
        return Rule(accepts="below", threshold=self.at)

    def is_of(self, *columns: str) -> pl.Expr:
        """Whether a row agrees with the cut in these columns; an unknown value agrees."""
        values = {name: value for name in columns if (value := getattr(self, name)) is not None}
        agree = ((pl.col(name) == value) | pl.col(name).is_null() for name, value in values.items())
        return pl.all_horizontal(pl.lit(True), *agree)

    @property
    def columns(self) -> dict[str, str | float | None]:
        """The columns of the cut for a row that was drawn below it."""
        values = (self.at, self.share, self.judge, self.protocol, self.judge_fingerprint)
        return dict(zip(CUT_COLUMNS, values, strict=True))

    @property
    def name(self) -> str:
        """As in "the surest 60 % of the verdicts of gpt (preference)"."""
        judge = group_name(self.judge, none="the judge")
        protocol = group_name(self.protocol, none="")
        whose = f"{judge} ({protocol})" if protocol else judge
        return f"the surest {percent(self.share)} of the verdicts of {whose}"


def lowest_cuts(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """The lowest cut of each score: what is random below several cuts is random below all."""
    lowest: dict[tuple[str | None, ...], Cut] = {}
    for cut in cuts:
        score = (cut.judge, cut.protocol, cut.judge_fingerprint)
        lowest[score] = min(lowest.get(score, cut), cut, key=lambda each: each.at)
    return tuple(lowest.values())


def own_cuts(cuts: Sequence[Cut], judge: str, protocol: str | None) -> list[Cut]:
    """The cuts of the score that a judge's rule uses: its own uncertainty.

    A jury's rule has no cut, because it has its own score.
    """
    return [cut for cut in cuts if cut.judge == judge and cut.protocol in (None, protocol)]


def names_of(cuts: Sequence[Cut]) -> str:
    return " and ".join(cut.name for cut in cuts)


def promise_below(promise: str, cuts: Sequence[Cut]) -> str:
    """A guarantee's promise, about the pairs below every cut."""
    return f"among {names_of(cuts)}: {promise}" if cuts else promise


#: What rows state about their answers besides the judge's name: another value is another judge.
_STATED = ("served_model", "criterion", "metric", JUDGED_AS)


def answers_of(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """The models that answered, and what they were asked for, if the rows state it.

    >>> answers_of(pl.DataFrame({"id": ["x", "y"], "served_model": ["gpt-2025-04", None]}))
    {'served_model': ('gpt-2025-04',)}
    """
    columns = [c for c in _STATED if c in frame.columns and not frame.schema[c].is_nested()]
    stated = {column: as_text(frame[column]).drop_nulls().unique().sort() for column in columns}
    return {column: tuple(values) for column, values in stated.items() if len(values)}


POLICY_SCHEMA = 1
#: Calibration scores that a rule with a threshold keeps: enough for the drift test, which ignores
#: gaps below 0.05, and the file stays small.
KEPT_SCORES = 20_000
#: Fields computed from sums of floats; every other number must be exactly the same.
_ROUNDED = ("coverage", "empirical_risk", "effective_size", "cost")


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How often a threshold from labels like these is above alpha: approximate.

    `n` labels are drawn with replacement, `resamples` times. `share_above` is the share of the
    thresholds whose error share, corrected for having been chosen by these labels, exceeds alpha.
    """

    resamples: Repeats
    n: Count
    share_above: Proportion


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
    resampling: Resampling | None = None
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
        return self.judge if self.group is None else f"{self.judge} / {self.group}"

    @property
    def identity(self) -> Identity:
        return Identity(self.judge, self.protocol, self.judge_fingerprint, self.fingerprint_parts)

    @property
    def covers(self) -> tuple[str | None, ...]:
        """The values of the grouping column that it is for; a pool of small groups has several."""
        return self.members or (self.group,)

    @property
    def rule(self) -> Rule:
        return Rule(
            accepts=self.accepts,
            threshold=self.threshold,
            scores=self.scores,
            errors=self.errors,
            weights=self.weights,
        )


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """How many labelled rows a rule accepts, how many of them are wrong, and both shares."""

    n_accepted: int = 0
    n_accepted_errors: int = 0
    coverage: float = 0.0
    empirical_risk: float = 0.0


def join_rules(
    rules: Sequence[Rule | PolicyGroup],
    seen: Sequence[Acceptance | PolicyGroup],
    n: int,
    *,
    per_batch: bool,
) -> dict[str, Any]:
    """What several rules accept of their `n` labelled rows together; of one rule, what it does."""
    accepts = rules[0].accepts
    threshold = rules[0].threshold
    coverage = seen[0].coverage
    risk = seen[0].empirical_risk
    if len(rules) > 1:
        rows = sum(group.n_accepted for group in seen)
        coverage = share(rows, n)
        risk = share(sum(group.empirical_risk * group.n_accepted for group in seen), rows)
        nothing = all(rule.accepts == "none" for rule in rules)
        accepts = "none" if nothing else "batch" if per_batch else "groups"
        threshold = None
    shares = {"coverage": coverage, "empirical_risk": risk}
    return {"accepts": accepts, "threshold": threshold, **shares}


def sum_groups(groups: Sequence[PolicyGroup]) -> dict[str, Any]:
    """The fields of a policy that add up those of its groups."""
    names = ("n_calibration", "n_errors", "n_accepted", "n_accepted_errors")
    sums = {name: sum(getattr(group, name) for group in groups) for name in names}
    return {"feasible": any(group.feasible for group in groups), **sums}


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """What one guarantee would accept on the same labels, what it promises and what it does not.

    `summary` is the promise in a few words. `labels_needed` is about how many labels like these it
    would need to accept as much as the policy's guarantee; None if it does, or if that is unknown.
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
    labels_needed: Count | None = None

    @property
    def stated(self) -> dict[str, Any]:
        """The fields that a policy of this guarantee states too."""
        other = ("summary", "labels_needed")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in other}

    def share(self, digits: int = 1) -> str:
        """What it accepts of the labels; ~ marks a mean over halves of them."""
        return "~" * self.indicative + percent(self.coverage, digits)


@frozen
class Policy(ResultWithDigest):
    """The result of calibration: all that `select` needs, and its promise.

    `about` is what its verdicts are: which of two answers is better, whether one passes, or which
    of several is best.
    `guarantee_version` is that of the guarantee's rule. `worth` says what the promise rests on, and
    how often a threshold like this one is above alpha. Rows with an answer_mass below
    `min_answer_mass` are `off_answer`. If labels were drawn among the surest rows, everything here
    holds below the `cuts`. `calibrated_on` has what the labelled rows state about their answers:
    served_model, criterion, metric.
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
    calibrated_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
    worth: str = ""
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

    @property
    def value(self) -> str:
        """What a threshold is worth, wherever it is printed, and what others would accept."""
        worth = (self.worth or f"Promise: {self.promise}.") if self.feasible else ""
        return " ".join(filter(None, (worth, self.others)))

    @property
    def others(self) -> str:
        """What each other guarantee accepts of the same labels, and what it would need."""
        described = []
        for other in (o for o in self.alternatives if o.guarantee != self.guarantee):
            worth = [other.summary] if other.summary else []
            if other.labels_needed is not None:
                needed = float(f"{other.labels_needed:.2g}")
                worth.append(f"{percent(self.coverage, 0)} needs ~{needed:,.0f} labels")
            aside = f" ({'; '.join(worth)})" if worth else ""
            described.append(f"{other.guarantee} {other.share(0)}{aside}")
        return f"{', '.join(described)}." if described else ""


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
        cls, stated_in: object, expected: Mapping[str, Any], *, within: str = ""
    ) -> Iterator[Contradiction]:
        """The fields of a part that differ from these values."""
        for name, value in expected.items():
            stated = getattr(stated_in, name)
            both = stated is not None and value is not None
            close = name in _ROUNDED and both and math.isclose(stated, value, rel_tol=1e-9)
            if stated != value and not close:
                yield cls.of(within + name, stated, expected=_shorten(value))


def _shorten(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
