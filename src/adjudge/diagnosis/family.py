"""Same-family bias: does the judge favour its own maker's models? (Soft-Elo paper, F.1.)

In verdicts: how often it prefers them, compared with people or the other judges. In scores: how
many points higher it scores them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.families import family_of, of_family
from adjudge.data.verdicts import label_values
from adjudge.diagnosis.measures import (
    NO_INTERVAL,
    BiasRows,
    BiasTest,
    Measure,
    Sample,
    Sampling,
    excludes,
    mean_or_none,
    numbers_of,
    optional_probabilities,
    picks,
)
from adjudge.present.result import Count, Proportion
from adjudge.present.text import count, percent, percent_interval, signed
from adjudge.records import Interval
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import FloatArray, optional_numbers, same_length

# --- in verdicts -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FamilyBias(BiasTest):
    """How much more often the judge prefers its own family than the reference does."""

    title: ClassVar[str] = "own family"
    family: str | None
    reference: str
    clusters: Count
    judge_share: Proportion | None
    reference_share: Proportion | None
    excess: float | None

    def measures(self) -> tuple[Measure, ...]:
        return (self.measure("own family, excess", self.excess, self.interval, 0.0, self.floor),)

    def describe(self) -> str:
        name = self.family or "its own family"
        if self.excess is None:
            return f"no pair compares {name} with another family: no family bias is measurable"
        words = f"prefers {name} in {percent(self.judge_share)} of {count(self.n, 'mixed pair')}, "
        words += f"{signed(100 * self.excess, 1)} points compared with {self.reference}"
        if self.interval is None:
            return words + NO_INTERVAL
        ends = percent_interval(self.interval, sign=True)
        return f"{words} {ends}: {_describe_favour(self)}"


def family_bias(
    p_a: ArrayLike,
    reference: ArrayLike,
    own_a: ArrayLike | Sequence[Any],
    own_b: ArrayLike | Sequence[Any],
    *,
    family: str | None = None,
    reference_name: str = "people",
    **sampling: Unpack[Sampling],
) -> FamilyBias:
    """How much more often the judge prefers its own family than the reference does, same pairs.

    The reference is the human label as 1, 0 or 1/2, or the mean preference of the other judges.
    `own_a` and `own_b`: whether the response is by a model of the judge's family; only pairs with
    exactly one such answer count. The judge's preference is 1, 0 or, at exactly one half, 1/2.
    excess = mean(judge - reference); 0 without same-family bias. The pairing removes the quality of
    the family's models, as the cross-judge consensus does in the paper.

    >>> bias = family_bias([0.9, 0.2, 0.8], [1.0, 1.0, 0.0], [1, 0, 1], [0, 1, 0])
    >>> bias.judge_share, round(bias.reference_share, 3), round(bias.excess, 3)
    (1.0, 0.333, 0.667)

    Against other judges the excess is relative: two judges of one family hide each other's bias.
    """
    judge = optional_probabilities(p_a, "p_a")
    other = optional_probabilities(reference, "reference")
    a = np.asarray(own_a, dtype=bool)
    b = np.asarray(own_b, dtype=bool)
    n = same_length(p_a=judge, reference=other, own_a=a, own_b=b)
    without = {
        "not exactly one own answer": a == b,
        "no answer": np.isnan(judge),
        "no reference": np.isnan(other),
    }
    mixed = Sample.of(n, without, **sampling)
    verdict = picks(judge)
    judge_share = np.where(a, verdict, 1 - verdict)[mixed.used]
    reference_share = np.where(a, other, 1 - other)[mixed.used]
    gap = judge_share - reference_share
    excess = mean_or_none(gap)
    return FamilyBias(
        **mixed.test(excess, mixed.mean_interval(gap), 0.0),
        family=family,
        reference=reference_name,
        judge_share=mean_or_none(judge_share),
        reference_share=mean_or_none(reference_share),
        excess=excess,
    )


def measure_family(rows: BiasRows) -> FamilyBias | str:
    """Family bias of one judge's rows, or why there is none."""
    judge = rows.judge
    families = rows.families
    if judge is None:
        return "several judges: see the result of each"
    if not rows.has("model_a", "model_b"):
        return "model_a and model_b are not named"
    family = family_of(judge, families)
    if family is None:
        remedy = "give --judge or --families" if families is None else "name it in --families"
        return f"the family of {judge} is unknown: {remedy}"
    if rows.has("label"):
        reference = label_values(rows.frame["label"])
        name = "people"
    else:
        pick = ((pl.col("p_a") - 0.5).sign() + 1) / 2
        others = rows.verdicts.frame.filter(pl.col("judge") != judge)
        means = others.group_by("id").agg(pick=pick.mean())
        joined = rows.frame.select("id").join(means, on="id", how="left", maintain_order="left")
        reference = numbers_of(joined, "pick")
        name = "the other judges"
        if np.isnan(reference).all():
            return "neither labels nor another judge to compare with"
    return family_bias(
        rows.numbers("p_a"),
        reference,
        of_family(rows.frame["model_a"], family, families),
        of_family(rows.frame["model_b"], family, families),
        family=family,
        reference_name=name,
        **rows.sampling(),
    )


