"""Judgments as the bias diagnoses need them, with pairs and labels joined by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from adjudge.diagnosis._frames import judge_names
from adjudge.diagnosis.verbosity import LABEL_VALUES
from adjudge.errors import DataError
from adjudge.io import join_labels, read_judgments, read_labels, read_pairs, read_table
from adjudge.io.tables import TableLike, source_name

_FROM_PAIRS = ("response_a", "response_b", "model_a", "model_b", "label", "prompt_id")


@dataclass(frozen=True)
class BiasRows:
    """The rows; `graded` when they carry probabilities, not bare verdicts or scores."""

    frame: pl.DataFrame
    name: str
    graded: bool


def bias_rows(
    source: TableLike,
    *,
    pairs: TableLike | None = None,
    labels: TableLike | None = None,
    columns: Mapping[str, str] | None = None,
) -> BiasRows:
    """Read judgments, or verdicts or scores taken as such, and join what else is given."""
    name = source_name(source)
    table = read_table(source)
    here = set(table.columns) | set(columns or {})
    graded = "p_a" in here or {"p_fwd", "p_rev"} <= here
    if graded and "id" in here:
        frame = read_judgments(source, columns=columns)
    else:
        table = _renamed(table, columns or {}, name)
        if "id" not in table.columns:
            table = table.with_row_index("id", offset=1).with_columns(pl.col("id").cast(pl.String))
        frame = read_judgments(table if graded else _from_verdicts(table, name))
    frame = judge_names(frame)
    if pairs is not None:
        known = read_pairs(pairs)
        new = [c for c in _FROM_PAIRS if c in known.columns and c not in frame.columns]
        frame = frame.join(known.select("id", *new), on="id", how="left", maintain_order="left")
    if labels is not None:
        frame = _with_labels(frame, labels)
    for side in ("a", "b"):
        if f"length_{side}" not in frame.columns and f"response_{side}" in frame.columns:
            length = pl.col(f"response_{side}").cast(pl.String).str.len_chars()
            frame = frame.with_columns(length.alias(f"length_{side}"))
    return BiasRows(frame, name, graded)


def _renamed(table: pl.DataFrame, columns: Mapping[str, str], name: str) -> pl.DataFrame:
    for ours, theirs in columns.items():
        if theirs not in table.columns:
            raise DataError(name, "is not there", column=theirs, remedy="name a column of the file")
        table = table.with_columns(pl.col(theirs).alias(ours))
    return table


def _from_verdicts(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """p_fwd and p_rev, or p_a, as 1, 0 and one half from verdicts, else from two scores."""
    here = set(table.columns)
    if {"verdict_fwd", "verdict_rev"} <= here:
        return table.with_columns(
            _answer(table, "verdict_fwd", name).alias("p_fwd"),
            _answer(table, "verdict_rev", name).alias("p_rev"),
        )
    if "verdict" in here:
        # A verdict of "tie" is no verdict; p_a = 1/2 says so.
        value = _answer(table, "verdict", name).alias("p_a")
        return table.with_columns(value).drop("verdict")
    if {"score_a", "score_b"} <= here:
        gap = pl.col("score_a").cast(pl.Float64) - pl.col("score_b").cast(pl.Float64)
        return table.with_columns(((gap.sign() + 1) / 2).alias("p_a"))
    raise DataError(
        name,
        "has no judgment",
        remedy="give p_fwd and p_rev, p_a, verdict_fwd and verdict_rev, verdict, or score_a and "
        "score_b",
    )


def _answer(table: pl.DataFrame, column: str, name: str) -> pl.Series:
    given = table[column].cast(pl.String)
    unknown = given.is_not_null() & ~given.is_in(list(LABEL_VALUES)).fill_null(True)
    if unknown.any():
        at = int(unknown.arg_true()[0])
        raise DataError(
            name,
            f"{given[at]!r} is not known",
            row=at + 1,
            column=column,
            remedy="use A, B or tie, about the responses, whichever stood first",
        )
    return given.replace_strict(LABEL_VALUES, default=None, return_dtype=pl.Float64)


def _with_labels(frame: pl.DataFrame, labels: TableLike) -> pl.DataFrame:
    """The majority label, and `labels`, what each rater said, for the human ceiling."""
    given = read_labels(labels).filter(pl.col("label").is_not_null())
    joined = join_labels(frame, given).frame
    said = given.group_by("id", maintain_order=True).agg(pl.col("label").alias("labels"))
    return joined.join(said, on="id", how="left", maintain_order="left")
