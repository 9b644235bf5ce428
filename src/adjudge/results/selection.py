"""What selection returns: thresholds, batches, policies. Field names are the JSON names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import BoolArray, FloatArray, IntArray, finite
from adjudge.errors import ArgumentError
from adjudge.results.base import Result

Accepts = Literal["all", "none", "below", "batch", "groups"]
POLICY_SCHEMA = 1


def share(part: int, whole: int) -> float:
    """part / whole, and 0 where nothing was accepted: an empty selection makes no errors."""
    return part / whole if whole else 0.0


def percent(value: float) -> str:
    """A share in words, short.

    >>> percent(0.1), percent(0.125)
    ('10 %', '12.5 %')
    """
    return f"{100 * value:.3g} %"


def wrong_among(risk: float, accepted: int) -> str:
    """The share wrong among the accepted in words, and a dash where there are none.

    >>> wrong_among(0.1, 20), wrong_among(0.0, 0)
    ('10 %', '–')
    """
    return percent(risk) if accepted else "–"


def counted(n: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def dropped_lines(dropped: Mapping[str, int]) -> list[str]:
    """Rows that were left out, a line for each reason."""
    return [f"dropped {counted(count, 'row')}: {why}" for why, count in dropped.items() if count]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a guarantee decided from labelled rows: all that it needs to accept new ones.

    `scores`, `errors` and `weights` are the calibration rows, where a batch is decided with them.
    """

    accepts: Accepts
    threshold: float | None = None
    scores: Sequence[float] | FloatArray = field(default=(), repr=False)
    errors: Sequence[int] | IntArray = field(default=(), repr=False)
    weights: Sequence[float] | FloatArray | None = field(default=None, repr=False)

    def accept(self, scores: ArrayLike) -> BoolArray:
        """Which scores are at most the threshold. No other line of adjudge compares the two.

        >>> Rule(accepts="below", threshold=0.2).accept([0.1, 0.2, 0.3])
        array([ True,  True, False])
        """
        s = finite(scores, "scores", allow_empty=True)
        if self.threshold is not None:
            return np.asarray(s <= self.threshold)
        if self.accepts in ("all", "none"):
            return np.full(len(s), self.accepts == "all")
        raise ArgumentError("accepts", self.accepts, "ask the guarantee: one score cannot tell")


@dataclass(frozen=True, kw_only=True)
class Threshold(Result):
    """One deployable rule: accept every verdict whose uncertainty is at most `threshold`.

    `accepts` is "all" or "none" where no finite threshold says it; `threshold` is then None.
    `n_accepted`, `n_accepted_errors` and `empirical_risk` count the calibration rows that the
    rule accepts.
    """

    kind: ClassVar[str] = "threshold"

    method: str
    alpha: float
    delta: float | None = None
    accepts: Accepts
    threshold: float | None
    feasible: bool
    n_calibration: int
    n_errors: int
    n_accepted: int
    n_accepted_errors: int
    empirical_risk: float
    coverage: float

    def accept(self, scores: ArrayLike) -> BoolArray:
        """Which of the new `scores` the rule accepts."""
        return self.rule.accept(scores)

    @property
    def rule(self) -> Rule:
        """The rule without its counts."""
        return Rule(accepts=self.accepts, threshold=self.threshold)

    def lines(self) -> list[str]:
        if self.accepts == "none":
            rule = "accepts nothing: no threshold passes"
        elif self.accepts == "all":
            rule = "accepts every verdict"
        else:
            rule = f"accepts uncertainty <= {self.threshold:.6g}"
        return [
            f"{self.method} at alpha {self.alpha:g}: {rule}",
            f"calibration: {self.n_accepted} of {self.n_calibration} accepted, "
            f"{self.n_accepted_errors} of them wrong "
            f"({wrong_among(self.empirical_risk, self.n_accepted)})",
        ]


@dataclass(frozen=True, kw_only=True)
class BatchSelection(Result):
    """Which rows of one batch are accepted together, and the p-value of each."""

    kind: ClassVar[str] = "batch_selection"

    method: str
    alpha: float
    n_calibration: int
    n_errors: int
    n: int
    n_accepted: int
    effective_size: float | None = None
    p_values: FloatArray = field(repr=False)
    accepted: BoolArray = field(repr=False)

    def lines(self) -> list[str]:
        told = [
            f"{self.method} at alpha {self.alpha:g}: {self.n_accepted} of {self.n} accepted "
            f"({counted(self.n_calibration, 'calibration row')}, {self.n_errors} of them wrong)"
        ]
        if self.effective_size is not None:
            told.append(f"effective calibration size under the weights: {self.effective_size:.1f}")
        return told


