"""JSON: lines, an array, one object with the rows inside, or the log of another tool.

Text is read through a growing window, so that one value is in memory at a time. As a frame, JSON
lines are parsed by polars from the types of the first rows; `is_all_of` then shows by counting
quotes and colons that the frame has everything: half the time of reading every line for its types.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.conversations import is_conversation
from adjudge.data.files import GIVE_ROWS, LINE_LIMIT, SAVE_AS_UTF8, File, has_half_characters
from adjudge.data.names import LOG
from adjudge.errors import DataError

Record = dict[str, Any]
#: Whether these columns are a row of a known kind.
IsRow = Callable[[Collection[str]], bool]
#: The maximum depth at which rows are searched.
_DEPTH = 3


class KeyTwiceError(ValueError):
    """An object that has one key twice: nobody knows which value is meant."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key {key!r} is in one object twice")


def _object(pairs: list[tuple[str, Any]]) -> Record:
    """The object of these pairs, if every key is there once."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise KeyTwiceError(next(key for key in keys if keys.count(key) > 1))
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def may_go_on(line: bytes) -> bool:
    """Whether a first line looks like the start of an object written over many lines."""
    return line.rstrip().endswith((b"{", b"[", b",")) and line.lstrip().startswith(b"{")


def rows_within(data: bytes, source: str, is_row: IsRow) -> list[Record] | None:
    """The rows in one JSON object; None if it has none, or is not one object.

    >>> rows_within(b'{"run": 7, "results": [{"id": 1}, {"id": 2}]}', "f.json", lambda _: False)
    [{'id': 1}, {'id': 2}]
    """
    try:
        value = json.loads(data, object_pairs_hook=_object)
    except KeyTwiceError as error:
        raise DataError(source, str(error), remedy=KEEP_ONE) from None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    columns = _from_columns(value)
    if columns is not None:
        return columns
    if is_row(value):
        return [value]
    lists = dict(_lists(value, ""))
    if len(lists) > 1:
        remedy = "keep one of them in the file"
        raise DataError(source, f"has rows in {' and in '.join(lists)}", remedy=remedy)
    for place, rows in lists.items():
        others = [key for key in value if key != place.partition(".")[0]]
        left = f"; not read: {', '.join(others)[:200]}" if others else ""
        LOG.warning("%s: the rows are in %s%s", source, place, left)
        return rows
    return None


def _lists(value: Record, place: str, depth: int = 1) -> Iterator[tuple[str, list[Record]]]:
    """Every list of objects that is not a conversation, and its place."""
    for key, inner in value.items():
        at = f"{place}.{key}" if place else str(key)
        if isinstance(inner, list) and inner and all(isinstance(row, dict) for row in inner):
            if not is_conversation(inner):
                yield at, inner
        elif isinstance(inner, dict) and depth < _DEPTH:
            yield from _lists(inner, at, depth + 1)


def _from_columns(value: Record) -> list[Record] | None:
    """Columns as lists of one length, or as objects by row as pandas writes them."""
    columns = list(value.values())
    if len(columns) < 2:
        return None
    lists = all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns)
    if lists and not all(isinstance(cell, dict) for column in columns for cell in column):
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    first = columns[0]
    if all(isinstance(column, dict) and column.keys() == first.keys() for column in columns):
        return [{name: value[name][row] for name in value} for row in first]
    return None


_SPACE = " \t\n\r"
#: What can be between a key and a value, or between two members.
_GAP = re.compile(r"[\s,:]*")
_EXPORT_AGAIN = "export the complete log again"
#: What to do with a key that is there twice.
KEEP_ONE = "keep one of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One JSON object with its rows in the list at `path`; without a path it is the only row.

    `more` are lists beside that one whose elements are rows too.

    It is detected by `marks`: keys of the object that are all in the first megabyte, and no key of
    `without` is. `keeps` are keys whose values every row gets, if they come before the list.
    `remark` says what a reader must know about the values that are kept. `refusal` is the problem
    and the remedy for an object that has no rows.
    """

    marks: frozenset[str]
    path: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    keeps: tuple[str, ...] = ()
    remark: Callable[[Mapping[str, Any]], str | None] | None = None
    refusal: tuple[str, str] | None = None


