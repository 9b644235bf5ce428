"""JSON text read through a growing window: one value is in memory at a time.

A JSON array is read element by element. So is the list inside one big object, which is how other
tools write their logs. An `Envelope` gives the place of the list and the other fields that its rows
need.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from adjudge.errors import DataError
from adjudge.io.files import GIVE_ROWS, LINE_LIMIT, SAVE_AS_UTF8, File

_SPACE = " \t\n\r"
#: What can be between a key and a value, or between two members.
_GAP = re.compile(r"[\s,:]*")
_EXPORT_AGAIN = "export the complete log again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One JSON object with its rows in the list at `path`; without a path it is the only row.

    It is detected by `marks`: keys of the object that are all in the first megabyte, and no key of
    `without` is. `keeps` are keys whose values every row gets, if they come before the list.
    `refusal` is the problem and the remedy for an object that has no rows.
    """

    marks: frozenset[str]
    path: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    keeps: tuple[str, ...] = ()
    refusal: tuple[str, str] | None = None


class Window:
    """The part of the text that is being parsed; the next value begins at `at`."""

    def __init__(self, file: File, remedy: str) -> None:
        self.file = file
        self.remedy = remedy
        self.text = ""
        self.at = 0
        self._decoder = json.JSONDecoder()
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
                value, end = self._decoder.raw_decode(self.text, self.at)
                # A value that ends at the end of the window can continue in the next piece.
                if end == len(self.text) and not self._ended:
                    raise json.JSONDecodeError("Cut off", self.text, end)
            except (RecursionError, ValueError) as error:
                if self._ended or not _cut_off(error, self.text):
                    raise self.broken(error, row) from None
                if len(self.text) - self.at > LINE_LIMIT:
                    raise self.file.too_long(row) from None
                self._more(row)
                continue
            written, self.at = self.text[self.at : end], end
            return value, written

    def is_over(self) -> bool:
        """Whether only spaces are left."""
        return self.peek() == ""

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
    return next((one for one in known if one.marks <= keys and not one.without & keys), None)


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
        if not _find_key(window, wanted, envelope.keeps if depth == 0 else (), header):
            name = ".".join(envelope.path)
            raise file.error(f"has no list {name}", "export the log with its samples")
    for row, value, written in elements(window):
        yield row, {**header, **value} if isinstance(value, dict) else value, written
    if row == 0:
        raise file.error("has no rows", GIVE_ROWS)


def _find_key(window: Window, wanted: str, keeps: Iterable[str], header: dict[str, Any]) -> bool:
    """Read the object that begins here up to the value of the wanted key."""
    if not window.take("{") or window.take("}"):
        return False
    while True:
        key, _ = window.value()
        window.expect(":")
        if key == wanted:
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
