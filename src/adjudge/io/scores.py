"""Scores: one response, one criterion, one judge, a number; people's numbers beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from adjudge.errors import DataError
from adjudge.io._schema import Column, checked, load, refuse_duplicates, refuse_where
from adjudge.io.judgments import UNNAMED
from adjudge.io.tables import TableLike
from adjudge.records import MEASURED, STATUSES

LAYOUT = (
    Column(name="id"),
    Column(name="doc_id", required=True, filled=True),
    Column(name="model", also=("system",)),
    Column(name="criterion"),
    Column(name="judge"),
    Column(name="protocol"),
    Column(name="status", choices=STATUSES),
    Column(name="judge_score", kind="number", required=True),
    Column(name="score_probs", kind="numbers", low=0, high=1),
    Column(name="human_score", kind="number"),
    Column(name="judge_fingerprint"),
    Column(name="repeat"),
)
#: Columns taken for one rater each where `raters` does not say: expert1, rater_2, human3 ...
_RATER = re.compile(r"^(?:expert|rater|annotator|human)_?\d+$")
_SUM_TOLERANCE = 0.01


def read_scores(
    source: TableLike,
    *,
    raters: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Scores as a checked frame: one row per document, model, criterion, judge and protocol.

    Always there: id, doc_id, model, criterion, judge, protocol, status, judge_score. Where people
    scored, `human_scores` lists their numbers: from one column per rater (`raters` names them;
    else expert1, rater_2, human3 and the like), or from human_score alone. `system` is read as
    `model`. A row without judge_score is kept with the status it has, or `error`. Scales are not
    guessed: the caller says which it is.

    >>> frame = read_scores({"doc_id": ["d"], "judge_score": [4], "expert1": [5], "expert2": [3]})
    >>> frame["human_scores"][0].to_list()
    [5.0, 3.0]
    """
    frame, name = load(source, LAYOUT, columns=columns, expected="scores")
    return check_scores(frame, name, raters=raters)


def check_scores(
    frame: pl.DataFrame, name: str, *, raters: Sequence[str] | None = None
) -> pl.DataFrame:
    """The frame as scores, or a DataError that names `name` and the row."""
    named = list(raters) if raters is not None else [c for c in frame.columns if _RATER.match(c)]
    layout = (*LAYOUT, *(Column(name=rater, kind="number", required=True) for rater in named))
    frame = checked(frame, layout, name, expected="scores")
    frame = _with_names(frame)
    frame = _with_status(frame, name)
    frame = _with_people(frame, named)
    if "score_probs" in frame.columns:
        _check_probs(frame, name)
    key = ["doc_id", "model", "criterion", "judge", "protocol"]
    key += ["repeat"] if "repeat" in frame.columns else []
    if frame.get_column("model").null_count():
        key.insert(0, "id")
    refuse_duplicates(
        frame, key, name, "keep one row each, or number repeated answers in a column `repeat`"
    )
    first = [c.name for c in LAYOUT if c.name in frame.columns]
    return frame.select(first + [other for other in frame.columns if other not in first])


def check_human_scores(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """People's scores without a judge's: doc_id, model, criterion and one column per rater."""
    raters = [column for column in frame.columns if _RATER.match(column)]
    layout = [
        Column(name="doc_id", required=True, filled=True),
        Column(name="model", required=True, filled=True),
        Column(name="criterion", required=True, filled=True),
        *(Column(name=rater, kind="number") for rater in raters),
    ]
    frame = checked(frame, layout, name)
    refuse_duplicates(
        frame, ["doc_id", "model", "criterion"], name, "keep one row per summary and criterion"
    )
    return _with_people(frame, raters)


def join_human_scores(scores: pl.DataFrame, human: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The judge's scores with people's beside them, and how many rows found none.

    Joined by doc_id, model and criterion. Columns of people that `scores` has already are
    replaced.
    """
    key = ["doc_id", "model", "criterion"]
    given = human.drop("id", strict=False)
    kept = scores.drop([c for c in given.columns if c not in key and c in scores.columns])
    joined = kept.join(given, on=key, how="left", maintain_order="left")
    return joined, joined.get_column("human_scores").null_count()


def _with_names(frame: pl.DataFrame) -> pl.DataFrame:
    frame = frame.with_columns(
        pl.lit(UNNAMED).alias(column)
        for column in ("criterion", "judge", "protocol")
        if column not in frame.columns
    )
    if "model" not in frame.columns:
        frame = frame.with_columns(model=pl.lit(None, pl.String))
    if "id" not in frame.columns:
        parts = [pl.col("doc_id"), pl.col("model"), pl.col("criterion")]
        frame = frame.with_columns(id=pl.concat_str(parts, separator="|", ignore_nulls=True))
    return frame


def _with_status(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    silent = pl.col("judge_score").is_null()
    if "status" not in frame.columns:
        return frame.with_columns(
            status=pl.when(silent).then(pl.lit("error")).otherwise(pl.lit("ok"))
        )
    measured = pl.col("status").is_in(list(MEASURED)).fill_null(False)
    refuse_where(
        frame,
        measured & silent,
        name,
        "is empty though the row is {}",
        column="judge_score",
        remedy="give the score, or the status that fits",
        show="status",
    )
    refuse_where(
        frame,
        ~measured & ~silent,
        name,
        "holds a number though the row is {}",
        column="judge_score",
        remedy="only ok and censored rows carry one",
        show="status",
    )
    return frame


def _with_people(frame: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    told = list(raters) or (["human_score"] if "human_score" in frame.columns else [])
    if not told:
        return frame
    people = pl.concat_list(told).list.drop_nulls()
    return frame.with_columns(human_scores=pl.when(people.list.len() > 0).then(people))


def _check_probs(frame: pl.DataFrame, name: str) -> None:
    lengths = frame.get_column("score_probs").list.len().drop_nulls().unique()
    if lengths.len() > 1:
        raise DataError(
            name,
            f"lists of {lengths.min()!r} and of {lengths.max()!r} numbers stand side by side",
            column="score_probs",
            remedy="give one probability per step of the scale in every row",
        )
    refuse_where(
        frame,
        (pl.col("score_probs").list.sum() - 1).abs() > _SUM_TOLERANCE,
        name,
        "{} does not add up to 1",
        column="score_probs",
        remedy="give probabilities over the whole scale",
        show="score_probs",
    )
