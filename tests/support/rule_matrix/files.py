"""The files that a command reads: how they are held, changed and written."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from rule_matrix.rows import Row

Format = Literal["jsonl", "csv", "tsv"]
_SEPARATORS = {"csv": ",", "tsv": "\t"}
#: Files in memory, where there is such a folder: thousands are written.
_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


class KeyTwice(NamedTuple):
    """A value of a JSON object whose key is there twice."""

    first: Any
    second: Any


@dataclass(frozen=True, eq=False)
class Files:
    """Tables by name, texts by file name, and the options that the command needs for them."""

    tables: Mapping[str, Sequence[Row]]
    texts: Mapping[str, str] = field(default_factory=dict)
    options: str = ""

    def with_table(self, name: str, rows: Sequence[Row]) -> Files:
        return replace(self, tables={**self.tables, name: rows})

    def with_text(self, name: str, text: str) -> Files:
        return replace(self, texts={**self.texts, name: text})

    def with_options(self, options: str) -> Files:
        return replace(self, options=options)

    def change(self, name: str, change_row: Callable[[Row], Row]) -> Files:
        """The files with every row of one table changed."""
        return self.with_table(name, [change_row(row) for row in self.tables[name]])

    @property
    def rows(self) -> Sequence[Row]:
        return self.tables["rows"]

    @property
    def count(self) -> int:
        """The rows of all tables."""
        return sum(map(len, self.tables.values()))


@contextlib.contextmanager
def in_folder(files: Files, format: Format = "jsonl") -> Iterator[dict[str, str]]:
    """Work in a new folder with the files; the names of the tables' files, by table."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="matrix-", dir=_MEMORY) as folder:
        os.chdir(folder)
        try:
            yield write_files(files, format)
        finally:
            os.chdir(before)


def write_files(files: Files, format: Format) -> dict[str, str]:
    """Write the files into this folder; the names of the tables' files, by table."""
    for name, text in files.texts.items():
        Path(name).write_text(text)
    paths = {name: f"{name}.{format}" for name in files.tables}
    for name, text in tables_text(files, format).items():
        Path(paths[name]).write_text(text)
    return paths


@lru_cache(maxsize=32)
def tables_text(files: Files, format: Format) -> dict[str, str]:
    """The text of each table; many cells have the same files."""
    return {name: table_text(rows, format) for name, rows in files.tables.items()}


def table_text(rows: Sequence[Row], format: Format) -> str:
    """The rows as the text of a file, every row with all columns."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    if format == "jsonl":
        return "".join(_json_line(row, columns) + "\n" for row in rows)
    frame = pl.DataFrame(
        {column: [row.get(column) for row in rows] for column in columns}, strict=False
    )
    return frame.write_csv(separator=_SEPARATORS[format])


def _json_line(row: Row, columns: Sequence[str]) -> str:
    if not any(isinstance(value, KeyTwice) for value in row.values()):
        return json.dumps({column: row.get(column) for column in columns})
    items = [(column, value) for column in columns for value in _values(row.get(column))]
    return "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in items) + "}"


def _values(value: Any) -> Sequence[Any]:
    """The value, or both values of a key that is there twice."""
    return value if isinstance(value, KeyTwice) else (value,)
