"""Does the judge agree with itself: in the other order, with its own scores, and asked again?

Position bias: does it prefer a slot, whatever answer is in it? Contradictions are those of the
Soft-Elo paper, appendix G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.data.tables import as_text
from adjudge.diagnosis.measures import (
    BOTH_SCORES,
    NO_INTERVAL,
    BiasMeasures,
    BiasRows,
    BiasTest,
    Measure,
    Sample,
    Sampling,
    ends_of,
    mean_or_none,
    optional_probabilities,
    picks,
)
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Columns, table_of
from adjudge.present.result import Count, Proportion
from adjudge.present.text import (
    count,
    level,
    number,
    percent,
    percent_interval,
    show_interval,
    signed,
)
from adjudge.records import HasInterval, Interval
from adjudge.statistics.clusters import codes_of, mean_interval
from adjudge.validation import FloatArray, optional_numbers, same_length

#: A judge that changes this share of verdicts with the order says little about the answers.
_ORDER_DECIDES = 0.9
#: The preference that the judge stated in addition to its scores, in the same two orders.
_BOTH_PREFERENCES = ("preference_ab", "preference_ba")

# --- in the other order ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PositionGroup(HasInterval):
    """Position bias within one group of rows."""

    group: str
    n: Count
    first_share: Proportion
    interval: Interval | None
    flip_share: Proportion


@dataclass(frozen=True, kw_only=True)
class PositionBias(BiasTest):
    """How often the answer shown first is preferred, over both orders of every pair.

    `flip_share` is the share of pairs with a verdict in both orders whose verdict changes with the
    order. `first_advantage` is the mean score of the first slot minus that of the second; None
    without scores in both orders.
    """

    title: ClassVar[str] = "position"
    clusters: Count
    first_share: Proportion
    flip_share: Proportion
    flip_interval: Interval | None
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
        floor = self.floor
        worth = self.first_advantage
        ends = self.advantage_interval
        first = self.measure("first slot", self.first_share, self.interval, 0.5, floor)
        flips = self.measure("order flips", self.flip_share, self.flip_interval, 0.0, floor)
        if worth is None:
            return first, flips
        return first, self.measure("first slot, points", worth, ends, 0.0), flips

    def describe(self) -> str:
        words = f"picks the first answer in {percent(self.first_share)} of "
        words += f"{2 * self.n:,} presentations"
        if self.interval is None:
            return words + NO_INTERVAL
        words += f" {percent_interval(self.interval)}"
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

    def group_table(self, judge: str) -> list[Block]:
        """The bias of each group, if there are groups; `judge` is named in the caption."""
        if not self.by_group:
            return []
        columns: Columns[PositionGroup] = {
            "group": lambda g: g.group,
            "pairs": lambda g: number(g.n),
            "first slot": lambda g: number(g.first_share),
            f"{level(self.confidence_level)} interval": lambda g: show_interval(g.interval),
            "order flips": lambda g: number(g.flip_share),
        }
        caption = f"Position by group: {judge}" if judge else "Position by group"
        return [table_of(self.by_group, columns, caption=caption)]


def position_bias(
    p_fwd: ArrayLike,
    p_rev: ArrayLike,
    *,
    gap_fwd: ArrayLike | None = None,
    gap_rev: ArrayLike | None = None,
    groups: ArrayLike | Sequence[Any] | None = None,
    **sampling: Unpack[Sampling],
) -> PositionBias:
    """How often the first slot wins over both orders of the same pairs, and how often they differ.

    Every pair is shown in both orders, so an answer's quality cancels and a judge without position
    bias has first_share = 1/2. A probability of exactly one half counts half for each slot. Pairs
    with only one order are left out and counted.

    The gaps are score_a - score_b in the two orders. Their mean half difference is the advantage of
    the first slot in points (Soft-Elo paper, F.1), with a clustered t interval.

    The interval is the wider of two: a t interval with the cluster-robust error, and an exact one
    on the direction of the pairs whose verdict flips, which have all the evidence. Effects of the
    slots can cancel (first on one topic, second on another): see `groups`.

    >>> bias = position_bias([0.9, 0.8, 0.7, 0.9], [0.2, 0.1, 0.3, 0.8])
    >>> bias.first_share, bias.flip_share
    (0.875, 0.75)
    """
    forward = optional_probabilities(p_fwd, "p_fwd")
    reverse = optional_probabilities(p_rev, "p_rev")
    n = same_length(p_fwd=forward, p_rev=reverse)
    no_first = np.isnan(forward)
    no_second = np.isnan(reverse)
    without = {"no answer": no_first & no_second, "one order only": no_first | no_second}
    pairs = Sample.of(n, without, **sampling)
    both = pairs.used
    if not both.any():
        raise ArgumentError("p_rev", "no pair with both orders", "ask the judge in both orders")
    first_fwd = picks(forward[both])
    first_rev = 1 - picks(reverse[both])
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
            lean_of_group = lean[rows]
            group = PositionGroup(
                group=str(name),
                n=len(lean_of_group),
                first_share=0.5 + float(lean_of_group.mean()),
                interval=_lean_interval(lean_of_group, pairs.only(rows)),
                flip_share=mean_or_none(flips[decided & rows]) or 0.0,
            )
            by_group.append(group)
    advantage: float | None = None
    advantage_ends: Interval | None = None
    if gap_fwd is not None and gap_rev is not None:
        fwd = optional_numbers(gap_fwd, "gap_fwd")
        rev = optional_numbers(gap_rev, "gap_rev")
        same_length(rows=range(n), gap_fwd=fwd, gap_rev=rev)
        scored = Sample.of(n, {"no score": ~(np.isfinite(fwd) & np.isfinite(rev))}, **sampling)
        fwd = fwd[scored.used]
        rev = rev[scored.used]
        most = float(np.abs([fwd, rev]).max(initial=0.0))
        advantage = mean_or_none((fwd - rev) / 2)
        advantage_ends = scored.mean_interval((fwd - rev) / 2, -most, most)
    test = pairs.test(first_share, _lean_interval(lean, pairs), 0.5)
    flips = flips[decided]
    return PositionBias(
        **test,
        first_share=first_share,
        flip_share=mean_or_none(flips) or 0.0,
        flip_interval=pairs.only(decided).share_interval(flips),
        by_group=tuple(by_group),
        first_advantage=advantage,
        advantage_interval=advantage_ends,
    )


def measure_position(rows: BiasRows) -> PositionBias | str:
    """Position bias of one judge's rows, or why there is none."""
    forward = rows.numbers("p_fwd")
    reverse = rows.numbers("p_rev")
    gap_fwd = gap_rev = None
    if rows.has(*BOTH_SCORES):
        # The rubric protocol scores both answers in both orders; the higher score of an order is
        # its verdict.
        gap_fwd = rows.numbers("score_diff_ab")
        gap_rev = rows.numbers("score_diff_ba")
        forward = np.where(np.isnan(forward), (np.sign(gap_fwd) + 1) / 2, forward)
        reverse = np.where(np.isnan(reverse), (np.sign(gap_rev) + 1) / 2, reverse)
    if np.isnan(forward + reverse).all():
        return "no pair was asked in both orders (p_fwd and p_rev)"
    groups = None if rows.by is None else as_text(rows.frame[rows.by]).to_list()
    return position_bias(
        forward, reverse, gap_fwd=gap_fwd, gap_rev=gap_rev, groups=groups, **rows.sampling()
    )


