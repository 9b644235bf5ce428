"""What the diagnoses of a judge share: measures with their intervals, tests for a bias, rows.

A diagnosis of one bias is a part of the report: `measures` are its numbers with intervals,
`describe` is one sentence. A function of arrays chooses its `Sample` of rows and computes it, and a
function of `BiasRows` calls that with the columns of the report.

`biased` is true if two conditions hold. The interval excludes the value of an unbiased judge; with
a 95 % interval, this happens to an unbiased judge at most once in twenty. And the estimate is
`floor` or more away from that value, because a significant difference of one point is too small to
matter. Intervals are clustered; None if there is only one cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypedDict, TypeVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.rows import has_values, merge_dropped
from adjudge.data.verdicts import CLUSTER, Verdicts
from adjudge.present import text
from adjudge.present.blocks import Block, Fact, Facts, Table, table_of
from adjudge.present.result import Count, Level, NotNegative
from adjudge.present.text import left_out
from adjudge.records import HasInterval, Interval
from adjudge.statistics.clusters import codes_of, count_clusters, mean_interval, share_interval
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    non_negative,
    open_unit,
    optional_numbers,
    refuse,
)

_Group = TypeVar("_Group")
#: A smaller difference than this is not called a bias, however significant: three points are
#: about 20 Elo between equal models.
FLOOR = 0.03
_FEW_DIFFERENT = 15
#: The most judges, criteria or groups that get a line each; the tables have all.
MOST_LINES = 4
#: What every clustered interval assumes.
CLUSTERED = "intervals are clustered: rows of one cluster can be alike, clusters are independent"
#: The end of a sentence about a number without an interval.
NO_INTERVAL = "; no interval: all rows are in one cluster"


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """The ends of an interval, None without one."""
    return (None, None) if interval is None else (interval.low, interval.high)


@dataclass(frozen=True)
class Measure(HasInterval):
    """One number of a diagnosis with its interval, and the value of an unbiased judge.

    `departs`: the interval excludes the unbiased value, and the distance from it is at least the
    floor; False without an interval or such a value.
    """

    name: str
    value: float | None
    interval: Interval | None
    unbiased: float | None
    n: Count
    departs: bool


def excludes(interval: Interval | None, value: float) -> bool:
    """Whether there is an interval and it excludes the value."""
    return interval is not None and value not in interval


def shows(value: float | None, interval: Interval | None, unbiased: float, floor: float) -> bool:
    """Whether there is a bias: significant, and not too small to matter."""
    return value is not None and abs(value - unbiased) >= floor and excludes(interval, unbiased)


@dataclass(frozen=True, kw_only=True)
class BiasMeasures:
    """Base of the diagnoses of one judge: each is a few measures on `n` rows."""

    n: Count
    dropped: Mapping[str, Count]
    confidence_level: Level

    def measures(self) -> tuple[Measure, ...]:
        """Every number with its interval, the most important first."""
        raise NotImplementedError

    def measure(
        self,
        name: str,
        value: float | None,
        interval: Interval | None,
        unbiased: float | None = None,
        floor: float = 0.0,
        n: int | None = None,
    ) -> Measure:
        """A measure that departs by the rule of `shows`, of all rows if `n` is None."""
        departs = unbiased is not None and shows(value, interval, unbiased, floor)
        return Measure(name, value, interval, unbiased, self.n if n is None else n, departs)

    def describe(self) -> str:
        """One sentence about the judge, without its subject; a bias is claimed if it is shown."""
        raise NotImplementedError

    def __str__(self) -> str:
        words = self.describe()
        return words[0].upper() + words[1:]


@dataclass(frozen=True, kw_only=True)
class BiasTest(BiasMeasures, HasInterval):
    """Base of the diagnoses that can show a bias: `biased` if the interval shows it.

    `floor` is the smallest distance of the estimate from an unbiased judge.
    """

    #: What a headline calls the test.
    title: ClassVar[str]
    interval: Interval | None
    biased: bool
    floor: NotNegative = 0.0

    @property
    def remedy(self) -> str:
        """What helps against the bias."""
        return "correct before you report"

    @property
    def negligible(self) -> bool:
        """A significant difference that is too small to be called a bias."""
        main = self.measures()[0]
        value = main.value or 0.0
        unbiased = main.unbiased or 0.0
        return excludes(main.interval, unbiased) and abs(value - unbiased) < self.floor

    def describe_negligible(self) -> str:
        return f"more than chance, but below the {100 * self.floor:g} points that are called a bias"

    def finding(self, biased: str, otherwise: str) -> str:
        """What the test shows: a bias, a difference too small to be called one, or neither."""
        if self.negligible:
            return self.describe_negligible()
        return biased if self.biased else otherwise


def name_group(group: Any) -> str:
    """The judge and criterion of a part of a result, for tables and sentences."""
    return text.group_name(group.judge, group.criterion)


def table_of_groups(
    groups: Sequence[_Group],
    columns: Mapping[str, Callable[[_Group], str]],
    caption: str,
    *,
    optional: Sequence[str] = (),
) -> Table:
    """A folded table with a row for each judge and criterion."""
    named = {"judge, criterion": name_group, **columns}
    return table_of(groups, named, caption=caption, optional=optional, detail=True)


def lines_of(facts: Sequence[Fact], most: int = MOST_LINES) -> list[Block]:
    """A line for each fact; none if there are too many, because a table has them all."""
    return [Facts(facts)] if 0 < len(facts) <= most else []


def left_out_together(dropped: Mapping[str, int]) -> list[str]:
    """What was left out by reason, in one line.

    >>> left_out_together({"no label": 3, "human tie": 1})
    ['left out 3 rows: no label; 1 row: human tie']
    """
    parts = [line.removeprefix("left out ") for line in left_out(dropped)]
    return [f"left out {'; '.join(parts)}"] if parts else []


# --- rows ------------------------------------------------------------------------------------


class Sampling(TypedDict, total=False):
    """What every diagnosis takes: the cluster of each row (default: every row is one), the floor
    of a bias, the level of all intervals."""

    clusters: ArrayLike | Sequence[Any] | pl.Series | None
    floor: float
    confidence_level: float


@dataclass(frozen=True)
class Sample:
    """The rows that a diagnosis uses, the cluster of each of them, and why others are left out."""

    used: BoolArray
    codes: IntArray
    dropped: Mapping[str, int]
    floor: float
    confidence_level: float

    @classmethod
    def of(
        cls, n: int, without: Mapping[str, BoolArray] | None = None, **sampling: Unpack[Sampling]
    ) -> Sample:
        """All rows but those with a reason against them; a row counts for its first reason."""
        level = open_unit(sampling.get("confidence_level", 0.95), "confidence_level")
        floor = non_negative(sampling.get("floor", FLOOR), "floor")
        used = np.ones(n, dtype=bool)
        dropped = {}
        for reason, rows in (without or {}).items():
            dropped[reason] = int((used & rows).sum())
            used &= ~rows
        codes = codes_of(sampling.get("clusters"), n)
        return cls(used, codes[used], merge_dropped(dropped), floor, level)

    def only(self, rows: BoolArray, otherwise: str | None = None) -> Sample:
        """Some of the rows that are used; the others are counted if there is a reason."""
        used = self.used.copy()
        used[used] = rows
        dropped = {} if otherwise is None else {otherwise: int((~rows).sum())}
        return replace(
            self, used=used, codes=self.codes[rows], dropped=merge_dropped(self.dropped, dropped)
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of a result about its rows."""
        return {
            "n": len(self.codes),
            "clusters": count_clusters(self.codes),
            "dropped": self.dropped,
            "confidence_level": self.confidence_level,
        }

    def test(
        self, value: float | None, interval: Interval | None, unbiased: float
    ) -> dict[str, Any]:
        """The fields of a `BiasTest`, those about its rows included."""
        biased = shows(value, interval, unbiased, self.floor)
        return {**self.facts, "interval": interval, "biased": biased, "floor": self.floor}

    def share_interval(self, values: FloatArray) -> Interval | None:
        """The interval of a share, from a value in [0, 1] of each row."""
        return share_interval(values, self.codes, self.confidence_level)

    def mean_interval(
        self, values: FloatArray, low: float = -1.0, high: float = 1.0
    ) -> Interval | None:
        """The interval of a mean that is between `low` and `high`.

        Where fewer than 15 clusters differ from the rest, two more that do, one each way, are in
        the error: a t interval alone covers rare differences in one direction too rarely (0.85).
        """
        pseudo = 0.0
        if len(values):
            levels, counts = np.unique(values, return_counts=True)
            differs = values != levels[counts.argmax()]
            if len(np.unique(self.codes[differs])) < _FEW_DIFFERENT:
                pseudo = float(np.abs(values - values.mean()).max())
        bounds = (low, high)
        return mean_interval(
            values, self.codes, self.confidence_level, bounds=bounds, pseudo=pseudo
        )


