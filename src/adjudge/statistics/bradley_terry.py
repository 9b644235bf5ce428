"""Bradley-Terry by Newton on a table of wins: the bare solver, for every room that needs one.

`wins[i, j]` is the weight with which i beat j: a count, halves for ties, or sums of soft targets.
The likelihood needs only the table, so a million battles cost as much as a thousand. Leading axes
are separate fits computed together (bootstrap replicates, left-out models).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

from adjudge.errors import ArgumentError
from adjudge.statistics.numbers import slices
from adjudge.validation import BoolArray, FloatArray, IntArray

#: Eq. 1 of the Soft-Elo paper: the penalty is L2 * |theta|^2. (Its released code halves it.)
DEFAULT_L2 = 0.01
ELO_PER_UNIT = 400 / np.log(10)
ELO_BASE = 1500.0

_MAX_STEPS = 200
#: A coefficient that moves a typical battle by this many logits has no finite maximum.
_DIVERGED = 20.0
_CHUNK_BYTES = 1 << 24


def fit_strengths(
    wins: FloatArray,
    *,
    l2: float = DEFAULT_L2,
    start: FloatArray | None = None,
    tolerance: float = 1e-8,
) -> FloatArray:
    """Strengths theta that maximise  sum_ij wins_ij log sigma(theta_i - theta_j) - l2 |theta|^2.

    Eq. 1 of the Soft-Elo paper, on totals per pair. The mean of theta is 0. A model without
    battles stays at 0. With `l2 = 0` each group of connected models must have a maximum (no model
    wins or loses everything, see `has_maximum`); with a penalty there always is one.

    Newton's step v is shortened to ln(1 + d)/d of its length, d = max_ij |v_i - v_j|. The logistic
    loss has |third derivative| <= second derivative along any difference, and for such functions
    this step never increases the loss, so no line search is needed and convergence is certain.
    It ends after a step below `tolerance`; the remaining error is of the order of its square.

    >>> fit_strengths(np.array([[0.0, 3.0], [1.0, 0.0]]), l2=0.0).round(4)
    array([ 0.5493, -0.5493])
    """
    table = np.asarray(wins, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise ArgumentError("wins", f"shape {table.shape}", "give a square table, wins[i, j]")
    if not np.isfinite(table).all():
        raise ArgumentError("wins", "not finite", "drop or repair missing values")
    n = table.shape[-1]
    flat = table.reshape(-1, n, n)
    if l2 == 0 and not all(map(has_maximum, flat)):
        remedy = "give a number above 0: some model wins or loses all, its maximum is infinite"
        raise ArgumentError("l2", l2, remedy)
    theta = np.zeros((len(flat), n))
    if start is not None:
        theta[:] = np.broadcast_to(start, (*table.shape[:-2], n)).reshape(-1, n)
        theta -= theta.mean(axis=-1, keepdims=True)
    chunk = max(1, _CHUNK_BYTES // (8 * max(1, n * n)))
    for rows in slices(len(flat), chunk):
        theta[rows] = _newton(flat[rows], l2, theta[rows], tolerance)
    return theta.reshape(table.shape[:-1])


def _newton(
    wins: FloatArray,
    l2: float,
    theta: FloatArray,
    tolerance: float,
    *,
    groups: FloatArray | None = None,
    tied: tuple[IntArray, IntArray] | None = None,
) -> FloatArray:
    """Newton's method on every table; with `tied` the gap of two models of each stays as it is.

    `groups[t, i, j]` is 1 if i and j are connected in table t.
    """
    n = wins.shape[-1]
    diagonal = np.arange(n)
    wins = wins.copy()
    wins[:, diagonal, diagonal] = 0.0
    totals = wins + wins.swapaxes(-1, -2)
    won = wins.sum(axis=-1)
    theta = theta.copy()
    if groups is None:
        groups = _same_group(totals) if l2 == 0 else totals
    todo = np.arange(len(wins))
    for _ in range(_MAX_STEPS):
        t = theta[todo]
        p = expit(t[:, :, None] - t[:, None, :])
        expected = totals[todo] * p
        gradient = won[todo] - expected.sum(axis=-1) - 2 * l2 * t
        # expected becomes the pair's information N p (1 - p), in place.
        expected *= 1 - p
        information = -expected
        summed = expected.sum(axis=-1)
        information[:, diagonal, diagonal] += summed + 2 * l2
        # Only differences are identified, and the gradient has no component along the mean: fixing
        # the mean changes no step, but keeps the system well conditioned for any l2.
        scale = summed.mean(axis=-1)
        pin = np.where(scale > 0, scale, 1.0)[:, None, None] / n
        information += pin * (groups[todo] if l2 == 0 else 1.0)
        if tied is not None:
            at = np.arange(len(todo))
            first = tied[0][todo]
            second = tied[1][todo]
            # The first model moves with the second: one unknown for both.
            gradient[at, second] += gradient[at, first]
            information[at, second, :] += information[at, first, :]
            information[at, :, second] += information[at, :, first]
            gradient[at, first] = 0.0
            information[at, first, :] = information[at, :, first] = 0.0
            information[at, first, first] = 1.0
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        if tied is not None:
            step[at, first] = step[at, second]
        spread = step.max(axis=-1) - step.min(axis=-1)
        theta[todo] = t + _shorten(spread)[:, None] * step
        largest = np.abs(step).max(axis=-1)
        todo = todo[largest > tolerance * (1 + np.abs(t).max(axis=-1))]
        if len(todo) == 0:
            return theta
    raise ArithmeticError(f"Bradley-Terry did not converge in {_MAX_STEPS} Newton steps")


def _shorten(size: FloatArray) -> FloatArray:
    """The share of a step of this size that is taken: ln(1 + size) / size."""
    return np.where(size > 1e-12, np.log1p(size) / np.maximum(size, 1e-12), 1.0)


def _same_group(totals: FloatArray) -> FloatArray:
    same = np.zeros_like(totals)
    for at, table in enumerate(totals):
        _, group = connected_groups(table)
        same[at] = group[:, None] == group[None, :]
    return same


def connected_groups(totals: FloatArray | BoolArray) -> tuple[int, IntArray]:
    """How many groups of models have no battle between them, and the group of each model."""
    return _components(totals != 0, directed=False)


def dominance_groups(wins: FloatArray) -> tuple[int, IntArray]:
    """Groups in which every model is beaten, directly or through others, by every other.

    Two connected models in different groups: one side never lost to the other's, so the distance
    between them has no finite maximum (Ford 1957) and is determined by the penalty alone.
    """
    return _components(wins > 0, directed=True)


def _components(graph: BoolArray, *, directed: bool) -> tuple[int, IntArray]:
    sparse = csr_array(graph.astype(np.int8))
    count, group = connected_components(sparse, directed=directed, connection="strong")
    return int(count), group.astype(np.int64)


def has_maximum(wins: FloatArray) -> bool:
    """Whether the likelihood without a penalty has a finite maximum (Ford 1957)."""
    off_diagonal = wins - np.diag(np.diag(wins))
    return connected_groups(off_diagonal + off_diagonal.T)[0] == dominance_groups(off_diagonal)[0]


def beats_through(wins: FloatArray) -> BoolArray:
    """[i, j]: i beat j, or beat a model that beat j, and so on; every model reaches itself."""
    reach = np.asarray((wins > 0) | np.eye(len(wins), dtype=bool))
    for via in range(len(wins)):
        reach |= reach[:, via : via + 1] & reach[via : via + 1, :]
    return reach


class Profile(NamedTuple):
    """Maxima of the likelihood without a penalty, each with the gap of two models held fixed."""

    log_likelihood: FloatArray
    slope: FloatArray
    theta: FloatArray


def profile_gaps(
    wins: FloatArray,
    first: IntArray,
    second: IntArray,
    gap: FloatArray,
    *,
    start: FloatArray | None = None,
    tolerance: float = 1e-3,
) -> Profile:
    """sup of  sum_ij wins_ij log sigma(theta_i - theta_j)  with theta_first - theta_second = gap.

    `first[k]`, `second[k]` and `gap[k]` are one problem each. Where a group of models never lost
    to another, the supremum lies at infinity: battles between them then add 0, and the groups
    separate. Groups are of the win graph with both models as one. `slope`: derivative by the gap.

    >>> fit = profile_gaps(np.array([[0.0, 4.0], [0.0, 0.0]]), np.array([0]), np.array([1]),
    ...                    np.array([0.0]))
    >>> fit.log_likelihood.round(4)  # 4 ln 1/2
    array([-2.7726])
    """
    n = len(wins)
    table = np.where(np.eye(n, dtype=bool), 0.0, wins)
    reach = beats_through(table)
    whole = bool(reach.all())
    theta = np.zeros((len(gap), n)) if start is None else np.array(start, dtype=np.float64)
    theta[np.arange(len(gap)), first] = theta[np.arange(len(gap)), second] + gap
    value = np.empty(len(gap))
    slope = np.empty(len(gap))
    chunk = max(1, _CHUNK_BYTES // (8 * n * n))
    for rows in slices(len(gap), chunk):
        i = first[rows]
        j = second[rows]
        groups = np.ones((len(i), n, n))
        if not whole:
            to_either = reach[:, i] | reach[:, j]
            from_either = reach[i] | reach[j]
            joined = reach | (to_either.T[:, :, None] & from_either[:, None, :])
            groups = (joined & joined.swapaxes(-1, -2)).astype(np.float64)
        tables = table * groups
        theta[rows] = _newton(tables, 0.0, theta[rows], tolerance, groups=groups, tied=(i, j))
        apart = theta[rows][:, :, None] - theta[rows][:, None, :]
        value[rows] = (tables * log_expit(apart)).sum(axis=(-2, -1))
        at = np.arange(len(i))
        p = expit(apart[at, i])
        # Each win of the first model pulls the gap up by 1 - p, each loss down by p.
        won = tables[at, i] * (1 - p)
        lost = tables[at, :, i] * p
        slope[rows] = (won - lost).sum(axis=-1)
    return Profile(value, slope, theta)


def fit_tied(
    wins: FloatArray,
    first: IntArray,
    second: IntArray,
    *,
    l2: float,
    start: FloatArray,
    tolerance: float,
) -> FloatArray:
    """The strengths of `fit_strengths` with theta_first = theta_second, a line for each pair."""
    n = len(wins)
    theta = np.array(start, dtype=np.float64)
    theta[np.arange(len(first)), first] = theta[np.arange(len(first)), second]
    for rows in slices(len(first), max(1, _CHUNK_BYTES // (8 * n * n))):
        tied = (first[rows], second[rows])
        tables = np.repeat(wins[None], len(tied[0]), axis=0)
        theta[rows] = _newton(tables, l2, theta[rows], tolerance, tied=tied)
    return theta


# --- strengths with features of the battles ---


class WithFeatures(NamedTuple):
    """Strengths, coefficients of the features, and minus the Hessian without the penalty."""

    theta: FloatArray
    beta: FloatArray
    information: FloatArray


def fit_with_features(
    a: IntArray,
    b: IntArray,
    target: FloatArray,
    features: FloatArray,
    n: int,
    *,
    start: FloatArray,
    l2: float = DEFAULT_L2,
    tolerance: float = 1e-5,
) -> WithFeatures | None:
    """Maximise  sum_k y_k d_k - ln(1 + e^d_k) - l2 |theta|^2,  d = theta_a - theta_b + beta' z.

    beta has no penalty; None if its maximum is infinite (the features separate the outcomes).
    Newton's method as in `fit_strengths`, from strengths without features. Battles are sorted by
    pair once: strengths enter a step only through sums per pair, so a step takes a few passes over
    the battles. It ends after a step below `tolerance`; the error is of the order of its square.

    >>> z = np.array([[1.0], [1.0], [1.0], [-1.0]])
    >>> fit = fit_with_features(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]),
    ...                         np.array([1.0, 1.0, 0.0, 1.0]), z, 2, start=np.zeros(2))
    >>> bool(fit.beta[0] < 0)
    True
    """
    rows = _ByPair.of(a, b, n)
    z = np.ascontiguousarray(features[rows.order], dtype=np.float64)
    y = target[rows.order]
    theta = start
    beta = np.zeros(z.shape[1])
    linear = np.zeros(len(y))
    typical = np.sqrt((z**2).mean(axis=0))
    for _ in range(_MAX_STEPS):
        p = expit(np.repeat(theta[rows.a] - theta[rows.b], rows.counts) + linear)
        residual = y - p
        information = rows.information(p * (1 - p), z, n)
        gradient = np.empty(n + len(beta))
        per_pair = np.add.reduceat(residual, rows.first)
        gradient[:n] = np.bincount(rows.a, per_pair, n) - np.bincount(rows.b, per_pair, n)
        gradient[:n] -= 2 * l2 * theta
        gradient[n:] = residual @ z
        penalised = information.copy()
        penalised[:n, :n] += 1 / n
        penalised[np.arange(n), np.arange(n)] += 2 * l2
        step = np.linalg.solve(penalised, gradient)
        move = z @ step[n:]
        size = step[:n].max() - step[:n].min() + np.abs(move).max()
        # Below one half a whole step at least halves what is left.
        share = float(_shorten(size)) if size > 0.5 else 1.0
        theta = theta + share * step[:n]
        beta = beta + share * step[n:]
        linear += share * move
        if np.any(np.abs(beta) * typical > _DIVERGED):
            return None
        if size <= tolerance * (1 + np.abs(theta).max()):
            return WithFeatures(theta, beta, information)
    return None


def joint_information(
    a: IntArray, b: IntArray, weight: FloatArray, features: FloatArray, n: int
) -> FloatArray:
    """sum_k w_k x_k x_k'  with  x = (e_a - e_b, z)."""
    rows = _ByPair.of(a, b, n)
    return rows.information(weight[rows.order], features[rows.order], n)


