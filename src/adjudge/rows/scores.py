"""Scores: a judge's number for an answer and a criterion, and people's; prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from adjudge.errors import DataError
from adjudge.io import read_labels, read_scores
from adjudge.io.opening import name_columns
from adjudge.io.tables import TableLike, source_name
from adjudge.rows.columns import refuse_options
from adjudge.rows.dropped import Rows, merge_dropped
from adjudge.rows.identity import judge_names
from adjudge.rows.makers import count_model_labels, state_model_labels, without_dependent
from adjudge.validation import FloatArray


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Checked scores of one file, human ones in `human_scores`; one judge per protocol."""

    frame: pl.DataFrame
    name: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    #: The note about labels that a model made, if they are allowed.
    makers: tuple[str, ...] = ()


def prepare_scores(
    source: TableLike | Scores,
    *,
    raters: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    labels: TableLike | None = None,
    model_labels: bool = False,
) -> Scores:
    """Read scores once, for the diagnosis and for the score sets of every row.

    Prepared scores are returned unchanged. A file without human scores is refused. `labels` is a
    separate file of human scores by id, as `adjudge label --scale` writes it: all raters' scores of
    an id replace its own. `model_labels` as in `calibrate`.

    >>> rows = {"doc_id": ["d"], "judge_score": [4], "human_score": [5]}
    >>> prepare_scores(rows).frame["human_scores"].to_list()
    [[5.0]]
    """
    if isinstance(source, Scores):
        refuse_options(prepare_scores, locals())
        return source
    name = source_name(source)
    with name_columns(columns, labels_as) as named:
        source, labels = named(source), named(labels)
    frame = judge_names(read_scores(source, raters=raters))
    dropped: dict[str, int] = {}
    by_model = 0
    if labels is not None:
        given = read_labels(labels, about="scores")
        place = source_name(labels)
        usable, dependent = without_dependent(given, given["label"], place)
        by_model = count_model_labels(given, usable, place, allowed=model_labels)
        frame, lost = _with_labels(frame, given.with_columns(usable), name, place)
        dropped = merge_dropped(lost, dependent)
    if "human_scores" not in frame.columns:
        raise DataError(
            name, "has no human scores", remedy="add human_score, or name the raters' columns"
        )
    if labels is None:
        usable, dropped = without_dependent(frame, frame["human_scores"], name)
        by_model = count_model_labels(frame, usable, name, allowed=model_labels)
        frame = frame.with_columns(usable)
    return Scores(frame=frame, name=name, dropped=dropped, makers=state_model_labels(by_model))


def _with_labels(
    frame: pl.DataFrame, labels: pl.DataFrame, name: str, place: str
) -> tuple[pl.DataFrame, dict[str, int]]:
    if frame.get_column("criterion").n_unique() > 1:
        problem, remedy = "has several criteria", "keep the rows of the one that people scored"
        raise DataError(name, problem, column="criterion", remedy=remedy)
    given = (
        labels.drop_nulls("label")
        .group_by("id", maintain_order=True)
        .agg(pl.col("label").cast(pl.Float64).alias("__people"))
    )
    unused = given.join(frame.select("id"), on="id", how="anti").height
    if unused == given.height:
        problem, remedy = "none of its ids matches a row", "give scores of these rows"
        raise DataError(place, problem, column="id", remedy=remedy)
    joined = frame.join(given, on="id", how="left", maintain_order="left")
    own = ["human_scores"] if "human_scores" in frame.columns else []
    joined = joined.with_columns(human_scores=pl.coalesce("__people", *own)).drop("__people")
    return joined, merge_dropped({"label of an id without a row": unused})


def scored_by_both(scores: Scores) -> Rows:
    """Rows with a judge score and a human score, and how many lack one."""
    rows = (
        Rows(scores.frame, scores.dropped)
        .without(pl.col("judge_score").is_null(), "no judge score")
        .without(pl.col("human_scores").is_null(), "no human score")
    )
    if rows.frame.height == 0:
        raise DataError(scores.name, "no row has both a judge score and a human score")
    return rows


def ratings_table(frame: pl.DataFrame) -> FloatArray:
    """human_scores as (rows, raters), NaN if a row has fewer raters."""
    lists = frame["human_scores"].to_list()
    table = np.full((len(lists), max(len(row) for row in lists)), np.nan)
    for at, row in enumerate(lists):
        table[at, : len(row)] = row
    return table
