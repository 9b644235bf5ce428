"""Agreement of a judge with people: raw, Cohen's kappa, Krippendorff's alpha, human ceiling.

All of them are functions of a table of (judge, human) pairs that adds up over rows, so that leaving
out one prompt at a time is only a subtraction. For numbers on an interval scale, six sums are
enough, for any number of distinct values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.diagnosis._intervals import (
    Interval,
    codes_of,
    jackknife_interval,
    mean_interval,
    recode,
    share_interval,
    sum_tables,
)
from adjudge.errors import ArgumentError
from adjudge.results.bias import Agreement, Ceiling
from adjudge.rows.agreement import kappa_of_tables
from adjudge.validation import FloatArray, IntArray, one_of, open_unit, same_length

Statistic = Callable[[FloatArray], FloatArray]
#: From two values per pair, its weight, its cluster and the number of clusters: sums per cluster.
AddUp = Callable[[IntArray, IntArray, FloatArray, IntArray, int], FloatArray]
#: All of these but the number of clusters.
Cells = tuple[IntArray, IntArray, FloatArray, IntArray]
LEVELS = ("nominal", "ordinal", "interval")
_MOST_VALUES = 200


def agreement(
    judge: ArrayLike | Sequence[Any] | pl.Series,
    human: ArrayLike | Sequence[Any] | pl.Series,
    *,
    level: str = "nominal",
    clusters: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> Agreement:
    """How often the judge agrees with a person, and how much that exceeds chance.

    With several raters, the judge is compared with one of them drawn at random, each with weight
    1/r. kappa = (p_o - p_e)/(1 - p_e), with quadratic weights unless `level` is "nominal"; alpha is
    Krippendorff's, 1 - D_o/D_e, with the distance of the level. If two people labelled the same
    rows, `ceiling` is their agreement with each other: a judge cannot be expected to exceed it.

    Args:
        judge: The judge's value for each row; None without an answer.
        human: The human value for each row, or a table (rows, raters); None without a label.
        level: nominal (names), ordinal (ranks) or interval (numbers).
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        confidence_level: Level of all intervals.

    >>> both = agreement(["A", "A", "B", "B"], ["A", "A", "B", "A"])
    >>> both.raw, both.kappa
    (0.75, 0.5)

    kappa and alpha are None if only one value occurs on both sides: chance agreement is then
    certain, and agreement cannot exceed it.
    """
    one_of(level, LEVELS, "level")
    open_unit(confidence_level, "confidence_level")
    values, mine, theirs = _code_values(judge, human, level)
    same_length(judge=mine, human=theirs)
    codes = codes_of(clusters, len(mine))
    answered, labelled = mine >= 0, np.asarray((theirs >= 0).any(axis=1))
    kept = answered & labelled
    if not kept.any():
        raise ArgumentError("human", "no label on any judged row", "label some of the rows")
    mine, theirs = mine[kept], theirs[kept]
    own, groups = recode(codes[kept])
    add_up, kappa_of, alpha_of = _statistics(values, level)
    single = theirs.shape[1] == 1
    row, rater = (np.arange(len(theirs)), 0) if single else np.nonzero(theirs >= 0)
    said_by = theirs[row, rater]
    weight = 1 / (theirs >= 0).sum(axis=1)[row]
    agree = np.bincount(row, weights=weight * (mine[row] == said_by))
    # Thirds do not sum to exactly one; agreement with all raters is agreement.
    raw_rows = np.clip(agree.astype(np.float64), 0.0, 1.0).round(12)
    cells, clusters = (mine[row], said_by, weight, own[row]), None
    if single and groups == len(mine):
        cells, clusters = _count_kinds(mine, said_by, len(values))
    counted = groups if clusters is None else len(clusters)
    pairs = add_up(*cells, counted)
    both_ways = pairs + add_up(cells[1], cells[0], *cells[2:], counted)
    raw = float(raw_rows.mean())
    raw_range = share_interval(raw_rows, own, confidence_level)
    judge_counts = np.bincount(mine, minlength=len(values))
    chance = float(((judge_counts / len(mine)) ** 2).sum())
    kappa, kappa_range = _estimate(
        kappa_of, pairs, clusters, raw, raw_range, chance, confidence_level
    )
    alpha, alpha_range = _estimate(
        alpha_of, both_ways, clusters, raw, raw_range, chance, confidence_level
    )
    ceiling = _ceiling(theirs, raw_rows, own, (add_up, kappa_of, alpha_of), confidence_level)
    human_counts = np.bincount(said_by, weights=weight, minlength=len(values))
    return Agreement(
        level=level,
        n=len(mine),
        clusters=groups,
        raw=raw,
        raw_low=raw_range[0],
        raw_high=raw_range[1],
        kappa=kappa,
        kappa_low=kappa_range[0],
        kappa_high=kappa_range[1],
        alpha=alpha,
        alpha_low=alpha_range[0],
        alpha_high=alpha_range[1],
        ceiling=ceiling,
        judge_values={_text(value): int(n) for value, n in zip(values, judge_counts, strict=True)},
        human_values={
            _text(value): round(float(n), 6) for value, n in zip(values, human_counts, strict=True)
        },
        dropped=merge_dropped(
            {
                "no judge answer": int((~answered).sum()),
                "no human label": int((answered & ~labelled).sum()),
            }
        ),
        confidence_level=confidence_level,
    )


def _code_values(judge: Any, human: Any, level: str) -> tuple[list[Any], IntArray, IntArray]:
    """The values, and both sides as their positions: of people one column per rater."""
    if all(isinstance(side, pl.Series) and side.dtype == pl.String for side in (judge, human)):
        values = _values({*judge.unique(), *human.unique()} - {None}, level)
        mine, theirs = (
            side.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            for side in (judge, human)
        )
        return values, mine, theirs[:, None]
    said, ratings, raters = _columns(judge, human)
    values = _values({*said, *ratings} - {None}, level)
    place = {None: -1, **{value: at for at, value in enumerate(values)}}
    mine = np.fromiter((place[value] for value in said), dtype=np.int64, count=len(said))
    flat = np.fromiter((place[value] for value in ratings), dtype=np.int64, count=len(ratings))
    return values, mine, flat.reshape(-1, raters)


def _columns(judge: Any, human: Any) -> tuple[list[Any], list[Any], int]:
    """The judge's answers, the raters' labels row by row, and the number of raters of a row."""
    several = (list, tuple, np.ndarray)
    widths = {len(row) if isinstance(row, several) else 1 for row in human}
    if len(widths) > 1 or 0 in widths:
        raise ArgumentError("human", sorted(widths), "give every row the same number of raters")
    cells = (cell for row in human for cell in (row if isinstance(row, several) else (row,)))
    said = [None if value is None or value != value else value for value in judge]
    ratings = [None if cell is None or cell != cell else cell for cell in cells]
    return said, ratings, widths.pop() if widths else 1


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(values: set[Any], level: str) -> list[Any]:
    numeric = all(isinstance(v, (int, float, np.number)) for v in values)
    if level != "nominal" and not numeric:
        raise ArgumentError("level", level, "give numbers, or level='nominal' for names")
    if level != "interval" and len(values) > _MOST_VALUES:
        raise ArgumentError(
            "judge", f"{len(values)} different values", "round them, or use level='interval'"
        )
    return sorted(values) if numeric else sorted(values, key=str)


def _statistics(values: Sequence[Any], level: str) -> tuple[AddUp, Statistic, Statistic]:
    """How pairs of values are summed per cluster, and kappa and alpha of these sums."""
    size = len(values)
    if level == "interval":
        # Only differences matter; centred on their mean, equal values cancel exactly.
        points = np.array(values, dtype=np.float64)
        return (
            partial(_moments, points=points - points.mean()),
            _kappa_of_moments,
            _alpha_of_moments,
        )
    places = np.arange(size, dtype=np.float64) if level == "ordinal" else None
    return (
        partial(_tables, size=size),
        partial(kappa_of_tables, points=places),
        partial(_alpha_of_tables, level=level),
    )


def _tables(
    one: IntArray, other: IntArray, weight: FloatArray, codes: IntArray, groups: int, *, size: int
) -> FloatArray:
    cell = (codes * size + one) * size + other
    table = np.bincount(cell, weights=weight, minlength=groups * size * size)
    return table.reshape(groups, size, size).astype(np.float64, copy=False)


def _moments(
    one: IntArray,
    other: IntArray,
    weight: FloatArray,
    codes: IntArray,
    groups: int,
    *,
    points: FloatArray,
) -> FloatArray:
    """Per cluster: how many pairs, sums of x, y, x^2, y^2 and (x - y)^2."""
    x, y = points[one], points[other]
    sums = (np.ones_like(x), x, y, x * x, y * y, (x - y) ** 2)
    return np.stack(
        [np.bincount(codes, weights=weight * term, minlength=groups) for term in sums], axis=1
    )


def _kappa_of_moments(moments: FloatArray) -> FloatArray:
    """Cohen's kappa with quadratic weights: 1 - mean (x - y)^2 / its value under independence."""
    total, x, y, xx, yy, apart = moments.T
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (xx + yy - 2 * x * y / total) / total
        return np.asarray(1 - apart / total / np.where(expected > 1e-12, expected, np.nan))


