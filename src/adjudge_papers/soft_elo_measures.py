"""The numbers of the Soft-Elo paper: every quantity of a judge on a corpus, as rows of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from adjudge.data import Source
from adjudge.data.battles import Battles, code_battles
from adjudge.data.families import of_family
from adjudge.data.rows import has_values
from adjudge.diagnosis import family_of, family_scores
from adjudge.diagnosis.consistency import position_bias
from adjudge.errors import DataError
from adjudge.judges import judge_pairs
from adjudge.judges.protocols.rubric import Rubric
from adjudge.ranking import evaluation, fit_temperature, rank_correlations
from adjudge.ranking.bradley_terry import target_battles, wins_of
from adjudge.ranking.evaluation import HeldOut, Residuals
from adjudge.ranking.leaderboard import ConformalRow
from adjudge.ranking.targets import Rule, agreement_share, decided_by_both, fixed_rule, soft_targets
from adjudge.ranking.temperature import Temperature, measure_reliability, temperature_with_ties
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import fit_strengths, to_elo
from adjudge.statistics.numbers import binomial_interval, mean_known
from adjudge.validation import FloatArray, IntArray, Seed, generator
from adjudge_papers.paper import REHEARSAL, costs_calls, ends_of, read_prompts, row_of, values_of
from adjudge_papers.printed import Row, read_published
from adjudge_papers.simulated_release import SimulatedRun, simulate_release

#: The paper's budget for a reply.
TOKENS = 4096


@dataclass(frozen=True)
class Run:
    """One judge on one corpus: the rows, and the same rows as battles with votes and scores."""

    corpus: str
    judge: str
    frame: pl.DataFrame
    battles: Battles
    human: FloatArray
    verdict: FloatArray
    score: FloatArray
    l2: float

    def has(self, *columns: str) -> bool:
        """Whether each column has a number in at least one row."""
        return has_values(self.frame, *columns)

    def numbers(self, column: str) -> FloatArray:
        """A column as floats, NaN if it is empty."""
        return self.frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def model_means(self, column: str) -> FloatArray:
        """The mean over a model's answers of `column_a` and `column_b`; NaN if it has none."""
        model = np.concatenate([self.battles.a, self.battles.b])
        values = np.concatenate([self.numbers(f"{column}_{side}") for side in "ab"])
        measured = np.isfinite(values)
        n = self.battles.n_models
        total = np.bincount(model[measured], weights=values[measured], minlength=n)
        times = np.bincount(model[measured], minlength=n)
        return np.where(times > 0, total / np.maximum(times, 1), np.nan)

    @property
    def prompts(self) -> pl.Series:
        """The id of a battle across judges: the prompt, or the row if there is no prompt."""
        name = "prompt_id" if "prompt_id" in self.frame.columns else "id"
        return self.frame[name].cast(pl.String)

    @cached_property
    def people(self) -> HeldOut:
        """People's Elo of each model."""
        return evaluation.human_reference(self.battles, l2=self.l2)

    @cached_property
    def temperature(self) -> Temperature:
        """beta on all votes of the corpus."""
        return fit_temperature(self.score, self.human, verdict=self.verdict)

    @property
    def beta(self) -> float | None:
        """That beta, if it is positive."""
        beta = self.temperature.beta
        return beta if beta is not None and beta > 0 else None

    def leave_out(self, rule: Rule, *, replicates: int = 0, seed: Seed = 0) -> Residuals:
        """Residuals against people's Elo, each model left out in turn."""
        held = evaluation.hold_out_each(rule, l2=self.l2, replicates=replicates, seed=seed)
        return evaluation.residuals(held, self.people)


def read_runs(
    source: str | Path | Sequence[SimulatedRun] | None, *, l2: float, seed: int
) -> list[Run]:
    """The runs of a folder or file of the release, or simulated ones."""
    if not isinstance(source, (str, Path)):
        simulated = simulate_release(seed=seed) if source is None else source
        return [_code_run(run.corpus, run.judge, run.frame, l2) for run in simulated]
    judges = read_published("soft-elo")["files"]
    runs = []
    for path in _list_files(Path(source)):
        frame = Source(path).open("battles", votes_required=False).frame
        stem = path.name.split(".csv")[0].removeprefix("annotations_")
        runs.append(_code_run(path.resolve().parent.name, judges.get(stem, stem), frame, l2))
    return runs


