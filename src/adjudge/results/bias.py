"""Results of the bias diagnoses. Intervals are clustered; None if there is only one cluster.

`biased` is true if two conditions hold. The interval excludes the value of an unbiased judge; with
a 95 % interval, this happens to an unbiased judge at most once in twenty. And the estimate is
`floor` or more away from that value, because a significant difference of one point is too small to
matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from adjudge.data.battles import SameAnswer
from adjudge.present.blocks import Block
from adjudge.present.result import Count, Level, NotNegative, Proportion, Result, frozen, plain
from adjudge.results.length import LengthBias, VerbosityBias
from adjudge.results.measures import BiasMeasures, BiasTest, Measure, measure


@dataclass(frozen=True, kw_only=True)
class PositionGroup:
    """Position bias within one group of rows."""

    group: str
    n: Count
    first_share: Proportion
    low: float | None
    high: float | None
    flip_share: Proportion


@frozen
class PositionBias(BiasTest):
    """How often the answer shown first is preferred, over both orders of every pair.

    `flip_share` is the share of pairs with a verdict in both orders whose verdict changes with the
    order; `first_probability` the mean probability of the first slot. `first_advantage` is the mean
    score of the first slot minus that of the second; None without scores in both orders.
    """

    kind: ClassVar[str] = "position_bias"
    clusters: Count
    first_share: Proportion
    flip_share: Proportion
    flip_low: float | None
    flip_high: float | None
    flips_to_first: Count
    flips_to_second: Count
    first_probability: Proportion
    by_group: tuple[PositionGroup, ...]
    first_advantage: float | None = None
    advantage_low: float | None = None
    advantage_high: float | None = None

    def measures(self) -> tuple[Measure, ...]:
        first = measure(
            "first slot", self.first_share, self.low, self.high, self.n, 0.5, self.floor
        )
        ends = self.flip_low, self.flip_high
        flips = measure("order flips", self.flip_share, *ends, self.n, 0.0, self.floor)
        if self.first_advantage is None:
            return first, flips
        ends = self.advantage_low, self.advantage_high
        points = measure("first slot, points", self.first_advantage, *ends, self.n, 0.0)
        return first, points, flips


@frozen
class FamilyBias(BiasTest):
    """How much more often the judge prefers its own family than the reference does."""

    kind: ClassVar[str] = "family_bias"
    family: str | None
    reference: str
    clusters: Count
    judge_share: Proportion | None
    reference_share: Proportion | None
    excess: float | None

    def measures(self) -> tuple[Measure, ...]:
        ends = self.low, self.high
        return (measure("own family, excess", self.excess, *ends, self.n, 0.0, self.floor),)


@frozen
class FamilyScores(BiasTest):
    """How much higher the judge scores its own family than the reference does, in points.

    `own_deviation` and `other_deviation` are the mean deviations from the reference of the models
    of its family and of the others; `excess` is their difference, with an interval over models.
    """

    kind: ClassVar[str] = "family_scores"
    judge: str | None
    family: str | None
    reference: str
    own_models: Count
    other_models: Count
    own_deviation: float | None
    other_deviation: float | None
    excess: float | None

    def measures(self) -> tuple[Measure, ...]:
        return (measure("own family, points", self.excess, self.low, self.high, self.n, 0.0),)


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """How well people agree with each other on rows that several of them labelled.

    `gap` is how much more often one person agrees with another than with the judge, on these rows.
    """

    n: Count
    raw: Proportion
    low: float | None
    high: float | None
    kappa: float | None
    alpha: float | None
    gap: float
    gap_low: float | None
    gap_high: float | None


@frozen
class Agreement(BiasMeasures):
    """The judge against a random human rater: raw, Cohen's kappa, Krippendorff's alpha."""

    kind: ClassVar[str] = "agreement"
    level: str
    clusters: Count
    raw: Proportion
    raw_low: float | None
    raw_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    ceiling: Ceiling | None
    judge_values: Mapping[str, Count]
    human_values: Mapping[str, float]

    def measures(self) -> tuple[Measure, ...]:
        own = (
            measure("agrees with people", self.raw, self.raw_low, self.raw_high, self.n),
            measure("kappa", self.kappa, self.kappa_low, self.kappa_high, self.n),
            measure("Krippendorff's alpha", self.alpha, self.alpha_low, self.alpha_high, self.n),
        )
        if (people := self.ceiling) is None:
            return own
        return *own, measure("two people agree", people.raw, people.low, people.high, people.n)


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Rows of similar confidence: the judge's confidence, and how often it was right."""

    low: float
    high: float
    n: Count
    confidence: Proportion
    accuracy: Proportion
    accuracy_low: float | None
    accuracy_high: float | None


