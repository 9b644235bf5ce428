"""Test and retest: does the judge give the same answer when it is asked again?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.diagnosis._intervals import codes_of, count_clusters, share_interval
from adjudge.errors import ArgumentError
from adjudge.results.bias import Retest
from adjudge.validation import open_unit, same_length


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
    open_unit(confidence_level, "confidence_level")
    n = same_length(ids=ids, answers=answers)
    rows = pl.DataFrame(
        {
            "id": [str(one) for one in ids],
            "answer": ["" if one is None else str(one) for one in answers],
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
    k = again["k"].to_numpy().astype(np.float64)
    flips = 1 - again["same"].to_numpy() / (k * (k - 1))
    changed = (flips > 0).astype(np.float64)
    codes = codes_of(None if clusters is None else again["cluster"].to_numpy(), again.height)
    low, high = share_interval(flips, codes, confidence_level)
    changed_low, changed_high = share_interval(changed, codes, confidence_level)
    return Retest(
        n=again.height,
        clusters=count_clusters(codes),
        most_repeats=int(k.max()),
        flip_share=float(flips.mean()),
        low=low,
        high=high,
        changed_share=float(changed.mean()),
        changed_low=changed_low,
        changed_high=changed_high,
        dropped=merge_dropped({"answered once": asked.height - again.height}),
        confidence_level=confidence_level,
    )
