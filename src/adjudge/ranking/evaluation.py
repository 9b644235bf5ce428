"""The distance of a judge's leaderboard from people's: held-out error, coverage, budgets, groups.

One model is left out at a time, as if it had no votes (Algorithm 1). For each model m: the
temperature and the anchors' strengths come from battles without m, then theta_m from m's battles
with the anchors fixed. People's Elo of m is made by the same two steps from people's votes. All
folds are fitted together on tables of wins. The judge's errors on these models give intervals for a
new model's Elo on people's scale:

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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from adjudge.data.battles import Battles
from adjudge.data.families import family_of
from adjudge.errors import ArgumentError
from adjudge.ranking import targets
from adjudge.ranking.bradley_terry import battles_per_model, cluster_weights, float_at
from adjudge.ranking.leaderboard import BudgetRow, ConformalRow, GroupQuantile, HeldOutRow, LooRow
from adjudge.ranking.orders import rank_correlations
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
#: An error level, as typed or exact.
Alpha = float | str | Fraction


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
    rule: Rule,
    *,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    seed: Seed = 0,
    tolerance: float = 1e-8,
) -> HeldOut:
    """Algorithm 1, lines 2 to 8, for every model under one rule of targets.

    The penalty is also in line 8, as in the authors' release, which keeps models that won or lost
    everything finite. Standard errors resample a model's battles by prompt if the battles have
    prompt codes; `replicates = 0` skips them. `tolerance` is that of `fit_strengths`.
    """
    l2 = positive(l2, "l2")
    if count(replicates, "replicates") == 1:
        raise ArgumentError("replicates", 1, "give 2 or more, or 0 for no standard errors")
    rng = generator(seed)
    battles = rule.battles
    n = rule.battles.n_models
    if n < 3:
        raise ArgumentError("battles", f"{n} models", "give at least three models to leave one out")
    theta, anchors, opponents = _all_folds(rule, n, l2, tolerance)
    problems = {
        "no temperature without its battles": ~rule.usable,
        "fewer than two battles": opponents.sum(axis=1) < 2,
        "its opponents are not connected without it": ~_connected_without(opponents > 0),
    }
    reasons = [next((why for why, has in problems.items() if has[m]), None) for m in range(n)]
    valid = np.array([reason is None for reason in reasons])
    se = np.full(n, np.nan)
    if replicates:
        prompts = battles.prompts
        weights = battles.weights
        for model in np.flatnonzero(valid):
            as_a = np.flatnonzero(battles.a == model)
            as_b = np.flatnonzero(battles.b == model)
            rows = np.concatenate([as_a, as_b])
            target = rule.targets(int(model))
            y = np.concatenate([target[as_a], 1 - target[as_b]])
            opponent = np.concatenate([battles.b[as_a], battles.a[as_b]])
            se[model] = anchored_standard_error(
                opponent,
                y,
                anchors[model],
                l2=l2,
                replicates=replicates,
                rng=rng,
                prompts=None if prompts is None else prompts[rows],
                battle_weights=None if weights is None else weights[rows],
            )
    return HeldOut(
        method=rule.name,
        names=battles.names,
        elo=np.where(valid, to_elo(theta), np.nan),
        se=se,
        parameter=rule.parameter,
        reasons=tuple(reasons),
    )


def _all_folds(
    rule: Rule, n: int, l2: float, tolerance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """theta_m, the anchors' strengths and m's battles per opponent, for every fold."""
    theta = np.zeros(n)
    anchors = np.zeros((n, n))
    opponents = np.zeros((n, n))
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
            start = fit_strengths(tables[0], l2=l2, tolerance=tolerance)
        anchors[folds_used] = fit_strengths(tables, l2=l2, start=start, tolerance=tolerance)
        theta[folds_used] = fit_against_anchors(
            opponents[folds_used], won, anchors[folds_used], l2=l2
        )
    return theta, anchors, opponents


def _connected_without(met: BoolArray) -> BoolArray:
    """For each model, whether paths that avoid it connect the models that it met (its row)."""
    linked = met | met.T
    others = ~np.eye(len(met), dtype=bool)
    reached = np.zeros_like(met)
    reached[np.arange(len(met)), np.argmax(met, axis=1)] = True
    while True:
        wider = (reached | (reached.astype(np.float32) @ linked > 0)) & others
        if np.array_equal(wider, reached):
            return np.asarray((reached | ~met).all(axis=1))
        reached = wider


def anchored_standard_error(
    opponent: IntArray,
    target: FloatArray,
    anchors: FloatArray,
    *,
    l2: float,
    replicates: int,
    rng: np.random.Generator,
    prompts: IntArray | None = None,
    battle_weights: FloatArray | None = None,
) -> float:
    """Standard error in Elo of one model's anchored fit, its battles drawn with replacement.

    With `prompts`, prompts are drawn, each with all the model's battles (appendix J): answers to
    one prompt are correlated. With a single prompt no error can be measured: 0.
    """
    code = np.arange(len(target))
    if prompts is not None:
        code = np.unique(prompts, return_inverse=True)[1]
    weights = cluster_weights(int(code.max()) + 1, replicates, rng)[code]
    if battle_weights is not None:
        weights *= battle_weights[:, None]
    shape = len(anchors), len(code)
    fought = csr_array((np.ones(len(code)), (opponent, np.arange(len(code)))), shape=shape)
    met = np.asarray(fought @ weights, dtype=np.float64).T
    theta = fit_against_anchors(met, target @ weights, anchors, l2=l2)
    return float(ELO_PER_UNIT * theta.std(ddof=1))


def human_reference(battles: Battles, *, l2: float = DEFAULT_L2) -> HeldOut:
    """People's Elo of each model by the same two steps, from their votes (Algorithm 1, line 9)."""
    if battles.human is None:
        raise ArgumentError("battles", "no human votes", "give a column of votes to compare with")
    return hold_out_each(fixed_rule("human", battles, battles.human), l2=l2, replicates=0)


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
    left_out = Counter(reason for reason in reasons if reason is not None)
    mean_parameter = None
    if judge.parameter is not None and len(at):
        mean_parameter = float(judge.parameter[at].mean())
    return Residuals(
        method=judge.method,
        names=tuple(judge.names[k] for k in at),
        human=human.elo[at],
        judge=judge.elo[at],
        se=judge.se[at],
        mean_parameter=mean_parameter,
        left_out=dict(left_out),
    )


