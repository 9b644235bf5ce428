"""Bradley-Terry with one pooled dispersion: few votes, votes with a judge, boards at equal style.

    logit P(a wins) = theta_a - theta_b + beta' z,      penalty l2 |theta|^2 on strengths alone

**Votes with a judge.** On all judged battles the judge's own fit leaves residuals r = f - p_judge,
which sum to 0 for every model (and feature). So the fit of y* = y - lambda r on the voted battles
is prediction-powered (Angelopoulos et al. 2023; Boyeau et al. 2025): a bad judge adds width, not
bias. lambda is the share of the residuals of the votes that those of the judge explain.

**One dispersion.** A sandwich needs many battles for every model. With few, one number for all,

    phi = n/(n - K) [sum e^2 - (1 - n/N)(2 lambda sum e r - lambda^2 sum r^2)] / sum w,

e = y - p, w = p(1 - p), K parameters, gives the covariance phi H^-1 and Student's t with n - K.
A swept model's own battles have no residuals, so they do not count in phi; without others it is 1,
the largest of independent votes.

**Prompts.** Battles of one prompt that share a model have a covariance kappa sqrt(w w'), estimated
from the products of their residuals. The meat of the covariance is then

    phi H + kappa [sum over (prompt, model) of v v' - 2 sum w x x'],     v = sum of s sqrt(w) x,

s = 1 where the model is a, else -1. Battles that share both models have a separate kappa.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, stdtr

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.present.text import count
from adjudge.ranking.bradley_terry import battles_per_model, information, wins_table
from adjudge.ranking.differences import penalised_differences, variances_of_gaps
from adjudge.statistics.bradley_terry import (
    DEFAULT_L2,
    ELO_PER_UNIT,
    connected_groups,
    dominance_groups,
    fit_strengths,
    fit_with_features,
)
from adjudge.statistics.differences import holm
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, positive, same_length

#: With 0.25, models far from the others were covered too rarely.
VOTES_L2 = 0.05
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class PooledFit:
    """Strengths, and what their uncertainty is made of.

    `covariance` is that of theta, centred within components. `inverse` is that of the penalised
    information. `scale` is phi times the design effect of prompts. `wins` has the fitted targets.
    `weight` is the judge's lambda, None without a judge. `beta_judge` are the features'
    coefficients in the judge's own fit.
    """

    theta: FloatArray
    covariance: FloatArray
    inverse: FloatArray
    wins: FloatArray
    l2: float
    phi: float
    scale: float
    freedom: float
    component: IntArray
    votes: IntArray
    swept: BoolArray
    weight: float | None = None
    beta: FloatArray | None = None
    beta_se: FloatArray | None = None
    beta_judge: FloatArray | None = None

    def half_widths(self, level: float) -> FloatArray:
        """Half-widths of the intervals in Elo; NaN without enough votes."""
        if self.freedom <= 0:
            return np.full(len(self.theta), np.nan)
        se = ELO_PER_UNIT * np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.asarray(student_quantile(level, self.freedom) * se)

    def differ(self, first: IntArray, second: IntArray, *, alpha: float) -> BoolArray:
        """Which pairs differ, by Holm's procedure: ratios of likelihoods, or t with features."""
        if self.beta is None:
            return penalised_differences(
                self.wins,
                self.theta,
                self.inverse,
                first,
                second,
                l2=self.l2,
                scale=self.scale,
                freedom=self.freedom,
                alpha=alpha,
            )
        variance = variances_of_gaps(self.covariance, first, second)
        t = np.abs(self.theta[first] - self.theta[second]) / np.sqrt(variance)
        return holm(np.asarray(2 * stdtr(self.freedom, -t), dtype=np.float64)) <= alpha


