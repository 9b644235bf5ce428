"""The Soft-Elo paper's protocol on the authors' released CSVs, one row per judge and corpus.

Expects the release's folder `data/`, or any folder of `annotations_*.csv`, or one such file:

    data/lmarena100k/annotations_qwen3_5_27b.csv, ...
    data/lmarena140k/..., data/comparia/...

Without files it runs on simulated battles of the same shape. `soft_elo_items` lists the outcome of
every table and figure of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data import Source
from adjudge.data.battles import code_battles, gather_jury
from adjudge.data.rows import Rows
from adjudge.errors import DataError
from adjudge.present.blocks import Block, Headline, notes_of
from adjudge.present.result import Correlation, Count, Level, NotNegative, Proportion, frozen
from adjudge.ranking import (
    evaluation_rules,
    fit_temperature,
    hold_out_each,
    human_reference,
    residuals,
    sample_efficiency,
    split_conformal,
)
from adjudge.ranking.evaluation import BudgetRow, loo_row
from adjudge.ranking.leave_one_out import (
    ConformalRow,
    HeldOutRow,
    Residuals,
    held_out_intervals,
    models_needed,
)
from adjudge.ranking.targets import agreement_share, juror_battles, jury_rule, soft_rule
from adjudge.ranking.temperature import AgreementBin, ReliabilityBin
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import count, exact_level, generator, positive
from adjudge_papers import soft_elo_biases, soft_elo_calibration, soft_elo_ratings
from adjudge_papers import soft_elo_measures as measures
from adjudge_papers.items import read_published, read_rows
from adjudge_papers.reproduction import Reproduction
from adjudge_papers.simulated_release import SimulatedRun, simulate_release
from adjudge_papers.soft_elo_items import list_items
from adjudge_papers.soft_elo_measures import (
    BetaStability,
    FamilyExcess,
    LanguageRow,
    LengthEffect,
    PositionEffect,
    Run,
    StrengthStructure,
    count_languages,
    language_rows,
)
from adjudge_papers.soft_elo_tables import describe_errors, soft_elo_tables


@dataclass(frozen=True, kw_only=True)
class SoftEloRow:
    """One judge on one corpus. Fields named `published_*` are the paper's; None if it has none.

    `smoothed` maps each constant of Table 8 to its error. `*_quarters` are mean residuals, judge
    minus people, from the weakest quarter of models to the strongest. `*_width_range` is over the
    splits; `*_quantile` and `*_se` are the two factors of the width. `agreement` counts people's
    votes for the judge's side by |s|, `agreement_correlation` is Pearson's of the two; `raw_*` is
    about sigma(|s|), before beta. `contradictions` is the share of decided verdicts for the side
    with the judge's lower score.
    """

    corpus: str
    judge: str
    battles: Count
    models: Count
    mean_score: float | None
    kappa: float | None
    beta: float | None
    ece: Proportion | None
    hard_mae: NotNegative | None
    soft_mae: NotNegative | None
    hard_spearman: Correlation | None
    soft_spearman: Correlation | None
    hard_width: NotNegative | None
    soft_width: NotNegative | None
    hard_coverage: Proportion | None
    soft_coverage: Proportion | None
    hard_width_range: tuple[float, float] | None = None
    soft_width_range: tuple[float, float] | None = None
    hard_quantile: float | None = None
    soft_quantile: float | None = None
    hard_se: NotNegative | None = None
    soft_se: NotNegative | None = None
    agreement: tuple[AgreementBin, ...] = ()
    agreement_rate: Proportion | None = None
    agreement_correlation: Correlation | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    raw_reliability: tuple[ReliabilityBin, ...] = ()
    raw_ece: Proportion | None = None
    contradictions: Proportion | None = None
    stability: BetaStability | None = None
    strength: StrengthStructure | None = None
    length: LengthEffect | None = None
    position: PositionEffect | None = None
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    smoothed: Mapping[str, float | None] = field(default_factory=dict)
    chosen_smoothing_mae: float | None = None
    hard_quarters: tuple[float, ...] = ()
    soft_quarters: tuple[float, ...] = ()
    hard_family: FamilyExcess | None = None
    soft_family: FamilyExcess | None = None
    family_points: FamilyExcess | None = None
    warnings: tuple[str, ...] = ()
    published_mean_score: float | None = None
    published_kappa: float | None = None
    published_beta: float | None = None
    published_ece: float | None = None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: Correlation | None = None
    published_soft_spearman: Correlation | None = None
    published_hard_width: float | None = None
    published_soft_width: float | None = None
    published_hard_coverage: Proportion | None = None
    published_soft_coverage: Proportion | None = None
    published_hard_width_range: tuple[float, float] | None = None
    published_soft_width_range: tuple[float, float] | None = None
    published_smoothed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JuryRow:
    """All judges of a corpus as one jury, on the battles that each of them scored.

    `best` is the judge with the smallest error on those same battles, alone.
    """

    corpus: str
    judges: Count
    battles: Count
    mae: NotNegative | None
    spearman: Correlation | None
    best: str
    best_mae: NotNegative | None


#: In the paper's order.
PICTURES = dict(
    sorted(
        {
            **soft_elo_ratings.PICTURES,
            **soft_elo_calibration.PICTURES,
            **soft_elo_biases.PICTURES,
        }.items()
    )
)


@frozen
class SoftEloReproduction(Reproduction):
    """The Soft-Elo paper's protocol on the released files, our numbers next to the paper's.

    `published_quarters` are means over the paper's judges on LMArena 100K, if that is available.
    `juries` are all judges of a corpus as one, which the paper does not have. `language_counts` are
    prompts by corpus and language.
    """

    kind: ClassVar[str] = "reproduction_soft_elo"
    rows_in: ClassVar[str] = "rows"
    drawings = PICTURES

    rows: tuple[SoftEloRow, ...]
    languages: tuple[LanguageRow, ...]
    l2: NotNegative
    alpha: Level
    splits: Count
    replicates: Count
    simulated: bool = False
    juries: tuple[JuryRow, ...] = ()
    language_counts: Mapping[str, Mapping[str, Count]] = field(default_factory=dict)
    published_quarters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def headline(self) -> Headline:
        """By how much soft targets change the held-out error, ours and the paper's."""
        return describe_errors(self)

    def tables(self) -> list[Block]:
        """The paper's tables in its order, then the appendices."""
        return soft_elo_tables(self)

    def remarks(self) -> list[Block]:
        """Warnings of each judge, then notes about the paper."""
        warnings = [
            f"warning, {row.judge}, {row.corpus}: {text}"
            for row in self.rows
            for text in row.warnings
        ]
        return [*notes_of(warnings, tone="bad"), *super().remarks()]

    def can_draw(self, name: str) -> bool:
        """The pictures that the rows allow; the list of items explains the others."""
        return bool(self.rows) and (name == "errors" or super().can_draw(name))


