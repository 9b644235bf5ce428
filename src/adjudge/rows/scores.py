"""Scores: a judge's number for an answer and a criterion, and people's; prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from adjudge._validation import FloatArray
from adjudge.errors import DataError
from adjudge.io import read_scores
from adjudge.io.tables import TableLike, source_name
from adjudge.rows.columns import refuse_options
from adjudge.rows.dropped import Rows
from adjudge.rows.identity import judge_names


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Checked scores of one file, people's in `human_scores`; one judge per protocol."""

    frame: pl.DataFrame
    name: str


def prepare_scores(
    source: TableLike | Scores,
    *,
    raters: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Scores:
    """Read scores once, for the diagnosis and for the sets of every row.

    Prepared ones come back as they are. Scores without any of people's are refused.

    >>> rows = {"doc_id": ["d"], "judge_score": [4], "human_score": [5]}
    >>> prepare_scores(rows).frame["human_scores"].to_list()
    [[5.0]]
    """
    if isinstance(source, Scores):
        refuse_options(prepare_scores, locals())
        return source
    name = source_name(source)
    frame = judge_names(read_scores(source, raters=raters, columns=columns))
    if "human_scores" not in frame.columns:
        raise DataError(
            name, "has no human scores", remedy="add human_score, or name the raters' columns"
        )
    return Scores(frame=frame, name=name)


def scored_by_both(scores: Scores) -> Rows:
    """Rows with a judge score and a human score, and how many have not."""
    rows = (
        Rows(scores.frame)
        .without(pl.col("judge_score").is_null(), "no judge score")
        .without(pl.col("human_scores").is_null(), "no human score")
    )
    if rows.frame.height == 0:
        raise DataError(scores.name, "no row has both a judge score and a human score")
    return rows


def ratings_table(frame: pl.DataFrame) -> FloatArray:
    """human_scores as (rows, raters), NaN where a row has fewer raters."""
    lists = frame["human_scores"].to_list()
    table = np.full((len(lists), max(len(row) for row in lists)), np.nan)
    for at, row in enumerate(lists):
        table[at, : len(row)] = row
    return table
