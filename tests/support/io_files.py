"""One fixture of every format, and the reader of every kind of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from adjudge.data import (
    read_battles,
    read_binary,
    read_items,
    read_judgments,
    read_labels,
    read_pairs,
    read_scores,
    read_tournaments,
)

FILES = {p.stem: p for p in sorted((Path(__file__).parents[1] / "unit/data/fixtures").iterdir())}
READERS: dict[str, Callable[..., pl.DataFrame]] = {
    "pairs": read_pairs,
    "items": read_items,
    "judgments": read_judgments,
    "labels": read_labels,
    "scores": read_scores,
    "battles": read_battles,
    "tournaments": read_tournaments,
    "binary": read_binary,
}
