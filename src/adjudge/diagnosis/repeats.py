"""Does the judge agree with itself: with its own scores, and with its answer when asked again?

Contradictions are those of the Soft-Elo paper, appendix G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.data.verdicts import CLUSTER
from adjudge.diagnosis.measures import (
    BOTH_SCORES,
    NO_INTERVAL,
    BiasMeasures,
    BiasRows,
    Measure,
    Sample,
    ends_of,
    mean_or_none,
)
from adjudge.errors import ArgumentError
from adjudge.present.result import Count, Proportion, frozen
from adjudge.present.text import count, percent, percent_interval
from adjudge.records import HasInterval, Interval
from adjudge.statistics.clusters import codes_of
from adjudge.validation import optional_numbers, same_length

#: The preference that the judge stated in addition to its scores, in the same two orders.
_BOTH_PREFERENCES = ("preference_ab", "preference_ba")

# --- its own scores --------------------------------------------------------------------------


@frozen
class Contradictions(BiasMeasures, HasInterval):
    """How often the judge prefers the side to which it gave the lower score.

    `unit` is what `n` counts: a pair, whose verdict is compared with its scores, or a reply that
    states a preference in addition to its scores.
    """

    kind: ClassVar[str] = "contradictions"
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
        return words + (
            NO_INTERVAL if self.low is None else f" {percent_interval(self.low, self.high)}"
        )


def contradictions(
    verdicts: Sequence[Any],
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    clusters: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
    unit: Literal["pair", "reply"] = "pair",
) -> Contradictions:
    """Share of decisive pairs (or replies) whose verdict and scores point in opposite directions.

    Decisive: a verdict "A" or "B" and two different scores; the others are counted by reason. The
    share is 0 for a judge that follows its own scores.

    Args:
        verdicts: The judge's verdicts: "A", "B", "tie" or None.
        score_a: The judge's score of response_a; NaN without one.
        score_b: The judge's score of response_b; NaN without one.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        confidence_level: Level of all intervals.
        unit: What a row is: pair or reply.

    >>> contradictions(["A", "B", "A", None], [5, 5, 3, 4], [3, 3, 3, 1]).share
    0.5
    """
    a, b = optional_numbers(score_a, "score_a"), optional_numbers(score_b, "score_b")
    answers = np.array(list(verdicts), dtype=object)
    n = same_length(verdicts=answers, score_a=a, score_b=b)
    without = {
        "no verdict": np.array([verdict not in ("A", "B") for verdict in answers], dtype=bool),
        "no scores": ~(np.isfinite(a) & np.isfinite(b)),
        "equal scores": a == b,
    }
    decisive = Sample.of(n, clusters, confidence_level, without)
    opposite = (np.equal(answers, "A") != (a > b)).astype(np.float64)[decisive.used]
    return Contradictions(
        **decisive.facts,
        unit=unit,
        share=mean_or_none(opposite),
        interval=decisive.share_interval(opposite),
    )


def measure_contradictions(rows: BiasRows) -> Contradictions | str:
    """Contradictions in one judge's rows, or why there is no measure of them."""
    frame, scored = rows.frame, rows.has(*BOTH_SCORES)
    stated = set(_BOTH_PREFERENCES) <= set(frame.columns)
    if stated and scored and any(rows.has(name) for name in _BOTH_PREFERENCES):
        return contradictions(
            [preference for name in _BOTH_PREFERENCES for preference in frame[name].to_list()],
            np.concatenate([rows.numbers(name) for name in BOTH_SCORES]),
            np.zeros(2 * frame.height),
            clusters=np.tile(rows.clusters, 2),
            confidence_level=rows.confidence_level,
            unit="reply",
        )
    if rows.verdicts.by_score or scored:
        return "the verdicts are computed from the scores, so they cannot contradict them"
    if not rows.has("score_a", "score_b", "verdict"):
        return "needs verdicts together with score_a and score_b"
    return contradictions(
        frame["verdict"].to_list(),
        rows.numbers("score_a"),
        rows.numbers("score_b"),
        clusters=rows.clusters,
        confidence_level=rows.confidence_level,
    )


# --- asked again -----------------------------------------------------------------------------


