"""The rows of the judges that are named: of one as they are, of several with their mean verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.columns import rename_table
from adjudge.data.grades import Grades, load_grades, prepare_grades
from adjudge.data.names import columns_as_text, recognise, shorten
from adjudge.data.rows import merge_dropped, tidy
from adjudge.data.source import Source, open_table
from adjudge.data.steps.repeats import APART
from adjudge.data.tables import Table
from adjudge.errors import ArgumentError, DataError
from adjudge.validation import FloatArray, IntArray

#: Columns that can have the judges' names if each judge has its own row.
_NAME_COLUMNS = ("judge_name", "judge")
#: Columns in which the rows of two judges on one answer differ.
_OF_JUDGE = ("judge_name", "protocol", "repeat")
#: The number of a row where rows have no id, and a row's judge.
_ROW = "__row_of_table"
_JUDGE = "__judged_by"


def prepare_judges(
    source: Source, judges: Sequence[str], *, judge_column: str = "judge", **options: Any
) -> Grades:
    """The rows of one judge; of several, those that all judged, with the mean of their verdicts.

    If every name is a column of the table, that column has the judge's verdicts. Otherwise a column
    has the judges' names, and `judge_column` the verdicts, with a row per id and judge. `options`
    are those of `prepare_grades`. Rows without a judge's verdict are left out and counted.

    >>> wide = {"a": [1, 0, 1], "b": [1, 1, None], "human": [1, None, None]}
    >>> rows = prepare_judges(Source(wide), ["a", "b"])
    >>> rows.judge.tolist(), rows.dropped
    ([1.0, 0.5], {'no verdict of b': 1})
    """
    if len(set(judges)) < len(judges):
        raise ArgumentError("judge", ", ".join(judges), "name each judge once")
    grouping = (options.get("by"), options.get("strata"))
    apart = [*APART, *(name for name in grouping if isinstance(name, str))]
    with source:
        table = open_table(source.rows)
        wide = set(judges) <= set(table.frame.columns)
        dropped: dict[str, int] = {}
        if wide:
            rows = dict.fromkeys(judges, _with_every_judge(table, judges[0], options))
        else:
            rows, dropped = _rows_of_each(table, judges, judge_column, apart, options)
        labels = source.labels
        grades = {
            judge: prepare_grades(
                rows[judge], judge_column=judge if wide else judge_column, labels=labels, **options
            )
            for judge in judges
        }
    result = grades[judges[0]]
    if len(judges) > 1:
        result = _mean_verdicts(grades, apart, table.name)
    return replace(result, dropped=merge_dropped(dropped, result.dropped))


def _with_every_judge(table: Table, judge: str, options: Mapping[str, Any]) -> Table:
    """A table with a column per judge; without ids, its rows get a number."""
    table = _with_our_names(table, judge, options)
    if "id" in table.frame.columns:
        return table
    return replace(table, frame=table.frame.with_row_index(_ROW))


def _with_our_names(table: Table, judge_column: str, options: Mapping[str, Any]) -> Table:
    """The table with our names of columns, which then need no remark for each judge."""
    if options.get("model") is not None or table.format == "scores":
        return table
    return load_grades(table, judge_column, options.get("human_column", "human"))


def _rows_of_each(
    table: Table,
    judges: Sequence[str],
    judge_column: str,
    apart: Sequence[str],
    options: Mapping[str, Any],
) -> tuple[dict[str, Table], dict[str, int]]:
    """The rows of each judge, of a table with a row per answer and judge, and what is left out.

    An answer that not every judge has a row of is counted here, and leaves with the mean.
    """
    column = _name_column(table, judges)
    if column == "judge" and options.get("model") is None and table.format != "scores":
        # Verdicts are then in another column, which can have any of its usual names.
        table = rename_table(table, {"judge_name": "judge"})
        column = "judge_name"
    table = _with_our_names(table, judge_column, options)
    names = tidy(table.frame[column], table.name, column)
    used = names.is_in(judges).fill_null(False)
    dropped = {"row of another judge": int((~used).sum())}
    if len(judges) > 1:
        key = _key(table.frame.columns, apart, table.name)
        asked = columns_as_text(table.frame, key).with_columns(names.alias(_JUDGE)).filter(used)
        judged = asked.group_by(key).agg(pl.col(_JUDGE).n_unique())
        dropped["not judged by every judge"] = int((judged[_JUDGE] < len(judges)).sum())
    fields = table.fields
    rows = {
        judge: replace(
            table,
            frame=table.frame.filter(names == judge),
            fields=None if fields is None else fields.filter(names == judge),
        )
        for judge in judges
    }
    return rows, dropped


def _name_column(table: Table, judges: Sequence[str]) -> str:
    """The column with the judges' names."""
    present: list[str] = []
    for column in _NAME_COLUMNS:
        if column not in table.frame.columns:
            continue
        names = tidy(table.frame[column], table.name, column).drop_nulls().unique()
        if names.is_in(judges).sum() == len(judges):
            return column
        present = present or names.sort().to_list()
    absent = [judge for judge in judges if judge not in (*table.frame.columns, *present)]
    problem = f"{', '.join(absent or judges)} is neither a column nor a judge's name"
    remedy = "name columns of verdicts, or keep one row per id and judge, with the name in "
    remedy += "judge_name and the verdict in judge (--judge-column)"
    if set(judges) & set(present):
        remedy = f"the judges are {shorten(present, 5)}"
    raise DataError(table.name, problem, column="judge_name", remedy=remedy)


