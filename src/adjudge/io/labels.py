"""Labels: what people said of pairs, and how they join the rows they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from adjudge._validation import one_of
from adjudge.errors import DataError
from adjudge.io.columns import Column, Layout
from adjudge.io.pairs import LABELS
from adjudge.io.refusals import quote, refuse_where
from adjudge.io.tables import FRAME_NAME, TableLike, source_name

LAYOUT = Layout(
    "labels",
    Column(name="id", required=True, filled=True),
    Column(name="label", required=True, choices=LABELS),
    Column(name="rater"),
    Column(name="sampled_by", choices=("random", "plan", "doubt")),
    Column(name="shown_order", choices=("ab", "ba")),
)
Raters = Literal["majority", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelJoin:
    """Rows with their labels, and what became of every label.

    `frame` has all rows in their order, with `label` (null where nobody gave one), `raters` (how
    many people) and, where the labels say so, `sampled_by`. All counts are there to be shown.
    """

    frame: pl.DataFrame
    #: Rows of the frame that now have a label.
    matched: int
    #: Rows of the frame without one.
    unmatched: int
    #: Label rows beyond the first of their id.
    duplicates: int
    #: Ids whose raters have no majority; left without a label.
    split: int
    #: Ids that were labelled but are not in the frame.
    unused: int
    #: Rows whose own label differed and was replaced.
    replaced: int


def read_labels(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Labels as a checked frame: id, label (A, B, tie or empty), rater, sampled_by, shown_order.

    Several raters per id are fine. One rater saying two different things of one pair is refused;
    the same thing twice is one label.

    >>> read_labels({"id": [7, 8], "label": ["A", "tie"]})["id"].to_list()
    ['7', '8']
    """
    frame = LAYOUT.read(source, columns)
    return _once_per_rater(frame, source_name(source)) if "rater" in frame.columns else frame


def join_labels(
    frame: pl.DataFrame, labels: TableLike, *, raters: Raters = "majority"
) -> LabelJoin:
    """Give each row of `frame` the label of its id.

    Where an id has several labels, `raters="majority"` takes the one given more often than any
    other; without such a one the id stays unlabelled and is counted in `split` (people who
    disagree evenly did not say "tie"). `raters="refuse"` refuses a second label. A label from
    the file replaces the row's own; rows where the two differ are counted in `replaced`. If any
    label of an id was sampled by doubt, the id counts as sampled by doubt.

    >>> rows = pl.DataFrame({"id": ["x", "y"], "p_a": [0.9, 0.2]})
    >>> done = join_labels(rows, pl.DataFrame({"id": ["x", "z"], "label": ["A", "B"]}))
    >>> done.matched, done.unmatched, done.unused, done.frame["label"].to_list()
    (1, 1, 1, ['A', None])
    """
    one_of(raters, ("majority", "refuse"), "raters")
    if "id" not in frame.columns:
        raise DataError(FRAME_NAME, "is missing", column="id", remedy="labels join by id")
    given = read_labels(labels).filter(pl.col("label").is_not_null())
    duplicates = given.height - given.get_column("id").n_unique()
    if duplicates and raters == "refuse":
        refuse_where(
            given,
            ~pl.col("id").is_first_distinct(),
            "{} has more than one label",
            source=FRAME_NAME,
            column="id",
            remedy="keep one label per id, or take the majority",
        )
    voted = _majority(given)
    rows = frame.with_columns(pl.col("id").cast(pl.String))
    own = "label" in rows.columns
    if own:
        rows = rows.rename({"label": "_own_label"})
    rows = rows.drop([c for c in ("raters", "sampled_by") if c in rows.columns])
    rows = rows.join(voted, on="id", how="left", maintain_order="left")
    replaced = 0
    if own:
        differs = (pl.col("label") != pl.col("_own_label")).fill_null(False)
        replaced = int(rows.select(differs.sum()).item())
        rows = rows.with_columns(label=pl.coalesce("label", "_own_label")).drop("_own_label")
    matched = rows.height - rows.get_column("label").null_count()
    return LabelJoin(
        frame=rows,
        matched=matched,
        unmatched=rows.height - matched,
        duplicates=duplicates,
        split=voted.get_column("label").null_count(),
        unused=voted.join(rows.select("id"), on="id", how="anti").height,
        replaced=replaced,
    )


def _majority(given: pl.DataFrame) -> pl.DataFrame:
    votes = given.group_by("id", "label", maintain_order=True).agg(votes=pl.len())
    top = votes.group_by("id", maintain_order=True).agg(
        label=pl.when((pl.col("votes") == pl.col("votes").max()).sum() == 1).then(
            pl.col("label").get(pl.col("votes").arg_max())
        ),
        raters=pl.col("votes").sum().cast(pl.Int64),
    )
    if "sampled_by" not in given.columns:
        return top
    doubt = (pl.col("sampled_by") == "doubt").fill_null(False)
    how = given.group_by("id").agg(
        sampled_by=pl.when(doubt.any())
        .then(pl.lit("doubt"))
        .otherwise(pl.col("sampled_by").drop_nulls().first())
    )
    return top.join(how, on="id", how="left")


def _once_per_rater(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    known = pl.col("rater").is_not_null() & pl.col("label").is_not_null()
    again = known & ~pl.struct("id", "rater").is_first_distinct()
    answers = pl.col("label").n_unique().over("id", "rater")
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
