"""Grades out of a log: one row per answer and metric, as `adjudge estimate` and the others read it.

A tool that says pass or fail itself gives `judge` (1 or 0), its score in `judge_score`, and as
`uncertainty` how near the score is to the threshold. A tool that gives a score alone gives it as
`p_pass`: above one half is a pass. What a person said is `human`.
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

#: The columns of a grade in their order; columns of the log itself come after them.
COLUMNS = (
    *("id", "prompt_id", "metric", "judge_name", "protocol", "status"),
    *("judge", "p_pass", "judge_score", "uncertainty"),
    *("human", "human_overall", "rater", "labelled_by", "started_from"),
    *("model", "detail", "prompt", "response", "reference"),
)
#: What is the judge's in a row, and not the answer's.
_JUDGES = frozenset(
    ("metric", "judge_name", "protocol", "status", "judge", "p_pass", "judge_score", "uncertainty")
) | {"detail"}
_THRESHOLD = 0.5


def scored(score: Any) -> Record:
    """The grade of a tool that gives a score and no verdict of its own."""
    return {"status": "ok", "p_pass": read_share(score)}


def decided(passed: bool, score: Any, threshold: Any = None) -> Record:
    """The grade of a tool that says pass or fail, with its score and threshold where it has them.

    The doubt is one less the distance of the score from the threshold.

    >>> decided(True, 0.75, 0.5)
    {'status': 'ok', 'judge': 1, 'judge_score': 0.75, 'uncertainty': 0.75}
    """
    cut = _THRESHOLD if not _is_number(threshold) else float(threshold)
    known = _is_number(score) and (0 <= score <= 1 or _is_number(threshold))
    # Without a threshold nothing says what is near it, beyond the usual scale.
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
    """What a person said of a row; where they began from the judge's answer, that too."""
    if share is None:
        return {}
    return {
        "human": share,
        "rater": None if rater is None else str(rater),
        "labelled_by": "person",
        "started_from": "judge" if from_judge else None,
    }


def items_of(grades: Converter) -> Converter:
    """The answers that were graded, once each, to be judged again; people's labels stay.

    A label stays where the metrics do not differ in it: it is about the answer then.
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
    """Converted grades as one frame: our columns first, without those that nothing is in.

    Where one id comes again with the same judge and metric (a test that was run twice), the later
    ones are called id#2, id#3 ...; `prompt_id` keeps them together.
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
    """Which metric it is, and who judged; one metric is one way of asking."""
    return {"metric": metric, "judge_name": str(judge or metric), "protocol": metric}
