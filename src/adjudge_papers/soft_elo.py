"""The Soft-Elo paper's protocol on the authors' released CSVs, one row per judge and corpus.

Expects the release's folder `data/`, or any folder of `annotations_*.csv`, or one such file:

    data/lmarena100k/annotations_qwen3_5_27b.csv, ...
    data/lmarena140k/..., data/comparia/...

Without files it runs on simulated battles of the same shape. The numbers, tables, items and
pictures of each theme are in one file: ratings, calibration, biases, languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data.battles import Battles, code_battles, gather_jury
from adjudge.data.rows import Rows
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Headline, Table, notes_of
from adjudge.present.figure import MARKS, SERIES
from adjudge.present.result import Correlation, Count, Level, NotNegative, Proportion, frozen
from adjudge.present.text import count as count_of
from adjudge.present.text import number, percent
from adjudge.ranking import (
    evaluation_rules,
    hold_out_each,
    human_reference,
    residuals,
    sample_efficiency,
    split_conformal,
)
from adjudge.ranking.evaluation import Residuals, held_out_intervals, loo_row, models_needed
from adjudge.ranking.leaderboard import BudgetRow, ConformalRow, HeldOutRow
from adjudge.ranking.targets import Rule, agreement_share, juror_battles, jury_rule, soft_rule
from adjudge.ranking.temperature import AgreementBin, ReliabilityBin
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import count, exact_level, generator, positive
from adjudge_papers import soft_elo_biases as biases
from adjudge_papers import soft_elo_calibration as calibration
from adjudge_papers import soft_elo_languages as languages
from adjudge_papers import soft_elo_ratings as ratings
from adjudge_papers.items import ItemBook, PaperItem, read_rows
from adjudge_papers.reproduction import Reproduction
from adjudge_papers.simulated_release import SimulatedRun
from adjudge_papers.soft_elo_exhibits import (
    FRENCH,
    GALLERY,
    MAIN,
    METHODS,
    NEWER,
    PAPER,
    TITLES,
    Column,
    row_names,
    tabulate,
    value_of,
)
from adjudge_papers.soft_elo_languages import LanguageRow
from adjudge_papers.soft_elo_runs import Run, read_runs

#: In the paper's order.
PICTURES = dict(sorted(GALLERY.items()))
_SIMULATED = (
    "Simulated battles of the release's shape: models, judges and numbers are invented. Compare "
    "the pattern with the paper's, not the numbers."
)


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
    stability: calibration.BetaStability | None = None
    strength: ratings.StrengthStructure | None = None
    length: biases.LengthEffect | None = None
    position: biases.PositionEffect | None = None
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    smoothed: Mapping[str, float | None] = field(default_factory=dict)
    chosen_smoothing_mae: float | None = None
    hard_quarters: tuple[float, ...] = ()
    soft_quarters: tuple[float, ...] = ()
    hard_family: biases.FamilyExcess | None = None
    soft_family: biases.FamilyExcess | None = None
    family_points: biases.FamilyExcess | None = None
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

    @property
    def any_family(self) -> biases.FamilyExcess | None:
        """The excess of the judge's family in Elo, or else in points."""
        return self.hard_family or self.family_points


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
        rows = self.compared()
        if not rows:
            return Headline("No judge could be compared with people", tone="bad")
        runs = count_of(len(rows), "run of a judge on a corpus", "runs of judges on corpora")
        mean = _write_means([(hard, soft) for _, hard, soft in rows])
        published = [
            (row.published_hard_mae, row.published_soft_mae)
            for row, *_ in rows
            if row.published_hard_mae is not None and row.published_soft_mae is not None
        ]
        paper = ""
        if published:
            paper = f"The paper has {_write_means(published)} for {len(published)} of them."
        text = f"{self.describe_change()}, the mean over {runs}: {mean}"
        return Headline(text, _SIMULATED if self.simulated else paper)

    def tables(self) -> list[Block]:
        """The paper's tables in its order, then the appendices that the rows have numbers for."""
        juries = tabulate(
            "All judges as one, the mean of calibrated scores (not in the paper), and the best of "
            "them on the same battles",
            "corpus",
            [(row.corpus, [row]) for row in self.juries],
            Column("best alone", "best", str),
            Column("its error", "best_mae", 1),
            Column("judges", "judges", 0),
            Column("battles of all", "battles", 0),
            Column("jury's error", "mae", 1),
            Column("rho", "spearman", 3),
            text_columns=2,
        )
        appendices = (*calibration.tables(self), *biases.tables(self), juries)
        return [
            *ratings.tables(self),
            *(table for table in appendices if table.rows),
            *languages.tables(self),
        ]

    def judge_table(
        self,
        caption: str,
        *columns: Column,
        needs: str = "",
        means: bool = False,
        **layout: Any,
    ) -> Table:
        """The judges, or those that have the field `needs`.

        With `means`, also the paper's numbers, and the means over the judges of each corpus.
        """
        rows: list[tuple[str, Sequence[SoftEloRow]]] = [
            (name, [row])
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            if not needs or value_of(row, needs) is not None
        ]
        corpora = dict.fromkeys(row.corpus for row in self.rows) if means else ()
        for corpus in corpora:
            judges = [row for row in self.rows if row.corpus == corpus]
            if len(judges) > 1:
                rows.append(("mean" if len(corpora) == 1 else f"mean, {corpus}", judges))
        return tabulate(caption, "judge", rows, *columns, compare=means, **layout)

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

    def main_rows(self) -> list[SoftEloRow]:
        """The judges of the main corpus, or of the first corpus if that is not here."""
        corpora = [row.corpus for row in self.rows]
        if not corpora:
            raise ArgumentError("plot", self.kind, "no judge could be compared with people")
        shown = MAIN if MAIN in corpora else corpora[0]
        return [row for row in self.rows if row.corpus == shown]

    def compared(self) -> list[tuple[SoftEloRow, float, float]]:
        """The rows that have both errors, hard and soft."""
        return [
            (row, row.hard_mae, row.soft_mae)
            for row in self.rows
            if row.hard_mae is not None and row.soft_mae is not None
        ]

    def describe_change(self) -> str:
        """By how much soft targets change the held-out error, the mean over judges and corpora."""
        gains = [1 - soft / hard for _, hard, soft in self.compared() if hard]
        if not gains:
            return "Held-out error"
        gain = sum(gains) / len(gains)
        verb = "cut" if gain >= 0 else "raise"
        return f"Soft targets {verb} the held-out error by {percent(abs(gain), 0)}"

    def judge_looks(self) -> dict[str, dict[str, Any]]:
        """One colour and mark per judge, by name, in every picture; not those of hard and soft."""
        colours, marks = SERIES[2:], MARKS[2:]
        return {
            name: {"color": colours[k % len(colours)], "marker": marks[k % len(marks)]}
            for k, name in enumerate(sorted({row.judge for row in self.rows}))
        }

    def corpus_name(self, corpus: str) -> str:
        """The name of a corpus in a legend, marked if it is simulated."""
        name = TITLES.get(corpus, corpus)
        return f"{name} (simulated)" if self.simulated else name


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
    order = {name: k for k, name in enumerate(PAPER["corpora"])}
    runs = read_runs(source, l2=l2, seed=seed)
    rows = [_measure(run, alpha, splits, replicates, seed) for run in runs]
    corpora: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: order.get(run.corpus, 9)):
        corpora.setdefault(run.corpus, []).append(run)
    points = {name: biases.family_points(judges) for name, judges in corpora.items()}
    rows = [replace(row, family_points=points[row.corpus][row.judge]) for row in rows]
    rows.sort(key=lambda row: (order.get(row.corpus, 9), -(row.hard_mae or 0.0)))
    juries = (_join_judges(judges, l2) for judges in corpora.values() if len(judges) > 1)
    result = SoftEloReproduction(
        rows=tuple(rows),
        languages=tuple(
            row
            for judges in corpora.values()
            for row in languages.language_rows(judges, compare=real)
        ),
        l2=l2,
        alpha=alpha,
        splits=splits,
        replicates=replicates,
        seed=seed,
        notes=tuple(PAPER["notes"]),
        simulated=not real,
        juries=tuple(row for row in juries if row is not None),
        language_counts={
            name: languages.count_languages(judges) for name, judges in corpora.items()
        },
        published_quarters={
            method: tuple(means)
            for method, means in PAPER["quarters"].items()
            if real and MAIN in corpora
        },
    )
    return replace(result, items=list_items(result))


