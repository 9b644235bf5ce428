"""Binary rows: a judge's 0 or 1 for every row, a person's for some."""

from __future__ import annotations

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import Column, Layout, rename_columns
from adjudge.io.formats import refuse_public
from adjudge.io.refusals import refuse_values
from adjudge.io.tables import TableLike, read_table, source_name

LAYOUT = Layout("binary", Column(name="id", filled=True))
_TRUTH = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def read_binary(
    source: TableLike, *, judge_column: str = "judge", human_column: str = "human"
) -> pl.DataFrame:
    """Rows with `judge` (0 or 1) and `human` (0, 1 or empty), as whole numbers.

    `judge_column` and `human_column` say which columns of the file they are; a column that is
    called `judge` but is not the one wanted is kept as `judge_given`. Without an `id` column rows
    are called by their number. True and false count as 1 and 0. A row without the judge's answer
    is refused: leave such rows out and report how many.

    >>> read_binary({"GPT-4": [1, 0], "human": [1, None]}, judge_column="GPT-4").rows()
    [('1', 1, 1), ('2', 0, None)]
    """
    name = source_name(source)
    frame = read_table(source, text=("id", judge_column, human_column))
    refuse_public(frame.columns, "binary", name)
    for column, option in ((judge_column, "judge_column"), (human_column, "human_column")):
        if column not in frame.columns:
            raise LAYOUT.missing(frame, column, name, f"name the right one with {option}")
    frame = rename_columns(frame, {"judge": judge_column, "human": human_column}, name)
    judge, human = (_zero_one(frame.get_column(c), name) for c in ("judge", "human"))
    remedy = "leave out rows the judge did not answer, and report how many"
    refuse_values(
        judge, judge.is_null(), "is empty", source=name, column=judge_column, remedy=remedy
    )
    frame = frame.with_columns(judge=judge, human=human)
    if "id" not in frame.columns:
        frame = frame.with_columns(id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    first = ("id", "judge", "human")
    return LAYOUT.check(frame, name).select(*first, pl.exclude(first))


def _zero_one(values: pl.Series, source: str) -> pl.Series:
    if values.dtype == pl.Null:
        return values.cast(pl.Int64)
    if values.dtype.is_nested():
        problem = "holds lists or objects"
        raise DataError(source, problem, row=1, column=values.name, remedy="give 0 or 1")
    text = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    text = pl.select(pl.when(text != "").then(text)).to_series()
    numbers = text.replace_strict(_TRUTH, default=None, return_dtype=pl.Int64)
    bad = text.is_not_null() & numbers.is_null()
    refuse_values(values, bad, "{} is neither 0 nor 1", source=source, remedy="give 0 or 1")
    return numbers.alias(values.name)
