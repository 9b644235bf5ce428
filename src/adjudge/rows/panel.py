"""Several judges' verdicts on the same rows: one column each, or one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from adjudge.data.grades import BINARY_COLUMNS, Grades, against_the_rest, as_numbers, prepare_grades
from adjudge.data.labels import join_values
from adjudge.data.refusals import refuse_duplicates, refuse_values
from adjudge.data.rows import DEFAULT_CLUSTER, Rows, first_repeats, merge_dropped, tidy
from adjudge.data.source import name_columns, open_table
from adjudge.data.tables import Table, TableLike
from adjudge.data.words import AS_SAID, read_grade_words, read_words
from adjudge.errors import ArgumentError, DataError
from adjudge.validation import FloatArray

#: Columns that can have the judges' names if each judge has its own row.
_NAMES = ("judge_name", "judge")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Rows that every judge has judged: `grades` with the first judge's verdicts, `verdicts` all.

    `verdicts` has one row per row and one column per judge in `judges`. `question` names the column
    of `grades.clusters`; None if there is none.
    """

    grades: Grades
    judges: tuple[str, ...]
    verdicts: FloatArray
    question: str | None


def prepare_panel(
    data: TableLike | None,
    judges: Sequence[str],
    *,
    labels: TableLike | None = None,
    by: str | None = None,
    cluster: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Panel:
    """The rows that all `judges` judged, from one column per judge or one row per judge.

    If every name is a column of the table, that column has the judge's verdicts. Otherwise
    `judge_name` (or `judge`, if another column is named for the verdicts) has the names and
    `judge_column` the verdicts, with one row per id and judge. Rows without a judge's verdict are
    left out and counted. Questions are `cluster`, or prompt_id if it exists and none is named.

    >>> wide = {"a": [1, 0, 1], "b": [1, 1, None], "human": [1, None, None]}
    >>> panel = prepare_panel(wide, ["a", "b"])
    >>> panel.verdicts.tolist(), panel.grades.dropped
    ([[1.0, 1.0], [0.0, 1.0]], {'no verdict of b': 1})
    """
    names = tuple(judges)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ArgumentError(
            "judge",
            ", ".join(names),
            "name two or more different judges, or the column of one: --judge-column "
            "(judge_column=)",
        )
    for other in (human_column, by, cluster):
        if other in names:
            raise ArgumentError("judge", other, "is used for something else: name verdicts")
    if data is None:
        raise ArgumentError("judge", names, "give a table with their verdicts")
    with name_columns(columns, labels_as) as named:
        data, labels = named(data), named(labels)
    table = open_table(data)
    name, words, frame = table.name, table.labels_as, table.frame
    if table.kind is None:
        as_is = {"judge": names[0]} if judge_column == "judge" else {"judge": judge_column}
        as_is |= {"human": human_column} if human_column != "human" else {}
        frame = BINARY_COLUMNS.load(table, as_is=as_is)
    asked = first_repeats(Rows(frame, table.dropped))
    frame, lost = asked.frame, dict(asked.dropped)
    if not set(names) <= set(frame.columns):
        frame = _one_row_each(frame, names, name, judge_column, human_column)
    frame = frame.with_columns(
        read_words(tidy(frame[c], name, c), AS_SAID, words)
        for c in (*names, human_column)
        if c in frame.columns
    )
    if labels is not None:
        joined = join_values(frame, labels, column=human_column, source=name)
        frame, lost = joined.frame, merge_dropped(lost, joined.dropped)
    others = {judge: _verdicts(frame, judge, name, human_column, positive) for judge in names[1:]}
    first = tidy(frame[names[0]], name, names[0])
    missing = first.is_null()
    for judge, column in others.items():
        lost[f"no verdict of {judge}"] = int((column.is_null() & ~missing).sum())
        missing = missing | column.is_null()
    if missing.all():
        raise DataError(
            name,
            "no row has a verdict of every judge",
            column=names[0],
            remedy="name judges that judged the same rows",
        )
    first = pl.select(pl.when(~missing).then(first)).to_series().alias(names[0])
    frame = frame.with_columns(first, *others.values())
    cluster = DEFAULT_CLUSTER if cluster is None and DEFAULT_CLUSTER in frame.columns else cluster
    grades = prepare_grades(
        Table(frame=frame, name=name),
        by=by,
        cluster=cluster,
        judge_column=names[0],
        human_column=human_column,
        positive=positive,
        model_labels=model_labels,
    )
    if grades.scale == "classes":
        raise ArgumentError(
            "judge", names, "name the class that counts as 1: --positive NAME (positive=)"
        )
    dropped = dict(grades.dropped)
    lost[f"no verdict of {names[0]}"] = dropped.pop("no judge verdict", 0) - sum(
        lost[f"no verdict of {judge}"] for judge in others
    )
    further = [as_numbers(grades.frame[judge]) for judge in others]
    return Panel(
        grades=replace(grades, dropped=merge_dropped(lost, dropped)),
        judges=names,
        verdicts=np.stack([grades.judge, *further], axis=1),
        question=cluster,
    )


def _verdicts(
    frame: pl.DataFrame, judge: str, name: str, human_column: str, positive: str | None
) -> pl.Series:
    """One judge's verdicts as numbers in [0, 1], null if missing."""
    text = tidy(frame[judge], name, judge)
    if positive is not None and human_column in frame.columns:
        label = tidy(frame[human_column], name, human_column)
        text, _ = against_the_rest(text, label, positive, name, judge)
    else:
        text = read_grade_words(text)
    numbers = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & ~numbers.is_between(0, 1).fill_null(False)
    remedy = "give 0, 1, a probability or nothing, or name the class that counts as 1: --positive"
    refuse_values(text, bad, "{} is not a verdict", source=name, remedy=remedy, column=judge)
    return numbers.alias(judge)


def _one_row_each(
    frame: pl.DataFrame, judges: tuple[str, ...], name: str, judge_column: str, human_column: str
) -> pl.DataFrame:
    """A table with one row per id and judge, turned into one with one column per judge."""
    named = next((c for c in _NAMES if c in frame.columns and c != judge_column), None)
    known = [] if named is None else tidy(frame[named], name, named).unique().to_list()
    absent = [judge for judge in judges if judge not in known]
    if named is None or absent or "id" not in frame.columns or judge_column not in frame.columns:
        raise DataError(
            name,
            f"{', '.join(absent or judges)} is neither a column nor a judge's name",
            column=named or "judge_name",
            remedy="name columns of verdicts, or keep one row per id and judge, with the name in "
            f"judge_name and the verdict in {judge_column} (--judge-column)",
        )
    rows = frame.with_columns(tidy(frame[named], name, named)).filter(pl.col(named).is_in(judges))
    refuse_duplicates(rows, ["id", named], source=name, remedy="keep one verdict per row and judge")
    others = [c for c in rows.columns if c not in ("id", named, judge_column)]
    if human_column in others:
        people = rows.group_by("id").agg(pl.col(human_column).drop_nulls().n_unique().alias("n"))
        if (people["n"] > 1).any():
            at = people.filter(pl.col("n") > 1)["id"][0]
            raise DataError(
                name,
                f"id {at!r} has different labels for different judges",
                column=human_column,
                remedy="keep one label per id",
            )
    first = rows.group_by("id", maintain_order=True).agg(
        pl.col(c).drop_nulls().first() for c in others
    )
    wide = rows.pivot(on=named, index="id", values=judge_column, maintain_order=True)
    return first.join(wide, on="id", how="left", maintain_order="left")
