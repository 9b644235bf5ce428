"""The Soft-Elo paper's protocol on the authors' released CSVs, one row per judge and corpus.

Expects the release's folder `data/`, or any folder of `annotations_*.csv`, or one such file:

    data/lmarena100k/annotations_qwen3_5_27b.csv, ...
    data/lmarena140k/..., data/comparia/...

Without files it runs on simulated battles of the same shape. `soft_elo_items` lists the outcome of
every table and figure of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.data import open_battles
from adjudge.data.battles import code_battles, gather_jury
from adjudge.data.rows import Rows
from adjudge.errors import DataError
from adjudge.ranking import (
    evaluation_rules,
    fit_temperature,
    hold_out_each,
    human_reference,
    residuals,
    sample_efficiency,
    split_conformal,
)
from adjudge.ranking.evaluation import loo_row
from adjudge.ranking.leave_one_out import ConformalRow, Residuals, held_out_intervals, models_needed
from adjudge.ranking.targets import agreement_share, juror_battles, jury_rule, soft_rule
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import count, exact_level, generator, positive
from adjudge_papers import soft_elo_measures as measures
from adjudge_papers import soft_elo_published as published
from adjudge_papers.simulated_release import SimulatedRun, simulate_release
from adjudge_papers.soft_elo_items import list_items
from adjudge_papers.soft_elo_languages import count_languages, language_rows
from adjudge_papers.soft_elo_measures import Run
from adjudge_papers.soft_elo_result import JuryRow, SoftEloReproduction, SoftEloRow


def reproduce_soft_elo(
    source: str | Path | Sequence[SimulatedRun] | None = None,
    *,
    l2: float = DEFAULT_L2,
    alpha: float = 0.1,
    splits: int = 5,
    replicates: int = 20,
    seed: int = 42,
) -> SoftEloReproduction:
    """Hard-Elo, Soft-Elo and label smoothing on every released file in `source`, and appendices.

    The paper's settings are the defaults: 5 model splits, 20 resamples, alpha 0.10, l2 0.01.
    Without `source`, battles are simulated; the return value of `simulate_release` also works.
    """
    l2 = positive(l2, "l2")
    exact_level(alpha)
    count(splits, "splits", least=1)
    count(replicates, "replicates", least=2)
    real = isinstance(source, (str, Path))
    runs = _read(Path(source)) if isinstance(source, (str, Path)) else _simulated(source, seed)
    order = {name: k for k, name in enumerate(published.CORPORA)}
    rows = [_row(run, l2, alpha, splits, replicates, seed) for run in runs]
    corpora: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: order.get(run.corpus, 9)):
        corpora.setdefault(run.corpus, []).append(run)
    points = {name: measures.family_points(same) for name, same in corpora.items()}
    rows = [replace(row, family_points=points[row.corpus][row.judge]) for row in rows]
    rows.sort(key=lambda row: (order.get(row.corpus, 9), -(row.hard_mae or 0.0)))
    juries = (_jury(same, l2) for same in corpora.values() if len(same) > 1)
    result = SoftEloReproduction(
        rows=tuple(rows),
        languages=tuple(
            row for same in corpora.values() for row in language_rows(same, l2=l2, compare=real)
        ),
        l2=l2,
        alpha=alpha,
        splits=splits,
        replicates=replicates,
        seed=seed,
        notes=published.NOTES,
        simulated=not real,
        juries=tuple(row for row in juries if row is not None),
        language_counts={name: count_languages(same) for name, same in corpora.items()},
        published_quarters=published.QUARTERS if real and published.CORPORA[0] in corpora else {},
    )
    return replace(result, items=list_items(result))


def _simulated(runs: Sequence[SimulatedRun] | None, seed: int) -> list[Run]:
    drawn = simulate_release(seed=seed) if runs is None else runs
    return [_run(one.corpus, one.judge, one.frame) for one in drawn]


def _read(source: Path) -> list[Run]:
    runs = []
    for path in _files(source):
        frame = open_battles(path, votes_required=False).frame
        runs.append(_run(*_names(path), frame))
    return runs


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DataError(source, "no such folder", remedy="give the release's data folder")
    paths = sorted(source.rglob("annotations_*.csv*"))
    paths += [path for path in sorted(source.glob("*annotations*.csv*")) if path not in paths]
    if not paths:
        raise DataError(source, "has no annotations_*.csv", remedy="give the release's data folder")
    return paths


def _names(path: Path) -> tuple[str, str]:
    """Corpus and judge of a released file, by the names of the release."""
    stem = path.name.split(".csv")[0].removeprefix("annotations_")
    return path.resolve().parent.name, published.JUDGES.get(stem, stem)


def _run(corpus: str, judge: str, frame: pl.DataFrame) -> Run:
    battles = code_battles(frame)
    if battles.human is None or battles.score is None or battles.verdict is None:
        remedy = "give annotations in the format of the release"
        raise DataError(f"{corpus}/{judge}", "has no votes or no scores", remedy=remedy)
    return Run(
        corpus=corpus,
        judge=judge,
        frame=frame,
        battles=battles,
        human=battles.human,
        verdict=battles.verdict,
        score=battles.score,
    )


def _row(run: Run, l2: float, alpha: float, splits: int, replicates: int, seed: int) -> SoftEloRow:
    battles, rng = run.battles, generator(seed)
    human = human_reference(battles, l2=l2)
    held: dict[str, Residuals] = {}
    intervals: dict[str, ConformalRow] = {}
    rules = {rule.name: rule for rule in evaluation_rules(battles)}
    for name, rule in rules.items():
        resamples = replicates if name in ("hard-elo", "soft-elo") else 0
        held[name] = residuals(
            hold_out_each(battles, rule, l2=l2, replicates=resamples, seed=rng), human
        )
        if resamples:
            # The same seed: both methods are tested on the same splits.
            intervals[name] = split_conformal(held[name], alpha=alpha, splits=splits, seed=seed)
    temperature = fit_temperature(run.score, run.human, verdict=run.verdict)
    hard, soft = held["hard-elo"], held.get("soft-elo")
    sizes = np.abs(run.score[np.isfinite(run.score)])
    raw, raw_ece = measures.raw_reliability(run)
    return SoftEloRow(
        corpus=run.corpus,
        judge=run.judge,
        battles=len(battles),
        models=battles.n_models,
        mean_score=float(sizes.mean()) if len(sizes) else None,
        kappa=cohen_kappa(run.verdict, run.human),
        beta=None if soft is None else soft.mean_parameter,
        ece=temperature.ece,
        agreement=measures.agreement_by_size(run, temperature.beta),
        agreement_rate=agreement_share(run.verdict, run.human)[0],
        agreement_correlation=temperature.correlation,
        reliability=temperature.reliability,
        raw_reliability=raw,
        raw_ece=raw_ece,
        contradictions=measures.contradictions(run),
        stability=measures.beta_stability(run, temperature, rules.get("soft-elo"), human, l2),
        strength=measures.strength_structure(run, hard, soft),
        length=measures.length_effect(run, hard),
        position=measures.position_effect(run, human, l2),
        held_out=tuple(
            row
            for one in (hard, soft)
            if one is not None
            for row in held_out_intervals(one, alpha=alpha)
        ),
        budgets=sample_efficiency(battles, human, l2=l2, seed=seed),
        smoothed={
            name.removeprefix("smoothed "): one.mae
            for name, one in held.items()
            if name.startswith("smoothed ")
        },
        chosen_smoothing_mae=held["smoothed"].mae,
        warnings=(*temperature.warnings, *_unbounded(intervals["hard-elo"])),
        **_measured("hard", run.judge, hard, intervals["hard-elo"]),
        **_measured("soft", run.judge, soft, intervals.get("soft-elo")),
        **_published(run.corpus, run.judge),
    )


def _measured(
    prefix: str, judge: str, held: Residuals | None, row: ConformalRow | None
) -> dict[str, Any]:
    """The measurements of one method, by the names of SoftEloRow's fields."""
    values: dict[str, Any] = dict.fromkeys(("mae", "spearman", "width", "coverage"))
    if held is not None and row is not None:
        error = loo_row(held)
        values = {
            "mae": error.mae,
            "spearman": error.spearman,
            "width": row.median_width,
            "coverage": row.coverage,
            "quantile": row.quantile,
            "se": row.median_se,
            "quarters": error.residual_by_quarter,
            "family": measures.family_residuals(judge, held),
        }
        if row.width_low is not None and row.width_high is not None:
            values["width_range"] = (row.width_low, row.width_high)
    return {f"{prefix}_{name}": value for name, value in values.items()}