def fit_pooled(
    battles: Battles,
    target: FloatArray,
    judge: FloatArray | None = None,
    *,
    features: FloatArray | None = None,
    names: Sequence[str] = (),
    l2: float = VOTES_L2,
) -> PooledFit:
    """Fit targets on some battles (NaN elsewhere), with a judge's on all if given.

    The battles with targets are then a random sample of those with the judge's. See the module.

    Args:
        battles: Result of `prepare_battles`.
        target: Target of each battle (1, 0, one half or a probability), NaN without one.
        judge: Judge's target of each battle.
        features: Differences in style of each battle, a column each.
        names: Names of the features.
        l2: Penalty l2 |theta|^2.

    >>> rows = {"model_a": ["x"] * 6, "model_b": ["y"] * 6, "winner": ["model_a", "model_b"] * 3}
    >>> from adjudge.data import prepare_battles
    >>> battles = prepare_battles(rows)
    >>> fit_pooled(battles, battles.human).theta.tolist()
    [0.0, 0.0]
    """
    l2 = positive(l2, "l2")
    same_length(battles=battles.a, target=target)
    n = battles.n_models
    judged = np.isfinite(target if judge is None else judge)
    voted = judged & np.isfinite(target)
    size = int(voted.sum())
    if size < 2:
        given = count(size, "vote") + " on judged battles" * (judge is not None)
        raise ArgumentError("human", given, "give at least two")
    a = battles.a[voted]
    b = battles.b[voted]
    y = target[voted]
    style = np.empty((len(judged), 0)) if features is None else features
    z = style[voted]
    rows = _Rows(a, b, z, n, l2, tuple(names))
    residual = np.zeros(size)
    weight = beta_judge = None
    unseen = 0.0
    if judge is None:
        estimate = rows.solve(y)
    else:
        of_judge = _Rows(
            battles.a[judged], battles.b[judged], style[judged], n, DEFAULT_L2, tuple(names)
        )
        judges_fit = of_judge.solve(judge[judged])
        beta_judge = judges_fit.beta
        residual = judge[voted] - judges_fit.p[voted[judged]]
        unseen = 1 - size / int(judged.sum())
        weight, estimate = rows.tune(y, residual if unseen else 0 * residual)
    used = (weight or 0.0) * residual
    p = estimate.p
    w = p * (1 - p)
    error = y - p
    votes = battles_per_model(a, b, n)
    wins = wins_table(a, b, y, n)
    # Where one side never lost to the other, residuals are those of the penalty.
    strong = dominance_groups(wins)[1]
    inside = strong[a] == strong[b]
    squares = error**2 - unseen * (2 * error * used - used**2)
    phi = _dispersion(a[inside], b[inside], squares[inside], w[inside], z.shape[1])
    freedom = float(size - (votes > 0).sum() - z.shape[1])
    inverse = estimate.inverse
    independent = phi * inverse @ estimate.hessian @ inverse
    covariance = independent
    prompts = np.arange(size)
    if battles.prompts is not None:
        prompts = np.unique(battles.prompts[voted], return_inverse=True)[1]
        joined = _joined(battles, judged, voted) if used.any() else 1.0
        residuals = (error, error - used)
        shared = rows.shared(prompts, estimate, residuals, joined, inside, phi)
        covariance = independent + inverse @ shared @ inverse
        freedom = min(freedom, float(prompts.max()))
    component = connected_groups(wins + wins.T)[1]
    same = component[:, None] == component[None, :]
    centre = np.eye(n) - same / same.sum(axis=1)[:, None]

    def centred(whole: FloatArray) -> FloatArray:
        return np.asarray(centre @ whole[:n, :n] @ centre.T)

    of_theta = centred(covariance)
    by_prompt = rows.sandwich_of_features(inverse, error - used, prompts)
    largest = np.maximum(np.diag(covariance)[n:], by_prompt)
    design = float(np.trace(of_theta) / np.trace(centred(independent)))
    plain = PooledFit(
        theta=estimate.theta,
        covariance=of_theta,
        inverse=inverse[:n, :n],
        wins=wins_table(a, b, y - used, n),
        l2=l2,
        phi=phi,
        scale=phi * design,
        freedom=freedom,
        component=component,
        votes=votes,
        swept=_swept(wins),
        weight=weight,
    )
    if features is None:
        return plain
    return replace(plain, beta=estimate.beta, beta_se=np.sqrt(largest), beta_judge=beta_judge)


