"""Battles as totals per pair, which is all that Bradley-Terry needs, in one pass of `bincount`.

Targets are about model_a: 1 it won, 0 it lost, one half a tie.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError
from adjudge.rows.battles import Battles
from adjudge.rows.outcomes import code_names, outcome_targets
from adjudge.validation import FloatArray, IntArray


def count_wins(
    model_a: Iterable[Any], model_b: Iterable[Any], target: Iterable[Any]
) -> tuple[tuple[str, ...], FloatArray]:
    """Sorted names and the table of wins of battles given as columns.

    A tie is half a win for both. Battles of a model with itself and battles without an outcome do
    not count.

    Args:
        model_a: First model of each battle.
        model_b: Second model of each battle.
        target: Outcome of each battle: words ("A", "model_a", "tie", ...) or probabilities that
            model_a won.

    >>> names, wins = count_wins(["x", "y", "x"], ["y", "x", "z"], ["A", "tie", "B"])
    >>> names, wins.tolist()
    (('x', 'y', 'z'), [[0.0, 1.5, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    """
    names, a, b = code_names(_series(model_a), _series(model_b))
    outcome = _series(target)
    if outcome.dtype.is_numeric():
        y = outcome.cast(pl.Float64).to_numpy()
        if np.any((y < 0) | (y > 1)):
            raise ArgumentError("target", "outside [0, 1]", "give probabilities that model_a won")
    else:
        y = outcome_targets(outcome, "target")
    usable = np.isfinite(y) & (a >= 0) & (b >= 0) & (a != b)
    if not usable.all():
        a, b, y = a[usable], b[usable], y[usable]
    return names, wins_table(a, b, y, len(names))


def _series(values: Iterable[Any]) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray) and values.dtype != object:
        return pl.Series("values", values)
    # pandas marks a missing text by NaN, which is not equal to itself.
    return pl.Series("values", [None if v != v else v for v in values], strict=False)


def wins_table(
    a: IntArray, b: IntArray, target: FloatArray, n: int, weight: FloatArray | None = None
) -> FloatArray:
    """wins[i, j]: the total target with which i beat j."""
    w = target if weight is None else target * weight
    lost: FloatArray = 1.0 - target if weight is None else weight - w
    cell = a * n + b
    # The loser's share is counted in the same orientation, then transposed: one key array for both.
    won = np.bincount(cell, weights=w, minlength=n * n).reshape(n, n)
    gave = np.bincount(cell, weights=lost, minlength=n * n).reshape(n, n)
    return np.asarray(won + gave.T, dtype=np.float64)


def battles_per_model(a: IntArray, b: IntArray, n: int) -> IntArray:
    """How many battles each model fought."""
    return np.bincount(a, minlength=n) + np.bincount(b, minlength=n)


def target_battles(battles: Battles, target: FloatArray) -> tuple[Battles, FloatArray]:
    """The battles that have a target, and the targets."""
    known = np.isfinite(target)
    if known.all():
        return battles, target
    return battles.take(known), target[known]
