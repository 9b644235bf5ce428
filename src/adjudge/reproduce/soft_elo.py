"""The Soft-Elo paper's protocol on the authors' released CSVs, one row per judge and corpus.

Expects the release's folder `data/`, or any folder of `annotations_*.csv`, or one such file:

    data/lmarena100k/annotations_qwen3_5_27b.csv, ...    Tables 1, 2, 3, 6, 7, 8
    data/lmarena140k/..., data/comparia/...              Tables 4, 5, 7
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adjudge._bradley_terry import DEFAULT_L2, fit_strengths, to_elo
from adjudge._stats import mean_known
from adjudge._validation import FloatArray, count, exact_level, generator, positive
from adjudge.diagnosis import family_of, family_scores
from adjudge.errors import DataError
from adjudge.io import open_battles
from adjudge.ranking import (
    evaluation_rules,
    fit_temperature,
    hold_out_each,
    human_reference,
    rank_correlations,
    residuals,
    soft_targets,
    split_conformal,
)
from adjudge.ranking.conformal import models_needed
from adjudge.ranking.counts import target_battles, wins_table
from adjudge.ranking.evaluation import loo_row
from adjudge.ranking.leave_one_out import Residuals
from adjudge.reproduce import soft_elo_published as published
from adjudge.results.ranking import ConformalRow
from adjudge.results.ranking_reproduction import (
    FamilyResiduals,
    LanguageRow,
    SoftEloReproduction,
    SoftEloRow,
)
from adjudge.rows.agreement import cohen_kappa
from adjudge.rows.battles import Battles, code_battles
from adjudge.rows.families import of_family

#: Languages with fewer prompts than this are left out of Table 6.
FEWEST_PROMPTS = 50


def reproduce_soft_elo(
    source: str | Path,
    *,
    l2: float = DEFAULT_L2,
    alpha: float = 0.1,
    splits: int = 5,
    replicates: int = 20,
    seed: int = 42,
) -> SoftEloReproduction:
    """Run Hard-Elo, Soft-Elo and label smoothing on every released file below `source`.

    The paper's settings are the defaults: 5 model splits, 20 resamples, alpha 0.10, l2 0.01.
    """
    l2 = positive(l2, "l2")
    exact_level(alpha)
    count(splits, "splits", least=1)
    count(replicates, "replicates", least=2)
    rows, languages = [], []
    for path in _files(Path(source)):
        frame = open_battles(path, votes_required=False).frame
        battles = code_battles(frame, by="language" if "language" in frame.columns else None)
        corpus, judge = _names(path)
        row, beta = _row(battles, corpus, judge, l2, alpha, splits, replicates, seed)
        rows.append(row)
        if beta is not None:
            languages += _languages(battles, corpus, beta, l2)
    order = {name: k for k, name in enumerate(published.CORPORA)}
    rows.sort(key=lambda row: (order.get(row.corpus, 9), -(row.hard_mae or 0.0)))
    return SoftEloReproduction(
        rows=tuple(rows),
        languages=_averaged(languages),
        l2=l2,
        alpha=alpha,
        splits=splits,
        replicates=replicates,
        seed=seed,
        notes=published.NOTES,
        published_quarters=published.QUARTERS
        if any(row.corpus == "lmarena100k" for row in rows)
        else {},
    )


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
    """Corpus and judge of a released file, by the names the release uses."""
    stem = path.name.split(".csv")[0].removeprefix("annotations_")
    return path.resolve().parent.name, published.JUDGES.get(stem, stem)


def _row(
    battles: Battles,
    corpus: str,
    judge: str,
    l2: float,
    alpha: float,
    splits: int,
    replicates: int,
    seed: int,
) -> tuple[SoftEloRow, float | None]:
    if battles.human is None or battles.score is None or battles.verdict is None:
        remedy = "give annotations as the release has them"
        raise DataError(f"{corpus}/{judge}", "has no votes or no scores", remedy=remedy)
    rng = generator(seed)
    human = human_reference(battles, l2=l2)
    held: dict[str, Residuals] = {}
    intervals: dict[str, ConformalRow] = {}
    for rule in evaluation_rules(battles):
        resamples = replicates if rule.name in ("hard-elo", "soft-elo") else 0
        held[rule.name] = residuals(
            hold_out_each(battles, rule, l2=l2, replicates=resamples, seed=rng), human
        )
        if resamples:
            # The same seed, so that both methods are tested on the same splits.
            intervals[rule.name] = split_conformal(
                held[rule.name], alpha=alpha, splits=splits, seed=seed
            )
    temperature = fit_temperature(battles.score, battles.human, verdict=battles.verdict)
    soft = held.get("soft-elo")
    known = np.abs(battles.score[np.isfinite(battles.score)])
    row = SoftEloRow(
        corpus=corpus,
        judge=judge,
        battles=len(battles),
        models=battles.n_models,
        mean_score=float(known.mean()) if len(known) else None,
        kappa=cohen_kappa(battles.verdict, battles.human),
        beta=None if soft is None else soft.mean_parameter,
        ece=temperature.ece,
        smoothed={
            name.removeprefix("smoothed "): one.mae
            for name, one in held.items()
            if name.startswith("smoothed ")
        },
        chosen_smoothing_mae=held["smoothed"].mae,
        warnings=(*temperature.warnings, *_unbounded(intervals["hard-elo"])),
        **_measured("hard", judge, held["hard-elo"], intervals["hard-elo"]),
        **_measured("soft", judge, soft, intervals.get("soft-elo")),
        **_published(corpus, judge),
    )
    return row, temperature.beta


def _measured(
    prefix: str, judge: str, held: Residuals | None, row: ConformalRow | None
) -> dict[str, Any]:
    """What one method measured, by the names of SoftEloRow's fields."""
    values: dict[str, Any] = dict.fromkeys(("mae", "spearman", "width", "coverage"))
    if held is not None and row is not None:
        error = loo_row(held)
        values = {
            "mae": error.mae,
            "spearman": error.spearman,
            "width": row.median_width,
            "coverage": row.coverage,
            "quarters": error.residual_by_quarter,
            "family": family_residuals(judge, held),
        }
    return {f"{prefix}_{name}": value for name, value in values.items()}