# --- in scores -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FamilyScores(BiasTest):
    """How much higher the judge scores its own family than the reference does, in points.

    `own_deviation` and `other_deviation` are the mean deviations from the reference of the models
    of its family and of the others; `excess` is their difference, with an interval over models.
    """

    title: ClassVar[str] = "own family in points"
    judge: str | None
    family: str | None
    reference: str
    own_models: Count
    other_models: Count
    own_deviation: float | None
    other_deviation: float | None
    excess: float | None

    def measures(self) -> tuple[Measure, ...]:
        return (self.measure("own family, points", self.excess, self.interval, 0.0),)

    def describe(self) -> str:
        name = self.family or "its own family"
        if self.excess is None:
            return f"no scores of {name} and of other families too: nothing to compare"
        words = f"gives {count(self.own_models, f'{name} model')} {signed(self.excess, 2)} points "
        words += f"compared with {count(self.other_models, 'other')}, measured against "
        words += self.reference
        if self.low is None:
            return words + "; no interval: one model alone on a side, or no spread"
        return f"{words} [{signed(self.low, 2)}, {signed(self.high, 2)}]: {_describe_favour(self)}"


def family_scores(
    deviation: ArrayLike,
    model: Sequence[Any],
    own: ArrayLike | Sequence[Any],
    *,
    judge: str | None = None,
    family: str | None = None,
    reference_name: str = "the other judges",
    confidence_level: float = 0.95,
) -> FamilyScores:
    """Mean deviation of the models of the judge's family minus that of the others (F.1), in points.

    Every score is compared with a reference for the same answer: the median of the other judges,
    or people. Every model has the same weight, and the interval is over models, not rows. A judge
    can prefer one model for reasons other than its maker, and even unlimited rows of it cannot
    separate that from a preference for the family. Without two models on either side the interval
    is None.

    The interval is the wider of Welch's and Student's with one pooled variance. Welch's alone calls
    12 % of unbiased judges biased at 95 % with two models against twenty, because the variance of
    two models is too often small by chance. The pooled one fails if the judge's own models vary
    more than others do.

    Args:
        deviation: Judge minus reference for one answer of `model`; NaN if either is missing.
        model: The model that wrote each answer.
        own: Whether that model is of the judge's family.
        judge: Name of the judge.
        family: Name of the judge's family.
        reference_name: What the reference is, for sentences.
        confidence_level: Level of all intervals.

    >>> bias = family_scores([1.0, 0.8, 0.1, -0.1], ["gpt-4", "gpt-3.5", "llama", "qwen"],
    ...                      [True, True, False, False], family="OpenAI")
    >>> round(bias.excess, 2), bias.own_models, bias.other_models, bias.biased
    (0.9, 2, 2, True)
    """
    gap = optional_numbers(deviation, "deviation")
    of_judge = np.asarray(own, dtype=bool)
    names = np.array([None if name is None else str(name) for name in model], dtype=object)
    n = same_length(deviation=gap, model=names, own=of_judge)
    unnamed = np.array([name is None for name in names], dtype=bool)
    without = {"no model named": unnamed, "no score or no reference": ~np.isfinite(gap)}
    scored = Sample.of(n, without, confidence_level=confidence_level)
    own_rows = scored.used & of_judge
    other_rows = scored.used & ~of_judge
    ours = _model_means(gap[own_rows], names[own_rows])
    others = _model_means(gap[other_rows], names[other_rows])
    excess: float | None = None
    ends: Interval | None = None
    if len(ours) and len(others):
        excess = float(ours.mean() - others.mean())
        ends = _over_models(ours, others, excess, confidence_level)
    return FamilyScores(
        judge=judge,
        family=family,
        reference=reference_name,
        n=len(scored.codes),
        own_models=len(ours),
        other_models=len(others),
        own_deviation=mean_or_none(ours),
        other_deviation=mean_or_none(others),
        excess=excess,
        interval=ends,
        biased=excludes(ends, 0),
        dropped=scored.dropped,
        confidence_level=confidence_level,
    )


