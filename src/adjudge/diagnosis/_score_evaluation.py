"""Coverage and size of score sets over random halves of the documents."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.diagnosis._intervals import mean_interval, recode
from adjudge.diagnosis._score_rows import ScoreRows
from adjudge.diagnosis._widths import spearman
from adjudge.diagnosis.score_sets import advise, quantiles
from adjudge.diagnosis.targets import Target
from adjudge.results.diagnosis import ScoreSetGroup, WidthBin

#: The size of every row's set, by level.
Widths = dict[Fraction, IntArray]


def random_half(documents: int, random: np.random.Generator) -> BoolArray:
    """Which documents calibrate: a random half, the smaller one when the number is odd."""
    chosen = np.zeros(documents, dtype=bool)
    chosen[random.permutation(documents)[: documents // 2]] = True
    return chosen


def evaluate_method(
    rows: ScoreRows,
    method: str,
    levels: Sequence[Fraction],
    halves: Sequence[BoolArray],
    *,
    scale: tuple[int, int],
    weigh: str,
    confidence_level: float,
) -> tuple[list[ScoreSetGroup], Widths]:
    """One group per criterion and level, and the size of every row's set at each level.

    The sizes are those at the quantile of all documents: one number for many rows, which a row's
    own label cannot move by more than its document's weight. Two halves would have two quantiles,
    and judges would seem to agree on nothing but the half a document fell into.
    """
    criteria = rows.criteria
    among = [rows.criterion == criterion for criterion in criteria]
    shape = (len(criteria), len(levels), len(halves))
    coverage, size, rank = (np.full(shape, np.nan) for _ in range(3))
    entries = rows.target
    for s, half in enumerate(halves):
        limits = _limits(rows, method, half, levels, scale=scale, weigh=weigh)
        test = ~half[rows.document]
        for a, limit in enumerate(limits):
            members = rows.plans[method].values <= limit[:, None]
            hit = members[entries.row, entries.score - scale[0]] / entries.raters
            covered = np.bincount(entries.row, weights=hit, minlength=len(test))
            width = members.sum(axis=1)
            for c, own in enumerate(among):
                kept = test & own
                if kept.any():
                    coverage[c, a, s] = document_mean(covered[kept], rows.document[kept])
                    size[c, a, s] = document_mean(width[kept], rows.document[kept])
                    found = spearman(width[kept], rows.error[kept])
                    rank[c, a, s] = np.nan if found is None else found
    everything = np.ones(len(halves[0]), dtype=bool)
    final = _limits(rows, method, everything, levels, scale=scale, weigh=weigh)
    values = rows.plans[method].values
    sizes: Widths = {
        level: np.asarray((values <= limit[:, None]).sum(axis=1), dtype=np.int64)
        for level, limit in zip(levels, final, strict=True)
    }
    groups = []
    for c, own in enumerate(among):
        for a, level in enumerate(levels):
            if np.isnan(coverage[c, a]).all():
                continue
            widths = sizes[level][own]
            advice = advise(widths, scale=scale)
            reached = np.unique(final[a][own])
            ranks = rank[c, a][~np.isnan(rank[c, a])]
            groups.append(
                ScoreSetGroup(
                    judge=rows.judge,
                    criterion=criteria[c],
                    method=method,
                    alpha=float(level),
                    n=int(own.sum()),
                    documents=len(np.unique(rows.document[own])),
                    coverage=float(np.nanmean(coverage[c, a])),
                    coverage_sd=float(np.nanstd(coverage[c, a])),
                    mean_size=float(np.nanmean(size[c, a])),
                    spearman=float(ranks.mean()) if len(ranks) else None,
                    quantile=float(reached[0])
                    if len(reached) == 1 and np.isfinite(reached[0])
                    else None,
                    whole_scale=bool(np.isinf(reached).all()),
                    distinct_widths=len(np.unique(widths)),
                    trust=float((advice == "trust").mean()),
                    look=float((advice == "look").mean()),
                    human=float((advice == "human").mean()),
                    by_width=_by_width(
                        widths, rows.error[own], rows.document[own], scale, confidence_level
                    ),
                )
            )
    return groups, sizes


def _limits(
    rows: ScoreRows,
    method: str,
    calibrates: BoolArray,
    levels: Sequence[Fraction],
    *,
    scale: tuple[int, int],
    weigh: str,
) -> FloatArray:
    """The quantile each row is held to, (levels, rows); infinite where documents are too few."""
    plan, entries = rows.plans[method], rows.target
    used = calibrates[rows.document][entries.row]
    limits = np.full((len(levels), len(plan.group)), np.inf)
    for group in np.unique(plan.group):
        kept = used & (plan.group[entries.row] == group)
        chosen = Target(
            entries.row[kept], entries.score[kept], entries.raters[kept], entries.labelled
        )
        found = quantiles(plan.values, chosen, rows.document, levels, weigh=weigh, scale=scale)
        for a, quantile in enumerate(found):
            if quantile is not None:
                limits[a, plan.group == group] = quantile
    return limits


def document_mean(values: NDArray[np.number], documents: IntArray) -> float:
    """Mean over documents of the mean over a document's rows."""
    codes, groups = recode(documents)
    totals = np.bincount(codes, weights=values, minlength=groups)
    return float((totals / np.bincount(codes, minlength=groups)).mean())


def _by_width(
    widths: IntArray,
    error: FloatArray,
    documents: IntArray,
    scale: tuple[int, int],
    confidence_level: float,
) -> tuple[WidthBin, ...]:
    found = []
    reach = (0.0, float(scale[1] - scale[0]))
    for width in np.unique(widths):
        kept = widths == width
        codes, groups = recode(documents[kept])
        low, high = mean_interval(error[kept], codes, groups, confidence_level, bounds=reach)
        found.append(
            WidthBin(
                width=int(width),
                n=int(kept.sum()),
                mean_error=float(error[kept].mean()),
                low=low,
                high=high,
            )
        )
    return tuple(found)
