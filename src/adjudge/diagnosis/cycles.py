"""Directed 3-cycles of tournaments, and how many a transitive but noisy judge would show.

Counts are exact (diagnosis paper, section 3.1). A complete tournament has a closed form: every
triple that is not a cycle has exactly one system that beats the two others, so cycles = C(n, 3) -
sum over systems of C(wins, 2). With ties or missing edges the count is tr(W^3) / 3 over the
decisive edges alone.

A transitive but noisy judge has one strength per model: P(i over j) = sigma(theta_i - theta_j)
(Bradley-Terry). Its verdicts contain cycles too, so a rate has a meaning only in comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from adjudge.data.tournaments import Tournaments
from adjudge.errors import ArgumentError
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator

#: Bytes in memory while redrawing.
_CHUNK = 128 * 2**20


@dataclass(frozen=True, kw_only=True)
class CycleCount:
    """Directed 3-cycles among the decisive triples of one tournament."""

    models: int
    cycles: int
    triples: int
    complete: bool

    @property
    def rate(self) -> float | None:
        """cycles / triples; None if no triple is decisive."""
        return self.cycles / self.triples if self.triples else None


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
    cycles_of, triples_of = batch_cycles(beats[None])
    cycles = int(cycles_of[0])
    return CycleCount(models=n, cycles=cycles, triples=int(triples_of[0]), complete=False)


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
        losers = later[beats[i, later]]
        winners = later[beats[later, i]]
        first, second = np.nonzero(beats[np.ix_(losers, winners)])
        triples.extend(
            (i, int(j), int(k)) for j, k in zip(losers[first], winners[second], strict=True)
        )
        if margins is None and limit is not None and len(triples) >= limit:
            break
    if margins is not None:
        sure = margins

        def weakest_edge(triple: tuple[int, int, int]) -> float:
            i, j, k = triple
            return float(min(sure[i, j], sure[j, k], sure[k, i]))

        triples.sort(key=weakest_edge, reverse=True)
    return triples[:limit]


def win_matrix(wins: ArrayLike) -> BoolArray:
    """A checked win matrix: square, 0 or 1, no system beats itself, no edge in both directions."""
    matrix = np.asarray(wins)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ArgumentError("wins", f"shape {matrix.shape}", "give a square matrix")
    beats: NDArray[np.bool_] = matrix == 1
    if not (beats | (matrix == 0)).all():
        raise ArgumentError("wins", matrix.dtype, "give 0 or 1 (or False and True) only")
    if beats.diagonal().any():
        at = int(np.flatnonzero(beats.diagonal())[0])
        raise ArgumentError(f"wins[{at}, {at}]", 1, "a system cannot beat itself")
    both = beats & beats.T
    if both.any():
        i, j = np.argwhere(both)[0].tolist()
        raise ArgumentError(f"wins[{i}, {j}]", 1, f"{j} beats {i} too: combine the verdicts first")
    return beats


# --- from noise ------------------------------------------------------------------------------


def document_cycles(
    tournaments: Tournaments, *, replicates: int, seed: Seed
) -> tuple[IntArray, IntArray, dict[str, Any]]:
    """Cycles and decisive triples of each document, and what a noisy judge would show.

    Fits Bradley-Terry to the decisive edges, redraws each of them, counts again. The fields of
    `TransitivityGroup` about the redraws have their middle 95 % as intervals; there are none if no
    document has a decisive triple. Ties and missing edges stay unchanged. Differences in quality
    between documents count as noise here. `p_value` is (1 + redraws with a mean rate at least the
    judge's) / (1 + redraws).

    A second redraw makes the same judge surer or less sure, theta -> c theta, until its mean rate
    is the observed one (None if no scale gives it). Its share of documents with a cycle shows
    whether the cycles are concentrated in a few documents (observed share below it).
    """
    random = generator(seed)
    decisive = tournaments.winner != 0
    document = tournaments.document[decisive]
    i = tournaments.first[decisive]
    j = tournaments.second[decisive]
    won = tournaments.winner[decisive] > 0
    size = len(tournaments.models)
    documents = len(tournaments.documents)
    [observed], triples = _count_draws(document, i, j, won[None], documents, size)
    counted = triples > 0
    if not counted.any():
        return observed, triples, {}
    judge_rate = float((observed[counted] / triples[counted]).mean())
    winner = np.where(won, i, j)
    loser = np.where(won, j, i)
    wins = np.bincount(winner * size + loser, minlength=size * size).reshape(size, size)
    strengths = fit_strengths(wins.astype(np.float64))
    gap = strengths[i] - strengths[j]
    step = max(1, _CHUNK // (24 * len(gap) + 12 * documents * size * size))

    def redraw(
        scale: float, times: int, source: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        chance = expit(scale * gap)
        rates = np.empty(times)
        shares = np.empty(times)
        for start in range(0, times, step):
            batch = slice(start, min(times, start + step))
            drawn = source.random((batch.stop - start, len(chance))) < chance
            cycles, _ = _count_draws(document, i, j, drawn, documents, size)
            rates[batch] = (cycles[:, counted] / triples[counted]).mean(axis=1)
            shares[batch] = (cycles[:, counted] > 0).mean(axis=1)
        return rates, shares

    rates, shares = redraw(1.0, replicates, random)
    # Means of equal rates can differ in the last bit; equal values count against the judge.
    reached = int((rates >= judge_rate - 1e-12).sum())
    same_rate = _same_rate(judge_rate, redraw, replicates, int(random.integers(2**32)))
    expected = {
        **_middle(rates, "expected_rate", "expected_rate_interval"),
        **_middle(shares, "expected_share", "expected_share_interval"),
        "p_value": (1 + reached) / (1 + replicates),
        **same_rate,
    }
    return observed, triples, expected


_Redraw = Callable[[float, int, np.random.Generator], tuple[FloatArray, FloatArray]]


def _same_rate(judge_rate: float, redraw: _Redraw, replicates: int, seed: int) -> dict[str, Any]:
    """The share with a cycle at the scale whose mean rate is that of the judge."""
    names = "same_rate_share", "same_rate_interval"
    if judge_rate == 0:
        return _middle(np.zeros(1), *names)
    few = min(replicates, 40)

    def rate_at(log_scale: float) -> float:
        # The same draws at every scale, so that the search follows a curve and not noise.
        rates, _ = redraw(np.exp(log_scale), few, np.random.default_rng(seed))
        return float(rates.mean())

    low = -4.0
    high = 5.0
    if rate_at(low) < judge_rate or rate_at(high) > judge_rate:
        return {}
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if rate_at(middle) > judge_rate else (low, middle)
    _, shares = redraw(np.exp((low + high) / 2), replicates, np.random.default_rng(seed + 1))
    return _middle(shares, *names)


def _middle(draws: FloatArray, mean: str, interval: str) -> dict[str, Any]:
    """Two fields: the mean, and the ends of the middle 95 %."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return {mean: float(draws.mean()), interval: Interval(float(low), float(high), level=0.95)}


def _count_draws(
    document: IntArray, i: IntArray, j: IntArray, won: BoolArray, documents: int, size: int
) -> tuple[IntArray, IntArray]:
    """Cycles (draws, documents) and decisive triples (documents,) of each draw of the edges."""
    draws = len(won)
    beats = np.zeros((draws, documents, size, size), dtype=bool)
    beats[:, document, i, j] = won
    beats[:, document, j, i] = ~won
    cycles, triples = batch_cycles(beats.reshape(draws * documents, size, size))
    return cycles.reshape(draws, documents), triples.reshape(draws, documents)[0]