def _unbounded(row: ConformalRow) -> tuple[str, ...]:
    """Why there is no width."""
    if not row.unbounded:
        return ()
    needed = models_needed(row.alpha)
    if row.n_calibration >= needed:
        return ("the interval is unbounded: too many models have no standard error",)
    return (
        f"the interval is unbounded: {row.n_calibration} models calibrate, and {needed} are needed",
    )


def _published(corpus: str, judge: str) -> dict[str, Any]:
    """The paper's numbers for this row, by the names of SoftEloRow's fields."""
    values: dict[str, Any] = {}
    if corpus == published.CORPORA[0] and judge in published.MAIN:
        values = dict(zip(published.MAIN_FIELDS, published.MAIN[judge], strict=True))
        values["soft_spearman"] = round(values["hard_spearman"] + values.pop("change"), 3)
        values |= zip(published.CONFORMAL_FIELDS, published.CONFORMAL[judge], strict=True)
        values["smoothed"] = published.SMOOTHING[judge]
    elif judge in published.REPLICATION.get(corpus, {}):
        numbers = published.REPLICATION[corpus][judge]
        values = dict(zip(published.REPLICATION_FIELDS, numbers, strict=True))
        if (widths := published.REPLICATION_WIDTHS[corpus].get(judge)) is not None:
            values |= zip(published.WIDTH_FIELDS, widths, strict=True)
    return {f"published_{name}": value for name, value in values.items()}


