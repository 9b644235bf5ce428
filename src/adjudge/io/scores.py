"""Scores: a judge's number for a response and criterion, with human scores next to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import Column, Layout, add_unnamed, check_columns
from adjudge.io.judgments import check_status
from adjudge.io.made_ids import add_documents
from adjudge.io.refusals import refuse_duplicates, refuse_where
from adjudge.io.tables import TableLike, labels_as_of, read_table, source_name
from adjudge.records import STATUSES

LAYOUT = Layout(
    "scores",
    Column(name="id"),
    Column(name="doc_id", filled=True),
    Column(name="prompt", spoken=True),
    Column(name="model"),
    Column(name="criterion"),
    Column(name="judge"),
    Column(name="protocol"),
    Column(name="status", choices=STATUSES),
    Column(name="judge_score", type="number", required=True),
    Column(name="score_probs", type="numbers", low=0, high=1),
    Column(name="human_score", type="number"),
    Column(name="human_scores", type="numbers"),
    Column(name="judge_fingerprint"),
    Column(name="repeat"),
)
#: Columns of one rater each, if `raters` is not given: expert1, rater_2, human3 ...
_RATER = re.compile(r"^(?:expert|rater|annotator|human)_?\d+$")
_SUM_TOLERANCE = 0.01


def read_scores(
    source: TableLike,
    *,
    raters: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
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
    frame, name = LAYOUT.load(source, columns), source_name(source)
    named = list(raters) if raters is not None else [c for c in frame.columns if _RATER.match(c)]
    more = [Column(name=rater, type="number", required=True) for rater in named]
    frame = LAYOUT.check(frame, name, more, labels_as=labels_as_of(source))
    frame = _with_status(_with_names(add_documents(frame, name)), name)
    frame = _with_people(frame, named)
    if "score_probs" in frame.columns:
        _check_probs(frame, name)
    key = ["doc_id", "model", "criterion", "judge", "protocol"]
    key += ["repeat"] if "repeat" in frame.columns else []
    if frame.get_column("model").null_count():
        key.insert(0, "id")
    remedy = "keep one row each, or number repeated answers in a column `repeat`"
    refuse_duplicates(frame, key, source=name, remedy=remedy)
    return LAYOUT.sort(frame)


def read_human_scores(source: TableLike) -> pl.DataFrame:
    """Human scores without a judge: doc_id, model, criterion and one column per rater."""
    frame, name = read_table(source), source_name(source)
    raters = [column for column in frame.columns if _RATER.match(column)]
    key = ["doc_id", "model", "criterion"]
    layout = [
        *(Column(name=column, required=True, filled=True) for column in key),
        *(Column(name=rater, type="number") for rater in raters),
    ]
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
    frame = add_unnamed(frame, ("criterion", "judge", "protocol"))
    if "model" not in frame.columns:
        frame = frame.with_columns(model=pl.lit(None, pl.String))
    if "id" not in frame.columns:
        parts = [pl.col("doc_id"), pl.col("model"), pl.col("criterion")]
        frame = frame.with_columns(id=pl.concat_str(parts, separator="|", ignore_nulls=True))
    return frame


def _with_status(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    if "status" in frame.columns:
        remedy = "give the score, or the status that fits"
        number = "judge_score"
        check_status(frame, source, number=number, values=[number], remedy=remedy)
        return frame
    silent = pl.col("judge_score").is_null()
    return frame.with_columns(status=pl.when(silent).then(pl.lit("error")).otherwise(pl.lit("ok")))


def _with_people(frame: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    given = list(raters) or (["human_score"] if "human_score" in frame.columns else [])
    if not given:
        return frame
    people = pl.concat_list(given).list.drop_nulls()
    return frame.with_columns(human_scores=pl.when(people.list.len() > 0).then(people))


def _check_probs(frame: pl.DataFrame, source: str) -> None:
    lengths = frame.get_column("score_probs").list.len().drop_nulls().unique()
    if lengths.len() > 1:
        raise DataError(
            source,
            f"has lists of {lengths.min()!r} and of {lengths.max()!r} numbers",
            column="score_probs",
            remedy="give one probability per step of the scale in every row",
        )
    refuse_where(
        frame,
        (pl.col("score_probs").list.sum() - 1).abs() > _SUM_TOLERANCE,
        "{} does not add up to 1",
        source=source,
        column="score_probs",
        remedy="give probabilities over the complete scale",
    )