@dataclass(frozen=True, kw_only=True)
class PolicyGroup:
    """The rule for one judge, and one group of rows where groups were asked for.

    `scores` are sorted and carry their `errors` (and `weights`). fdr needs every one of them for
    every batch. scope and pac need them only for the drift test and a picture: of more than 20,000
    calibration rows they keep 20,000, evenly spaced in that order, which moves no share below any
    score by more than 1 / 20,000. All counts are of all rows.
    """

    judge: str
    protocol: str | None
    group: str | None
    judge_fingerprint: str | None
    accepts: Accepts
    threshold: float | None
    feasible: bool
    n_calibration: int
    n_errors: int
    n_accepted: int
    n_accepted_errors: int
    empirical_risk: float
    coverage: float
    note: str | None = None
    effective_size: float | None = None
    fingerprint_parts: Mapping[str, Any] | None = None
    members: tuple[str, ...] = ()
    scores: tuple[float, ...] = field(repr=False)
    errors: tuple[int, ...] = field(repr=False)
    weights: tuple[float, ...] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """How a table calls it."""
        return self.judge if self.group is None else f"{self.judge} / {self.group}"

    @property
    def covers(self) -> tuple[str | None, ...]:
        """The values of the grouping column it is for; a pool of small groups has several."""
        return self.members or (self.group,)

    @property
    def rule(self) -> Rule:
        """The rule that the policy's guarantee accepts by."""
        return Rule(
            accepts=self.accepts,
            threshold=self.threshold,
            scores=self.scores,
            errors=self.errors,
            weights=self.weights,
        )


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """What one guarantee would accept on the same labels, what it promises and what it does not."""

    guarantee: str
    accepts: Accepts
    threshold: float | None
    n_accepted: int
    coverage: float
    empirical_risk: float
    indicative: bool
    promise: str
    not_promised: str


@dataclass(frozen=True, kw_only=True)
class JuryReport:
    """How several judges were combined, and what each would have accepted alone."""

    method: str
    judges: tuple[str, ...]
    weights: tuple[float, ...]
    n_training: int
    coverage: float
    coverage_alone: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Policy(Result):
    """What calibration leaves behind: all that `select` needs, and what it promises in words."""

    kind: ClassVar[str] = "policy"

    schema_version: int = POLICY_SCHEMA
    guarantee: str
    alpha: float
    delta: float | None
    ties: str
    accepts: Accepts
    threshold: float | None
    feasible: bool
    indicative: bool
    n_calibration: int
    n_errors: int
    n_accepted: int
    n_accepted_errors: int
    empirical_risk: float
    coverage: float
    judges: tuple[str, ...]
    judge_fingerprints: tuple[str, ...]
    by: str | None = None
    pooled: bool = False
    cluster: str | None = None
    weights_column: str | None = None
    jury: JuryReport | None = None
    seed: int | None = None
    promise: str
    not_promised: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int]
    groups: tuple[PolicyGroup, ...]
    alternatives: tuple[Alternative, ...] = ()
    adjudge_version: str

    def lines(self) -> list[str]:
        told = [
            f"{self.guarantee} at alpha {self.alpha:g}: {self._rule()}",
            f"{counted(self.n_calibration, 'label')} for calibration, "
            f"{self.n_errors} of them wrong; "
            + ("indicatively " if self.indicative else "")
            + f"{self.n_accepted} accepted ({percent(self.coverage)}), "
            f"{wrong_among(self.empirical_risk, self.n_accepted)} of those wrong",
            f"promises: {self.promise}",
            f"does not promise: {self.not_promised}",
        ]
        told += [f"assumes: {line}" for line in self.assumptions]
        told += [f"note: {line}" for line in self.warnings]
        told += [f"{g.name}: {g.note}" for g in self.groups if g.note]
        return told + dropped_lines(self.dropped)

    def _rule(self) -> str:
        if self.accepts == "all":
            return "accept every verdict"
        if self.accepts == "below":
            return f"accept uncertainty <= {self.threshold:.6g}"
        if self.accepts == "batch":
            return "decided for each batch given to select"
        if self.accepts == "groups":
            return f"one rule for each of {counted(len(self.groups), 'group')}"
        return "accept nothing: no threshold passes"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """New scores against calibration scores: the largest gap between their distributions."""

    tested: bool
    flagged: bool
    statistic: float | None
    p_value: float | None
    n_new: int
    n_calibration: int
    where: str | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Selection(Result):
    """What a policy did to a file of new rows; the rows themselves go with it."""

    kind: ClassVar[str] = "selection"

    guarantee: str
    alpha: float
    delta: float | None
    n: int
    n_accepted: int
    accepted_share: float
    drift: Drift
    groups: tuple[Mapping[str, Any], ...] = ()
    promise: str
    not_promised: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int]

    def lines(self) -> list[str]:
        told = [
            f"{self.n_accepted} of {counted(self.n, 'verdict')} accepted "
            f"({percent(self.accepted_share)}), {self.guarantee} at alpha {self.alpha:g}",
            f"promises: {self.promise}",
            f"does not promise: {self.not_promised}",
        ]
        d = self.drift
        if d.statistic is not None and d.p_value is not None:
            verdict = "DRIFT" if d.flagged else "no drift seen"
            told.append(
                f"{verdict}: the new scores' distribution is up to {d.statistic:.3f} away from the "
                f"calibration scores' (Kolmogorov-Smirnov, p = {d.p_value:.2g})"
            )
        elif d.note:
            told.append(f"drift not tested: {d.note}")
        told += [f"note: {line}" for line in self.warnings]
        told += [
            f"not accepted, {counted(count, 'row')}: {why}"
            for why, count in self.dropped.items()
            if count
        ]
        return told