#: Score differences, response_a minus response_b, with response_a shown first and second.
BOTH_SCORES = ("score_diff_ab", "score_diff_ba")


@dataclass(frozen=True, kw_only=True)
class BiasRows:
    """Rows of one judge, or of all if `judge` is None, and how to diagnose them.

    `verdicts` has all judges' rows, `repeats` every answer to the same rows, `with_pairs` whether a
    file of pairs was joined. A diagnosis of the rows is a result, or the reason why there is none.
    """

    verdicts: Verdicts
    judge: str | None = None
    with_pairs: bool = False
    near_tie: float | None
    families: Mapping[str, str] | None
    by: str | None
    floor: float
    confidence_level: float
    seed: Seed

    @cached_property
    def frame(self) -> pl.DataFrame:
        return self._of_judge(self.verdicts.frame)

    @cached_property
    def repeats(self) -> pl.DataFrame:
        return self._of_judge(self.verdicts.repeats.frame)

    def _of_judge(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.judge is None or (of_judge := rows["judge"] == self.judge).all():
            return rows
        return rows.filter(of_judge)

    def has(self, *columns: str) -> bool:
        """Whether each column has a value in some row."""
        return has_values(self.frame, *columns)

    def numbers(self, column: str) -> FloatArray:
        """A column as numbers, NaN if one is missing."""
        return numbers_of(self.frame, column)

    def sampling(self, frame: pl.DataFrame | None = None) -> Sampling:
        """What a diagnosis of these rows takes, or of some of them."""
        clusters = (self.frame if frame is None else frame)[CLUSTER].to_numpy()
        level = self.confidence_level
        return {"clusters": clusters, "floor": self.floor, "confidence_level": level}


def numbers_of(frame: pl.DataFrame, column: str) -> FloatArray:
    """A column as numbers, NaN if one is missing."""
    return frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def wins_of(frame: pl.DataFrame) -> FloatArray:
    """The judge's verdict for response_a as 1, 0 and one half; NaN without an answer."""
    p_a = numbers_of(frame, "p_a")
    return np.where(np.isnan(p_a), np.nan, picks(p_a))


def picks(p: FloatArray) -> FloatArray:
    """1, 0 or, at exactly one half, 1/2."""
    return ((p > 0.5).astype(np.int8) + ~(p < 0.5)) / 2


def optional_probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Probabilities in [0, 1], NaN or None if missing."""
    numbers = optional_numbers(values, name)
    refuse((numbers < 0) | (numbers > 1), numbers, name, "give probabilities in [0, 1]")
    return numbers


def mean_or_none(values: FloatArray) -> float | None:
    """The mean; None without a value."""
    return float(values.mean()) if len(values) else None
