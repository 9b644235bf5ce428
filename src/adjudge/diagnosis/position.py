"""Position bias: does the judge prefer a slot whatever stands in it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import FloatArray, IntArray, open_unit, same_length
from adjudge.diagnosis._intervals import (
    Interval,
    codes_of,
    mean_interval,
    recode,
    share_interval,
)
from adjudge.errors import ArgumentError
from adjudge.results.bias import PositionBias, PositionGroup


def position_bias(
    p_fwd: ArrayLike,
    p_rev: ArrayLike,
    *,
    gap_fwd: ArrayLike | None = None,
    gap_rev: ArrayLike | None = None,
    clusters: ArrayLike | Sequence[Any] | None = None,
    groups: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> PositionBias:
    """How often the first slot wins over both orders of the same pairs, and how often they differ.

    `p_fwd` and `p_rev` are both about response_a, shown first and shown second; verdicts may be
    given as 1, 0 and 0.5. Every pair is seen in both orders, so an answer's quality cancels and a
    judge without position bias has first_share = 1/2. A probability of exactly one half is half a
    pick for either slot. Pairs with one order only are left out and counted.

    >>> found = position_bias([0.9, 0.8, 0.7, 0.9], [0.2, 0.1, 0.3, 0.8])
    >>> found.first_share, found.flip_share
    (0.875, 0.75)

    `gap_fwd` and `gap_rev` are score differences, response_a minus response_b, in the same two
    orders. Their mean half difference is what standing first is worth in points (Soft-Elo paper,
    F.1), with a clustered t interval within the largest difference seen.

    The interval is the wider of two: a t interval with the cluster-robust error, and an exact one
    on the direction of the pairs whose verdict flips, which is where all the evidence lies. Slots
    can differ in ways that cancel (first on one topic, second on another): see `groups`.
    """
    open_unit(confidence_level, "confidence_level")
    forward, reverse = (
        optional_probabilities(p_fwd, "p_fwd"),
        optional_probabilities(p_rev, "p_rev"),
    )
    n = same_length(p_fwd=forward, p_rev=reverse)
    codes, _ = codes_of(clusters, n)
    both = ~(np.isnan(forward) | np.isnan(reverse))
    if not both.any():
        raise ArgumentError("p_rev", "no pair with both orders", "ask the judge in both orders")
    unasked = np.isnan(forward) & np.isnan(reverse)
    reasons = {"no answer": int(unasked.sum()), "one order only": int((~both & ~unasked).sum())}
    own, count = recode(codes[both])
    first_fwd, first_rev = _pick(forward[both]), 1 - _pick(reverse[both])
    lean = (first_fwd + first_rev) / 2 - 0.5
    low, high = _interval(lean, own, count, confidence_level)
    decided = (first_fwd != 0.5) & (first_rev != 0.5)
    flips = (decided & (first_fwd == first_rev)).astype(np.float64)
    flip_rows = flips[decided]
    flip_codes, flip_groups = recode(own[decided])
    flip_range: Interval = (None, None)
    if len(flip_rows):
        flip_range = share_interval(flip_rows, flip_codes, flip_groups, confidence_level)
    first_share = 0.5 + float(lean.mean())
    flip_share = float(flip_rows.mean()) if len(flip_rows) else 0.0
    biased = low is not None and high is not None and not low <= 0.5 <= high
    advantage, reach = _advantage(gap_fwd, gap_rev, codes, confidence_level)
    finding = _finding(first_share, low, high, flip_share, int(both.sum()))
    if advantage is not None and reach[0] is not None and reach[1] is not None:
        finding += f"; standing first is worth {advantage:+.2f} points of score"
        finding += f" [{reach[0]:+.2f}, {reach[1]:+.2f}]"
    return PositionBias(
        n=int(both.sum()),
        clusters=count,
        first_share=first_share,
        low=low,
        high=high,
        biased=biased,
        flip_share=flip_share,
        flip_low=flip_range[0],
        flip_high=flip_range[1],
        flips_to_first=int((flips * (lean > 0)).sum()),
        flips_to_second=int((flips * (lean < 0)).sum()),
        first_probability=float((forward[both] + 1 - reverse[both]).mean() / 2),
        dropped={reason: found for reason, found in reasons.items() if found},
        by_group=_by_group(groups, both, lean, own, flips, decided, confidence_level),
        confidence_level=confidence_level,
        finding=finding,
        first_advantage=advantage,
        advantage_low=reach[0],
        advantage_high=reach[1],
    )


def _advantage(
    gap_fwd: ArrayLike | None, gap_rev: ArrayLike | None, codes: IntArray, level: float
) -> tuple[float | None, Interval]:
    """Mean of (forward - reverse) / 2 over pairs scored in both orders, and its interval."""
    if gap_fwd is None or gap_rev is None:
        return None, (None, None)
    forward, reverse = (np.asarray(gap, dtype=np.float64) for gap in (gap_fwd, gap_rev))
    same_length(rows=codes, gap_fwd=forward, gap_rev=reverse)
    known = np.isfinite(forward) & np.isfinite(reverse)
    if not known.any():
        return None, (None, None)
    worth = (forward - reverse)[known] / 2
    most = float(np.abs([forward[known], reverse[known]]).max())
    own, groups = recode(codes[known])
    return float(worth.mean()), mean_interval(worth, own, groups, level, bounds=(-most, most))


def optional_probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Probabilities in [0, 1], NaN or None where there is none."""
    given = np.asarray(values, dtype=object)
    if given.ndim != 1:
        raise ArgumentError(name, f"shape {given.shape}", "give a one-dimensional array")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, "text", "give probabilities, None where missing") from None
    wrong = ~np.isnan(numbers) & ~((numbers >= 0) & (numbers <= 1))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"{name}[{at}]", float(numbers[at]), "give probabilities in [0, 1]")
    return numbers


