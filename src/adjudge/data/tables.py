"""Tables of all known types, detected from content: JSON, CSV, TSV, Parquet, Arrow, Excel.

`read_table` returns a frame, `iter_rows` records one by one in bounded memory, and `open_table` a
`Table`: the rows of a file that was parsed once, which every reader accepts instead of a path.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from adjudge.data.csv_files import STREAM_BLOCK, ColumnChoice, csv_blocks, csv_frame, type_columns
from adjudge.data.files import (
    GIVE_ROWS,
    Archive,
    File,
    Handle,
    is_saved,
    saved_files,
    workbook_frame,
)
from adjudge.data.formats import (
    FORMATS,
    NATIVE,
    Format,
    kinds_of,
    load_format,
    looks_like,
    looks_usual,
    refuse_log,
    wrong_format,
)
from adjudge.data.json_files import (
    Record,
    check_record,
    column_series,
    enveloped,
    find_envelope,
    json_frame,
    json_records,
    object_rows,
    records_frame,
)
from adjudge.data.names import LOG, only_spellings, respelled, with_our_names
from adjudge.errors import ArgumentError, DataError

#: The rows of a slice: each slice opens the file again and unpacks complete pages.
_PARQUET_ROWS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Rows that were parsed once, and their source."""

    frame: pl.DataFrame = field(repr=False)
    #: The path as it was given, for errors.
    name: str = "the table"
    #: The kind they were checked as: pairs, battles, judgments ...; None: unchecked.
    kind: str | None = None
    #: The format they were read with, native or public; for unchecked rows, a guess.
    format: str | None = None
    #: Rows of the file (or games in them) that could not be used, by reason.
    dropped: Mapping[str, int] = field(default_factory=dict)
    #: Notes about a converted data set.
    notes: tuple[str, ...] = ()
    #: Whether it is unchecked CSV with text fields; the reader decides their types.
    fields: pl.DataFrame | None = field(default=None, repr=False)
    #: The caller's meaning of words in label columns.
    labels_as: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Columns of people's scores, a rater each, if the caller named them.
    raters: tuple[str, ...] = field(default=(), repr=False)

    @property
    def has_scores(self) -> bool:
        """Whether these are scores under our names, or of a format that has scores."""
        return self.kind == "scores" or "scores" in kinds_of(self.format)


class PandasFrame(Protocol):
    """The methods used of a pandas frame; pandas does not have to be installed."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...


class ArrowTable(Protocol):
    """The method of pyarrow and others that gives their data as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class HuggingFaceDataset(Protocol):
    """The methods used of a Hugging Face Dataset."""

    @property
    def column_names(self) -> Any: ...
    def with_format(self, kind: Any, /) -> Any: ...


_Ours = str | Path | Handle | Table
_Frames = pl.DataFrame | pl.LazyFrame | PandasFrame | ArrowTable | HuggingFaceDataset
#: A path, a Table, a polars or pandas frame, Arrow, a list of dicts or a dict of columns.
TableLike = _Ours | _Frames | Mapping[str, Any] | Sequence[Mapping[str, Any]]


def by_handle(source: TableLike) -> TableLike:
    """A path as the handle of its file; any other source unchanged."""
    return Handle(source) if isinstance(source, (str, Path)) else source


@contextmanager
def in_use(source: TableLike) -> Iterator[TableLike]:
    """The source; if it is a path, its file is opened once for all its readers in this block."""
    source = by_handle(source)
    with source if isinstance(source, Handle) else nullcontext():
        yield source


@contextmanager
def parse_file(handle: Handle) -> Iterator[File]:
    """Open a file for a complete reading. Tests count these calls."""
    with handle.open() as file:
        yield file


