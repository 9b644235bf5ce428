"""Binary rows: the judge's 0 or 1 for every row, a human label for some."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import TEXT_COLUMNS, Column, Layout, check_columns, missing_columns
from adjudge.io.made_ids import add_ids
from adjudge.io.refusals import refuse_values
from adjudge.io.tables import TableLike, as_text, labels_as_of, source_name
from adjudge.io.words import GRADE, read_words

#: The rows of `estimate`: any verdicts and labels. Ids are needed only to join labels.
LAYOUT = Layout(
    "binary",
    Column(name="id", filled=True),
    Column(name="judge"),
    Column(name="human"),
    Column(name="judge_name"),
    Column(name="prompt_id"),
    *TEXT_COLUMNS,
    one_of=("judge", "p_pass"),
    unlike=("judgments", "scores", "tournaments"),
)
_TRUTH = {"1": 1, "0": 0}


def read_binary(
    source: TableLike,
    *,
    judge_column: str | None = None,
    human_column: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Rows with `judge` (0 or 1) and `human` (0, 1 or empty), as whole numbers.

    `judge_column` and `human_column` (or `columns`) name the columns of the file. Another column
    with the name `judge` is kept as `judge_given`. Without an `id` column the id of a row is a hash
    of its content. True and false, pass and fail, yes and no count as 1 and 0. A row without the
    judge's verdict is refused: leave such rows out and report how many.

    >>> rows = {"id": ["x", "y"], "GPT-4": [1, 0], "human": [1, None]}
    >>> read_binary(rows, judge_column="GPT-4").rows()
    [('x', 1, 1), ('y', 0, None)]
    """
    name = source_name(source)
    named = {"judge": judge_column, "human": human_column}
    theirs = {**(columns or {}), **{ours: their for ours, their in named.items() if their}}
    frame = LAYOUT.load(source, theirs)
    absent = [column for column in ("judge", "human") if column not in frame.columns]
    if absent:
        raise missing_columns(frame.columns, absent, name)
    judge, human = (
        _zero_one(frame.get_column(c), name, theirs.get(c, c), labels_as_of(source))
        for c in ("judge", "human")
    )
    remedy = "leave out rows without a verdict of the judge, and report how many"
    column = theirs.get("judge", "judge")
    refuse_values(judge, judge.is_null(), "is empty", source=name, column=column, remedy=remedy)
    frame = frame.with_columns(judge=judge, human=human)
    frame = add_ids(frame, name)
    first = ("id", "judge", "human")
    checked = check_columns(frame, [LAYOUT.columns[0]], name)
    return checked.select(*first, pl.exclude(first))


def _zero_one(
    values: pl.Series, source: str, column: str, labels_as: Mapping[str, str]
) -> pl.Series:
    if values.dtype == pl.Null:
        return values.cast(pl.Int64)
    if values.dtype.is_nested():
        problem = "contains lists or objects"
        raise DataError(source, problem, row=1, column=column, remedy="give 0 or 1")
    text = read_words(as_text(values), GRADE, labels_as)
    numbers = text.replace_strict(_TRUTH, default=None, return_dtype=pl.Int64)
    bad = text.is_not_null() & numbers.is_null()
    remedy = "give 0 or 1"
    refuse_values(values, bad, "{} is neither 0 nor 1", source=source, remedy=remedy, column=column)
    return numbers.alias(values.name)
