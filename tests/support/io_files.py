"""One fixture of every format, and the reader of every kind of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.data import (
    Source,
    Table,
    read_battles,
    read_items,
    read_judgments,
    read_labels,
    read_pairs,
    read_scores,
    read_tournaments,
)
from adjudge.data.grades import BINARY_COLUMNS

FILES = {p.stem: p for p in sorted((Path(__file__).parents[1] / "unit/data/fixtures").iterdir())}
READERS: dict[str, Callable[..., pl.DataFrame]] = {
    "pairs": read_pairs,
    "items": read_items,
    "judgments": read_judgments,
    "labels": read_labels,
    "scores": read_scores,
    "battles": read_battles,
    "tournaments": read_tournaments,
    "binary": BINARY_COLUMNS.read,
}


def open_battles(data: Any, format: str | None = None, **options: Any) -> Table:
    return _open(data, "battles", format, options)


def open_judgments(data: Any, format: str | None = None, **options: Any) -> Table:
    return _open(data, "judgments", format, options)


def open_labels(data: Any, format: str | None = None, **options: Any) -> Table:
    return _open(data, "labels", format, options)


def open_scores(data: Any, format: str | None = None, **options: Any) -> Table:
    return _open(data, "scores", format, options)


def _open(data: Any, kind: Any, format: str | None, options: dict[str, Any]) -> Table:
    columns = options.pop("columns", None)
    return Source(data, columns=columns).open(kind, format, **options)