def read_table(
    source: TableLike,
    *,
    text: ColumnChoice | None = (),
    numbers: ColumnChoice = (),
    without: Collection[str] = (),
) -> pl.DataFrame:
    """The rows of a file of any known type; gzip is unpacked.

    CSV columns become whole numbers, numbers or booleans only if every value is written as one:
    `007` stays text. `text` names columns that stay text in any case (None: all of them; or a
    function that returns them from the columns). `numbers` are read as numbers however they are
    written. `without` are columns that are not needed: a Parquet file is read without them. A
    missing or empty file, broken UTF-8, a broken JSON line, a ragged row and a line above 64 MiB
    raise DataError with the row, counted from 1 without the header.
    """
    source = by_handle(source)
    if isinstance(source, Handle):
        rows, untyped = _parse(source, without, numbers)
    else:
        rows, untyped = as_frame(source), False
    kept = text(rows.columns) if callable(text) else text
    if isinstance(source, Table) and source.fields is not None:
        kept = source.fields.columns if kept is None else kept
        return rows.with_columns(c for c in source.fields if c.name in kept)
    if not untyped or kept is None:
        return rows
    return type_columns(rows, kept, numbers(rows.columns) if callable(numbers) else numbers)


def parse_table(source: TableLike, *, without: Collection[str] = ()) -> Table:
    """All rows of a file or frame, unchecked; a Table unchanged. `without` as in `read_table`."""
    if isinstance(source, Table):
        return source
    source = by_handle(source)
    if not isinstance(source, Handle):
        return Table(frame=as_frame(source), name=source_name(source))
    rows, untyped = _parse(source, without)
    if not untyped:
        return Table(frame=rows, name=str(source))
    return Table(frame=type_columns(rows, ()), name=str(source), fields=rows)


def _parse(
    handle: Handle, without: Collection[str] = (), numbers: ColumnChoice = ()
) -> tuple[pl.DataFrame, bool]:
    """All rows, and whether they are CSV fields without types, except for `numbers`."""
    if is_saved(handle.path):
        return pl.concat([_parse(part)[0] for part in _files_of(handle)]), False
    with parse_file(handle) as file:
        if file.container == "parquet":
            rows = _parquet(file, without)
        elif file.container in ("arrow", "workbook"):
            rows = _sheet(file)
        elif file.container == "csv":
            rows = csv_frame(file, numbers)
        elif (logged := _logged_rows(file)) is not None:
            # The rows of a log are nested, long, and lack our columns.
            first = next(logged, {})
            refuse_log(first, str(handle))
            rows = records_frame([first, *logged], str(handle))
        elif (inner := _inner_rows(handle, file)) is not None:
            rows = records_frame(inner, str(handle))
        else:
            rows = json_frame(file)
    if rows.height == 0 or rows.width == 0:
        raise DataError(handle.path, "has no rows", remedy=GIVE_ROWS)
    return _named(rows, str(handle)), file.container == "csv"