def ask_run(
    pairs: str | Path,
    judge: str,
    *,
    prompts: Mapping[str, str | Path],
    l2: float,
    asking: Mapping[str, Any],
) -> list[Run]:
    """A judge asked as in the paper: six criteria, both orders, replies of up to 4,096 tokens."""
    protocol = Rubric(prompt=read_prompts(prompts, "rubric").get("rubric"), max_tokens=TOKENS)
    first = [REHEARSAL] if costs_calls(judge) else []
    for spec, options in [*((name, {"store": None}) for name in first), (judge, dict(asking))]:
        rows = judge_pairs(pairs, judge=spec, protocol=protocol, **options).judgments
        frame = Source(rows).open("battles").frame
        run = _code_run(Path(pairs).stem, str(frame["judge"][0]), frame, l2)
    return [run]


def _list_files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DataError(source, "no such folder", remedy="give the release's data folder")
    paths = sorted(source.rglob("annotations_*.csv*"))
    paths += [path for path in sorted(source.glob("*annotations*.csv*")) if path not in paths]
    if not paths:
        raise DataError(source, "has no annotations_*.csv", remedy="give the release's data folder")
    return paths


def _code_run(corpus: str, judge: str, frame: pl.DataFrame, l2: float) -> Run:
    battles = code_battles(frame)
    human = battles.human
    verdict = battles.verdict
    score = battles.score
    if human is None or score is None or verdict is None:
        remedy = "give annotations in the format of the release"
        raise DataError(f"{corpus}/{judge}", "has no votes or no scores", remedy=remedy)
    return Run(corpus, judge, frame, battles, human, verdict, score, l2)


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's correlation; None with fewer than three values or all equal."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(stats.pearsonr(x, y).statistic)


# --- measures ---------------------------------------------------------------------------------

METHODS = ("hard-elo", "soft-elo")
#: Draws of every budget, for the spread of its error.
DRAWS = 50
#: Budgets whose errors the paper prints, by name.
_PRINTED = {"few": 5.0, "many": 200.0}
#: Figure 3a's bins of |s|; the last is open.
_AGREEMENT_EDGES = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
_NEAR_TIE = 0.3
#: Languages with fewer shared prompts than this are left out of Table 6.
_FEWEST_PROMPTS = 50
Tables = dict[str, list[Row]]


