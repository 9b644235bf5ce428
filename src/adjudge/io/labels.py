"""Labels: human labels of pairs, or of single answers: pass or fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import TEXT_COLUMNS, Column, Layout
from adjudge.io.grades import pass_or_fail
from adjudge.io.pairs import LABELS
from adjudge.io.refusals import quote
from adjudge.io.tables import TableLike, labels_as_of, source_name
from adjudge.io.words import PAIR
from adjudge.records import About, LabelledBy, SampledBy, StartedFrom

LAYOUT = Layout(
    "labels",
    Column(name="id", required=True, filled=True),
    Column(name="label", required=True, choices=LABELS, words=PAIR),
    Column(name="rater"),
    Column(name="labelled_by", choices=get_args(LabelledBy)),
    Column(name="started_from", choices=get_args(StartedFrom)),
    Column(name="sampled_by", choices=get_args(SampledBy)),
    Column(name="shown_order", choices=("ab", "ba")),
    Column(name="comment"),
    *TEXT_COLUMNS,
    apart=("rater",),
    texts_needed=True,
)
_OTHERS = [column for column in LAYOUT.columns if column.name != "label"]
#: Labels of single answers: pass or fail, in `label` or in `human`.
GRADES = Layout(
    "labels",
    *_OTHERS,
    Column(name="label", required=True),
    apart=LAYOUT.apart,
    texts_needed=True,
    usual="grade_labels",
)
#: Scores of single answers, in `label` or in `human_score`.
SCORES = Layout(
    "labels",
    *_OTHERS,
    Column(name="label", type="whole", low=0, required=True),
    apart=LAYOUT.apart,
    texts_needed=True,
    usual="score_labels",
)
#: Labels in any words, of any classes.
VALUES = GRADES


def read_labels(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    about: About | Literal["scores"] = "pairs",
) -> pl.DataFrame:
    """Labels as a checked frame: id, label (A, B, tie or empty), rater, and their origin.

    Labels `about` grades are pass, fail (also written 1 and 0) or empty. Labels about scores are
    whole numbers.

    Several raters per id are allowed. Two different labels of one rater for one pair are refused;
    the same label twice is one label.

    >>> read_labels({"id": [7, 8], "label": ["A", "tie"]})["id"].to_list()
    ['7', '8']
    """
    if about == "pairs":
        frame = LAYOUT.read(source, columns)
    elif about == "scores":
        frame = SCORES.read(source, columns).with_columns(pl.col("label").cast(pl.String))
    else:
        frame = GRADES.read(source, columns)
        given = pass_or_fail(frame["label"], source_name(source), labels_as_of(source))
        frame = frame.with_columns(given.alias("label"))
    return once_per_rater(frame, source_name(source))


def once_per_rater(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The frame without a rater's repeats; two different labels of one rater are refused."""
    if "rater" not in frame.columns:
        return frame
    known = pl.col("rater").is_not_null() & pl.col("label").is_not_null()
    # A row without a label is neither a repeat nor a contradiction.
    again = known & ~pl.struct("id", "rater", known.alias("known")).is_first_distinct()
    answers = pl.col("label").drop_nulls().n_unique().over("id", "rater")
    torn = frame.select(again & (answers > 1)).to_series().arg_true()
    if len(torn):
        at = int(torn[0])
        raise DataError(
            source,
            f"rater {quote(frame['rater'][at])} labelled {quote(frame['id'][at])} in two ways",
            row=at + 1,
            column="label",
            remedy="keep one label per id and rater",
        )
    return frame.filter(~again)
