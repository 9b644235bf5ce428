"""How many cycles a transitive but noisy judge would show on the same comparisons.

Such a judge has one strength per model and random verdicts: P(i over j) = sigma(theta_i - theta_j)
(Bradley-Terry). It has no circular preferences, but its verdicts contain cycles, and the more
triples there are, the more documents have one. A rate has a meaning only in comparison with that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.special import expit

from adjudge.data.tournaments import Tournaments
from adjudge.diagnosis.cycles import batch_cycles, complete_cycles
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, count, generator

#: Bytes in memory while redrawing.
_CHUNK = 128 * 2**20
_Redraw = Callable[[float, int, np.random.Generator], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class ExpectedCycles:
    """Mean rate and share over the redraws, their middle 95 %, and how the judge compares.

    `p_value` is (1 + redraws with a mean rate at least the judge's) / (1 + redraws).
    `same_rate_share` is the share of documents with a cycle if the judge's own rate is spread at
    random over the documents; None if no judge of this family has that rate. All are None if no
    document has a decisive triple.
    """

    expected_rate: float | None = None
    expected_rate_low: float | None = None
    expected_rate_high: float | None = None
    expected_share: float | None = None
    expected_share_low: float | None = None
    expected_share_high: float | None = None
    p_value: float | None = None
    same_rate_share: float | None = None
    same_rate_low: float | None = None
    same_rate_high: float | None = None


def expected_cycles(
    tournaments: Tournaments, *, replicates: int = 200, seed: Seed = 0
) -> ExpectedCycles:
    """Fit Bradley-Terry to the decisive edges, redraw each of them, count again.

    Ties and missing edges stay unchanged, so the design is the same. Differences in quality between
    documents count as noise here: a judge that detects them is below this rate, and a judge above
    it is more inconsistent than noise explains.

    A second redraw makes the same judge surer or less sure, theta -> c theta, until its mean rate
    is the observed one. Its share of documents with a cycle shows whether the cycles are
    concentrated in a few documents (observed share below it) or spread at random.
    """
    count(replicates, "replicates", least=1)
    random = generator(seed)
    decisive = tournaments.winner != 0
    document = tournaments.document[decisive]
    i, j = tournaments.first[decisive], tournaments.second[decisive]
    won = tournaments.winner[decisive] > 0
    size, documents = len(tournaments.models), len(tournaments.documents)
    observed, triples = _cycles(document, i, j, won[None], documents, size)
    counted = triples > 0
    if not counted.any():
        return ExpectedCycles()
    own = float((observed[:, counted] / triples[counted]).mean())
    winner, loser = np.where(won, i, j), np.where(won, j, i)
    wins = np.bincount(winner * size + loser, minlength=size * size).reshape(size, size)
    strengths = fit_strengths(wins.astype(np.float64))
    gap = strengths[i] - strengths[j]
    step = max(1, _CHUNK // (24 * len(gap) + 12 * documents * size * size))

    def redraw(
        scale: float, times: int, source: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        chance = expit(scale * gap)
        rates, shares = np.empty(times), np.empty(times)
        for start in range(0, times, step):
            part = slice(start, min(times, start + step))
            drawn = source.random((part.stop - start, len(chance))) < chance
            cycles, _ = _cycles(document, i, j, drawn, documents, size)
            rates[part] = (cycles[:, counted] / triples[counted]).mean(axis=1)
            shares[part] = (cycles[:, counted] > 0).mean(axis=1)
        return rates, shares

    rates, shares = redraw(1.0, replicates, random)
    rate, rate_low, rate_high = _middle(rates)
    share, share_low, share_high = _middle(shares)
    # Means of equal rates can differ in the last bit; equal values count against the judge.
    reached = int((rates >= own - 1e-12).sum())
    same, same_low, same_high = _same_rate(own, redraw, replicates, int(random.integers(2**32)))
    return ExpectedCycles(
        expected_rate=rate,
        expected_rate_low=rate_low,
        expected_rate_high=rate_high,
        expected_share=share,
        expected_share_low=share_low,
        expected_share_high=share_high,
        p_value=(1 + reached) / (1 + replicates),
        same_rate_share=same,
        same_rate_low=same_low,
        same_rate_high=same_high,
    )


def _same_rate(
    own: float, redraw: _Redraw, replicates: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    """Mean and middle 95 % of the share with a cycle at the scale whose mean rate is `own`."""
    if own == 0:
        return 0.0, 0.0, 0.0
    few = min(replicates, 40)

    def rate_at(log_scale: float) -> float:
        # The same draws at every scale, so that the search follows a curve and not noise.
        rates, _ = redraw(np.exp(log_scale), few, np.random.default_rng(seed))
        return float(rates.mean())

    low, high = -4.0, 5.0
    if rate_at(low) < own or rate_at(high) > own:
        return None, None, None
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if rate_at(middle) > own else (low, middle)
    _, shares = redraw(np.exp((low + high) / 2), replicates, np.random.default_rng(seed + 1))
    return _middle(shares)


def _middle(draws: FloatArray) -> tuple[float, float, float]:
    """The mean, and the ends of the middle 95 %."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.mean()), float(low), float(high)


def _cycles(
    document: IntArray, i: IntArray, j: IntArray, won: BoolArray, documents: int, size: int
) -> tuple[IntArray, IntArray]:
    """Cycles (draws, documents) and decisive triples (documents,) of each draw of the edges."""
    draws = len(won)
    if (np.bincount(document, minlength=documents) == comb(size, 2)).all():
        offset = np.arange(draws)[:, None] * (documents * size)
        slot = offset + document * size + np.where(won, i, j)
        wins = np.bincount(slot.ravel(), minlength=draws * documents * size)
        cycles = complete_cycles(wins.reshape(draws, documents, size))
        return cycles, np.full(documents, comb(size, 3), dtype=np.int64)
    beats = np.zeros((draws, documents, size, size), dtype=bool)
    beats[:, document, i, j] = won
    beats[:, document, j, i] = ~won
    cycles, triples = batch_cycles(beats.reshape(-1, size, size))
    return cycles.reshape(draws, documents), triples.reshape(draws, documents)[0]
