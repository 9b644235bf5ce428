"""Items: single responses to be scored on their own, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.errors import DataError
from adjudge.io._schema import listed
from adjudge.io.tables import TableLike, iter_rows, source_name
from adjudge.records import Item

_REQUIRED = ("id", "prompt", "response")
_OPTIONAL = ("doc_id", "model")


def iter_items(source: TableLike) -> Iterator[Item]:
    """Items one at a time: id, prompt, response; doc_id and model where they are known.

    >>> next(iter_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})).id
    '1'
    """
    name = source_name(source)
    seen: set[int] = set()
    for row, record in enumerate(iter_rows(source), start=1):
        columns = list(record)
        known = {column: _text(record.pop(column, None)) for column in (*_REQUIRED, *_OPTIONAL)}
        for column in _REQUIRED:
            if known[column] is None:
                raise DataError(
                    name,
                    "is missing",
                    row=row,
                    column=column,
                    remedy=f"fill it in every row (columns here: {listed(columns)})",
                )
        key = hash(known["id"])
        if key in seen:
            raise DataError(
                name,
                f"id {known['id']!r} comes twice",
                row=row,
                column="id",
                remedy="give every item its own id",
            )
        seen.add(key)
        yield Item(**known, extra=record)  # type: ignore[arg-type]  # the required ones were checked


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
