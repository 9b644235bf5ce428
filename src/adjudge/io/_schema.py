"""Columns, declared once and checked in bulk; the first row that offends is named.

Every check is a polars expression over the whole column: a million rows pass in a fraction of a
second, and only a failing check looks for its row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from adjudge.errors import DataError
from adjudge.io._formats import is_other, looks_like, other_format, refuse_other
from adjudge.io.tables import TableLike, read_table, source_name

Kind = Literal["text", "number", "whole", "numbers", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What one column must hold. `filled`: no row may leave it empty."""

    name: str
    kind: Kind = "text"
    required: bool = False
    filled: bool = False
    choices: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    #: Names under which other people publish the same thing; taken only where ours is absent.
    also: tuple[str, ...] = ()


def load(
    source: TableLike,
    layout: Sequence[Column],
    *,
    columns: Mapping[str, str] | None,
    expected: str,
) -> tuple[pl.DataFrame, str]:
    """The table with our column names; `columns` maps our name to the file's.

    A public data set is refused, with its name, unless the caller says which column is which.
    """
    name = source_name(source)
    wanted = dict(columns or {})
    keep_text = {column.name for column in layout if column.kind == "text"}
    keep_text |= {alias for column in layout if column.kind == "text" for alias in column.also}
    keep_text |= {wanted[ours] for ours in wanted if ours in keep_text}
    frame = read_table(source, text=keep_text)
    if not wanted:
        refuse_other(frame.columns, expected, name)
    for column in layout:
        if column.name in frame.columns or column.name in wanted:
            continue
        alias = next((other for other in column.also if other in frame.columns), None)
        if alias is not None:
            wanted[column.name] = alias
    return renamed(frame, wanted, name), name


def renamed(frame: pl.DataFrame, wanted: Mapping[str, str], name: str) -> pl.DataFrame:
    """The frame with the file's columns under our names; what stood there moves to `*_given`."""
    for ours, theirs in wanted.items():
        if theirs == ours:
            continue
        if theirs not in frame.columns:
            raise DataError(
                name, "is not there", column=theirs, remedy="columns here: " + listed(frame.columns)
            )
        if ours in frame.columns:
            frame = frame.rename({ours: f"{ours}_given"})
        frame = frame.rename({theirs: ours})
    return frame


def checked(
    frame: pl.DataFrame, layout: Sequence[Column], name: str, *, expected: str | None = None
) -> pl.DataFrame:
    """The frame with every declared column of its type and in its range, declared ones first."""
    required = [column.name for column in layout if column.required]
    absent = [column for column in required if column not in frame.columns]
    if absent:
        known = {column.name for column in layout}
        other = expected is not None and is_other(frame.columns, expected, required, known)
        raise missing(frame, absent[0], name, expected if other else None)
    present = [column for column in layout if column.name in frame.columns]
    frame = frame.with_columns(_coerced(frame.get_column(c.name), c, name) for c in present)
    first = [column.name for column in present]
    return frame.select(first + [other for other in frame.columns if other not in first])


def missing(
    frame: pl.DataFrame, column: str, name: str, expected: str | None, remedy: str = ""
) -> DataError:
    """A column is not there: perhaps because the file is of another kind altogether."""
    found = looks_like(frame.columns)
    if expected is not None and found is not None and found.name != expected:
        return other_format(found, expected, name)
    remedy = remedy or "add it or name the one that holds it"
    return DataError(
        name,
        "is missing",
        column=column,
        remedy=f"{remedy} (columns here: {listed(frame.columns)})",
    )


def refuse_duplicates(frame: pl.DataFrame, key: Sequence[str], name: str, remedy: str) -> None:
    """One row per key, or the second one is named."""
    # Mostly one column tells all rows apart; counting one is ten times quicker than hashing all.
    if frame.get_column(key[0]).n_unique() == frame.height:
        return
    if frame.select(pl.struct(key).is_duplicated().any()).item():
        repeated = ~frame.select(pl.struct(key).is_first_distinct()).to_series()
        at = first_true(repeated)
        told = ", ".join(f"{column} {frame.get_column(column)[at]!r}" for column in key)
        raise DataError(
            name, f"{told} stands in the file twice", row=at + 1, column=key[0], remedy=remedy
        )


def refuse_where(
    frame: pl.DataFrame,
    bad: pl.Expr,
    name: str,
    problem: str,
    *,
    column: str,
    remedy: str,
    show: str | None = None,
) -> None:
    """Refuse the first row where `bad` holds; `show` is the column whose value is told."""
    found = frame.select(bad.fill_null(False)).to_series()
    if found.any():
        at = first_true(found)
        if show is not None:
            problem = problem.format(shown(frame.get_column(show)[at]))
        raise DataError(name, problem, row=at + 1, column=column, remedy=remedy)


def refuse_values(
    values: pl.Series, bad: pl.Series, name: str, column: str, problem: str, remedy: str
) -> None:
    """Refuse the first of the values that is `bad`; "{}" in `problem` stands for it."""
    if bad.any():
        at = first_true(bad.fill_null(False))
        told = problem.format(shown(values[at]))
        raise DataError(name, told, row=at + 1, column=column, remedy=remedy)


def first_true(flags: pl.Series) -> int:
    """The index of the first True."""
    return int(flags.arg_true()[0])