def reproduce_soft_elo(
    source: str | Path | Sequence[SimulatedRun] | None = None,
    *,
    l2: float = DEFAULT_L2,
    alpha: float = 0.1,
    splits: int = 5,
    replicates: int = 20,
    seed: int = 42,
) -> SoftEloReproduction:
    """The tables and figures of the Soft-Elo paper.

    Leave-one-model-out Elo, conformal intervals, smoothing, temperature, languages, biases, with
    the paper's settings by default.

    Args:
        source: The release's data folder, a folder of annotations_*.csv, or one file; without it,
            simulated battles of the same shape. The return value of `simulate_release` also works.
        l2: Penalty l2 |theta|^2; 0.005 is the released code's.
        alpha: Error level of conformal intervals.
        splits: Random halves of the models.
        replicates: Resamples per model.
        seed: Seed of everything random.
    """
    l2 = positive(l2, "l2")
    exact_level(alpha)
    count(splits, "splits", least=1)
    count(replicates, "replicates", least=2)
    real = isinstance(source, (str, Path))
    runs = _read(Path(source)) if isinstance(source, (str, Path)) else _simulated(source, seed)
    paper = read_published("soft-elo")
    order = {name: k for k, name in enumerate(paper["corpora"])}
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
        notes=tuple(paper["notes"]),
        simulated=not real,
        juries=tuple(row for row in juries if row is not None),
        language_counts={name: count_languages(same) for name, same in corpora.items()},
        published_quarters={
            method: tuple(means)
            for method, means in paper["quarters"].items()
            if real and paper["corpora"][0] in corpora
        },
    )
    return replace(result, items=list_items(result))


def _simulated(runs: Sequence[SimulatedRun] | None, seed: int) -> list[Run]:
    drawn = simulate_release(seed=seed) if runs is None else runs
    return [_run(run.corpus, run.judge, run.frame) for run in drawn]


def _read(source: Path) -> list[Run]:
    runs = []
    for path in _files(source):
        frame = Source(path).open("battles", votes_required=False).frame
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
    return path.resolve().parent.name, read_published("soft-elo")["files"].get(stem, stem)


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
            for held_out in (hard, soft)
            if held_out is not None
            for row in held_out_intervals(held_out, alpha=alpha)
        ),
        budgets=sample_efficiency(battles, human, l2=l2, seed=seed),
        smoothed={
            name.removeprefix("smoothed "): held_out.mae
            for name, held_out in held.items()
            if name.startswith("smoothed ")
        },
        chosen_smoothing_mae=held["smoothed"].mae,
        warnings=(*temperature.warnings, *_unbounded(intervals["hard-elo"])),
        **_measured("hard", run.judge, hard, intervals["hard-elo"]),
        **_measured("soft", run.judge, soft, intervals.get("soft-elo")),
        **_published_rows().get((run.corpus, run.judge), {}),
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


@cache
def _published_rows() -> dict[tuple[str, str], dict[str, Any]]:
    """The paper's numbers by corpus and judge, by the names of SoftEloRow's fields."""
    paper = read_published("soft-elo")
    smoothed = {row.pop("judge"): row for row in read_rows(paper["smoothing"])}
    published = {}
    for row in read_rows(paper["rows"]):
        corpus, judge = key = row.pop("corpus"), row.pop("judge")
        for method in ("hard", "soft"):
            ends = row.pop(f"{method}_width_low"), row.pop(f"{method}_width_high")
            row[f"{method}_width_range"] = None if None in ends else ends
        if corpus == paper["corpora"][0]:
            row["smoothed"] = smoothed[judge]
        published[key] = {f"published_{name}": value for name, value in row.items()}
    return published


def _jury(runs: list[Run], l2: float) -> JuryRow | None:
    """All judges of a corpus as one, and the best of them on the same battles."""
    rows, answers = gather_jury(Rows(_together(runs)))
    if not rows.frame.height:
        return None
    battles = code_battles(rows.frame, said=answers)
    human = human_reference(battles, l2=l2)
    held = residuals(hold_out_each(battles, jury_rule(battles), l2=l2, replicates=0), human)
    alone = {
        judge: residuals(
            hold_out_each(alone_battles, soft_rule(alone_battles), l2=l2, replicates=0), human
        ).mae
        for judge, alone_battles in juror_battles(battles).items()
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
