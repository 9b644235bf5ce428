"""Clusters: rows of one prompt are alike, so they count together.

One rule for every analysis. The column is the named one, or prompt_id if it repeats. A row without
a cluster value is a cluster of one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.io.tables import as_text
from adjudge.rows.columns import code_column, text_column
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import IntArray, Seed, generator

#: The cluster column if none is named.
DEFAULT_CLUSTER = "prompt_id"


def cluster_column(
    frame: pl.DataFrame, cluster: str | None, *, within: Sequence[str] = ()
) -> str | None:
    """The column whose repeats are not independent; None if all rows are independent.

    `cluster` names it. "auto" is prompt_id if it repeats (among rows with equal values in the
    columns `within`: two judges of one prompt are not a repeat). None and "none": no clusters.

    >>> frame = pl.DataFrame({"judge": ["x", "x", "y"], "prompt_id": ["p", "q", "p"]})
    >>> cluster_column(frame, "auto"), cluster_column(frame, "auto", within=["judge"])
    ('prompt_id', None)
    """
    if cluster is None or cluster == "none":
        return None
    if cluster != "auto":
        text_column(frame, cluster, "cluster")
        return cluster
    if DEFAULT_CLUSTER not in frame.columns:
        return None
    named = frame.filter(pl.col(DEFAULT_CLUSTER).is_not_null())
    repeats = named.select(*within, DEFAULT_CLUSTER).is_duplicated().any()
    return DEFAULT_CLUSTER if repeats else None


def code_clusters(values: pl.Series, rows: pl.Series | None = None) -> IntArray:
    """The column as codes 0..G-1 in order of first appearance, by the rule of `cluster_codes`.

    >>> code_clusters(pl.Series(["p", None, "p", None])).tolist()
    [0, 1, 0, 2]
    """
    keys = as_text(values)
    if keys.null_count():
        names = pl.Series(range(len(values))) if rows is None else rows
        own = pl.concat_str(pl.lit("row "), names.cast(pl.String))
        shared = pl.concat_str(pl.lit("cluster "), keys)
        keys = pl.select(pl.when(keys.is_null()).then(own).otherwise(shared)).to_series()
    if keys.n_unique() == len(keys):
        return np.arange(len(keys))
    return code_column(keys)[0]


def one_row_per_cluster(clusters: ArrayLike | Sequence[object], *, seed: Seed = 0) -> IntArray:
    """The positions of one uniformly random row of every cluster, in row order.

    Rows of one prompt are alike, so 20 prompts of 10 rows have little more information than 20
    rows: treated as 200, an error rate of 0.2 was certified as 0.1 (mean share 0.17). The promise
    is then about one row of a new prompt, and each prompt has the same weight.

    >>> one_row_per_cluster(["p", "p", "q", None, None], seed=0).tolist()
    [1, 2, 3, 4]
    """
    codes, groups = cluster_codes(np.asarray(clusters, dtype=object))
    if groups == len(codes):
        return np.arange(len(codes))
    order = np.lexsort((generator(seed).random(len(codes)), codes))
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.sort(order[first])