def list_items(result: SoftEloReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    rows = {name: [row for row in result.rows if row.corpus == name] for name in TITLES}
    # Files that are not from the release count as its main corpus.
    main = rows[MAIN] or list(result.rows)

    def completeness(judges: Sequence[SoftEloRow]) -> str:
        """The part of the paper's data in the rows."""
        if result.simulated:
            return ""
        theirs = sum(row.published_hard_mae is not None for row in judges)
        total = PAPER["judges_of"].get(judges[0].corpus) if judges else None
        if total is not None and theirs == total == len(judges):
            return ""
        if theirs:
            return f"{theirs} of the paper's {total} judges"
        return "other judges than the paper's"

    book = ItemBook("soft-elo", simulated=result.simulated, remark=completeness(main))
    ratings.add_items(book, main)
    for corpus in (NEWER, FRENCH):
        ratings.add_replication_items(book, rows[corpus], corpus, completeness(rows[corpus]))
    calibration.add_items(book, main, rows)
    languages.add_items(book, result)
    biases.add_items(book, main, rows[NEWER])
    return book.items()


def _measure(run: Run, alpha: float, splits: int, replicates: int, seed: int) -> SoftEloRow:
    battles, rng = run.battles, generator(seed)
    held: dict[str, Residuals] = {}
    intervals: dict[str, ConformalRow] = {}
    rules = {rule.name: rule for rule in evaluation_rules(battles)}
    for name, rule in rules.items():
        held[name] = run.leave_out(rule, replicates=replicates if name in METHODS else 0, seed=rng)
        if name in METHODS:
            # The same seed: both methods are tested on the same splits.
            intervals[name] = split_conformal(held[name], alpha=alpha, splits=splits, seed=seed)
    hard, soft = held["hard-elo"], held.get("soft-elo")
    sizes = np.abs(run.score[np.isfinite(run.score)])
    raw, raw_ece = calibration.raw_reliability(run)
    return SoftEloRow(
        corpus=run.corpus,
        judge=run.judge,
        battles=len(battles),
        models=battles.n_models,
        mean_score=float(sizes.mean()) if len(sizes) else None,
        kappa=cohen_kappa(run.verdict, run.human),
        beta=None if soft is None else soft.mean_parameter,
        ece=run.temperature.ece,
        agreement=calibration.agreement_by_size(run),
        agreement_rate=agreement_share(run.verdict, run.human)[0],
        agreement_correlation=run.temperature.correlation,
        reliability=run.temperature.reliability,
        raw_reliability=raw,
        raw_ece=raw_ece,
        contradictions=calibration.contradictions(run),
        stability=calibration.beta_stability(run, rules.get("soft-elo")),
        strength=ratings.strength_structure(run, hard, soft),
        length=biases.length_effect(run, hard),
        position=biases.position_effect(run),
        held_out=tuple(
            row for name in intervals for row in held_out_intervals(held[name], alpha=alpha)
        ),
        budgets=sample_efficiency(battles, run.people, l2=run.l2, seed=seed),
        smoothed={
            name.removeprefix("smoothed "): held_out.mae
            for name, held_out in held.items()
            if name.startswith("smoothed ")
        },
        chosen_smoothing_mae=held["smoothed"].mae,
        warnings=(*run.temperature.warnings, *_unbounded(intervals["hard-elo"])),
        **_compare_methods(run.judge, held, intervals),
        **_published_rows().get((run.corpus, run.judge), {}),
    )


def _compare_methods(
    judge: str, held: Mapping[str, Residuals], intervals: Mapping[str, ConformalRow]
) -> dict[str, Any]:
    """The measurements of both methods, by the names of SoftEloRow's fields."""
    required = ("mae", "spearman", "width", "coverage")
    values: dict[str, Any] = {f"{m[:4]}_{name}": None for m in METHODS for name in required}
    for method, row in intervals.items():
        error = loo_row(held[method])
        ends = row.width_low, row.width_high
        measured = {
            "mae": error.mae,
            "spearman": error.spearman,
            "width": row.median_width,
            "coverage": row.coverage,
            "quantile": row.quantile,
            "se": row.median_se,
            "quarters": error.residual_by_quarter,
            "family": biases.family_excess(judge, held[method].values, held[method].names),
            "width_range": None if None in ends else ends,
        }
        values |= {f"{method[:4]}_{name}": value for name, value in measured.items()}
    return values


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
    smoothed = {row.pop("judge"): row for row in read_rows(PAPER["smoothing"])}
    published = {}
    for row in read_rows(PAPER["rows"]):
        corpus, judge = key = row.pop("corpus"), row.pop("judge")
        for method in ("hard", "soft"):
            ends = row.pop(f"{method}_width_low"), row.pop(f"{method}_width_high")
            row[f"{method}_width_range"] = None if None in ends else ends
        if corpus == MAIN:
            row["smoothed"] = smoothed[judge]
        published[key] = {f"published_{name}": value for name, value in row.items()}
    return published


def _write_means(errors: Sequence[tuple[float, float]]) -> str:
    hard, soft = (sum(values) / len(errors) for values in zip(*errors, strict=True))
    return f"{number(hard, 1)} hard, {number(soft, 1)} soft"


def _join_judges(runs: Sequence[Run], l2: float) -> JuryRow | None:
    """All judges of a corpus as one, and the best of them on the same battles."""
    columns = ("model_a", "model_b", "winner", "judge_winner", "score_a", "score_b")
    frames = [
        run.frame.select(
            pl.concat_str(run.prompts, "model_a", "model_b", separator=" ").alias("id"),
            *(column for column in columns if column in run.frame.columns),
            judge=pl.lit(run.judge),
        ).unique("id", keep="first", maintain_order=True)
        for run in runs
    ]
    rows, answers = gather_jury(Rows(pl.concat(frames, how="diagonal")))
    if not rows.frame.height:
        return None
    jury = code_battles(rows.frame, said=answers)
    human = human_reference(jury, l2=l2)

    def leave_out(battles: Battles, rule: Rule) -> Residuals:
        return residuals(hold_out_each(battles, rule, l2=l2, replicates=0), human)

    errors = {
        judge: mae
        for judge, alone in juror_battles(jury).items()
        if (mae := leave_out(alone, soft_rule(alone)).mae) is not None
    }
    if not errors:
        return None
    best = min(errors, key=errors.__getitem__)
    error = loo_row(leave_out(jury, jury_rule(jury)))
    return JuryRow(
        corpus=runs[0].corpus,
        judges=len(runs),
        battles=len(jury),
        mae=error.mae,
        spearman=error.spearman,
        best=best,
        best_mae=errors[best],
    )