def measure_run(
    run: Run, *, alpha: float, splits: int, replicates: int, draws: int, seed: int
) -> tuple[Tables, list[str]]:
    """The rows of every table for one judge on one corpus, and warnings; `draws` 0: no budgets."""
    battles = run.battles
    rng = generator(seed)
    held: dict[str, Residuals] = {}
    intervals: dict[str, ConformalRow] = {}
    rules = {rule.name: rule for rule in evaluation.evaluation_rules(battles)}
    for name, rule in rules.items():
        held[name] = run.leave_out(rule, replicates=replicates if name in METHODS else 0, seed=rng)
        if name in METHODS:
            # The same seed: both methods are tested on the same splits.
            intervals[name] = evaluation.split_conformal(
                held[name], alpha=alpha, splits=splits, seed=seed
            )
    hard = held["hard-elo"]
    soft = held.get("soft-elo")
    key = {"corpus": run.corpus, "judge": run.judge}
    sampled = evaluation.sample_efficiency(battles, run.people, l2=run.l2, seed=seed, draws=draws)
    budgets: list[Row] = [
        row_of(row, "method per_model mae mae_sd draws", **key)
        | {"beta": mean_known(row.betas), "beta_sd": _deviation(row.betas)}
        for row in sampled
    ]
    both = decided_by_both(run.verdict, run.human) & np.isfinite(run.score)
    size = np.abs(run.score[both])
    agree = (run.verdict == run.human)[both].astype(np.int64)
    # As if beta were 1 (Figure 3b).
    raw, raw_ece = measure_reliability(1.0, size, agree)
    agreement = _agreement_by_size(size, agree)
    position, orders = _position_effect(run)
    smoothed = {
        f"smoothed_{name.removeprefix('smoothed ')}": residual.mae
        for name, residual in held.items()
        if name.startswith("smoothed ")
    }
    row: dict[str, Any] = {
        **key,
        "battles": len(battles),
        "models": battles.n_models,
        "mean_score": _mean_size(run.score),
        "kappa": cohen_kappa(run.verdict, run.human),
        "beta": None if soft is None else soft.mean_parameter,
        "ece": run.temperature.ece,
        "raw_ece": raw_ece,
        "agreement": agreement_share(run.verdict, run.human)[0],
        "agreement_first": agreement[0]["agreement"] if agreement else None,
        "agreement_last": agreement[-1]["agreement"] if agreement else None,
        "agreement_correlation": run.temperature.correlation,
        "contradictions": _contradictions(run),
        **smoothed,
        "smoothed_chosen": held["smoothed"].mae,
        **_beta_stability(run, rules.get("soft-elo")),
        **_strength_structure(run, hard, soft),
        **_length_effect(run, hard),
        **position,
    }
    models: list[Row] = []
    for method, conformal in intervals.items():
        models_of_method = _interval_rows(held[method], alpha, key)
        models += models_of_method
        budgets_of_method = [budget for budget in budgets if budget["method"] == method]
        measured = _method_columns(
            run.judge, held[method], conformal, models_of_method, budgets_of_method
        )
        row |= {f"{method[:4]}_{name}": value for name, value in measured.items()}
    reliability: list[Row] = []
    for kind, bins in (("raw", raw), ("fitted", run.temperature.reliability)):
        reliability += [row_of(b, "predicted observed n", **key, kind=kind) for b in bins]
    tables: Tables = {
        "judges": [row],
        "models": models,
        "budgets": budgets,
        "agreement": [key | entry for entry in agreement],
        "reliability": reliability,
        "orders": [key | entry for entry in orders],
    }
    return tables, [*run.temperature.warnings, *_unbounded(intervals["hard-elo"])]


def _interval_rows(held: Residuals, alpha: float, key: Row) -> list[Row]:
    """The interval of each left-out model by one method."""
    rows: list[Row] = []
    for model in evaluation.held_out_intervals(held, alpha=alpha):
        row = row_of(model, "method model human_elo elo residual se width", **key)
        row["covered"] = None if model.covered is None else int(model.covered)
        rows.append(row | ends_of("interval", model.interval))
    return rows


def _method_columns(
    judge: str,
    held: Residuals,
    row: ConformalRow,
    models: Sequence[Row],
    budgets: Sequence[Row],
) -> dict[str, Any]:
    """The columns of one method, from its residuals, intervals, models and budgets."""
    error = evaluation.loo_row(held)
    widths = values_of(models, "width")
    quarters = error.residual_by_quarter or (None,) * 4
    at_budget = {budget["per_model"]: budget["mae"] for budget in budgets}
    return {
        "mae": error.mae,
        "spearman": error.spearman,
        "width": row.median_width,
        "width_low": row.width_low,
        "width_high": row.width_high,
        "coverage": row.coverage,
        "quantile": row.quantile,
        "se": row.median_se,
        **{f"q{k + 1}": value for k, value in enumerate(quarters)},
        **_family_excess(judge, held.values, held.names),
        "model_width": median(widths) if widths else None,
        "contained": mean_known(model["covered"] for model in models),
        **{name: at_budget.get(per_model) for name, per_model in _PRINTED.items()},
    }


def _mean_size(score: FloatArray) -> float | None:
    """The mean |s| of the battles with a score."""
    sizes = np.abs(score[np.isfinite(score)])
    # A sum of scores near the largest number would overflow.
    unit = sizes.max(initial=0.0) or 1.0
    return float((sizes / unit).mean() * unit) if sizes.size else None


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _unbounded(row: ConformalRow) -> list[str]:
    """Why there is no width."""
    return [f"the interval is unbounded: {row.why_unbounded}"] if row.unbounded else []