def _jury(runs: list[Run], l2: float) -> JuryRow | None:
    """All judges of a corpus as one, and the best of them on the same battles."""
    rows, said = gather_jury(Rows(_together(runs)))
    if not rows.frame.height:
        return None
    battles = code_battles(rows.frame, said=said)
    human = human_reference(battles, l2=l2)
    held = residuals(hold_out_each(battles, jury_rule(battles), l2=l2, replicates=0), human)
    alone = {
        judge: residuals(hold_out_each(one, soft_rule(one), l2=l2, replicates=0), human).mae
        for judge, one in juror_battles(battles).items()
    }
    known = {judge: mae for judge, mae in alone.items() if mae is not None}
    if not known:
        return None
    best = min(known, key=known.__getitem__)
    error = loo_row(held)
    return JuryRow(
        corpus=runs[0].corpus,
        judges=len(runs),
        battles=len(battles),
        mae=error.mae,
        spearman=error.spearman,
        best=best,
        best_mae=known[best],
    )


def _together(runs: list[Run]) -> pl.DataFrame:
    """The rows of several judges, with ids made of prompt and models."""
    columns = ("model_a", "model_b", "winner", "judge_winner", "score_a", "score_b")
    parts = [
        run.frame.select(
            pl.concat_str(run.prompts, "model_a", "model_b", separator=" ").alias("id"),
            *(column for column in columns if column in run.frame.columns),
            judge=pl.lit(run.judge),
        ).unique("id", keep="first", maintain_order=True)
        for run in runs
    ]
    return pl.concat(parts, how="diagonal")