def _swept(wins: FloatArray) -> BoolArray:
    """The models that won everything, or lost everything."""
    won = wins.sum(axis=1)
    lost = wins.sum(axis=0)
    return np.asarray((won > 0) != (lost > 0))


def _dispersion(
    a: IntArray, b: IntArray, squares: FloatArray, w: FloatArray, features: int
) -> float:
    """phi of these battles; 1 if there are no more than parameters."""
    left = len(a) - len(np.unique(np.concatenate([a, b]))) - features
    if left <= 0:
        return 1.0
    # With one more battle at even odds: votes that are all ties are not certain.
    return float(len(a) / left * (squares.sum() + 0.25) / (w.sum() + 0.25))


def _joined(battles: Battles, judged: BoolArray, voted: BoolArray) -> float:
    """How much of what battles of one prompt share the judge cannot remove.

    The judge's other battles on the same prompts share it too: 1 if votes are a random sample of
    battles, n/N if prompts have either all votes or none.
    """
    prompts = np.asarray(battles.prompts)
    sides = [prompts * battles.n_models + model for model in (battles.a, battles.b)]
    group = np.unique(np.concatenate(sides), return_inverse=True)[1]
    with_vote = np.bincount(group, np.tile(voted, 2))
    every = np.bincount(group, np.tile(judged, 2))
    couples = float((with_vote * (with_vote - 1)).sum())
    if couples == 0:
        return 1.0
    share = voted.sum() / judged.sum()
    return float(min(1.0, share * (with_vote * (every - 1)).sum() / couples))


def _products(group: IntArray, values: FloatArray) -> float:
    """The sum of the products of two different values of one group."""
    return float((np.bincount(group, values) ** 2 - np.bincount(group, values**2)).sum())


@dataclass(frozen=True)
class _Estimate:
    """`information` is without the penalty, `hessian` with it; `inverse` is that of the hessian."""

    theta: FloatArray
    beta: FloatArray
    p: FloatArray
    information: FloatArray
    hessian: FloatArray
    inverse: FloatArray


