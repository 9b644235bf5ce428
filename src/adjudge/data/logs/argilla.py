"""Argilla records: a judge's suggestions and people's responses, by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Kind, Row, UnusableRow, signature
from adjudge.data.logs.values import (
    TASK_KINDS,
    Answer,
    Question,
    Task,
    convert_task,
    list_in,
    name_in,
    object_in,
    sureness,
    task_columns,
)

_SUBMITTED = ("submitted", None)
#: A text question of this name is a comment on the others, not a separate question.
_COMMENT = "comment"


def read_task(row: Row) -> Task:
    """One record: the suggestion and the submitted responses to each question."""
    fields = row.record.get("fields")
    if not isinstance(fields, Mapping):
        raise row.error("has no object", "fields", "export records with to_list or to_json")
    key = name_in(row.record.get("id") or row.record.get("_server_id")) or f"record-{row.number}"
    columns = task_columns(key, fields, row.record.get("metadata"))
    suggestions = object_in(row.record.get("suggestions"))
    responses = dict(object_in(row.record.get("responses")))
    comments = dict(_comments(responses.pop(_COMMENT, None)))
    left_out: list[UnusableRow] = []
    questions = []
    for name in {**dict.fromkeys(suggestions), **dict.fromkeys(responses)}:
        people = []
        for response in list_in(responses.get(name)):
            one = object_in(response)
            if one.get("status") not in _SUBMITTED:
                left_out.append(UnusableRow(f"a response that was {one['status']}"))
            else:
                who = name_in(one.get("user_id"))
                people.append(Answer(value=one.get("value"), who=who, comment=comments.get(who)))
        suggested = object_in(suggestions.get(name))
        judge = _judge(suggested) if suggested else None
        questions.append(Question(name=str(name), judge=judge, people=tuple(people)))
    if not questions:
        left_out.append(UnusableRow("a record without an answer"))
    return Task(columns=columns, questions=tuple(questions), left_out=tuple(left_out))


def _comments(responses: Any) -> Iterator[tuple[str | None, str]]:
    """What each person wrote, by user."""
    for response in list_in(responses):
        one = object_in(response)
        if one.get("status") in _SUBMITTED and str(one.get("value") or "").strip():
            yield name_in(one.get("user_id")), str(one["value"])


def _judge(suggested: Mapping[str, Any]) -> Answer:
    return Answer(
        value=suggested.get("value"),
        who=name_in(suggested.get("agent")),
        score=sureness(suggested.get("score")),
    )


def kind_of(first: Mapping[str, Any]) -> Kind:
    """Labels if there is no suggestion of a judge; else judgments of pairs or grades."""
    if not object_in(first.get("suggestions")):
        return "labels"
    return "judgments" if "response_b" in object_in(first.get("fields")) else "grades"


ARGILLA = Format(
    name="argilla",
    title="Argilla records",
    source="argilla SDK, records.to_json",
    signature=signature("fields responses suggestions"),
    gives={kind: partial(convert_task, read_task, kind) for kind in TASK_KINDS},
    log=True,
    ids=("id", "_server_id"),
    kind_of=kind_of,
    notes=(
        "Argilla shows people the judge's suggestion: labels are independent of it only if it was "
        "hidden",
        "a suggestion's score is the judge's confidence; without one p_a is 1 or 0",
    ),
)
