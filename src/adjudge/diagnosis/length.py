"""Length bias: how much length adds to an answer's probability to win, at fixed model strengths.

    logit P(a wins) = theta_model(a) - theta_model(b) + gamma * log2(length_a / length_b)

The strengths account for models that both write more and write better. The effect of a prompt is
the same for both answers and cancels, so prompts are the clusters of the interval. If people voted
on the same pairs, their own preference for length is fitted in the same way, and the bias is the
difference.

Verbosity bias: does the longer answer win if the judge itself is near a tie? There most of the
difference in quality is gone (Soft-Elo paper, appendix F.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from adjudge.data.tables import as_text
from adjudge.data.verdicts import label_values
from adjudge.diagnosis.measures import (
    BOTH_SCORES,
    NO_INTERVAL,
    BiasRows,
    BiasTest,
    Measure,
    Sample,
    Sampling,
    mean_or_none,
    optional_probabilities,
    shows,
    wins_of,
)
from adjudge.present.result import Count, NotNegative, Proportion
from adjudge.present.text import count, number, percent, percent_interval, signed
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.statistics.clusters import count_clusters, recode
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    finite,
    optional_numbers,
    positive,
    same_length,
)

#: An answer more than eight times as long counts as eight times: otherwise one empty answer would
#: outweigh the rest.
_MOST_DOUBLINGS = 3.0
#: A prior on gamma with standard deviation 1: it keeps the fit finite if the longer answer always
#: wins, and is negligible with a few dozen pairs.
_PENALTY = 0.5
_MAX_STEPS = 200
#: A model with fewer pairs is not listed.
_FEWEST_BATTLES = 20
#: With fewer, judge and people can differ by chance in every pair in which they differ.
_FEWEST_CLUSTERS = 10
Codes = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class LengthWinner:
    """A model that wins more than half of its `n` pairs, and would not at equal lengths."""

    model: str
    n: Count
    win_share: Proportion
    by_strength: Proportion


@dataclass(frozen=True, kw_only=True)
class LengthBias(BiasTest):
    """How much length raises the longer answer's probability to win, at fixed model strengths.

    `effect` is in points of probability, `odds_doubling` for an answer twice as long. `low` and
    `high` are those of `excess`, the judge's effect minus people's on the pairs that they voted on,
    if there are votes, else those of `effect`. `models` counts those with a fixed strength;
    `winners` win by length.
    """

    title: ClassVar[str] = "length"
    clusters: Count
    models: Count
    effect: float | None
    effect_interval: Interval | None
    odds_doubling: NotNegative | None
    human_n: Count
    human_effect: float | None
    excess: float | None
    winners: tuple[LengthWinner, ...] = ()

    def measures(self) -> tuple[Measure, ...]:
        ends = self.effect_interval
        floor = self.floor
        effect = self.measure("length, effect", self.effect, ends, 0.0, floor)
        if self.excess is None:
            return (effect,)
        # A judge that agrees less with people also prefers length less: this is not a bias.
        ends = self.interval
        n = self.human_n
        return Measure("length, minus people", self.excess, ends, 0.0, n, self.biased), effect

    def describe(self) -> str:
        if self.effect is None:
            return "saw no two answers of unequal length: no preference for length is measurable"
        fixed = f", {count(self.models, 'model')} held fixed" if self.models else ""
        words = f"adds {signed(100 * self.effect, 1)} points to the win probability of the longer "
        words += f"answer over {count(self.n, 'pair')} of unequal length{fixed}"
        if self.effect_interval is None:
            return f"{words}; no interval: too few pairs or clusters for this number of models"
        words += f" {percent_interval(self.effect_interval, sign=True)}"
        words += f", odds times {number(self.odds_doubling, 2)} for twice the length"
        if self.excess is not None and self.human_effect is not None:
            words += f" (people {signed(100 * self.human_effect, 1)} points in {self.human_n:,}, "
            words += f"difference {signed(100 * self.excess, 1)}"
            if self.interval is None:
                return words + ", without an interval)"
            words += f" {percent_interval(self.interval, sign=True)})"
        return f"{words}: {self._describe_finding(self.effect)}"

    def _describe_finding(self, effect: float) -> str:
        prefers = f"it prefers the {'longer' if effect > 0 else 'shorter'} answer"
        if self.excess is None:
            return self.finding(prefers, "no preference for length shown")
        otherwise = "no preference for length stronger than people's shown"
        if self.high is not None and self.high < 0:
            otherwise = (
                "it prefers length less than people do, as a judge that agrees less with them does"
            )
        return self.finding(f"{prefers}, more than people do", otherwise)


def length_bias(
    wins: ArrayLike,
    length_a: ArrayLike,
    length_b: ArrayLike,
    *,
    models_a: Sequence[Any] | pl.Series | None = None,
    models_b: Sequence[Any] | pl.Series | None = None,
    labels: Sequence[Any] | pl.Series | None = None,
    **sampling: Unpack[Sampling],
) -> LengthBias:
    """How much length raises the longer answer's probability to win with this judge.

    `wins` are the verdicts for response_a: 1, 0, 1/2 for a tie, NaN without an answer.
    `effect` is the mean over pairs of unequal length of P(longer wins) minus the probability from
    the models' strengths alone. `odds_doubling` is the factor on the odds for an answer twice as
    long. With human `labels` on the same pairs, `excess` is the judge's effect minus people's on
    those pairs, and it decides if it has the same sign as `effect`. Without models and without
    labels an effect can be quality: longer answers can simply be better.

    Intervals are clustered (sandwich, t). That of `effect` is never narrower than for independent
    pairs. That of `excess` needs ten clusters.

    >>> longer = length_bias([1, 0] * 40, [90, 30] * 40, [30, 90] * 40)
    >>> longer.biased, round(longer.effect, 1)
    (True, 0.5)
    """
    won = optional_probabilities(wins, "wins")
    a = optional_numbers(length_a, "length_a")
    b = optional_numbers(length_b, "length_b")
    n = same_length(
        wins=won, length_a=a, length_b=b, models_a=models_a, models_b=models_b, labels=labels
    )
    names, first, second = _code_models(models_a, models_b, n)
    measured = np.isfinite(a + b) & (a >= 0) & (b >= 0)
    without = {
        "no answer": np.isnan(won),
        "no length": ~measured,
        "no model": (first < 0) | (second < 0),
    }
    rows = Sample.of(n, without, **sampling)
    used = rows.used
    confidence_level = rows.confidence_level
    doublings = np.log2((1 + a[used]) / (1 + b[used])).clip(-_MOST_DOUBLINGS, _MOST_DOUBLINGS)
    pairs = _Pairs(doublings, first[used], second[used], rows.codes, max(1, len(names)))
    won = won[used]
    people = np.full(len(won), np.nan) if labels is None else label_values(labels)[used]
    voted = ~np.isnan(people)
    unequal = doublings != 0
    fit = _Fit.of(pairs, won)
    on_votes = fit if voted.all() else _Fit.of(pairs.only(voted), won[voted])
    of_people = _Fit.of(on_votes.pairs, people[voted])
    effect = fit.of_effect.value if unequal.any() else None
    effect_ends = fit.interval(fit.of_effect, confidence_level)
    shown = shows(effect, effect_ends, 0.0, rows.floor)
    tested = effect
    ends = effect_ends
    excess = None
    human_effect = None
    compared = voted & unequal
    if compared.any():
        human_effect = of_people.of_effect.value
        tested = on_votes.of_effect.value - human_effect
        ends = None
        excess = tested
        if count_clusters(rows.codes[compared]) >= _FEWEST_CLUSTERS:
            gap = on_votes.of_effect.minus(of_people.of_effect)
            ends = on_votes.interval(gap, confidence_level)
    fields = rows.only(unequal, "equal length").test(tested, ends, 0.0)
    # A judge without its own preference that agrees less with people only prefers length less.
    fields["biased"] &= excess is None or effect is None or excess * effect > 0
    odds_doubling = None if effect is None else math.exp(fit.beta[-1])
    winners = _winners_by_length(fit, won, names, rows.floor) if shown and names else ()
    return LengthBias(
        **fields,
        models=len(names),
        effect=effect,
        effect_interval=effect_ends,
        odds_doubling=odds_doubling,
        human_n=int(compared.sum()),
        human_effect=human_effect,
        excess=excess,
        winners=winners,
    )


def measure_length(rows: BiasRows) -> LengthBias | str:
    """Length bias of one judge's rows, or why there is none."""
    if not rows.has("length_a", "length_b"):
        return _explain_no_length(rows)
    models = rows.has("model_a", "model_b")
    labels = rows.has("label")
    if not models and not labels:
        return "longer answers can be better ones: name model_a and model_b, or give labels"
    frame = rows.frame
    names = [as_text(frame[column]) if models else None for column in ("model_a", "model_b")]
    return length_bias(
        wins_of(frame),
        rows.numbers("length_a"),
        rows.numbers("length_b"),
        models_a=names[0],
        models_b=names[1],
        labels=frame["label"] if labels else None,
        **rows.sampling(),
    )