class _ByPair(NamedTuple):
    """Battles sorted by pair: their order, where each pair begins, its models and their number."""

    order: IntArray
    first: IntArray
    counts: IntArray
    a: IntArray
    b: IntArray

    @classmethod
    def of(cls, a: IntArray, b: IntArray, n: int) -> _ByPair:
        """Sort battles by pair."""
        # numpy sorts integers of two bytes by radix, five times as fast as longer ones.
        short = np.uint16 if n < 1 << 16 else np.int64
        by_b = np.argsort(b.astype(short), kind="stable")
        order = by_b[np.argsort(a.astype(short)[by_b], kind="stable")]
        ordered = (a * n + b)[order]
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        pair = ordered[first]
        return cls(order, first, np.diff(np.append(first, len(a))), pair // n, pair % n)

    def information(self, weight: FloatArray, z: FloatArray, n: int) -> FloatArray:
        """`joint_information` of battles in this order."""
        width = z.shape[1]
        pairs = np.zeros((n, n))
        np.add.at(pairs, (self.a, self.b), np.add.reduceat(weight, self.first))
        pairs += pairs.T
        table = np.zeros((n + width, n + width))
        table[:n, :n] = np.diag(pairs.sum(axis=1)) - pairs
        weighted = z * weight[:, None]
        table[n:, n:] = z.T @ weighted
        per_pair = np.add.reduceat(weighted, self.first, axis=0)
        for k in range(width):
            column = np.bincount(self.a, per_pair[:, k], n) - np.bincount(self.b, per_pair[:, k], n)
            table[:n, n + k] = table[n + k, :n] = column
        return table


def fit_against_anchors(
    opponents: FloatArray, won: FloatArray, anchors: FloatArray, *, l2: float = DEFAULT_L2
) -> FloatArray:
    """One model's strength with all other strengths fixed (Algorithm 1, line 8).

    `opponents[..., j]` battles against anchor j of strength `anchors[..., j]`, `won` the total
    target. The penalty keeps a model that won everything finite; with hundreds of battles it
    changes the estimate by a small fraction of an Elo point.

    >>> fit_against_anchors(np.array([4.0]), np.array(3.0), np.array([0.0]), l2=0.0)
    array(1.09861229)
    """
    counts = np.asarray(opponents, dtype=np.float64)
    target = np.asarray(won, dtype=np.float64)
    total = counts.sum(axis=-1)
    if l2 == 0 and np.any((total > 0) & ((target <= 0) | (target >= total))):
        remedy = "give a number above 0: a model that wins or loses all has no finite maximum"
        raise ArgumentError("l2", l2, remedy)
    theta = np.zeros(target.shape)
    for _ in range(_MAX_STEPS):
        p = expit(theta[..., None] - anchors)
        expected = counts * p
        gradient = target - expected.sum(axis=-1) - 2 * l2 * theta
        information = (expected * (1 - p)).sum(axis=-1) + 2 * l2
        step = gradient / np.where(information > 0, information, 1.0)
        size = np.abs(step)
        theta = theta + step * _shorten(size)
        if np.all(size <= 1e-11 * (1 + np.abs(theta))):
            return np.asarray(theta, dtype=np.float64)
    raise ArithmeticError(f"the anchored fit did not converge in {_MAX_STEPS} Newton steps")


def to_elo(theta: FloatArray) -> FloatArray:
    """Elo = 1500 + (400 / ln 10) theta; only differences have a meaning.

    >>> to_elo(np.array([0.0, np.log(10)]))
    array([1500., 1900.])
    """
    elo: FloatArray = ELO_BASE + ELO_PER_UNIT * np.asarray(theta, dtype=np.float64)
    return elo
