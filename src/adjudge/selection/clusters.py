"""Repeated prompts: one random row of each, so that calibration rows are exchangeable again."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjudge._stats import cluster_codes
from adjudge._validation import IntArray, Seed, generator


def one_row_per_cluster(clusters: ArrayLike, *, rng: Seed = 0) -> IntArray:
    """The positions of one uniformly random row of every cluster, in row order.

    Rows of one prompt are alike, so that 20 prompts of 10 rows know little more than 20 rows
    do: taken as 200, error 0.2 passed for 0.1 (mean share 0.17). The promise is then about one
    row of a new prompt, each prompt counting the same.

    A row without a cluster (None) is a cluster of its own.

    >>> one_row_per_cluster(["p", "p", "q", None, None], rng=0).tolist()
    [1, 2, 3, 4]
    """
    keys: list[object] = [
        ("row", position) if key is None else ("cluster", key)
        for position, key in enumerate(np.asarray(clusters, dtype=object).tolist())
    ]
    codes, groups = cluster_codes(keys)
    if groups == len(codes):
        return np.arange(len(codes))
    order = np.lexsort((generator(rng).random(len(codes)), codes))
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.sort(order[first])
