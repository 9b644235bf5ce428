"""Columns in the form that analyses need: text with gaps as null, or codes.

Also what all `prepare_` functions do with rows that are already prepared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, signature

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.refusals import refuse_values
from adjudge.io.tables import as_text
from adjudge.io.words import MISSING, point_decimals
from adjudge.validation import IntArray

#: Types of columns whose single value can be written as a literal.
_SIMPLE = (pl.String, pl.Float64, pl.Int64, pl.Boolean, pl.Null)
_TRUTH = {"true": "1", "false": "0"}


def refuse_options(prepare: Callable[..., object], given: Mapping[str, object]) -> None:
    """Refuse options that only the call of `prepare` that made these rows could use.

    `given` has the arguments by name, as `locals()` at the start of the call. None and switches
    do not refer to columns.
    """
    for option, parameter in signature(prepare).parameters.items():
        value = given[option]
        if parameter.kind is not Parameter.KEYWORD_ONLY or value is None or isinstance(value, bool):
            continue
        if not (isinstance(value, str) and value == parameter.default):
            raise ArgumentError(option, value, f"give it to {prepare.__name__}")


def text_column(frame: pl.DataFrame, column: str, option: str) -> pl.Series:
    """The column as text, or an error that names the option and the existing columns."""
    if column not in frame.columns:
        shown = [name for name in frame.columns if not name.startswith("__")]
        raise ArgumentError(option, column, "choose a column: " + ", ".join(shown))
    return as_text(frame.get_column(column))


def tidy(values: pl.Series, name: str, column: str) -> pl.Series:
    """The column as stripped text; empty, N/A and NaN become null, true and false 1 and 0.

    >>> tidy(pl.Series([1.0, float("nan"), 0.0]), "rows", "human").to_list()
    ['1', None, '0']
    """
    if values.dtype.is_nested():
        remedy = "write text or numbers"
        raise DataError(name, "has lists or objects", row=1, column=column, remedy=remedy)
    if values.dtype.is_numeric():
        return as_text(values).alias(column)
    text = point_decimals(as_text(values).str.strip_chars())
    lower = text.str.to_lowercase()
    gaps = lower.is_in(["", *MISSING])
    if values.dtype == pl.Boolean or lower.filter(~gaps).drop_nulls().is_in([*_TRUTH]).all():
        text = lower.replace(_TRUTH)
    return pl.select(pl.when(~gaps).then(text)).to_series().alias(column)


def partition(frame: pl.DataFrame, keys: Sequence[str]) -> list[pl.DataFrame]:
    """The rows of each combination of the keys, in order of first appearance.

    If there is only one, the frame is not copied.
    """
    several = frame.is_empty() or find_varying(frame, keys)
    return frame.partition_by(keys, maintain_order=True) if several else [frame]


def find_varying(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Those of the columns that have more than one value.

    >>> find_varying(pl.DataFrame({"judge": ["x", "x"], "id": [1, 2]}), ["judge", "id"])
    ['id']
    """
    first = frame.select(pl.col(name).eq_missing(pl.col(name).first()).all() for name in columns)
    return [name for name in columns if not first[name][0]]


def has_values(frame: pl.DataFrame, *columns: str) -> bool:
    """Whether each column is there and has a value in some row."""
    return all(c in frame.columns and frame[c].null_count() < frame.height for c in columns)


def sort_rows(
    frame: pl.DataFrame, keys: Sequence[str], keep: Collection[str] | None = None
) -> pl.DataFrame:
    """The rows sorted by the keys, with these columns and those to `keep` (None: all).

    A column with one value is not moved, and takes no memory. The others are moved one by one,
    because polars first copies what is in several chunks.

    >>> rows = pl.DataFrame({"judge": ["x", "x"], "id": ["b", "a"], "p_a": [0.1, 0.9]})
    >>> sort_rows(rows, ["judge", "id"]).rows()
    [('x', 'a', 0.9), ('x', 'b', 0.1)]
    """
    names = [name for name in frame.columns if keep is None or name in {*keys, *keep}]
    simple = [name for name in names if frame.schema[name] in _SIMPLE]
    fixed = {*simple} - {*find_varying(frame, simple)}
    own = [key for key in keys if key not in fixed]
    if not own:
        return frame.select(names)
    order = frame.select(pl.arg_sort_by(own)).to_series()
    # By name: polars would rename a column without one.
    moved = {name: frame[name].rechunk().gather(order) for name in names if name not in fixed}
    values = (pl.lit(frame[name][0], frame.schema[name]).alias(name) for name in fixed)
    return pl.DataFrame(moved).with_columns(values).select(names)


def truth_column(frame: pl.DataFrame, column: str, name: str, *, remedy: str) -> pl.Series:
    """The column as true and false (also 1 and 0); anything else, including gaps, is refused.

    >>> truth_column(pl.DataFrame({"accepted": ["true", "false"]}), "accepted", "rows", remedy="")
    shape: (2,)
    Series: 'accepted' [bool]
    [
        true
        false
    ]
    """
    text = tidy(frame.get_column(column), name, column)
    strange = ~text.is_in(["0", "1"]).fill_null(False)
    refuse_values(text, strange, "{} is not true or false", source=name, remedy=remedy)
    return text == "1"


def code_column(values: pl.Series) -> tuple[IntArray, tuple[str, ...]]:
    """Codes from 0 in order of first appearance, and the name of each code."""
    names = values.unique(maintain_order=True)
    known = names.to_frame("name").with_row_index("code")
    coded = values.to_frame("name").join(known, on="name", how="left", maintain_order="left")
    return coded["code"].cast(pl.Int64).to_numpy(), tuple(names.to_list())
