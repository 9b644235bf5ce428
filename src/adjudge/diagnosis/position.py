"""Position bias: does the judge prefer a slot, whatever answer is in it?"""

from __future__ import annotations

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
    mean_interval,
    share_interval,
    shows,
)
from adjudge.errors import ArgumentError
from adjudge.results.bias import PositionBias, PositionGroup
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    non_negative,
    open_unit,
    optional_numbers,
    same_length,
)


def position_bias(
    p_fwd: ArrayLike,
    p_rev: ArrayLike,
    *,
    gap_fwd: ArrayLike | None = None,
    gap_rev: ArrayLike | None = None,
    clusters: ArrayLike | Sequence[Any] | None = None,
    groups: ArrayLike | Sequence[Any] | None = None,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
) -> PositionBias:
    """How often the first slot wins over both orders of the same pairs, and how often they differ.

    Every pair is shown in both orders, so an answer's quality cancels and a judge without position
    bias has first_share = 1/2. A probability of exactly one half counts half for each slot. Pairs
    with only one order are left out and counted.

    >>> bias = position_bias([0.9, 0.8, 0.7, 0.9], [0.2, 0.1, 0.3, 0.8])
    >>> bias.first_share, bias.flip_share
    (0.875, 0.75)

    The mean half difference of `gap_fwd` and `gap_rev` is the advantage of the first slot in points
    (Soft-Elo paper, F.1), with a clustered t interval, clipped to the largest observed difference.

    The interval is the wider of two: a t interval with the cluster-robust error, and an exact one
    on the direction of the pairs whose verdict flips, which have all the evidence. Effects of the
    slots can cancel (first on one topic, second on another): see `groups`.

    Args:
        p_fwd: P(response_a is preferred) when it is shown first; verdicts as 1, 0 and 1/2.
        p_rev: P(response_a is preferred) when it is shown second.
        gap_fwd: Score of response_a minus that of response_b when response_a is shown first.
        gap_rev: The same when response_a is shown second.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        groups: Also measure the bias for each of these groups.
        floor: A smaller difference from an unbiased judge does not count as bias.
        confidence_level: Level of all intervals.
    """
    non_negative(floor, "floor")
    open_unit(confidence_level, "confidence_level")
    forward = optional_probabilities(p_fwd, "p_fwd")
    reverse = optional_probabilities(p_rev, "p_rev")
    n = same_length(p_fwd=forward, p_rev=reverse)
    codes = codes_of(clusters, n)
    both = ~(np.isnan(forward) | np.isnan(reverse))
    if not both.any():
        raise ArgumentError("p_rev", "no pair with both orders", "ask the judge in both orders")
    unasked = np.isnan(forward) & np.isnan(reverse)
    own = codes[both]
    first_fwd, first_rev = picks(forward[both]), 1 - picks(reverse[both])
    lean = (first_fwd + first_rev) / 2 - 0.5
    first_share = 0.5 + float(lean.mean())
    low, high = _interval(lean, own, confidence_level)
    decided = (first_fwd != 0.5) & (first_rev != 0.5)
    flips = (decided & (first_fwd == first_rev)).astype(np.float64)
    flip_low, flip_high = share_interval(flips[decided], own[decided], confidence_level)
    advantage, advantage_range = _advantage(gap_fwd, gap_rev, codes, confidence_level)
    return PositionBias(
        n=int(both.sum()),
        clusters=count_clusters(own),
        first_share=first_share,
        low=low,
        high=high,
        biased=shows(first_share, (low, high), 0.5, floor),
        floor=floor,
        flip_share=_mean(flips[decided]),
        flip_low=flip_low,
        flip_high=flip_high,
        flips_to_first=int((flips * (lean > 0)).sum()),
        flips_to_second=int((flips * (lean < 0)).sum()),
        first_probability=float((forward[both] + 1 - reverse[both]).mean() / 2),
        dropped=merge_dropped(
            {"no answer": int(unasked.sum()), "one order only": int((~both & ~unasked).sum())}
        ),
        by_group=_by_group(groups, both, lean, own, flips, decided, confidence_level),
        confidence_level=confidence_level,
        first_advantage=advantage,
        advantage_low=advantage_range[0],
        advantage_high=advantage_range[1],
    )


def _advantage(
    gap_fwd: ArrayLike | None, gap_rev: ArrayLike | None, codes: IntArray, level: float
) -> tuple[float | None, Interval]:
    """Mean of (forward - reverse) / 2 over pairs scored in both orders, and its interval."""
    if gap_fwd is None or gap_rev is None:
        return None, (None, None)
    forward, reverse = optional_numbers(gap_fwd, "gap_fwd"), optional_numbers(gap_rev, "gap_rev")
    same_length(rows=codes, gap_fwd=forward, gap_rev=reverse)
    known = np.isfinite(forward) & np.isfinite(reverse)
    if not known.any():
        return None, (None, None)
    worth = (forward - reverse)[known] / 2
    most = float(np.abs([forward[known], reverse[known]]).max())
    return float(worth.mean()), mean_interval(worth, codes[known], level, bounds=(-most, most))


def optional_probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Probabilities in [0, 1], NaN or None if missing."""
    numbers = optional_numbers(values, name)
    wrong = ~np.isnan(numbers) & ~((numbers >= 0) & (numbers <= 1))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"{name}[{at}]", float(numbers[at]), "give probabilities in [0, 1]")
    return numbers


def picks(p: FloatArray) -> FloatArray:
    """1, 0 or, at exactly one half, 1/2."""
    return ((p > 0.5).astype(np.int8) + ~(p < 0.5)) / 2


def _mean(shares: FloatArray) -> float:
    return float(shares.mean()) if len(shares) else 0.0


def _interval(lean: FloatArray, codes: IntArray, confidence_level: float) -> Interval:
    low, high = mean_interval(lean + 0.5, codes, confidence_level, bounds=(0.0, 1.0))
    moved = lean != 0
    if low is None or high is None or not moved.any():
        return low, high
    to_first = (lean[moved] > 0).astype(np.float64)
    least, most = share_interval(to_first, codes[moved], confidence_level)
    if least is None or most is None:
        # One cluster has all the flips: they could point either way.
        least, most = 0.0, 1.0
    # A tie in one order is half a flip: the exact half-length, around the weighted estimate.
    size, mean = float(np.abs(lean).mean()), 0.5 + float(lean.mean())
    toward_first = float(to_first.mean())
    return (
        max(0.0, min(low, mean - 2 * size * (toward_first - least))),
        min(1.0, max(high, mean + 2 * size * (most - toward_first))),
    )


def _by_group(
    groups: ArrayLike | Sequence[Any] | None,
    both: BoolArray,
    lean: FloatArray,
    codes: IntArray,
    flips: FloatArray,
    decided: BoolArray,
    confidence_level: float,
) -> tuple[PositionGroup, ...]:
    if groups is None:
        return ()
    named = np.asarray(groups, dtype=object)
    same_length(rows=both, groups=named)
    kept = named[both]
    parts = []
    for name in sorted(set(kept.tolist()), key=str):
        rows = kept == name
        low, high = _interval(lean[rows], codes[rows], confidence_level)
        parts.append(
            PositionGroup(
                group=str(name),
                n=int(rows.sum()),
                first_share=0.5 + float(lean[rows].mean()),
                low=low,
                high=high,
                flip_share=_mean(flips[decided & rows]),
            )
        )
    return tuple(parts)
