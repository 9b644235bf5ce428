"""Bradley-Terry of battles: tables of wins, strengths, standard errors, resampling, ranks.

Totals per pair are all that Bradley-Terry needs; they take one pass of `bincount`. Targets are
about model_a: 1 it won, 0 it lost, one half a tie. The solver is `adjudge.statistics`'.

Battles are resampled as tables of wins, without reading them again. Without prompt ids, drawing N
battles with replacement is exactly a multinomial draw over the cells (pair x outcome). With them,
prompts are drawn, each with all its battles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit

from adjudge.data.battles import Battles
from adjudge.data.outcomes import code_names, outcome_targets
from adjudge.errors import ArgumentError
from adjudge.statistics.bradley_terry import (
    DEFAULT_L2,
    ELO_PER_UNIT,
    connected_groups,
    dominance_groups,
    fit_strengths,
    to_elo,
)
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    generator,
    non_negative,
)

#: Above this many distinct targets per pair, there are as many cells as battles: nothing is saved.
_FEW = 16
_BATCH_BYTES = 1 << 27


# --- battles as tables of wins ---


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
    names, a, b = code_names(_as_series(model_a), _as_series(model_b))
    outcome = _as_series(target)
    if outcome.dtype.is_numeric():
        y = outcome.cast(pl.Float64).to_numpy()
        if np.any((y < 0) | (y > 1)):
            raise ArgumentError("target", "outside [0, 1]", "give probabilities that model_a won")
    else:
        y = outcome_targets(outcome, "target")
    usable = np.isfinite(y) & (a >= 0) & (b >= 0) & (a != b)
    if not usable.all():
        a = a[usable]
        b = b[usable]
        y = y[usable]
    return names, wins_table(a, b, y, len(names))


def _as_series(values: Iterable[Any]) -> pl.Series:
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


def wins_of(battles: Battles, target: FloatArray) -> FloatArray:
    """The table of wins of these battles, weighted as they are."""
    return wins_table(battles.a, battles.b, target, battles.n_models, battles.weights)


def square(wins: ArrayLike) -> FloatArray:
    """A checked table of wins with an empty diagonal."""
    table = np.array(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ArgumentError("wins", f"shape {table.shape}", "give a square table, wins[i, j]")
    if not np.isfinite(table).all() or np.any(table < 0):
        raise ArgumentError("wins", "negative or missing", "give counts that are not negative")
    np.fill_diagonal(table, 0.0)
    return table


def battles_per_model(a: IntArray, b: IntArray, n: int) -> IntArray:
    """How many battles each model fought."""
    return np.bincount(a, minlength=n) + np.bincount(b, minlength=n)


def target_battles(battles: Battles, target: FloatArray) -> tuple[Battles, FloatArray]:
    """The battles that have a target, and the targets."""
    has_target = np.isfinite(target)
    if has_target.all():
        return battles, target
    return battles.take(has_target), target[has_target]


# --- strengths ---


@dataclass(frozen=True)
class Fit:
    """Strengths `theta` (mean 0 in every component), their `elo`, and their inputs."""

    names: tuple[str, ...]
    wins: FloatArray
    theta: FloatArray
    l2: float
    structure: Structure

    @property
    def elo(self) -> FloatArray:
        """1500 + (400 / ln 10) theta."""
        return to_elo(self.theta)

    def inverse_information(self) -> FloatArray:
        """The information's inverse within components, with strengths constrained to mean 0."""
        component = self.structure.component
        size = np.bincount(component)
        # Added along each component's mean, and subtracted again after inversion.
        pin = (component[:, None] == component[None, :]) / size[component][:, None]
        hessian = information(self.wins + self.wins.T, self.theta, self.l2)
        return np.asarray(np.linalg.inv(hessian - 2 * self.l2 * pin + pin) - pin)


