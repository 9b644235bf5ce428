"""Targets for Bradley-Terry: hard verdicts, calibrated probabilities, smoothed verdicts.

A rule says what every battle's target is when model m is left out. Hard verdicts are the same in
every fold; the temperature of soft targets and the constant of chosen smoothing are refitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit

from adjudge._validation import BoolArray, FloatArray, IntArray, positive
from adjudge.errors import ArgumentError
from adjudge.ranking.counts import wins_table
from adjudge.ranking.temperature import fold_temperatures
from adjudge.rows.battles import Battles


def soft_targets(score: ArrayLike, beta: float) -> FloatArray:
    """sigma(beta s): the calibrated probability that A wins (Eq. 5).

    >>> soft_targets([0.0, 2.0, -2.0], 0.5).round(3)
    array([0.5  , 0.731, 0.269])
    """
    s = np.asarray(score, dtype=np.float64)
    return np.asarray(expit(positive(beta, "beta") * s), dtype=np.float64)


def smoothed_targets(verdict: ArrayLike, constant: float) -> FloatArray:
    """Verdicts pulled to `constant` and 1 - `constant`, ties left at one half (appendix H).

    >>> smoothed_targets([1, 0, 0.5], 0.75).tolist()
    [0.75, 0.25, 0.5]
    """
    if not 0.5 < constant <= 1:
        raise ArgumentError("smoothing", constant, "give a constant above 0.5, at most 1")
    v = np.asarray(verdict, dtype=np.float64)
    return 0.5 + (2 * constant - 1) * (v - 0.5)


def agreement_share(verdict: FloatArray, human: FloatArray) -> tuple[float | None, int]:
    """Share of votes that go the judge's way where both chose a side, and how many there are.

    This is the maximum likelihood constant of label smoothing: the temperature of sign(s).
    """
    both = decided_by_both(verdict, human)
    n = int(both.sum())
    return (float((verdict[both] == human[both]).mean()), n) if n else (None, 0)


def decided_by_both(verdict: FloatArray, human: FloatArray) -> BoolArray:
    """Battles where the judge and people both chose a side."""
    sides = (0.0, 1.0)
    return np.asarray(np.isin(verdict, sides) & np.isin(human, sides))


@dataclass(frozen=True)
class Rule:
    """Targets per fold. `rows` are the battles that have one.

    `targets(m)` gives those rows' targets when model m is left out, `tables(folds)` their totals as
    (folds, n, n) tables of wins, model m's own battles included. `parameter` is what was refitted
    in each fold (NaN where it could not be), `usable` the folds that have targets at all.
    """

    name: str
    rows: IntArray
    targets: Callable[[int], FloatArray]
    tables: Callable[[IntArray], FloatArray]
    parameter: FloatArray | None
    usable: BoolArray


def fixed_rule(name: str, battles: Battles, target: FloatArray) -> Rule:
    """The same targets in every fold: people's votes, hard verdicts, a fixed smoothing."""
    rows = np.flatnonzero(np.isfinite(target))
    y = target[rows]
    n = battles.n_models
    table = wins_table(battles.a[rows], battles.b[rows], y, n)
    return Rule(
        name=name,
        rows=rows,
        targets=lambda m: y,
        tables=lambda folds: np.repeat(table[None], len(folds), axis=0),
        parameter=None,
        usable=np.ones(n, dtype=bool),
    )


def soft_rule(battles: Battles) -> Rule:
    """sigma(beta_m s), beta_m fitted without model m's battles."""
    if battles.score is None or battles.human is None:
        raise ArgumentError("method", "soft-elo", "give battles with judge scores and human votes")
    n = battles.n_models
    beta = fold_temperatures(battles.score, battles.human, battles.a, battles.b, n)
    rows = np.flatnonzero(np.isfinite(battles.score))
    a, b, s = battles.a[rows], battles.b[rows], battles.score[rows]
    tables = soft_tables(a, b, s, n)
    return Rule(
        name="soft-elo",
        rows=rows,
        targets=lambda m: np.asarray(expit(beta[m] * s)),
        tables=lambda folds: tables(beta[folds]),
        parameter=beta,
        usable=np.isfinite(beta) & (np.nan_to_num(beta) > 0),
    )


def soft_tables(
    a: IntArray, b: IntArray, score: FloatArray, n: int
) -> Callable[[FloatArray], FloatArray]:
    """A function from temperatures to tables of wins, without a pass over the battles each time.

    Battles are counted by (pair, distinct |s|) once. sigma(-x) = 1 - sigma(x), so one orientation
    per pair is enough, and all temperatures are one sparse product.
    """
    flip = a > b
    pair = np.where(flip, b * n + a, a * n + b)
    oriented = np.where(flip, -score, score)
    levels, level = np.unique(oriented, return_inverse=True)
    counts = csr_array((np.ones(len(pair)), (pair, level)), shape=(n * n, len(levels)))
    met: FloatArray = np.asarray(counts.sum(axis=1), dtype=np.float64).reshape(n, n)

    def tables(beta: FloatArray) -> FloatArray:
        p = expit(np.asarray(beta)[None, :] * levels[:, None])
        won: FloatArray = np.asarray(counts @ p, dtype=np.float64).T.reshape(-1, n, n)
        lost: FloatArray = met - won
        return won + lost.swapaxes(-1, -2)

    return tables


def smoothed_rule(battles: Battles) -> Rule:
    """Smoothing whose constant is the agreement share without model m's battles."""
    if battles.verdict is None or battles.human is None:
        remedy = "give battles with judge verdicts and human votes"
        raise ArgumentError("method", "smoothed", remedy)
    n = battles.n_models
    both = decided_by_both(battles.verdict, battles.human)
    agree = (battles.verdict == battles.human)[both]
    a, b = battles.a[both], battles.b[both]

    def without(values: FloatArray) -> FloatArray:
        own = np.bincount(a, weights=values, minlength=n)
        own += np.bincount(b, weights=values, minlength=n)
        return np.asarray(values.sum() - own)

    hits, seen = without(agree.astype(np.float64)), without(np.ones(len(agree)))
    constant = np.full(n, np.nan)
    np.divide(hits, seen, out=constant, where=seen > 0)
    rows = np.flatnonzero(np.isfinite(battles.verdict))
    v = battles.verdict[rows]
    hard = wins_table(battles.a[rows], battles.b[rows], v, n)
    half = (hard + hard.T) / 2

    def tables(folds: IntArray) -> FloatArray:
        stretch = (2 * constant[folds] - 1)[:, None, None]
        return half + stretch * (hard - half)

    return Rule(
        name="smoothed",
        rows=rows,
        targets=lambda m: 0.5 + (2 * constant[m] - 1) * (v - 0.5),
        tables=tables,
        parameter=constant,
        usable=np.isfinite(constant) & (np.nan_to_num(constant) > 0.5),
    )
