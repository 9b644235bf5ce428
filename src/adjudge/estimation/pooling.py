"""Does the judge err alike on every group? What pooling the confusion matrix takes for granted."""

from __future__ import annotations

import numpy as np

from adjudge._validation import FloatArray, IntArray
from adjudge.estimation.sample import Sample

POOLING = (
    "one confusion matrix for all groups is right only if the judge errs alike on each of them; "
    "where it does not, the interval misses the truth however many rows there are (measured on "
    "trivia answers of eight models: a 95 % interval covered 40 % for one of them). Calibrate per "
    "group unless you know better"
)


def judge_differs(
    sample: Sample, groups: IntArray, size: int, rng: np.random.Generator, *, draws: int = 1999
) -> float | None:
    """Permutation p-value for "sensitivity and specificity are the same in every group".

    Pearson's statistic of verdict by group, summed over the two human classes; groups are permuted
    within a class, so the false-alarm rate is exact. Few labels per group see little: a large
    p-value is no licence to pool. None when no class has labels in two groups, or for
    probabilities.
    """
    if sample.scale != "binary":
        return None
    observed, drawn, any_table = 0.0, np.zeros(draws), False
    for rows in (sample.negative, sample.positive):
        sizes = np.bincount(groups[rows], minlength=size)
        sizes_used = sizes[sizes > 0]
        ones = int((sample.judge[rows] == 1).sum())
        total = int(sizes.sum())
        if len(sizes_used) < 2 or ones in (0, total):
            continue
        any_table = True
        hits = np.bincount(groups[rows], weights=sample.judge[rows], minlength=size)[sizes > 0]
        observed += float(_pearson(hits[None, :], sizes_used, ones, total)[0])
        permuted = rng.multivariate_hypergeometric(sizes_used, ones, size=draws)
        drawn += _pearson(permuted, sizes_used, ones, total)
    if not any_table:
        return None
    return float((1 + (drawn >= observed - 1e-9).sum()) / (draws + 1))


def _pearson(hits: np.ndarray, sizes: IntArray, ones: int, total: int) -> FloatArray:
    share = ones / total
    gap = hits - sizes * share
    return np.asarray((gap**2 / (sizes * share * (1 - share))).sum(axis=1))
