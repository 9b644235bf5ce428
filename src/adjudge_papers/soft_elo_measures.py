"""The Soft-Elo paper's measurements of one judge on one corpus, one function per appendix.

Each returns a part of the reproduction, or None if the rows do not have the needed data. Languages
(appendix E) are measured on the prompts that all judges of a corpus scored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import expit

from adjudge.data.battles import Battles
from adjudge.data.families import of_family
from adjudge.data.rows import has_values
from adjudge.diagnosis import family_of, family_scores, position_bias
from adjudge.present.result import Correlation, Count, NotNegative, Proportion
from adjudge.ranking import (
    fit_temperature,
    hold_out_each,
    rank_correlations,
    residuals,
    soft_targets,
)
from adjudge.ranking.bradley_terry import target_battles, wins_table
from adjudge.ranking.leave_one_out import HeldOut, Residuals, strongest_quarters
from adjudge.ranking.targets import Rule, agreement_share, decided_by_both, fixed_rule
from adjudge.ranking.temperature import (
    AgreementBin,
    ReliabilityBin,
    Temperature,
    temperature_with_ties,
)
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import fit_strengths, to_elo
from adjudge.statistics.numbers import (
    binomial_interval,
    expected_calibration_error,
    mean_known,
    reliability_bins,
)
from adjudge.validation import BoolArray, FloatArray, IntArray
from adjudge_papers.items import read_published, read_rows
from adjudge_papers.reproduction import interval_of

#: Figure 3a's bins of |s|; the last is open.
AGREEMENT_EDGES = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
#: Near-tied (F.1).
NEAR_TIE = 0.3
_BOTH_ORDERS = ("score_diff_ab", "score_diff_ba")
#: Languages with fewer shared prompts than this are left out of Table 6.
FEWEST_PROMPTS = 50
#: The corpus of the paper's main tables.
MAIN_CORPUS: str = read_published("soft-elo")["corpora"][0]


@dataclass(frozen=True, kw_only=True)
class FamilyExcess:
    """Mean of the judge's own family minus that of the others (F.1), in Elo or in points.

    The interval is over models; None if a side has one model.
    """

    family: str
    own_models: Count
    other_models: Count
    excess: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class BetaStability:
    """How beta depends on which models are left out, and on the value of a tie (appendix C).

    `pooled` is fitted on all votes, `pooled_mae` the held-out error with it in every fold;
    `with_ties` is beta with people's ties as one half, then its error and Spearman's rho.
    """

    pooled: float
    fold_sd: NotNegative
    mean_deviation: NotNegative
    largest_deviation: NotNegative
    pooled_mae: NotNegative | None
    with_ties: float | None
    with_ties_mae: NotNegative | None
    with_ties_spearman: Correlation | None


@dataclass(frozen=True, kw_only=True)
class StrengthStructure:
    """How residuals and score differences depend on strength (sections 4.2 and 4.3).

    `*_correlation` is Pearson's of residual and people's Elo; `top_top` and `top_bottom` are median
    |s| of battles within the strongest quarter of models, and between it and the weakest.
    """

    hard_correlation: Correlation | None
    soft_correlation: Correlation | None
    top_top: NotNegative | None
    top_bottom: NotNegative | None


@dataclass(frozen=True, kw_only=True)
class LengthEffect:
    """The effect of length on near-tied verdicts and on residuals (F.1).

    `longer_share` is how often the longer answer wins if |s| <= 0.3. `partial` correlates the
    Hard-Elo residual with a model's mean length at fixed people's Elo.
    """

    near_tied: Count
    longer_share: Proportion | None
    interval: Interval | None
    partial: Correlation | None
    p_value: Proportion | None


@dataclass(frozen=True, kw_only=True)
class OrderError:
    """|Residual| of one model if every verdict is that of one order."""

    model: str
    first: NotNegative
    second: NotNegative


@dataclass(frozen=True, kw_only=True)
class PositionEffect:
    """The effect of the order of presentation (F.1): on verdicts, on points, on Elo.

    `first_favoured` is the share of battles in which the first slot gains points; `first_mae` and
    `second_mae` are errors of Hard-Elo with A always shown first, and second.
    """

    pairs: Count
    first_share: Proportion
    interval: Interval | None
    flip_share: Proportion
    flip_interval: Interval | None
    advantage: float | None
    first_favoured: Proportion
    first_mae: NotNegative | None
    second_mae: NotNegative | None
    models: tuple[OrderError, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """One language, averaged over the judges of the corpus (Table 6, Figure 10).

    `prompts` are those that every judge scored. `own_beta` is fitted on the language's own votes,
    `own_beta_mae` the error with it; `*_sd` is over judges.
    """

    corpus: str
    language: str
    prompts: Count
    judges: Count
    hard_mae: NotNegative
    soft_mae: NotNegative
    hard_spearman: Correlation | None
    soft_spearman: Correlation | None
    own_beta: float | None = None
    own_beta_sd: NotNegative | None = None
    own_beta_mae: NotNegative | None = None
    mean_score: float | None = None
    mean_score_sd: NotNegative | None = None
    agreement: Proportion | None = None
    agreement_sd: NotNegative | None = None
    published_prompts: Count | None = None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: Correlation | None = None
    published_soft_spearman: Correlation | None = None


# --- one judge on one corpus -----------------------------------------------------------------


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
                agreement_interval=Interval(*ends, level=0.95),
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
        interval=interval_of(*ends),
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
    errors = [
        dict(zip(errors_of.names, np.abs(errors_of.values).tolist(), strict=True))
        for errors_of in held
    ]
    return PositionEffect(
        pairs=bias.n,
        first_share=bias.first_share,
        interval=bias.interval,
        flip_share=bias.flip_share,
        flip_interval=bias.flip_interval,
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
        shared = np.isfinite(others).any(axis=0)
        if not shared.any():
            excess[run.judge] = None
            continue
        gap = means[k, shared] - np.nanmedian(others[:, shared], axis=0)
        scored = [name for name, here in zip(names, shared, strict=True) if here]
        excess[run.judge] = _family_excess(run.judge, gap, tuple(scored))
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
        interval=seen.interval,
    )


# --- languages -------------------------------------------------------------------------------


def count_languages(runs: list[Run]) -> dict[str, int]:
    """Distinct prompts of each language over all judges of a corpus, most first (Figure 5)."""
    spoken: dict[str, str] = {}
    for run in runs:
        if run.has("language"):
            pairs = zip(run.prompts.cast(pl.String), run.frame["language"], strict=True)
            spoken |= {prompt: language for prompt, language in pairs if language is not None}
    return dict(Counter(spoken.values()).most_common())


def language_rows(runs: list[Run], *, l2: float, compare: bool) -> tuple[LanguageRow, ...]:
    """Table 6 and Figure 10 for one corpus: means over its judges, the largest language first.

    With `compare`, rows of the paper's corpus have its numbers.
    """
    runs = [run for run in runs if run.has("language")]
    if not runs:
        return ()
    everyone = reduce(set.__and__, ({*run.prompts.cast(pl.String)} for run in runs))
    rows: dict[str, list[dict[str, float | None]]] = {}
    prompts: Counter[str] = Counter()
    for run in runs:
        fit = fit_temperature(run.score, run.human, verdict=run.verdict)
        if fit.beta is None or fit.beta <= 0:
            continue
        mask = run.prompts.cast(pl.String).is_in(list(everyone)).fill_null(False)
        reference = _elo(run.battles, run.human, l2)
        spoken = run.frame["language"].cast(pl.String)
        keys = run.prompts.filter(mask)
        counts = keys.to_frame("p").with_columns(l=spoken.filter(mask)).unique("p")
        prompts = Counter(counts["l"].drop_nulls().to_list())
        for language, n in prompts.items():
            if n >= FEWEST_PROMPTS:
                inside = (mask & (spoken == language).fill_null(False)).to_numpy()
                part = _one_language(run, np.flatnonzero(inside), fit.beta, reference, l2)
                rows.setdefault(language, []).append(part)
    paper = _published_languages() if compare and runs[0].corpus == MAIN_CORPUS else {}
    made = [
        LanguageRow(
            corpus=runs[0].corpus,
            language=name,
            prompts=prompts[name],
            judges=len(parts),
            **_averages(parts),
            **paper.get(name, {}),
        )
        for name, parts in rows.items()
        if all(part["hard_mae"] is not None for part in parts)
    ]
    return tuple(sorted(made, key=lambda row: (-row.prompts, row.language)))


def _one_language(
    run: Run, rows: IntArray, beta: float, reference: FloatArray, l2: float
) -> dict[str, float | None]:
    """One judge on one language: error and rank fidelity, its own beta, |s| and agreement."""
    part = run.battles.take(rows)
    score, human, verdict = run.score[rows], run.human[rows], run.verdict[rows]
    hard = _against(part, verdict, reference, l2)
    soft = _against(part, soft_targets(score, beta), reference, l2)
    own = fit_temperature(score, human).beta
    own_mae = None
    if own is not None and own > 0:
        own_mae = _against(part, soft_targets(score, own), reference, l2)[0]
    sizes = np.abs(score[np.isfinite(score)])
    return {
        "hard_mae": hard[0],
        "soft_mae": soft[0],
        "hard_spearman": hard[1],
        "soft_spearman": soft[1],
        "own_beta": own,
        "own_beta_mae": own_mae,
        "mean_score": float(sizes.mean()) if len(sizes) else None,
        "agreement": agreement_share(verdict, human)[0],
    }


def _against(
    battles: Battles, target: FloatArray, reference: FloatArray, l2: float
) -> tuple[float | None, float | None]:
    """Mean error and Spearman's rho of one fit compared with people's global Elo."""
    elo = _elo(battles, target, l2)
    both = np.isfinite(elo) & np.isfinite(reference)
    if not both.any():
        return None, None
    error = float(np.abs(elo - reference)[both].mean())
    return error, rank_correlations(elo[both], reference[both])[1]


def _elo(battles: Battles, target: FloatArray, l2: float) -> FloatArray:
    """Elo of every model by one fit; NaN for models without a battle."""
    used, y = target_battles(battles, target)
    wins = wins_table(used.a, used.b, y, used.n_models)
    seen = (wins.sum(axis=0) + wins.sum(axis=1)) > 0
    return np.where(seen, to_elo(fit_strengths(wins, l2=l2)), np.nan)


def _averages(parts: list[dict[str, float | None]]) -> dict[str, Any]:
    """Means over judges, with standard deviations if the paper shows them."""
    means = {name: mean_known(part[name] for part in parts) for name in parts[0]}
    spreads = {
        f"{name}_sd": _spread([part[name] for part in parts])
        for name in ("own_beta", "mean_score", "agreement")
    }
    return {**means, **spreads}


def _published_languages() -> dict[str, dict[str, Any]]:
    """The paper's numbers of each language, by the names of LanguageRow's fields."""
    return {
        row.pop("language"): {f"published_{name}": value for name, value in row.items()}
        for row in read_rows(read_published("soft-elo")["languages"])
    }


def _spread(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None
