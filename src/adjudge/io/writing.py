"""Writing rows so that reading them gives the same rows, and nobody sees half a file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, cast

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io._atomic import replacing
from adjudge.io.tables import TableLike, as_frame

_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def write_rows(frame: TableLike, path: str | Path) -> Path:
    """Write a frame by atomic rename; the suffix says how: .jsonl, .csv, .tsv or .parquet, or
    one of these with .gz. Lists and objects go into CSV as JSON. NaN and infinity are refused.
    """
    path = Path(path)
    packed = path.suffix == ".gz"
    suffix = path.with_suffix("").suffix if packed else path.suffix
    if suffix not in _SUFFIXES:
        raise ArgumentError(
            "path", str(path), "end it in .jsonl, .csv, .tsv or .parquet (and .gz if you like)"
        )
    rows = frame if isinstance(frame, pl.DataFrame) else as_frame(frame)
    _refuse_nan(rows)
    if suffix != ".parquet":
        _refuse_bytes(rows, path)
    with replacing(path) as partial, partial.open("wb") as raw:
        if packed:
            # No name and no time in the header: the same rows give the same bytes.
            with gzip.GzipFile(
                filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0
            ) as out:
                _write(rows, cast(IO[bytes], out), suffix)
        else:
            _write(rows, raw, suffix)
    return path


def _write(rows: pl.DataFrame, out: IO[bytes], suffix: str) -> None:
    if suffix == ".parquet":
        rows.write_parquet(out)
    elif suffix in (".csv", ".tsv"):
        separator = "\t" if suffix == ".tsv" else ","
        flat(rows).write_csv(out, separator=separator)
    else:
        rows.write_ndjson(out)


def flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Lists and objects as JSON text."""
    nested = [name for name, dtype in rows.schema.items() if dtype.is_nested()]
    return rows.with_columns(_as_json(rows.get_column(name)) for name in nested)


def _as_json(values: pl.Series) -> pl.Series:
    wrapped = values.to_frame("x").select(pl.struct("x").struct.json_encode()).to_series()
    inner = wrapped.str.slice(5).str.head(-1)  # {"x":...}
    return pl.select(pl.when(values.is_not_null()).then(inner)).to_series().alias(values.name)


def _refuse_bytes(rows: pl.DataFrame, path: Path) -> None:
    """Pictures and the like, alone or inside a list or an object: text has no place for them."""
    for name, dtype in rows.schema.items():
        if "Binary" in repr(dtype):
            raise DataError(path, "cannot hold bytes", column=name, remedy="write a .parquet file")


def _refuse_nan(rows: pl.DataFrame) -> None:
    for name, dtype in rows.schema.items():
        if dtype.is_float():
            bad = ~rows.get_column(name).is_finite().fill_null(True)
            if bad.any():
                at = int(bad.arg_true()[0])
                raise ArgumentError(
                    f"frame[{at}, {name!r}]", rows.get_column(name)[at], "leave it empty instead"
                )
