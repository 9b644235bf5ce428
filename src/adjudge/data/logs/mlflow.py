"""MLflow traces with assessments: those of judges (LLM_JUDGE) and of people (HUMAN).

Traces as `search_traces` returns them, or one trace with `info`. A person who overrides a judge's
assessment started from the judge's answer. The judge's verdict is then the overridden assessment,
although MLflow marks it as invalid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import (
    COLUMNS,
    Opinion,
    as_written,
    graded_items,
    grades_of,
    hash_of,
    name_in,
    object_in,
    plain_columns,
)

_BY: Mapping[str, Literal["judge", "person"]] = {
    "LLM_JUDGE": "judge",
    "AI_JUDGE": "judge",
    "HUMAN": "person",
}


def grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per trace, assessment name and judge."""
    info = object_in(row.record.get("info")) or row.record
    state = str(info.get("state") or info.get("status") or "OK")
    if state.rpartition(".")[2] in ("ERROR", "IN_PROGRESS"):
        raise UnusableRow(f"a trace in state {state.rpartition('.')[2]}")
    given = info.get("assessments")
    if isinstance(given, str):
        given = row.nested("assessments")
    if not given:
        raise UnusableRow("a trace without assessments")
    if not isinstance(given, list):
        raise row.error("has no list of assessments", "assessments", "export the traces as JSON")
    key = str(info.get("trace_id") or info.get("request_id") or f"trace-{row.number}")
    answer = _answer(row.record, info)
    opinions = []
    for entry in given:
        opinion = _opinion(object_in(entry), key, answer)
        if isinstance(opinion, UnusableRow):
            yield opinion
        else:
            opinions.append(opinion)
    yield from grades_of(opinions)


def _opinion(entry: Mapping[str, Any], key: str, answer: Record) -> Opinion | UnusableRow:
    feedback = entry.get("feedback")
    if not isinstance(feedback, Mapping):
        return UnusableRow("an assessment that is not feedback")
    source = object_in(entry.get("source"))
    by = _BY.get(str(source.get("source_type")))
    if by is None:
        return UnusableRow("feedback of neither a judge nor a person")
    error = feedback.get("error")
    return Opinion(
        id=key,
        metric=str(entry.get("assessment_name") or entry.get("name") or "unnamed"),
        by=by,
        who=name_in(source.get("source_id")),
        value=feedback.get("value"),
        at=str(entry.get("create_time") or ""),
        error=object_in(error).get("error_message") or error,
        from_judge=by == "person" and bool(entry.get("overrides")),
        answer=answer,
    )


def _answer(trace: Mapping[str, Any], info: Mapping[str, Any]) -> Record:
    request = trace.get("request", info.get("request_preview"))
    response = trace.get("response", info.get("response_preview"))
    prompt = as_written(request)
    return {
        "prompt_id": hash_of(prompt),
        "prompt": prompt,
        "response": as_written(response),
        **plain_columns(_own_tags(trace.get("tags", info.get("tags"))), taken=COLUMNS),
    }


def _own_tags(tags: Any) -> Record:
    """Tags that people set, without those of MLflow."""
    return {k: v for k, v in object_in(tags).items() if not str(k).startswith("mlflow.")}


MLFLOW = Format(
    name="mlflow",
    title="MLflow traces",
    source="mlflow 3.17.2, search_traces and Trace.to_json",
    signature=signature(
        "", "assessments info", "trace_id request_id data", without="judge human label p_a"
    ),
    gives={"grades": grades, "items": partial(graded_items, grades)},
    log=True,
    ids=("trace_id", "request_id", "info"),
    envelopes=(
        Envelope(marks=frozenset({"info", "data"})),
        Envelope(marks=frozenset({"traces"}), path=("traces",)),
    ),
    notes=("traces of one request share a prompt_id",),
)
