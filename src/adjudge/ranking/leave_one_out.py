"""Leave one model out: its Elo if it had no votes (Algorithm 1), and its conformal interval.

For each model m: the temperature and the anchors' strengths come from battles without m, then
theta_m from m's battles with the anchors fixed. People's Elo of m is made by the same two steps
from people's votes. All folds are fitted together on tables of wins. The judge's errors on these
models give intervals for a new model's Elo on people's scale:

    S_i = |Elo_judge,i - Elo_human,i| / SE_i                                  (Eq. 3)
    q = the ceil((1 - alpha)(n + 1))-th smallest S_i
    Elo_new -+ q SE_new                                                       (Eq. 4)

They cover with probability at least 1 - alpha over models that are exchangeable with the
calibration models. This is marginal: not for each model, and not for a family, release date or
prompt mix that the calibration models do not represent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from adjudge.data.battles import Battles
from adjudge.data.families import family_of
from adjudge.errors import ArgumentError
from adjudge.present.result import Count, Level, NotNegative, Proportion
from adjudge.ranking.bradley_terry import cluster_weights, float_at
from adjudge.ranking.targets import Rule, fixed_rule
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import (
    DEFAULT_L2,
    ELO_PER_UNIT,
    fit_against_anchors,
    fit_strengths,
    to_elo,
)
from adjudge.statistics.numbers import conformal_quantile
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    count,
    exact_level,
    finite,
    generator,
    positive,
    same_length,
)

#: The paper resamples 20 times (section 5.3); more cost little here and make the scale more stable.
DEFAULT_REPLICATES = 100
_CHUNK_BYTES = 1 << 25


@dataclass(frozen=True, kw_only=True)
class HeldOutRow:
    """One model left out: people's Elo, the judge's, and its conformal interval.

    The interval's quantile comes from all the other models.
    """

    method: str
    model: str
    human_elo: float
    elo: float
    residual: float
    se: NotNegative | None
    interval: Interval
    unbounded: bool
    covered: bool | None

    @property
    def width(self) -> float | None:
        """The width of the interval; None if it is unbounded."""
        low, high = self.interval
        return None if low is None or high is None else high - low


@dataclass(frozen=True, kw_only=True)
class ConformalRow:
    """Split conformal intervals over random halves of the models; means over the splits.

    Half-width = quantile x standard error: `quantile` and `median_se` are its two factors. Without
    enough calibration models the interval is unbounded; `models_needed` is the required number.
    """

    method: str
    alpha: Level
    coverage: Proportion | None
    median_width: NotNegative | None
    quantile: float | None
    median_se: NotNegative | None = None
    width_low: float | None = None
    width_high: float | None = None
    coverage_low: float | None = None
    coverage_high: float | None = None
    splits: Count = 0
    n_calibration: Count = 0
    n_test: Count = 0
    unbounded: bool = False
    models_needed: Count | None = None


@dataclass(frozen=True, kw_only=True)
class GroupQuantile:
    """Conformal intervals from the models of one family, or from the battles of one group alone.

    Each model's interval is made from the others of the group; `coverage` is how many contain
    people's Elo. With too few models there is no quantile, and `reason` explains it.
    """

    method: str
    by: str
    group: str
    n_models: Count
    quantile: NotNegative | None = None
    median_width: NotNegative | None = None
    coverage: Proportion | None = None
    reason: str | None = None


# --- held-out Elo ---


@dataclass(frozen=True)
class HeldOut:
    """Every model's Elo as if it were new; NaN if it has none.

    `reasons[k]` explains why model k has none. `se` is the standard error of `elo` from resampling
    only that model's battles, with fixed anchors and temperature.
    """

    method: str
    names: tuple[str, ...]
    elo: FloatArray
    se: FloatArray
    parameter: FloatArray | None
    reasons: tuple[str | None, ...]


def hold_out_each(
    battles: Battles,
    rule: Rule,
    *,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    seed: Seed = 0,
) -> HeldOut:
    """Algorithm 1, lines 2 to 8, for every model under one rule of targets.

    The penalty is also in line 8, as in the authors' release, which keeps models that won or lost
    everything finite. Standard errors resample a model's battles by prompt if the battles have
    prompt codes; `replicates = 0` skips them.
    """
    l2 = positive(l2, "l2")
    if count(replicates, "replicates") == 1:
        raise ArgumentError("replicates", 1, "give 2 or more, or 0 for no standard errors")
    rng = generator(seed)
    n = battles.n_models
    if n < 3:
        raise ArgumentError("battles", f"{n} models", "give at least three models to leave one out")
    theta, anchors, opponents = _all_folds(rule, n, l2)
    reasons = _missing_reasons(rule, opponents, n)
    valid = np.array([reason is None for reason in reasons])
    se = np.full(n, np.nan)
    if replicates:
        a, b = battles.a[rule.rows], battles.b[rule.rows]
        prompts = None if battles.prompts is None else battles.prompts[rule.rows]
        for m in np.flatnonzero(valid):
            as_a, as_b = np.flatnonzero(a == m), np.flatnonzero(b == m)
            rows = np.concatenate([as_a, as_b])
            y = rule.targets(int(m))
            se[m] = anchored_standard_error(
                np.concatenate([b[as_a], a[as_b]]),
                np.concatenate([y[as_a], 1 - y[as_b]]),
                anchors[m],
                l2=l2,
                replicates=replicates,
                rng=rng,
                prompts=None if prompts is None else prompts[rows],
            )
    return HeldOut(
        method=rule.name,
        names=battles.names,
        elo=np.where(valid, to_elo(theta), np.nan),
        se=np.where(valid, se, np.nan),
        parameter=rule.parameter,
        reasons=tuple(reasons),
    )


def _all_folds(rule: Rule, n: int, l2: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """theta_m, the anchors' strengths and m's battles per opponent, for every fold."""
    theta, anchors, opponents = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
    start = None
    chunk = max(1, _CHUNK_BYTES // (8 * n * n))
    for first in range(0, n, chunk):
        folds = np.arange(first, min(n, first + chunk))
        folds_used = folds[rule.usable[folds]]
        if not len(folds_used):
            continue
        tables = rule.tables(folds_used)
        at = np.arange(len(folds_used))
        won = tables[at, folds_used].sum(axis=1)
        opponents[folds_used] = tables[at, folds_used] + tables[at, :, folds_used]
        tables[at, folds_used, :] = 0.0
        tables[at, :, folds_used] = 0.0
        if start is None:
            start = fit_strengths(tables[0], l2=l2)
        anchors[folds_used] = fit_strengths(tables, l2=l2, start=start)
        theta[folds_used] = fit_against_anchors(
            opponents[folds_used], won, anchors[folds_used], l2=l2
        )
    return theta, anchors, opponents


def _missing_reasons(rule: Rule, opponents: FloatArray, n: int) -> list[str | None]:
    """Why a model has no held-out Elo; None if it has one."""
    reasons: list[str | None] = []
    linked = (opponents > 0) | (opponents.T > 0)
    for m in range(n):
        if not rule.usable[m]:
            reasons.append("no temperature without its battles")
        elif opponents[m].sum() < 2:
            reasons.append("fewer than two battles")
        else:
            together = _connected_without(linked, opponents[m] > 0, m)
            reasons.append(None if together else "its opponents are not connected without it")
    return reasons


def _connected_without(linked: BoolArray, met: BoolArray, model: int) -> bool:
    """Whether paths that avoid one model connect the models that it met."""
    reached = np.arange(len(met)) == np.argmax(met)
    while not reached[met].all():
        wider = reached | linked[reached].any(axis=0)
        wider[model] = False
        if np.array_equal(wider, reached):
            return False
        reached = wider
    return True


def anchored_standard_error(
    opponent: IntArray,
    target: FloatArray,
    anchors: FloatArray,
    *,
    l2: float,
    replicates: int,
    rng: np.random.Generator,
    prompts: IntArray | None = None,
) -> float:
    """Standard error in Elo of one model's anchored fit, its battles drawn with replacement.

    With `prompts`, prompts are drawn, each with all the model's battles (appendix J): answers to
    one prompt are correlated. With a single prompt no error can be measured: 0.
    """
    code = np.arange(len(target))
    if prompts is not None:
        code = np.unique(prompts, return_inverse=True)[1]
    weights = cluster_weights(int(code.max()) + 1, replicates, rng)[code]
    shape = len(anchors), len(code)
    fought = csr_array((np.ones(len(code)), (opponent, np.arange(len(code)))), shape=shape)
    met = np.asarray(fought @ weights, dtype=np.float64).T
    theta = fit_against_anchors(met, target @ weights, anchors, l2=l2)
    return float(ELO_PER_UNIT * theta.std(ddof=1))


def human_reference(battles: Battles, *, l2: float = DEFAULT_L2) -> HeldOut:
    """People's Elo of each model by the same two steps, from their votes (Algorithm 1, line 9)."""
    if battles.human is None:
        raise ArgumentError("battles", "no human votes", "give a column of votes to compare with")
    return hold_out_each(battles, fixed_rule("human", battles, battles.human), l2=l2, replicates=0)