def _lean_interval(lean: FloatArray, pairs: Sample) -> Interval | None:
    level = pairs.confidence_level
    # Few flips have the exact half-length below.
    clustered = mean_interval(lean + 0.5, pairs.codes, level, bounds=(0.0, 1.0))
    moved = lean != 0
    low, high = ends_of(clustered)
    if low is None or high is None or not moved.any():
        return clustered
    to_first = (lean[moved] > 0).astype(np.float64)
    least, most = ends_of(pairs.only(moved).share_interval(to_first))
    if least is None or most is None:
        # One cluster has all the flips: they could point either way.
        least = 0.0
        most = 1.0
    # A tie in one order is half a flip: the exact half-length, around the weighted estimate.
    size = float(np.abs(lean).mean())
    mean = 0.5 + float(lean.mean())
    toward_first = float(to_first.mean())
    low = min(low, mean - 2 * size * (toward_first - least))
    high = max(high, mean + 2 * size * (most - toward_first))
    return Interval(max(0.0, low), min(1.0, high), level=level)


# --- with its own scores ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Contradictions(BiasMeasures, HasInterval):
    """How often the judge prefers the side to which it gave the lower score.

    `unit` is what `n` counts: a pair, whose verdict is compared with its scores, or a reply that
    states a preference in addition to its scores.
    """

    unit: Literal["pair", "reply"] = "pair"
    clusters: Count
    share: Proportion | None
    interval: Interval | None

    def measures(self) -> tuple[Measure, ...]:
        return (self.measure("against own scores", self.share, self.interval, 0.0),)

    def describe(self) -> str:
        if self.share is None:
            return (
                "no pair has both a verdict and two different scores: no contradiction is "
                "measurable"
            )
        many = "decisive replies" if self.unit == "reply" else None
        words = f"names the answer it scored lower in {percent(self.share)} of "
        words += count(self.n, f"decisive {self.unit}", many)
        ends = self.interval
        return words + (NO_INTERVAL if ends is None else f" {percent_interval(ends)}")


def contradictions(
    verdicts: Sequence[Any],
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    unit: Literal["pair", "reply"] = "pair",
    **sampling: Unpack[Sampling],
) -> Contradictions:
    """Share of decisive pairs (or replies) whose verdict and scores point in opposite directions.

    Decisive: a verdict "A" or "B" and two different scores; the others are counted by reason. The
    share is 0 for a judge that follows its own scores.

    >>> contradictions(["A", "B", "A", None], [5, 5, 3, 4], [3, 3, 3, 1]).share
    0.5
    """
    a = optional_numbers(score_a, "score_a")
    b = optional_numbers(score_b, "score_b")
    answers = np.array(list(verdicts), dtype=object)
    n = same_length(verdicts=answers, score_a=a, score_b=b)
    without = {
        "no verdict": np.array([verdict not in ("A", "B") for verdict in answers], dtype=bool),
        "no scores": ~(np.isfinite(a) & np.isfinite(b)),
        "equal scores": a == b,
    }
    decisive = Sample.of(n, without, **sampling)
    opposite = (np.equal(answers, "A") != (a > b)).astype(np.float64)[decisive.used]
    share = mean_or_none(opposite)
    ends = decisive.share_interval(opposite)
    return Contradictions(**decisive.facts, unit=unit, share=share, interval=ends)


