"""Verbosity bias: does the longer answer win if the judge itself is near a tie?

Soft-Elo paper, appendix F.1: conditioning on the judge's own near-ties removes most of the quality
difference; what is left is a preference for length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import Rows, merge_dropped
from adjudge.data.verdicts import CLUSTER, label_values
from adjudge.diagnosis.length import NO_LENGTH
from adjudge.diagnosis.measures import (
    BOTH_SCORES,
    FLOOR,
    NO_INTERVAL,
    BiasRows,
    BiasTest,
    Measure,
    ends_of,
    mean_or_none,
    measure,
    numbers_of,
    shows,
)
from adjudge.present.result import Count, Proportion, frozen
from adjudge.present.text import count, percent, percent_interval, signed
from adjudge.records import Interval
from adjudge.statistics.clusters import (
    codes_of,
    count_clusters,
    mean_interval,
    share_interval,
)
from adjudge.validation import (
    finite,
    non_negative,
    open_unit,
    optional_numbers,
    positive,
    same_length,
)


@frozen
class VerbosityBias(BiasTest):
    """How often the longer answer wins if the judge's scores are nearly tied."""

    kind: ClassVar[str] = "verbosity_bias"
    title: ClassVar[str] = "length where near-tied"
    clusters: Count
    near_tie: float
    longer_share: Proportion | None
    overall_share: Proportion | None
    overall_n: Count
    human_share: Proportion | None
    human_n: Count
    excess: float | None
    excess_interval: Interval | None

    def measures(self) -> tuple[Measure, ...]:
        n, floor = self.n, self.floor
        longer = measure("longer, near-tied", self.longer_share, self.interval, n, 0.5, floor)
        if self.excess is None:
            return (longer,)
        ends, n = self.excess_interval, self.human_n
        return longer, measure("near-tied, minus people", self.excess, ends, n, 0.0, floor)

    def describe(self) -> str:
        if self.longer_share is None:
            return "has no near-tied pair of unequal length: no preference for length is measurable"
        words = f"prefers the longer answer in {percent(self.longer_share)} of "
        words += count(self.n, "near-tied pair")
        if self.low is None:
            return words + NO_INTERVAL
        words += f" {percent_interval(self.low, self.high)}"
        low, high = ends_of(self.excess_interval)
        if self.excess is not None and low is not None:
            words += f" (people {percent(self.human_share)} of {self.human_n:,}, difference "
            ends = percent_interval(low, high, sign=True)
            words += f"{signed(100 * self.excess, 1)} points {ends})"
        if self.negligible:
            return f"{words}: {self.describe_negligible()}"
        if not self.biased:
            return words + ": no preference for length shown"
        longer = self.longer_share > 0.5
        words += f": it prefers the {'longer' if longer else 'shorter'} answer"
        if low is None or high is None:
            return words
        if low <= 0 <= high:
            return words + ", and no difference from people is shown"
        return words + (", more than people do" if (low > 0) == longer else ", less than people do")


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
    ends = share_interval(longer[close], codes[close], confidence_level)
    wins = np.full(n, np.nan) if labels is None else label_values(labels)
    voted = close & ~np.isnan(wins)
    people = np.where(a > b, wins, 1 - wins)[voted]
    gap = longer[voted] - people
    excess_ends: Interval | None = None
    if voted.any():
        excess_ends = mean_interval(gap, codes[voted], confidence_level, bounds=(-1.0, 1.0))
    return VerbosityBias(
        n=int(close.sum()),
        clusters=count_clusters(codes[close]),
        near_tie=near_tie,
        longer_share=share,
        interval=ends,
        biased=shows(share, ends, 0.5, floor),
        floor=floor,
        overall_share=mean_or_none(longer[usable]),
        overall_n=int(usable.sum()),
        human_share=mean_or_none(people),
        human_n=int(voted.sum()),
        excess=mean_or_none(gap),
        excess_interval=excess_ends,
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


def measure_verbosity(rows: BiasRows) -> VerbosityBias | str:
    """Verbosity bias of one judge's rows, or why there is none."""
    if not rows.has("length_a", "length_b"):
        return NO_LENGTH
    # A rubric's p_a is its score difference on another scale: near-tied is defined in points.
    by_score = rows.has("score_a", "score_b") and (not rows.graded or rows.has(*BOTH_SCORES))
    if not rows.graded and not by_score:
        return "verdicts alone do not show where the judge is near-tied"
    missing = pl.col("length_a").is_null() | pl.col("length_b").is_null()
    measured = Rows(rows.frame).without(missing, "no length")
    frame = measured.frame
    bias = verbosity_bias(
        numbers_of(frame, "score_a") - numbers_of(frame, "score_b")
        if by_score
        else numbers_of(frame, "p_a") - 0.5,
        numbers_of(frame, "length_a"),
        numbers_of(frame, "length_b"),
        near_tie=rows.near_tie or (0.3 if by_score else 0.1),
        labels=frame["label"] if "label" in frame.columns else None,
        clusters=frame[CLUSTER].to_numpy(),
        floor=rows.floor,
        confidence_level=rows.confidence_level,
    )
    return replace(bias, dropped=merge_dropped(measured.dropped, bias.dropped))
