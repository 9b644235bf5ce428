"""CSV and TSV as frames of text, block by block: bounded memory, no Python loop per row.

polars silently pads short rows with nulls. So the delimiters of every block are counted first; only
a block with a wrong count is read by the slow, exact `csv` module, which then names the row.

A cell that a spreadsheet would run as a formula (it starts with = + - @, a tab or a line end) is
written with a mark: an apostrophe and a word joiner (U+2060), which people do not type. So it is
recognised even after a spreadsheet has saved the file.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain

import numpy as np
import polars as pl
import polars.selectors as cs

from adjudge.data.files import GIVE_ROWS, HEADER_FIRST, LINE_LIMIT, SAVE_AS_UTF8, File
from adjudge.data.names import drop_gaps

#: Names of columns, or a function that returns them from all names.
ColumnChoice = Collection[str] | Callable[[Sequence[str]], Collection[str]]
Schema = dict[str, type[pl.String | pl.Float64]]

#: Bytes parsed in one step: large if all rows are read, small if they are streamed.
BLOCK = 8 * 1024 * 1024
STREAM_BLOCK = 1024 * 1024
_BATCH = 20_000
MARK = "'\u2060"
_RUN = r"(?:[ \t\r\n]*[=+\-@＝＋－＠]|[\t\r\n])"
_PLAIN_NUMBER = r"^[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"
#: A text that already looks marked gets one more mark, so that it is restored exactly. Patterns for
#: polars and for Python: in Python a line end can follow "$".
_TO_MARK = rf"^(?:{MARK})*{_RUN}"
_TO_RESTORE = rf"^(?:{MARK})+{_RUN}"
_TEXT = (pl.String, pl.Categorical, pl.Enum)
_MARK = MARK.encode()
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_NUMBER = r"^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$"
_WHOLE = r"^-?\d+$"
_TRUTH = ("true", "false", "True", "False", "TRUE", "FALSE")
#: Excel's line that declares the separator.
_SEPARATOR = re.compile(rb'^"?sep=(.)"?\s*$')


class NotNumbersError(Exception):
    """A column that is declared as numbers has a field that is not one."""


def csv_frame(file: File, numbers: ColumnChoice = ()) -> pl.DataFrame:
    """All rows, as in `csv_blocks`; if a field of `numbers` is not a number, all are text."""
    with suppress(NotNumbersError):
        return pl.concat(list(csv_blocks(file, numbers=numbers)))
    return pl.concat(list(csv_blocks(file)))


def csv_blocks(
    file: File, *, block: int | None = None, numbers: ColumnChoice = ()
) -> Iterator[pl.DataFrame]:
    """Frames of text columns; an empty field is null, a quoted empty one is the empty text.

    The columns `numbers` are numbers, null for a word that means a missing value; they are parsed
    as numbers, which is faster than from text. Any other field raises NotNumbersError.
    """
    pieces = file.pieces()
    first, rest = _header_record(file, pieces)
    said = _SEPARATOR.match(first)
    if said:
        first, rest = _header_record(file, chain([rest], pieces))
    outside = "".join(first.decode("utf-8", errors="replace").split('"')[::2])
    delimiter = said[1].decode() if said else max(",\t;|", key=outside.count)
    header = _header(file, first, delimiter)
    declared = {*(numbers(header) if callable(numbers) else numbers)} & {*header}
    texts: Schema = dict.fromkeys(header, pl.String)
    schema: Schema = {**texts, **dict.fromkeys(declared, pl.Float64)}
    block = BLOCK if block is None else block
    pending, want, row, ended = rest, block, 0, False
    while not ended:
        data, rest, ended = _gather(pending, pieces, want)
        if ended and len(header) > 1:
            data = data.rstrip(b"\r\n")
        if ended and data and not data.endswith(b"\n"):
            data += b"\n"
        cut, records = _well_formed(data, ord(delimiter), len(header))
        pending = data[cut:] + rest
        if cut == 0 and not ended:
            if len(pending) > LINE_LIMIT:
                raise file.too_long(row + 1)
            want *= 2
            continue
        adds_up = records >= 0 and not (ended and pending)
        frame = _parse(data[:cut], delimiter, schema, records) if adds_up else None
        if frame is None and adds_up and declared:
            frame = _parse(data[:cut], delimiter, texts, records)
        if frame is None:
            for frame in _read_exactly(file, pieces, data + rest, delimiter, header, row):
                row += frame.height
                yield _with_numbers(frame, declared)
            break
        row += frame.height
        yield _with_numbers(frame, declared)
        want = block
    if row == 0:
        raise file.error("has a header and no rows", GIVE_ROWS)


def type_columns(
    frame: pl.DataFrame, text: Collection[str], numbers: Collection[str] = ()
) -> pl.DataFrame:
    """Numbers and booleans if every field of a column is clearly one; `text` columns stay text.

    In columns that are declared as `numbers`, everything that can be read as a number is one.
    """
    return frame.with_columns(
        _as_numbers(column) if column.name in numbers else _typed(column)
        for column in frame
        if column.name not in text and column.dtype == pl.String
    )


def _as_numbers(column: pl.Series) -> pl.Series:
    number = column.cast(pl.Float64, strict=False)
    gone = number.null_count() > column.null_count()
    return column if gone or not number.is_finite().all() else number


def _typed(column: pl.Series) -> pl.Series:
    # Most text columns are recognised by their first field, without a pass over all fields.
    first = next(iter(column.drop_nulls().head(1)), "")
    if first not in _TRUTH and not re.search(_NUMBER, first):
        return column
    if re.search(_WHOLE, first):
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count() and (whole.cast(pl.String) == column).all():
            return whole
    if column.str.contains(_NUMBER).all():
        number = column.cast(pl.Float64, strict=False)
        if number.null_count() == column.null_count() and not number.is_infinite().any():
            return number
    return column.str.to_lowercase() == "true" if column.is_in(_TRUTH).all() else column


def _gather(pending: bytes, pieces: Iterator[bytes], want: int) -> tuple[bytes, bytes, bool]:
    """Lines of about `want` bytes, the beginning of the next line, and whether the file ended."""
    gathered, size = [pending], len(pending)
    while size < want:
        piece = next(pieces, None)
        if piece is None:
            return b"".join(gathered), b"", True
        gathered.append(piece)
        size += len(piece)
    # The last piece is cut, not the block: copying a block takes a tenth of its parsing.
    last = gathered.pop()
    cut = last.rfind(b"\n") + 1
    return b"".join([*gathered, last[:cut]]), last[cut:], False


def _header_record(file: File, pieces: Iterator[bytes]) -> tuple[bytes, bytes]:
    """The first record and what follows it; line ends inside quotes do not end a record."""
    before: list[bytes] = []
    size, inside = 0, False
    for piece in pieces:
        piece = piece if before else piece.lstrip(b"\r\n")
        start = 0
        while (newline := piece.find(b"\n", start)) >= 0:
            inside ^= piece.count(b'"', start, newline) % 2 == 1
            start = newline + 1
            if not inside:
                return b"".join([*before, piece[:start]]), piece[start:]
        inside ^= piece.count(b'"', start) % 2 == 1
        before.append(piece)
        size += len(piece)
        if size > LINE_LIMIT:
            raise file.too_long(1)
    return b"".join(before), b""


def _header(file: File, record: bytes, delimiter: str) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(record.decode("utf-8")), delimiter=delimiter), [])
    except UnicodeDecodeError:
        raise file.error("the header is not valid UTF-8", SAVE_AS_UTF8) from None
    except csv.Error as error:
        remedy = "check its quotes, and end lines with LF or CRLF"
        raise file.error(f"the header cannot be read ({error})", remedy) from None
    names = restore(pl.Series([name.strip() for name in names], dtype=pl.String)).to_list()
    if {"Status", "Grader Reason"} <= set(names):
        # Its columns repeat for every prompt, and a person's rating replaces the grade.
        problem = "is promptfoo's CSV, which mixes graders and people"
        raise file.error(problem, "export the results as JSON or JSONL")
    if sum(map(bool, names)) < 2 < len(names):
        raise file.error("the first line is a title, not the header", HEADER_FIRST)
    for name in names:
        if names.count(name) > 1:
            raise file.error(f"two columns have the name {name!r}", "rename one of them")
    return names


def _well_formed(data: bytes, delimiter: int, width: int) -> tuple[int, int]:
    """The end of the last complete record, and the number of records; -1 if a count is wrong."""
    codes = np.frombuffer(data, dtype=np.uint8)
    if width > 1 and _QUOTE not in data:
        # polars refuses a record that is too long. So if it reads as many records as there are
        # delimiters for, none is too short.
        cut = data.rfind(_NEWLINE) + 1
        return cut, int(np.count_nonzero(codes[:cut] == delimiter)) // (width - 1)
    at = np.flatnonzero((codes == _NEWLINE) | (codes == delimiter) | (codes == _QUOTE))
    kinds = codes[at]
    # Running parity of quotes; uint8 wraps at 256, which is even, so parity survives.
    outside = (np.cumsum(kinds == _QUOTE, dtype=np.uint8) & 1) == 0
    breaks = outside & (kinds == _NEWLINE)
    ends = at[breaks]
    if ends.size == 0:
        return 0, 0
    commas = np.cumsum(outside & (kinds == delimiter))[breaks]
    if (np.diff(commas, prepend=0) != width - 1).any():
        return int(ends[-1]) + 1, -1
    if width == 1:
        lengths = np.diff(ends, prepend=-1)
        if (lengths == 1).any() or ((lengths == 2) & (codes[ends - 1] == _RETURN)).any():
            return int(ends[-1]) + 1, -1
    return int(ends[-1]) + 1, int(ends.size)


def _parse(data: bytes, delimiter: str, schema: Schema, records: int) -> pl.DataFrame | None:
    """The records, or None if only the exact reading is sure to be right."""
    if not data:
        return pl.DataFrame(schema=schema)
    try:
        frame = pl.read_csv(data, has_header=False, schema=schema, separator=delimiter)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    # A sum is finite only if every number is.
    finite = all(math.isfinite(column.sum()) for column in frame.select(cs.float()))
    if frame.height != records or not finite:
        return None
    # One byte of the mark is rare in files, and searching it is faster than the complete mark.
    marked = _MARK[-1] in data and _MARK in data
    return restore_frame(frame) if marked else frame


def _with_numbers(frame: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    texts = [column for column in frame if column.name in names and column.dtype == pl.String]
    numbers = [_as_numbers(drop_gaps(column)) for column in texts]
    if any(column.dtype == pl.String for column in numbers):
        raise NotNumbersError
    return frame.with_columns(numbers)


def _read_exactly(
    file: File, pieces: Iterator[bytes], start: bytes, delimiter: str, header: list[str], row: int
) -> Iterator[pl.DataFrame]:
    """Exact reading of a block with a wrong count: good rows as frames, an error for a bad row."""
    csv.field_size_limit(LINE_LIMIT)
    batch: list[list[str | None]] = []
    lines = (file.decode(line, row + 1) for line in file.lines(pieces, start))
    try:
        for fields in csv.reader(lines, delimiter=delimiter, strict=True):
            if not fields and len(header) > 1:
                continue
            row += 1
            if fields and len(fields) != len(header):
                here = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                problem = f"has {here} where the header has {len(header)}"
                remedy = "put quotes around text with the separator"
                if len(header) == 1:  # prose, code or a configuration
                    remedy = "give a table (CSV with a header, JSON lines or Parquet), or " + remedy
                raise file.error(problem, remedy, row=row)
            batch.append([field or None for field in fields] or [None])
            if len(batch) == _BATCH:
                yield _text_frame(batch, header)
                batch = []
    except csv.Error as error:
        problem = f"cannot be read as CSV ({error})"
        raise file.error(problem, "check its quotes", row=row + 1) from None
    yield _text_frame(batch, header)


def _text_frame(rows: list[list[str | None]], header: list[str]) -> pl.DataFrame:
    return restore_frame(pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row"))


def neutralise(texts: pl.Series) -> pl.Series:
    r"""Texts as cells that no spreadsheet runs.

    >>> cells = neutralise(pl.Series(["=1+1", "-1.5", "- so", "'-' is"]))
    >>> [cell.replace("\u2060", "|") for cell in cells]
    ["'|=1+1", '-1.5', "'|- so", "'-' is"]
    """
    marked = texts.str.contains(_TO_MARK) & ~texts.str.contains(_PLAIN_NUMBER)
    return _where(marked, pl.lit(MARK) + texts, texts)


def restore(texts: pl.Series) -> pl.Series:
    """The original texts before `neutralise`.

    >>> restore(neutralise(pl.Series(["@SUM(A1)"]))).to_list()
    ['@SUM(A1)']
    >>> restore(pl.Series(["'=quoted by a person'"])).to_list()
    ["'=quoted by a person'"]
    """
    return _where(texts.str.contains(_TO_RESTORE), texts.str.slice(len(MARK)), texts)


def neutralise_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """All texts of a frame, and its column names, as cells that no spreadsheet runs."""
    safe = frame.with_columns(
        neutralise(column.cast(pl.String)) for column in frame if column.dtype in _TEXT
    )
    safe.columns = neutralise(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return safe


def restore_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The original texts before `neutralise_frame`, in text columns."""
    return frame.with_columns(restore(column) for column in frame if column.dtype == pl.String)


def _where(flags: pl.Series, then: pl.Series | pl.Expr, otherwise: pl.Series) -> pl.Series:
    chosen = pl.when(flags).then(then).otherwise(otherwise)
    return pl.select(chosen).to_series().alias(otherwise.name)
