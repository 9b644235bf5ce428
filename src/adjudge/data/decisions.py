"""Decisions: verdicts that a policy accepted or left to people, as `select` writes them.

Others write them again, as audits or as rows to label: columns stay in the order of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

import polars as pl

from adjudge.data.columns import Column, Layout
from adjudge.data.grades import GRADE_COLUMNS, are_grades
from adjudge.data.judgments import JUDGMENT_COLUMNS
from adjudge.data.names import GRADE
from adjudge.data.rows import Rows, truth_column
from adjudge.data.source import Reading, Source, open_table
from adjudge.data.steps.repeats import first_repeats, leave_out_repeats
from adjudge.data.steps.status import plain_words
from adjudge.data.tables import Table, TableLike
from adjudge.errors import DataError
from adjudge.records import MEASURED, About

_SELECTED = "give the rows that adjudge select wrote with -o"
#: Columns of judged rows that are read here next to the judge's answers.
_OF_JUDGED = ("judge", "judge_name", "protocol", "status", "repeat", "judge_fingerprint")


def _decisions_on(judged: Layout, *, as_written: str | None = None) -> Layout:
    """The columns of decisions on rows of that kind; one answer can keep its type and words."""
    columns = [
        column
        for column in judged.columns
        if column.name != as_written and (column.answer or column.name in _OF_JUDGED)
    ]
    own = (Column(name="id"), Column(name="accepted"))
    answers = () if as_written is None else (as_written, "verdict")
    return Layout("decisions", *own, *columns, answers=answers, usual=judged.kind)


_LAYOUTS: Mapping[About, Layout] = {
    "pairs": _decisions_on(JUDGMENT_COLUMNS),
    "grades": _decisions_on(GRADE_COLUMNS, as_written="judge"),
}


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions of every status, each once. `accepted` is true or false; a failed row has false."""

    frame: pl.DataFrame
    name: str
    dropped: Mapping[str, int]
    about: About


def prepare_decisions(decisions: TableLike | Source, **reading: Unpack[Reading]) -> Decisions:
    """Decisions with the columns of their file; a row that the judge failed has no answer.

    >>> rows = {"id": [1, 2, 3], "verdict": ["a", "b", "timeout"], "accepted": [True, False, True]}
    >>> prepare_decisions(rows).frame.select("verdict", "accepted", "status").rows()
    [('A', True, 'ok'), ('B', False, None), (None, False, 'error')]
    """
    with Source.of(decisions, **reading) as source:
        table = open_table(source.rows)
    frame, about = read_decisions(table)
    for column in ("id", "accepted"):
        if column not in frame.columns:
            raise DataError(table.name, "is missing", column=column, remedy=_SELECTED)
    if "status" in frame.columns:
        failed = ~pl.col("status").is_in(list(MEASURED)).fill_null(True)
        frame = frame.with_columns(pl.col("accepted") & ~failed)
        # Audits are written with it, and read again.
        is_ok = pl.col("accepted") & pl.col("status").is_null()
        frame = frame.with_columns(
            pl.when(is_ok).then(pl.lit("ok")).otherwise("status").alias("status")
        )
    # In grades the column judge is the verdict.
    apart = ["judge"] if about == "pairs" else []
    rows = first_repeats(leave_out_repeats(Rows(frame), table.name, apart=apart))
    return Decisions(frame=rows.frame, name=table.name, dropped=rows.dropped, about=about)


def read_decisions(source: TableLike) -> tuple[pl.DataFrame, About]:
    """Decisions, or audits of them, as a checked frame; and what they are about."""
    table = open_table(source)
    about: About = "grades" if _are_grades(table) else "pairs"
    layout = _LAYOUTS[about]
    loaded = layout.load(table)
    frame = layout.check(loaded, table.name, labels_as=table.labels_as)
    if "accepted" in frame.columns:
        frame = frame.with_columns(truth_column(frame, "accepted", table.name, remedy=_SELECTED))
    return frame.select(*loaded.columns, pl.exclude(loaded.columns)), about


def _are_grades(table: Table) -> bool:
    """Whether the verdicts say that an answer passed or failed, not which of two is better."""
    if are_grades(table.frame.columns):
        return True
    if "verdict" not in table.frame.columns or "p_a" in table.frame.columns:
        return False
    verdicts = plain_words(table.frame["verdict"])
    return bool(verdicts) and verdicts <= GRADE.words.keys()
