"""Rows as selection needs them, with what was left out: labelled ones to learn from, new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from adjudge.errors import ArgumentError
from adjudge.io.tables import TableLike, as_text, source_name
from adjudge.selection.rows import (
    cluster_column,
    judged,
    labelled,
    measured,
    with_column,
    without,
)


@dataclass(frozen=True)
class LabelledRows:
    """Measured rows with a human label and their `error`; `cluster` is the column to be used."""

    frame: pl.DataFrame
    cluster: str | None
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class NewRows:
    """Every row of a file, and those of them that carry a measurement."""

    everything: pl.DataFrame
    measured: pl.DataFrame
    dropped: Mapping[str, int]
    unmeasured: Mapping[str, int]


def read_labelled(
    judgments: TableLike,
    labels: TableLike | None,
    *,
    judge: str | None,
    protocol: str | None,
    ties: str,
    cluster: str | None,
    by: str | None = None,
    weights: str | None = None,
) -> LabelledRows:
    """The rows that calibrate, evaluate and plan learn from; `by` as text, `weights` as numbers."""
    dropped: Counter[str] = Counter()
    frame = judged(judgments, dropped, judge=judge, protocol=protocol)
    if by is not None:
        frame = with_column(frame, by, "by")
    frame = labelled(frame, labels, ties=ties, dropped=dropped, name=source_name(judgments))
    if by is not None:
        frame = without(frame, pl.col(by).is_null(), f"no {by}", dropped)
        if frame.height == 0:
            raise ArgumentError("by", by, "it is empty in every labelled row")
    if weights is not None:
        frame = _with_weights(frame, weights)
    return LabelledRows(frame, cluster_column(frame, cluster), dict(dropped))


def read_new(judgments: TableLike, *, judge: str | None, protocol: str | None) -> NewRows:
    """The rows that select decides on."""
    dropped: Counter[str] = Counter()
    unmeasured: Counter[str] = Counter()
    everything = judged(judgments, dropped, judge=judge, protocol=protocol)
    return NewRows(everything, measured(everything, unmeasured), dict(dropped), dict(unmeasured))


def _with_weights(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    if column not in frame.columns:
        raise ArgumentError("weights", column, "choose a column: " + ", ".join(frame.columns))
    numbers = as_text(frame.get_column(column)).cast(pl.Float64, strict=False)
    bad = (~(numbers.is_finite() & (numbers > 0))).fill_null(True)
    if bad.any():
        at = int(bad.arg_true()[0])
        raise ArgumentError(
            f"{column} of id {frame['id'][at]!r}", frame[column][at], "give a weight above 0"
        )
    return frame.with_columns(numbers.alias(column))
