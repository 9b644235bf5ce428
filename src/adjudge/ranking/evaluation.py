"""The distance of each method's leaderboard from people's: held-out error, coverage, budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from adjudge.errors import ArgumentError
from adjudge.ranking.agreement import rank_correlations
from adjudge.ranking.conformal import (
    family_quantiles,
    held_out_intervals,
    models_needed,
    quantile_of_group,
    split_conformal,
    too_few_models,
)
from adjudge.ranking.counts import battles_per_model
from adjudge.ranking.jury import juror_battles, jury_rule
from adjudge.ranking.leave_one_out import (
    HeldOut,
    Residuals,
    hold_out_each,
    human_reference,
    residuals,
    strongest_quarters,
)
from adjudge.ranking.targets import (
    Rule,
    fixed_rule,
    smoothed_rule,
    smoothed_targets,
    soft_rule,
    verdicts_of,
)
from adjudge.ranking.temperature import fit_temperature
from adjudge.results.ranking import (
    BudgetRow,
    ConformalRow,
    GroupQuantile,
    GroupRow,
    HeldOutRow,
    LooRow,
)
from adjudge.rows.battles import Battles
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import Seed, exact_level, generator, positive

#: The constants of Table 8.
SMOOTHING_GRID = (0.55, 0.65, 0.75, 0.85, 0.95)
#: Judged battles per model at which the error is measured, if there are enough battles.
BUDGETS = (5, 10, 20, 50, 100, 200)
_BUDGET_DRAWS = 5
_FEWEST_VOTES_OWN_BETA = 500


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
    tau = rho = low = high = None
    if len(held.names) >= 3:
        tau, rho = rank_correlations(held.judge, held.human)
    quarters: tuple[float, ...] = ()
    if len(held.names) >= 5:
        away = np.abs(held.values)
        drawn = generator(seed).integers(0, len(away), size=(1000, len(away)))
        low, high = (float(q) for q in np.quantile(away[drawn].mean(axis=1), [0.025, 0.975]))
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
        mae_low=low,
        mae_high=high,
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
            part = battles.take(rng.choice(len(battles), budget * n, replace=False))
            for rule in judge_rules(part):
                held = residuals(hold_out_each(part, rule, l2=l2, replicates=0), human)
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
        part = battles.take(np.flatnonzero(battles.group_codes == k))
        rule = judge_rules(part)[-1]
        met = battles_per_model(part.a, part.b, part.n_models) >= 2
        if int(met.sum()) <= models_needed(alpha):
            # There are many languages, mostly small: they are refused before anything is fitted.
            rows.append(too_few_models(rule.name, battles.by, name, int(met.sum()), alpha))
            continue
        human = human_reference(part, l2=l2)
        held = residuals(hold_out_each(part, rule, l2=l2, seed=rng), human)
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
    known = [(row.beta, row.beta_se) for row in rows if row.beta is not None and row.beta_se]
    if len(known) < 2:
        return tuple(rows), "one pooled beta: fewer than two groups have their own beta"
    beta, se = np.array(known, dtype=np.float64).T
    mean = np.average(beta, weights=se**-2)
    p = float(chdtrc(len(known) - 1, (((beta - mean) / se) ** 2).sum()))
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
