"""The Soft-Elo paper's measurements of one judge on one corpus, one function per appendix.

Each returns a part of `results.soft_elo_parts`, or None if the rows do not have the needed data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import expit

from adjudge.data.battles import Battles
from adjudge.data.families import of_family
from adjudge.data.rows import has_values
from adjudge.diagnosis import family_of, family_scores, position_bias
from adjudge.ranking import hold_out_each, rank_correlations, residuals, soft_targets
from adjudge.ranking.leave_one_out import HeldOut, Residuals, strongest_quarters
from adjudge.ranking.targets import Rule, decided_by_both, fixed_rule
from adjudge.ranking.temperature import (
    AgreementBin,
    ReliabilityBin,
    Temperature,
    temperature_with_ties,
)
from adjudge.statistics.numbers import (
    binomial_interval,
    expected_calibration_error,
    reliability_bins,
)
from adjudge.validation import BoolArray, FloatArray
from adjudge_papers.soft_elo_parts import (
    BetaStability,
    FamilyExcess,
    LengthEffect,
    OrderError,
    PositionEffect,
    StrengthStructure,
)

#: Figure 3a's bins of |s|; the last is open.
AGREEMENT_EDGES = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
#: Near-tied (F.1).
NEAR_TIE = 0.3
_BOTH_ORDERS = ("score_diff_ab", "score_diff_ba")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One judge on one corpus: the rows, and the same rows as battles with votes and scores."""

    corpus: str
    judge: str
    frame: pl.DataFrame
    battles: Battles
    human: FloatArray
    verdict: FloatArray
    score: FloatArray

    def has(self, *columns: str) -> bool:
        """Whether each column has a number in at least one row."""
        return has_values(self.frame, *columns)

    def numbers(self, column: str) -> FloatArray:
        """A column as floats, NaN if it is empty."""
        return self.frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()

    @property
    def prompts(self) -> pl.Series:
        """The id of a battle across judges: the prompt, or the row if there is no prompt."""
        return self.frame["prompt_id" if "prompt_id" in self.frame.columns else "id"]


def agreement_by_size(run: Run, beta: float | None) -> tuple[AgreementBin, ...]:
    """How often people agree with the judge by |s|, if both chose a side (Figure 3a)."""
    both = decided_by_both(run.verdict, run.human) & np.isfinite(run.score)
    size = np.abs(run.score[both])
    agree = run.verdict[both] == run.human[both]
    # (low, high], and a difference of 0 in the first bin.
    which = np.maximum(np.searchsorted(AGREEMENT_EDGES, size, side="left") - 1, 0)
    bins = []
    for k, low in enumerate(AGREEMENT_EDGES):
        inside = which == k
        n = int(inside.sum())
        if not n:
            continue
        ends = binomial_interval(int(agree[inside].sum()), n, 0.95)
        bins.append(
            AgreementBin(
                low=low,
                high=float(size[inside].max()),
                n=n,
                agreement=float(agree[inside].mean()),
                agreement_low=ends[0],
                agreement_high=ends[1],
                predicted=float(expit((beta or 0.0) * size[inside]).mean()),
            )
        )
    return tuple(bins)


def raw_reliability(run: Run) -> tuple[tuple[ReliabilityBin, ...], float | None]:
    """The reliability of sigma(|s|), as if beta were 1 (Figure 3b), and its calibration error."""
    both = decided_by_both(run.verdict, run.human) & np.isfinite(run.score)
    if not both.any():
        return (), None
    confidence = np.asarray(expit(np.abs(run.score[both])))
    agree = (run.verdict[both] == run.human[both]).astype(np.int64)
    bins = reliability_bins(confidence, agree, equal_mass=True)
    rows = tuple(
        ReliabilityBin(predicted=float(p), observed=float(o), n=int(n))
        for p, o, n in zip(bins.confidence, bins.accuracy, bins.count, strict=True)
    )
    return rows, expected_calibration_error(confidence, agree, equal_mass=True)


def contradictions(run: Run) -> float | None:
    """Share of decided verdicts for the side that the judge scored lower (appendix G)."""
    decided = np.isin(run.verdict, (0.0, 1.0)) & np.isfinite(run.score)
    if not decided.any():
        return None
    return float((np.sign(run.score[decided]) == 1 - 2 * run.verdict[decided]).mean())


