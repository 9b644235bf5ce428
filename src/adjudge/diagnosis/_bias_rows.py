"""Judgments as the bias diagnoses need them, with pairs and labels joined by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from adjudge.diagnosis._frames import judge_names
from adjudge.diagnosis.verbosity import LABEL_VALUES
from adjudge.errors import ArgumentError, DataError
from adjudge.io import (
    join_labels,
    kinds_of,
    open_battles,
    read_judgments,
    read_labels,
    read_pairs,
    read_table,
    sniff,
)
from adjudge.io.tables import TableLike, as_text, source_name

#: Where battles keep the judge's verdict, and how they spell it and people's.
_VERDICTS = ("verdict", "judge_winner", "judge_pref", "judge_verdict")
_WINNERS = {"model_a": "A", "model_b": "B", "tie (bothbad)": "tie"}
_FROM_PAIRS = ("response_a", "response_b", "model_a", "model_b", "label", "prompt_id")


@dataclass(frozen=True)
class BiasRows:
    """The rows; `graded` when they carry probabilities, `by_score` when scores are all there is."""

    frame: pl.DataFrame
    name: str
    graded: bool
    by_score: bool
    dropped: Mapping[str, int]


def bias_rows(
    source: TableLike,
    *,
    pairs: TableLike | None = None,
    labels: TableLike | None = None,
    columns: Mapping[str, str] | None = None,
    judge: str | None = None,
) -> BiasRows:
    """Read judgments, battles, or verdicts or scores taken as such, and join what else is given."""
    name = source_name(source)
    battles, dropped = _battles(source, columns or {})
    if battles is not None:
        source = battles
    table = read_table(source)
    if judge is not None:
        if "judge" in table.columns:
            raise ArgumentError("judge", judge, "leave it out: the file names its judges")
        source = table = table.with_columns(pl.lit(judge).alias("judge"))
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
            length = as_text(frame[f"response_{side}"]).str.len_chars()
            frame = frame.with_columns(length.alias(f"length_{side}"))
    by_score = not graded and not {"verdict_fwd", "verdict"} & here
    return BiasRows(frame, name, graded, by_score, dropped)


def _battles(
    source: TableLike, columns: Mapping[str, str]
) -> tuple[pl.DataFrame | None, Mapping[str, int]]:
    """Battles as judgments: people's winner as label, the judge's as verdict; None for others."""
    if kinds_of(sniff(source)) != {"battles"}:
        return None, {}
    opened = open_battles(source)
    frame, dropped = opened.frame, dict(opened.dropped)
    said = {"label": "winner", "verdict": next((c for c in _VERDICTS if c in frame.columns), None)}
    return frame.with_columns(
        pl.col(theirs).cast(pl.String).replace(_WINNERS).alias(ours)
        for ours, theirs in said.items()
        if theirs is not None and ours not in columns
    ), dropped


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
    given = as_text(table[column])
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
