"""Scores: a judge's number for an answer and a criterion, and people's. Checks and preparation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np
import polars as pl

from adjudge.data.columns import (
    STATUS,
    UNNAMED,
    Column,
    Layout,
    absent_column,
    check_columns,
    each,
)
from adjudge.data.labels import with_labels
from adjudge.data.names import add_documents, refuse_values, shorten
from adjudge.data.rows import (
    Rows,
    add_absent,
    check_status,
    judge_names,
    measured,
)
from adjudge.data.source import Reading, Source
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.labels import LABELS_OF, NO_MAJORITY, take_labels
from adjudge.data.steps.repeats import leave_out_repeats, refuse_duplicates
from adjudge.data.tables import Table, TableLike, labels_as_of, read_table, source_name
from adjudge.errors import DataError
from adjudge.validation import FloatArray

SCORE_COLUMNS = Layout(
    "scores",
    Column(name="id"),
    Column(name="doc_id", filled=True),
    Column(name="prompt", spoken=True),
    *each("model", "criterion", "judge", "protocol"),
    STATUS,
    Column(name="judge_score", type="number", required=True, answer=True),
    Column(name="score_probs", type="numbers", low=0, high=1, answer=True),
    Column(name="human_score", type="number"),
    Column(name="human_scores", type="numbers"),
    *each("judge_fingerprint", "repeat"),
)
#: Columns of one rater each, if `raters` is not given: expert1, rater_2, human3 ...
RATER_COLUMN = re.compile(r"^(?:expert|rater|annotator|human)_?\d+$")
_SUM_TOLERANCE = 0.01


def read_scores(source: TableLike, *, raters: Sequence[str] | None = None) -> pl.DataFrame:
    """Scores as a checked frame: one row per document, model, criterion, judge and protocol.

    Always there: id, doc_id, model, criterion, judge, protocol, status, judge_score. If people
    scored, `human_scores` lists their numbers: from one column per rater (`raters` names them; else
    expert1, rater_2, human3 and the like), or from human_score alone. Without doc_id the rows of
    one prompt are a document, else each row is. A row without judge_score is kept with its status,
    or `error`. Scales are not guessed: the caller gives the scale.

    >>> frame = read_scores({"doc_id": ["d"], "judge_score": [4], "expert1": [5], "expert2": [3]})
    >>> frame["human_scores"][0].to_list()
    [5.0, 3.0]
    """
    frame, name = SCORE_COLUMNS.load(source), source_name(source)
    asked = raters or (source.raters if isinstance(source, Table) else ())
    named = list(asked) or [c for c in frame.columns if RATER_COLUMN.match(c)]
    for rater in named:
        if rater not in frame.columns:
            raise absent_column(rater, frame.columns, name)
    more = each(*named, type="number", required=True)
    frame = SCORE_COLUMNS.check(frame, name, more, labels_as=labels_as_of(source))
    frame = _with_status(_with_names(add_documents(frame, name)), name)
    frame = _with_people(frame, named)
    if "score_probs" in frame.columns:
        _check_probs(frame, name)
    key = ["doc_id", "model", "criterion", "judge", "protocol"]
    key += ["repeat"] if "repeat" in frame.columns else []
    if frame.get_column("model").null_count():
        key.insert(0, "id")
    remedy = "keep one row each, or number repeated answers in a column `repeat`"
    refuse_duplicates(frame, key, source=name, remedy=remedy, but_equal=True)
    return SCORE_COLUMNS.sort(frame)


def read_human_scores(source: TableLike) -> pl.DataFrame:
    """Human scores without a judge: doc_id, model, criterion and one column per rater."""
    frame, name = read_table(source), source_name(source)
    raters = [column for column in frame.columns if RATER_COLUMN.match(column)]
    key = ["doc_id", "model", "criterion"]
    layout = [*each(*key, required=True, filled=True), *each(*raters, type="number")]
    frame = check_columns(frame, layout, name).select(*key, *raters, pl.exclude(*key, *raters))
    refuse_duplicates(frame, key, source=name, remedy="keep one row per summary and criterion")
    return _with_people(frame, raters)


def join_human_scores(scores: pl.DataFrame, human: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The judge's scores with human scores next to them, and how many rows have none.

    Joined by doc_id, model and criterion. Human columns that `scores` already has are replaced.
    """
    key = ["doc_id", "model", "criterion"]
    given = human.drop("id", strict=False)
    kept = scores.drop([c for c in given.columns if c not in key and c in scores.columns])
    joined = kept.join(given, on=key, how="left", maintain_order="left")
    return joined, joined.get_column("human_scores").null_count()