def beta_stability(
    run: Run, fit: Temperature, rule: Rule | None, human: HeldOut, l2: float
) -> BetaStability | None:
    """beta over folds, pooled, and with ties at one half (appendix C)."""
    if rule is None or rule.parameter is None or fit.beta is None or fit.beta <= 0:
        return None
    folds = rule.parameter[np.isfinite(rule.parameter)]
    if len(folds) < 2:
        return None
    away = np.abs(folds - fit.beta)
    with_ties = temperature_with_ties(run.score, run.human)
    half = _fixed_beta(run, with_ties, human, l2)
    rho = None if half is None else rank_correlations(half.judge, half.human)[1]
    pooled = _fixed_beta(run, fit.beta, human, l2)
    return BetaStability(
        pooled=fit.beta,
        fold_sd=float(folds.std(ddof=1)),
        mean_deviation=float(away.mean()),
        largest_deviation=float(away.max()),
        pooled_mae=None if pooled is None else pooled.mae,
        with_ties=with_ties,
        with_ties_mae=None if half is None else half.mae,
        with_ties_spearman=rho,
    )


def _fixed_beta(run: Run, beta: float | None, human: HeldOut, l2: float) -> Residuals | None:
    """Residuals with the same beta in every fold."""
    if beta is None or beta <= 0:
        return None
    rule = fixed_rule("soft-elo", run.battles, soft_targets(run.score, beta))
    return residuals(hold_out_each(run.battles, rule, l2=l2, replicates=0), human)


def strength_structure(run: Run, hard: Residuals, soft: Residuals | None) -> StrengthStructure:
    """Residual against strength, and |s| within and between quarters (sections 4.2, 4.3)."""
    quarter = np.full(run.battles.n_models, -1)
    if len(hard.names) >= 4:
        for name, q in zip(hard.names, strongest_quarters(hard.human), strict=True):
            quarter[run.battles.names.index(name)] = q
    a, b = quarter[run.battles.a], quarter[run.battles.b]
    return StrengthStructure(
        hard_correlation=_pearson(hard.human, hard.values),
        soft_correlation=None if soft is None else _pearson(soft.human, soft.values),
        top_top=_median_size(run, (a == 3) & (b == 3)),
        top_bottom=_median_size(run, ((a == 3) & (b == 0)) | ((a == 0) & (b == 3))),
    )


def _median_size(run: Run, rows: BoolArray) -> float | None:
    known = np.abs(run.score[rows & np.isfinite(run.score)])
    return float(np.median(known)) if len(known) else None


def _pearson(x: FloatArray, y: FloatArray) -> float | None:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(stats.pearsonr(x, y).statistic)


def length_effect(run: Run, hard: Residuals) -> LengthEffect | None:
    """Longer answers in near ties, and mean length against the residual (F.1, Figure 12)."""
    if not run.has("length_a", "length_b"):
        return None
    a, b = run.numbers("length_a"), run.numbers("length_b")
    # The judge's stated side, not the sign of its scores, which is noise in near ties.
    decided = np.isin(run.verdict, (0.0, 1.0)) & (np.abs(run.score) <= NEAR_TIE)
    unequal = np.isfinite(a) & np.isfinite(b) & (a != b)
    longer = ((run.verdict == 1) == (a > b))[decided & unequal]
    share: float | None = None
    ends: tuple[float | None, float | None] = (None, None)
    if len(longer):
        share = float(longer.mean())
        ends = binomial_interval(int(longer.sum()), len(longer), 0.95)
    partial, p = _length_correlation(run, hard, a, b)
    return LengthEffect(
        near_tied=len(longer),
        longer_share=share,
        low=ends[0],
        high=ends[1],
        partial=partial,
        p_value=p,
    )


def _length_correlation(
    run: Run, hard: Residuals, a: FloatArray, b: FloatArray
) -> tuple[float | None, float | None]:
    """Partial correlation of residual and mean length given people's Elo, with its p-value."""
    mean = _model_means(run, a, b)
    at = [run.battles.names.index(name) for name in hard.names]
    if len(at) < 5 or not np.ptp(mean[at]) > 0:
        return None, None
    x, y = (_without_trend(values, hard.human) for values in (mean[at], hard.values))
    r = _pearson(x, y)
    if r is None:
        return None, None
    freedom = len(at) - 3
    t = r * np.sqrt(freedom / max(1e-12, 1 - r**2))
    return r, float(2 * stats.t.sf(abs(t), freedom))


