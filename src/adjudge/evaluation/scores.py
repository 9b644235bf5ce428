"""One judge's scores against people's: their means, distances and order, and a second rater.

All of them are about rows that people scored; if several did, about their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjudge.diagnosis.agreement import agreement
from adjudge.evaluation.shares import clusters_of
from adjudge.present.result import Correlation, Count, NotNegative
from adjudge.records import HasInterval, Interval
from adjudge.statistics.agreement import spearman, spearman_interval
from adjudge.statistics.clusters import codes_of, mean_interval
from adjudge.validation import FloatArray, IntArray

#: An item with fewer answers has no order.
FEWEST_ANSWERS = 3
#: The interval of one correlation over all rows leaves out one row at a time.
_MOST_ROWS = 2_000


@dataclass(frozen=True, kw_only=True)
class PeopleScores(HasInterval):
    """Two people on rows that several scored: the distance of their scores, and its interval.

    `with_judge` is the mean distance of the judge from one of them on these rows; `gap` is how much
    larger that is.
    """

    n: Count
    error: NotNegative
    interval: Interval | None
    with_judge: NotNegative
    gap_interval: Interval | None
    kappa: float | None


@dataclass(frozen=True, kw_only=True)
class ScoreAgreement(HasInterval):
    """The scores of one judge, for one criterion, on `n` rows of `n_rows` that people scored.

    `difference` is the judge's mean minus people's, and `interval` its interval. `error` is the
    mean absolute error, `gain` how much smaller it is than that of the best constant score. The
    rank `correlation` is the mean over `items` with three answers or more, or over all rows if
    there are none. `kappa` has quadratic weights; with several raters it is against one of them.
    """

    judge: str | None
    n: Count
    n_rows: Count
    clusters: Count
    judge_mean: float
    people_mean: float
    difference: float
    interval: Interval | None
    error: NotNegative
    error_interval: Interval | None
    constant: float
    gain: float
    gain_interval: Interval | None
    correlation: Correlation | None
    correlation_interval: Interval | None
    items: Count
    kappa: float | None
    kappa_interval: Interval | None
    people: PeopleScores | None


def measure_scores(
    judge: FloatArray,
    ratings: FloatArray,
    *,
    name: str | None = None,
    clusters: IntArray | None = None,
    n_rows: int | None = None,
    confidence_level: float = 0.95,
) -> ScoreAgreement:
    """A judge's scores against people's.

    Args:
        judge: The judge's score of each row that people scored.
        ratings: Their scores (rows, raters), NaN if a row has fewer raters.
        name: The judge's name.
        clusters: Codes of rows that belong together, such as those of one document.
        n_rows: Rows that the judge scored, with and without people's scores.
        confidence_level: Level of all intervals.

    >>> done = measure_scores(np.array([4.0, 3, 5, 2]), np.array([[4.0], [2], [5], [1]]))
    >>> done.difference, done.error, done.constant, done.gain
    (0.5, 0.5, 3.0, 1.0)
    """
    n = len(judge)
    codes = codes_of(clusters, n)
    people = np.nanmean(ratings, axis=1)
    scale = np.concatenate([judge, ratings[np.isfinite(ratings)]])
    most = float(np.ptp(scale))
    distance = np.abs(judge - people)
    constant = float(np.median(people))
    gain = np.abs(people - constant) - distance

    def ends(values: FloatArray, low: float) -> Interval | None:
        return mean_interval(values, codes, confidence_level, bounds=(low, most))

    single = ratings.shape[1] == 1
    both = agreement(
        judge.tolist(),
        ratings[:, 0].tolist() if single else ratings.tolist(),
        level="interval",
        clusters=clusters,
        confidence_level=confidence_level,
    )
    rank, rank_ends, items = _rank_correlation(judge, people, clusters, confidence_level)
    return ScoreAgreement(
        judge=name,
        n=n,
        n_rows=n_rows or n,
        clusters=clusters_of(clusters, n),
        judge_mean=float(judge.mean()),
        people_mean=float(people.mean()),
        difference=float((judge - people).mean()),
        interval=ends(judge - people, -most),
        error=float(distance.mean()),
        error_interval=ends(distance, 0.0),
        constant=constant,
        gain=float(gain.mean()),
        gain_interval=ends(gain, -most),
        correlation=rank,
        correlation_interval=rank_ends,
        items=items,
        kappa=both.kappa,
        kappa_interval=both.kappa_interval,
        people=_second_rater(
            judge,
            ratings,
            codes,
            None if both.ceiling is None else both.ceiling.kappa,
            confidence_level,
            most,
        ),
    )


def _rank_correlation(
    judge: FloatArray, people: FloatArray, clusters: IntArray | None, level: float
) -> tuple[float | None, Interval | None, int]:
    """Spearman's correlation within items, its interval, and the number of items."""
    within = []
    if clusters is not None:
        order = np.argsort(clusters, kind="stable")
        borders = np.flatnonzero(np.diff(clusters[order])) + 1
        for rows in np.split(order, borders):
            value = spearman(judge[rows], people[rows]) if len(rows) >= FEWEST_ANSWERS else None
            if value is not None:
                within.append(value)
    if within:
        values = np.array(within)
        codes = np.arange(len(values))
        return (
            float(values.mean()),
            mean_interval(values, codes, level, bounds=(-1.0, 1.0)),
            len(values),
        )
    whole = spearman(judge, people)
    if whole is None or len(judge) > _MOST_ROWS or level != 0.95:
        return whole, None, 0
    low, high = spearman_interval(judge, people, codes_of(clusters, len(judge)))
    return whole, None if low is None else Interval(low, high, level=level), 0


def _second_rater(
    judge: FloatArray,
    ratings: FloatArray,
    codes: IntArray,
    kappa: float | None,
    level: float,
    most: float,
) -> PeopleScores | None:
    """The distance of two people, and of one of them from the judge, on rows of several raters."""
    several = (~np.isnan(ratings)).sum(axis=1) > 1
    if not several.any():
        return None
    rows = ratings[several]
    raters = (~np.isnan(rows)).sum(axis=1)
    apart = np.zeros(len(rows))
    for first in range(rows.shape[1]):
        for second in range(first):
            apart += np.nan_to_num(np.abs(rows[:, first] - rows[:, second]))
    between = apart / (raters * (raters - 1) / 2)
    from_judge = np.nanmean(np.abs(judge[several][:, None] - rows), axis=1)
    here = codes[several]
    ends = mean_interval(between, here, level, bounds=(0.0, most))
    gap_ends = mean_interval(from_judge - between, here, level, bounds=(-most, most))
    return PeopleScores(
        n=len(rows),
        error=float(between.mean()),
        interval=ends,
        with_judge=float(from_judge.mean()),
        gap_interval=gap_ends,
        kappa=kappa,
    )
