"""Same-family bias in scores: does a judge score its own maker's models higher than others do?

Soft-Elo paper, appendix F.1: every score is held against a reference for the same answer (the
median of the other judges, or people), and the deviations of the judge's own family are compared
with those of all other models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from adjudge._validation import FloatArray, open_unit, same_length
from adjudge.diagnosis._intervals import Interval
from adjudge.diagnosis.family import leaning
from adjudge.results.bias import FamilyScores


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
    """Mean deviation of the models of the judge's family minus that of the others.

    `deviation` is judge minus reference for one answer of `model` (NaN where either is missing),
    `own` whether that model is of the judge's family. Every model weighs the same, and the interval
    is over models, not rows: a judge may like one model for reasons that are not its maker, and
    rows without number cannot tell that from a liking for the family. With fewer than two models on
    either side there is no interval.

    The interval is the wider of Welch's and Student's with one pooled variance. Welch's alone calls
    12 % of fair judges biased at 95 % with two models against twenty, whose spread is then small by
    chance too often; the pooled one fails where the judge's own models spread more than others do.

    >>> found = family_scores([1.0, 0.8, 0.1, -0.1], ["gpt-4", "gpt-3.5", "llama", "qwen"],
    ...                       [True, True, False, False], family="OpenAI")
    >>> round(found.excess, 2), found.own_models, found.other_models, found.biased
    (0.9, 2, 2, True)
    """
    open_unit(confidence_level, "confidence_level")
    gap = np.asarray(deviation, dtype=object).astype(np.float64)
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
    low, high = interval
    reasons = {
        "no model named": int((~named).sum()),
        "no score or no reference": int((named & ~known).sum()),
    }
    return FamilyScores(
        judge=judge,
        family=family,
        reference=reference_name,
        n=int(kept.sum()),
        own_models=len(ours),
        other_models=len(others),
        own_deviation=float(ours.mean()) if len(ours) else None,
        other_deviation=float(others.mean()) if len(others) else None,
        excess=excess,
        low=low,
        high=high,
        biased=low is not None and high is not None and not low <= 0 <= high,
        dropped={reason: found for reason, found in reasons.items() if found},
        confidence_level=confidence_level,
        finding=_finding(excess, interval, family, reference_name, len(ours), len(others)),
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
        float(stats.t.isf((1 - level) / 2, freedom)) * math.sqrt(variance)
        for freedom, variance in ((welch, total), (both, pooled))
    )
    return excess - reach, excess + reach


def _finding(
    excess: float | None,
    interval: Interval,
    family: str | None,
    reference: str,
    ours: int,
    others: int,
) -> str:
    name = family or "its own family"
    if excess is None:
        return f"no scores of {name} beside scores of other families: nothing to compare"
    models = f"{ours} {name} model" + ("" if ours == 1 else "s")
    told = f"gives {models} {excess:+.2f} points beside {others} others, held against {reference}"
    low, high = interval
    if low is None or high is None:
        return told + "; one model alone, or no spread, carries no interval"
    return f"{told} [{low:+.2f}, {high:+.2f}]: {leaning(low, high)}"
