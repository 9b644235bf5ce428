"""Bradley-Terry strengths, their information and covariance, and which models can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import expit, log_expit

from adjudge.errors import ArgumentError
from adjudge.statistics.bradley_terry import (
    DEFAULT_L2,
    ELO_PER_UNIT,
    connected_groups,
    dominance_groups,
    fit_strengths,
    to_elo,
)
from adjudge.validation import BoolArray, FloatArray, IntArray, non_negative


@dataclass(frozen=True)
class Structure:
    """`component` of each model, which `won_all` and `lost_all`, and warnings.

    `apart` warns about groups that were never compared, `unbounded` about distances without a
    finite maximum.

    Components are numbered by size, the largest first. Elo of different components is not on one
    scale. A model without a battle is its own component.
    """

    component: IntArray
    won_all: BoolArray
    lost_all: BoolArray
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
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    # A model without a battle is not a group that was never compared.
    unseen = int(((won == 0) & (lost == 0)).sum())
    rank_of = np.empty(count, dtype=np.int64)
    rank_of[np.argsort(-size, kind="stable")] = np.arange(count)
    component = rank_of[group]

    won_all = (won > 0) & (lost == 0)
    lost_all = (lost > 0) & (won == 0)
    strong, _ = dominance_groups(wins)
    met = count - unseen
    apart = f"{met} groups of models never met: their Elo is not on one scale"
    unbounded = []
    perfect = [(names[k], "won") for k in np.flatnonzero(won_all)]
    perfect += [(names[k], "lost") for k in np.flatnonzero(lost_all)]
    if perfect:
        some = ", ".join(f"{name} ({what} all)" for name, what in perfect[:5])
        more = f" and {len(perfect) - 5} more" if len(perfect) > 5 else ""
        unbounded.append(
            f"{some}{more}: no finite maximum, the penalty determines the estimate and the "
            "interval is open on that side"
        )
    if strong - count > len(perfect):
        unbounded.append(
            "some group of models never lost to another: the penalty alone determines the distance "
            "between them"
        )
    return Structure(component, won_all, lost_all, (apart,) if met > 1 else (), tuple(unbounded))


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
        known = information(self.wins + self.wins.T, self.theta, self.l2)
        inverse: FloatArray = np.linalg.inv(known - 2 * self.l2 * pin + pin) - pin
        return inverse


def information(totals: FloatArray, theta: FloatArray, l2: float) -> FloatArray:
    """Minus the Hessian of Eq. 1 at theta: pairs' N p (1 - p) as a Laplacian, plus 2 l2."""
    p = expit(theta[:, None] - theta[None, :])
    pairs = totals * p * (1 - p)
    np.fill_diagonal(pairs, 0.0)
    return np.diag(pairs.sum(axis=1) + 2 * l2) - pairs


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
    table = np.asarray(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ArgumentError("wins", f"shape {table.shape}", "give a square table, wins[i, j]")
    if np.any(table < 0):
        raise ArgumentError("wins", float(table.min()), "give counts that are not negative")
    if names is None:
        names = tuple(str(k) for k in range(len(table)))
    if len(names) != len(table):
        raise ArgumentError("names", len(names), f"give {len(table)} names, one per row of wins")
    l2 = non_negative(l2, "l2")
    table = table - np.diag(np.diag(table))
    return Fit(names, table, fit_strengths(table, l2=l2), l2, structure(table, names))


def perfect_record_bounds(fit: Fit, confidence_level: float) -> tuple[FloatArray, FloatArray]:
    """Elo bounds for models that won or lost everything; NaN for the others.

    First a lower bound for models that won all battles: the strength at which so many wins against
    these opponents, with known strengths, have probability (1 - confidence_level) / 2. Then the
    mirror image for models that lost all. Resampling cannot give this: every resample has only wins
    too.
    """
    n = len(fit.names)
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    log_tail = np.log((1 - confidence_level) / 2)
    for sign, which, bound in ((1, fit.structure.won_all, low), (-1, fit.structure.lost_all, high)):
        for model in np.flatnonzero(which):
            met = fit.wins[model] + fit.wins[:, model]

            def excess(theta: float, met: FloatArray = met, sign: int = sign) -> float:
                return float(met @ log_expit(sign * (theta - fit.theta)) - log_tail)

            reach = 60.0 + float(np.abs(fit.theta).max())
            bound[model] = to_elo(np.asarray(brentq(excess, -reach, reach)))
    return low, high


def elo_standard_errors(covariance: FloatArray) -> FloatArray:
    """Standard errors in Elo from a covariance of theta."""
    se: FloatArray = ELO_PER_UNIT * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return se


def score_matrix(
    a: IntArray,
    b: IntArray,
    residual: FloatArray,
    n: int,
    clusters: IntArray | None = None,
    groups: int | None = None,
) -> csr_array:
    """Each cluster's gradient of the log-likelihood: residuals at +a and -b, then summed."""
    rows = np.arange(len(a)) if clusters is None else clusters
    height = groups if groups is not None else int(rows.max()) + 1 if len(rows) else 0
    return csr_array(
        (
            np.concatenate([residual, -residual]),
            (np.concatenate([rows, rows]), np.concatenate([a, b])),
        ),
        shape=(height, n),
    )


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
    scores = score_matrix(a, b, residual, n, clusters)
    # A cluster code without battles must not count.
    groups = len(a) if clusters is None else len(np.unique(clusters))
    meat = (scores.T @ scores).toarray()
    if groups > 1:
        meat *= groups / (groups - 1)
    inverse = fit.inverse_information()
    covariance: FloatArray = inverse @ meat @ inverse
    return covariance
