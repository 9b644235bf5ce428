"""Intervals for a new model's Elo on people's scale, from the judge's errors on other models.

    S_i = |Elo_judge,i - Elo_human,i| / SE_i                                  (Eq. 3)
    q = the ceil((1 - alpha)(n + 1))-th smallest S_i
    Elo_new -+ q SE_new                                                       (Eq. 4)

Covers with probability at least 1 - alpha over models that are exchangeable with the calibration
models. This is marginal: not for each model, and not for a family, release date or prompt mix that
the calibration models do not represent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge.ranking.leaderboard import float_at
from adjudge.ranking.leave_one_out import Residuals
from adjudge.results.ranking import ConformalRow, GroupQuantile, HeldOutRow
from adjudge.rows.families import family_of
from adjudge.statistics.numbers import conformal_quantile
from adjudge.validation import FloatArray, Seed, count, exact_level, finite, generator, same_length


@dataclass(frozen=True)
class EloQuantile:
    """q of Eq. 4; None if `n` models are too few; `models_needed` is the required number."""

    quantile: float | None
    n: int
    models_needed: int

    def interval(self, elo: float, se: float) -> tuple[float | None, float | None]:
        """[elo - q se, elo + q se]; both ends None if unbounded or without a scale."""
        if self.quantile is None or not se > 0:
            return None, None
        return elo - self.quantile * se, elo + self.quantile * se


def models_needed(alpha: float | str | Fraction) -> int:
    """The fewest calibration models with a finite quantile: n >= (1 - alpha) / alpha.

    >>> models_needed(0.1), models_needed(0.05)
    (9, 19)
    """
    level = exact_level(alpha)
    return math.ceil((1 - level) / level)


def elo_quantile(
    residual: ArrayLike, se: ArrayLike, *, alpha: float | str | Fraction
) -> EloQuantile:
    """The conformal quantile of |residual| / SE.

    A model whose SE is 0 (a few equal battles) has no scale and counts as infinitely far off, which
    can only widen the interval.

    >>> elo_quantile(range(1, 10), [1.0] * 9, alpha=0.1).quantile
    9.0
    >>> elo_quantile(range(1, 9), [1.0] * 8, alpha=0.1)
    EloQuantile(quantile=None, n=8, models_needed=9)
    """
    level = exact_level(alpha)
    eps = np.abs(finite(residual, "residual", allow_empty=True))
    scale = finite(se, "se", allow_empty=True)
    same_length(residual=eps, se=scale)
    q = _finite_quantile(normalised_scores(eps, scale), level)
    return EloQuantile(q, len(eps), models_needed(level))


def normalised_scores(residual: FloatArray, se: FloatArray) -> FloatArray:
    """|residual| / se; infinite if there is no scale."""
    scores = np.full(len(residual), np.inf)
    np.divide(np.abs(residual), se, out=scores, where=se > 0)
    return scores


def _finite_quantile(scores: FloatArray, level: Fraction) -> float | None:
    q = conformal_quantile(scores, level)
    return q if q is not None and math.isfinite(q) else None


def split_conformal(
    held: Residuals, *, alpha: float | str | Fraction = 0.1, splits: int = 5, seed: Seed = 0
) -> ConformalRow:
    """Coverage and width over random halves of the models: one calibrates, the other tests.

    The held-out residuals of all models are made in the same way, so they are exchangeable if the
    models are. The expected coverage is ceil((1 - alpha)(n + 1))/(n + 1) with n calibration models.
    With few splits of few models, read the range, not only the mean.
    """
    level = exact_level(alpha)
    splits = count(splits, "splits", least=1)
    rng = generator(seed)
    n = len(held.names)
    n_cal = n // 2
    needed = models_needed(level)
    empty = ConformalRow(
        method=held.method,
        alpha=float(level),
        coverage=None,
        median_width=None,
        quantile=None,
        splits=splits,
        n_calibration=n_cal,
        n_test=n - n_cal,
        unbounded=True,
        models_needed=needed,
    )
    if n_cal < needed:
        return empty
    scores = normalised_scores(held.values, held.se)
    cover, width, quantile, scale = [], [], [], []
    for _ in range(splits):
        order = rng.permutation(n)
        cal, test = order[:n_cal], order[n_cal:]
        q = _finite_quantile(scores[cal], level)
        if q is None:
            return empty
        cover.append(float((scores[test] <= q).mean()))
        width.append(float(np.median(2 * q * held.se[test])))
        quantile.append(q)
        scale.append(float(np.median(held.se[test])))
    return ConformalRow(
        method=held.method,
        alpha=float(level),
        coverage=float(np.mean(cover)),
        median_width=float(np.mean(width)),
        quantile=float(np.mean(quantile)),
        median_se=float(np.mean(scale)),
        width_low=min(width),
        width_high=max(width),
        coverage_low=min(cover),
        coverage_high=max(cover),
        splits=splits,
        n_calibration=n_cal,
        n_test=n - n_cal,
    )


def held_out_intervals(
    held: Residuals, *, alpha: float | str | Fraction = 0.1
) -> tuple[HeldOutRow, ...]:
    """Each model's interval with the quantile of all the others, as for a new model."""
    level = exact_level(alpha)
    scores = normalised_scores(held.values, held.se)
    rows = []
    for k, name in enumerate(held.names):
        q = _finite_quantile(np.delete(scores, k), level)
        half = q * float(held.se[k]) if q is not None and held.se[k] > 0 else None
        judge, human = float(held.judge[k]), float(held.human[k])
        rows.append(
            HeldOutRow(
                method=held.method,
                model=name,
                human_elo=human,
                elo=judge,
                residual=judge - human,
                se=float_at(held.se, k),
                low=None if half is None else judge - half,
                high=None if half is None else judge + half,
                unbounded=half is None,
                covered=None if half is None else bool(abs(judge - human) <= half),
            )
        )
    return tuple(rows)


def quantile_of_group(
    held: Residuals, *, by: str, group: str, alpha: float | str | Fraction = 0.1
) -> GroupQuantile:
    """The quantile of some models alone, tested by leaving each of them out; refused if too few."""
    rows = held_out_intervals(held, alpha=alpha)
    widths = [row.high - row.low for row in rows if row.low is not None and row.high is not None]
    if len(rows) <= models_needed(alpha) or not widths:
        return too_few_models(held.method, by, group, len(rows), alpha)
    return GroupQuantile(
        method=held.method,
        by=by,
        group=group,
        n_models=len(rows),
        quantile=elo_quantile(held.values, held.se, alpha=alpha).quantile,
        median_width=float(np.median(widths)),
        coverage=sum(row.covered is True for row in rows) / len(widths),
    )


def too_few_models(
    method: str, by: str, group: str, n: int, alpha: float | str | Fraction
) -> GroupQuantile:
    """A group without its own quantile."""
    needed = models_needed(alpha) + 1
    reason = f"{n} models, {needed} needed"
    if n >= needed:
        reason = "the battles of too many models leave no standard error"
    return GroupQuantile(method=method, by=by, group=group, n_models=n, reason=reason)


def family_quantiles(
    held: Residuals,
    *,
    alpha: float | str | Fraction = 0.1,
    families: Mapping[str, str] | None = None,
) -> tuple[GroupQuantile, ...]:
    """A quantile for each maker of several models, the largest family first."""
    makers = np.array([family_of(name, families) or "" for name in held.names])
    known = Counter(makers[makers != ""].tolist())
    return tuple(
        quantile_of_group(held.take(makers == maker), by="family", group=maker, alpha=alpha)
        for maker, models in known.most_common()
        if models > 1
    )
