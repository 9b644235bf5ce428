"""One JSON object with a table: a list of rows somewhere inside, or columns by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from adjudge.errors import DataError
from adjudge.io.conversations import is_conversation
from adjudge.io.names import LOG

Record = dict[str, Any]
#: Whether these columns are a row of a known kind.
IsRow = Callable[[Collection[str]], bool]
#: The maximum depth at which rows are searched.
_DEPTH = 3


def may_go_on(line: bytes) -> bool:
    """Whether a first line looks like the start of an object written over many lines."""
    return line.rstrip().endswith((b"{", b"[", b",")) and line.lstrip().startswith(b"{")


def rows_within(data: bytes, source: str, is_row: IsRow) -> list[Record] | None:
    """The rows in one JSON object; None if it has none, or is not one object.

    >>> rows_within(b'{"run": 7, "results": [{"id": 1}, {"id": 2}]}', "f.json", lambda _: False)
    [{'id': 1}, {'id': 2}]
    """
    try:
        value = json.loads(data)
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
