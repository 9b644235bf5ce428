"""Agreement of a judge with people: raw, Cohen's kappa, Krippendorff's alpha, human ceiling.

All of them are functions of a table of (judge, human) pairs that adds up over rows, so that leaving
out one prompt at a time is only a subtraction. For numbers on an interval scale, six sums are
enough, for any number of distinct values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import merge_dropped
from adjudge.data.steps.labels import LABELS_OF
from adjudge.data.verdicts import CLUSTER
from adjudge.diagnosis.measures import BiasMeasures, BiasRows, Measure, Sample, ends_of
from adjudge.errors import ArgumentError
from adjudge.present.result import Count, Proportion
from adjudge.present.text import count, percent, show_interval
from adjudge.records import HasInterval, Interval
from adjudge.statistics.agreement import kappa_of_tables
from adjudge.statistics.by_verdict import Statistic, Tables, draw_tables, inflation
from adjudge.statistics.clusters import count_clusters, jackknife_interval, recode, sum_tables
from adjudge.validation import FloatArray, IntArray, one_of, same_length

#: From this many rows on, agreement on every row deserves a check.
MANY_ROWS = 20
LEVELS = ("nominal", "ordinal", "interval")
_MOST_VALUES = 200
#: With more values than this, intervals are those of leaving out one cluster at a time.
_MOST_DRAWN = 20
_DRAWS = 4_000


@dataclass(frozen=True, kw_only=True)
class Ceiling(HasInterval):
    """How well people agree with each other on rows that several of them labelled.

    `gap` is how much more often one person agrees with another than with the judge, on these rows.
    """

    n: Count
    raw: Proportion
    interval: Interval | None
    kappa: float | None
    alpha: float | None
    gap: float
    gap_interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Agreement(BiasMeasures):
    """The judge against a random human rater: raw, Cohen's kappa, Krippendorff's alpha."""

    level: str
    clusters: Count
    raw: Proportion
    raw_interval: Interval | None
    kappa: float | None
    kappa_interval: Interval | None
    alpha: float | None
    alpha_interval: Interval | None
    ceiling: Ceiling | None
    judge_values: Mapping[str, Count]

    def measures(self) -> tuple[Measure, ...]:
        of_judge = (
            self.measure("agrees with people", self.raw, self.raw_interval),
            self.measure("kappa", self.kappa, self.kappa_interval),
            self.measure("Krippendorff's alpha", self.alpha, self.alpha_interval),
        )
        if (people := self.ceiling) is None:
            return of_judge
        of_people = self.measure("two people agree", people.raw, people.interval, n=people.n)
        return *of_judge, of_people

    def describe(self) -> str:
        words = f"agrees with people on {percent(self.raw)} of {count(self.n, 'row')}"
        values = [value for value, n in self.judge_values.items() if n]
        if len(values) == 1:
            words += f"; it says {values[0]} every time: this does not show that it can tell"
            return words + " answers apart"
        if self.raw == 1 and self.n >= MANY_ROWS:
            words += ": the same answer on every row; check that the judge did not see the labels, "
            return words + "or that the labels were not made by it"
        if self.kappa is not None:
            words += f", kappa {self.kappa:.2f}"
        low, high = ends_of(self.kappa_interval)
        if low is not None and high is not None:
            words += f" {show_interval(self.kappa_interval, 2)}"
            if high < 0:
                words += ": less than chance would give"
            elif low <= 0:
                words += ": not shown to be more than chance"
        if (people := self.ceiling) is not None:
            words += f"; two people agree on {percent(people.raw)} of {count(people.n, 'row')}"
            low, high = ends_of(people.gap_interval)
            if (low or 0) > 0:
                words += ", more often than a person agrees with the judge there"
            elif (high or 0) < 0:
                words += ", less often than a person agrees with the judge there"
        return words


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
    values, answers, ratings = _code_values(judge, human, level)
    same_length(judge=answers, human=ratings)
    unlabelled = np.asarray((ratings < 0).all(axis=1))
    without = {"no judge answer": answers < 0, "no human label": unlabelled}
    rows = Sample.of(len(answers), without, clusters=clusters, confidence_level=confidence_level)
    if not rows.used.any():
        raise ArgumentError("human", "no label on any judged row", "label some of the rows")
    answers = answers[rows.used]
    ratings = ratings[rows.used]
    codes, groups = recode(rows.codes)
    places = np.arange(len(values), dtype=np.float64)
    if level == "interval":
        places = np.array(values, dtype=np.float64)
        places -= places.mean()
    table = _Tables(len(values), level, places)
    statistics = _Moments(places) if level == "interval" else table
    single = ratings.shape[1] == 1
    drawn = None
    if single and len(values) <= _MOST_DRAWN:
        drawn = _Drawn.of(answers, ratings[:, 0], rows, len(values))
    row, rater = (np.arange(len(ratings)), 0) if single else np.nonzero(ratings >= 0)
    labels = ratings[row, rater]
    weight = 1 / (ratings >= 0).sum(axis=1)[row]
    raw_rows = _row_shares(row, weight * (answers[row] == labels), len(ratings))
    cells = (answers[row], labels, weight, codes[row])
    kinds = None
    if single and groups == len(answers):
        # Clusters of one row and one rater are equal if both values are: each kind is counted.
        kind, kinds = np.unique_counts(answers * len(values) + labels)
        of_kind = np.divmod(kind, len(values))
        cells = (*of_kind, np.ones(len(kind)), np.arange(len(kind)))
    tables = groups if kinds is None else len(kinds)
    pairs = statistics.add_up(*cells, tables)
    both_ways = pairs + statistics.add_up(cells[1], cells[0], *cells[2:], tables)
    raw = float(raw_rows.mean())
    raw_ends = rows.share_interval(raw_rows)
    judge_counts = np.bincount(answers, minlength=len(values))
    # How often two raters who always agree would do so by chance.
    chance = float(((judge_counts / len(answers)) ** 2).sum())

    def estimate(
        statistic: Callable[[FloatArray], FloatArray], sums: FloatArray, of_pairs: Statistic
    ) -> tuple[float | None, Interval | None]:
        whole = float(statistic(sum_tables(sums, kinds)[None])[0])
        if not np.isfinite(whole):
            return None, None
        if drawn is not None:
            ends = drawn.interval(of_pairs)
        else:
            ends = jackknife_interval(
                statistic, sums, confidence_level, bounds=(-1.0, 1.0), clusters=kinds
            )
        least, _ = ends_of(raw_ends)
        if raw == 1.0 and least is not None:
            # Perfect agreement leaves nothing to resample: as many rows as the raw interval allows
            # can disagree, at the observed chance level.
            low = max(-1.0, 1 - (1 - least) / (1 - chance))
            high = ends_of(ends)[1]
            ends = Interval(low, high, level=confidence_level)
        return whole, ends

    def alpha_of_shares(shares: FloatArray) -> FloatArray:
        return table.alpha((shares + np.swapaxes(shares, 1, 2)) * len(answers))

    kappa, kappa_ends = estimate(statistics.kappa, pairs, table.kappa)
    alpha, alpha_ends = estimate(statistics.alpha, both_ways, alpha_of_shares)
    names = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return Agreement(
        **rows.facts,
        level=level,
        raw=raw,
        raw_interval=raw_ends,
        kappa=kappa,
        kappa_interval=kappa_ends,
        alpha=alpha,
        alpha_interval=alpha_ends,
        ceiling=_human_ceiling(ratings, raw_rows, rows, statistics),
        judge_values=dict(zip(names, judge_counts.tolist(), strict=True)),
    )


def measure_agreement(rows: BiasRows) -> Agreement | str:
    """Agreement of one judge's verdicts with the labels, or why there is none."""
    if not rows.has("label", "verdict"):
        return "no labelled verdict: add label, or give --labels"
    tied, human = _human_labels(rows.frame)
    frame = rows.frame.filter(~tied)
    # People's ties are left out, so a judge's tie is not an answer either.
    verdicts = frame["verdict"].replace("tie", None)
    several = human.dtype == pl.List
    labelled = human.list.drop_nulls().list.len() > 0 if several else human.is_not_null()
    if not (verdicts.is_not_null() & labelled).any():
        return "no row has both a verdict and a label that is not a tie"
    result = agreement(
        verdicts,
        human.to_list() if several else human,
        clusters=frame[CLUSTER].to_numpy(),
        confidence_level=rows.confidence_level,
    )
    return replace(result, dropped=merge_dropped({"human tie": int(tied.sum())}, result.dropped))