def measure_contradictions(rows: BiasRows) -> Contradictions | str:
    """Contradictions in one judge's rows, or why there is no measure of them."""
    frame = rows.frame
    scored = rows.has(*BOTH_SCORES)
    stated = set(_BOTH_PREFERENCES) <= set(frame.columns)
    if stated and scored and any(rows.has(name) for name in _BOTH_PREFERENCES):
        preferences = [verdict for name in _BOTH_PREFERENCES for verdict in frame[name].to_list()]
        gaps = np.concatenate([rows.numbers(name) for name in BOTH_SCORES])
        sampling = rows.sampling(pl.concat([frame, frame]))
        return contradictions(preferences, gaps, np.zeros(len(gaps)), unit="reply", **sampling)
    if rows.verdicts.by_score or scored:
        return "the verdicts are computed from the scores, so they cannot contradict them"
    if not rows.has("score_a", "score_b", "verdict"):
        return "needs verdicts together with score_a and score_b"
    scores = rows.numbers("score_a"), rows.numbers("score_b")
    return contradictions(frame["verdict"].to_list(), *scores, **rows.sampling())


# --- asked again -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Retest(BiasMeasures, HasInterval):
    """How often the judge answers the same question differently when it is asked again.

    `n` questions were answered twice or more. `flip_share` is the share of pairs of answers to one
    question that differ, averaged over questions, so it does not depend on the number of repeats.
    """

    clusters: Count
    most_repeats: Count
    flip_share: Proportion
    interval: Interval | None

    def measures(self) -> tuple[Measure, ...]:
        return (self.measure("asked again, differs", self.flip_share, self.interval, 0.0),)

    def describe(self) -> str:
        words = f"gives another answer when asked again in {percent(self.flip_share)} of repeats"
        ends = NO_INTERVAL if self.interval is None else f" {percent_interval(self.interval)}"
        asked = f"{count(self.n, 'question')} asked up to {count(self.most_repeats, 'time')}"
        return f"{words}{ends}, of {asked}"


def retest(ids: Sequence[Any], answers: Sequence[Any], **sampling: Unpack[Sampling]) -> Retest:
    """Share of pairs of answers to one question that differ, over questions asked again.

    If n_v of the k answers to a question are v, its flips are 1 - sum n_v (n_v - 1) / (k (k - 1)):
    an unbiased estimate of the probability that two more answers differ. Intervals are exact
    binomial ones at the effective number of questions, by cluster. Questions with one answer are
    left out and counted. An answer of None, if the judge gave no verdict (p_a = 1/2), is an answer.

    A judge at temperature 0 can also differ, because servers sum in another order. Answers from a
    store are not asked again; use repeats.

    >>> again = retest(["x", "x", "x", "y", "y"], ["A", "A", "B", "B", "B"])
    >>> again.n, round(again.flip_share, 3)
    (2, 0.333)
    """
    n = same_length(ids=ids, answers=answers)
    clusters = codes_of(sampling.get("clusters"), n)
    names = [str(name) for name in ids]
    words = ["" if answer is None else str(answer) for answer in answers]
    rows = pl.DataFrame({"id": names, "answer": words, "cluster": clusters})
    cluster = pl.col("cluster").first()
    times = pl.col("times")
    tally = rows.group_by("id", "answer", maintain_order=True).agg(cluster, times=pl.len())
    asked = tally.group_by("id", maintain_order=True).agg(
        cluster, k=times.sum(), same=(times * (times - 1)).sum()
    )
    again = asked.filter(pl.col("k") > 1)
    if again.is_empty():
        raise ArgumentError("ids", f"{asked.height} questions", "none was answered twice")
    sampling["clusters"] = again["cluster"].to_numpy()
    questions = Sample.of(again.height, **sampling)
    k = again["k"].to_numpy().astype(np.float64)
    flips = 1 - again["same"].to_numpy() / (k * (k - 1))
    once = merge_dropped({"answered once": asked.height - again.height})
    return Retest(
        **replace(questions, dropped=once).facts,
        most_repeats=int(k.max()),
        flip_share=float(flips.mean()),
        interval=questions.share_interval(flips),
    )


def measure_retest(rows: BiasRows) -> Retest | None:
    """None if nothing was asked again: most files have no repeats."""
    asked = rows.repeats
    key = pl.concat_str("judge", "id", separator="\x1f")
    if "repeat" not in asked.columns or asked.select(key.is_duplicated().any()).item() is not True:
        return None
    names = asked.select(key).to_series().to_list()
    return retest(names, asked["verdict"].to_list(), **rows.sampling(asked))
