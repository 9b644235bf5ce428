"""Write rows so that reading them gives the same rows; files are complete or not there.

The suffix decides the format: .jsonl, .csv, .tsv or .parquet, or one of these with .gz.
`write_rows` takes a complete frame, `row_writer` takes rows as they come, in bounded memory.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

import polars as pl
import polars.selectors as cs

from adjudge.atomic import make_folder, replacing, scratch_file
from adjudge.data.csv_files import neutralise_frame
from adjudge.data.files import open_regular
from adjudge.data.json_files import as_json_text, column_series
from adjudge.data.tables import TableLike, as_frame
from adjudge.errors import ArgumentError, DataError
from adjudge.present.kinds import from_dict
from adjudge.present.result import COMMAND, DIGEST, Result, digest_for_file
from adjudge.present.text import clip

Row = dict[str, Any]
#: Types of columns, which must not be inferred from rows that are empty.
Schema = Mapping[str, Any]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)
_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
#: Rows that are in memory together when CSV is made of JSON lines.
_BATCH = 2000
#: What must be quoted in the name of a column: every separator that a reader could take it for.
_IN_NAMES = re.compile(r'["\r\n,;|\t]|^$')


def check_output(path: str | Path, *, name: str = "output") -> Path:
    """The path, if its suffix can be written; `name` is the name of the argument."""
    path = Path(path)
    if _suffix(path) not in _SUFFIXES:
        remedy = "end it in .jsonl, .csv, .tsv or .parquet, optionally with .gz"
        raise ArgumentError(name, str(path), remedy)
    return path


def write_rows(frame: TableLike, path: str | Path) -> Path:
    """Write a frame by atomic rename; the suffix decides the format: .jsonl, .csv, .tsv or
    .parquet, or one of these with .gz. In CSV, lists and objects are JSON, and texts that a
    spreadsheet would run are marked (`io.spreadsheets`). NaN and infinity are refused.
    """
    path = check_output(path, name="path")
    suffix = _suffix(path)
    rows = frame if isinstance(frame, pl.DataFrame) else as_frame(frame)
    _refuse_nan(rows)
    if suffix != ".parquet":
        _refuse_bytes(rows, path)
    with replacing(path) as partial, _opened(partial, packed=path.suffix == ".gz") as out:
        if suffix == ".parquet":
            rows.write_parquet(out)
        elif suffix in (".csv", ".tsv"):
            _write_csv(rows, out, suffix)
        else:
            rows.write_ndjson(out)
    return path


class RowWriter:
    """Takes rows and collects the columns it has seen."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines = lines
        self.columns: dict[str, None] = {}

    def write(self, rows: Iterable[Row]) -> None:
        """Append a batch of rows, which are in memory together."""
        batch = list(rows)
        if not self.columns.keys() >= set[str]().union(*batch):
            for row in batch:
                self.columns.update(dict.fromkeys(row))
        self._lines.write("".join([_line(row) + "\n" for row in batch]))


@contextmanager
def row_writer(path: str | Path, *, schema: Schema) -> Iterator[RowWriter]:
    """A writer whose rows are in `path` only after the block has succeeded.

    Rows are first written to a temporary file of JSON lines: only after the last row are all
    columns known. JSON lines are then done; CSV and Parquet are made from them in a stream.
    """
    path = check_output(path)
    suffix = _suffix(path)
    if path.is_dir():
        raise DataError(path, "is a folder", remedy="name a file in it")
    make_folder(path.parent)
    with scratch_file(path, "lines") as lines_path:
        # A lone surrogate from a JSON file has no UTF-8: a question mark is written.
        with lines_path.open("w", encoding="utf-8", errors="replace") as lines:
            writer = RowWriter(lines)
            yield writer
        with replacing(path) as partial:
            if suffix == ".parquet":
                known = {name: dtype for name, dtype in schema.items() if name in writer.columns}
                try:
                    _to_parquet(lines_path, partial, known)
                except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                    texts = _write_mixed_as_text(lines_path, known)
                    _to_parquet(lines_path, partial, {**known, **dict.fromkeys(texts, pl.String)})
                return
            packed = path.suffix == ".gz"
            with _opened(partial, packed=packed) as out, lines_path.open("rb") as written:
                if suffix in (".csv", ".tsv"):
                    _to_csv(written, out, list(writer.columns), suffix)
                else:
                    shutil.copyfileobj(written, out)


def rows_frame(rows: list[Row], *, schema: Schema) -> pl.DataFrame:
    """Rows as a frame, for callers that keep them in memory."""
    columns = []
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in schema:
            columns.append(pl.Series(name, values, dtype=schema[name]))
        else:
            columns.append(column_series(name, values, "the rows"))
    return pl.DataFrame(columns)


def flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Lists and objects as JSON text."""
    nested = [name for name, dtype in rows.schema.items() if dtype.is_nested()]
    return rows.with_columns(_as_json(rows.get_column(name)) for name in nested)


def _suffix(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if not packed:
            yield raw
            return
        # No name and no time in the header, so that the same rows give the same bytes.
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packer:
            yield cast(IO[bytes], packer)


def _line(row: Row) -> str:
    """A row as JSON. Input columns can have dates (text here) and NaN (empty here)."""
    try:
        return _ENCODER.encode(row)
    except ValueError:
        return _ENCODER.encode(_finite(row))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


def _to_parquet(lines: Path, path: Path, types: Schema) -> None:
    pl.scan_ndjson(lines, schema_overrides=types, infer_schema_length=None).sink_parquet(path)


def _write_mixed_as_text(path: Path, known: Collection[str]) -> set[str]:
    """Make text of columns whose values have no common type, as when reading a frame.

    Returns their names. Our columns are `known` and have a type.
    """
    kinds: dict[str, set[type]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            for name, value in json.loads(line).items():
                if value is not None:
                    large = isinstance(value, int) and abs(value) >= 2**63
                    kinds.setdefault(name, set()).add(object if large else type(value))
    plain: tuple[set[type], ...] = ({str}, {bool}, {int, float})
    mixed = {
        name
        for name, own in kinds.items()
        if name not in known and not any(own <= kind for kind in plain)
    }
    with scratch_file(path, "text") as again:
        with path.open(encoding="utf-8") as lines, again.open("w", encoding="utf-8") as out:
            for line in lines:
                row = json.loads(line)
                texts = {name: as_json_text(row[name]) for name in mixed & row.keys()}
                out.write(_line({**row, **texts}) + "\n")
        again.replace(path)
    return mixed


def _write_csv(rows: pl.DataFrame, out: IO[bytes], suffix: str, *, header: bool = True) -> None:
    table, separator = neutralise_frame(flat(rows)), "\t" if suffix == ".tsv" else ","
    if header:
        # Readers find the separator in the header: names with another one are quoted.
        out.write((separator.join(map(_quote, table.columns)) + "\n").encode())
    table.write_csv(out, separator=separator, include_header=False)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if _IN_NAMES.search(name) else name


def _to_csv(lines: IO[bytes], out: IO[bytes], columns: list[str], suffix: str) -> None:
    """JSON lines as CSV, a few at a time: texts as they are, other values as JSON."""
    schema, header = dict.fromkeys(columns, pl.String), True
    while (batch := [json.loads(line) for line in islice(lines, _BATCH)]) or header:
        cells = [[_as_cell(row.get(name)) for name in columns] for row in batch]
        rows = pl.DataFrame(cells, schema=schema, orient="row")
        _write_csv(rows, out, suffix, header=header)
        header = False


def _as_cell(value: Any) -> str | None:
    is_text = value is None or isinstance(value, str)
    return value if is_text else json.dumps(value, ensure_ascii=False)


def _as_json(values: pl.Series) -> pl.Series:
    wrapped = values.to_frame("x").select(pl.struct("x").struct.json_encode()).to_series()
    inner = wrapped.str.slice(5).str.head(-1)  # {"x":...}
    return pl.select(pl.when(values.is_not_null()).then(inner)).to_series().alias(values.name)


def _refuse_bytes(rows: pl.DataFrame, path: Path) -> None:
    """Refuse bytes such as pictures, also inside a list or an object: text cannot hold them."""
    for name, dtype in rows.schema.items():
        if "Binary" in repr(dtype):
            raise DataError(path, "cannot hold bytes", column=name, remedy="write a .parquet file")


def _refuse_nan(rows: pl.DataFrame) -> None:
    for column in rows.select(cs.float()):
        bad = (~column.is_finite()).arg_true()
        if len(bad):
            cell = f"frame[{bad[0]}, {column.name!r}]"
            raise ArgumentError(cell, column[bad[0]], "leave it empty instead")


R = TypeVar("R", bound=Result)


def write_result(result: Result, path: str | Path, *, command: str | None = None) -> Path:
    """Write a result as JSON by atomic rename, with a digest of its fields: an edit is noticed.

    `command` is the command that made it.
    """
    digest = digest_for_file(result)
    more: dict[str, Any] = {} if digest is None else {DIGEST: digest}
    if command is not None:
        more[COMMAND] = command
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as file:
        file.writelines(result.json_pieces(**more))
        file.write("\n")
    return Path(path)


@overload
def read_result(path: str | Path) -> Result: ...
@overload
def read_result(path: str | Path, made: type[R]) -> R: ...
def read_result(path: str | Path, made: type[Result] = Result) -> Result:
    """The result in a file, checked field by field; it must be of class `made` if given."""
    return read_with_fields(path, made)[0]


def read_with_fields(
    path: str | Path, made: type[Result] = Result
) -> tuple[Result, Mapping[str, Any]]:
    """The result in a file, and the file's fields: also `digest` and `command`, if it has them."""
    loaded = read_json(path, remedy="give a file that adjudge wrote with -o")
    return from_dict(loaded, made, source=path), loaded


def read_json(path: str | Path, *, remedy: str = "repair it or write it again") -> Any:
    """The content of a JSON file; `remedy` is for a file that is not JSON.

    A repeated field is refused: readers would differ on which value counts.
    """
    with open_regular(path) as file:
        content = file.read()
    try:
        return json.loads(content, object_pairs_hook=_fields_once)
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not a JSON file ({error})", remedy=remedy) from None


def _fields_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {clip(twice)} is repeated")
    return fields
