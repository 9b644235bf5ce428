"""Does the judge name the side that it scored lower itself? (Soft-Elo paper, appendix G.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import open_unit, same_length
from adjudge.diagnosis._intervals import Interval, codes_of, recode, share_interval
from adjudge.errors import ArgumentError
from adjudge.results.bias import Contradictions


def contradictions(
    verdicts: Sequence[Any],
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    clusters: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> Contradictions:
    """Share of decisive pairs whose verdict and scores point in opposite directions.

    Decisive: a verdict "A" or "B" and two different scores; the others are counted by reason. A
    judge that follows its own scores has 0.

    >>> contradictions(["A", "B", "A", None], [5, 5, 3, 4], [3, 3, 3, 1]).share
    0.5
    """
    open_unit(confidence_level, "confidence_level")
    try:
        a, b = (np.asarray(s, dtype=object).astype(np.float64) for s in (score_a, score_b))
    except (TypeError, ValueError):
        raise ArgumentError("score_a", "text", "give numbers, None where missing") from None
    named = np.array(list(verdicts), dtype=object)
    n = same_length(verdicts=named, score_a=a, score_b=b)
    codes, _ = codes_of(clusters, n)
    decided = np.array([verdict in ("A", "B") for verdict in named], dtype=bool)
    scored = np.isfinite(a) & np.isfinite(b)
    unequal = scored & (a != b)
    kept = decided & unequal
    reasons = {
        "no verdict": int((~decided).sum()),
        "no scores": int((decided & ~scored).sum()),
        "equal scores": int((decided & scored & ~unequal).sum()),
    }
    opposite = (np.equal(named, "A") != (a > b)).astype(np.float64)[kept]
    own, groups = recode(codes[kept])
    interval: Interval = (None, None)
    if len(opposite):
        interval = share_interval(opposite, own, groups, confidence_level)
    share = float(opposite.mean()) if len(opposite) else None
    return Contradictions(
        n=len(opposite),
        clusters=groups,
        share=share,
        low=interval[0],
        high=interval[1],
        dropped={reason: found for reason, found in reasons.items() if found},
        confidence_level=confidence_level,
        finding=_finding(share, interval, len(opposite)),
    )


def _finding(share: float | None, interval: Interval, n: int) -> str:
    if share is None:
        return "no pair has both a verdict and two different scores: no contradiction measurable"
    told = f"names the side it scored lower in {100 * share:.1f} % of {n:,} decisive pairs"
    low, high = interval
    if low is None or high is None:
        return told
    return told + f" [{100 * low:.1f}, {100 * high:.1f}]"