def _human_labels(frame: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Which rows people call a tie, and the labels of the others: one, or one per rater."""
    if LABELS_OF not in frame.columns:
        is_tie = (frame["label"] == "tie").fill_null(False)
        return is_tie, frame["label"].filter(~is_tie)
    labels = frame[LABELS_OF].fill_null([])
    others = labels.list.eval(pl.element().replace("tie", None))
    tied = labels.list.contains("tie") & (others.list.drop_nulls().list.len() == 0)
    raters = list(range(max(labels.list.len())))
    return tied, others.filter(~tied).list.gather(raters, null_on_oob=True)


# --- values ----------------------------------------------------------------------------------


def _code_values(judge: Any, human: Any, level: str) -> tuple[list[Any], IntArray, IntArray]:
    """The values, and both sides as their positions: of people one column per rater."""
    if all(isinstance(side, pl.Series) and side.dtype == pl.String for side in (judge, human)):
        values = _sorted_values({*judge.unique(), *human.unique()} - {None}, level)
        return values, _enum_codes(judge, values), _enum_codes(human, values)[:, None]
    several = (list, tuple, np.ndarray)
    widths = {len(row) if isinstance(row, several) else 1 for row in human}
    if len(widths) > 1 or 0 in widths:
        raise ArgumentError("human", sorted(widths), "give every row the same number of raters")
    answers = _without_nan(judge)
    ratings = _without_nan(
        cell for row in human for cell in (row if isinstance(row, several) else (row,))
    )
    values = _sorted_values({*answers, *ratings} - {None}, level)
    place = {None: -1, **{value: at for at, value in enumerate(values)}}

    def codes(side: list[Any]) -> IntArray:
        return np.fromiter((place[value] for value in side), dtype=np.int64, count=len(side))

    return values, codes(answers), codes(ratings).reshape(-1, widths.pop() if widths else 1)


def _enum_codes(side: pl.Series, values: list[Any]) -> IntArray:
    codes = side.cast(pl.Enum(values)).to_physical().cast(pl.Int64)
    return codes.fill_null(-1).to_numpy()


def _without_nan(values: Iterable[Any]) -> list[Any]:
    return [None if value is None or value != value else value for value in values]


def _sorted_values(values: set[Any], level: str) -> list[Any]:
    numeric = all(isinstance(v, (int, float, np.number)) for v in values)
    if level != "nominal" and not numeric:
        raise ArgumentError("level", level, "give numbers, or level='nominal' for names")
    if level != "interval" and len(values) > _MOST_VALUES:
        raise ArgumentError(
            "judge", f"{len(values)} different values", "round them, or use level='interval'"
        )
    return sorted(values) if numeric else sorted(values, key=str)


@dataclass(frozen=True)
class _Drawn:
    """Intervals by draws of the table of the judge's and one rater's values (`draw_tables`).

    Of few rows, or where nearly all have one value, leaving out one row at a time covers .57 to .91
    (`test_kappa_of_few_rows_covers`).
    """

    tables: Tables
    answers: IntArray
    labels: IntArray
    rows: Sample
    size: int

    @classmethod
    def of(cls, answers: IntArray, labels: IntArray, rows: Sample, size: int) -> _Drawn:
        counts = np.bincount(answers * size + labels, minlength=size * size).reshape(size, size)
        tables = draw_tables(counts.sum(axis=1), counts, draws=_DRAWS)
        return cls(tables, answers, labels, rows, size)

    def interval(self, statistic: Statistic) -> Interval | None:
        """Of a number of each table of shares; wider for clusters, None if there is only one."""
        size = self.size
        level = self.rows.confidence_level

        def of_stack(shares: FloatArray) -> FloatArray:
            return statistic(shares.reshape(-1, size, size)).reshape(shares.shape[:-2])

        wider: float | None = 1.0
        codes = self.rows.codes
        if count_clusters(codes) < len(codes):
            wider = inflation(
                of_stack, self.answers, self.labels, codes, classes=size, confidence_level=level
            )
        if wider is None:
            return None
        return self.tables.measure(of_stack, level, wider=wider, bounds=(-1.0, 1.0)).interval


def _row_shares(row: IntArray, agreeing: FloatArray, rows: int) -> FloatArray:
    """The share of raters (or pairs of raters) of each row that agree, from their weights."""
    shares = np.bincount(row, weights=agreeing, minlength=rows)
    # Thirds do not sum to exactly one; agreement with all raters is agreement.
    return np.clip(shares.astype(np.float64), 0.0, 1.0).round(12)


# --- kappa and alpha -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tables:
    """A table of pairs of values per cluster, and kappa and alpha from it."""

    size: int
    level: str
    #: The values as numbers on the scale of the level.
    places: FloatArray

    def add_up(
        self, first: IntArray, second: IntArray, weight: FloatArray, codes: IntArray, groups: int
    ) -> FloatArray:
        size = self.size
        cell = (codes * size + first) * size + second
        table = np.bincount(cell, weights=weight, minlength=groups * size * size)
        return table.reshape(groups, size, size).astype(np.float64, copy=False)

    def kappa(self, tables: FloatArray) -> FloatArray:
        return kappa_of_tables(tables, points=None if self.level == "nominal" else self.places)

    def alpha(self, tables: FloatArray) -> FloatArray:
        """From symmetric coincidence tables, one value counted per rating."""
        margin = tables.sum(axis=2)
        total = margin.sum(axis=1)
        if self.level == "nominal":
            distance = np.broadcast_to(1 - np.eye(self.size), tables.shape)
        elif self.level == "interval":
            distance = np.broadcast_to((self.places[:, None] - self.places) ** 2, tables.shape)
        else:
            at = np.cumsum(margin, axis=1) - margin / 2
            distance = (at[:, :, None] - at[:, None, :]) ** 2
        observed = (tables * distance).sum(axis=(1, 2)) / total
        chance = margin[:, :, None] * margin[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = (chance * distance).sum(axis=(1, 2)) / (total * (total - 1))
            return _beyond_chance(observed, expected)


@dataclass(frozen=True)
class _Moments:
    """Per cluster: how many pairs of numbers, sums of x, y, x^2, y^2 and (x - y)^2.

    `points` are the numbers, centred on their mean: only differences matter, and equal values
    cancel exactly.
    """

    points: FloatArray

    def add_up(
        self, first: IntArray, second: IntArray, weight: FloatArray, codes: IntArray, groups: int
    ) -> FloatArray:
        x = self.points[first]
        y = self.points[second]
        sums = (np.ones_like(x), x, y, x * x, y * y, (x - y) ** 2)
        return np.stack(
            [np.bincount(codes, weights=weight * term, minlength=groups) for term in sums], axis=1
        )

    def kappa(self, moments: FloatArray) -> FloatArray:
        """With quadratic weights: 1 - mean (x - y)^2 / its value under independence."""
        total, x, y, xx, yy, apart = moments.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return _beyond_chance(apart / total, (xx + yy - 2 * x * y / total) / total)

    def alpha(self, moments: FloatArray) -> FloatArray:
        """From pairs counted in both directions."""
        total, x, _, xx, _, apart = moments.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return _beyond_chance(apart / total, 2 * (xx - x * x / total) / (total - 1))


def _beyond_chance(observed: FloatArray, expected: FloatArray) -> FloatArray:
    return np.asarray(1 - observed / np.where(expected > 1e-12, expected, np.nan))


def _human_ceiling(
    ratings: IntArray, raw_rows: FloatArray, rows: Sample, statistics: _Tables | _Moments
) -> Ceiling | None:
    several = (ratings >= 0).sum(axis=1) >= 2
    if not several.any():
        return None
    ratings = ratings[several]
    rows = rows.only(several)
    raters = (ratings >= 0).sum(axis=1)
    pairs = []
    for rater, another in permutations(ratings.T, 2):
        both = np.flatnonzero((rater >= 0) & (another >= 0))
        pairs.append([both, rater[both], another[both]])
    row, first, second = np.concatenate(pairs, axis=1)
    weight = 1 / (raters * (raters - 1))[row]
    agree = _row_shares(row, weight * (first == second), len(ratings))
    gap = agree - raw_rows[several]
    together = np.zeros(len(row), dtype=np.int64)
    kappa = float(statistics.kappa(statistics.add_up(first, second, weight, together, 1))[0])
    weight = weight * raters[row]
    alpha = float(statistics.alpha(statistics.add_up(first, second, weight, together, 1))[0])
    return Ceiling(
        n=len(ratings),
        raw=float(agree.mean()),
        interval=rows.share_interval(agree),
        kappa=kappa if np.isfinite(kappa) else None,
        alpha=alpha if np.isfinite(alpha) else None,
        gap=float(gap.mean()),
        gap_interval=rows.mean_interval(gap),
    )