class Window:
    """The part of the text that is being parsed; the next value begins at `at`."""

    def __init__(self, file: File, remedy: str) -> None:
        self.file = file
        self.remedy = remedy
        self.text = ""
        self.at = 0
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._pieces = file.pieces()
        self._ended = False

    def peek(self, row: int = 0) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text) or self._ended:
                return self.text[self.at : self.at + 1]
            self._more(row)

    def take(self, character: str, row: int = 0) -> bool:
        """Step over the character, if it is the next one."""
        is_next = self.peek(row) == character
        self.at += is_next
        return is_next

    def expect(self, character: str, row: int = 0) -> None:
        """Step over the character, which must be the next one."""
        if not self.take(character, row):
            error = json.JSONDecodeError(f"Expecting {character!r} delimiter", self.text, self.at)
            raise self.broken(error, row)

    def value(self, row: int = 0) -> tuple[Any, str]:
        """The next value and its text."""
        self.peek(row)
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
                # A value that ends at the end of the window can continue in the next piece.
                if end == len(self.text) and not self._ended:
                    raise json.JSONDecodeError("Cut off", self.text, end)
            except KeyTwiceError as error:
                raise self.file.error(str(error), KEEP_ONE, row=row or None) from None
            except (RecursionError, ValueError) as error:
                if self._ended or not _cut_off(error, self.text):
                    raise self.broken(error, row) from None
                if len(self.text) - self.at > LINE_LIMIT:
                    raise self.file.too_long(row) from None
                self._more(row)
                continue
            written, self.at = self.text[self.at : end], end
            return value, written

    def broken(self, error: Exception, row: int) -> DataError:
        """The error for text that is not JSON."""
        reason = str(error)
        if isinstance(error, json.JSONDecodeError):
            # Some messages of the parser end in "at", to be followed by a place.
            reason = f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
        return self.file.error(f"is not valid JSON ({reason})", self.remedy, row=row or None)

    def _more(self, row: int) -> None:
        """Double the window, so that a long element is parsed only a few times."""
        parts, size = [self.text[self.at :]], len(self.text) - self.at
        needed = 2 * size + 1
        while size < needed and not self._ended:
            piece = next(self._pieces, None)
            try:
                parts.append(self._utf8.decode(piece or b"", final=piece is None))
            except UnicodeDecodeError:
                raise self.file.error("is not valid UTF-8", SAVE_AS_UTF8, row=row or None) from None
            size += len(parts[-1])
            self._ended = piece is None
        self.text, self.at = "".join(parts), 0


def elements(window: Window) -> Iterator[tuple[int, Any, str]]:
    """The elements of the list that begins here: number, value and text."""
    window.expect("[", 1)
    row = 0
    if window.take("]", 1):
        return
    while True:
        row += 1
        yield (row, *window.value(row))
        if window.take("]", row + 1):
            return
        window.expect(",", row + 1)


def find_envelope(beginning: bytes, known: Iterable[Envelope]) -> Envelope | None:
    """The envelope of a file with this beginning, if any; JSON lines have none."""
    keys = _keys(beginning)
    if keys is None:
        return None
    return next((e for e in known if e.marks <= keys and not e.without & keys), None)


def enveloped(file: File, envelope: Envelope) -> Iterator[tuple[int, Any, str]]:
    """The rows of one JSON object, each with the values that the envelope keeps."""
    window = Window(file, _EXPORT_AGAIN)
    if envelope.refusal is not None:
        raise file.error(*envelope.refusal)
    if not envelope.path:
        yield (1, *window.value(1))
        return
    header: dict[str, Any] = {}
    row = 0
    for depth, wanted in enumerate(envelope.path):
        is_last = depth == len(envelope.path) - 1
        names = (wanted, *(envelope.more if is_last else ()))
        if not _find_key(window, names, envelope.keeps, header):
            name = ".".join(envelope.path)
            raise file.error(f"has no list {name}", "export the log with its samples")
    if has_half_characters(header):
        raise file.error(*HALF_CHARACTER)
    remark = None if envelope.remark is None else envelope.remark(header)
    if remark is not None:
        LOG.warning("%s: %s", file.path, remark)
    while True:
        before = row
        for number, value, written in elements(window):
            row = before + number
            yield row, {**header, **value} if isinstance(value, dict) else value, written
        if not envelope.more or not window.take(","):
            break
        if not _find_key(window, (envelope.path[-1], *envelope.more), (), header, within=True):
            break
    if row == 0:
        raise file.error("has no rows", GIVE_ROWS)


