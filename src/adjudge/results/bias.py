"""What the bias diagnoses return. Intervals are clustered; None where one cluster is all there is.

Each `finding` is one sentence for a person. `biased` says that the interval excludes the value an
unbiased judge has: with a 95 % interval that happens to an unbiased judge at most once in twenty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.results.base import Result


@dataclass(frozen=True, kw_only=True)
class PositionGroup:
    """Position bias within one group of rows."""

    group: str
    n: int
    first_share: float
    low: float | None
    high: float | None
    flip_share: float


@dataclass(frozen=True, kw_only=True)
class PositionBias(Result):
    """How often the answer shown first is picked, over both orders of every pair.

    `flip_share` is the share of pairs with a verdict in both orders whose verdict changes with the
    order; `first_probability` the mean probability given to the first slot. `first_advantage` is
    the mean score of the first slot minus that of the second; None without scores in both orders.
    """

    kind: ClassVar[str] = "position"
    n: int
    clusters: int
    first_share: float
    low: float | None
    high: float | None
    biased: bool
    flip_share: float
    flip_low: float | None
    flip_high: float | None
    flips_to_first: int
    flips_to_second: int
    first_probability: float
    dropped: Mapping[str, int]
    by_group: tuple[PositionGroup, ...]
    confidence_level: float
    finding: str
    first_advantage: float | None = None
    advantage_low: float | None = None
    advantage_high: float | None = None

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class VerbosityBias(Result):
    """How often the longer answer wins where the judge itself is near-tied."""

    kind: ClassVar[str] = "verbosity"
    n: int
    clusters: int
    near_tie: float
    longer_share: float | None
    low: float | None
    high: float | None
    biased: bool
    overall_share: float | None
    overall_n: int
    human_share: float | None
    human_n: int
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    dropped: Mapping[str, int]
    confidence_level: float
    finding: str

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class FamilyBias(Result):
    """How much more often the judge prefers its own family than the reference does."""

    kind: ClassVar[str] = "family"
    family: str | None
    reference: str
    n: int
    clusters: int
    judge_share: float | None
    reference_share: float | None
    excess: float | None
    low: float | None
    high: float | None
    biased: bool
    dropped: Mapping[str, int]
    confidence_level: float
    finding: str

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class FamilyScores(Result):
    """How much higher the judge scores its own family than the reference does, in points.

    `own_deviation` and `other_deviation` are the mean deviations from the reference of the models
    of its family and of the others; `excess` is their difference, with an interval over models.
    """

    kind: ClassVar[str] = "family-scores"
    judge: str | None
    family: str | None
    reference: str
    n: int
    own_models: int
    other_models: int
    own_deviation: float | None
    other_deviation: float | None
    excess: float | None
    low: float | None
    high: float | None
    biased: bool
    dropped: Mapping[str, int]
    confidence_level: float
    finding: str

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """How well people agree with one another on the rows that several of them saw.

    `gap` is how much more often one person agrees with another than with the judge, there.
    """

    n: int
    raw: float
    low: float | None
    high: float | None
    kappa: float | None
    alpha: float | None
    gap: float
    gap_low: float | None
    gap_high: float | None


@dataclass(frozen=True, kw_only=True)
class Agreement(Result):
    """The judge against a random human rater: raw, Cohen's kappa, Krippendorff's alpha."""

    kind: ClassVar[str] = "agreement"
    level: str
    n: int
    clusters: int
    raw: float
    raw_low: float | None
    raw_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    ceiling: Ceiling | None
    judge_values: Mapping[str, int]
    human_values: Mapping[str, float]
    dropped: Mapping[str, int]
    confidence_level: float
    finding: str

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Rows of like confidence: how sure the judge was, how often it was right."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None


@dataclass(frozen=True, kw_only=True)
class Reliability(Result):
    """Whether the judge's confidence is the rate at which it is right.

    `ece_if_calibrated` is what a calibrated judge shows on as many rows; `p_value` how often it
    shows this much. `over_confidence` is mean confidence minus share right.
    """

    kind: ClassVar[str] = "reliability"
    n: int
    clusters: int
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    mean_confidence: float
    ece_uniform: float
    ece_equal_mass: float
    ece_low: float | None
    ece_high: float | None
    ece_if_calibrated: float | None
    p_value: float | None
    over_confidence: float
    low: float | None
    high: float | None
    biased: bool
    curve: tuple[ReliabilityBin, ...] = field(repr=False)
    dropped: Mapping[str, int]
    confidence_level: float
    finding: str

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class Contradictions(Result):
    """How often the verdict names the side that the judge itself scored lower."""

    kind: ClassVar[str] = "contradictions"
    n: int
    clusters: int
    share: float | None
    low: float | None
    high: float | None
    dropped: Mapping[str, int]
    confidence_level: float
    finding: str

    def lines(self) -> list[str]:
        return [self.finding]


@dataclass(frozen=True, kw_only=True)
class JudgeBias:
    """All that could be measured of one judge; `not_measured` says what could not, and why."""

    judge: str | None
    rows: int
    position: PositionBias | None
    verbosity: VerbosityBias | None
    family: FamilyBias | None
    agreement: Agreement | None
    reliability: Reliability | None
    contradictions: Contradictions | None
    not_measured: Mapping[str, str]
    family_scores: FamilyScores | None = None

    def findings(self) -> list[str]:
        parts = (
            self.position,
            self.verbosity,
            self.family,
            self.family_scores,
            self.agreement,
            self.reliability,
            self.contradictions,
        )
        return [part.finding for part in parts if part is not None]


@dataclass(frozen=True, kw_only=True)
class BiasReport(Result):
    """The biases over all rows at the top level, and of each judge in `judges`."""

    kind: ClassVar[str] = "bias"
    rows: int
    clusters: int
    clustered_by: str
    position: PositionBias | None
    verbosity: VerbosityBias | None
    family: FamilyBias | None
    agreement: Agreement | None
    reliability: Reliability | None
    contradictions: Contradictions | None
    not_measured: Mapping[str, str]
    judges: tuple[JudgeBias, ...]
    confidence_level: float
    seed: int | None
    assumptions: tuple[str, ...]
    family_scores: FamilyScores | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        told: list[str] = []
        for judge in self.judges:
            told.append(f"{judge.judge or 'the judge'}, {judge.rows:,} rows")
            told += [f"  {finding}" for finding in judge.findings()]
            told += [f"  {name} not measured: {why}" for name, why in judge.not_measured.items()]
        told += [f"left out: {n:,} rows, {reason}" for reason, n in self.dropped.items()]
        return [*told, *self.assumptions]
