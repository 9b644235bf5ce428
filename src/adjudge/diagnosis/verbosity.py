"""Verbosity bias: does the longer answer win if the judge itself is near a tie?

Soft-Elo paper, appendix F.1: conditioning on the judge's own near-ties removes most of the quality
difference; what is left is a preference for length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.data.verdicts import label_values
from adjudge.diagnosis._intervals import (
    FLOOR,
    Interval,
    codes_of,
    count_clusters,
    mean_interval,
    mean_or_none,
    share_interval,
    shows,
)
from adjudge.results.length import VerbosityBias
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    finite,
    non_negative,
    open_unit,
    optional_numbers,
    positive,
    same_length,
)


def verbosity_bias(
    margin: ArrayLike,
    length_a: ArrayLike,
    length_b: ArrayLike,
    *,
    near_tie: float = 0.1,
    labels: Sequence[Any] | pl.Series | None = None,
    clusters: ArrayLike | Sequence[Any] | pl.Series | None = None,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
) -> VerbosityBias:
    """Share of near-tied pairs in which the judge prefers the longer answer; 1/2 without bias.

    Pairs of equal length and margins of exactly zero have no information about length and are
    counted separately. With human `labels` on the same pairs, the result also has the share of
    people who prefer the longer answer, and `excess` is the difference. A pair that is near-tied
    for the judge need not be near-tied for people; only the excess is free of that.

    Args:
        margin: The judge's preference for response_a: p_a - 1/2, or score_a - score_b; NaN without
            an answer.
        length_a: Length of response_a, in any unit.
        length_b: Length of response_b, in the same unit.
        near_tie: Largest margin that is a near tie. In the paper 0.3 of ten points of score.
        labels: Human labels of the same pairs: "A", "B", "tie" or None.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        floor: A smaller difference from an unbiased judge does not count as bias.
        confidence_level: Level of all intervals.

    >>> bias = verbosity_bias([0.05, -0.02, 0.04, 0.4], [9, 2, 9, 9], [3, 8, 3, 3])
    >>> bias.n, bias.longer_share
    (3, 1.0)
    """
    positive(near_tie, "near_tie")
    non_negative(floor, "floor")
    open_unit(confidence_level, "confidence_level")
    lean = optional_numbers(margin, "margin")
    finite(lean[~np.isnan(lean)], "margin", allow_empty=True)
    a, b = finite(length_a, "length_a"), finite(length_b, "length_b")
    n = same_length(margin=lean, length_a=a, length_b=b, labels=labels)
    codes = codes_of(clusters, n)
    answered, unequal, decided = ~np.isnan(lean), a != b, lean != 0
    usable = answered & unequal & decided
    close = usable & (np.abs(lean) <= near_tie + 1e-12)
    longer = np.where((lean > 0) == (a > b), 1.0, 0.0)
    share = mean_or_none(longer[close])
    low, high = share_interval(longer[close], codes[close], confidence_level)
    people, excess, excess_range, human_n = _people(
        labels, close, a, b, longer, codes, confidence_level
    )
    return VerbosityBias(
        n=int(close.sum()),
        clusters=count_clusters(codes[close]),
        near_tie=near_tie,
        longer_share=share,
        low=low,
        high=high,
        biased=shows(share, (low, high), 0.5, floor),
        floor=floor,
        overall_share=mean_or_none(longer[usable]),
        overall_n=int(usable.sum()),
        human_share=people,
        human_n=human_n,
        excess=excess,
        excess_low=excess_range[0],
        excess_high=excess_range[1],
        dropped=merge_dropped(
            {
                "no answer": int((~answered).sum()),
                "equal length": int((answered & ~unequal).sum()),
                "exactly tied": int((answered & unequal & ~decided).sum()),
                "not near-tied": int((usable & ~close).sum()),
            }
        ),
        confidence_level=confidence_level,
    )


def _people(
    labels: Sequence[Any] | pl.Series | None,
    close: BoolArray,
    a: FloatArray,
    b: FloatArray,
    longer: FloatArray,
    codes: IntArray,
    confidence_level: float,
) -> tuple[float | None, float | None, Interval, int]:
    if labels is None:
        return None, None, (None, None), 0
    wins = label_values(labels)
    both = close & ~np.isnan(wins)
    if not both.any():
        return None, None, (None, None), 0
    human = np.where(a > b, wins, 1 - wins)[both]
    gap = longer[both] - human
    interval = mean_interval(gap, codes[both], confidence_level, bounds=(-1.0, 1.0))
    return float(human.mean()), float(gap.mean()), interval, int(both.sum())
