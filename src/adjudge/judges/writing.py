"""Rows written as they come, in bounded memory, by atomic rename. The suffix says how.

Rows go into a temporary file of JSON lines first: only after the last one is it known which
columns there are. JSON lines are then done; CSV and Parquet are made from them in a stream.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import polars as pl

from adjudge.errors import ArgumentError
from adjudge.io._atomic import replacing
from adjudge.judges.rows import Row

_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_NUMBERS = ("p_fwd", "p_rev", "p_a", "uncertainty", "cost", "judge_score")
_TEXTS = (
    "id",
    "judge",
    "protocol",
    "status",
    "verdict",
    "judge_fingerprint",
    "detail",
    "label",
    "doc_id",
    "model",
    "criterion",
)
#: Types that must not be guessed from rows that happen to be empty.
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, pl.String),
    **dict.fromkeys(_NUMBERS, pl.Float64),
    "tokens": pl.Int64,
}


def check_output(path: str | Path) -> Path:
    """The path, if its suffix is one that can be written."""
    path = Path(path)
    if _suffix(path) not in _SUFFIXES:
        raise ArgumentError(
            "output", str(path), "end it in .jsonl, .csv, .tsv or .parquet (and .gz if you like)"
        )
    return path


class RowWriter:
    """Takes rows; knows which columns it has seen."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines = lines
        self.columns: dict[str, None] = {}

    def write(self, rows: list[Row]) -> None:
        """Append rows."""
        for row in rows:
            self.columns.update(dict.fromkeys(row))
            self._lines.write(_line(row) + "\n")


def _line(row: Row) -> str:
    """A row as JSON. What it carries along may hold dates (text here) and NaN (empty here)."""
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(row), ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


@contextmanager
def writing(path: str | Path) -> Iterator[RowWriter]:
    """A writer whose rows stand in `path` once the block has ended well, and not before."""
    path = check_output(path)
    suffix = _suffix(path)
    with replacing(path) as partial:
        lines_path = partial.with_name(partial.name + ".lines")
        try:
            # A lone surrogate from a JSON file has no UTF-8; it is written as a question mark.
            with lines_path.open("w", encoding="utf-8", errors="replace") as lines:
                writer = RowWriter(lines)
                yield writer
            if suffix == ".parquet":
                _to_parquet(lines_path, partial, writer)
            else:
                with _opened(partial, packed=path.suffix == ".gz") as out:
                    if suffix in (".csv", ".tsv"):
                        _to_csv(lines_path, out, writer, "\t" if suffix == ".tsv" else ",")
                    else:
                        _to_lines(lines_path, out)
        finally:
            lines_path.unlink(missing_ok=True)


def frame_of(rows: list[Row]) -> pl.DataFrame:
    """Rows as a frame, for callers who keep them in memory."""
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    known = {name: dtype for name, dtype in SCHEMA.items() if name in columns}
    filled = [{name: row.get(name) for name in columns} for row in rows]
    return pl.DataFrame(filled, schema_overrides=known, infer_schema_length=None, strict=False)


def _suffix(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[IO[str]]:
    if not packed:
        with path.open("w", encoding="utf-8", newline="") as plain:
            yield plain
        return
    # No name and no time in the header: the same rows give the same bytes.
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped:
        import io

        with io.TextIOWrapper(zipped, encoding="utf-8", newline="") as text:
            yield text


def _to_lines(source: Path, out: IO[str]) -> None:
    with source.open(encoding="utf-8") as lines:
        while piece := lines.read(1 << 20):
            out.write(piece)


def _to_csv(source: Path, out: IO[str], writer: RowWriter, separator: str) -> None:
    table = csv.writer(out, delimiter=separator, lineterminator="\n")
    columns = list(writer.columns)
    table.writerow(columns)
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            table.writerow([_cell(row.get(name)) for name in columns])


def _to_parquet(source: Path, target: Path, writer: RowWriter) -> None:
    known = {name: dtype for name, dtype in SCHEMA.items() if name in writer.columns}
    pl.scan_ndjson(source, schema_overrides=known, infer_schema_length=None).sink_parquet(target)


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return value
