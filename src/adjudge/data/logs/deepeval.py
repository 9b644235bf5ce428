"""DeepEval test runs: `test_run.json` and `.latest_test_run.json`, one row per case and metric.

A failed metric has `error`, no score, and success false. `verboseLogs` are not read: a failed case
keeps those of the case before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import (
    COLUMNS,
    as_written,
    decided,
    failure,
    graded_items,
    hash_of,
    identify,
    is_missing,
    list_in,
    plain_columns,
)


def grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per test case and metric."""
    metrics = list_in(row.record.get("metricsData"))
    if not metrics:
        raise UnusableRow("a test case without a metric")
    answer = _answer(row)
    for data in metrics:
        if not isinstance(data, Mapping) or not data.get("name"):
            raise row.error("has a metric without a name", "metricsData", "export the run again")
        try:
            judged = _judged(data)
        except UnusableRow as reason:
            yield reason
            continue
        yield {**answer, **identify(str(data["name"]), data.get("evaluationModel")), **judged}


def _judged(data: Mapping[str, Any]) -> Record:
    if data.get("skipped"):
        raise UnusableRow("a metric that was skipped")
    if data.get("error"):
        return failure(data["error"])
    if is_missing(data.get("score")) or not isinstance(data.get("success"), bool):
        return failure("the metric gave no score")
    return decided(data["success"], data["score"], data.get("threshold"))


def _answer(row: Row) -> Record:
    given = row.record.get("input")
    return {
        "id": str(row.record.get("name") or f"case-{row.number}"),
        "prompt_id": hash_of(given),
        "prompt": as_written(given),
        "response": as_written(row.record.get("actualOutput")),
        "reference": as_written(row.record.get("expectedOutput")),
        **plain_columns(
            row.record.get("metadata") or row.record.get("additionalMetadata"), taken=COLUMNS
        ),
    }


DEEPEVAL = Format(
    name="deepeval",
    title="a DeepEval test run",
    source="deepeval 4.3.1, test_run.json and .latest_test_run.json",
    signature=signature("metricsData input"),
    gives={"grades": grades, "items": partial(graded_items, grades)},
    log=True,
    ids=("name",),
    envelopes=(
        Envelope(marks=frozenset({"testCases"}), path=("testCases",)),
        Envelope(marks=frozenset({"testRunData"}), path=("testRunData", "testCases")),
    ),
    notes=("DeepEval has no human labels: give them with --labels, by the case's name",),
)