def _named(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    """The rows with our names beside other spellings of them; a public data set has its own."""
    columns = rows.columns
    if respelled(columns) and not isinstance(looks_like(columns), Format):
        return with_our_names(rows, source)
    return rows


def iter_rows(source: TableLike) -> Iterator[Record]:
    """The rows as dicts, one at a time, in bounded memory; CSV fields stay text."""
    source = by_handle(source)
    if isinstance(source, Handle):
        for handle in _files_of(source):
            with parse_file(handle) as file:
                yield from _records(handle, file)
    else:
        fields = source.fields if isinstance(source, Table) else None
        yield from (as_frame(source) if fields is None else fields).iter_rows(named=True)


def first_row(source: TableLike) -> Record | None:
    """The first row; only the beginning of a file is read."""
    source = by_handle(source)
    if not isinstance(source, Handle):
        return next(iter_rows(source), None)
    if source.first is None:
        handle = _files_of(source)[0]
        with handle.open() as file:
            source.first = _named_record(next(_records(handle, file), None))
    return None if source.first is None else dict(source.first)


def sniff(source: TableLike, columns: Mapping[str, str] | None = None) -> str | None:
    """The name of the format that the first row looks like, native or not, or None.

    `columns` maps our column names to the file's.

    >>> sniff([{"input": "Say hi.", "output_1": "hi", "output_2": "bye", "label": 1}])
    'llmbar'
    """
    format = looks_usual(renamed(first_row(source) or (), columns))
    return None if format is None else format.name


def renamed(here: Iterable[str], columns: Mapping[str, str] | None) -> list[str]:
    """The columns of a file after the caller's renaming."""
    ours = {their: name for name, their in (columns or {}).items()}
    return [ours.get(name, name) for name in here]


def choose_format(
    source: TableLike,
    format: str | None,
    kind: str | None = None,
    *,
    named: Mapping[str, str] | None = None,
) -> Format | None:
    """The format to convert `source` from, by name or as detected; None if it is native.

    A format is refused if the first row does not match it, or if it has no rows of that `kind`.
    `named` maps our column names to the file's.
    """
    first = first_row(source) or {}
    columns = renamed(first, named)
    looks = looks_like(columns)
    chosen = looks if isinstance(looks, Format) else None
    if format is not None:
        if format == kind:
            return None
        if format not in FORMATS and kind is not None:
            able = sorted(name for name in FORMATS if kind in kinds_of(name))
            raise ArgumentError("format", format, "choose one of " + ", ".join([kind, *able]))
        chosen = load_format(format)
        if columns and not chosen.signature.fits(columns):
            if looks is not None:
                raise wrong_format(looks, format, source_name(source))
            needs = sorted(chosen.signature.needs)
            absent = next((name for name in needs if name not in columns), None)
            problem, remedy = f"is not {chosen.title}", "its columns are " + ", ".join(needs)
            raise DataError(source_name(source), problem, column=absent, remedy=remedy)
    if chosen is not None and kind is not None and kind not in chosen.gives:
        remedy = "it gives " + " or ".join(chosen.gives)
        if (main := next(iter(chosen.gives))) in NATIVE:
            remedy += f": {NATIVE[main].remedy}"
        raise DataError(source_name(source), f"{chosen.name} has no {kind}", remedy=remedy)
    if chosen is not None and (newer := chosen.newer(first)) is not None:
        LOG.warning("%s: %s", source_name(source), newer)
    if chosen is not None and format is None and not chosen.log:
        LOG.warning("%s: read as %s", source_name(source), chosen.title)
    return chosen


def _named_record(record: Record | None) -> Record | None:
    """The record as a row of the frame that `_named` gives."""
    if record is None or isinstance(looks_like(record), Format):
        return record
    copies = only_spellings(list(record))
    return {**record, **{ours: record[theirs] for ours, theirs in copies.items()}}


def _files_of(handle: Handle) -> list[Handle]:
    """The file itself, or the files of a saved data set."""
    path = handle.path
    return [Handle(part) for part in saved_files(path)] if is_saved(path) else [handle]


def _records(handle: Handle, file: File) -> Iterator[Record]:
    if file.container == "parquet":
        yield from _parquet_rows(file)
    elif file.container in ("arrow", "workbook"):
        yield from _sheet(file).iter_rows(named=True)
    elif file.container == "csv":
        for block in csv_blocks(file, block=STREAM_BLOCK):
            yield from block.iter_rows(named=True)
    elif (logged := _logged_rows(file)) is not None:
        yield from logged
    elif (inner := _inner_rows(handle, file)) is not None:
        yield from map(dict, inner)  # a reader renames and removes keys of its row
    else:
        yield from json_records(file)


def _inner_rows(handle: Handle, file: File) -> list[Record] | None:
    """The rows in a file that is one JSON object, parsed once while it is in use; else None."""
    if handle.inner is None and file.container == "json_lines":
        handle.inner = object_rows(file, lambda columns: looks_like(columns) is not None)
    return handle.inner


def _logged_rows(file: File) -> Iterator[Record] | None:
    """The rows of a known log inside one JSON object or inside an archive."""
    if file.container == "zip":
        return _archive_rows(file)
    if file.container != "json_lines":
        return None
    known = (envelope for name in FORMATS for envelope in load_format(name).envelopes)
    envelope = find_envelope(file.beginning, known)
    if envelope is None:
        return None
    return (
        check_record(file, value, written, row) for row, value, written in enveloped(file, envelope)
    )


def _archive_rows(file: File) -> Iterator[Record]:
    with Archive(file.path, file.stream) as archive:
        for read in (load_format(name).archive for name in FORMATS):
            rows = None if read is None else read(archive)
            if rows is not None:
                yield from rows
                return
    raise file.error("is a zip archive or a spreadsheet", "unpack it or export it as CSV")


def quick_rows(frame: pl.DataFrame) -> Iterator[Record]:
    """The rows of a frame as dicts; lists and objects are read by JSON, which is faster."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if not nested:
        yield from frame.iter_rows(named=True)
        return
    packed = pl.struct(nested).struct.json_encode().alias("")
    for row in frame.select(pl.exclude(nested), packed).iter_rows(named=True):
        yield {**row, **json.loads(row.pop(""))}


def is_json(source: TableLike) -> bool:
    """Whether the source is JSON: lines, an array, one object, or in an archive."""
    source = by_handle(source)
    if not isinstance(source, Handle) or is_saved(source.path):
        return False
    with source.open() as file:
        return file.container in ("json_lines", "json_array", "zip")


def source_name(source: TableLike) -> str:
    """The path as given, or the name of an in-memory frame, for errors."""
    if isinstance(source, Table):
        return source.name
    return str(source) if isinstance(source, (str, Path, Handle)) else object_name(source)


def as_frame(source: TableLike) -> pl.DataFrame:
    """A polars frame from a Table or from any object with a table."""
    if isinstance(source, Table):
        return source.frame
    return _named(object_frame(source), source_name(source))


def labels_as_of(source: TableLike) -> Mapping[str, str]:
    """The caller's meaning of words in label columns."""
    return source.labels_as if isinstance(source, Table) else {}


def as_text(values: pl.Series) -> pl.Series:
    """A column as text, for plain values of any type; lists and objects are refused.

    NaN is a missing value in pandas, and pandas makes floats of whole numbers with gaps: the text
    is 7, not "7.0".

    >>> as_text(pl.Series("year", [2025.0, float("nan")])).to_list()
    ['2025', None]
    """
    if values.dtype.is_nested():
        remedy = "it contains lists or objects: name a column of text or numbers"
        raise ArgumentError("column", values.name, remedy)
    if values.dtype.is_float():
        values = values.fill_nan(None)
        if ((values == values.round()) & (values.abs() < 2**53)).all():
            values = values.cast(pl.Int64)
    return values.cast(pl.String)


def _parquet(file: File, without: Collection[str]) -> pl.DataFrame:
    # polars reads a seekable file itself, so that its bytes are not in memory too.
    data = io.BytesIO(file.everything()) if file.packed else file.path
    with _complete(file, "Parquet"):
        names = pl.read_parquet_schema(data) if without else None
        wanted = None if names is None else [name for name in names if name not in without]
        return plain_frame(pl.read_parquet(data, columns=wanted))


def _sheet(file: File) -> pl.DataFrame:
    """The table of an Arrow file or of a workbook."""
    if file.container == "workbook":
        return plain_frame(workbook_frame(file.path))
    data = file.everything()
    read = pl.read_ipc if data.startswith(b"ARROW1") else pl.read_ipc_stream
    with _complete(file, "Arrow"):
        return plain_frame(read(io.BytesIO(data)))


def _parquet_rows(file: File) -> Iterator[Record]:
    # Parquet is read in slices, so the file must be seekable: gzip is unpacked completely.
    start = 0
    data: Path | bytes = file.everything() if file.packed else file.path
    while True:
        with _complete(file, "Parquet"):
            rows = plain_frame(pl.scan_parquet(data).slice(start, _PARQUET_ROWS).collect())
        if rows.height == 0:
            return
        yield from rows.iter_rows(named=True)
        start += rows.height


@contextmanager
def _complete(file: File, container: str) -> Iterator[None]:
    """Refuse a file that polars cannot read."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        problem = f"is not a complete {container} file ({lines[0]})"
        raise file.error(problem, "write or copy it again") from None


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
    texts = []
    for column in frame:
        if column.dtype == pl.Duration:
            texts.append(column.dt.to_string())
        elif column.dtype in (pl.Binary, pl.Categorical, pl.Enum):
            try:
                texts.append(column.cast(pl.String))
            except pl.exceptions.PolarsError:
                texts.append(column.bin.encode("hex"))
    return frame.with_columns(texts) if texts else frame


def columns_frame(columns: Mapping[str, Any], source: str) -> pl.DataFrame:
    """A frame from lists or arrays by name."""
    series = []
    for name, values in columns.items():
        if isinstance(values, (list, tuple)):
            series.append(column_series(str(name), list(values), source))
        else:
            series.append(pl.Series(str(name), values))
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
