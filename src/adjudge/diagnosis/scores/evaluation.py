"""Coverage and size of score sets over random halves of the documents, and what widths indicate.

Each judge's scores are arrays here, with the calibration data of every available method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.scores import ratings_table
from adjudge.data.tables import as_text
from adjudge.diagnosis.measures import mean_or_none
from adjudge.diagnosis.scores.nonconformity import Target, human_target, round_half_up
from adjudge.diagnosis.scores.result import ScoreSetGroup, SizeErrors, WidthBin
from adjudge.diagnosis.scores.sets import LabelledRows, SetRule, advise, answers_for, members_of
from adjudge.errors import ArgumentError
from adjudge.records import Interval
from adjudge.statistics.agreement import spearman
from adjudge.statistics.clusters import jackknife_interval, mean_interval, recode
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Plan:
    """A method: its rule, its calibration data, and which rows are calibrated together."""

    rule: str
    answers: FloatArray
    group: IntArray


@dataclass(frozen=True)
class ScoreRows:
    """The labelled rows of one judge. Documents are numbered over the entire file."""

    judge: str
    scale: tuple[int, int]
    key: NDArray[np.object_]
    model: NDArray[np.object_]
    document: IntArray
    criterion: NDArray[np.object_]
    score: FloatArray
    ratings: FloatArray
    target: Target
    error: FloatArray
    plans: dict[str, Plan]

    @property
    def by_criterion(self) -> dict[str, BoolArray]:
        """Which rows each criterion has, criteria in the order of the file."""
        names = dict.fromkeys(self.criterion.tolist())
        return {name: np.asarray(self.criterion == name, dtype=bool) for name in names}


def split_by_judge(
    frame: pl.DataFrame, *, scale: tuple[int, int], target: str, by: str | None, sets: str
) -> list[ScoreRows]:
    """One `ScoreRows` per judge in alphabetical order, with `sets` and the methods to compare."""
    documents, _ = cluster_codes(frame["doc_id"].to_list())
    ratings = ratings_table(frame)
    several = frame["criterion"].n_unique() > 1
    keyed = frame.with_columns(
        pl.concat_str("doc_id", pl.coalesce("model", "id"), separator="\x1f").alias("__key"),
        pl.col("judge").fill_null("unnamed"),
        pl.col("criterion").fill_null("unnamed"),
    ).with_row_index("__row")
    judges = []
    for (judge,), judge_rows in sorted(keyed.partition_by("judge", as_dict=True).items()):
        rows = judge_rows["__row"].to_numpy()
        score = judge_rows["judge_score"].to_numpy().astype(np.float64)
        table = ratings[rows]
        judges.append(
            ScoreRows(
                judge=str(judge),
                scale=scale,
                key=np.array(judge_rows["__key"].to_list(), dtype=object),
                model=np.array(judge_rows["model"].to_list(), dtype=object),
                document=documents[rows],
                criterion=np.array(judge_rows["criterion"].to_list(), dtype=object),
                score=score,
                ratings=table,
                target=human_target(table, target=target, scale=scale),
                error=judge_errors(score, table, target),
                plans=_plans(judge_rows, score, scale, by, several=several, sets=sets),
            )
        )
    return judges


def judge_errors(score: FloatArray, ratings: FloatArray, target: str) -> FloatArray:
    """|judge - human| of each row: of the raters' rounded mean, or the mean over raters."""
    people = ratings
    if target == "mean":
        people = round_half_up(np.nanmean(ratings, axis=1, keepdims=True))
    return np.asarray(np.nanmean(np.abs(people - score[:, None]), axis=1))