def _strength_structure(run: Run, hard: Residuals, soft: Residuals | None) -> dict[str, Any]:
    """Residuals against strength, and |s| within and between quarters (sections 4.2 and 4.3)."""
    quarter = np.full(run.battles.n_models, -1)
    if len(hard.names) >= 4:
        for name, q in zip(hard.names, evaluation.strongest_quarters(hard.human), strict=True):
            quarter[run.battles.names.index(name)] = q
    quarters = np.sort([quarter[run.battles.a], quarter[run.battles.b]], axis=0)

    def median_size(weaker: int, stronger: int) -> float | None:
        rows = (quarters[0] == weaker) & (quarters[1] == stronger)
        sizes = np.abs(run.score[rows & np.isfinite(run.score)])
        return float(np.median(sizes)) if len(sizes) else None

    return {
        "hard_correlation": pearson(hard.human, hard.values),
        "soft_correlation": None if soft is None else pearson(soft.human, soft.values),
        "top_top": median_size(3, 3),
        "top_bottom": median_size(0, 3),
    }


# --- beta and agreement ----------------------------------------------------------------------


def _beta_stability(run: Run, rule: Rule | None) -> dict[str, Any]:
    """beta over folds, pooled, and with ties at one half (appendix C); none if not positive."""
    if rule is None or rule.parameter is None or run.beta is None:
        return {}
    folds = rule.parameter[np.isfinite(rule.parameter)]
    if len(folds) < 2:
        return {}

    def fix(beta: float) -> Residuals:
        return run.leave_out(fixed_rule("soft-elo", run.battles, soft_targets(run.score, beta)))

    away = np.abs(folds - run.beta)
    with_ties = temperature_with_ties(run.score, run.human)
    half = fix(with_ties) if with_ties is not None and with_ties > 0 else None
    return {
        "pooled_beta": run.beta,
        "fold_sd": float(folds.std(ddof=1)),
        "mean_deviation": float(away.mean()),
        "largest_deviation": float(away.max()),
        "pooled_mae": fix(run.beta).mae,
        "ties_beta": with_ties,
        "ties_mae": None if half is None else half.mae,
        "ties_spearman": None if half is None else rank_correlations(half.judge, half.human)[1],
    }


def _agreement_by_size(size: FloatArray, agree: IntArray) -> list[dict[str, Any]]:
    """How often people agree with the judge by |s| (Figure 3a)."""
    # (low, high], and a difference of 0 in the first bin.
    which = np.maximum(np.searchsorted(_AGREEMENT_EDGES, size, side="left") - 1, 0)
    rows = []
    for k in np.unique(which):
        inside = which == k
        low = _AGREEMENT_EDGES[k]
        high = float(size[inside].max())
        share = float(agree[inside].mean())
        rows.append({"low": low, "high": high, "n": int(inside.sum()), "agreement": share})
    return rows


def _contradictions(run: Run) -> float | None:
    """Share of decided verdicts for the side that the judge scored lower (appendix G)."""
    decided = np.isin(run.verdict, (0.0, 1.0)) & np.isfinite(run.score)
    if not decided.any():
        return None
    return float((np.sign(run.score[decided]) == 1 - 2 * run.verdict[decided]).mean())


# --- order, length and family ----------------------------------------------------------------


def _position_effect(run: Run) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Verdicts, points and Elo by order (F.1), and each model's error; none without both orders."""
    if not run.has("score_diff_ab", "score_diff_ba"):
        return {}, []
    forward = run.numbers("score_diff_ab")
    reverse = run.numbers("score_diff_ba")
    # The sign of a missing score is missing.
    sides = [np.sign(gap) / 2 + 0.5 for gap in (forward, reverse)]
    bias = position_bias(sides[0], sides[1], gap_fwd=forward, gap_rev=reverse)
    both = np.isfinite(forward) & np.isfinite(reverse)
    held = [run.leave_out(fixed_rule("hard-elo", run.battles, side)) for side in sides]
    errors = [dict(zip(h.names, np.abs(h.values).tolist(), strict=True)) for h in held]
    measured = {
        "first_share": bias.first_share,
        **ends_of("first_share", bias.interval),
        "flip_share": bias.flip_share,
        **ends_of("flip_share", bias.flip_interval),
        "advantage": bias.first_advantage,
        "first_favoured": float((forward > reverse)[both].mean()),
        "first_mae": held[0].mae,
        "second_mae": held[1].mae,
    }
    first, second = errors
    shared = [name for name in first if name in second]
    return measured, [{"model": m, "first": first[m], "second": second[m]} for m in shared]