@dataclass(frozen=True)
class _Rows:
    """The battles with targets: x_k = (e_a - e_b, z)."""

    a: IntArray
    b: IntArray
    z: FloatArray
    n: int
    l2: float
    names: tuple[str, ...]

    def solve(self, target: FloatArray) -> _Estimate:
        """The estimate, with the penalised information and its inverse."""
        n = self.n
        wins = wins_table(self.a, self.b, target, n)
        theta = fit_strengths(wins, l2=self.l2)
        beta = np.empty(0)
        if not self.z.shape[1]:
            without_penalty = information(wins + wins.T, theta, 0.0)
        else:
            fit = fit_with_features(self.a, self.b, target, self.z, n, l2=self.l2, start=theta)
            if fit is None:
                remedy = "leave a feature out: they separate who wins, so an effect is infinite"
                raise ArgumentError("control", ",".join(self.names), remedy)
            theta = fit.theta
            beta = fit.beta
            without_penalty = fit.information
        p = expit(theta[self.a] - theta[self.b] + self.z @ beta)
        hessian = without_penalty.copy()
        hessian[np.arange(n), np.arange(n)] += 2 * self.l2
        # The mean of all strengths is not identified: pinned, it costs no digits.
        pinned = hessian.copy()
        pinned[:n, :n] += np.trace(hessian[:n, :n]) / n**2
        inverse = np.asarray(np.linalg.inv(pinned))
        return _Estimate(theta, beta, p, without_penalty, hessian, inverse)

    def tune(self, target: FloatArray, residual: FloatArray) -> tuple[float, _Estimate]:
        """The judge's weight that leaves the smallest residuals, and the estimate with it."""
        weight = 0.0
        estimate = self.solve(target)
        for _ in range(_MOST_ROUNDS):
            p = estimate.p
            moved = self.projected(estimate.inverse @ self.sums(residual))
            rest = residual - p * (1 - p) * moved
            bottom = float(residual @ rest)
            best = float(np.clip((target - p) @ rest / bottom, 0.0, 1.0)) if bottom > 0 else 0.0
            if abs(best - weight) < 1e-4:
                break
            weight = best
            estimate = self.solve(target - weight * residual)
        return weight, estimate

    def sums(self, values: FloatArray) -> FloatArray:
        """sum_k values_k x_k."""
        n = self.n
        by_model = np.bincount(self.a, values, n) - np.bincount(self.b, values, n)
        return np.concatenate([by_model, values @ self.z])

    def projected(self, vector: FloatArray) -> FloatArray:
        """vector' x_k of every battle."""
        return np.asarray(vector[self.a] - vector[self.b] + self.z @ vector[self.n :])

    def shared(
        self,
        prompts: IntArray,
        estimate: _Estimate,
        residuals: tuple[FloatArray, FloatArray],
        joined: float,
        inside: BoolArray,
        phi: float,
    ) -> FloatArray:
        """What battles of one prompt that share a model, or both, add to the covariance's meat.

        The two kappas come from the battles `inside`; without any that share a prompt they are phi.
        Of the `residuals`, without and with the judge, the first count by the share `joined`.
        """
        n = self.n
        battles = np.arange(len(self.a))
        root = np.sqrt(estimate.p * (1 - estimate.p))
        signs = np.repeat([1.0, -1.0], len(self.a))
        models = np.concatenate([self.a, self.b])
        by_model = np.unique(np.tile(prompts, 2) * n + models, return_inverse=True)[1]
        flip = np.where(self.a > self.b, -1.0, 1.0)
        pairs = np.minimum(self.a, self.b) * n + np.maximum(self.a, self.b)
        by_pair = np.unique(prompts * (n * n) + pairs, return_inverse=True)[1]

        def products(values: FloatArray, sign: FloatArray, turn: FloatArray) -> FloatArray:
            """Sums over couples of battles that share exactly one model, and both."""
            counted = values * inside
            both = _products(by_pair, turn * counted)
            return np.array([_products(by_model, sign * np.tile(counted, 2)) - 2 * both, both])

        def table(group: IntArray, sign: FloatArray) -> FloatArray:
            """sum over groups of v v',  v = sum of sign sqrt(w) x."""
            rows = np.resize(battles, len(sign))
            factor = sign * root[rows]
            places = (np.tile(group, 2), np.concatenate([self.a[rows], self.b[rows]]))
            shape = (int(group.max()) + 1, n)
            v = csr_array((np.concatenate([factor, -factor]), places), shape=shape)
            styled = np.empty((shape[0], self.z.shape[1]))
            for k, z in enumerate(self.z.T):
                styled[:, k] = np.bincount(group, factor * z[rows])
            corner = np.asarray(v.T @ styled)
            of_models = np.asarray(csr_array(v.T @ v).toarray())
            return np.asarray(np.block([[of_models, corner], [corner.T, styled.T @ styled]]))

        single = estimate.information
        same = table(by_pair, flip) - single
        other = table(by_model, signs) - 2 * single - 2 * same
        plain, adjusted = (products(residual, signs, flip) for residual in residuals)
        together = joined * plain + (1 - joined) * adjusted
        most = products(root, np.ones(len(signs)), np.ones(len(flip)))
        kappa = np.where(most > 1e-9, together / np.maximum(most, 1e-9), phi).clip(0.0, phi)
        return np.asarray(kappa[0] * other + kappa[1] * same)

    def sandwich_of_features(
        self, inverse: FloatArray, residual: FloatArray, prompts: IntArray
    ) -> FloatArray:
        """Variances of the features' coefficients from the sums of their influence by prompt."""
        groups = int(prompts.max()) + 1
        variances = []
        for row in inverse[self.n :]:
            influence = np.bincount(prompts, residual * self.projected(row))
            variances.append(groups / max(1, groups - 1) * float((influence**2).sum()))
        return np.array(variances)