def _find_key(
    window: Window,
    wanted: Collection[str],
    keeps: Iterable[str],
    header: dict[str, Any],
    *,
    within: bool = False,
) -> bool:
    """Read the object that begins here, or goes on here, up to the value of a wanted key."""
    if not within and (not window.take("{") or window.take("}")):
        return False
    while True:
        key, _ = window.value()
        window.expect(":")
        if key in wanted:
            return True
        value, _ = window.value()
        if key in keeps:
            header[key] = value
        if window.take("}"):
            return False
        window.expect(",")


def _keys(beginning: bytes) -> set[str] | None:
    """The keys of the object at the start of a text, if they are in it; None for JSON lines."""
    text = beginning.decode("utf-8", errors="ignore").lstrip("\ufeff" + _SPACE)
    decoder = json.JSONDecoder()
    try:
        _, end = decoder.raw_decode(text)
        if text[end:].strip():
            return None
    except (RecursionError, ValueError):
        pass  # truncated: its keys are read one by one
    keys: set[str] = set()
    at = 1
    try:
        while True:
            key, at = decoder.raw_decode(text, _past_gap(text, at))
            if not isinstance(key, str):
                return keys
            keys.add(key)
            _, at = decoder.raw_decode(text, _past_gap(text, at))
    except (RecursionError, ValueError):
        return keys


def _past_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return at if gap is None else gap.end()