def _explain_no_length(rows: BiasRows) -> str:
    remedy = "" if rows.with_pairs else "--pairs, or "
    return f"no response text or length: give {remedy}length_a and length_b"


def _code_models(
    models_a: Sequence[Any] | pl.Series | None, models_b: Sequence[Any] | pl.Series | None, n: int
) -> tuple[list[Any], Codes, Codes]:
    """Names, and both columns as their positions; -1 without a name, all equal without columns."""
    if models_a is None or models_b is None:
        return [], np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    both = pl.concat([pl.Series("", models) for models in (models_a, models_b)])
    names = both.unique(maintain_order=True).drop_nulls()
    places = pl.Series(range(len(names)), dtype=pl.Int32)
    codes = both.replace_strict(names, places, default=-1, return_dtype=pl.Int32).to_numpy()
    return names.to_list(), codes[:n], codes[n:]


@dataclass(frozen=True)
class _Pairs:
    """log2 of the length ratio, both models and the cluster of each pair."""

    doublings: FloatArray
    first: Codes
    second: Codes
    codes: IntArray
    models: int

    @cached_property
    def clusters(self) -> tuple[IntArray, int]:
        """The cluster of each pair among those that are here, and how many there are."""
        return recode(self.codes)

    def only(self, rows: BoolArray) -> _Pairs:
        return _Pairs(
            self.doublings[rows], self.first[rows], self.second[rows], self.codes[rows], self.models
        )

    def along(self, direction: FloatArray) -> FloatArray:
        """The change of each pair's log odds by a change of strengths and gamma."""
        return np.asarray(self.by_strength(direction) + direction[-1] * self.doublings)

    def by_strength(self, direction: FloatArray) -> FloatArray:
        """The same by a change of the strengths alone."""
        return np.asarray(direction[self.first] - direction[self.second])

    def gather(self, values: FloatArray) -> FloatArray:
        """The transpose: from a value per pair to strengths and gamma."""
        of_first = np.bincount(self.first, values, self.models)
        of_second = np.bincount(self.second, values, self.models)
        return np.append(of_first - of_second, values @ self.doublings)

    def information(self, weight: FloatArray) -> FloatArray:
        """The transpose applied to what `along` gives, each pair with its weight."""
        cell = self.first.astype(np.int64) * self.models + self.second
        met = np.bincount(cell, weight, self.models**2).reshape(self.models, self.models)
        met = met + met.T
        table = np.zeros((self.models + 1, self.models + 1))
        table[:-1, :-1] = np.diag(met.sum(axis=1)) - met
        table[-1] = table[:, -1] = self.gather(weight * self.doublings)
        return table


