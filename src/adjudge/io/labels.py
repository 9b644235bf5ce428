"""Labels: what people said of pairs, and how they meet the rows they speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from adjudge._validation import one_of
from adjudge.errors import DataError
from adjudge.io._schema import Column, checked, first_true, load, refuse_where, shown
from adjudge.io.pairs import LABELS
from adjudge.io.tables import FRAME_NAME, TableLike

LAYOUT = (
    Column(name="id", required=True, filled=True),
    Column(name="label", required=True, choices=LABELS),
    Column(name="rater"),
    Column(name="sampled_by", choices=("random", "plan", "doubt")),
    Column(name="shown_order", choices=("ab", "ba")),
)
Raters = Literal["majority", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
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

    def lines(self) -> list[str]:
        """The counts in words."""
        told = [f"labels: {self.matched:,} rows matched, {self.unmatched:,} without a label"]
        if self.duplicates:
            told.append(f"{self.duplicates:,} further labels of ids that had one (majority taken)")
        if self.split:
            told.append(f"{self.split:,} ids without a majority of raters: left without a label")
        if self.unused:
            told.append(f"{self.unused:,} labelled ids are not among the rows")
        if self.replaced:
            told.append(f"{self.replaced:,} rows had another label, replaced by the labels file")
        return told


def read_labels(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Labels as a checked frame: id, label (A, B, tie or empty), rater, sampled_by, shown_order.

    Several raters per id are fine. One rater saying two different things of one pair is refused;
    the same thing twice is one label.

    >>> read_labels({"id": [7, 8], "label": ["A", "tie"]})["id"].to_list()
    ['7', '8']
    """
    frame, name = load(source, LAYOUT, columns=columns, expected="labels")
    return check_labels(frame, name)


def check_labels(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame as labels, or a DataError that names `name` and the row."""
    frame = checked(frame, LAYOUT, name, expected="labels")
    if "rater" in frame.columns:
        frame = _once_per_rater(frame, name)
    return frame


def join_labels(frame: pl.DataFrame, labels: TableLike, *, raters: Raters = "majority") -> Joined:
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
            FRAME_NAME,
            "{} has more than one label",
            column="id",
            remedy="keep one label per id, or take the majority",
            show="id",
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
    return Joined(
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


def _once_per_rater(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    known = pl.col("rater").is_not_null() & pl.col("label").is_not_null()
    answers = pl.col("label").n_unique().over("id", "rater")
    torn = frame.select(known & (answers > 1) & ~pl.struct("id", "rater").is_first_distinct())
    if torn.to_series().any():
        at = first_true(torn.to_series())
        raise DataError(
            name,
            f"rater {shown(frame['rater'][at])} labelled {shown(frame['id'][at])} in two ways",
            row=at + 1,
            column="label",
            remedy="keep one label per id and rater",
        )
    again = known & ~pl.struct("id", "rater").is_first_distinct()
    return frame.filter(~again)