@frozen
class Reliability(BiasTest):
    """Whether the judge's confidence matches its accuracy.

    `ece_if_calibrated` is the ECE of a calibrated judge on as many rows; `p_value` is how often its
    ECE is at least this large. `over_confidence` is mean confidence minus accuracy.
    """

    kind: ClassVar[str] = "reliability"
    clusters: Count
    accuracy: Proportion
    accuracy_low: float | None
    accuracy_high: float | None
    mean_confidence: Proportion
    ece_uniform: Proportion
    ece_equal_mass: Proportion
    ece_low: float | None
    ece_high: float | None
    ece_if_calibrated: Proportion | None
    p_value: Proportion | None
    over_confidence: float
    curve: tuple[ReliabilityBin, ...] = field(repr=False)

    @property
    def miscalibrated(self) -> bool:
        """Chance does not explain the ECE: it is too large for a calibrated judge."""
        return self.p_value is not None and self.p_value <= 1 - self.confidence_level

    def measures(self) -> tuple[Measure, ...]:
        return (
            measure(
                "over-confidence",
                self.over_confidence,
                self.low,
                self.high,
                self.n,
                0.0,
                self.floor,
            ),
            # A calibrated judge also has an ECE above zero: the p-value is its test.
            Measure(
                *("ECE, equal mass", self.ece_equal_mass, self.ece_low, self.ece_high),
                *(self.ece_if_calibrated, self.n, self.miscalibrated),
            ),
        )


@frozen
class Contradictions(BiasMeasures):
    """How often the judge prefers the side to which it gave the lower score.

    `unit` is what `n` counts: a pair, whose verdict is compared with its scores, or a reply that
    states a preference in addition to its scores.
    """

    kind: ClassVar[str] = "contradictions"
    unit: Literal["pair", "reply"] = "pair"
    clusters: Count
    share: Proportion | None
    low: float | None
    high: float | None

    def measures(self) -> tuple[Measure, ...]:
        return (measure("against own scores", self.share, self.low, self.high, self.n, 0.0),)


@frozen
class Retest(BiasMeasures):
    """How often the judge answers the same question differently when it is asked again.

    `n` questions were answered twice or more. `flip_share` is the share of pairs of answers to one
    question that differ, averaged over questions, so it does not depend on the number of repeats.
    `changed_share` is the share of questions whose answers are not all the same.
    """

    kind: ClassVar[str] = "retest"
    clusters: Count
    most_repeats: Count
    flip_share: Proportion
    low: float | None
    high: float | None
    changed_share: Proportion
    changed_low: float | None
    changed_high: float | None

    def measures(self) -> tuple[Measure, ...]:
        changed = self.changed_share, self.changed_low, self.changed_high
        return (
            measure("asked again, differs", self.flip_share, self.low, self.high, self.n, 0.0),
            measure("not always the same", *changed, self.n, 0.0),
        )


DIAGNOSES: tuple[type[BiasMeasures], ...] = (
    PositionBias,
    LengthBias,
    VerbosityBias,
    FamilyBias,
    FamilyScores,
    Agreement,
    Reliability,
    Contradictions,
    Retest,
)


@dataclass(frozen=True, kw_only=True)
class Diagnoses:
    """All that could be measured on some rows; `not_measured` lists the rest, with reasons."""

    rows: Count
    position: PositionBias | None
    length: LengthBias | None = None
    verbosity: VerbosityBias | None
    family: FamilyBias | None
    family_scores: FamilyScores | None
    agreement: Agreement | None
    reliability: Reliability | None
    contradictions: Contradictions | None
    retest: Retest | None = None
    not_measured: Mapping[str, str]

    def parts(self) -> list[BiasMeasures]:
        """What was measured."""
        parts = (getattr(self, entry.name) for entry in fields(Diagnoses))
        return [part for part in parts if isinstance(part, BiasMeasures)]


@dataclass(frozen=True, kw_only=True)
class JudgeBias(Diagnoses):
    """All that could be measured about one judge."""

    judge: str | None


@frozen
class BiasReport(Result, Diagnoses):
    """The biases over all rows at the top level, and of each judge in `judges`.

    `same_answers` are models that win more than half with one answer to every prompt.
    """

    kind: ClassVar[str] = "bias_report"
    clusters: Count
    clustered_by: str
    judges: tuple[JudgeBias, ...]
    dropped: Mapping[str, Count]
    confidence_level: Level
    seed: Count | None
    assumptions: tuple[str, ...]
    floor: NotNegative = 0.0
    same_answers: tuple[SameAnswer, ...] = ()

    def _parts(self) -> Sequence[Any]:
        return [
            {"judge": judge.judge, **plain(measure)}
            for judge in self.judges
            for part in judge.parts()
            for measure in part.measures()
        ]

    def view(self) -> list[Block]:
        from adjudge.present.views._bias import view_report

        return view_report(self)