def _with_names(frame: pl.DataFrame) -> pl.DataFrame:
    frame = add_absent(frame, ("criterion", "judge", "protocol"), UNNAMED)
    frame = add_absent(frame, ["model"])
    if "id" not in frame.columns:
        parts = [pl.col("doc_id"), pl.col("model"), pl.col("criterion")]
        frame = frame.with_columns(id=pl.concat_str(parts, separator="|", ignore_nulls=True))
    return frame


def _with_status(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    own = []
    if "status" in frame.columns:
        remedy = "give the score, or the status that fits"
        check_status(frame, source, number="judge_score", remedy=remedy)
        own = ["status"]
    silent = pl.col("judge_score").is_null()
    filled = pl.when(silent).then(pl.lit("error")).otherwise(pl.lit("ok"))
    return frame.with_columns(status=pl.coalesce(*own, filled))


def _with_people(frame: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    given = list(raters) or (["human_score"] if "human_score" in frame.columns else [])
    if not given:
        return frame
    people = pl.concat_list(given).list.drop_nulls()
    return frame.with_columns(human_scores=pl.when(people.list.len() > 0).then(people))


def _check_probs(frame: pl.DataFrame, source: str) -> None:
    lists = frame.get_column("score_probs")
    lengths = lists.list.len().drop_nulls().unique()
    if lengths.len() > 1:
        problem = f"has lists of {lengths.min()!r} and of {lengths.max()!r} numbers"
        remedy = "give one probability per step of the scale in every row"
        raise DataError(source, problem, column="score_probs", remedy=remedy)
    bad = (lists.list.sum() - 1).abs() > _SUM_TOLERANCE
    remedy = "give probabilities over the complete scale"
    refuse_values(lists, bad, "{} does not add up to 1", source=source, remedy=remedy)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Checked scores of one file, human ones in `human_scores`; one judge per protocol."""

    frame: pl.DataFrame
    name: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    #: The note about labels that a model made, if they are allowed.
    makers: tuple[str, ...] = ()


def prepare_scores(
    source: TableLike | Source | Scores,
    *,
    labels: TableLike | None = None,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> Scores:
    """Read scores once, for the diagnosis and for the score sets of every row.

    Prepared scores are returned unchanged. A file without human scores is refused. `labels` is a
    separate file of human scores by id, as `adjudge label --scale` writes it: all raters' scores of
    an id replace its own. `model_labels` as in `calibrate`.

    >>> rows = {"doc_id": ["d"], "judge_score": [4], "human_score": [5]}
    >>> prepare_scores(rows).frame["human_scores"].to_list()
    [[5.0]]
    """
    source = Source.of(source, labels=labels, **reading)
    if (done := source.prepared(Scores, prepare_scores, locals())) is not None:
        return done
    with source:
        rows = open_scores(source.rows)
        if source.labels is not None:
            rows = _with_raters(rows, source)
    name = source.name
    if "human_scores" not in rows.frame.columns:
        remedy = (
            "name the column, --column human_score=NAME (columns=), or one column for each "
            "rater, --raters NAME,NAME (raters=)"
        )
        raise DataError(name, "has no human scores", remedy=remedy)
    taken = take_labels(rows, "human_scores", name, model_labels=model_labels)
    return Scores(
        frame=taken.rows.frame, name=name, dropped=taken.rows.dropped, makers=taken.makers
    )


def open_scores(source: TableLike) -> Rows:
    """Checked scores, every row once, one judge per protocol; people's scores are not needed."""
    name = source_name(source)
    rows = leave_out_repeats(Rows(read_scores(source)), name, apart=["judge"])
    apart = ("judge", "protocol", "criterion")
    check_judges(rows.frame, name, measure="diagnosis", apart=apart)
    return Rows(judge_names(rows.frame), rows.dropped)


def _with_raters(rows: Rows, source: Source) -> Rows:
    """The rows with all raters' scores of the labels file in place of their own."""
    if rows.frame.get_column("criterion").n_unique() > 1:
        remedy = "keep the rows of the one that people scored"
        criteria = shorten(rows.frame["criterion"].unique().sort().to_list(), 5)
        problem = f"has several criteria: {criteria}"
        raise DataError(source.name, problem, column="criterion", remedy=remedy)
    # The most frequent score is not needed: all of them are used.
    joined = with_labels(rows, source, "scores", column="__score")
    people = pl.col(LABELS_OF).list.eval(pl.element().cast(pl.Float64))
    own = ["human_scores"] if "human_scores" in rows.frame.columns else []
    frame = joined.frame.with_columns(human_scores=pl.coalesce(people, *own))
    lost = {reason: n for reason, n in joined.dropped.items() if reason != NO_MAJORITY}
    return Rows(frame.drop("__score", LABELS_OF), lost)


def scores_as_grades(
    table: Table, labels: TableLike | None = None, *, human_column: str = "human"
) -> Table:
    """Scores in the columns of grades: judge, judge_name, and people's mean in `human_column`."""
    frame, dropped = read_scores(table) if labels is None else None, table.dropped
    if frame is None or "human_scores" in frame.columns:
        prepared = prepare_scores(table, labels=labels)
        frame, dropped = prepared.frame, prepared.dropped
    frame = frame.drop(human_column, "human_score", "judge_name", strict=False)
    frame = frame.rename({"judge": "judge_name", "judge_score": "judge"})
    if "human_scores" in frame.columns:
        mean = pl.col("human_scores").list.mean().alias(human_column)
        frame = frame.with_columns(mean).drop("human_scores")
    return Table(frame=frame, name=table.name, kind="grades", format="scores", dropped=dropped)


def scores_by_class(table: Table, *, rounded: bool = True) -> Table:
    """Scores as grades; `rounded` to the steps of the scale, which are classes, halves up.

    A criterion is a metric, rows of one document belong together.
    """
    grades = scores_as_grades(table)
    frame = grades.frame.with_columns(
        pl.col("doc_id").alias("prompt_id"),
        pl.col("criterion").alias("metric"),
        pl.concat_str("doc_id", "model", separator=" of ", ignore_nulls=True).alias("id"),
    )
    if rounded and "human" in frame.columns:
        frame = frame.with_columns((pl.col("human") + 0.5).floor())
    return replace(grades, frame=frame)


def scored_by_both(scores: Scores) -> Rows:
    """Rows with a judge score and a human score, and how many lack one."""
    rows = measured(Rows(scores.frame, scores.dropped))
    rows = rows.without(pl.col("human_scores").is_null(), "no human score")
    if rows.frame.height == 0:
        remedy = "give people's scores of rows that the judge scored, or --labels FILE (labels=)"
        raise DataError(
            scores.name, "no row has both a judge score and a human score", remedy=remedy
        )
    return rows


def ratings_table(frame: pl.DataFrame) -> FloatArray:
    """human_scores as (rows, raters), NaN if a row has fewer raters."""
    lists = frame["human_scores"].to_list()
    table = np.full((len(lists), max(len(row) for row in lists)), np.nan)
    for at, row in enumerate(lists):
        table[at, : len(row)] = row
    return table