def _without_trend(values: FloatArray, of: FloatArray) -> FloatArray:
    line = np.polyfit(of - of.mean(), values, 1)
    return np.asarray(values - np.polyval(line, of - of.mean()), dtype=np.float64)


def position_effect(run: Run, human: HeldOut, l2: float) -> PositionEffect | None:
    """Verdicts, points and Elo by order of presentation (F.1, Figure 11)."""
    if not run.has(*_BOTH_ORDERS):
        return None
    forward, reverse = (run.numbers(column) for column in _BOTH_ORDERS)
    # The sign of a missing score is missing.
    sides = [np.sign(gap) / 2 + 0.5 for gap in (forward, reverse)]
    bias = position_bias(sides[0], sides[1], gap_fwd=forward, gap_rev=reverse)
    both = np.isfinite(forward) & np.isfinite(reverse)
    held = [
        residuals(
            hold_out_each(
                run.battles, fixed_rule("hard-elo", run.battles, side), l2=l2, replicates=0
            ),
            human,
        )
        for side in sides
    ]
    errors = [dict(zip(one.names, np.abs(one.values).tolist(), strict=True)) for one in held]
    return PositionEffect(
        pairs=bias.n,
        first_share=bias.first_share,
        low=bias.low,
        high=bias.high,
        flip_share=bias.flip_share,
        flip_low=bias.flip_low,
        flip_high=bias.flip_high,
        advantage=bias.first_advantage,
        first_favoured=float((forward > reverse)[both].mean()),
        first_mae=held[0].mae,
        second_mae=held[1].mae,
        models=tuple(
            OrderError(model=name, first=error, second=errors[1][name])
            for name, error in errors[0].items()
            if name in errors[1]
        ),
    )


def family_residuals(judge: str, held: Residuals) -> FamilyExcess | None:
    """F.1 in Elo (Figure 13b): None if the judge's family is unknown or has no model here."""
    return _family_excess(judge, held.values, held.names)


def family_points(runs: list[Run]) -> dict[str, FamilyExcess | None]:
    """F.1 in points (Figure 13a): each judge's mean score of a model minus the others' median.

    Needs several judges of one corpus to compare.
    """
    names = sorted({name for run in runs for name in run.battles.names})
    means = np.array([[*_mean_scores(run, names)] for run in runs])
    excess: dict[str, FamilyExcess | None] = {}
    for k, run in enumerate(runs):
        others = np.delete(means, k, axis=0)
        known = np.isfinite(others).any(axis=0)
        if not known.any():
            excess[run.judge] = None
            continue
        gap = means[k, known] - np.nanmedian(others[:, known], axis=0)
        kept = [name for name, here in zip(names, known, strict=True) if here]
        excess[run.judge] = _family_excess(run.judge, gap, tuple(kept))
    return excess


def _mean_scores(run: Run, names: list[str]) -> list[float]:
    """The judge's mean score of each model's answers; NaN if it scored none."""
    if not run.has("score_a", "score_b"):
        return [np.nan] * len(names)
    means = _model_means(run, run.numbers("score_a"), run.numbers("score_b"))
    at = {name: k for k, name in enumerate(run.battles.names)}
    return [means[at[name]] if name in at else np.nan for name in names]


def _model_means(run: Run, a: FloatArray, b: FloatArray) -> FloatArray:
    """The mean over a model's answers on both sides; NaN if it has none."""
    model, values = np.concatenate([run.battles.a, run.battles.b]), np.concatenate([a, b])
    known, n = np.isfinite(values), run.battles.n_models
    total = np.bincount(model[known], weights=values[known], minlength=n)
    times = np.bincount(model[known], minlength=n)
    return np.where(times > 0, total / np.maximum(times, 1), np.nan)


def _family_excess(judge: str, values: FloatArray, names: tuple[str, ...]) -> FamilyExcess | None:
    own = family_of(judge)
    if own is None:
        return None
    seen = family_scores(values, names, of_family(names, own), family=own)
    if seen.excess is None:
        return None
    return FamilyExcess(
        family=own,
        own_models=seen.own_models,
        other_models=seen.other_models,
        excess=seen.excess,
        low=seen.low,
        high=seen.high,
    )
