"""Results of the diagnoses of a preference for length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adjudge.present.result import Count, NotNegative, Proportion, frozen
from adjudge.results.measures import BiasTest, Measure, measure


@frozen
class VerbosityBias(BiasTest):
    """How often the longer answer wins if the judge's scores are nearly tied."""

    kind: ClassVar[str] = "verbosity_bias"
    clusters: Count
    near_tie: float
    longer_share: Proportion | None
    overall_share: Proportion | None
    overall_n: Count
    human_share: Proportion | None
    human_n: Count
    excess: float | None
    excess_low: float | None
    excess_high: float | None

    def measures(self) -> tuple[Measure, ...]:
        longer = measure(
            "longer, near-tied", self.longer_share, self.low, self.high, self.n, 0.5, self.floor
        )
        if self.excess is None:
            return (longer,)
        ends = self.excess_low, self.excess_high
        people = measure(
            "near-tied, minus people", self.excess, *ends, self.human_n, 0.0, self.floor
        )
        return longer, people


@dataclass(frozen=True, kw_only=True)
class LengthWinner:
    """A model that wins more than half of its `n` pairs, and would not at equal lengths."""

    model: str
    n: Count
    win_share: Proportion
    by_strength: Proportion


@frozen
class LengthBias(BiasTest):
    """How much length raises the longer answer's probability to win, at fixed model strengths.

    `effect` is in points of probability, `odds_doubling` for an answer twice as long. `low` and
    `high` are those of `excess`, the judge's effect minus people's on the pairs that they voted on,
    if there are votes, else those of `effect`. `models` counts those with a fixed strength;
    `winners` win by length.
    """

    kind: ClassVar[str] = "length_bias"
    clusters: Count
    models: Count
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    odds_doubling: NotNegative | None
    odds_low: NotNegative | None
    odds_high: NotNegative | None
    human_n: Count
    human_effect: float | None
    excess: float | None
    winners: tuple[LengthWinner, ...] = ()

    def measures(self) -> tuple[Measure, ...]:
        ends = self.effect_low, self.effect_high
        effect = measure("length, effect", self.effect, *ends, self.n, 0.0, self.floor)
        if self.excess is None:
            return (effect,)
        # A judge that agrees less with people also prefers length less: this is not a bias.
        excess = Measure(
            *("length, minus people", self.excess, self.low, self.high, 0.0, self.human_n),
            departs=self.biased,
        )
        return excess, effect
