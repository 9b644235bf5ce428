"""Traces with opinions of judges and of people: MLflow, Phoenix, Langfuse, Opik."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.opinions import (
    SOURCES,
    By,
    Opinion,
    as_record,
    cost_of,
    grades_of_row,
    log_of_answers,
    log_of_opinions,
    reason_of,
)
from adjudge.data.logs.values import (
    COLUMNS,
    as_written,
    hash_of,
    is_missing,
    list_in,
    name_in,
    object_in,
    only_text,
    plain_columns,
    refuse,
)

# MLflow: traces as `search_traces` returns them, or one trace with `info`. A person who overrides a
# judge's assessment started from the judge's answer. The judge's verdict is then the overridden
# assessment, although MLflow marks it as invalid.


def mlflow_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per trace, assessment name and judge."""
    info = object_in(row.record.get("info")) or row.record
    state = str(info.get("state") or info.get("status") or "OK")
    if state.rpartition(".")[2] in ("ERROR", "IN_PROGRESS"):
        raise UnusableRow(f"a trace in state {state.rpartition('.')[2]}")
    assessments = info.get("assessments")
    if isinstance(assessments, str):
        assessments = row.nested("assessments")
    if not isinstance(assessments or [], list):
        raise row.error("has no list of assessments", "assessments", "export the traces as JSON")
    key = str(info.get("trace_id") or info.get("request_id") or f"trace-{row.number}")
    prompt = as_written(row.record.get("request", info.get("request_preview")))
    tags = object_in(row.record.get("tags", info.get("tags")))
    own_tags = {k: v for k, v in tags.items() if not str(k).startswith("mlflow.")}
    answer = {
        "prompt_id": hash_of(prompt),
        "prompt": prompt,
        "response": as_written(row.record.get("response", info.get("response_preview"))),
        **plain_columns(own_tags, taken=COLUMNS),
    }
    opinions = [_assessment(object_in(entry), key, answer) for entry in assessments or []]
    yield from grades_of_row(row, opinions, tags)


def _assessment(entry: Mapping[str, Any], key: str, answer: Record) -> Opinion | UnusableRow:
    feedback = entry.get("feedback")
    if not isinstance(feedback, Mapping):
        return UnusableRow("an assessment that is not feedback")
    source = object_in(entry.get("source"))
    by = SOURCES.get(str(source.get("source_type")), "unnamed")
    error = feedback.get("error")
    return Opinion(
        id=key,
        metric=str(entry.get("assessment_name") or entry.get("name") or "unnamed"),
        by=by,
        who=name_in(source.get("source_id")),
        value=feedback.get("value"),
        at=str(entry.get("create_time") or ""),
        error=object_in(error).get("error_message") or error,
        call={**reason_of(entry.get("rationale")), **_judge_cost(entry)},
        from_judge=by == "person" and bool(entry.get("overrides")),
        columns=answer,
    )


def _judge_cost(entry: Mapping[str, Any]) -> Record:
    return cost_of(object_in(entry.get("metadata")).get("mlflow.assessment.judgeCost"))


MLFLOW = log_of_answers(
    name="mlflow",
    title="MLflow traces",
    signature=signature(
        "", "assessments info", "trace_id request_id data", without="judge human label p_a"
    ),
    grades=mlflow_grades,
    ids=("trace_id", "request_id", "info"),
    envelopes=(
        Envelope(marks=columns("info data")),
        Envelope(marks=columns("traces"), path=("traces",)),
    ),
    notes=("traces of one request share a prompt_id",),
)


# Phoenix: annotations of spans or traces. The result is an object in JSON, columns in a table.


def phoenix_opinions(row: Row) -> Iterator[Record]:
    """One opinion per annotation; a score is used before a label."""
    subject = row.any_of("span_id", "trace_id", "session_id")
    if not subject:
        raise row.error("is missing", "span_id", "export annotations of spans or traces")
    result = object_in(row.record.get("result"))
    score, label, why = (
        result.get(part, row.get(f"result.{part}")) for part in ("score", "label", "explanation")
    )
    metric = row.any_of("name", "annotation_name") or "unnamed"
    who = row.any_of("identifier", "user_id")
    opinion = Opinion(
        id=str(subject),
        metric=str(metric),
        by=SOURCES.get(row.text("annotator_kind"), "unnamed"),
        who=name_in(who),
        value=label if is_missing(score) else score,
        at=str(row.get("created_at") or ""),
        error=object_in(row.record.get("metadata")).get("error"),
        call=reason_of(why),
    )
    yield as_record(opinion, row)


PHOENIX = log_of_opinions(
    name="phoenix",
    title="Phoenix annotations",
    signature=signature("annotator_kind", "name annotation_name", "span_id trace_id session_id"),
    opinions=phoenix_opinions,
    ids=("id", "span_id", "trace_id", "session_id"),
    envelopes=(Envelope(marks=columns("data"), path=("data",), without=columns("info")),),
    notes=("a span has no texts here: join them by the span's id",),
)


# Langfuse: scores of evaluators and of people, from its API (v2 and v3), SDK, UI and blob storage.
# Keys are in camel case, in blob storage in snake case. v3 has one typed value and a subject, the
# others a number with a word beside it, and a trace. An evaluator has no name; a failed one writes
# no score. Evaluators mostly score observations and people traces, so they are joined by the trace.

_NO_GRADES = {"CORRECTION": "a correction: not a grade", "TEXT": "a text: not a grade"}
_LANGFUSE_SOURCES: Mapping[str, By] = {"EVAL": "judge", "ANNOTATION": "person"}
_WITH_SUBJECT = "export the scores with what they are about: fields=subject,annotation"


