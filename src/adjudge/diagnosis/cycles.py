"""Directed 3-cycles of one tournament, counted exactly (diagnosis paper, section 3.1).

A complete tournament has a closed form: every triple that is not a cycle has exactly one system
that beats the two others, so cycles = C(n, 3) - sum over systems of C(wins, 2). With ties or
missing edges the count is tr(W^3) / 3 over the decisive edges alone.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.errors import ArgumentError
from adjudge.results.diagnosis import CycleCount
from adjudge.validation import BoolArray, FloatArray, IntArray


def count_cycles(wins: ArrayLike) -> CycleCount:
    """How many decisive triples of a tournament are cycles.

    rate = cycles / triples, which is Eq. 1 of the paper if every edge is decisive. Without a
    decisive triple there is no rate.

    Args:
        wins: `wins[i, j]` is true if i beats j. If neither is true, the edge is a tie or missing,
            and in no decisive triple.

    >>> rock_paper_scissors = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> count_cycles(rock_paper_scissors)
    CycleCount(models=3, cycles=1, triples=1, complete=True)
    >>> count_cycles([[0, 1, 1], [0, 0, 0], [0, 0, 0]]).rate is None  # second against third: tied
    True
    """
    beats = win_matrix(wins)
    n = len(beats)
    out = beats.sum(axis=1, dtype=np.int64)
    if int(out.sum()) == comb(n, 2):
        cycles = int(complete_cycles(out))
        return CycleCount(models=n, cycles=cycles, triples=comb(n, 3), complete=True)
    [cycles], [triples] = (counts.tolist() for counts in batch_cycles(beats[None]))
    return CycleCount(models=n, cycles=cycles, triples=triples, complete=False)


def complete_cycles(wins: IntArray) -> IntArray:
    """C(n, 3) - sum C(wins_i, 2): 3-cycles of complete tournaments from their score sequences.

    >>> complete_cycles(np.array([[1, 1, 1], [2, 1, 0]]))
    array([1, 0])
    """
    beaten_pairs = (wins * (wins - 1) // 2).sum(axis=-1)
    return np.asarray(comb(wins.shape[-1], 3) - beaten_pairs, dtype=np.int64)


def batch_cycles(beats: BoolArray) -> tuple[IntArray, IntArray]:
    """Cycles and decisive triples of a stack of tournaments, shape (batch, n, n), by matrices.

    Entries of W @ W count two-step paths, at most n of them, so float32 is exact; the sums over
    them use float64.
    """
    w = beats.astype(np.float32)
    either = w + w.transpose(0, 2, 1)
    closed = np.einsum("bij,bji->b", w @ w, w, dtype=np.float64)
    triangles = np.einsum("bij,bij->b", either @ either, either, dtype=np.float64)
    return np.rint(closed / 3).astype(np.int64), np.rint(triangles / 6).astype(np.int64)


def cyclic_triples(
    wins: ArrayLike, margins: FloatArray | None = None, *, limit: int | None = None
) -> list[tuple[int, int, int]]:
    """The triples (i, j, k) with i over j, j over k, k over i; i is the smallest index.

    With `margins[i, j]`, how sure the judge was of each edge, the cycles with the strongest weakest
    edge come first: chance does not explain those.

    >>> cyclic_triples([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    [(0, 1, 2)]
    """
    beats = win_matrix(wins)
    triples: list[tuple[int, int, int]] = []
    for i in range(len(beats)):
        later = np.arange(i + 1, len(beats))
        losers, winners = later[beats[i, later]], later[beats[later, i]]
        first, second = np.nonzero(beats[np.ix_(losers, winners)])
        triples.extend(
            (i, int(j), int(k)) for j, k in zip(losers[first], winners[second], strict=True)
        )
        if margins is None and limit is not None and len(triples) >= limit:
            break
    if margins is not None:
        sure = margins
        triples.sort(key=lambda t: -min(sure[t[0], t[1]], sure[t[1], t[2]], sure[t[2], t[0]]))
    return triples[:limit]


def win_matrix(wins: ArrayLike) -> BoolArray:
    """A checked win matrix: square, 0 or 1, no system beats itself, no edge in both directions."""
    given = np.asarray(wins)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ArgumentError("wins", f"shape {given.shape}", "give a square matrix")
    beats: NDArray[np.bool_] = given == 1
    if not (beats | (given == 0)).all():
        raise ArgumentError("wins", given.dtype, "give 0 or 1 (or False and True) only")
    if beats.diagonal().any():
        at = int(np.flatnonzero(beats.diagonal())[0])
        raise ArgumentError(f"wins[{at}, {at}]", 1, "a system cannot beat itself")
    both = beats & beats.T
    if both.any():
        i, j = (int(x[0]) for x in np.nonzero(both))
        raise ArgumentError(f"wins[{i}, {j}]", 1, f"{j} beats {i} too: combine the verdicts first")
    return beats