def strongest_quarters(human: FloatArray) -> IntArray:
    """Quarter of each model by people's Elo, 0 the weakest, with sizes as equal as possible."""
    order = np.argsort(human, kind="stable")
    quarter = np.empty(len(human), dtype=np.int64)
    quarter[order] = np.arange(len(human)) * 4 // max(1, len(human))
    return quarter


# --- conformal intervals ---


def interval_around(
    elo: float, quantile: float | None, se: float
) -> tuple[float | None, float | None]:
    """[elo - q se, elo + q se]; both ends None if unbounded or without a scale."""
    if quantile is None or not se > 0:
        return None, None
    return elo - quantile * se, elo + quantile * se


def models_needed(alpha: Alpha) -> int:
    """The fewest calibration models with a finite quantile: n >= (1 - alpha) / alpha.

    >>> models_needed(0.1), models_needed(0.05)
    (9, 19)
    """
    level = exact_level(alpha)
    return math.ceil((1 - level) / level)


def elo_quantile(residual: ArrayLike, se: ArrayLike, *, alpha: Alpha) -> float | None:
    """q of Eq. 4, the conformal quantile of |residual| / SE; None if there are too few models.

    A model whose SE is 0 (a few equal battles) has no scale and counts as infinitely far off, which
    can only widen the interval.

    >>> elo_quantile(range(1, 10), [1.0] * 9, alpha=0.1)
    9.0
    >>> elo_quantile(range(1, 9), [1.0] * 8, alpha=0.1) is None
    True
    """
    level = exact_level(alpha)
    eps = finite(residual, "residual", allow_empty=True)
    scale = finite(se, "se", allow_empty=True)
    same_length(residual=eps, se=scale)
    return _finite_quantile(_normalised_scores(eps, scale), level)


