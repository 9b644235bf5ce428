"""Where the judge is wrong: errors in each value of each column, with the multiplicity of looking.

A slice is a column and a value. Its share of errors is compared with that of all other rows by
Fisher's exact test; with clusters, or where labels were drawn by verdict, by a score test. Holm's
rule bounds by 5 % the chance that any slice is named although none differs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtr

from adjudge.data.names import OURS, USUAL, bare_name
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.present.result import Count, Level, Proportion
from adjudge.statistics.clusters import recode
from adjudge.statistics.differences import holm
from adjudge.statistics.numbers import fisher_exact
from adjudge.validation import BoolArray, FloatArray, IntArray

#: A slice with fewer labelled rows, or with fewer rows outside of it, is not tested.
FEWEST_ROWS = 5
#: A column with more values is text, or names rows.
MOST_VALUES = 20
#: Columns that mean something to us, and whose values are kinds of rows.
_KINDS_OF_ROWS = (
    *("model", "model_a", "model_b"),
    *("language", "category", "metric", "task", "source"),
)
#: What a judge or people say, under the usual names: no kinds of rows either.
_SAID = [
    name
    for key, names in USUAL.items()
    if key.endswith((":judge", ":human", "label", "winner", "verdict"))
    for name in names.split()
]
_OURS = {bare_name(name) for name in (*OURS, *_SAID)} - {*map(bare_name, _KINDS_OF_ROWS)}
#: What a call took and when: columns that a judge's file brings, and that are no kinds of rows.
_OF_CALLS = re.compile(
    r"(tokens?|latency|duration|elapsed|runtime|usd|timestamp)(s|ms|sec|seconds|in|out)?$"
    r"|^tokens|^latency|(^|total|input|output|prompt|completion|judge|call|api)(cost|price)s?$"
)
#: The level of the family of all slices.
LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class SliceErrors:
    """The errors among rows with one value of a column, and in all other rows.

    `adjusted` is the p-value of the family of all slices; None if the slice was not tested.
    """

    column: str
    value: str
    n: Count
    errors: Count
    share: Proportion
    share_of_rest: Proportion | None
    p_value: Proportion | None
    adjusted: Proportion | None
    level: Level = LEVEL

    @property
    def shown(self) -> bool:
        """Whether its errors differ from those of other rows by more than chance gives."""
        return self.adjusted is not None and self.adjusted <= self.level

    @property
    def worse(self) -> bool:
        """Whether it has a larger share of errors than all other rows."""
        return self.share > (self.share_of_rest or 0.0)

    @property
    def name(self) -> str:
        """The column and its value."""
        return f"{self.column} = {self.value}"


def slice_columns(
    frame: pl.DataFrame, named: Sequence[str] | None, without: Collection[str] = ()
) -> list[str]:
    """The columns whose values are slices: those named, else every one with 2 to 20 values.

    What a call took (tokens, cost, time) is a slice only if it is named.

    >>> rows = {"id": ["x", "y"], "topic": ["a", "b"], "note": ["same", "same"]}
    >>> slice_columns(pl.DataFrame(rows), None)
    ['topic']
    """
    theirs = [c for c in frame.columns if not c.startswith("__") and bare_name(c) not in _OURS]
    if named is not None:
        names = [named] if isinstance(named, str) else named
        for column in names:
            if column not in frame.columns:
                columns = ", ".join(theirs) or "there is no other column than those read"
                raise ArgumentError("slices", column, f"choose columns: {columns}")
        return list(dict.fromkeys(names))
    chosen: dict[str, pl.Series] = {}
    # A column that was read under our name can be there under its own, too.
    for column in sorted(theirs, key=lambda name: name not in _KINDS_OF_ROWS):
        values = frame[column]
        if column in without or values.dtype.is_nested() or values.dtype.is_float():
            continue
        if _OF_CALLS.search(bare_name(column)):
            continue
        words = as_text(values)
        few = 2 <= words.drop_nulls().n_unique() <= min(MOST_VALUES, frame.height // 2 + 1)
        if few and not any(words.equals(other) for other in chosen.values()):
            chosen[column] = words
    return list(chosen)


class _Tested(NamedTuple):
    slice: SliceErrors
    #: Two values that all rows of a column have are one test, which counts once.
    counts: bool


def find_slices(
    frame: pl.DataFrame,
    columns: Sequence[str],
    errors: BoolArray,
    *,
    clusters: IntArray | None = None,
    strata: IntArray | None = None,
    weights: FloatArray | None = None,
) -> tuple[SliceErrors, ...]:
    """The errors of every slice of labelled rows, the largest differences first.

    `clusters` are codes of rows that belong together. `strata` are codes of groups with their own
    share of labelled rows, whose `weights` make shares be about all rows.

    >>> rows = pl.DataFrame({"topic": ["a"] * 20 + ["b"] * 20})
    >>> done = find_slices(rows, ["topic"], np.repeat([True, False], [10, 30]))
    >>> done[0].name, done[0].errors, done[0].shown
    ('topic = a', 10, True)
    """
    tests = list(_test_slices(frame, columns, errors, clusters, strata, weights))
    counted = [test.slice.p_value for test in tests if test.counts]
    adjusted = iter(holm(np.array(counted, dtype=np.float64)).tolist())
    of_test = None
    slices = []
    for test in tests:
        if test.counts:
            of_test = next(adjusted)
        value = None if test.slice.p_value is None else of_test
        slices.append(replace(test.slice, adjusted=value))

    def distance(each: SliceErrors) -> tuple[bool, float]:
        rest = each.share if each.share_of_rest is None else each.share_of_rest
        return not (each.shown and each.worse), rest - each.share

    return tuple(sorted(slices, key=distance))


def _test_slices(
    frame: pl.DataFrame,
    columns: Sequence[str],
    errors: BoolArray,
    clusters: IntArray | None,
    strata: IntArray | None,
    weights: FloatArray | None,
) -> Iterator[_Tested]:
    weight = np.ones(len(errors)) if weights is None else weights
    wrong = errors.astype(np.float64)
    for column in columns:
        values = as_text(frame[column])
        distinct = values.drop_nulls().unique().sort().to_list()
        halves = len(distinct) == 2 and not values.null_count()
        for at, value in enumerate(distinct):
            inside = (values == value).fill_null(False).to_numpy()
            n = int(inside.sum())
            tested = min(n, len(inside) - n) >= FEWEST_ROWS
            p_value = None
            if tested and clusters is None and strata is None:
                outside = ~inside
                of_slice = int(errors[inside].sum()), n
                p_value = fisher_exact(*of_slice, int(errors[outside].sum()), int(outside.sum()))
            elif tested:
                p_value = score_test(wrong, inside, clusters, strata)
            rest = weight[~inside]
            share = float(np.average(wrong[inside], weights=weight[inside]))
            share_of_rest = float(rest @ wrong[~inside] / rest.sum()) if len(rest) else None
            entry = SliceErrors(
                column=column,
                value=value,
                n=n,
                errors=int(errors[inside].sum()),
                share=share,
                share_of_rest=share_of_rest,
                p_value=p_value,
                adjusted=None,
            )
            yield _Tested(entry, p_value is not None and not (halves and at == 1))


def score_test(
    wrong: FloatArray, inside: BoolArray, clusters: IntArray | None, strata: IntArray | None
) -> float:
    """The two-sided p-value of no difference, if errors of one cluster are alike.

    T = sum over rows of e s, both minus their means (within strata). Its variance is
    sum s_i^2 v + sum s_i s_j c over pairs of one cluster, v the variance of an error in its
    stratum, c >= 0 the covariance of two errors of one cluster, both pooled over slices. Student's
    t with (sum w^2)^2 / sum w^4 - 1 degrees of freedom, w a cluster's sum of |s|.

    >>> wrong = np.tile([1.0, 0.0, 0.0, 0.0], 10)
    >>> score_test(wrong, np.repeat([True, False], 20), np.arange(40), None)
    1.0
    """
    layer = np.zeros(len(wrong), dtype=np.int64) if strata is None else strata
    sizes = np.maximum(np.bincount(layer), 1)
    e = wrong - (np.bincount(layer, weights=wrong) / sizes)[layer]
    s = inside - (np.bincount(layer, weights=inside) / sizes)[layer]
    codes, groups = recode(np.arange(len(wrong)) if clusters is None else clusters)
    variance = (np.bincount(layer, weights=e**2) / sizes)[layer]
    together = np.bincount(codes, minlength=groups)
    pairs = float(together @ (together - 1))
    covariance = 0.0
    if pairs:
        sums = np.bincount(codes, weights=e, minlength=groups)
        covariance = max(0.0, (float(sums @ sums) - float(e @ e)) / pairs)
    of_slice = np.bincount(codes, weights=s, minlength=groups)
    shared = float(of_slice @ of_slice) - float(s @ s)
    spread = math.sqrt(max(0.0, float(s**2 @ variance) + shared * covariance))
    squares = np.bincount(codes, weights=np.abs(s), minlength=groups) ** 2
    total = abs(float(e @ s))
    if spread < 1e-12 or total < 1e-9:
        return 1.0
    freedom = float(squares.sum()) ** 2 / float(squares @ squares) - 1
    return float(2 * stdtr(freedom, -total / spread)) if freedom > 0 else 1.0