@dataclass(frozen=True)
class _Estimate:
    """A number, the influence of each pair on it, and its variance for independent pairs.

    `cluster` is the mean square of what one cluster moves it by if all its answers differ, and
    `unseen` the variance of clusters that could differ but were not drawn.
    """

    value: float
    influence: FloatArray
    variance: float
    cluster: float
    limit: float
    unseen: float = 0.0

    def minus(self, other: _Estimate) -> _Estimate:
        """The difference on the same pairs; only the pairs show how the two are correlated.

        With two more clusters in which they differ, one each way: where they never differ the
        difference is not certain to be 0 (Agresti and Min 2005).
        """
        return _Estimate(
            value=self.value - other.value,
            influence=self.influence - other.influence,
            variance=0.0,
            cluster=self.cluster,
            limit=self.limit + other.limit,
            unseen=2 * self.cluster,
        )


@dataclass(frozen=True)
class _Fit:
    """Strengths, then gamma, that maximise the penalised likelihood; residuals and information."""

    pairs: _Pairs
    beta: FloatArray
    residual: FloatArray
    information: FloatArray

    @classmethod
    def of(cls, pairs: _Pairs, won: FloatArray) -> _Fit:
        """Newton's steps, shortened as in `fit_strengths` so that none overshoots."""
        penalty = np.append(np.full(pairs.models, 2 * DEFAULT_L2), 2 * _PENALTY)
        beta = np.zeros(pairs.models + 1)
        for _ in range(_MAX_STEPS):
            p = expit(pairs.along(beta))
            information = np.diag(penalty) + pairs.information(p * (1 - p))
            slope = pairs.gather(won - p) - penalty * beta
            step = np.asarray(np.linalg.solve(information, slope), dtype=np.float64)
            moved = float(np.abs(pairs.along(step)).max(initial=0.0))
            beta = beta + step * (math.log1p(moved) / moved if moved > 1e-12 else 1.0)
            if np.abs(step).max() <= 1e-9 * (1 + np.abs(beta).max()):
                return cls(pairs, beta, won - expit(pairs.along(beta)), information)
        raise ArithmeticError(f"the length regression did not converge in {_MAX_STEPS} steps")

    @property
    def by_strength(self) -> FloatArray:
        """P(response_a wins) by the strengths alone, as if both had the same length."""
        return np.asarray(expit(self.pairs.by_strength(self.beta)))

    @cached_property
    def of_effect(self) -> _Estimate:
        """Mean of P(longer wins) minus P(longer wins) by strength alone."""
        pairs = self.pairs
        alone = self.by_strength
        share = np.sign(pairs.doublings) / max(1, np.count_nonzero(pairs.doublings))
        p = expit(pairs.along(self.beta))
        gradient = pairs.gather(share * (p * (1 - p) - alone * (1 - alone)))
        gradient[-1] = (share * p * (1 - p)) @ pairs.doublings
        direction = np.asarray(np.linalg.solve(self.information, gradient), dtype=np.float64)
        variance = float(gradient @ direction)
        lean = pairs.along(direction)
        # A cluster attracts the fit by its share of the information. Without the cluster, the fit
        # would be that much further away (the jackknife to first order).
        codes, groups = pairs.clusters
        pulls = np.bincount(codes, weights=p * (1 - p) * lean**2, minlength=groups)
        influence = self.residual * lean / (1 - pulls / max(variance, 1e-300))[codes]
        moved = np.bincount(codes, weights=np.abs(lean), minlength=groups)
        return _Estimate(
            value=float(share @ (p - alone)),
            influence=influence,
            variance=variance,
            cluster=float((moved**2).mean()) if groups else 0.0,
            limit=1.0,
        )

    def interval(self, estimate: _Estimate, confidence_level: float) -> Interval | None:
        """Value plus or minus t standard errors; none with too few clusters or pairs."""
        codes, groups = self.pairs.clusters
        n = len(codes)
        parameters = len(self.beta)
        if groups < 2 or n <= parameters or not self.pairs.doublings.any():
            return None
        sums = np.bincount(codes, weights=estimate.influence)
        clustered = groups / (groups - 1) * (n - 1) / (n - parameters) * float(sums @ sums)
        se = math.sqrt(max(clustered + estimate.unseen, estimate.variance))
        reach = student_quantile(confidence_level, groups - 1) * se
        low = max(-estimate.limit, estimate.value - reach)
        high = min(estimate.limit, estimate.value + reach)
        return Interval(low, high, level=confidence_level)


