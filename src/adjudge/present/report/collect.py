"""Everything a folder holds that a report can use: results by kind, pairs and judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from adjudge.errors import AdjudgeError, DataError
from adjudge.io import read_judgments, read_pairs, read_result, read_table
from adjudge.results.base import Result

R = TypeVar("R", bound=Result)

_TABLES = (".jsonl", ".csv", ".parquet", ".gz", ".ndjson", ".tsv")
#: A report shows ten pairs; a larger file is not read for them.
_LARGEST_TABLE = 200 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Found:
    """One result and the file it came from."""

    path: Path
    result: Result


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What was found, and what was passed over and why."""

    folder: Path
    results: tuple[Found, ...]
    pairs: pl.DataFrame | None = None
    judgments: tuple[pl.DataFrame, ...] = ()
    passed_over: dict[str, str] = field(default_factory=dict)

    def of(self, made: type[R]) -> list[R]:
        """The results of one class, in the order of their file names."""
        return [result for _, result in self.named(made)]

    def named(self, made: type[R]) -> list[tuple[str, R]]:
        """The same, each with the name of its file."""
        return [
            (found.path.name, found.result)
            for found in self.results
            if isinstance(found.result, made)
        ]


def collect(folder: str | Path) -> Collected:
    """Read a folder. A file that is not ours is passed over with its reason, not an error."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(folder, "is not a folder", remedy="give the folder adjudge wrote into")
    results: list[Found] = []
    passed: dict[str, str] = {}
    tables: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".json":
            try:
                results.append(Found(path=path, result=read_result(path)))
            except AdjudgeError as error:
                passed[path.name] = str(error)
        elif path.suffix in _TABLES:
            tables.append(path)
    if not results:
        raise DataError(
            folder, "holds no result of adjudge", remedy="write results there with -o FILE.json"
        )
    pairs, judgments = _rows(tables, passed)
    return Collected(
        folder=folder,
        results=tuple(results),
        pairs=pairs,
        judgments=judgments,
        passed_over=passed,
    )


def _rows(
    tables: Sequence[Path], passed: dict[str, str]
) -> tuple[pl.DataFrame | None, tuple[pl.DataFrame, ...]]:
    pairs: list[pl.DataFrame] = []
    judgments: list[pl.DataFrame] = []
    for path in tables:
        if path.stat().st_size > _LARGEST_TABLE:
            passed[path.name] = "too large to be read for a report"
            continue
        try:
            columns = set(read_table(path).columns)
            if {"id", "prompt", "response_a", "response_b"} <= columns:
                pairs.append(read_pairs(path))
            elif {"id", "judge", "status"} <= columns and columns & {"p_a", "p_fwd"}:
                judgments.append(read_judgments(path))
        except AdjudgeError as error:
            passed[path.name] = str(error)
    texts = ["id", "prompt", "response_a", "response_b"]
    together = pl.concat([frame.select(texts) for frame in pairs]) if pairs else None
    return (None if together is None else together.unique("id", keep="first")), tuple(judgments)
