"""JSON lines and JSON arrays, as one frame or as records one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import polars as pl

from adjudge.errors import DataError
from adjudge.io.files import GIVE_ROWS, File
from adjudge.io.json_counts import is_all_of
from adjudge.io.json_objects import IsRow, may_go_on, rows_within
from adjudge.io.json_objects import Record as Record
from adjudge.io.json_windows import Window, elements

_JSON_TYPES = {str, bool, int, float, dict, list}

#: polars silently turns half of a surrogate pair into NUL; then Python's parser is used.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile(_SURROGATE.pattern.decode())
_ONE_A_LINE = "write one object per line"
#: Rows from which columns and types are taken; `is_all_of` checks the other rows.
_FIRST_ROWS = 1000


def json_records(file: File, is_row: IsRow) -> Iterator[Record]:
    """The objects of a JSON lines file or a JSON array, one at a time, in bounded memory.

    If the file is one object that is not a row, the rows inside it are read.
    """
    if file.container == "json_array":
        yield from _array_records(file)
        return
    rows = object_rows(file, is_row)
    yield from _objects(file, file.lines(file.pieces())) if rows is None else rows


def json_frame(file: File, is_row: IsRow) -> pl.DataFrame:
    """All objects as one frame; numbers, texts, lists and nested objects keep their type.

    A column that mixes texts with other things becomes text.
    """
    if file.container == "json_array":
        return records_frame(list(_array_records(file)), str(file.path))
    rows = object_rows(file, is_row)
    if rows is not None:
        return records_frame(rows, str(file.path))
    data = file.everything()
    if not _SURROGATE.search(data):
        for looked_at in (_FIRST_ROWS, None):
            try:
                frame = pl.read_ndjson(data, infer_schema_length=looked_at)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                continue  # something is wrong or unusual: the exact reading below reports it
            if looked_at is None or frame.height <= looked_at or is_all_of(frame, data):
                return frame
    return records_frame(list(_objects(file, data.splitlines(keepends=True))), str(file.path))


def is_object(file: File) -> bool:
    """Whether the file looks like one JSON object: of its lines at most two are read."""
    lines = (line for line in file.lines(file.pieces()) if line.strip())
    start = list(islice(lines, 2))
    return len(start) == 1 or may_go_on(start[0])


def object_rows(file: File, is_row: IsRow) -> list[Record] | None:
    """The rows inside a file that is one JSON object; None for JSON lines."""
    if not is_object(file):
        return None
    data = file.everything()
    rows = rows_within(data, str(file.path), is_row)
    if rows is not None and _SURROGATE.search(data):
        for number, row in enumerate(rows, start=1):
            check_record(file, row, json.dumps(row), number)
    return rows


def records_frame(rows: list[Record], name: str) -> pl.DataFrame:
    """A frame from Python objects, column by column; no value is lost."""
    if not any(rows):
        raise DataError(name, "has no rows", remedy=GIVE_ROWS)
    names = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame([column_series(key, [row.get(key) for row in rows], name) for key in names])


def column_series(key: str, values: list[Any], name: str) -> pl.Series:
    """Python values as one column: of their common type, or as text if types are mixed."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pl.Series(key, values, dtype=pl.Null)
    if kinds == {str}:
        return pl.Series(key, values, dtype=pl.String)
    if kinds == {bool}:
        return pl.Series(key, values, dtype=pl.Boolean)
    if kinds == {int} and all(v is None or -(2**63) <= v < 2**63 for v in values):
        return pl.Series(key, values, dtype=pl.Int64)
    if kinds <= {int, float} and float in kinds:
        return pl.Series(key, [None if v is None else float(v) for v in values], dtype=pl.Float64)
    if kinds <= {dict, list}:
        try:
            text = "\n".join(json.dumps({key: value}, allow_nan=False) for value in values)
        except ValueError:
            problem = "contains NaN or infinity inside a list or object"
            raise DataError(name, problem, column=key, remedy="write null instead") from None
        try:
            return pl.read_ndjson(text.encode(), infer_schema_length=None).to_series()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # lists and objects that do not share a type stay JSON text
    if not kinds & _JSON_TYPES:
        try:
            return pl.Series(key, values)  # dates and the like
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
            pass
    return pl.Series(key, [as_json_text(value) for value in values], dtype=pl.String)


def as_json_text(value: Any) -> str | None:
    """A value of a mixed column as text: texts unchanged, other values as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value) if type(value) in _JSON_TYPES else str(value)


def _objects(file: File, lines: Iterable[bytes]) -> Iterator[Record]:
    filled = (line for line in lines if line.strip())
    return (_object(file, line, row) for row, line in enumerate(filled, start=1))


def _object(file: File, line: bytes, row: int) -> Record:
    text = file.decode(line, row)
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        if row == 1 and may_go_on(line):
            problem = "is one JSON object without rows, or several objects over many lines"
            remedy = "write one object per line, or a JSON array of objects"
            raise file.error(problem, remedy) from None
        raise Window(file, _ONE_A_LINE).broken(error, row) from None
    return check_record(file, value, text, row)


def check_record(file: File, value: object, text: str, row: int) -> Record:
    """The value as a record; other values, and text that cannot be written, are refused."""
    if not isinstance(value, dict):
        problem = f"is a JSON {type(value).__name__}, not an object"
        raise file.error(problem, 'write each row as {"column": value, ...}', row=row)
    if _HALF.search(text):
        # "\ud83d" without its other half can be parsed, but not written to a file or sent.
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            problem = "contains half of a character (a lone surrogate escape)"
            raise file.error(problem, "repair or drop that character", row=row) from None
    return value


def _array_records(file: File) -> Iterator[Record]:
    """Element by element, so that one element is in memory at a time."""
    window, row = Window(file, _ONE_A_LINE), 0
    for row, value, text in elements(window):
        yield check_record(file, value, text, row)
    if not window.is_over():
        remedy = "write one JSON array and nothing after it"
        raise file.error("continues after the end of its JSON array", remedy, row=row or None)
    if row == 0:
        raise file.error("has no rows", GIVE_ROWS)
