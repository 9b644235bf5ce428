"""Grades from a log: one row per answer and metric, as `adjudge estimate` and others read it.

A tool that gives pass or fail itself has `judge` (1 or 0), its score in `judge_score`, and as
`uncertainty` how near the score is to the threshold. A tool that gives only a score has it as
`p_pass`: above one half is a pass. The human label is `human`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from adjudge.io.json_files import Record
from adjudge.io.published import Converter, Row, UnusableRow
from adjudge.io.runners.values import is_missing, read_share
from adjudge.io.tables import Table

#: The columns of a grade in order; columns of the log come after them.
COLUMNS = (
    *("id", "prompt_id", "metric", "judge_name", "protocol", "status"),
    *("judge", "p_pass", "judge_score", "uncertainty"),
    *("human", "human_overall", "rater", "labelled_by", "started_from"),
    *("model", "detail", "prompt", "response", "reference"),
)
#: Columns about the judge, not about the answer.
_JUDGES = frozenset(
    ("metric", "judge_name", "protocol", "status", "judge", "p_pass", "judge_score", "uncertainty")
) | {"detail"}
_THRESHOLD = 0.5


def scored(score: Any) -> Record:
    """The grade of a tool that gives a score and no verdict."""
    return {"status": "ok", "p_pass": read_share(score)}


def decided(passed: bool, score: Any, threshold: Any = None) -> Record:
    """The grade of a tool that gives pass or fail, with its score and threshold if it has them.

    The doubt is one minus the distance of the score from the threshold.

    >>> decided(True, 0.75, 0.5)
    {'status': 'ok', 'judge': 1, 'judge_score': 0.75, 'uncertainty': 0.75}
    """
    cut = _THRESHOLD if not _is_number(threshold) else float(threshold)
    known = _is_number(score) and (0 <= score <= 1 or _is_number(threshold))
    # Without a threshold the distance is unknown.
    given = float(score) if known else float(passed)
    return {
        "status": "ok",
        "judge": int(passed),
        "judge_score": given,
        "uncertainty": round(1 - abs(given - cut), 12),
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not is_missing(value) and abs(value) < math.inf


def label_of(share: float | None, rater: object = None, *, from_judge: bool = False) -> Record:
    """The human label of a row, and whether it started from the judge's answer."""
    if share is None:
        return {}
    return {
        "human": share,
        "rater": None if rater is None else str(rater),
        "labelled_by": "person",
        "started_from": "judge" if from_judge else None,
    }


def items_of(grades: Converter) -> Converter:
    """The graded answers, once each, to be judged again; human labels stay.

    A label stays if it is the same for all metrics: then it is about the answer.
    """

    def convert(row: Row) -> Iterator[Record | UnusableRow]:
        first: Record | None = None
        labels = set()
        for grade in grades(row):
            if isinstance(grade, UnusableRow):
                continue
            first = first or {k: v for k, v in grade.items() if k not in _JUDGES}
            labels.add(grade.get("human"))
        if first is None:
            raise UnusableRow("no graded answer")
        if not first.get("prompt") or not first.get("response"):
            raise UnusableRow("no text of the prompt or the answer")
        known = labels - {None}
        yield {**first, "human": known.pop() if len(known) == 1 else None}

    return convert


def read_log_grades(table: Table) -> pl.DataFrame:
    """Converted grades as one frame: our columns first, without empty columns.

    If an id is repeated with the same judge and metric (a test that was run twice), the later ones
    become id#2, id#3 ...; they share a `prompt_id`.
    """
    frame = table.frame
    for column in ("status", "human"):
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.String).alias(column))
    empty = [c for c in frame.columns if c != "human" and frame[c].null_count() == frame.height]
    frame = frame.drop(empty)
    key = [c for c in ("id", "judge_name", "protocol") if c in frame.columns]
    place = pl.int_range(1, pl.len() + 1).over(key)
    again = pl.when(place > 1).then(pl.format("{}#{}", "id", place)).otherwise(pl.col("id"))
    first = [c for c in COLUMNS if c in frame.columns]
    return frame.with_columns(again.alias("id")).select(*first, pl.exclude(first))


def identify(metric: str, judge: object) -> Mapping[str, str]:
    """The metric and the judge; a metric counts as a protocol."""
    return {"metric": metric, "judge_name": str(judge or metric), "protocol": metric}