@dataclass(frozen=True)
class Residuals:
    """Judge's Elo minus people's (Eq. 2) over the models that have both."""

    method: str
    names: tuple[str, ...]
    human: FloatArray
    judge: FloatArray
    se: FloatArray
    mean_parameter: float | None
    left_out: dict[str, int]

    @property
    def values(self) -> FloatArray:
        """epsilon = judge - human."""
        return self.judge - self.human

    def take(self, models: BoolArray) -> Residuals:
        """The residuals of some of the models."""
        return replace(
            self,
            names=tuple(compress(self.names, models)),
            human=self.human[models],
            judge=self.judge[models],
            se=self.se[models],
        )

    @property
    def mae(self) -> float | None:
        """Mean absolute residual, in Elo."""
        return float(np.abs(self.values).mean()) if len(self.names) else None


def residuals(judge: HeldOut, human: HeldOut) -> Residuals:
    """A method's held-out Elo minus people's; models without either are counted by reason."""
    reasons = [
        why or (None if why_human is None else f"votes: {why_human}")
        for why, why_human in zip(judge.reasons, human.reasons, strict=True)
    ]
    at = np.flatnonzero([reason is None for reason in reasons])
    mean = None
    if judge.parameter is not None and len(at):
        mean = float(judge.parameter[at].mean())
    return Residuals(
        method=judge.method,
        names=tuple(judge.names[k] for k in at),
        human=human.elo[at],
        judge=judge.elo[at],
        se=judge.se[at],
        mean_parameter=mean,
        left_out=dict(Counter(reason for reason in reasons if reason is not None)),
    )


