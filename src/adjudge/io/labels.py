"""Labels: what people said of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import Column, Layout
from adjudge.io.pairs import LABELS
from adjudge.io.refusals import quote
from adjudge.io.tables import TableLike, source_name
from adjudge.records import SampledBy

LAYOUT = Layout(
    "labels",
    Column(name="id", required=True, filled=True),
    Column(name="label", required=True, choices=LABELS),
    Column(name="rater"),
    Column(name="sampled_by", choices=get_args(SampledBy)),
    Column(name="shown_order", choices=("ab", "ba")),
)


def read_labels(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Labels as a checked frame: id, label (A, B, tie or empty), rater, sampled_by, shown_order.

    Several raters per id are fine. One rater saying two different things of one pair is refused;
    the same thing twice is one label.

    >>> read_labels({"id": [7, 8], "label": ["A", "tie"]})["id"].to_list()
    ['7', '8']
    """
    frame = LAYOUT.read(source, columns)
    return _once_per_rater(frame, source_name(source)) if "rater" in frame.columns else frame


def _once_per_rater(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    known = pl.col("rater").is_not_null() & pl.col("label").is_not_null()
    # A row without a label says nothing, neither the same nor another thing.
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