def _cut_off(error: Exception, window: str) -> bool:
    """Whether more text could help: the error is at the window's end, or in an open string."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated") or error.pos >= len(window) - 12


_SPACED_KEY = re.compile(rb'[^\\]"[ \t]+:')
_BLOCK = 1024 * 1024
_QUOTE, _COLON, _JSON_SPACE, _TAB = b'": \t'


def is_all_of(rows: pl.DataFrame, data: bytes) -> bool:
    r"""Whether every key of the lines is a column here, and every text was written as one.

    False if that cannot be seen: with nested columns, if a space follows a quote, and if rows lack
    keys.

    >>> rows = pl.DataFrame({"id": ["x", "y"], "p": [0.5, None]})
    >>> is_all_of(rows, b'{"id": "x", "p": 0.5}\n{"id": "y", "p": null}')
    True
    >>> is_all_of(rows, b'{"id": "x", "p": 0.5}\n{"id": "y", "p": null, "q": 1}')
    False
    """
    if any(dtype.is_nested() for dtype in rows.schema.values()):
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # If a value is null, its key can be absent, and another key can be in its place.
    gaps = [column.name for column in rows if column.null_count()]
    if any(data.count(f'"{name}":'.encode()) != rows.height for name in gaps):
        return False
    texts = sum(rows.height - c.null_count() for c in rows if c.dtype == pl.String)
    keys = rows.height * rows.width
    return _count_quotes(data) == (2 * keys + 2 * texts, keys)


def may_have_key_twice(rows: pl.DataFrame, data: bytes) -> bool:
    r"""Whether a row of the lines can have one key twice; sure if False.

    >>> may_have_key_twice(pl.DataFrame({"id": ["x"], "p": [2]}), b'{"id": "x", "p": 1, "p": 2}')
    True
    """
    # With a space before the colon, keys cannot be counted as below.
    if _SPACED_KEY.search(data):
        return True
    keys = {name: f"{json.dumps(name)}:".encode() for name in rows.columns}
    return any(
        data.count(key) > rows.height - _absent(rows[name], data) for name, key in keys.items()
    )


def _absent(values: pl.Series, data: bytes) -> int:
    """How many rows lack the key: its empty values that are not written as null."""
    if not values.null_count():
        return 0
    key = f"{json.dumps(values.name)}:".encode()
    written = data.count(key + b" null") + data.count(key + b"null")
    return values.null_count() - written


def _count_quotes(data: bytes) -> tuple[int, int] | None:
    """The number of quotes, and of quotes before a colon; None if a space follows one."""
    codes = np.frombuffer(data, dtype=np.uint8)
    quotes = keys = 0
    for start in range(0, len(codes) - 1, _BLOCK):
        block = codes[start : start + _BLOCK + 1]
        is_quote, after = block[:-1] == _QUOTE, block[1:]
        if (is_quote & ((after == _JSON_SPACE) | (after == _TAB))).any():
            return None
        quotes += int(np.count_nonzero(is_quote))
        keys += int(np.count_nonzero(is_quote & (after == _COLON)))
    return quotes, keys


#: Above this a float does not hold every whole number.
_EXACT = 2**53
_JSON_TYPES = {str, bool, int, float, dict, list}

#: polars silently turns half of a surrogate pair into NUL; then Python's parser is used.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile(_SURROGATE.pattern.decode())
#: The problem of "\ud83d" without its other half, and the remedy.
HALF_CHARACTER = (
    "contains half of a character (a lone surrogate escape)",
    "repair or drop that character",
)
_ONE_A_LINE = "write one object per line"
#: Rows from which columns and types are taken; `is_all_of` checks the other rows.
_FIRST_ROWS = 1000


def json_records(file: File) -> Iterator[Record]:
    """The objects of a JSON lines file or a JSON array, one at a time, in bounded memory."""
    if file.container == "json_array":
        return _array_records(file)
    return _objects(file, file.lines(file.pieces()))


def json_frame(file: File) -> pl.DataFrame:
    """All objects as one frame; numbers, texts, lists and nested objects keep their type.

    A column that mixes texts with other things becomes text.
    """
    if file.container == "json_array":
        return records_frame(list(_array_records(file)), str(file.path))
    data = file.everything()
    if not _SURROGATE.search(data):
        for looked_at in (_FIRST_ROWS, None):
            try:
                frame = pl.read_ndjson(data, infer_schema_length=looked_at)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                continue  # something is wrong or unusual: the exact reading below reports it
            complete = is_all_of(frame, data)
            if not complete and may_have_key_twice(frame, data):
                break
            if looked_at is None or frame.height <= looked_at or complete:
                # A whole number that large, next to a fraction, has lost digits.
                floats = (column for column in frame if column.dtype == pl.Float64)
                if not any((column.abs() >= _EXACT).any() for column in floats):
                    return frame
                break
    return records_frame(list(_objects(file, data.splitlines(keepends=True))), str(file.path))


def object_rows(file: File, is_row: IsRow) -> list[Record] | None:
    """The rows inside a file that is one JSON object; None for JSON lines, seen in two of them."""
    lines = (line for line in file.lines(file.pieces()) if line.strip())
    start = list(islice(lines, 2))
    if len(start) > 1 and not may_go_on(start[0]):
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
    for only, dtype in ((set[type](), pl.Null), ({str}, pl.String), ({bool}, pl.Boolean)):
        if kinds == only:
            return pl.Series(key, values, dtype=dtype)
    if kinds == {int} and all(v is None or -(2**63) <= v < 2**63 for v in values):
        return pl.Series(key, values, dtype=pl.Int64)
    if (
        kinds <= {int, float}
        and float in kinds
        and not any(isinstance(v, int) and abs(v) >= _EXACT and int(float(v)) != v for v in values)
    ):
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
    for row, line in enumerate((line for line in lines if line.strip()), start=1):
        text = file.decode(line, row)
        try:
            value = _DECODER.decode(text)
        except KeyTwiceError as error:
            raise file.error(str(error), KEEP_ONE, row=row) from None
        except (RecursionError, ValueError) as error:
            if row == 1 and may_go_on(line):
                problem = "is one JSON object without rows, or several objects over many lines"
                remedy = "write one object per line, or a JSON array of objects"
                raise file.error(problem, remedy) from None
            raise Window(file, _ONE_A_LINE).broken(error, row) from None
        yield check_record(file, value, text, row)


def check_record(file: File, value: object, text: str, row: int) -> Record:
    """The value as a record; other values, and text that cannot be written, are refused."""
    if not isinstance(value, dict):
        problem = f"is a JSON {type(value).__name__}, not an object"
        raise file.error(problem, 'write each row as {"column": value, ...}', row=row)
    if _HALF.search(text) and has_half_characters(value):
        raise file.error(*HALF_CHARACTER, row=row)
    return value


def _array_records(file: File) -> Iterator[Record]:
    """Element by element, so that one element is in memory at a time."""
    window, row = Window(file, _ONE_A_LINE), 0
    for row, value, text in elements(window):
        yield check_record(file, value, text, row)
    if window.peek():
        remedy = "write one JSON array and nothing after it"
        raise file.error("continues after the end of its JSON array", remedy, row=row or None)
    if row == 0:
        raise file.error("has no rows", GIVE_ROWS)