def _winners_by_length(
    fit: _Fit, won: FloatArray, names: Sequence[Any], floor: float
) -> tuple[LengthWinner, ...]:
    """Models that win more than half of their battles, but less than half by strength alone."""
    pairs = fit.pairs
    sides = np.concatenate([pairs.first, pairs.second])
    n = np.bincount(sides, minlength=len(names))

    def share_of_wins(wins: FloatArray) -> FloatArray:
        totals = np.bincount(sides, np.concatenate([wins, 1 - wins]), len(names))
        return np.asarray(totals / np.maximum(n, 1))

    share = share_of_wins(won)
    strength = share_of_wins(fit.by_strength)
    by_length = (n >= _FEWEST_BATTLES) & (share > 0.5) & (strength < 0.5)
    winners = []
    for at in np.flatnonzero(by_length & (share - strength >= floor)).tolist():
        winner = LengthWinner(
            model=str(names[at]),
            n=int(n[at]),
            win_share=float(share[at]),
            by_strength=float(strength[at]),
        )
        winners.append(winner)
    return tuple(winners)


# --- near ties -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class VerbosityBias(BiasTest):
    """How often the longer answer wins if the judge's scores are nearly tied."""

    title: ClassVar[str] = "length where near-tied"
    clusters: Count
    near_tie: float
    longer_share: Proportion | None

    def measures(self) -> tuple[Measure, ...]:
        share = self.longer_share
        ends = self.interval
        return (self.measure("longer, near-tied", share, ends, 0.5, self.floor),)

    def describe(self) -> str:
        if self.longer_share is None:
            return "has no near-tied pair of unequal length: no preference for length is measurable"
        words = f"prefers the longer answer in {percent(self.longer_share)} of "
        words += count(self.n, "near-tied pair")
        if self.interval is None:
            return words + NO_INTERVAL
        words += f" {percent_interval(self.interval)}"
        prefers = f"it prefers the {'longer' if self.longer_share > 0.5 else 'shorter'} answer"
        return f"{words}: {self.finding(prefers, 'no preference for length shown')}"