def _alpha_of_moments(moments: FloatArray) -> FloatArray:
    """Krippendorff's alpha from pairs counted in both directions."""
    total, x, _, xx, _, apart = moments.T
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = 2 * (xx - x * x / total) / (total - 1)
        return np.asarray(1 - apart / total / np.where(expected > 1e-12, expected, np.nan))


def _alpha_of_tables(tables: FloatArray, *, level: str) -> FloatArray:
    """Krippendorff's alpha from symmetric coincidence tables, one value counted per rating."""
    size = tables.shape[1]
    margin = tables.sum(axis=2)
    total = margin.sum(axis=1)
    if level == "nominal":
        distance = np.broadcast_to(1 - np.eye(size), tables.shape)
    else:
        at = np.cumsum(margin, axis=1) - margin / 2
        distance = (at[:, :, None] - at[:, None, :]) ** 2
    observed = (tables * distance).sum(axis=(1, 2)) / total
    chance = margin[:, :, None] * margin[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (chance * distance).sum(axis=(1, 2)) / (total * (total - 1))
        return np.asarray(1 - observed / np.where(expected > 1e-12, expected, np.nan))


def _count_kinds(mine: IntArray, said_by: IntArray, size: int) -> tuple[Cells, IntArray]:
    """The different pairs of values, each as a cluster, and how many rows have each.

    Clusters of one row and one rater are equal if both values are.
    """
    every = mine * size + said_by
    if size > _MOST_VALUES:
        kind, rows = np.unique_counts(every)
    else:
        rows = np.bincount(every)
        kind = np.flatnonzero(rows)
        rows = rows[kind]
    return (kind // size, kind % size, np.ones(len(kind)), np.arange(len(kind))), rows


def _estimate(
    statistic: Statistic,
    tables: FloatArray,
    clusters: IntArray | None,
    raw: float,
    raw_range: Interval,
    chance: float,
    confidence_level: float,
) -> tuple[float | None, Interval]:
    """`chance` is how often two raters who always agree would do so by chance."""
    whole = float(statistic(sum_tables(tables, clusters)[None])[0])
    if not np.isfinite(whole):
        return None, (None, None)
    low, high = jackknife_interval(
        statistic, tables, confidence_level, bounds=(-1.0, 1.0), clusters=clusters
    )
    if raw == 1.0 and raw_range[0] is not None:
        # Perfect agreement leaves nothing to resample: as many rows as the raw interval allows
        # can disagree, at the observed chance level.
        low = max(-1.0, 1 - (1 - raw_range[0]) / (1 - chance))
    return whole, (low, high)


def _ceiling(
    theirs: IntArray,
    raw_rows: FloatArray,
    codes: IntArray,
    statistics: tuple[AddUp, Statistic, Statistic],
    confidence_level: float,
) -> Ceiling | None:
    several = (theirs >= 0).sum(axis=1) >= 2
    if not several.any():
        return None
    add_up, kappa_of, alpha_of = statistics
    theirs, own = theirs[several], codes[several]
    raters = (theirs >= 0).sum(axis=1)
    row, one, other = _rater_pairs(theirs)
    weight = 1 / (raters * (raters - 1))[row]
    agreeing = np.bincount(row, weights=weight * (one == other), minlength=len(theirs))
    agree = np.clip(agreeing.astype(np.float64), 0.0, 1.0).round(12)
    low, high = share_interval(agree, own, confidence_level)
    gap = agree - raw_rows[several]
    gap_range = mean_interval(gap, own, confidence_level, bounds=(-1.0, 1.0))
    together = np.zeros(len(row), dtype=np.int64)
    kappa = float(kappa_of(add_up(one, other, weight, together, 1))[0])
    alpha = float(alpha_of(add_up(one, other, weight * raters[row], together, 1))[0])
    return Ceiling(
        n=int(several.sum()),
        raw=float(agree.mean()),
        low=low,
        high=high,
        kappa=kappa if np.isfinite(kappa) else None,
        alpha=alpha if np.isfinite(alpha) else None,
        gap=float(gap.mean()),
        gap_low=gap_range[0],
        gap_high=gap_range[1],
    )


def _rater_pairs(theirs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Every ordered pair of two raters of one row: the row, and both labels."""
    parts = []
    for first, second in permutations(range(theirs.shape[1]), 2):
        rows = np.flatnonzero((theirs[:, first] >= 0) & (theirs[:, second] >= 0))
        parts.append((rows, theirs[rows, first], theirs[rows, second]))
    row, one, other = (np.concatenate(column) for column in zip(*parts, strict=True))
    return row, one, other