def _normalised_scores(residual: FloatArray, se: FloatArray) -> FloatArray:
    """|residual| / se; infinite if there is no scale."""
    scores = np.full(len(residual), np.inf)
    np.divide(np.abs(residual), se, out=scores, where=se > 0)
    return scores


def _finite_quantile(scores: FloatArray, level: Fraction) -> float | None:
    q = conformal_quantile(scores, level)
    return q if q is not None and math.isfinite(q) else None


def split_conformal(
    held: Residuals, *, alpha: Alpha = 0.1, splits: int = 5, seed: Seed = 0
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
        models_needed=models_needed(level),
    )
    if n_cal < models_needed(level):
        return empty
    scores = _normalised_scores(held.values, held.se)
    measured = []
    for _ in range(splits):
        order = rng.permutation(n)
        cal = order[:n_cal]
        test = order[n_cal:]
        q = _finite_quantile(scores[cal], level)
        if q is None:
            return empty
        covered = (scores[test] <= q).mean()
        se = held.se[test]
        measured.append((covered, np.median(2 * q * se), q, np.median(se)))
    coverage, width, quantile, median_se = np.array(measured).T
    return replace(
        empty,
        coverage=float(coverage.mean()),
        median_width=float(width.mean()),
        quantile=float(quantile.mean()),
        median_se=float(median_se.mean()),
        width_low=float(width.min()),
        width_high=float(width.max()),
        coverage_low=float(coverage.min()),
        coverage_high=float(coverage.max()),
        unbounded=False,
        models_needed=None,
    )


def held_out_intervals(held: Residuals, *, alpha: Alpha = 0.1) -> tuple[HeldOutRow, ...]:
    """Each model's interval with the quantile of all the others, as for a new model."""
    level = exact_level(alpha)
    scores = _normalised_scores(held.values, held.se)
    rows = []
    for k, name in enumerate(held.names):
        q = _finite_quantile(np.delete(scores, k), level)
        se = float(held.se[k])
        judge = float(held.judge[k])
        human = float(held.human[k])
        low, high = interval_around(judge, q, se)
        covered = None if low is None or q is None else abs(judge - human) <= q * se
        row = HeldOutRow(
            method=held.method,
            model=name,
            human_elo=human,
            elo=judge,
            residual=judge - human,
            se=float_at(held.se, k),
            interval=Interval(low, high, level=1 - float(level)),
            unbounded=low is None,
            covered=covered,
        )
        rows.append(row)
    return tuple(rows)


def quantile_of_group(held: Residuals, *, by: str, group: str, alpha: Alpha = 0.1) -> GroupQuantile:
    """The quantile of some models alone, tested by leaving each of them out; refused if too few."""
    rows = held_out_intervals(held, alpha=alpha)
    widths = [row.width for row in rows if row.width is not None]
    if len(rows) <= models_needed(alpha) or not widths:
        return too_few_models(held.method, by, group, len(rows), alpha)
    covered = sum(row.covered is True for row in rows)
    return GroupQuantile(
        method=held.method,
        by=by,
        group=group,
        n_models=len(rows),
        quantile=elo_quantile(held.values, held.se, alpha=alpha),
        median_width=float(np.median(widths)),
        coverage=covered / len(widths),
    )


def too_few_models(method: str, by: str, group: str, n: int, alpha: Alpha) -> GroupQuantile:
    """A group without its own quantile."""
    needed = models_needed(alpha) + 1
    reason = f"{n} models, {needed} needed"
    if n >= needed:
        reason = "the battles of too many models leave no standard error"
    return GroupQuantile(method=method, by=by, group=group, n_models=n, reason=reason)


