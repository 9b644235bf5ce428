"""Position bias: does the judge prefer a slot, whatever answer is in it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.tables import as_text
from adjudge.diagnosis.measures import (
    BOTH_SCORES,
    FLOOR,
    NO_INTERVAL,
    BiasRows,
    BiasTest,
    Measure,
    Sample,
    ends_of,
    mean_or_none,
    optional_probabilities,
    picks,
)
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, table_of
from adjudge.present.result import Count, Proportion, frozen
from adjudge.present.text import (
    interval,
    level,
    number,
    percent,
    percent_interval,
    show_interval,
    signed,
)
from adjudge.records import HasInterval, Interval
from adjudge.validation import FloatArray, optional_numbers, same_length

#: A judge that changes this share of verdicts with the order says little about the answers.
_ORDER_DECIDES = 0.9


@dataclass(frozen=True, kw_only=True)
class PositionGroup(HasInterval):
    """Position bias within one group of rows."""

    group: str
    n: Count
    first_share: Proportion
    interval: Interval | None
    flip_share: Proportion


@frozen
class PositionBias(BiasTest):
    """How often the answer shown first is preferred, over both orders of every pair.

    `flip_share` is the share of pairs with a verdict in both orders whose verdict changes with the
    order; `first_probability` the mean probability of the first slot. `first_advantage` is the mean
    score of the first slot minus that of the second; None without scores in both orders.
    """

    kind: ClassVar[str] = "position_bias"
    title: ClassVar[str] = "position"
    clusters: Count
    first_share: Proportion
    flip_share: Proportion
    flip_interval: Interval | None
    flips_to_first: Count
    flips_to_second: Count
    first_probability: Proportion
    by_group: tuple[PositionGroup, ...]
    first_advantage: float | None = None
    advantage_interval: Interval | None = None

    @property
    def remedy(self) -> str:
        """Only both orders show this bias, so both were asked."""
        if self.flip_share >= _ORDER_DECIDES:
            return "use another judge or prompt"
        return "use the mean of both orders (p_a), not one order"

    def measures(self) -> tuple[Measure, ...]:
        floor, worth, ends = self.floor, self.first_advantage, self.advantage_interval
        first = self.measure("first slot", self.first_share, self.interval, 0.5, floor)
        flips = self.measure("order flips", self.flip_share, self.flip_interval, 0.0, floor)
        if worth is None:
            return first, flips
        return first, self.measure("first slot, points", worth, ends, 0.0), flips

    def describe(self) -> str:
        words = f"picks the first answer in {percent(self.first_share)} of "
        words += f"{2 * self.n:,} presentations"
        if self.low is None:
            return words + NO_INTERVAL
        words += f" {percent_interval(self.low, self.high)}"
        words += f", changes its verdict with the order on {percent(self.flip_share)} of pairs"
        prefers = f"it prefers the {'first' if self.first_share > 0.5 else 'second'} slot"
        if self.flip_share >= _ORDER_DECIDES:
            prefers += " so much that its verdicts say little about answers"
        words += f": {self.finding(prefers, 'no preference for a slot shown')}"
        if self.first_advantage is not None and self.advantage_interval is not None:
            worth = signed(self.first_advantage, 2)
            ends = show_interval(self.advantage_interval, 2)
            words += f"; being shown first is worth {worth} points of score {ends}"
        return words

    def details(self) -> list[Block]:
        return self.group_table()

    def group_table(self, judge: str = "") -> list[Block]:
        """The bias of each group, if there are groups; `judge` is named in the caption."""
        table = table_of(
            self.by_group,
            {
                "group": lambda g: g.group,
                "pairs": lambda g: number(g.n),
                "first slot": lambda g: number(g.first_share),
                f"{level(self.confidence_level)} interval": lambda g: interval(g.low, g.high),
                "order flips": lambda g: number(g.flip_share),
            },
            caption="Position by group" + (f": {judge}" if judge else ""),
        )
        return [table] if self.by_group else []


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
    forward = optional_probabilities(p_fwd, "p_fwd")
    reverse = optional_probabilities(p_rev, "p_rev")
    n = same_length(p_fwd=forward, p_rev=reverse)
    no_first, no_second = np.isnan(forward), np.isnan(reverse)
    pairs = Sample.of(
        n,
        clusters,
        confidence_level,
        {"no answer": no_first & no_second, "one order only": no_first | no_second},
    )
    both = pairs.used
    if not both.any():
        raise ArgumentError("p_rev", "no pair with both orders", "ask the judge in both orders")
    first_fwd, first_rev = picks(forward[both]), 1 - picks(reverse[both])
    lean = (first_fwd + first_rev) / 2 - 0.5
    first_share = 0.5 + float(lean.mean())
    decided = (first_fwd != 0.5) & (first_rev != 0.5)
    flips = (decided & (first_fwd == first_rev)).astype(np.float64)
    by_group: list[PositionGroup] = []
    if groups is not None:
        names = np.asarray(groups, dtype=object)
        same_length(rows=both, groups=names)
        names = names[both]
        for name in sorted(set(names.tolist()), key=str):
            rows = names == name
            group = PositionGroup(
                group=str(name),
                n=int(rows.sum()),
                first_share=0.5 + float(lean[rows].mean()),
                interval=_lean_interval(lean[rows], pairs.only(rows)),
                flip_share=mean_or_none(flips[decided & rows]) or 0.0,
            )
            by_group.append(group)
    advantage, advantage_ends = _first_advantage(gap_fwd, gap_rev, clusters, n, confidence_level)
    return PositionBias(
        **pairs.test(first_share, _lean_interval(lean, pairs), 0.5, floor),
        first_share=first_share,
        flip_share=mean_or_none(flips[decided]) or 0.0,
        flip_interval=pairs.only(decided).share_interval(flips[decided]),
        flips_to_first=int((flips * (lean > 0)).sum()),
        flips_to_second=int((flips * (lean < 0)).sum()),
        first_probability=float((forward[both] + 1 - reverse[both]).mean() / 2),
        by_group=tuple(by_group),
        first_advantage=advantage,
        advantage_interval=advantage_ends,
    )


def measure_position(rows: BiasRows) -> PositionBias | str:
    """Position bias of one judge's rows, or why there is none."""
    forward, reverse = rows.numbers("p_fwd"), rows.numbers("p_rev")
    gap_fwd = gap_rev = None
    if rows.has(*BOTH_SCORES):
        # The rubric protocol scores both answers in both orders; the higher score of an order is
        # its verdict.
        gap_fwd, gap_rev = (rows.numbers(column) for column in BOTH_SCORES)
        forward = np.where(np.isnan(forward), (np.sign(gap_fwd) + 1) / 2, forward)
        reverse = np.where(np.isnan(reverse), (np.sign(gap_rev) + 1) / 2, reverse)
    if np.isnan(forward + reverse).all():
        return "no pair was asked in both orders (p_fwd and p_rev)"
    return position_bias(
        forward,
        reverse,
        gap_fwd=gap_fwd,
        gap_rev=gap_rev,
        groups=None if rows.by is None else as_text(rows.frame[rows.by]).to_list(),
        **rows.options,
    )