def _length_effect(run: Run, hard: Residuals) -> dict[str, Any]:
    """Longer answers in near ties, and mean length against the residual at fixed people's Elo."""
    if not run.has("length_a", "length_b"):
        return {}
    a = run.numbers("length_a")
    b = run.numbers("length_b")
    # The judge's stated side, not the sign of its scores, which is noise in near ties.
    decided = np.isin(run.verdict, (0.0, 1.0)) & (np.abs(run.score) <= _NEAR_TIE)
    unequal = np.isfinite(a) & np.isfinite(b) & (a != b)
    longer = ((run.verdict == 1) == (a > b))[decided & unequal]
    n = len(longer)
    ends = binomial_interval(int(longer.sum()), n, 0.95) if n else None
    correlation, p_value = _length_correlation(run, hard)
    return {
        "near_tied": n,
        "longer_share": float(longer.mean()) if n else None,
        **ends_of("longer_share", ends),
        "length_partial": correlation,
        "length_p": p_value,
    }


def _length_correlation(run: Run, hard: Residuals) -> tuple[float | None, float | None]:
    """Partial correlation of residual and mean length given people's Elo, with its p-value."""
    length = run.model_means("length")[[run.battles.names.index(name) for name in hard.names]]
    if len(length) < 5 or not np.ptp(length) > 0:
        return None, None
    centred = hard.human - hard.human.mean()

    def residual(values: FloatArray) -> FloatArray:
        """What people's Elo does not explain in a straight line."""
        return values - np.polyval(np.polyfit(centred, values, 1), centred)

    r = pearson(residual(length), residual(hard.values))
    if r is None:
        return None, None
    freedom = len(length) - 3
    t = r * np.sqrt(freedom / max(1e-12, 1 - r**2))
    return r, float(2 * stats.t.sf(abs(t), freedom))


def _family_excess(judge: str, values: FloatArray, names: Sequence[str]) -> dict[str, Any]:
    """The mean of the judge's own family minus that of the others (F.1); none if unknown here."""
    family = family_of(judge)
    if family is None:
        return {}
    bias = family_scores(values, names, of_family(names, family), family=family)
    if bias.excess is None:
        return {}
    models = f"{bias.own_models} {family}"
    return {"family": bias.excess, **ends_of("family", bias.interval), "family_models": models}


def family_points(runs: Sequence[Run]) -> dict[str, Mapping[str, Any]]:
    """Figure 13a: each judge's mean score of a model minus the other judges' median of it."""
    names = sorted({name for run in runs for name in run.battles.names})
    means = np.full((len(runs), len(names)), np.nan)
    for k, run in enumerate(runs):
        if run.has("score_a", "score_b"):
            means[k, np.searchsorted(names, run.battles.names)] = run.model_means("score")
    points: dict[str, Mapping[str, Any]] = {}
    for k, run in enumerate(runs):
        others = np.delete(means, k, axis=0)
        shared = np.isfinite(others).any(axis=0)
        points[run.judge] = {}
        if shared.any():
            gap = means[k, shared] - np.nanmedian(others[:, shared], axis=0)
            excess = _family_excess(run.judge, gap, tuple(np.array(names)[shared]))
            points[run.judge] = {f"points_{name}": value for name, value in excess.items()}
    return points


# --- languages -------------------------------------------------------------------------------


