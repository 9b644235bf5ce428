"""Results of calibrate and select: policies, selections. Field names are the JSON names."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.data.drift import Drift
from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    DigestState,
    Level,
    NotNegative,
    Positive,
    Proportion,
    Result,
    ResultWithDigest,
    ZeroOne,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.records import About
from adjudge.results.cascade import CascadeReport, Lengths
from adjudge.results.rules import Accepts, Cut, Rule

POLICY_SCHEMA = 2
#: Where juries clip log odds if their file does not state it.
EARLIER_ODDS = math.log(1e6)
#: Calibration scores that a rule with a threshold keeps: enough for the drift test, which ignores
#: gaps below 0.05, and the file stays small.
KEPT_SCORES = 20_000


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

    `summary` is the promise in a few words; files of earlier versions have none.
    """

    guarantee: str
    summary: str = ""
    accepts: Accepts
    threshold: float | None
    n_accepted: Count
    coverage: Proportion
    empirical_risk: Proportion
    indicative: bool
    promise: str
    not_promised: str


@dataclass(frozen=True, kw_only=True)
class JuryReport:
    """How several judges were combined, and what each would have accepted alone.

    Log odds are clipped at `most_odds`; `tail` is the slope outside. A `learned` jury has the
    weights of the mean here; what it learned is in the policy's `doubt`.
    """

    method: str
    judges: tuple[str, ...]
    weights: tuple[NotNegative, ...]
    most_odds: Positive = EARLIER_ODDS
    tail: NotNegative = 0.0
    n_training: Count
    coverage: Proportion
    coverage_alone: Mapping[str, Proportion]

    checks: ClassVar[tuple[Check, ...]] = (same_length("judges", "weights"),)


@dataclass(frozen=True, kw_only=True)
class DoubtReport:
    """A doubt learned from a share of the labels: all that `select` needs to compute it.

    The margin is the sum of column / scale * weight, `penalty` was chosen on the learning share. At
    the largest penalty the doubt `stays_home`: it is close to the judge's own order. Of the
    `n_verdicts` that were not used for learning, `n_overturned` differ from the judge's (with
    clusters only some of these calibrate). `coverage_without` is what the judge's own doubt accepts
    of the same rows.
    """

    columns: tuple[str, ...]
    scales: tuple[Positive, ...]
    weights: tuple[float, ...]
    penalty: Positive
    stays_home: bool
    lengths: Lengths | None
    category: str | None
    categories: tuple[str, ...]
    n_learning: Count
    n_verdicts: Count
    n_overturned: Count
    coverage_without: Proportion

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("columns", "scales", "weights"),
        not_empty("columns"),
        at_most("n_overturned", "n_verdicts"),
    )


@frozen
class Policy(ResultWithDigest):
    """The result of calibration: all that `select` needs, and its promise.

    `about` is what its verdicts are: which of two answers is better, whether one passes, or which
    of several is best.
    `guarantee_version` is that of the guarantee's rule; files of schema 1 have none, and are of the
    first version. They have no `digest` either. Rows with an answer_mass below `min_answer_mass`
    are `off_answer`; older policies have no such limit. If labels were drawn among the surest rows,
    everything here holds below the `cuts`.
    """

    kind: ClassVar[str] = "policy"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups", "judges"),)
    digest_since: ClassVar[int] = 2

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
    def learned(self) -> bool:
        """Whether it accepts a learned verdict, which can differ from the judge's."""
        return self.doubt is not None or self.cascade is not None

    @property
    def category(self) -> str | None:
        """The column of categories that it learned from."""
        if self.cascade is not None:
            return self.cascade.rule.category
        return None if self.doubt is None else self.doubt.category

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
            None if self.jury is None else (self.jury.method, self.jury.judges, self.jury.weights),
            None if (d := self.doubt) is None else (d.columns, d.scales, d.weights),
            None if self.cascade is None else self.cascade.rule.way,
        )
        return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def view(self) -> list[Block]:
        from adjudge.present.views._policy import view_policy

        return view_policy(self)


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """A field of a policy, its value in the file, and the value that the other fields imply."""

    field: str
    stated: str
    expected: str


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
        return read and self.digest in ("matches", "none")

    def view(self) -> list[Block]:
        from adjudge.present.views._policy import view_check

        return view_check(self)


@dataclass(frozen=True, kw_only=True)
class GroupCount:
    """What was accepted of the new rows of one rule."""

    judge: str
    group: str | None
    n: Count
    n_accepted: Count
    accepted_share: Proportion


@dataclass(frozen=True, kw_only=True)
class StageCount:
    """New rows that ended at one judge of a cascade, and the number of its failures."""

    judge: str
    n: Count
    n_accepted: Count
    n_failed: Count

    checks: ClassVar[tuple[Check, ...]] = (at_most("n_accepted", "n"),)


@frozen
class Selection(Result):
    """The result of a policy on a file of new rows; the rows are returned with it.

    `n_overturned`: accepted rows whose learned verdict is not the judge's; None if the policy
    learned no doubt. `stages` are those of a cascade, `cost` the cost of its rows, if known.
    """

    kind: ClassVar[str] = "selection"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (at_most("n_accepted", "n"),)

    about: About = "pairs"
    guarantee: str
    alpha: Level
    delta: Level | None
    n: Count
    n_accepted: Count
    accepted_share: Proportion
    n_overturned: Count | None = None
    stages: tuple[StageCount, ...] = ()
    cost: NotNegative | None = None
    drift: Drift
    groups: tuple[GroupCount, ...] = ()
    promise: str
    not_promised: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        from adjudge.present.views.selection import view_selection

        return view_selection(self)
