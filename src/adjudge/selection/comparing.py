"""Is learning worth its labels? Every doubt on the same random splits, with a learning share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from adjudge.data.judgments import ERROR, HAS_VERDICT, WORDS, fixed_doubts
from adjudge.errors import ArgumentError
from adjudge.present.result import Level, NotNegative, Proportion
from adjudge.selection.doubts.base import DoubtRequest, Labelled
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    Evidence,
    doubt_of,
    judge_evidence,
    learn,
    lengths_in,
    with_context,
)
from adjudge.selection.guarantees import Guarantee, Labels, all_guarantees
from adjudge.selection.labelled import LabelledRows
from adjudge.selection.split_counts import Halves, Levels, SplitCounts, SplitOutcome, SplitTable
from adjudge.selection.splits import SplitRisk, random_halves
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, open_unit

#: A learned doubt is fitted again in each split; with more splits the mean changes little.
MOST_SPLITS = 200


@dataclass(frozen=True)
class _Learner:
    """What is learned from in every split: the pairs' evidence and their human labels."""

    name: str
    evidence: Evidence
    label: FloatArray  # 1 for A or pass, -1 for B or fail, 0 for a tie
    tied: BoolArray  # by the judge: remains a tie, whatever is learned
    units: IntArray
    share: float

    def doubts(self, halves: Halves, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Margins of all pairs in each split, and which pairs were used for learning."""
        learning = _random_units(~halves.tested, self.units, self.share, rng)
        prefers_a = (self.label > 0).astype(np.int64)
        learns = learning & (self.label != 0)
        _, fit = learn(self.evidence, prefers_a, learns, units=self.units, seed=rng)
        columns = self.evidence.columns(self.evidence.categories)
        table = np.column_stack(list(columns.values()))
        return (fit.weights / fit.scales) @ table.T, learning


def compare_doubts(
    labelled: LabelledRows,
    *,
    asked: DoubtRequest,
    learning_share: float,
    category: str | None,
    alphas: Sequence[Fraction],
    delta: float | Fraction,
    splits: int,
    seed: int,
) -> list[Comparison]:
    """Coverage and error share of each judge alone, of the jury, and of the learned doubt.

    Every split gives half of the labels to calibration. A learned doubt uses `learning_share` of
    that half for learning and calibrates on the rest. All doubts use the same splits.
    """
    fit = asked.plain.learn(Labelled(labelled.frame, labelled.about))
    rows, evidence = fit.rows, fit.evidence
    if evidence is None:
        evidence = judge_evidence(rows)
    tables = {
        name: _split_table(
            rows.select("id").join(judge_rows, on="id", how="left", maintain_order="left")
        )
        for name, judge_rows in fit.alone.items()
    }
    tables[asked.plain.name or evidence.judges[0]] = _split_table(rows)
    column = labelled.cluster
    clusters = None if column is None else rows.get_column(column).to_list()
    learner = None
    if asked is not asked.plain:
        names = dict(zip(WORDS[labelled.about], (1.0, -1.0), strict=True))
        learner = _Learner(
            asked.plain.learned_name,
            with_context(evidence, rows, lengths=lengths_in(rows), category=category),
            np.array([names.get(doubt, 0.0) for doubt in rows.get_column("label")]),
            (rows.get_column("verdict") == "tie").fill_null(False).to_numpy(),
            np.arange(rows.height) if clusters is None else cluster_codes(clusters)[0],
            open_unit(learning_share, "learning_share"),
        )
        least = round(learner.share * ((int(learner.units.max()) + 1) // 2))
        if least < FEWEST_LEARNING:
            raise ArgumentError(
                "learning_share",
                learning_share,
                f"leaves {least} labels to learn from in each half; {FEWEST_LEARNING} or more are "
                "needed: evaluate without learning, or label more",
            )
    failure = exact_level(delta, "delta")
    levels = [Levels(alpha, failure) for alpha in alphas]
    grid = [(doubt, level) for doubt in all_guarantees() for level in levels]
    outcomes: dict[str, list[list[SplitOutcome]]] = {name: [] for name in tables}
    rng = np.random.default_rng([seed, 1])  # separate from the splits, which `evaluate` shares
    for halves in random_halves(rows.height, splits, seed, clusters=clusters):
        for name, table in tables.items():
            counts = SplitCounts.build(table, halves)
            outcomes[name].append([g.counts_over_splits(counts, level) for g, level in grid])
        if learner is not None:
            done = _learned_outcomes(learner, halves, grid, rng)
            outcomes.setdefault(learner.name, []).append(done)
    learned = None if learner is None else learner.name
    return [
        _comparison(name, guarantee, level, cells, learned=name == learned)
        for name, batches in outcomes.items()
        for (guarantee, level), cells in zip(grid, zip(*batches, strict=True), strict=True)
    ]


def _split_table(rows: pl.DataFrame) -> SplitTable:
    """The scores and errors of a doubt that needs no labels."""
    return SplitTable.build(
        rows.get_column("uncertainty").to_numpy().astype(np.float64),
        rows.get_column(ERROR).to_numpy().astype(np.int64),
        rows.select(HAS_VERDICT).to_series().to_numpy(),
        None,
        values=fixed_doubts(rows["protocol"][0]),
    )


def _learned_outcomes(
    learner: _Learner,
    halves: Halves,
    grid: Sequence[tuple[Guarantee, Levels]],
    rng: np.random.Generator,
) -> list[SplitOutcome]:
    margins, learning = learner.doubts(halves, rng)
    cells = np.zeros((len(grid), 3, len(margins)), dtype=np.int64)
    for at, margin in enumerate(margins):
        mute = (margin == 0) | learner.tied
        errors = (np.sign(margin) != learner.label) | mute
        scores = np.where(learner.tied, INFINITE_DOUBT, doubt_of(margin))
        calibrates, new = halves.calibrates[at] & ~learning[at], halves.tested[at]
        labels = Labels(scores[calibrates], errors[calibrates].astype(np.int64))
        cells[:, 2, at] = np.count_nonzero(new)
        for cell, (guarantee, level) in enumerate(grid):
            rule = guarantee.decide(labels, level)
            accepted = guarantee.accept(rule, scores[new], level) & ~mute[new]
            cells[cell, :2, at] = accepted.sum(), (accepted & errors[new]).sum()
    return [SplitOutcome(*cell) for cell in cells]


def _random_units(
    inside: BoolArray, units: IntArray, share: float, rng: np.random.Generator
) -> BoolArray:
    """Marks a random share of the units that are inside, in each split."""
    keys = rng.random((len(inside), int(units.max()) + 1))
    there = np.zeros(keys.shape, dtype=np.bool_)
    split, row = np.nonzero(inside)
    there[split, units[row]] = True
    ranks = np.argsort(np.argsort(keys + ~there, axis=1), axis=1)
    chosen = ranks < np.round(share * there.sum(axis=1))[:, None]
    return np.asarray(chosen[:, units])


def _comparison(
    name: str, guarantee: Guarantee, level: Levels, cells: Sequence[SplitOutcome], *, learned: bool
) -> Comparison:
    row = SplitRisk(guarantee.name, level.alpha, *map(np.concatenate, zip(*cells, strict=True)))
    return Comparison(
        candidate=name,
        learned=learned,
        method=guarantee.name,
        alpha=float(level.alpha),
        coverage=float(row.coverages.mean()),
        coverage_sd=float(row.coverages.std(ddof=1 if len(row.accepted) > 1 else 0)),
        risk=float(row.risks.mean()),
        share_above=row.share_above,
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One doubt under one guarantee at one alpha: a judge's own, a jury's, or a learned one.

    All use the same splits; a learned one uses a share of each split's labels.
    """

    candidate: str
    learned: bool
    method: str
    alpha: Level
    coverage: Proportion
    coverage_sd: NotNegative
    risk: Proportion
    share_above: Proportion