def bradley_terry(
    wins: ArrayLike, *, names: tuple[str, ...] | None = None, l2: float = DEFAULT_L2
) -> Fit:
    """Fit  argmax sum_ij wins_ij log sigma(theta_i - theta_j) - l2 |theta|^2   (Eq. 1).

    Models that were never compared, even through other models, are fitted separately and are not on
    one scale. A model that won or lost everything has no finite maximum. The penalty gives it a
    finite one, with a warning in `structure.warnings`.

    Args:
        wins: Square table of wins: [i, j] counts how often i beat j, ties as one half to each; soft
            targets are summed.
        names: Names of the models, in the order of the table. By default their numbers.
        l2: Penalty l2 |theta|^2.

    >>> bradley_terry([[0, 3], [1, 0]], l2=0).elo.round(1).tolist()
    [1595.4, 1404.6]
    """
    table = square(wins)
    if names is None:
        names = tuple(str(k) for k in range(len(table)))
    if len(names) != len(table):
        raise ArgumentError("names", len(names), f"give {len(table)} names, one per row of wins")
    l2 = non_negative(l2, "l2")
    return Fit(names, table, fit_strengths(table, l2=l2), l2, structure(table, names))


@dataclass(frozen=True)
class Structure:
    """`component` of each model, and warnings.

    `apart` warns about groups that were never compared, `unbounded` about distances without a
    finite maximum.

    Components are numbered by size, the largest first. Elo of different components is not on one
    scale. A model without a battle is its own component.
    """

    component: IntArray
    apart: tuple[str, ...]
    unbounded: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the graph for readers of an Elo."""
        return self.apart + self.unbounded


def structure(wins: FloatArray, names: tuple[str, ...]) -> Structure:
    """Analyse the comparison graph.

    >>> apart = np.kron(np.eye(2), [[0, 2], [1, 0]])
    >>> shape = structure(apart, ("x", "y", "p", "q"))
    >>> shape.component.tolist(), shape.warnings[0]
    ([0, 0, 1, 1], '2 groups of models never met: their Elo is not on one scale')
    """
    count, group = connected_groups(wins + wins.T)
    size = np.bincount(group, minlength=count)
    won = wins.sum(axis=1)
    lost = wins.sum(axis=0)
    # A model without a battle is not a group that was never compared.
    unseen = int(((won == 0) & (lost == 0)).sum())
    rank_of = np.empty(count, dtype=np.int64)
    rank_of[np.argsort(-size, kind="stable")] = np.arange(count)
    strong, _ = dominance_groups(wins)
    met = count - unseen
    apart = f"{met} groups of models never met: their Elo is not on one scale"
    unbounded = []
    perfect = [(names[k], "won") for k in np.flatnonzero((won > 0) & (lost == 0))]
    perfect += [(names[k], "lost") for k in np.flatnonzero((lost > 0) & (won == 0))]
    if perfect:
        some = ", ".join(f"{name} ({result} all)" for name, result in perfect[:5])
        more = f" and {len(perfect) - 5} more" if len(perfect) > 5 else ""
        unbounded.append(f"{some}{more}: the penalty alone determines the Elo")
    if strong - count > len(perfect):
        unbounded.append(
            "some group of models never lost to another: the penalty alone determines the distance "
            "between them"
        )
    return Structure(rank_of[group], (apart,) if met > 1 else (), tuple(unbounded))


def information(totals: FloatArray, theta: FloatArray, l2: float) -> FloatArray:
    """Minus the Hessian of Eq. 1 at theta: pairs' N p (1 - p) as a Laplacian, plus 2 l2."""
    p = expit(theta[:, None] - theta[None, :])
    pairs = totals * p * (1 - p)
    np.fill_diagonal(pairs, 0.0)
    return np.diag(pairs.sum(axis=1) + 2 * l2) - pairs


# --- standard errors ---


def sandwich(
    fit: Fit, a: IntArray, b: IntArray, target: FloatArray, *, clusters: IntArray | None = None
) -> FloatArray:
    """Covariance of theta:  I^-1 (sum_g u_g u_g') I^-1 * G / (G - 1).

    u_g is the gradient of the battles of cluster g (of one battle, without clusters). It is also
    valid for soft targets, where the inverse information alone would be wrong: a target of 0.6
    varies less than a random outcome with probability 0.6. It needs many clusters. With few, use
    the bootstrap, and trust neither fully.
    """
    n = len(fit.names)
    residual = target - expit(fit.theta[a] - fit.theta[b])
    rows = np.arange(len(a)) if clusters is None else clusters
    places = (np.concatenate([rows, rows]), np.concatenate([a, b]))
    shape = (int(rows.max(initial=-1)) + 1, n)
    # u_g: the residuals at +a and -b, summed by cluster.
    scores = csr_array((np.concatenate([residual, -residual]), places), shape=shape)
    # A cluster code without battles must not count.
    groups = len(a) if clusters is None else len(np.unique(clusters))
    meat = (scores.T @ scores).toarray()
    if groups > 1:
        meat *= groups / (groups - 1)
    inverse = fit.inverse_information()
    return np.asarray(inverse @ meat @ inverse)


