"""Resample battles as tables of wins, without reading the battles again.

Without prompt ids, drawing N battles with replacement is exactly a multinomial draw over the cells
(pair x outcome). With them, prompts are drawn, each with all its battles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from adjudge.ranking.bradley_terry import Fit
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.validation import FloatArray, IntArray, Seed, count, generator

#: Above this many distinct targets per pair, there are as many cells as battles: nothing is saved.
_FEW = 16
_BATCH_BYTES = 1 << 27
#: Replicates that share one stream of random numbers; the numbers do not depend on the process.
_BLOCK = 500
#: A block of replicates: how many, and the random stream.
Block = tuple[int, np.random.Generator]
#: Applies a function to blocks, in their order: in this process, or by the workers of a cluster.
Mapper = Callable[[Callable[[Block], FloatArray], Sequence[Block]], list[FloatArray]]


def resampled_wins(
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    n: int,
    *,
    replicates: int,
    seed: Seed,
    clusters: IntArray | None = None,
) -> FloatArray:
    """(replicates, n, n) tables of wins, each of one bootstrap sample.

    >>> one = resampled_wins(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.0]), 2,
    ...                      replicates=3, seed=0)
    >>> one.sum(axis=(1, 2))
    array([2., 2., 2.])
    """
    rng = generator(seed)
    # One orientation per pair: the loser's share is the rest of the pair's total.
    flip = a > b
    first, second = np.where(flip, b, a), np.where(flip, a, b)
    y = np.where(flip, 1 - target, target)
    pair = first * n + second
    if clusters is None:
        levels, level = np.unique(y, return_inverse=True)
        if len(levels) <= _FEW:
            return _cells(pair, level, levels, n, len(a), replicates, rng)
        clusters = np.arange(len(a))
    return _clusters(pair, y, clusters, n, replicates, rng)


def _cells(
    pair: IntArray,
    level: IntArray,
    levels: FloatArray,
    n: int,
    total: int,
    replicates: int,
    rng: np.random.Generator,
) -> FloatArray:
    counts = np.bincount(pair * len(levels) + level, minlength=n * n * len(levels))
    cell = np.flatnonzero(counts)
    shares = counts[cell] / total
    where, value = cell // len(levels), levels[cell % len(levels)]
    wins = np.zeros((replicates, n * n))
    met = np.zeros((replicates, n * n))
    for k in range(replicates):
        sample = rng.multinomial(total, shares)
        wins[k] = np.bincount(where, weights=sample * value, minlength=n * n)
        met[k] = np.bincount(where, weights=sample, minlength=n * n)
    return _both_ways(wins, met, n)


def _clusters(
    pair: IntArray,
    y: FloatArray,
    clusters: IntArray,
    n: int,
    replicates: int,
    rng: np.random.Generator,
) -> FloatArray:
    present, code = np.unique(clusters, return_inverse=True)
    groups = len(present)
    won = csr_array((y, (pair, code)), shape=(n * n, groups))
    met = csr_array((np.ones(len(y)), (pair, code)), shape=(n * n, groups))
    weights = cluster_weights(groups, replicates, rng)
    return _both_ways(np.asarray(won @ weights).T, np.asarray(met @ weights).T, n)


def cluster_weights(groups: int, replicates: int, rng: np.random.Generator) -> FloatArray:
    """(groups, replicates): how often each cluster is drawn in each replicate."""
    drawn = rng.integers(0, groups, size=(replicates, groups))
    shifted = drawn + groups * np.arange(replicates)[:, None]
    table = np.bincount(shifted.ravel(), minlength=groups * replicates)
    return table.reshape(replicates, groups).T.astype(np.float64)


def _both_ways(won: FloatArray, met: FloatArray, n: int) -> FloatArray:
    """Both sides' wins from one side's and the battles; both tables are overwritten."""
    lost = np.subtract(met, won, out=met).reshape(-1, n, n)
    wins = won.reshape(-1, n, n)
    wins += lost.swapaxes(-1, -2)
    return wins


def map_here(work: Callable[[Block], FloatArray], blocks: Sequence[Block]) -> list[FloatArray]:
    """One block after the other, in this process."""
    return [work(block) for block in blocks]


def bootstrap_strengths(
    fit: Fit,
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    *,
    replicates: int,
    seed: Seed,
    clusters: IntArray | None = None,
    mapper: Mapper = map_here,
) -> FloatArray:
    """(replicates, n) strengths refitted on resampled battles, started at the fit.

    A resample can leave a model without losses, or without a path to the others. The penalty keeps
    it finite, so with `l2 = 0` the replicates are fitted with a penalty of 1e-4. They are drawn in
    blocks of 500, the first from the seed and every other from its own stream. `mapper` can give
    blocks to other processes; the numbers stay the same.
    """
    replicates = count(replicates, "replicates", least=2)
    rng = generator(seed)
    sizes = [min(_BLOCK, replicates - first) for first in range(0, replicates, _BLOCK)]
    streams = [rng, *rng.spawn(len(sizes) - 1)]
    work = partial(_bootstrap_block, fit, a, b, target, clusters)
    return np.concatenate(mapper(work, list(zip(sizes, streams, strict=True))))


def _bootstrap_block(
    fit: Fit, a: IntArray, b: IntArray, target: FloatArray, clusters: IntArray | None, block: Block
) -> FloatArray:
    replicates, rng = block
    n = len(fit.names)
    theta = np.empty((replicates, n))
    drawn = 0 if clusters is None else int(clusters.max()) + 1
    batch = max(1, _BATCH_BYTES // (8 * max(n * n, drawn)))
    for first in range(0, replicates, batch):
        part = slice(first, min(replicates, first + batch))
        tables = resampled_wins(
            a, b, target, n, replicates=part.stop - first, seed=rng, clusters=clusters
        )
        theta[part] = fit_strengths(tables, l2=fit.l2 or 1e-4, start=fit.theta, tolerance=1e-5)
    return theta
