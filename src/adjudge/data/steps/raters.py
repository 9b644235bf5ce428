"""The step of raters in columns: a label per rater and row, as a labels file has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from adjudge.data.columns import absent_column
from adjudge.data.names import TEXTS, add_ids, recognise
from adjudge.data.steps.labels import BROUGHT
from adjudge.data.tables import Table, as_text

_KINDS = ("judgments", "grades", "binary")


def with_ids(table: Table) -> Table:
    """The table with a column id, which is made of the texts if no column has that meaning.

    >>> rows = pl.DataFrame({"Question": ["How?"], "Answer": ["So."], "Ann": ["good"]})
    >>> again = rows.with_columns(pl.Series("Ann", ["bad"]))
    >>> with_ids(Table(frame=rows)).frame["id"][0] == with_ids(Table(frame=again)).frame["id"][0]
    True
    """
    frame = table.frame
    ours = {
        column: name for name in ("id", *TEXTS) if (column := _column_of(name, frame)) is not None
    }
    if "id" not in frame.columns:
        made = add_ids(frame.rename(ours), table.name)["id"]
        frame = frame.drop(column for column, name in ours.items() if name == "id")
        frame = frame.select(made, pl.all())
    return replace(table, frame=frame, fields=None)


def _column_of(name: str, frame: pl.DataFrame) -> str | None:
    """The column with one of our names under another name; None if it has ours, or is not there."""
    if name in frame.columns:
        return None
    named = (
        column
        for column in frame.columns
        if any(recognise([column], kind, [name]) for kind in _KINDS)
    )
    return next(named, None)


def labels_of_raters(table: Table, raters: Sequence[str]) -> Table:
    """The labels in these columns, of rows that have ids: id, rater, label and their origin.

    >>> table = Table(frame=pl.DataFrame({"id": [7], "Ann": ["A"], "Bob": ["B"]}), name="rows")
    >>> labels_of_raters(table, ["Ann", "Bob"]).frame.rows()
    [(7, 'Ann', 'A'), (7, 'Bob', 'B')]
    """
    frame = table.frame
    for rater in raters:
        if rater not in frame.columns:
            raise absent_column(rater, frame.columns, table.name)
    about = [
        column
        for column in frame.columns
        if column == "id" or recognise([column], "labels", BROUGHT)
    ]
    long = frame.with_columns(as_text(frame[rater]) for rater in raters).unpivot(
        on=list(raters), index=about, variable_name="rater", value_name="label"
    )
    return Table(frame=long, name=table.name, labels_as=table.labels_as)