def verbosity_bias(
    margin: ArrayLike,
    length_a: ArrayLike,
    length_b: ArrayLike,
    *,
    near_tie: float = 0.1,
    **sampling: Unpack[Sampling],
) -> VerbosityBias:
    """Share of near-tied pairs in which the judge prefers the longer answer; 1/2 without bias.

    `margin` is p_a - 1/2, or score_a - score_b; NaN without an answer. `near_tie` is in the paper
    0.3 of ten points of score.

    Pairs of equal length and margins of exactly zero have no information about length and are
    counted separately. A pair that is near-tied for the judge need not be near-tied for people;
    `length_bias` compares with them.

    >>> bias = verbosity_bias([0.05, -0.02, 0.04, 0.4], [9, 2, 9, 9], [3, 8, 3, 3])
    >>> bias.n, bias.longer_share
    (3, 1.0)
    """
    positive(near_tie, "near_tie")
    lean = optional_numbers(margin, "margin")
    finite(lean[~np.isnan(lean)], "margin", allow_empty=True)
    a = optional_numbers(length_a, "length_a")
    b = optional_numbers(length_b, "length_b")
    n = same_length(margin=lean, length_a=a, length_b=b)
    without = {
        "no length": ~np.isfinite(a + b),
        "no answer": np.isnan(lean),
        "equal length": a == b,
        "exactly tied": lean == 0,
    }
    usable = Sample.of(n, without, **sampling)
    close = usable.only(np.abs(lean[usable.used]) <= near_tie + 1e-12, "not near-tied")
    longer = np.where((lean > 0) == (a > b), 1.0, 0.0)
    share = mean_or_none(longer[close.used])
    return VerbosityBias(
        **close.test(share, close.share_interval(longer[close.used]), 0.5),
        near_tie=near_tie,
        longer_share=share,
    )


def measure_verbosity(rows: BiasRows) -> VerbosityBias | str:
    """Verbosity bias of one judge's rows, or why there is none."""
    if not rows.has("length_a", "length_b"):
        return _explain_no_length(rows)
    # A rubric's p_a is its score difference on another scale: near-tied is defined in points.
    by_score = rows.has("score_a", "score_b") and (
        not rows.verdicts.graded or rows.has(*BOTH_SCORES)
    )
    if not rows.verdicts.graded and not by_score:
        return "verdicts alone do not show where the judge is near-tied"
    margin = rows.numbers("p_a") - 0.5
    if by_score:
        margin = rows.numbers("score_a") - rows.numbers("score_b")
    return verbosity_bias(
        margin,
        rows.numbers("length_a"),
        rows.numbers("length_b"),
        near_tie=rows.near_tie or (0.3 if by_score else 0.1),
        **rows.sampling(),
    )
