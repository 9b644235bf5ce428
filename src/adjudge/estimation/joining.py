"""Human labels from a second file: the one `plan rate --write-ids` wrote, filled in by people."""

from __future__ import annotations

import polars as pl

from adjudge.errors import DataError
from adjudge.io.tables import TableLike, as_text, read_table, source_name

_CARRIED = ("sampled_by", "sampling_probability")


def with_labels(
    frame: pl.DataFrame, labels: TableLike, *, human_column: str
) -> tuple[pl.DataFrame, int]:
    """The rows with labels from `labels` by id, and how many labels belong to no row.

    Its `human_column`, `human` or `label` is read. A label there replaces the row's own;
    `sampled_by` and `sampling_probability` come along. An id labelled twice is refused: decide
    between raters first. So is a file of which no id is known here.

    >>> rows = pl.DataFrame({"id": ["a", "b"], "judge": [1, 0]})
    >>> joined, lost = with_labels(rows, {"id": ["b"], "label": [0]}, human_column="human")
    >>> joined["human"].to_list(), lost
    ([None, 0], 0)
    """
    name = source_name(labels)
    given = read_table(labels)
    column = next((c for c in (human_column, "human", "label") if c in given.columns), None)
    for present, missing in (("id" in given.columns, "id"), (column is not None, human_column)):
        if not present:
            raise DataError(name, "is missing", column=missing, remedy="labels join by id")
    if "id" not in frame.columns:
        raise DataError("rows", "is missing", column="id", remedy="labels join by id")
    if given.schema[str(column)].is_nested():
        raise DataError(name, "holds lists or objects", column=column, remedy="give one label each")
    carried = [c for c in _CARRIED if c in given.columns]
    given = given.select(as_text(given["id"]), pl.col(str(column)).alias("__label"), *carried)
    given = given.filter(pl.col("__label").is_not_null())
    twice = given.get_column("id").is_duplicated()
    if twice.any():
        at = int(twice.arg_true()[0])
        raise DataError(
            name,
            f"{given['id'][at]!r} is labelled more than once",
            column="id",
            remedy="keep one label per id",
        )
    rows = frame.with_columns(as_text(frame["id"]))
    found = given.get_column("id").is_in(rows.get_column("id").to_list())
    if given.height and not found.any():
        raise DataError(
            name,
            f"{given['id'][0]!r} and all the others are ids of no row here",
            column="id",
            remedy="give labels of these rows",
        )
    for wanted in (human_column, *carried):
        if wanted not in rows.columns:
            rows = rows.with_columns(pl.lit(None).alias(wanted))
    joined = rows.join(given, on="id", how="left", maintain_order="left", suffix="__new")
    labelled = pl.col("__label").is_not_null()
    filled = joined.with_columns(
        pl.when(labelled)
        .then(pl.col("__label"))
        .otherwise(pl.col(human_column))
        .alias(human_column),
        *(
            pl.when(labelled).then(pl.col(f"{c}__new")).otherwise(pl.col(c)).alias(c)
            for c in carried
        ),
    )
    return filled.select(rows.columns), int((~found).sum())
