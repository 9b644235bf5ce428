"""The requirements of a column, and the checks of all its values together."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import polars as pl

from adjudge.errors import DataError
from adjudge.io.conversations import NotTextError, from_text, is_conversation, render_conversation
from adjudge.io.refusals import refuse_values
from adjudge.io.tables import as_text
from adjudge.io.words import (
    Vocabulary,
    drop_gaps,
    drop_missing,
    point_decimals,
    read_words,
    refuse_words,
)

_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The requirements of a column. `filled`: it must not be empty in any row."""

    name: str
    type: Literal["text", "number", "whole", "numbers"] = "text"
    required: bool = False
    filled: bool = False
    choices: tuple[str, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    #: The words that people use for the choices.
    words: Vocabulary | None = None
    #: A list of chat messages is written as a conversation.
    spoken: bool = False

    @property
    def can_say_nothing(self) -> bool:
        """Whether N/A and the like are missing values: not in a judged text, nor in an id."""
        return not self.spoken and self.name != "id"

    @property
    def choice_remedy(self) -> str:
        """As in "use A, B or tie"."""
        *others, last = self.choices or ("",)
        return "use " + (", ".join(others) + " or " if others else "") + last

    @property
    def range_remedy(self) -> str:
        """As in "give numbers in [0, 1]"."""
        if math.isfinite(self.high):
            return f"give numbers in [{self.low:g}, {self.high:g}]"
        return f"give numbers of {self.low:g} or more"


def check_column(values: pl.Series, column: Column, source: str) -> pl.Series:
    """The values, checked for type and range; `check_words` checks words."""
    if column.type == "text":
        values = _check_text(values, column, source)
    elif column.type == "numbers":
        values = _check_lists(values, column, source)
    else:
        values = _check_numbers(values, column, source)
    refuse = partial(refuse_values, values, source=source)
    if column.filled and values.null_count():
        refuse(values.is_null(), "is empty", remedy="fill it in every row")
    if column.choices is not None and column.words is None and _any_unknown(values, column):
        values = drop_missing(values)
        unknown = ~values.is_in(list(column.choices)).fill_null(True)
        refuse(unknown, "{} is not known", remedy=column.choice_remedy)
    return values


def _any_unknown(values: pl.Series, column: Column) -> bool:
    """Whether a value is not among the choices."""
    # Most columns have only the first two choices: this is faster than a lookup per value.
    left = len(values) - values.null_count()
    for choice in column.choices or ():
        if left == 0:
            break
        left -= int((values == choice).sum())
    return left > 0


def check_words(
    values: pl.Series,
    column: Column,
    source: str,
    labels_as: Mapping[str, str],
    models: tuple[pl.Series, pl.Series] | None,
) -> pl.Series:
    """The words of a column as its choices."""
    if column.words is None or not (labels_as or _any_unknown(values, column)):
        return values
    values = read_words(values, column.words, labels_as, models)
    choices = column.choices or ()
    refuse_words(values, column.words, choices, source=source, remedy=column.choice_remedy)
    return values


def _check_text(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested():
        written = [
            None if value is None else write_nested(value, row, column, source)
            for row, value in enumerate(values.to_list(), start=1)
        ]
        return pl.Series(values.name, written, dtype=pl.String)
    if values.dtype.is_float():
        wrong = values.is_infinite().fill_null(False)
        remedy = "leave it empty if it is missing"
        refuse_values(values, wrong, "{} is not text", source=source, remedy=remedy)
    texts = as_text(values)
    if column.can_say_nothing and column.choices is None and values.dtype == pl.String:
        texts = drop_missing(texts)
    if column.spoken and texts.str.starts_with("[{").any():
        return texts.map_elements(from_text, return_dtype=pl.String)
    return texts


def write_nested(value: Any, row: int, column: Column, source: str) -> str:
    """A list of chat messages as a conversation, in the columns that can hold one."""
    problem, remedy = "contains a list or an object", "write it as text"
    if column.spoken:
        remedy += ', or as messages: [{"role": "user", "content": "..."}]'
        if is_conversation(value):
            try:
                return render_conversation(value)
            except NotTextError as error:
                problem, remedy = str(error), "give text: a judge can only be shown text"
    raise DataError(source, problem, row=row, column=column.name, remedy=remedy)


def _check_numbers(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal():
        raise DataError(source, "has no numbers", row=1, column=column.name, remedy="give numbers")
    if values.dtype == pl.String:
        trimmed = drop_gaps(values)
        numbers = point_decimals(trimmed).cast(pl.Float64, strict=False)
        wrong = trimmed.is_not_null() & numbers.is_null()
        refuse_values(values, wrong, "{} is not a number", source=source, remedy="give numbers")
    else:
        numbers = values.cast(pl.Float64)
        numbers = numbers.fill_nan(None) if numbers.is_nan().any() else numbers
    refuse = partial(refuse_values, numbers, source=source)
    # Within the largest floats there is neither infinity nor NaN: most columns need this pass only.
    if not numbers.is_between(max(column.low, -_LARGEST), min(column.high, _LARGEST)).all():
        wrong = ~numbers.is_finite()
        refuse(wrong, "{} is not a finite number", remedy="leave it empty if nothing was measured")
        outside = ~numbers.is_between(column.low, column.high)
        refuse(outside, "{} is out of range", remedy=column.range_remedy)
    if column.type == "whole":
        # Above 2^53 a float is not exact, and such a number is not a count.
        broken = ((numbers != numbers.round()) | (numbers.abs() > 2.0**53)).fill_null(False)
        refuse(broken, "{} is not a whole number", remedy="give whole numbers")
        return numbers.cast(pl.Int64)
    return numbers


def _check_lists(values: pl.Series, column: Column, source: str) -> pl.Series:
    """A list of numbers per row; in CSV it is text such as [0.1, 0.9]."""
    if values.dtype == pl.String:
        values = _decode_lists(values, source)
    if values.dtype == pl.Null:
        return values.cast(pl.List(pl.Float64))
    if not isinstance(values.dtype, (pl.List, pl.Array)):
        raise DataError(source, "has no lists", row=1, column=column.name, remedy="give lists")
    try:
        lists = values.cast(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        problem = "has lists with values other than numbers"
        raise DataError(source, problem, column=column.name) from None
    flat = lists.explode()
    fine = (flat.is_finite() & flat.is_between(column.low, column.high)).fill_null(True)
    if flat.is_null().sum() > lists.is_null().sum() or not fine.all():
        refuse = partial(refuse_values, lists, source=source)
        inner = pl.element()
        inside = inner.is_between(column.low, column.high)
        good = inner.is_not_null() & inner.is_finite() & inside
        bad = ~lists.list.eval(good).list.all().fill_null(True)
        refuse(bad, "{} contains a bad value", remedy=column.range_remedy)
        empty = (lists.list.len() == 0).fill_null(False)
        refuse(empty, "{} is an empty list", remedy="leave it empty instead")
    return lists


def _decode_lists(values: pl.Series, source: str) -> pl.Series:
    try:
        return values.str.json_decode(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        bad = pl.Series([_is_no_list(value) for value in values])
        problem = "{} is not a list of numbers"
        refuse_values(values, bad, problem, source=source, remedy="write [0.1, 0.9]")
        raise DataError(source, "has no lists of numbers", column=values.name) from None


def _is_no_list(value: str | None) -> bool:
    if value is None:
        return False
    try:
        items: Any = json.loads(value)
    except (ValueError, RecursionError):
        return True
    return not isinstance(items, list) or any(
        isinstance(item, bool) or not isinstance(item, (int, float)) for item in items
    )