def family_quantiles(
    held: Residuals, *, alpha: Alpha = 0.1, families: Mapping[str, str] | None = None
) -> tuple[GroupQuantile, ...]:
    """A quantile for each maker of several models, the largest family first."""
    makers = np.array([family_of(name, families) or "" for name in held.names])
    sizes = Counter(makers[makers != ""].tolist())
    return tuple(
        quantile_of_group(held.take(makers == maker), by="family", group=maker, alpha=alpha)
        for maker, models in sizes.most_common()
        if models > 1
    )


#: The constants of Table 8.
SMOOTHING_GRID = (0.55, 0.65, 0.75, 0.85, 0.95)
#: Judged battles per model at which the error is measured, if there are enough battles.
BUDGETS = (5, 10, 20, 50, 100, 200)


def evaluate_methods(
    battles: Battles,
    *,
    l2: float = DEFAULT_L2,
    alpha: float = 0.1,
    splits: int = 5,
    families: Mapping[str, str] | None = None,
    seed: Seed = 0,
) -> dict[str, Any]:
    """Hard-Elo, Soft-Elo and label smoothing, fixed and chosen, on the same folds.

    The distance of each from people, as fields of the leaderboard. `families` names the makers of
    models whose names do not show it.
    """
    positive(l2, "l2")
    exact_level(alpha)
    rng = generator(seed)
    if battles.human is None:
        raise ArgumentError("evaluate", True, "give human votes to compare with")
    if battles.verdict is None:
        raise ArgumentError("evaluate", True, "give judge scores, probabilities or verdicts")
    human = human_reference(battles, l2=l2)
    rules = evaluation_rules(battles)
    rows = []
    intervals = []
    details: list[HeldOutRow] = []
    quantiles: tuple[GroupQuantile, ...] = ()
    if battles.panel is not None:
        # Each judge of a jury alone, to show whether the jury beats its best judge.
        rules += [
            replace(targets.soft_rule(alone), name=f"soft-elo, {judge}")
            for judge, alone in targets.juror_battles(battles).items()
        ]
    for rule in rules:
        held = residuals(hold_out_each(rule, l2=l2, seed=rng), human)
        rows.append(loo_row(held, seed=rng))
        intervals.append(split_conformal(held, alpha=alpha, splits=splits, seed=rng))
        if rule.name in ("hard-elo", "soft-elo", "smoothed"):
            details.extend(held_out_intervals(held, alpha=alpha))
        if rule.name in ("hard-elo", "soft-elo"):
            # Soft-Elo comes second, and is the one to keep if scores allow it.
            quantiles = family_quantiles(held, alpha=alpha, families=families)
    budgets = sample_efficiency(battles, human, l2=l2, seed=rng)
    quantiles += group_quantiles(battles, l2=l2, alpha=alpha, seed=rng)
    return {
        "loo": tuple(rows),
        "conformal": tuple(intervals),
        "held_out": tuple(details),
        "budgets": budgets,
        "quantiles": quantiles,
    }


def evaluation_rules(battles: Battles) -> list[Rule]:
    """hard-elo, soft-elo (if scores say more than verdicts), smoothed: chosen, then fixed."""
    verdict = np.asarray(battles.verdict)
    fixed = (
        fixed_rule(f"smoothed {constant}", battles, targets.smoothed_targets(verdict, constant))
        for constant in SMOOTHING_GRID
    )
    return [*judge_rules(battles), targets.smoothed_rule(battles), *fixed]


def judge_rules(battles: Battles) -> list[Rule]:
    """hard-elo, and soft-elo if scores have more information than verdicts."""
    rules = [fixed_rule("hard-elo", battles, np.asarray(battles.verdict))]
    if battles.score is not None:
        sizes = np.unique(np.abs(battles.score[np.isfinite(battles.score)]))
        if battles.panel is not None:
            rules.append(targets.jury_rule(battles))
        elif len(sizes) > 2:
            rules.append(targets.soft_rule(battles))
    return rules