def elo_standard_errors(covariance: FloatArray) -> FloatArray:
    """Standard errors in Elo from a covariance of theta."""
    return np.asarray(ELO_PER_UNIT * np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def float_at(values: FloatArray | None, k: int | None) -> float | None:
    """The number at k; None if there is none."""
    return None if values is None or k is None or not np.isfinite(values[k]) else float(values[k])


# --- resampling ---


def bootstrap_strengths(
    fit: Fit, battles: Battles, target: FloatArray, *, replicates: int, seed: Seed
) -> FloatArray:
    """(replicates, n) strengths refitted on resampled battles, started at the fit.

    A resample can leave a model without losses, or without a path to the others. The penalty keeps
    it finite, so with `l2 = 0` the replicates are fitted with a penalty of 1e-4.
    """
    rng = generator(seed)
    n = len(fit.names)
    theta = np.empty((replicates, n))
    drawn = 0 if battles.prompts is None else int(battles.prompts.max()) + 1
    batch = max(1, _BATCH_BYTES // (8 * max(n * n, drawn)))
    for first in range(0, replicates, batch):
        rows = slice(first, min(replicates, first + batch))
        tables = resampled_wins(battles, target, replicates=rows.stop - first, seed=rng)
        theta[rows] = fit_strengths(tables, l2=fit.l2 or 1e-4, start=fit.theta, tolerance=1e-5)
    return theta


def resampled_wins(
    battles: Battles, target: FloatArray, *, replicates: int, seed: Seed
) -> FloatArray:
    """(replicates, n, n) tables of wins, each of one bootstrap sample.

    >>> battles = Battles(names=("x", "y"), a=np.array([0, 0]), b=np.array([1, 1]))
    >>> resampled_wins(battles, np.array([1.0, 0.0]), replicates=3, seed=0).sum(axis=(1, 2))
    array([2., 2., 2.])
    """
    rng = generator(seed)
    a = battles.a
    b = battles.b
    n = battles.n_models
    clusters = battles.prompts
    # One orientation per pair: the loser's share is the rest of the pair's total.
    flip = a > b
    pair = np.where(flip, b * n + a, a * n + b)
    y = np.where(flip, 1 - target, target)
    levels, level = np.unique(y, return_inverse=True)
    if clusters is None and len(levels) <= _FEW:
        # Drawing battles is drawing how often each cell occurs: a pair with one of the targets.
        counts = np.bincount(pair * len(levels) + level)
        cell = np.flatnonzero(counts)
        pair = cell // len(levels)
        y = levels[cell % len(levels)]
        code = np.arange(len(cell))
        shares = counts[cell] / len(a)
        weights = rng.multinomial(len(a), shares, size=replicates).T.astype(np.float64)
    else:
        drawn = np.arange(len(a)) if clusters is None else clusters
        present, code = np.unique(drawn, return_inverse=True)
        weights = cluster_weights(len(present), replicates, rng)
    shape = (n * n, len(weights))

    def totals(values: FloatArray) -> FloatArray:
        """The sum of these values per pair, in each replicate."""
        by_pair = csr_array((values, (pair, code)), shape=shape) @ weights
        return np.asarray(by_pair).T.reshape(-1, n, n)

    won = totals(y)
    lost = totals(np.ones(len(y))) - won
    return np.asarray(won + lost.swapaxes(-1, -2), dtype=np.float64)


def cluster_weights(groups: int, replicates: int, rng: np.random.Generator) -> FloatArray:
    """(groups, replicates): how often each cluster is drawn in each replicate."""
    drawn = rng.integers(0, groups, size=(replicates, groups))
    shifted = drawn + groups * np.arange(replicates)[:, None]
    table = np.bincount(shifted.ravel(), minlength=groups * replicates)
    return table.reshape(replicates, groups).T.astype(np.float64)