def _plans(
    judge_rows: pl.DataFrame,
    score: FloatArray,
    scale: tuple[int, int],
    by: str | None,
    *,
    several: bool,
    sets: str,
) -> dict[str, Plan]:
    criterion, _ = cluster_codes(judge_rows["criterion"].to_list())
    values = answers_for(score, "residual", scale)
    plans = {"constant": Plan("residual", values, np.zeros(len(values), dtype=np.int64))}
    if several:
        plans["per-criterion"] = Plan("residual", values, criterion)
    if by is not None:
        pairs: list[object] = list(
            zip(judge_rows["criterion"], as_text(judge_rows[by]), strict=True)
        )
        plans["per-group"] = Plan("residual", values, cluster_codes(pairs)[0])
    if "score_probs" in judge_rows.columns and judge_rows["score_probs"].null_count() == 0:
        size = int(judge_rows["score_probs"].list.len()[0])
        if size != scale[1] - scale[0] + 1:
            raise ArgumentError(
                "scale", scale, f"score_probs lists {size} scores: give their scale"
            )
        probs = answers_for(judge_rows["score_probs"].to_list(), "adaptive", scale)
        plans["adaptive"] = Plan("adaptive", probs, criterion)
    if sets not in ("residual", "adaptive"):
        plans[sets] = Plan(sets, score, criterion)
    return plans


@dataclass(frozen=True)
class Evaluation:
    """One method on one judge's rows: a group per criterion and level, and set sizes per level.

    `widths` are the sizes at the quantile of all documents: one number for many rows, which a
    row's own label cannot change by more than its document's weight. Two halves would have two
    quantiles, and the agreement of judges would depend on the half of a document.
    """

    rows: ScoreRows
    method: str
    groups: Sequence[ScoreSetGroup]
    widths: Mapping[Fraction, IntArray]


def evaluate_method(
    rows: ScoreRows,
    method: str,
    levels: Sequence[Fraction],
    halves: Sequence[BoolArray],
    *,
    weigh: str,
    confidence_level: float,
    random: np.random.Generator,
) -> Evaluation:
    """Calibrate on each half, test on the other, and compute set sizes for all documents."""
    among, entries, scale, plan = rows.by_criterion, rows.target, rows.scale, rows.plans[method]
    coverage, size, rank = np.full((3, len(among), len(levels), len(halves)), np.nan)
    units = rows.document if weigh == "documents" else np.arange(len(rows.document))
    labelled = LabelledRows(plan.answers, entries, units, levels, scale, random)

    def calibrate(half: BoolArray) -> dict[int, SetRule]:
        used, group = half[rows.document][entries.row], plan.group[entries.row]
        every = np.unique(plan.group).tolist()
        return labelled.calibrate(plan.rule, {name: used & (group == name) for name in every})

    for s, half in enumerate(halves):
        members = members_of(calibrate(half), plan.answers, plan.group, scale)
        for a, inside in enumerate(members):
            hit = inside[entries.row, entries.score - scale[0]] / entries.raters
            covered = np.bincount(entries.row, weights=hit, minlength=len(rows.document))
            width = inside.sum(axis=1)
            for c, in_criterion in enumerate(among.values()):
                tested = in_criterion & ~half[rows.document]
                if tested.any():
                    coverage[c, a, s] = document_mean(covered[tested], rows.document[tested])
                    size[c, a, s] = document_mean(width[tested], rows.document[tested])
                    value = spearman(width[tested], rows.error[tested])
                    rank[c, a, s] = np.nan if value is None else value
    rules = calibrate(np.ones(len(halves[0]), dtype=bool))
    final = members_of(rules, plan.answers, plan.group, scale).sum(axis=2, dtype=np.int64)
    groups = []
    for c, (criterion, in_criterion) in enumerate(among.items()):
        used = [rules[int(group)] for group in np.unique(plan.group[in_criterion])]
        documents = rows.document[in_criterion]
        for a, level in enumerate(levels):
            if np.isnan(coverage[c, a]).all():
                continue
            widths = final[a][in_criterion]
            advice = advise(widths, scale=scale)
            reached = {rule.quantiles[a] for rule in used}
            group = ScoreSetGroup(
                judge=rows.judge,
                criterion=criterion,
                method=method,
                alpha=float(level),
                n=len(documents),
                documents=len(np.unique(documents)),
                coverage=float(np.nanmean(coverage[c, a])),
                coverage_sd=float(np.nanstd(coverage[c, a])),
                mean_size=float(np.nanmean(size[c, a])),
                spearman=mean_or_none(rank[c, a][~np.isnan(rank[c, a])]),
                quantile=reached.pop() if len(reached) == 1 else None,
                whole_scale=all(rule.whole[a] for rule in used),
                distinct_widths=len(np.unique(widths)),
                **{word: float((advice == word).mean()) for word in ("trust", "look", "human")},
                by_width=error_by_width(
                    widths, rows.error[in_criterion], documents, scale, confidence_level
                ),
                errors=size_errors(widths, rows.error[in_criterion], documents, confidence_level),
            )
            groups.append(group)
    return Evaluation(rows, method, groups, dict(zip(levels, final, strict=True)))