def family_residuals(judge: str, held: Residuals) -> FamilyResiduals | None:
    """Appendix F.1 in Elo: None where the judge's family is not known or has no model here."""
    own = family_of(judge)
    if own is None:
        return None
    seen = family_scores(held.values, held.names, of_family(held.names, own), family=own)
    if seen.excess is None:
        return None
    return FamilyResiduals(
        family=own,
        own_models=seen.own_models,
        other_models=seen.other_models,
        excess=seen.excess,
        low=seen.low,
        high=seen.high,
    )


def _unbounded(row: ConformalRow) -> tuple[str, ...]:
    """Why there is no width."""
    if not row.unbounded:
        return ()
    needed = models_needed(row.alpha)
    if row.n_calibration >= needed:
        return (
            "the interval is unbounded: the battles of too many models leave no standard error",
        )
    return (
        f"the interval is unbounded: {row.n_calibration} models calibrate, and it takes {needed}",
    )


def _published(corpus: str, judge: str) -> dict[str, Any]:
    """The paper's numbers for this row, by the names of SoftEloRow's fields."""
    values: dict[str, Any] = {}
    if corpus == "lmarena100k" and judge in published.MAIN:
        values = dict(zip(published.MAIN_FIELDS, published.MAIN[judge], strict=True))
        values["soft_spearman"] = round(values["hard_spearman"] + values.pop("change"), 3)
        values |= zip(published.CONFORMAL_FIELDS, published.CONFORMAL[judge], strict=True)
        values["smoothed"] = published.SMOOTHING[judge]
    elif judge in published.REPLICATION.get(corpus, {}):
        numbers = published.REPLICATION[corpus][judge]
        values = dict(zip(published.REPLICATION_FIELDS, numbers, strict=True))
        widths = published.REPLICATION_WIDTHS[corpus].get(judge, (None, None))
        values |= {"hard_width": widths[0], "soft_width": widths[1]}
    return {f"published_{name}": value for name, value in values.items()}


def _elo(battles: Battles, target: FloatArray, l2: float) -> FloatArray:
    """Elo of every model by one fit; NaN for models without a battle."""
    used, y = target_battles(battles, target)
    wins = wins_table(used.a, used.b, y, used.n_models)
    seen = (wins.sum(axis=0) + wins.sum(axis=1)) > 0
    return np.where(seen, to_elo(fit_strengths(wins, l2=l2)), np.nan)


def _languages(battles: Battles, corpus: str, beta: float, l2: float) -> list[LanguageRow]:
    """Table 6 for one judge: each language fitted by itself, against the global human Elo."""
    if (
        battles.groups is None
        or battles.group_codes is None
        or battles.human is None
        or battles.verdict is None
        or battles.score is None
        or beta <= 0
    ):
        return []
    reference = _elo(battles, battles.human, l2)
    soft = soft_targets(battles.score, beta)
    rows = []
    for k, name in enumerate(battles.groups):
        inside = battles.group_codes == k
        if int(inside.sum()) < FEWEST_PROMPTS:
            continue
        part = battles.take(inside)
        errors, correlations = [], []
        for target in (battles.verdict, soft):
            elo = _elo(part, target[inside], l2)
            both = np.isfinite(elo) & np.isfinite(reference)
            errors.append(float(np.abs(elo - reference)[both].mean()))
            correlations.append(rank_correlations(elo[both], reference[both])[1])
        rows.append(
            LanguageRow(
                corpus=corpus,
                language=name,
                battles=int(inside.sum()),
                judges=1,
                hard_mae=errors[0],
                soft_mae=errors[1],
                hard_spearman=correlations[0],
                soft_spearman=correlations[1],
            )
        )
    return rows


def _averaged(rows: list[LanguageRow]) -> tuple[LanguageRow, ...]:
    """Means over judges, the languages with most battles first."""
    grouped: dict[tuple[str, str], list[LanguageRow]] = {}
    for row in rows:
        grouped.setdefault((row.corpus, row.language), []).append(row)
    made = []
    for (corpus, language), same in grouped.items():
        known = published.LANGUAGES.get(language) if corpus == "lmarena100k" else None
        ours: dict[str, Any] = {
            name: mean_known(getattr(row, name) for row in same)
            for name in published.LANGUAGE_FIELDS
        }
        theirs = zip(published.LANGUAGE_FIELDS, known, strict=True) if known else ()
        made.append(
            LanguageRow(
                corpus=corpus,
                language=language,
                battles=round(float(np.mean([row.battles for row in same]))),
                judges=len(same),
                **ours,
                **{f"published_{name}": value for name, value in theirs},
            )
        )
    return tuple(sorted(made, key=lambda row: (row.corpus, -row.battles)))
