"""Bradley-Terry strengths with their information: the fit every Elo here stands on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from adjudge._bradley_terry import (
    DEFAULT_L2,
    ELO_PER_UNIT,
    fit_strengths,
    to_elo,
)
from adjudge._validation import FloatArray, non_negative
from adjudge.errors import ArgumentError
from adjudge.ranking.components import Structure, structure


@dataclass(frozen=True)
class Fit:
    """Strengths `theta` (mean 0 in every component), their `elo`, and what they came from."""

    names: tuple[str, ...]
    wins: FloatArray
    theta: FloatArray
    l2: float
    structure: Structure

    @property
    def elo(self) -> FloatArray:
        """1500 + (400 / ln 10) theta."""
        return to_elo(self.theta)

    def information(self) -> FloatArray:
        """Minus the Hessian of Eq. 1 at the fit: pairs' N p (1 - p) as a Laplacian, plus 2 l2."""
        p = expit(self.theta[:, None] - self.theta[None, :])
        pairs = (self.wins + self.wins.T) * p * (1 - p)
        np.fill_diagonal(pairs, 0.0)
        return np.diag(pairs.sum(axis=1) + 2 * self.l2) - pairs

    def inverse_information(self) -> FloatArray:
        """Its inverse within components, where strengths are held to mean 0."""
        component = self.structure.component
        size = np.bincount(component)
        # Added along each component's mean, taken away again after inverting.
        pin = (component[:, None] == component[None, :]) / size[component][:, None]
        inverse: FloatArray = np.linalg.inv(self.information() - 2 * self.l2 * pin + pin) - pin
        return inverse


def bradley_terry(
    wins: ArrayLike, *, names: tuple[str, ...] | None = None, l2: float = DEFAULT_L2
) -> Fit:
    """Fit  argmax sum_ij wins_ij log sigma(theta_i - theta_j) - l2 |theta|^2   (Eq. 1).

    `wins[i, j]` counts how often i beat j, ties as one half to each; soft targets sum. Models that
    were never compared, even at some remove, are fitted apart and are not on one scale. A model
    that won or lost everything has no finite maximum; the penalty gives it a finite one, and
    `structure.warnings` says so.

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

    First a lower bound for those that won all: the strength at which winning all that often against
    those opponents, taken as known, has probability (1 - confidence_level) / 2. Then the mirror
    image for those that lost all. Resampling cannot see this: every resample is a clean sweep too.
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
