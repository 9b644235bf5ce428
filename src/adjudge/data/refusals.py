"""Errors that name the file, the first bad row, its column, its value and the remedy.

A check is a polars expression or a column of flags over all rows. A million rows pass in a fraction
of a second; only a failing check searches its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from adjudge.errors import DataError


def refuse_values(
    values: pl.Series,
    bad: pl.Series,
    problem: str,
    *,
    source: str,
    remedy: str,
    column: str | None = None,
) -> None:
    """Refuse the first of the values whose flag in `bad` is true; "{}" in `problem` is its value.

    `column` is the name in the file, if the series has another name.

    >>> given = pl.Series("p", [0.5, 1.5, 2.5])
    >>> refuse_values(given, given > 1, "{} is out of range", source="rows.csv", remedy="see docs")
    Traceback (most recent call last):
    adjudge.errors.DataError: rows.csv, row 2, column p: 1.5 is out of range; see docs
    """
    if bad.any():
        at = int(bad.fill_null(False).arg_true()[0])
        problem = problem.replace("{}", quote(values[at]))
        raise DataError(source, problem, row=at + 1, column=column or values.name, remedy=remedy)


def refuse_where(
    frame: pl.DataFrame,
    bad: pl.Expr,
    problem: str,
    *,
    source: str,
    column: str,
    remedy: str,
    value_of: str | None = None,
) -> None:
    """Refuse the first row for which `bad` is true; "{}" is its value in `value_of`."""
    flags = frame.select(bad.fill_null(False)).to_series()
    values = frame.get_column(value_of or column)
    refuse_values(values, flags, problem, source=source, column=column, remedy=remedy)


def refuse_duplicates(frame: pl.DataFrame, key: Sequence[str], *, source: str, remedy: str) -> None:
    """Refuse the second row of any key."""
    # In most files one column is unique, which is ten times faster to check.
    if _are_distinct(frame.get_column(key[0])):
        return
    repeated = ~frame.select(pl.struct(key).is_first_distinct()).to_series()
    if repeated.any():
        at = int(repeated.arg_true()[0])
        values = ", ".join(f"{column} {frame.get_column(column)[at]!r}" for column in key)
        problem = f"{values} is in the file twice"
        raise DataError(source, problem, row=at + 1, column=key[0], remedy=remedy)


def _are_distinct(values: pl.Series) -> bool:
    """A fast check that all values are unique; in rare cases a False is wrong."""
    # Most files are sorted by id, as text or by a running number (x9, x10), which is longer text.
    return (
        _increase(values)
        or (values.dtype == pl.String and _increase(values, by_length=True))
        # Different hashes mean different values.
        or values.hash().n_unique() == len(values)
    )


def _increase(values: pl.Series, *, by_length: bool = False) -> bool:
    """Whether every value is larger than the one before it; `by_length`: longer, or larger."""
    # Chunk by chunk: a column and its shifted self have different chunks, which polars copies.
    chunks = [chunk for chunk in values.get_chunks() if len(chunk)]
    pairs = [(chunk[:-1], chunk[1:]) for chunk in chunks]
    borders = [(one[-1:], next_one[:1]) for one, next_one in pairwise(chunks)]
    for low, high in (*borders, *pairs):
        larger = low < high
        if by_length:
            short, long = low.str.len_bytes(), high.str.len_bytes()
            larger = (short < long) | ((short == long) & larger)
        if not larger.all(ignore_nulls=False):
            return False
    return True


def quote(value: object) -> str:
    """A value as shown in an error."""
    text = repr(value.to_list() if isinstance(value, pl.Series) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def shorten(names: Sequence[str], most: int = 12) -> str:
    """The first `most` names in one line."""
    shown = [name if len(name) <= 60 else name[:57] + "..." for name in names[:most]]
    return ", ".join(shown) + (", ..." if len(names) > most else "")
