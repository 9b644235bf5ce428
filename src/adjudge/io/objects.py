"""Tables that are already in memory: polars, pandas, Arrow, a Hugging Face Dataset, dicts, records.

No package is imported here: an object is detected by its methods.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.json_files import column_series, records_frame


def object_name(source: object) -> str:
    """The name of an object in errors.

    >>> object_name(pl.DataFrame()), object_name([{"id": 1}]), object_name({"id": [1]})
    ('the DataFrame', 'the list of rows', 'the dict of columns')
    """
    if isinstance(source, (list, tuple)):
        return "the list of rows"
    if isinstance(source, Mapping) and not _splits(source):
        return "the dict of columns"
    return f"the {type(source).__name__}"


def is_table(source: object) -> bool:
    """Whether an object has rows and columns, and is not a list of our records."""
    if isinstance(source, (pl.DataFrame, pl.LazyFrame, Mapping)) or _is_pandas(source):
        return True
    return hasattr(source, "__arrow_c_stream__") or _is_dataset(source)


def object_frame(source: Any) -> pl.DataFrame:
    """A polars frame from any object with a table."""
    name = object_name(source)
    if isinstance(source, pl.DataFrame):
        frame = source
    elif isinstance(source, pl.LazyFrame):
        frame = source.collect()
    elif isinstance(source, Mapping):
        if splits := _splits(source):
            remedy = f"give one of them: [{splits[0]!r}]"
            raise DataError(name, f"has the splits {', '.join(splits)}", remedy=remedy)
        frame = columns_frame(source, name)
    elif isinstance(source, (list, tuple)) and all(isinstance(row, Mapping) for row in source):
        frame = records_frame([dict(row) for row in source], name)
    elif _is_pandas(source):
        frame = _from_pandas(source, name)
    elif _is_dataset(source):
        frame = pl.DataFrame(source.with_format("arrow")[:])
    elif hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source)
    else:
        remedy = "give a path, or a polars, pandas, Arrow or Hugging Face table"
        raise ArgumentError("source", type(source).__name__, remedy)
    if frame.height == 0:
        raise DataError(name, "has no rows", remedy="give at least one row")
    return plain_frame(frame)


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Bytes (in hexadecimal if they are not UTF-8), categories and durations as text."""
    odd = (pl.Binary, pl.Categorical, pl.Duration, pl.Enum)
    columns = [column for column in frame if column.dtype in odd]
    return frame.with_columns(map(_as_plain_text, columns)) if columns else frame


def columns_frame(columns: Mapping[str, Any], source: str) -> pl.DataFrame:
    """A frame from lists or arrays by name."""
    series = [
        column_series(str(name), list(values), source)
        if isinstance(values, (list, tuple))
        else pl.Series(str(name), values)
        for name, values in columns.items()
    ]
    try:
        return pl.DataFrame(series)
    except pl.exceptions.PolarsError:
        lengths = ", ".join(f"{column.name} has {column.len()}" for column in series)
        raise DataError(source, "columns differ in length", remedy=lengths) from None


def _splits(source: Mapping[str, Any]) -> list[str]:
    """The splits of a Hugging Face DatasetDict; empty for any other mapping."""
    return [str(key) for key, value in source.items() if _is_dataset(value)]


def _is_pandas(source: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def _is_dataset(source: object) -> bool:
    return all(hasattr(source, name) for name in ("with_format", "column_names", "__getitem__"))


def _as_plain_text(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Duration:
        return column.dt.to_string()
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        return column.bin.encode("hex")


def _from_pandas(source: Any, name: str) -> pl.DataFrame:
    # polars needs pyarrow for this, a heavy dependency; NaN is a missing value in pandas.
    columns = {}
    for column_name in source.columns:
        column = source[column_name]
        missing = column.isna().to_numpy()
        values = column.tolist()
        if missing.any():
            values = [None if gone else value for value, gone in zip(values, missing, strict=True)]
        columns[str(column_name)] = values
    return columns_frame(columns, name)