def count_languages(runs: Sequence[Run]) -> list[Row]:
    """Distinct prompts of each language over all judges of a corpus, most first (Figure 5)."""
    spoken: dict[str, str] = {}
    for run in runs:
        if run.has("language"):
            pairs = zip(run.prompts, run.frame["language"], strict=True)
            spoken |= {prompt: language for prompt, language in pairs if language is not None}
    counts = Counter(spoken.values()).most_common()
    return [{"corpus": runs[0].corpus, "language": name, "prompts": n} for name, n in counts]


def language_rows(runs: Sequence[Run]) -> list[Row]:
    """Table 6 and Figure 10 for one corpus: means over its judges, the largest language first.

    Errors are measured on the prompts that all judges of the corpus scored.
    """
    runs = [run for run in runs if run.has("language") and run.beta is not None]
    if not runs:
        return []
    everyone = set.intersection(*({*run.prompts} for run in runs))
    judges: dict[str, list[dict[str, float | None]]] = {}
    prompts: Counter[str] = Counter()
    for run in runs:
        reference = _fit_elo(run.battles, run.human, run.l2)
        spoken = run.frame["language"].cast(pl.String)
        rows = pl.DataFrame({"prompt": run.prompts, "language": spoken}).with_row_index()
        rows = rows.filter(pl.col("prompt").is_in(list(everyone)))
        prompts = Counter(rows.unique("prompt")["language"].drop_nulls().to_list())
        for language, n in prompts.items():
            if n >= _FEWEST_PROMPTS:
                inside = rows.filter(pl.col("language") == language)["index"].to_numpy()
                measured = _measure_language(run, inside.astype(np.int64), reference)
                judges.setdefault(language, []).append(measured)
    averaged: list[Row] = []
    for language, rows_of_judges in judges.items():
        if all(row["hard_mae"] is not None for row in rows_of_judges):
            row = {"corpus": runs[0].corpus, "language": language, "prompts": prompts[language]}
            averaged.append(row | {"judges": len(rows_of_judges)} | _average(rows_of_judges))
    return sorted(averaged, key=lambda row: (-row["prompts"], row["language"]))


def _measure_language(run: Run, rows: IntArray, reference: FloatArray) -> dict[str, float | None]:
    """One judge on one language: error and rank fidelity, its own beta, |s| and agreement."""
    battles = run.battles.take(rows)
    score = run.score[rows]
    human = run.human[rows]
    verdict = run.verdict[rows]

    def compare(target: FloatArray) -> tuple[float | None, float | None]:
        """Mean error and Spearman's rho of one fit compared with people's global Elo."""
        elo = _fit_elo(battles, target, run.l2)
        both = np.isfinite(elo) & np.isfinite(reference)
        if not both.any():
            return None, None
        error = float(np.abs(elo - reference)[both].mean())
        return error, rank_correlations(elo[both], reference[both])[1]

    hard_mae, hard_spearman = compare(verdict)
    soft_mae, soft_spearman = compare(soft_targets(score, run.beta or 0.0))
    beta = fit_temperature(score, human).beta
    own_mae = compare(soft_targets(score, beta))[0] if beta and beta > 0 else None
    return {
        "hard_mae": hard_mae,
        "soft_mae": soft_mae,
        "hard_spearman": hard_spearman,
        "soft_spearman": soft_spearman,
        "own_beta": beta,
        "own_beta_mae": own_mae,
        "mean_score": _mean_size(score),
        "agreement": agreement_share(verdict, human)[0],
    }


def _fit_elo(battles: Battles, target: FloatArray, l2: float) -> FloatArray:
    """Elo of every model by one fit; NaN for models without a battle."""
    used, y = target_battles(battles, target)
    wins = wins_of(used, y)
    seen = (wins + wins.T).any(axis=1)
    return np.where(seen, to_elo(fit_strengths(wins, l2=l2)), np.nan)


def _average(measured: Sequence[dict[str, float | None]]) -> dict[str, Any]:
    """Means over judges, with standard deviations if the paper shows them."""
    means: dict[str, Any] = {}
    for name in measured[0]:
        values = [value for judge in measured if (value := judge[name]) is not None]
        means[name] = mean_known(values)
        if name in ("own_beta", "mean_score", "agreement"):
            means[f"{name}_sd"] = _deviation(values)
    return means