def _pick(p: FloatArray) -> FloatArray:
    return np.where(p > 0.5, 1.0, np.where(p < 0.5, 0.0, 0.5))


def _interval(lean: FloatArray, codes: IntArray, groups: int, confidence_level: float) -> Interval:
    if groups < 2:
        return None, None
    low, high = mean_interval(lean + 0.5, codes, groups, confidence_level, bounds=(0.0, 1.0))
    if low is None or high is None:
        return low, high
    moved = lean != 0
    if not moved.any():
        return low, high
    kept, left = recode(codes[moved])
    if left < 2:
        toward: Interval = (0.0, 1.0)
    else:
        toward = share_interval((lean[moved] > 0).astype(float), kept, left, confidence_level)
    least, most = toward
    if least is None or most is None:
        return low, high
    # A tie in one order is half a flip: the exact reach, around the estimate with its weights.
    size, mean = float(np.abs(lean).mean()), 0.5 + float(lean.mean())
    toward_first = float((lean[moved] > 0).mean())
    return (
        max(0.0, min(low, mean - 2 * size * (toward_first - least))),
        min(1.0, max(high, mean + 2 * size * (most - toward_first))),
    )


def _by_group(
    groups: ArrayLike | Sequence[Any] | None,
    both: Any,
    lean: FloatArray,
    codes: IntArray,
    flips: FloatArray,
    decided: Any,
    confidence_level: float,
) -> tuple[PositionGroup, ...]:
    if groups is None:
        return ()
    named = np.asarray(groups, dtype=object)
    same_length(rows=both, groups=named)
    kept = named[both]
    found = []
    for name in sorted(set(kept.tolist()), key=str):
        rows = kept == name
        own, count = recode(codes[rows])
        low, high = _interval(lean[rows], own, count, confidence_level)
        here = decided & rows
        found.append(
            PositionGroup(
                group=str(name),
                n=int(rows.sum()),
                first_share=0.5 + float(lean[rows].mean()),
                low=low,
                high=high,
                flip_share=float(flips[here].mean()) if here.any() else 0.0,
            )
        )
    return tuple(found)


def _finding(
    first_share: float, low: float | None, high: float | None, flip_share: float, n: int
) -> str:
    told = f"picks the first answer in {100 * first_share:.1f} % of {2 * n:,} presentations"
    if low is None or high is None:
        return told + "; one prompt alone carries no interval"
    told += f" [{100 * low:.1f}, {100 * high:.1f}], flips on {100 * flip_share:.1f} % of pairs"
    if flip_share >= 0.9 and (first_share >= 0.95 or first_share <= 0.05):
        slot = "first" if first_share > 0.5 else "second"
        return told + (
            f": it picks whichever answer stands {slot}; its verdicts say nothing about the answers"
        )
    if low > 0.5:
        return told + ": it leans to the first slot"
    if high < 0.5:
        return told + ": it leans to the second slot"
    return told + ": no lean to either slot shown"
