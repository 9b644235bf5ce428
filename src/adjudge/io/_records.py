"""Rows of a file as records, one at a time: the checks that pairs and items share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adjudge.errors import DataError
from adjudge.io._formats import is_other, looks_like, other_format, refuse_other
from adjudge.io._schema import listed
from adjudge.io.tables import TableLike, iter_rows, source_name

Record = dict[str, Any]


def known_rows(
    source: TableLike,
    kind: str,
    required: Sequence[str],
    optional: Sequence[str],
    columns: Mapping[str, str] | None,
) -> Iterator[tuple[int, dict[str, str], dict[str, str | None], Record]]:
    """Row number, required texts, optional texts and the rest, for every row."""
    name = source_name(source)
    theirs = dict(columns or {})
    for row, record in enumerate(iter_rows(source), start=1):
        if row == 1 and not theirs:
            refuse_other(record, kind, name)
        for ours, other in theirs.items():
            record[ours] = _moved(record, ours, other, name)
        needed: dict[str, str] = {}
        for column in required:
            value = _text(record.pop(column, None), row, column, name)
            if value is None:
                known_here = {*required, *optional}
                raise _missing({*record, *needed}, row, column, kind, name, required, known_here)
            needed[column] = value
        known = {c: _text(record.pop(c, None), row, c, name) for c in optional}
        yield row, needed, known, record


def _moved(record: Record, ours: str, other: str, name: str) -> Any:
    if other not in record:
        raise DataError(
            name, "is not there", column=other, remedy="columns here: " + listed(list(record))
        )
    if ours in record and ours != other:
        record[f"{ours}_given"] = record[ours]
    return record.pop(other)


def _missing(
    here: set[str],
    row: int,
    column: str,
    kind: str,
    name: str,
    required: Sequence[str],
    known: set[str],
) -> DataError:
    found = looks_like(here)
    if row == 1 and found is not None and is_other(here, kind, required, known):
        return other_format(found, kind, name)
    return DataError(
        name,
        "is missing",
        row=row,
        column=column,
        remedy=f"fill it in every row (columns here: {listed(sorted(here))})",
    )


def _text(value: Any, row: int, column: str, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        raise DataError(
            name, "holds a list or an object", row=row, column=column, remedy="write it as text"
        )
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)
