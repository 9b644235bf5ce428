"""Same-family bias: does the judge favour its own maker's models? (Soft-Elo paper, F.1.)

In verdicts: how often it prefers them, compared with people or the other judges. In scores: how
many points higher it scores them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.diagnosis._intervals import (
    FLOOR,
    Interval,
    codes_of,
    count_clusters,
    excludes,
    mean_interval,
    mean_or_none,
    shows,
)
from adjudge.diagnosis.position import optional_probabilities, picks
from adjudge.results.bias import FamilyBias, FamilyScores
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import FloatArray, non_negative, open_unit, optional_numbers, same_length


def family_bias(
    p_a: ArrayLike,
    reference: ArrayLike,
    own_a: ArrayLike | Sequence[Any],
    own_b: ArrayLike | Sequence[Any],
    *,
    family: str | None = None,
    reference_name: str = "people",
    clusters: ArrayLike | Sequence[Any] | None = None,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
) -> FamilyBias:
    """How much more often the judge prefers its own family than the reference does, same pairs.

    Only pairs with exactly one answer of the judge's family count. The judge's preference is 1, 0
    or, at exactly one half, 1/2. excess = mean(judge - reference); 0 without same-family bias. The
    pairing removes the quality of the family's models, as the cross-judge consensus does in the
    paper.

    Args:
        p_a: The judge's probability that response_a is preferred; NaN without an answer.
        reference: The human label as 1, 0 or 1/2, or the mean preference of the other judges.
        own_a: Whether response_a is by a model of the judge's family.
        own_b: The same for response_b.
        family: Name of the judge's family.
        reference_name: What the reference is, for sentences.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        floor: A smaller difference from an unbiased judge does not count as bias.
        confidence_level: Level of all intervals.

    >>> bias = family_bias([0.9, 0.2, 0.8], [1.0, 1.0, 0.0], [1, 0, 1], [0, 1, 0])
    >>> bias.judge_share, round(bias.reference_share, 3), round(bias.excess, 3)
    (1.0, 0.333, 0.667)

    Against other judges the excess is relative: two judges of one family hide each other's bias.
    """
    non_negative(floor, "floor")
    open_unit(confidence_level, "confidence_level")
    judge = optional_probabilities(p_a, "p_a")
    other = optional_probabilities(reference, "reference")
    a, b = np.asarray(own_a, dtype=bool), np.asarray(own_b, dtype=bool)
    n = same_length(p_a=judge, reference=other, own_a=a, own_b=b)
    codes = codes_of(clusters, n)
    one = a != b
    answered, known = ~np.isnan(judge), ~np.isnan(other)
    kept = one & answered & known
    picked = picks(judge)
    mine = np.where(a, picked, 1 - picked)[kept]
    theirs = np.where(a, other, 1 - other)[kept]
    low, high = mean_interval(mine - theirs, codes[kept], confidence_level, bounds=(-1.0, 1.0))
    excess = mean_or_none(mine - theirs)
    return FamilyBias(
        family=family,
        reference=reference_name,
        n=int(kept.sum()),
        clusters=count_clusters(codes[kept]),
        judge_share=mean_or_none(mine),
        reference_share=mean_or_none(theirs),
        excess=excess,
        low=low,
        high=high,
        biased=shows(excess, (low, high), 0.0, floor),
        floor=floor,
        dropped=merge_dropped(
            {
                "not exactly one own answer": int((~one).sum()),
                "no answer": int((one & ~answered).sum()),
                "no reference": int((one & answered & ~known).sum()),
            }
        ),
        confidence_level=confidence_level,
    )


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
    open_unit(confidence_level, "confidence_level")
    gap = optional_numbers(deviation, "deviation")
    mine = np.asarray(own, dtype=bool)
    names = np.array([None if name is None else str(name) for name in model], dtype=object)
    same_length(deviation=gap, model=names, own=mine)
    named = np.array([name is not None for name in names], dtype=bool)
    known = np.isfinite(gap)
    kept = known & named
    ours, others = (_model_means(gap[side], names[side]) for side in (kept & mine, kept & ~mine))
    excess: float | None = None
    interval: Interval = (None, None)
    if len(ours) and len(others):
        excess = float(ours.mean() - others.mean())
        interval = _over_models(ours, others, excess, confidence_level)
    return FamilyScores(
        judge=judge,
        family=family,
        reference=reference_name,
        n=int(kept.sum()),
        own_models=len(ours),
        other_models=len(others),
        own_deviation=mean_or_none(ours),
        other_deviation=mean_or_none(others),
        excess=excess,
        low=interval[0],
        high=interval[1],
        biased=excludes(interval, 0),
        dropped=merge_dropped(
            {
                "no model named": int((~named).sum()),
                "no score or no reference": int((named & ~known).sum()),
            }
        ),
        confidence_level=confidence_level,
    )


def _model_means(gap: FloatArray, names: Any) -> FloatArray:
    """One mean per model."""
    _, code = np.unique(names.astype(str), return_inverse=True)
    return np.asarray(np.bincount(code, weights=gap) / np.bincount(code), dtype=np.float64)


def _over_models(ours: FloatArray, others: FloatArray, excess: float, level: float) -> Interval:
    if len(ours) < 2 or len(others) < 2:
        return None, None
    parts = [float(side.var(ddof=1)) / len(side) for side in (ours, others)]
    total = sum(parts)
    if total == 0:
        return None, None
    welch = total**2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (ours, others), strict=True)
    )
    both = len(ours) + len(others) - 2
    squares = sum(float(side.var()) * len(side) for side in (ours, others))
    pooled = squares / both * (1 / len(ours) + 1 / len(others))
    reach = max(
        student_quantile(level, freedom) * math.sqrt(variance)
        for freedom, variance in ((welch, total), (both, pooled))
    )
    return excess - reach, excess + reach