def _key(columns: Sequence[str], apart: Sequence[str], source: str) -> list[str]:
    """The columns that name an answer, whichever judge it went to."""
    if _ROW in columns:
        return [_ROW]
    ids = [column for column in columns if recognise([column], "binary", ["id"])]
    if not ids:
        remedy = "give both judges' rows of one answer the same id"
        raise DataError(source, "is missing", column="id", remedy=remedy)
    others = {*apart, *ids} - {*_OF_JUDGE}
    return [column for column in columns if column in others]


def _mean_verdicts(grades: Mapping[str, Grades], apart: Sequence[str], source: str) -> Grades:
    """The answers that all judges judged: the mean verdict, and the label that any row has."""
    names = ", ".join(grades)
    scales = {rows.scale for rows in grades.values()}
    if "classes" in scales:
        remedy = "name the class that counts as 1: --positive NAME (positive=)"
        raise ArgumentError("judge", names, remedy)
    if "scores" in scales and len(scales) > 1:
        raise ArgumentError("judge", names, "name judges whose verdicts are on one scale")
    judged, dropped = _on_same_answers(grades, apart, source)
    human = reduce(_fill, [rows.human for rows in judged])
    if any((~np.isnan(rows.human) & (rows.human != human)).any() for rows in judged):
        problem = "two judges' rows of one answer have different labels"
        raise DataError(source, problem, remedy="keep one label per id")
    chances = [
        rows.sampling_probability for rows in judged if rows.sampling_probability is not None
    ]
    labelled = [rows for rows in judged if not np.isnan(rows.human).all()]
    first = judged[0]
    note = f"the judge is the mean verdict of {len(grades)}: {names}"
    return replace(
        first,
        scale="scores" if "scores" in scales else "probability",
        judge=np.mean([rows.judge for rows in judged], axis=0),
        human=human,
        sampling_probability=reduce(_fill, chances) if chances else None,
        drawn_at_random=bool(labelled) and all(rows.drawn_at_random for rows in labelled),
        dropped=dropped,
        judges=(note, *first.judges),
    )


def _on_same_answers(
    grades: Mapping[str, Grades], apart: Sequence[str], source: str
) -> tuple[list[Grades], dict[str, int]]:
    """Each judge's rows of the answers that all judged, in one order, and what is left out."""
    first, *others = grades
    dropped = dict(grades[first].dropped)
    dropped[f"no verdict of {first}"] = dropped.pop("no judge verdict", 0)
    places = {
        judge: columns_as_text(rows.frame, _key(rows.frame.columns, apart, source))
        .fill_null("")
        .with_row_index(f"row of {judge}")
        for judge, rows in grades.items()
    }
    joined = places[first]
    key = joined.columns[1:]
    for judge in others:
        before = joined.height
        joined = joined.join(places[judge], on=key, how="inner", maintain_order="left")
        dropped[f"no verdict of {judge}"] = before - joined.height
    if not joined.height:
        remedy = "name judges that judged the same rows"
        raise DataError(source, "no row has a verdict of every judge", remedy=remedy)
    judged = [
        _take(rows, joined[f"row of {judge}"].cast(pl.Int64).to_numpy())
        for judge, rows in grades.items()
    ]
    return judged, merge_dropped(dropped)


def _take(grades: Grades, rows: IntArray) -> Grades:
    """Only these rows, which are not classes."""
    arrays = ("judge", "human", "sampling_probability", "groups", "strata", "clusters")
    columns = {name: getattr(grades, name) for name in arrays}
    taken = {name: values[rows] for name, values in columns.items() if values is not None}
    return replace(grades, frame=grades.frame[rows], **taken)


def _fill(values: FloatArray, others: FloatArray) -> FloatArray:
    """The values; if one is missing, the other."""
    return np.where(np.isnan(values), others, values)
