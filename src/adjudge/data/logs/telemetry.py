"""OpenTelemetry as JSON lines (OTLP): evaluation results of the GenAI conventions, OpenInference.

A line is an export: log records or spans. An evaluation is an event `gen_ai.evaluation.result`, as
a log record or inside a span, or attributes of a span (OpenInference). Texts are in the spans.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.opinions import SOURCES, Opinion, as_record, merge, reason_of
from adjudge.data.logs.values import as_written, is_missing, list_in, name_in, object_in
from adjudge.data.turns import prompt_and_response

#: Where the log records and the spans of an export are.
_LOGS = ("resourceLogs", "scopeLogs", "logRecords")
_SPANS = ("resourceSpans", "scopeSpans", "spans")
EVENT = "gen_ai.evaluation.result"
NAME, SCORE, LABEL, WHY = (
    f"gen_ai.evaluation.{field}" for field in ("name", "score.value", "score.label", "explanation")
)
#: What adjudge writes beside the conventions: what a result is about (answer, pair or rate), the
#: judge, and the prompt of repeats.
ABOUT, JUDGE, PROMPT = "adjudge.about", "adjudge.judge", "adjudge.prompt_id"
_NOT_OF_AN_ANSWER = {
    "pair": "a verdict on a pair, which is no grade",
    "rate": "a corrected rate, which is no grade",
}
#: The conventions do not say who judged. An attribute of one's own that ends so can tell two
#: results of one name apart: it becomes a part of the metric's name.
_ONES_OWN = re.compile(r"(?<!gen_ai)\.(kind|type|source|role)$")
#: OpenInference: what an annotation is about, its number, and its field.
_ANNOTATION = re.compile(
    r"^(?P<of>trace\.|session\.)?(?:annotations|evaluations)\.(?P<number>\d+)\."
    r"(?:annotation|evaluation)\.(?P<field>\w+)$"
)


def otlp_opinions(row: Row) -> Iterator[Record | UnusableRow]:
    """The opinions and the texts of one export."""
    for record in _within(row.record, *_LOGS):
        attributes = _attributes(record)
        name = record.get("eventName") or attributes.get("event.name")
        if name == EVENT:
            yield _usable(row, _result, record, attributes, row)
        else:
            yield UnusableRow("a log record that is no evaluation")
    for span in _within(row.record, *_SPANS):
        yield from _of_span(span, row)


def _within(entry: Mapping[str, Any], *keys: str) -> Iterator[Mapping[str, Any]]:
    """The entries of a list, or of the lists within its entries, and so on."""
    for inner in map(object_in, list_in(entry.get(keys[0]))):
        yield from _within(inner, *keys[1:]) if keys[1:] else (inner,)


def _of_span(span: Mapping[str, Any], row: Row) -> Iterator[Record | UnusableRow]:
    attributes = _attributes(span)
    if texts := _texts(attributes):
        yield {"span": _subject(span, attributes), "texts": texts}
    for event in map(object_in, list_in(span.get("events"))):
        if event.get("name") == EVENT:
            within = {"traceId": span.get("traceId"), "spanId": span.get("spanId"), **event}
            of_event = {"gen_ai.response.id": attributes.get("gen_ai.response.id")}
            yield _usable(row, _result, within, {**of_event, **_attributes(event)}, row)
    for opinion in _annotations(span, attributes):
        yield _usable(row, replace, opinion)


def _usable(row: Row, make: Callable[..., Opinion], *of: Any) -> Record | UnusableRow:
    """An opinion as a record, or why it cannot be used: the others of its line still can."""
    try:
        return as_record(make(*of), row)
    except UnusableRow as reason:
        return reason


def _attributes(entry: Mapping[str, Any]) -> Record:
    """Attributes by name; each value is in an object that names its type."""
    listed = map(object_in, list_in(entry.get("attributes")))
    return {str(entry.get("key")): _value(object_in(entry.get("value"))) for entry in listed}


def _value(typed: Mapping[str, Any]) -> Any:
    kind, value = next(iter(typed.items()), (None, None))
    if kind == "arrayValue":
        return [_value(object_in(inner)) for inner in list_in(object_in(value).get("values"))]
    if kind == "kvlistValue":
        return _attributes({"attributes": object_in(value).get("values")})
    # Whole numbers are text in OTLP's JSON.
    return int(value) if kind == "intValue" and value is not None else value


def _subject(entry: Mapping[str, Any], attributes: Record) -> str:
    """What an entry is about: a response by its id, else a span."""
    return str(attributes.get("gen_ai.response.id") or entry.get("spanId") or entry.get("traceId"))


def _result(entry: Mapping[str, Any], attributes: Record, row: Row) -> Opinion:
    """The opinion of one evaluation event. Nothing says whose it is, unless adjudge wrote it."""
    if (about := attributes.get(ABOUT)) in _NOT_OF_AN_ANSWER:
        raise UnusableRow(_NOT_OF_AN_ANSWER[about])
    subject = attributes.get("gen_ai.response.id") or entry.get("spanId") or entry.get("traceId")
    if not subject:
        raise row.error("is about no span and no response", "resourceLogs", "export them too")
    users = {k: v for k, v in attributes.items() if _ONES_OWN.search(k) and k != "error.type"}
    more = "".join(f" ({key} {value})" for key, value in sorted(users.items()))
    score = attributes.get(SCORE)
    metric = attributes.get(NAME) or "unnamed"
    judge = name_in(attributes.get(JUDGE))
    prompt_id = name_in(attributes.get(PROMPT))
    seen = entry.get("timeUnixNano") or entry.get("observedTimeUnixNano")
    return Opinion(
        id=str(subject),
        metric=f"{metric}{more}",
        by="unsaid" if judge is None else "judge",
        who=judge,
        value=attributes.get(LABEL) if is_missing(score) else score,
        at=str(seen or ""),
        error=attributes.get("error.type"),
        call=reason_of(attributes.get(WHY)),
        columns=_cluster(entry) if prompt_id is None else {"prompt_id": prompt_id},
    )


def _annotations(span: Mapping[str, Any], attributes: Record) -> Iterator[Opinion]:
    """The annotations of OpenInference in a span: about itself, or about the span of its link."""
    annotations: dict[tuple[str, str], Record] = {}
    for name, value in attributes.items():
        if match := _ANNOTATION.match(name):
            key = match["of"] or "", match["number"]
            annotations.setdefault(key, {})[match["field"]] = value
    links = [object_in(link) for link in list_in(span.get("links"))]
    is_later = len(links) == 1 and "openinference.span.kind" not in attributes
    about = links[0] if is_later else span
    for (of, _), annotation in annotations.items():
        subject = {
            "": about.get("spanId"),
            "trace.": about.get("traceId"),
            "session.": attributes.get("session.id"),
        }[of]
        score, label, why = map(annotation.get, ("score", "label", "explanation"))
        value = label if is_missing(score) else score
        error = (why or "the judge gave no value") if is_missing(value) else None
        trace = about.get("traceId")
        ended = span.get("endTimeUnixNano") or ""
        yield Opinion(
            id=str(subject),
            within=name_in(trace),
            metric=str(annotation.get("name") or "unnamed"),
            by=SOURCES.get(str(annotation.get("annotator_kind")), "unnamed"),
            who=name_in(annotation.get("identifier")),
            value=value,
            at=str(ended),
            error=error,
            call=reason_of(why),
            columns=_cluster(about),
        )


def _cluster(entry: Mapping[str, Any]) -> Record:
    """Answers of one trace belong together."""
    trace = entry.get("traceId")
    return {"prompt_id": str(trace)} if trace else {}


def _texts(attributes: Record) -> Record:
    """The prompt, the answer and the model of a span."""
    prompt = attributes.get("gen_ai.input.messages") or attributes.get("input.value")
    response = attributes.get("gen_ai.output.messages") or attributes.get("output.value")
    names = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    model = next((attributes[name] for name in names if attributes.get(name)), None)
    texts = {"prompt": _spoken(prompt), "response": _spoken(response), "model": model}
    return {name: text for name, text in texts.items() if text is not None}


def _spoken(messages: Any) -> str | None:
    """Messages of the conventions, which are JSON with typed parts, as a conversation."""
    read = _messages(messages)
    return as_written(read) if read or not isinstance(messages, str) else messages


def _messages(messages: Any) -> list[Any]:
    """The messages of an attribute, which can be JSON."""
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except ValueError:
            return []
    return list_in(messages)


# A run of an agent: the spans of one trace. Each call of a model has all messages before it, so the
# longest one has the run; spans of tools say which calls failed.

_FAILED = (2, "STATUS_CODE_ERROR")


def otlp_spans(row: Row) -> Iterator[Record]:
    """What the spans of one export say of a run."""
    for span in _within(row.record, *_SPANS):
        attributes = _attributes(span)
        instructed = _messages(attributes.get("gen_ai.system_instructions"))
        system = [{"role": "system", "parts": instructed}] if instructed else []
        asked = _messages(attributes.get("gen_ai.input.messages"))
        answered = _messages(attributes.get("gen_ai.output.messages"))
        failed = object_in(span.get("status")).get("code") in _FAILED
        yield {
            "trace": str(span.get("traceId")),
            "messages": [*system, *asked, *answered] if asked or answered else [],
            "model": _texts(attributes).get("model"),
            "failed": attributes.get("gen_ai.tool.call.id") if failed else None,
        }


def merge_runs(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """The run of each trace, as a prompt and a response."""
    traces: dict[str, list[Record]] = {}
    for record in records:
        traces.setdefault(record["trace"], []).append(record)
    for trace, spans in traces.items():
        # Of calls with as many messages the last one counts.
        longest = max(reversed(spans), key=lambda span: len(span["messages"]))
        failed = {span["failed"] for span in spans} - {None}
        messages = [_with_failures(message, failed) for message in longest["messages"]]
        parts = prompt_and_response(as_written(messages) or "")
        if parts is None:
            yield UnusableRow("a trace in which no model answers a message")
            continue
        prompt, response = parts
        yield {"id": trace, "prompt": prompt, "response": response, "model": longest["model"]}


def _with_failures(message: Any, failed: Collection[Any]) -> Any:
    """A message whose results of calls that failed say so."""
    parts = list(map(object_in, list_in(object_in(message).get("parts"))))
    if not failed or not parts:
        return message
    marked = [
        {**part, "is_error": part.get("type") == "tool_call_response" and part.get("id") in failed}
        for part in parts
    ]
    return {**message, "parts": marked}


def merge_spans(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """The opinions on each answer as one row per judge, with the texts of its span."""
    rows = list(records)
    texts = {row["span"]: row["texts"] for row in rows if "span" in row}
    opinions = [row["opinion"] for row in rows if "opinion" in row]
    if not opinions:
        yield UnusableRow("spans without evaluations: give the log records with them")
    yield from merge(
        {"opinion": replace(opinion, columns={**opinion.columns, **texts.get(opinion.id, {})})}
        for opinion in opinions
    )


OTLP = Format(
    name="otlp",
    title="OpenTelemetry records",
    signature=signature("", "resourceLogs resourceSpans"),
    gives={"grades": otlp_opinions, "items": otlp_spans},
    merge={"grades": merge_spans, "items": merge_runs},
    log=True,
    ids=(),
    notes=(
        "texts are in the spans: put their lines into the same file",
        "answers of one trace share a prompt_id",
    ),
)