def _first_advantage(
    gap_fwd: ArrayLike | None,
    gap_rev: ArrayLike | None,
    clusters: ArrayLike | Sequence[Any] | None,
    n: int,
    confidence_level: float,
) -> tuple[float | None, Interval | None]:
    """Mean of (forward - reverse) / 2 over pairs scored in both orders, and its interval."""
    if gap_fwd is None or gap_rev is None:
        return None, None
    forward, reverse = optional_numbers(gap_fwd, "gap_fwd"), optional_numbers(gap_rev, "gap_rev")
    same_length(rows=range(n), gap_fwd=forward, gap_rev=reverse)
    unscored = ~(np.isfinite(forward) & np.isfinite(reverse))
    pairs = Sample.of(n, clusters, confidence_level, {"no score": unscored})
    if unscored.all():
        return None, None
    forward, reverse = forward[pairs.used], reverse[pairs.used]
    worth, most = (forward - reverse) / 2, float(np.abs([forward, reverse]).max())
    return float(worth.mean()), pairs.mean_interval(worth, -most, most)


def _lean_interval(lean: FloatArray, pairs: Sample) -> Interval | None:
    clustered = pairs.mean_interval(lean + 0.5, 0.0, 1.0)
    moved = lean != 0
    low, high = ends_of(clustered)
    if low is None or high is None or not moved.any():
        return clustered
    to_first = (lean[moved] > 0).astype(np.float64)
    least, most = ends_of(pairs.only(moved).share_interval(to_first))
    if least is None or most is None:
        # One cluster has all the flips: they could point either way.
        least, most = 0.0, 1.0
    # A tie in one order is half a flip: the exact half-length, around the weighted estimate.
    size, mean = float(np.abs(lean).mean()), 0.5 + float(lean.mean())
    toward_first = float(to_first.mean())
    return Interval(
        max(0.0, min(low, mean - 2 * size * (toward_first - least))),
        min(1.0, max(high, mean + 2 * size * (most - toward_first))),
        level=pairs.confidence_level,
    )