def langfuse_opinions(row: Row) -> Iterator[Record]:
    """One opinion per score; for a categorical score its word counts."""
    kind = str(row.any_of("dataType", "data_type"))
    # What adjudge wrote comes back from the API with its metadata.
    ours = object_in(row.record.get("metadata"))
    what = ours.get("adjudge")
    if what not in (None, "answer"):
        raise UnusableRow(f"what adjudge wrote about a verdict: {what}")
    if kind in _NO_GRADES:
        raise UnusableRow(_NO_GRADES[kind])
    subject, trace = _langfuse_subject(row)
    value = row.get("value")
    if kind == "CATEGORICAL":
        value = row.any_of("stringValue", "string_value", "value")
    names = ("authorUserId", "author_user_id", "authorUserName", "author_user_name")
    by = "judge" if what else _LANGFUSE_SOURCES.get(row.text("source"), "unnamed")
    prompt_id = trace
    if what:
        prompt_id = name_in(ours.get("prompt_id")) or (None if trace == subject else trace)
    at = row.any_of("createdAt", "created_at", "timestamp") or ""
    opinion = Opinion(
        id=subject,
        within=trace,
        metric=row.text("name"),
        by=by,
        who=name_in(row.any_of(*names) if by == "person" else ours.get("judge") if what else None),
        value=value,
        at=str(at),
        call=reason_of(row.get("comment")),
        columns={} if prompt_id is None else {"prompt_id": prompt_id},
    )
    yield as_record(opinion, row)


def _langfuse_subject(row: Row) -> tuple[str, str | None]:
    """What a score is about, the narrowest first, and its trace."""
    subject = object_in(row.record.get("subject"))
    if (key := subject.get("id")) is not None:
        trace = key if subject.get("kind") == "trace" else subject.get("traceId")
        return str(key), None if trace is None else str(trace)
    trace = row.any_of("traceId", "trace_id")
    key = row.any_of("observationId", "observation_id", "traceId", "trace_id")
    key = key or row.any_of("sessionId", "session_id", "datasetRunId", "dataset_run_id")
    if key is None:
        raise row.error("has no traceId and no subject", "name", _WITH_SUBJECT)
    return str(key), None if trace is None else str(trace)


LANGFUSE = log_of_opinions(
    name="langfuse",
    title="Langfuse scores",
    signature=signature("name value source", "dataType data_type"),
    opinions=langfuse_opinions,
    notes=(
        "a label of a trace counts for its only judged observation",
        "a trace has no texts here: join them by id, the trace's or the observation's",
    ),
)


LANGFUSE_TRACES = Format(
    name="langfuse-traces",
    title="a Langfuse export of traces",
    signature=signature("bookmarked public release environment input output"),
    gives={
        "grades": partial(
            refuse,
            "a Langfuse export of traces averages the scores of judges and of people",
            "bookmarked",
            "export the scores: in the UI from the page Scores",
        )
    },
    log=True,
)


# Opik: traces with feedback scores. There is one score per name: its value is the mean over all
# authors, judges and people together. So the values by author are read, and never that mean.

_OPIK_SOURCES: Mapping[str, By] = {"online_scoring": "judge", "ui": "person"}


def opik_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per trace and score of a judge."""
    trace = object_in(row.record.get("trace")) or row.record
    if trace.get("error_info"):
        raise UnusableRow("a trace with an error")
    scores = list_in(trace.get("feedback_scores"))
    prompt = only_text(trace.get("input"))
    answer = {
        "prompt_id": hash_of(trace.get("input")),
        "prompt": prompt,
        "response": only_text(trace.get("output")),
        **plain_columns(trace.get("metadata"), taken=COLUMNS),
    }
    opinions = [
        _opik_opinion(str(trace.get("id")), str(score.get("name")), author, entry, answer)
        for score in map(object_in, scores)
        for author, entry in _opik_authors(score)
    ]
    yield from grades_of_row(row, opinions, object_in(trace.get("metadata")))


def _opik_authors(score: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The authors of a score with their values; a score of one author has no list of them."""
    by_author = object_in(score.get("value_by_author"))
    if not by_author:
        return [(str(score.get("created_by") or "unnamed"), score)]
    return [(str(author), object_in(entry)) for author, entry in by_author.items()]


def _opik_opinion(
    key: str, metric: str, author: str, entry: Mapping[str, Any], answer: Record
) -> Opinion:
    return Opinion(
        id=key,
        metric=metric,
        by=_OPIK_SOURCES.get(str(entry.get("source")), "unnamed"),
        who=author,
        value=entry.get("value"),
        at=str(entry.get("last_updated_at") or ""),
        call=reason_of(entry.get("reason")),
        columns=answer,
    )


OPIK = log_of_answers(
    name="opik",
    title="Opik traces",
    signature=signature("", "feedback_scores trace", "span_feedback_scores spans"),
    grades=opik_grades,
    ids=("id", "trace"),
    envelopes=(Envelope(marks=columns("trace spans downloaded_at")),),
    notes=("traces of one input share a prompt_id",),
)


OPIK_TABLE = Format(
    name="opik-table",
    title="an Opik export as CSV",
    signature=signature("trace_id trace_feedback_scores"),
    gives={
        "grades": partial(
            refuse,
            "the CSV of opik export has its scores as one text",
            "trace_feedback_scores",
            "export it as JSON, its default",
        )
    },
    log=True,
)