def measure_family_scores(rows: BiasRows) -> FamilyScores | str | None:
    """Scores of single answers against the other judges' median; None if there are no scores."""
    judge = rows.judge
    families = rows.families
    if judge is None or not rows.has("score_a", "score_b", "model_a", "model_b"):
        return None
    family = family_of(judge, families)
    if family is None:
        return None

    def answers_of(side: str) -> pl.DataFrame:
        model = pl.col(f"model_{side}").cast(pl.String)
        score = pl.col(f"score_{side}").cast(pl.Float64)
        return rows.verdicts.frame.select(
            "id", "judge", side=pl.lit(side), model=model, score=score
        )

    answers = pl.concat([answers_of("a"), answers_of("b")])
    others = answers.filter(pl.col("judge") != judge).group_by("id", "side")
    medians = others.agg(others=pl.col("score").median())
    of_judge = answers.filter(pl.col("judge") == judge)
    scores = of_judge.join(medians, on=["id", "side"], how="left")
    if scores["others"].null_count() == scores.height:
        return "no other judge scored the same answers"
    deviation = scores["score"] - scores["others"]
    return family_scores(
        deviation.fill_null(np.nan).to_numpy(),
        scores["model"].to_list(),
        of_family(scores["model"], family, families),
        judge=judge,
        family=family,
        confidence_level=rows.confidence_level,
    )


def _describe_favour(bias: FamilyBias | FamilyScores) -> str:
    favours = bias.excess is not None and bias.excess > 0
    biased = "it favours its own family" if favours else "it is harder on its own family"
    return bias.finding(biased, "no family bias shown")


def _model_means(gap: FloatArray, names: Any) -> FloatArray:
    """One mean per model."""
    _, code = np.unique(names.astype(str), return_inverse=True)
    return np.asarray(np.bincount(code, weights=gap) / np.bincount(code), dtype=np.float64)


def _over_models(
    ours: FloatArray, others: FloatArray, excess: float, confidence_level: float
) -> Interval | None:
    n = len(ours)
    m = len(others)
    if n < 2 or m < 2:
        return None
    variance = float(ours.var(ddof=1)) / n
    other_variance = float(others.var(ddof=1)) / m
    total = variance + other_variance
    if total == 0:
        return None
    freedom = total**2 / (variance**2 / (n - 1) + other_variance**2 / (m - 1))
    welch = student_quantile(confidence_level, freedom) * math.sqrt(total)
    squares = float(ours.var()) * n + float(others.var()) * m
    pooled = squares / (n + m - 2) * (1 / n + 1 / m)
    student = student_quantile(confidence_level, n + m - 2) * math.sqrt(pooled)
    reach = max(welch, student)
    return Interval(excess - reach, excess + reach, level=confidence_level)