def loo_row(held: Residuals, *, seed: Seed = 0) -> LooRow:
    """Error and rank fidelity of one method; the interval of its error is over models."""
    tau = rho = interval = None
    if len(held.names) >= 3:
        tau, rho = rank_correlations(held.judge, held.human)
    quarters: tuple[float, ...] = ()
    if len(held.names) >= 5:
        away = np.abs(held.values)
        drawn = generator(seed).integers(0, len(away), size=(1000, len(away)))
        low, high = np.quantile(away[drawn].mean(axis=1), [0.025, 0.975]).tolist()
        interval = Interval(low, high, level=0.95)
    if len(held.names) >= 8:
        quarter = strongest_quarters(held.human)
        quarters = tuple(float(held.values[quarter == q].mean()) for q in range(4))
    method = held.method
    return LooRow(
        method=method,
        n_models=len(held.names),
        mae=held.mae,
        spearman=rho,
        kendall=tau,
        mean_beta=held.mean_parameter if method.startswith("soft-elo") else None,
        mean_smoothing=held.mean_parameter if method == "smoothed" else None,
        mae_interval=interval,
        residual_by_quarter=quarters,
        left_out=held.left_out,
    )


def sample_efficiency(
    battles: Battles,
    human: HeldOut,
    *,
    l2: float = DEFAULT_L2,
    draws: int = 5,
    seed: Seed = 0,
) -> tuple[BudgetRow, ...]:
    """Held-out error on random parts of the battles, against people's Elo from all of them.

    Budgets are judged battles per model (appendix A), `draws` random parts for each. The
    temperature is fitted on the votes of that part. A budget without any model to compare is left
    out.
    """
    rng = generator(seed)
    n = battles.n_models
    rows = []
    for budget in (b for b in BUDGETS if b * n < len(battles)):
        errors: dict[str, list[float]] = {}
        betas: list[float] = []
        for _ in range(draws):
            drawn = battles.take(rng.choice(len(battles), budget * n, replace=False))
            for rule in judge_rules(drawn):
                held_out = hold_out_each(rule, l2=l2, replicates=0, tolerance=1e-5)
                held = residuals(held_out, human)
                if held.mae is not None:
                    errors.setdefault(rule.name, []).append(held.mae)
                if held.mean_parameter is not None:
                    betas.append(held.mean_parameter)
        for name, seen in errors.items():
            deviation = float(np.std(seen, ddof=1)) if len(seen) > 1 else None
            row = BudgetRow(
                method=name,
                battles=budget * n,
                per_model=float(budget),
                mae=float(np.mean(seen)),
                mae_sd=deviation,
                draws=len(seen),
                betas=tuple(betas) if name == "soft-elo" else (),
            )
            rows.append(row)
    return tuple(rows)


def group_quantiles(
    battles: Battles, *, l2: float = DEFAULT_L2, alpha: float = 0.1, seed: Seed = 0
) -> tuple[GroupQuantile, ...]:
    """Conformal quantiles from the battles of each group alone: a model's Elo in one language.

    Everything is refitted there, including people's Elo. A group with too few models is refused.
    """
    if battles.groups is None or battles.group_codes is None or battles.by is None:
        return ()
    rng = generator(seed)
    rows = []
    for k, name in enumerate(battles.groups):
        inside = battles.take(np.flatnonzero(battles.group_codes == k))
        rule = judge_rules(inside)[-1]
        met = battles_per_model(inside.a, inside.b, inside.n_models) >= 2
        if int(met.sum()) <= models_needed(alpha):
            # There are many languages, mostly small: they are refused before anything is fitted.
            rows.append(too_few_models(rule.name, battles.by, name, int(met.sum()), alpha))
            continue
        human = human_reference(inside, l2=l2)
        held = residuals(hold_out_each(rule, l2=l2, seed=rng), human)
        rows.append(quantile_of_group(held, by=battles.by, group=name, alpha=alpha))
    return tuple(rows)
