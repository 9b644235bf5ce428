"""The distance of a leaderboard from people's: held-out error, coverage, budgets, agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.present import text
from adjudge.present.blocks import Block, Fact, Facts, Headline, Note
from adjudge.present.result import Correlation, Count, Level, NotNegative, Result, frozen
from adjudge.ranking.bradley_terry import (
    battles_per_model,
    cluster_weights,
    target_battles,
    wins_table,
)
from adjudge.ranking.leave_one_out import (
    ConformalRow,
    GroupQuantile,
    HeldOut,
    HeldOutRow,
    Residuals,
    family_quantiles,
    held_out_intervals,
    hold_out_each,
    human_reference,
    models_needed,
    quantile_of_group,
    residuals,
    split_conformal,
    strongest_quarters,
    too_few_models,
)
from adjudge.ranking.orders import BY_TABLE, least_reversals, online_elo, order_strengths
from adjudge.ranking.targets import (
    Rule,
    fixed_rule,
    juror_battles,
    jury_rule,
    smoothed_rule,
    smoothed_targets,
    soft_rule,
    verdicts_of,
)
from adjudge.ranking.temperature import fit_temperature
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import DEFAULT_L2, fit_strengths
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    exact_level,
    finite,
    generator,
    open_unit,
    positive,
    same_length,
)

#: The constants of Table 8.
SMOOTHING_GRID = (0.55, 0.65, 0.75, 0.85, 0.95)
#: Judged battles per model at which the error is measured, if there are enough battles.
BUDGETS = (5, 10, 20, 50, 100, 200)
_BUDGET_DRAWS = 5
_FEWEST_VOTES_OWN_BETA = 500


@dataclass(frozen=True, kw_only=True)
class LooRow:
    """The distance of a method's held-out Elo from people's, over models left out in turn.

    `mean_beta` is the mean refitted temperature (soft-elo), `mean_smoothing` the mean constant.
    """

    method: str
    n_models: Count
    mae: NotNegative | None
    spearman: Correlation | None
    kendall: Correlation | None
    mean_beta: float | None = None
    mean_smoothing: float | None = None
    mae_interval: Interval | None = None
    residual_by_quarter: tuple[float, ...] = ()
    left_out: dict[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BudgetRow:
    """Held-out error when only `battles` judged battles (`per_model` x models) are used.

    `betas` are the mean temperatures over the folds of each draw (soft-elo).
    """

    method: str
    battles: Count
    per_model: NotNegative
    mae: NotNegative
    mae_sd: NotNegative | None
    draws: Count
    betas: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group's own temperature."""

    group: str
    n_votes: Count
    beta: float | None
    beta_se: NotNegative | None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The distance of each method from people; same fields as the leaderboard."""

    loo: tuple[LooRow, ...] = ()
    conformal: tuple[ConformalRow, ...] = ()
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    quantiles: tuple[GroupQuantile, ...] = ()


def evaluate_methods(
    battles: Battles,
    *,
    l2: float = DEFAULT_L2,
    alpha: float = 0.1,
    splits: int = 5,
    families: Mapping[str, str] | None = None,
    seed: Seed = 0,
) -> Evaluation:
    """Hard-Elo, Soft-Elo and label smoothing, fixed and chosen, on the same folds.

    `families` names the makers of models whose names do not show it.
    """
    positive(l2, "l2")
    exact_level(alpha)
    rng = generator(seed)
    if battles.human is None:
        raise ArgumentError("evaluate", True, "give human votes to compare with")
    if battles.verdict is None:
        raise ArgumentError("evaluate", True, "give judge scores, probabilities or verdicts")
    human = human_reference(battles, l2=l2)
    rows, intervals = [], []
    details: list[HeldOutRow] = []
    quantiles: tuple[GroupQuantile, ...] = ()
    for rule in (*evaluation_rules(battles), *juror_rules(battles)):
        held = residuals(hold_out_each(battles, rule, l2=l2, seed=rng), human)
        rows.append(loo_row(held, seed=rng))
        intervals.append(split_conformal(held, alpha=alpha, splits=splits, seed=rng))
        if rule.name in ("hard-elo", "soft-elo", "smoothed"):
            details.extend(held_out_intervals(held, alpha=alpha))
        if rule.name in ("hard-elo", "soft-elo"):
            # Soft-Elo comes second, and is the one to keep if scores allow it.
            quantiles = family_quantiles(held, alpha=alpha, families=families)
    return Evaluation(
        loo=tuple(rows),
        conformal=tuple(intervals),
        held_out=tuple(details),
        budgets=sample_efficiency(battles, human, l2=l2, seed=rng),
        quantiles=(*quantiles, *group_quantiles(battles, l2=l2, alpha=alpha, seed=rng)),
    )


def evaluation_rules(battles: Battles) -> list[Rule]:
    """hard-elo, soft-elo (if scores say more than verdicts), smoothed: chosen, then fixed."""
    rules = judge_rules(battles)
    rules.append(smoothed_rule(battles))
    verdict = verdicts_of(battles)
    for constant in SMOOTHING_GRID:
        targets = smoothed_targets(verdict, constant)
        rules.append(fixed_rule(f"smoothed {constant}", battles, targets))
    return rules


def judge_rules(battles: Battles) -> list[Rule]:
    """hard-elo, and soft-elo if scores have more information than verdicts."""
    rules = [fixed_rule("hard-elo", battles, verdicts_of(battles))]
    if battles.score is not None:
        sizes = np.unique(np.abs(battles.score[np.isfinite(battles.score)]))
        if battles.panel is not None:
            rules.append(jury_rule(battles))
        elif len(sizes) > 2:
            rules.append(soft_rule(battles))
    return rules


def juror_rules(battles: Battles) -> list[Rule]:
    """soft-elo by each judge of a jury alone, to show whether the jury beats its best judge."""
    if battles.panel is None:
        return []
    return [
        replace(soft_rule(alone), name=f"soft-elo, {judge}")
        for judge, alone in juror_battles(battles).items()
    ]


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
    return LooRow(
        method=held.method,
        n_models=len(held.names),
        mae=held.mae,
        spearman=rho,
        kendall=tau,
        mean_beta=held.mean_parameter if held.method.startswith("soft-elo") else None,
        mean_smoothing=held.mean_parameter if held.method == "smoothed" else None,
        mae_interval=interval,
        residual_by_quarter=quarters,
        left_out=held.left_out,
    )


def sample_efficiency(
    battles: Battles, human: HeldOut, *, l2: float = DEFAULT_L2, seed: Seed = 0
) -> tuple[BudgetRow, ...]:
    """Held-out error on random parts of the battles, against people's Elo from all of them.

    Budgets are judged battles per model (appendix A). The temperature is fitted on the votes of
    that part. A budget without any model to compare is left out.
    """
    rng = generator(seed)
    n = battles.n_models
    rows = []
    for budget in (b for b in BUDGETS if b * n < len(battles)):
        errors: dict[str, list[float]] = {}
        betas: list[float] = []
        for _ in range(_BUDGET_DRAWS):
            drawn = battles.take(rng.choice(len(battles), budget * n, replace=False))
            for rule in judge_rules(drawn):
                held = residuals(hold_out_each(drawn, rule, l2=l2, replicates=0), human)
                if held.mae is not None:
                    errors.setdefault(rule.name, []).append(held.mae)
                if held.mean_parameter is not None:
                    betas.append(held.mean_parameter)
        rows += [
            BudgetRow(
                method=name,
                battles=budget * n,
                per_model=float(budget),
                mae=float(np.mean(seen)),
                mae_sd=float(np.std(seen, ddof=1)) if len(seen) > 1 else None,
                draws=len(seen),
                betas=tuple(betas) if name == "soft-elo" else (),
            )
            for name, seen in errors.items()
        ]
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
        held = residuals(hold_out_each(inside, rule, l2=l2, seed=rng), human)
        rows.append(quantile_of_group(held, by=battles.by, group=name, alpha=alpha))
    return tuple(rows)


def group_temperatures(battles: Battles) -> tuple[tuple[GroupRow, ...], str | None]:
    """Each group's own beta, and whether one pooled beta is enough.

    Cochran's test of equal betas, sum (beta_g - mean)^2 / se_g^2 against chi-square, with standard
    errors by prompt if there are prompts. Small groups overfit (appendix E): a separate beta is
    advised only with 500 votes or more.
    """
    if battles.groups is None:
        return (), None
    if battles.score is None or battles.human is None:
        return (), "no beta by group: it needs judge scores and votes"
    rows = []
    for k, name in enumerate(battles.groups):
        inside = battles.group_codes == k
        fit = fit_temperature(
            battles.score[inside],
            battles.human[inside],
            clusters=None if battles.prompts is None else battles.prompts[inside],
        )
        rows.append(GroupRow(group=name, n_votes=fit.n_battles, beta=fit.beta, beta_se=fit.beta_se))
    fitted = [(row.beta, row.beta_se) for row in rows if row.beta is not None and row.beta_se]
    if len(fitted) < 2:
        return tuple(rows), "one pooled beta: fewer than two groups have their own beta"
    beta, se = np.array(fitted, dtype=np.float64).T
    mean = np.average(beta, weights=se**-2)
    p = float(chdtrc(len(fitted) - 1, (((beta - mean) / se) ** 2).sum()))
    if p >= 0.05:
        return tuple(rows), f"one pooled beta is enough: groups do not clearly differ (p = {p:.2f})"
    large = [row.group for row in rows if row.n_votes >= _FEWEST_VOTES_OWN_BETA]
    if not large:
        return tuple(rows), (
            f"groups differ (p = {p:.3f}), but none has {_FEWEST_VOTES_OWN_BETA} votes: keep the "
            "pooled beta, because a separate beta would overfit"
        )
    return tuple(rows), (
        f"groups differ (p = {p:.3f}): consider a separate beta for {', '.join(large[:6])}; keep "
        "the pooled one for smaller groups"
    )


# --- agreement of two rankings ---


@frozen
class RankAgreement(Result):
    """Kendall's tau and Spearman's rho between two rankings of the same models."""

    kind: ClassVar[str] = "rank_agreement"

    n_models: Count
    kendall: Correlation | None
    kendall_interval: Interval | None
    spearman: Correlation | None
    spearman_interval: Interval | None
    confidence_level: Level
    replicates: Count
    failed: Count = 0

    def view(self) -> list[Block]:
        models = text.count(self.n_models, "model")
        if self.kendall is None or self.spearman is None:
            return [Headline(f"No rank correlation: {models}, too few or all tied", tone="bad")]
        blocks: list[Block] = [
            Headline(
                f"Two rankings of {models}: Kendall's tau {text.number(self.kendall)}, Spearman's "
                f"rho {text.number(self.spearman)}"
            ),
            Facts(agreement_facts(self)),
        ]
        if self.failed:
            failed = f"{self.failed:,} of {text.count(self.replicates, 'resample')}"
            blocks.append(Note([f"{failed} could not be correlated"]))
        return blocks


def rank_correlations(first: ArrayLike, second: ArrayLike) -> tuple[float | None, float | None]:
    """Kendall's tau-b and Spearman's rho; None with fewer than two models or all tied.

    >>> rank_correlations([3, 2, 1], [30, 10, 20])
    (0.333..., 0.5)
    """
    x, y = finite(first, "first", allow_empty=True), finite(second, "second", allow_empty=True)
    same_length(first=x, second=y)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    from scipy import stats

    return float(stats.kendalltau(x, y).statistic), float(stats.spearmanr(x, y).statistic)


def ranking_agreement(
    battles: Battles,
    outcomes: FloatArray,
    reference: FloatArray,
    *,
    method: str = "bt",
    l2: float = DEFAULT_L2,
    confidence_level: float = 0.95,
    replicates: int = 200,
    time_limit: float = 10.0,
    seed: Seed = 0,
) -> RankAgreement:
    """Agreement of `outcomes`, ranked by `method`, with the Bradley-Terry order of `reference`.

    The reference is the same for every method, so that methods can be compared. The exact order
    (`mfas`) and `online-elo` are too slow to repeat, and get no interval.

    Battles (or prompts, if there are prompt codes) are resampled once for both rankings, so that
    their correlation is kept. Noise in either ranking lowers the correlation, and resampling lowers
    it again. So percentiles are too low and their reflection (on Fisher's scale) too high; the
    interval is the hull of both. It is rough: for the correlation with unlimited battles, 95 %
    intervals covered in 80 to 93 % of simulated worlds (15 to 40 models, 50 to 400 battles each),
    percentiles alone in as few as 25 %.
    """
    level = open_unit(confidence_level, "confidence_level")
    rng = generator(seed)
    replicates = count(replicates, "replicates")
    n = battles.n_models
    met = np.ones(n, dtype=bool)
    for target in (outcomes, reference):
        has_target = np.isfinite(target)
        met &= battles_per_model(battles.a[has_target], battles.b[has_target], n) > 0
    if method in ("mfas", "online-elo"):
        replicates = 0
    codes = np.arange(len(battles)) if battles.prompts is None else battles.prompts
    present, code = np.unique(codes, return_inverse=True)
    weights = cluster_weights(len(present), replicates, rng).T
    ours = _orders(battles, outcomes, method, weights, code, l2, time_limit)
    theirs = _orders(battles, reference, "bt", weights, code, l2, time_limit)
    (tau, rho), *resampled = (
        rank_correlations(x[met], y[met]) for x, y in zip(ours, theirs, strict=True)
    )
    drawn = [(t, r) for t, r in resampled if t is not None and r is not None]
    tau_interval = rho_interval = None
    if drawn and tau is not None and rho is not None:
        ends = _interval_hull(np.array([tau, rho]), np.array(drawn), level).T.tolist()
        tau_interval, rho_interval = (Interval(low, high, level) for low, high in ends)
    return RankAgreement(
        n_models=int(met.sum()),
        kendall=tau,
        kendall_interval=tau_interval,
        spearman=rho,
        spearman_interval=rho_interval,
        confidence_level=level,
        replicates=replicates,
        failed=replicates - len(drawn) if tau is not None else 0,
    )


def _interval_hull(estimate: FloatArray, drawn: FloatArray, level: float) -> FloatArray:
    """Lower and upper ends over percentiles and their reflection about the estimate."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    direct = np.quantile(drawn, tails, axis=0)
    most = np.nextafter(1.0, 0.0)
    z = np.arctanh(np.clip(np.vstack([estimate, direct]), -most, most))
    reflected = np.tanh(2 * z[0] - z[[2, 1]])
    return np.stack([np.minimum(direct[0], reflected[0]), np.maximum(direct[1], reflected[1])])


def _orders(
    battles: Battles,
    target: FloatArray,
    method: str,
    weights: FloatArray,
    code: IntArray,
    l2: float,
    time_limit: float,
) -> FloatArray:
    """(1 + replicates, models): the order of these battles, then of each resample of them."""
    used, y = target_battles(battles, target)
    if method == "online-elo":
        return online_elo(used.a, used.b, y, used.n_models, shuffles=0).elo[None]
    at = code[np.isfinite(target)]
    resamples = (wins_table(used.a, used.b, y, used.n_models, drawn[at]) for drawn in weights)
    tables = np.stack([wins_table(used.a, used.b, y, used.n_models), *resamples])
    if method == "mfas":
        return order_strengths(least_reversals(tables[0], time_limit=time_limit))[None]
    if (order := BY_TABLE.get(method)) is not None:
        return np.nan_to_num(np.stack([order(table) for table in tables]), nan=0.5)
    fit = fit_strengths(tables[0], l2=l2)
    refits = fit_strengths(tables[1:], l2=l2, start=fit, tolerance=1e-5)
    return np.vstack([fit[None], refits])


def agreement_facts(agreement: RankAgreement) -> list[Fact]:
    """Kendall and Spearman with their intervals."""
    models = text.count(agreement.n_models, "model")
    if agreement.kendall is None:
        return [Fact("rank correlation", text.DASH, f"{models}, too few or all tied")]
    rough = f"rough {text.level(agreement.confidence_level)} interval"
    return [
        Fact(
            f"{name} with the other ranking",
            text.number(value),
            models if ends is None else f"{rough} {text.interval(*ends)}, {models}",
        )
        for name, value, ends in (
            ("Kendall's tau", agreement.kendall, agreement.kendall_interval),
            ("Spearman's rho", agreement.spearman, agreement.spearman_interval),
        )
    ]
