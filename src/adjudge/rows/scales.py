"""The scale of verdicts and labels: 0 and 1, probabilities, or classes."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.rows.outcomes import code_names
from adjudge.validation import FloatArray, IntArray

Scale = Literal["binary", "probability", "classes"]
MOST_CLASSES = 12


class Classes(NamedTuple):
    """Verdicts and labels as codes into `names`; -1: no label."""

    names: tuple[str, ...]
    verdicts: IntArray
    labels: IntArray


def scale_of(
    verdict: pl.Series, label: pl.Series, name: str, columns: tuple[str, str], rows: IntArray
) -> Scale:
    """The scale of the columns of text; `rows` are their rows in the file, for the error.

    Labels of 0 and 1 can also be shares of people between them; the method decides if it can use
    them.
    """
    numbers = [s.cast(pl.Float64, strict=False) for s in (verdict, label)]
    if any(n.null_count() > s.null_count() for n, s in zip(numbers, (verdict, label), strict=True)):
        return "classes"
    numbers = [n.fill_nan(None) for n in numbers]
    if all(n.is_between(0, 1).all() for n in numbers):
        return "binary" if numbers[0].is_in([0.0, 1.0]).all() else "probability"
    if all((n == n.round()).all() for n in numbers):
        return "classes"
    values = [n.to_numpy() for n in numbers]
    column, given, outside = next(
        (column, given, outside)
        for column, given in zip(columns, values, strict=True)
        if len(outside := np.flatnonzero((given < 0) | (given > 1)))
    )
    at = int(outside[0])
    raise DataError(
        name,
        f"{given[at]:g} is neither 0/1, a probability nor a class",
        row=int(rows[at]) + 1,
        column=column,
        remedy="give 0 and 1, numbers in [0, 1], or class names (scores: adjudge diagnose scores)",
    )


def as_numbers(values: pl.Series) -> FloatArray:
    """A column of text as numbers; NaN if empty."""
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()


def as_classes(verdict: pl.Series, label: pl.Series, name: str, column: str) -> Classes:
    """Both columns as codes of their sorted values."""
    _refuse_other_words(verdict, label, name, column)
    names, verdicts, labels = code_names(verdict, label)
    if len(names) > MOST_CLASSES:
        raise DataError(
            name,
            f"has {len(names)} different values",
            column=column,
            remedy=f"give at most {MOST_CLASSES} classes; is this the right column?",
        )
    return Classes(names, verdicts, labels)


def against_the_rest(
    verdict: pl.Series, label: pl.Series, positive: str, name: str, column: str
) -> tuple[pl.Series, pl.Series]:
    """Both as 1 for `positive` and 0 for all others; numbers in [0, 1] with word labels are kept.

    They are the probability of `positive`, as p_a is that of label A.
    """
    said, known = _words(verdict), _words(label)
    if positive not in said | known:
        raise ArgumentError("positive", positive, f"choose one of {_some(said | known)}")
    ones = [(s == positive).cast(pl.Int64).cast(pl.String).alias(s.name) for s in (verdict, label)]
    if positive in known and not said & known and _are_shares(verdict):
        return verdict, ones[1]
    _refuse_other_words(verdict, label, name, column)
    return ones[0], ones[1]


def _are_shares(values: pl.Series) -> bool:
    """Whether all are numbers in [0, 1]."""
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.null_count() == values.null_count() and bool(numbers.is_between(0, 1).all())


def _words(values: pl.Series) -> set[str]:
    return set(values.drop_nulls().unique().to_list())


def _refuse_other_words(verdict: pl.Series, label: pl.Series, name: str, column: str) -> None:
    """Refuse verdicts and labels without a common value, such as yes and no against 1 and 0."""
    said, known = _words(verdict), _words(label)
    if min(len(said), len(known)) > 1 and not said & known:
        remedy = "write verdicts and labels in the same words"
        if _are_shares(verdict):
            remedy += ", or name the label that a verdict of 1 means: --positive NAME (positive=)"
        raise DataError(
            name,
            f"the judge says {_some(said)}, people say {_some(known)}: no value in common",
            column=column,
            remedy=remedy,
        )


def _some(values: set[str]) -> str:
    listed = sorted(values)
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")