@frozen
class Retest(BiasMeasures, HasInterval):
    """How often the judge answers the same question differently when it is asked again.

    `n` questions were answered twice or more. `flip_share` is the share of pairs of answers to one
    question that differ, averaged over questions, so it does not depend on the number of repeats.
    `changed_share` is the share of questions whose answers are not all the same.
    """

    kind: ClassVar[str] = "retest"
    clusters: Count
    most_repeats: Count
    flip_share: Proportion
    interval: Interval | None
    changed_share: Proportion
    changed_interval: Interval | None

    def measures(self) -> tuple[Measure, ...]:
        return (
            self.measure("asked again, differs", self.flip_share, self.interval, 0.0),
            self.measure("not always the same", self.changed_share, self.changed_interval, 0.0),
        )

    def describe(self) -> str:
        words = f"gives another answer when asked again in {percent(self.flip_share)} of repeats"
        if self.low is None:
            return words + NO_INTERVAL
        words += f" {percent_interval(self.low, self.high)}: of {count(self.n, 'question')} asked "
        words += f"up to {count(self.most_repeats, 'time')}, {percent(self.changed_share)} "
        ends = percent_interval(*ends_of(self.changed_interval))
        return words + f"{ends} got answers that differ"


def retest(
    ids: Sequence[Any],
    answers: Sequence[Any],
    *,
    clusters: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> Retest:
    """Share of pairs of answers to one question that differ, over questions asked again.

    If n_v of the k answers to a question are v, its flips are 1 - sum n_v (n_v - 1) / (k (k - 1)):
    an unbiased estimate of the probability that two more answers differ. Intervals are exact
    binomial ones at the effective number of questions, by cluster. Questions with one answer are
    left out and counted.

    A judge at temperature 0 can also differ, because servers sum in another order. Answers from a
    store are not asked again; use repeats.

    Args:
        ids: The question of each answer.
        answers: "A", "B", "tie", or None if the judge was asked and gave no verdict (p_a = 1/2),
            which counts as an answer.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        confidence_level: Level of all intervals.

    >>> again = retest(["x", "x", "x", "y", "y"], ["A", "A", "B", "B", "B"])
    >>> again.n, round(again.flip_share, 3), again.changed_share
    (2, 0.333, 0.5)
    """
    n = same_length(ids=ids, answers=answers)
    rows = pl.DataFrame(
        {
            "id": [str(name) for name in ids],
            "answer": ["" if answer is None else str(answer) for answer in answers],
            "cluster": codes_of(clusters, n) if clusters is not None else np.zeros(n, np.int64),
        }
    )
    tally = rows.group_by("id", "answer", maintain_order=True).agg(
        pl.len().alias("times"), pl.col("cluster").first()
    )
    asked = tally.group_by("id", maintain_order=True).agg(
        pl.col("times").sum().alias("k"),
        (pl.col("times") * (pl.col("times") - 1)).sum().alias("same"),
        pl.col("cluster").first(),
    )
    again = asked.filter(pl.col("k") > 1)
    if again.is_empty():
        raise ArgumentError("ids", f"{asked.height} questions", "none was answered twice")
    names = None if clusters is None else again["cluster"].to_numpy()
    questions = Sample.of(again.height, names, confidence_level)
    k = again["k"].to_numpy().astype(np.float64)
    flips = 1 - again["same"].to_numpy() / (k * (k - 1))
    changed = (flips > 0).astype(np.float64)
    once = merge_dropped({"answered once": asked.height - again.height})
    return Retest(
        **replace(questions, dropped=once).facts,
        most_repeats=int(k.max()),
        flip_share=float(flips.mean()),
        interval=questions.share_interval(flips),
        changed_share=float(changed.mean()),
        changed_interval=questions.share_interval(changed),
    )


def measure_retest(rows: BiasRows) -> Retest | None:
    """None if nothing was asked again: most files have no repeats."""
    asked = rows.repeats
    key = pl.concat_str("judge", "id", separator="\x1f")
    if "repeat" not in asked.columns or asked.select(key.is_duplicated().any()).item() is not True:
        return None
    return retest(
        asked.select(key).to_series().to_list(),
        asked["verdict"].to_list(),
        clusters=asked[CLUSTER].to_numpy(),
        confidence_level=rows.confidence_level,
    )