def document_mean(values: NDArray[np.number], documents: IntArray) -> float:
    """Mean over documents of the mean over a document's rows."""
    codes, groups = recode(documents)
    totals = np.bincount(codes, weights=values, minlength=groups)
    return float((totals / np.bincount(codes, minlength=groups)).mean())


def error_by_width(
    widths: IntArray,
    error: FloatArray,
    documents: IntArray,
    scale: tuple[int, int],
    confidence_level: float,
) -> tuple[WidthBin, ...]:
    """The mean error of the rows at each width, with an interval over documents."""
    bins = []
    reach = (0.0, float(scale[1] - scale[0]))
    for width in np.unique(widths):
        among = widths == width
        ends = mean_interval(error[among], documents[among], confidence_level, bounds=reach)
        n, mean = int(among.sum()), float(error[among].mean())
        bins.append(WidthBin(width=int(width), n=n, mean_error=mean, interval=ends))
    return tuple(bins)


def size_errors(
    widths: IntArray, error: FloatArray, documents: IntArray, confidence_level: float
) -> SizeErrors:
    """The mean error of rows with one or two scores in their set, and of the others."""
    small = (widths == 1) | (widths == 2)
    codes, groups = recode(documents)
    sums = [
        np.bincount(codes, weights=values, minlength=groups)
        for values in (small, small * error, ~small, ~small * error)
    ]

    def gap(totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(totals[:, 3] / totals[:, 2] - totals[:, 1] / totals[:, 0])

    bounds = -float(error.max(initial=0.0)), float(error.max(initial=0.0))
    ends = jackknife_interval(gap, np.stack(sums, axis=1), confidence_level, bounds=bounds)
    sides = mean_or_none(error[small]), mean_or_none(error[~small])
    return SizeErrors(small=sides[0], large=sides[1], interval=ends)


def width_agreement(
    first: IntArray, second: IntArray, documents: IntArray, confidence_level: float
) -> tuple[float | None, Interval | None]:
    """Spearman of two judges' widths on the same rows, with an interval over documents.

    Widths have few distinct values, so the correlation is a function of a small table that adds up
    over documents, and leaving one out is a subtraction.
    """
    value = spearman(first, second)
    if value is None:
        return None, None
    codes, groups = recode(documents)
    size = int(max(first.max(), second.max())) + 1
    cell = (codes * size + first) * size + second
    tables = np.bincount(cell, minlength=groups * size * size).reshape(groups, size, size)
    interval = jackknife_interval(
        _table_spearman, tables.astype(np.float64), confidence_level, bounds=(-1.0, 1.0)
    )
    return value, interval


def _table_spearman(tables: FloatArray) -> FloatArray:
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = rows.sum(axis=1)
    a = np.cumsum(rows, axis=1) - rows / 2 - total[:, None] / 2
    b = np.cumsum(columns, axis=1) - columns / 2 - total[:, None] / 2
    both = np.einsum("bij,bi,bj->b", tables, a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(both / np.sqrt((rows * a**2).sum(axis=1) * (columns * b**2).sum(axis=1)))