def strongest_quarters(human: FloatArray) -> IntArray:
    """Quarter of each model by people's Elo, 0 the weakest, with sizes as equal as possible."""
    order = np.argsort(human, kind="stable")
    quarter = np.empty(len(human), dtype=np.int64)
    quarter[order] = np.arange(len(human)) * 4 // max(1, len(human))
    return quarter


# --- conformal intervals ---


@dataclass(frozen=True)
class EloQuantile:
    """q of Eq. 4; None if `n` models are too few; `models_needed` is the required number."""

    quantile: float | None
    n: int
    models_needed: int

    def interval(self, elo: float, se: float) -> tuple[float | None, float | None]:
        """[elo - q se, elo + q se]; both ends None if unbounded or without a scale."""
        return _around(elo, self.quantile, se)


def _around(elo: float, quantile: float | None, se: float) -> tuple[float | None, float | None]:
    if quantile is None or not se > 0:
        return None, None
    return elo - quantile * se, elo + quantile * se


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
    return replace(
        empty,
        coverage=float(np.mean(cover)),
        median_width=float(np.mean(width)),
        quantile=float(np.mean(quantile)),
        median_se=float(np.mean(scale)),
        width_low=min(width),
        width_high=max(width),
        coverage_low=min(cover),
        coverage_high=max(cover),
        unbounded=False,
        models_needed=None,
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
        se, judge, human = float(held.se[k]), float(held.judge[k]), float(held.human[k])
        low, high = _around(judge, q, se)
        rows.append(
            HeldOutRow(
                method=held.method,
                model=name,
                human_elo=human,
                elo=judge,
                residual=judge - human,
                se=float_at(held.se, k),
                interval=Interval(low, high, level=1 - float(level)),
                unbounded=low is None,
                covered=None if low is None or q is None else abs(judge - human) <= q * se,
            )
        )
    return tuple(rows)


def quantile_of_group(
    held: Residuals, *, by: str, group: str, alpha: float | str | Fraction = 0.1
) -> GroupQuantile:
    """The quantile of some models alone, tested by leaving each of them out; refused if too few."""
    rows = held_out_intervals(held, alpha=alpha)
    widths = [row.width for row in rows if row.width is not None]
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
    sizes = Counter(makers[makers != ""].tolist())
    return tuple(
        quantile_of_group(held.take(makers == maker), by="family", group=maker, alpha=alpha)
        for maker, models in sizes.most_common()
        if models > 1
    )
