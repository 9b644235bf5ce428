"""Traces with opinions of judges and of people: MLflow, Phoenix, Langfuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import (
    COLUMNS,
    Answer,
    as_written,
    failure,
    graded_items,
    hash_of,
    identify,
    is_missing,
    name_in,
    object_in,
    people_label,
    plain_columns,
    read_share,
    scored,
)

By = Literal["judge", "person"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion(Answer):
    """The opinion of a judge or a person on one answer under one name, with its time."""

    id: str
    metric: str
    by: By
    at: str
    error: Any = None
    #: The columns about the answer.
    columns: Record = field(default_factory=dict)


def grades_of(opinions: Iterable[Opinion]) -> Iterator[Record | UnusableRow]:
    """One row per answer, name and judge, with the human labels under that name."""
    groups: dict[tuple[str, str], list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault((opinion.id, opinion.metric), []).append(opinion)
    for (key, metric), group in groups.items():
        group.sort(key=lambda opinion: opinion.at)
        judges: dict[str | None, Opinion] = {}
        for opinion in group:
            if opinion.by == "judge" and opinion.who in judges:
                yield UnusableRow("a second grade by the same judge")
            elif opinion.by == "judge":
                judges[opinion.who] = opinion
        people = {o.who: o for o in group if o.by == "person" and not is_missing(o.value)}
        label, reasons = people_label([*people.values()], read_share, "human")
        yield from reasons
        if not judges:
            yield UnusableRow("a human label without a judge's grade")
        for who, opinion in judges.items():
            failed = opinion.error or (is_missing(opinion.value) and "the judge gave no value")
            try:
                judged = failure(failed) if failed else scored(opinion.value)
            except UnusableRow as reason:
                yield reason
                continue
            yield {"id": key, **opinion.columns, **identify(metric, who), **judged, **label}


def merge(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """The opinions on one answer under one name as one row per judge."""
    return grades_of(record["opinion"] for record in records)


# MLflow: traces as `search_traces` returns them, or one trace with `info`. A person who overrides a
# judge's assessment started from the judge's answer. The judge's verdict is then the overridden
# assessment, although MLflow marks it as invalid.

_SOURCES: Mapping[str, By] = {"LLM_JUDGE": "judge", "AI_JUDGE": "judge", "HUMAN": "person"}


def mlflow_grades(row: Row) -> Iterator[Record | UnusableRow]:
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
    prompt = as_written(row.record.get("request", info.get("request_preview")))
    tags = object_in(row.record.get("tags", info.get("tags")))
    own_tags = {k: v for k, v in tags.items() if not str(k).startswith("mlflow.")}
    answer = {
        "prompt_id": hash_of(prompt),
        "prompt": prompt,
        "response": as_written(row.record.get("response", info.get("response_preview"))),
        **plain_columns(own_tags, taken=COLUMNS),
    }
    opinions = [_assessment(object_in(entry), key, answer) for entry in given]
    yield from (one for one in opinions if isinstance(one, UnusableRow))
    yield from grades_of(one for one in opinions if isinstance(one, Opinion))


def _assessment(entry: Mapping[str, Any], key: str, answer: Record) -> Opinion | UnusableRow:
    feedback = entry.get("feedback")
    if not isinstance(feedback, Mapping):
        return UnusableRow("an assessment that is not feedback")
    source = object_in(entry.get("source"))
    by = _SOURCES.get(str(source.get("source_type")))
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
        columns=answer,
    )


MLFLOW = Format(
    name="mlflow",
    title="MLflow traces",
    signature=signature(
        "", "assessments info", "trace_id request_id data", without="judge human label p_a"
    ),
    gives={"grades": mlflow_grades, "items": partial(graded_items, mlflow_grades)},
    log=True,
    ids=("trace_id", "request_id", "info"),
    envelopes=(
        Envelope(marks=frozenset({"info", "data"})),
        Envelope(marks=frozenset({"traces"}), path=("traces",)),
    ),
    notes=("traces of one request share a prompt_id",),
)


# Phoenix: annotations of spans or traces. The result is an object in JSON, columns in a table.


def phoenix_opinions(row: Row) -> Iterator[Record]:
    """One opinion per annotation; a score is used before a label."""
    kind = row.text("annotator_kind")
    if kind not in ("LLM", "HUMAN"):
        raise UnusableRow(f"an annotation by {kind}")
    subject = row.any_of("span_id", "trace_id", "session_id")
    if not subject:
        raise row.error("is missing", "span_id", "export annotations of spans or traces")
    result = object_in(row.record.get("result"))
    score, label = (result.get(part, row.get(f"result.{part}")) for part in ("score", "label"))
    yield {
        "opinion": Opinion(
            id=str(subject),
            metric=str(row.get("name") or row.get("annotation_name") or "unnamed"),
            by="judge" if kind == "LLM" else "person",
            who=name_in(row.get("identifier") or row.get("user_id")),
            value=label if is_missing(score) else score,
            at=str(row.get("created_at") or ""),
            error=object_in(row.record.get("metadata")).get("error"),
        )
    }


PHOENIX = Format(
    name="phoenix",
    title="Phoenix annotations",
    signature=signature("annotator_kind", "name annotation_name", "span_id trace_id session_id"),
    gives={"grades": phoenix_opinions},
    merge={"grades": merge},
    log=True,
    ids=("id", "span_id", "trace_id", "session_id"),
    envelopes=(Envelope(marks=frozenset({"data"}), path=("data",), without=frozenset({"info"})),),
    notes=("a span has no texts here: join them by the span's id",),
)


# Langfuse: scores of evaluators and of people. Written from the classes of Langfuse's SDK, and not
# yet tested on a file of its server. Keys are as the API and as the SDK write them.

#: The object of a score, the narrowest first.
_SUBJECTS = ("observationId", "observation_id", "traceId", "trace_id", "sessionId", "session_id")


def langfuse_opinions(row: Row) -> Iterator[Record]:
    """One opinion per score; for a categorical score its word counts."""
    source = row.text("source")
    if source not in ("EVAL", "ANNOTATION"):
        # Any program can send a score through the API: it is not known if it was a judge.
        raise UnusableRow(f"a score from {source}: not known whether of a judge or a person")
    subject = row.any_of(*_SUBJECTS)
    if not subject:
        raise row.error("is missing", "traceId", "export scores of traces or observations")
    is_judge, value = source == "EVAL", row.get("value")
    if row.any_of("dataType", "data_type") == "CATEGORICAL":
        value = row.any_of("stringValue", "string_value", "value")
    yield {
        "opinion": Opinion(
            id=str(subject),
            metric=row.text("name"),
            by="judge" if is_judge else "person",
            # An evaluator has a name; a person has an id.
            who=None if is_judge else name_in(row.any_of("authorUserId", "author_user_id")),
            value=value,
            at=str(row.any_of("createdAt", "created_at", "timestamp") or ""),
        )
    }


LANGFUSE = Format(
    name="langfuse",
    title="Langfuse scores",
    signature=signature("name value source", "dataType data_type", "traceId trace_id sessionId"),
    gives={"grades": langfuse_opinions},
    merge={"grades": merge},
    log=True,
    ids=("id", *_SUBJECTS),
    notes=(
        "untried: written from the classes of Langfuse's SDK, not tested on its files",
        "a trace has no texts here: join them by id, the trace's or the observation's",
    ),
)