def listed(names: Sequence[str], most: int = 12) -> str:
    """The names, shortened where there are many."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def shown(value: object) -> str:
    """A value as it is told in an error."""
    text = repr(value.to_list() if isinstance(value, pl.Series) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def _coerced(values: pl.Series, column: Column, name: str) -> pl.Series:
    if column.kind == "text":
        values = _text(values, column, name)
    elif column.kind in ("number", "whole"):
        values = _number(values, column, name)
    elif column.kind == "numbers":
        values = _numbers(values, column, name)
    if column.filled and values.null_count():
        refuse_values(
            values, values.is_null(), name, column.name, "is empty", "fill it in every row"
        )
    if column.choices is not None:
        unknown = ~values.is_in(column.choices).fill_null(True)
        refuse_values(
            values, unknown, name, column.name, "{} is not known", "use " + _or(column.choices)
        )
    return values


def _text(values: pl.Series, column: Column, name: str) -> pl.Series:
    if values.dtype in (pl.String, pl.Null):
        return values.cast(pl.String)
    if values.dtype.is_nested():
        raise DataError(
            name, "holds lists or objects", row=1, column=column.name, remedy="write it as text"
        )
    if values.dtype.is_float():
        wrong = ~values.is_finite().fill_null(True)
        refuse_values(
            values, wrong, name, column.name, "{} is no text", "leave it empty where it is missing"
        )
        filled = values.fill_null(0)
        if ((filled == filled.round()) & (filled.abs() < 2**53)).all():
            # Whole numbers with gaps come from pandas as floats: 7, not "7.0".
            values = values.cast(pl.Int64)
    return values.cast(pl.String)


def _number(values: pl.Series, column: Column, name: str) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal():
        raise DataError(name, "holds no numbers", row=1, column=column.name, remedy="give numbers")
    if values.dtype == pl.String:
        trimmed = values.str.strip_chars()
        given = trimmed.is_not_null() & (trimmed != "")
        numbers = trimmed.cast(pl.Float64, strict=False)
        refuse_values(
            values,
            given & numbers.is_null(),
            name,
            column.name,
            "{} is not a number",
            "give numbers",
        )
    else:
        numbers = values.cast(pl.Float64)
    wrong = ~numbers.is_finite().fill_null(True)
    remedy = "leave it empty where nothing was measured"
    refuse_values(numbers, wrong, name, column.name, "{} is not a finite number", remedy)
    if column.low is not None or column.high is not None:
        low = float("-inf") if column.low is None else column.low
        high = float("inf") if column.high is None else column.high
        outside = ~numbers.is_between(low, high).fill_null(True)
        refuse_values(numbers, outside, name, column.name, "{} is out of range", _range(column))
    if column.kind == "whole":
        broken = (numbers != numbers.round()).fill_null(False)
        refuse_values(
            numbers, broken, name, column.name, "{} is not a whole number", "give whole numbers"
        )
        return numbers.cast(pl.Int64)
    return numbers


def _numbers(values: pl.Series, column: Column, name: str) -> pl.Series:
    """A list of numbers per row; CSV carries it as text such as [0.1, 0.9]."""
    if values.dtype == pl.String:
        try:
            values = values.str.json_decode(pl.List(pl.Float64))
        except pl.exceptions.PolarsError:
            bad = pl.Series([_not_numbers(value) for value in values])
            refuse_values(
                values, bad, name, column.name, "{} is not a list of numbers", "write [0.1, 0.9]"
            )
            raise DataError(name, "holds no lists of numbers", column=column.name) from None
    if values.dtype == pl.Null:
        return values.cast(pl.List(pl.Float64))
    if not isinstance(values.dtype, (pl.List, pl.Array)):
        raise DataError(name, "holds no lists", row=1, column=column.name, remedy="give lists")
    try:
        lists = values.cast(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        raise DataError(
            name, "holds lists of something else than numbers", column=column.name
        ) from None
    flat = lists.explode()
    low = float("-inf") if column.low is None else column.low
    high = float("inf") if column.high is None else column.high
    if (
        flat.is_null().sum() > lists.is_null().sum()
        or not (flat.is_finite() & flat.is_between(low, high)).fill_null(True).all()
    ):
        inner = pl.element()
        fine = lists.list.eval(
            inner.is_not_null() & inner.is_finite() & inner.is_between(low, high)
        ).list.all()
        refuse_values(
            lists, ~fine.fill_null(True), name, column.name, "{} holds a bad value", _range(column)
        )
        empty = (lists.list.len() == 0).fill_null(False)
        refuse_values(
            lists, empty, name, column.name, "{} is an empty list", "leave it empty instead"
        )
    return lists


def _not_numbers(value: str | None) -> bool:
    if value is None:
        return False
    try:
        items: Any = json.loads(value)
    except (ValueError, RecursionError):
        return True
    return not isinstance(items, list) or any(
        isinstance(item, bool) or not isinstance(item, (int, float)) for item in items
    )


def _range(column: Column) -> str:
    if column.low is not None and column.high is not None:
        return f"give numbers in [{column.low:g}, {column.high:g}]"
    if column.low is not None:
        return f"give numbers of {column.low:g} or more"
    return "give finite numbers"


def _or(choices: Sequence[str]) -> str:
    return ", ".join(choices[:-1]) + " or " + choices[-1] if len(choices) > 1 else choices[0]
