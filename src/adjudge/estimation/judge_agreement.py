"""Judges on the same labelled rows as systems, whose number is their agreement with people."""

from __future__ import annotations

import math
import shlex
from typing import Any, Unpack

import polars as pl

from adjudge.data.candidates import judge_candidates
from adjudge.data.columns import UNNAMED, rename_table
from adjudge.data.grades import in_words, names_sides, prepare_grades
from adjudge.data.judgments import prepare_judgments
from adjudge.data.names import recognise, remark_names, shorten
from adjudge.data.rows import Rows, code_column, has_values, judge_names, measured, merge_dropped
from adjudge.data.source import Reading, Source, open_table
from adjudge.data.steps.labels import take_labels
from adjudge.data.tables import Table, TableLike
from adjudge.errors import DataError
from adjudge.estimation.systems import (
    QUESTION,
    Systems,
    as_grades,
    file_names,
    is_judged_pairs,
    tabulate,
)

_SAME_ID = "judges are compared on the same rows: give both judges' rows of one answer the same id"


def read_judges(
    data: TableLike,
    other: TableLike | None = None,
    *,
    labels: TableLike | None = None,
    cluster: str | None = None,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> Systems:
    """Judges on the same labelled rows, of one file or two: 1 if the verdict is people's label.

    >>> rows = {"id": [1, 1, 2, 2], "judge_name": ["x", "y"] * 2, "judge": [0, 1, 1, 1]}
    >>> read_judges({**rows, "human": [0, 0, 1, 1]}).judge.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    with Source(data, labels=labels, others={"other": other}, **reading) as source:
        places = [source.rows] if other is None else [source.rows, source.other("other")]
        tables = [open_table(place) for place in places]
        files = [_judged(table, source, model_labels=model_labels) for table in tables]
    frames = [judge_names(file.frame) for file in files]
    names = [table.name for table in tables]
    if len(files) > 1 and {*frames[0]["judge"].unique()} & {*frames[1]["judge"].unique()}:
        # Two prompts of one judge: the files' names say which is which.
        runs = zip(frames, file_names(names), strict=True)
        frames = [frame.with_columns(judge=pl.lit(run)) for frame, run in runs]
    frame = pl.concat(frames, how="diagonal_relaxed")
    name = " and ".join(names)
    if "label" not in frame.columns:
        remedy = "judges are compared by people's labels: add label (human), or give --labels FILE"
        raise DataError(name, "has no labels", column="label", remedy=remedy)
    unlabelled = Rows(frame, merge_dropped(*(file.dropped for file in files)))
    unlabelled = unlabelled.without(pl.col("label").is_null(), "no label")
    taken = take_labels(unlabelled, "label", name, model_labels=model_labels)
    rows = (
        # Labels that are not used were counted by their reason.
        Rows(taken.rows.frame.filter(pl.col("label").is_not_null()), taken.rows.dropped).without(
            pl.col("label") == "tie", "human tie"
        )
    )
    rows = measured(rows)
    if rows.frame.is_empty():
        reasons = ", ".join(f"{n} {reason}" for reason, n in rows.dropped.items())
        remedy = "give labels of these rows: --labels FILE (labels=)"
        raise DataError(name, f"no labelled verdict is left ({reasons})", remedy=remedy)
    judges = rows.frame["judge"].unique()
    if len(judges) < 2:
        remedy = "give rows of two or more judges, or two files"
        raise DataError(name, f"has {shorten(judges.to_list())} alone", remedy=remedy)
    frame = rows.frame.filter(pl.col("judge").n_unique().over("id") == len(judges))
    if frame.is_empty():
        problem = f"no labelled row was answered by each of {shorten(judges.sort().to_list(), 5)}"
        remedy = "keep the rows of judges that answered the same ids"
        raise DataError(name, problem, column="judge", remedy=remedy)
    lost = rows.frame["id"].n_unique() - frame["id"].n_unique()
    codes, judges_in_order = code_column(frame["judge"])
    agrees = pl.col("verdict") == pl.col("label")
    frame = frame.with_columns(
        pl.Series("__system", codes),
        pl.col("id").alias(QUESTION),
        __judge=agrees.fill_null(False).cast(pl.Float64),
        __human=pl.lit(math.nan),
    )
    how: dict[str, Any] = {"source": name, "notes": taken.makers}
    how["dropped"] = merge_dropped(rows.dropped, {"row that not all judges answered": lost})
    if has_values(frame, "cost"):
        mean = pl.col("cost").cast(pl.Float64).mean()
        how["costs"] = dict(frame.group_by("judge").agg(mean).rows())
    return tabulate(frame, judges_in_order, cluster, "agreement", **how)


def _judged(table: Table, source: Source, *, model_labels: bool) -> Rows:
    """The rows of every judge: id, judge, verdict and, if the table has labels, label."""
    joining: dict[str, Any] = {"labels": source.labels, "alike_ids": source.alike_ids}
    numbers = recognise(table.frame.columns, "grades", ["p_pass", "uncertainty"])
    sides = names_sides(table)
    table = _with_label(table) if sides else table
    if is_judged_pairs(table) or sides or numbers:
        judgments = prepare_judgments(table, doubt_needed=False, **joining)
        return Rows(judgments.frame, judgments.dropped)
    table = as_grades(table, None, ("judge", "human"))
    here = set(table.frame.columns)
    if "judge" not in here and (judges := judge_candidates(table.frame)):
        typed = shlex.join(word for judge in judges for word in ("--judge", judge))
        remedy = f"for judges in columns: adjudge evaluate {shlex.quote(table.name)} {typed}"
        raise DataError(table.name, "is missing", column="judge", remedy=remedy)
    if "id" not in here:
        raise DataError(table.name, "is missing", column="id", remedy=_SAME_ID)
    rows = prepare_grades(
        table,
        by="judge_name" if "judge_name" in here else None,
        cluster="none",
        needs_labels=False,
        scores=True,
        model_labels=model_labels,
        **joining,
    )
    if rows.scale == "scores":
        remedy = "how near judges are to people's scores: adjudge evaluate"
        raise DataError(rows.name, "has scores, not verdicts", column="judge", remedy=remedy)
    judge = pl.Series([UNNAMED] * rows.frame.height)
    if rows.groups is not None:
        judge = pl.Series(rows.group_names, dtype=pl.String).gather(rows.groups)
    verdicts, labels = in_words(rows)
    frame = rows.frame.with_columns(judge.alias("judge"), verdicts.alias("verdict"))
    if "human" in here or source.labels is not None:
        frame = frame.with_columns(labels.alias("label"))
    return Rows(frame, rows.dropped)


def _with_label(table: Table) -> Table:
    """Verdicts A and B with people's, which can be in a column `human`, as judgments of pairs."""
    here = table.frame.columns
    if "human" not in here or "label" in here:
        return table
    remark_names(table.name, {"label": "human"})
    return rename_table(table, {"label": "human"})
