"""The same rows asked with two prompts: two files of one judge, matched row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from adjudge.data.conversion import sniff
from adjudge.data.formats import kinds_of
from adjudge.data.rows import cluster_column, judge_names, merge_dropped
from adjudge.data.scores import read_scores
from adjudge.data.source import name_columns
from adjudge.data.tables import TableLike, as_text, first_row, read_object, source_name
from adjudge.data.tournaments import read_tournaments
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import DataError
from adjudge.results.prompts import Answers

_KEY = ("judge", "criterion", "key")
_ASK_BOTH = "ask one judge about the same rows with both prompts"


@dataclass(frozen=True, kw_only=True)
class PromptRows:
    """A row per question of both files: judge, criterion, cluster, and the answers to each prompt.

    `first` and `second` list the answers, one per repeat: verdicts as text, no verdict as "", or
    scores. `value_first` and `value_second` list numbers: scores, or P(A) if known.
    """

    frame: pl.DataFrame
    answers: Answers
    cluster: str
    names: tuple[str, str]
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class _Side:
    """One file: rows with judge, criterion, key, cluster, answer and value."""

    frame: pl.DataFrame
    answers: Answers
    cluster: str
    silent: int


def prepare_prompts(
    first: TableLike,
    second: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    cluster: str | None = None,
) -> PromptRows:
    """Two files of scores, judgments or tournaments, matched by judge, criterion and row.

    Rows of scores match by document and model, else by id; verdicts match by id, or by document
    and models. Without `cluster`, rows of one doc_id, else prompt_id, are alike.

    >>> rows = {"id": ["x", "y"], "judge": ["j", "j"], "verdict": ["A", "B"]}
    >>> both = prepare_prompts(rows, {**rows, "verdict": ["A", "A"]})
    >>> both.frame.select("first", "second").rows()
    [(['A'], ['A']), (['B'], ['A'])]
    """
    sides = [_read(source, columns, labels_as, cluster) for source in (first, second)]
    names = (source_name(first), source_name(second))
    if sides[0].answers != sides[1].answers:
        problem = f"has {sides[1].answers}, but {names[0]} has {sides[0].answers}"
        raise DataError(names[1], problem, remedy=_ASK_BOTH)
    grouped = [
        side.frame.group_by(*_KEY, maintain_order=True).agg(
            pl.col("cluster").first(),
            pl.col("answer").alias(name),
            pl.col("value").drop_nulls().alias(f"value_{name}"),
        )
        for side, name in zip(sides, ("first", "second"), strict=True)
    ]
    both = (
        grouped[0]
        .join(grouped[1].drop("cluster"), on=_KEY, nulls_equal=True, maintain_order="left")
        .sort(_KEY)
    )
    if both.is_empty():
        problem = f"no row matches one of {names[0]}, by judge, criterion and id"
        raise DataError(names[1], problem, remedy=_ASK_BOTH)
    return PromptRows(
        frame=both,
        answers=sides[0].answers,
        cluster=sides[0].cluster,
        names=names,
        dropped=merge_dropped(
            {"no answer": sides[0].silent + sides[1].silent},
            {"row only in the first file": grouped[0].height - both.height},
            {"row only in the second file": grouped[1].height - both.height},
        ),
    )


def _read(
    source: TableLike,
    columns: Mapping[str, str] | None,
    labels_as: Mapping[str, str] | None,
    cluster: str | None,
) -> _Side:
    with name_columns(columns, labels_as) as named:
        given = read_object(named(source))
    kinds = kinds_of(sniff(given))
    if "scores" in kinds:
        frame = judge_names(read_scores(given))
        key = pl.concat_str("doc_id", pl.coalesce("model", "id"), separator="\x1f")
        answer = value = pl.col("judge_score")
        return _side(frame, "scores", key, answer, value, cluster)
    if "tournaments" in kinds and "id" not in (first_row(given) or ()):
        frame = judge_names(read_tournaments(given))
        parts = ["doc_id", "model_a", "model_b", *(c for c in ("order",) if c in frame.columns)]
        key = pl.concat_str(parts, separator="\x1f", ignore_nulls=True)
    else:
        frame = prepare_verdicts(given).repeats
        key = pl.col("id")
    graded = "p_a" in frame.columns and not frame["p_a"].drop_nulls().is_in([0.0, 0.5, 1.0]).all()
    value = pl.col("p_a") if graded else pl.lit(None, pl.Float64)
    # A judge that was asked and has no verdict (p_a = 1/2) still gave an answer.
    spoken = pl.col("verdict").is_not_null()
    if "p_a" in frame.columns:
        spoken = spoken | pl.col("p_a").is_not_null()
    answer = pl.when(spoken).then(pl.col("verdict").fill_null(""))
    return _side(frame, "verdicts", key, answer, value, cluster)


def _side(
    frame: pl.DataFrame,
    answers: Answers,
    key: pl.Expr,
    answer: pl.Expr,
    value: pl.Expr,
    cluster: str | None,
) -> _Side:
    named = cluster_column(frame, cluster) if cluster is not None else None
    default = next((c for c in ("doc_id", "prompt_id") if c in frame.columns), None)
    column = named or default
    if "criterion" not in frame.columns:
        frame = frame.with_columns(criterion=pl.lit(None, pl.String))
    rows = frame.select(
        pl.col("judge").cast(pl.String),
        pl.col("criterion").cast(pl.String),
        key.alias("key"),
        cluster=key if column is None else as_text(frame[column]).fill_null("")
        + pl.when(as_text(frame[column]).is_null()).then(key).otherwise(pl.lit("")),
        answer=answer,
        value=value,
    )  # fmt: skip
    heard = rows.filter(pl.col("answer").is_not_null())
    return _Side(heard, answers, column or "id", rows.height - heard.height)
