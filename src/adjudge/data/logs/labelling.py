"""Tasks of labelling tools: texts, the judge's suggestion, human answers. Label Studio, Argilla.

A task is about two answers (a side or a tie) or about one (pass or fail); the same parts make
judgments, grades, labels, pairs and battles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adjudge.data.columns import input_name
from adjudge.data.formats import Format, Kind, Row, UnusableRow, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.values import (
    COLUMNS,
    Answer,
    as_written,
    identify,
    list_in,
    name_in,
    object_in,
    people_label,
    plain_columns,
    read_share,
    refuse,
    scored,
)

_WINNERS = {"A": "model_a", "B": "model_b", "tie": "tie"}
_SIDES = {
    **dict.fromkeys(("a", "left", "response_a", "response a", "answer_a", "answer a"), "A"),
    **dict.fromkeys(("b", "right", "response_b", "response b", "answer_b", "answer b"), "B"),
    **dict.fromkeys(("tie", "draw", "equal", "both", "neither", "same"), "tie"),
}
#: Columns that are made here; a task's column with such a name becomes input_NAME.
_MADE = frozenset(
    (*COLUMNS, "label", "judge", "verdict", "p_a", "p_fwd", "p_rev", "p_tie", "winner")
) - {"id", "prompt_id", "model", "prompt", "response", "reference"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a task: its name, the judge's answer and human answers."""

    name: str
    judge: Answer | None = None
    people: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task: its columns (id, texts, models, other values) and its questions."""

    columns: Record
    questions: tuple[Question, ...]
    #: Answers that are not labels, each with the reason.
    left_out: tuple[UnusableRow, ...]


def _task_columns(key: str, texts: Mapping[str, Any], more: Any) -> Record:
    """The columns of a task: its id, its texts, and its other plain values."""
    columns: Record = {"id": key}
    for name, value in texts.items():
        if name != "id" and value is not None:
            columns[input_name(name, columns) if name in _MADE else name] = as_written(value)
    return columns | plain_columns(more, taken={*columns, *_MADE})


def _side(value: Any) -> str:
    """A, B or tie, as tools and people write them."""
    side = _SIDES.get(str(value).strip().lower())
    if side is None:
        raise UnusableRow("an answer that is neither a side nor a tie")
    return side


def _pass_or_fail(value: Any) -> str:
    """1 or 0: the form of pass and fail labels that rates need."""
    share = read_share(value)
    if share not in (0, 1):
        raise UnusableRow("an answer that is neither pass nor fail")
    return str(int(share))


def _suggestion(value: Any, judge: Any, score: Any) -> Answer:
    """The judge's answer; a score that is not a share is no confidence."""
    is_share = isinstance(score, (int, float)) and not isinstance(score, bool) and 0 <= score <= 1
    return Answer(value=value, who=name_in(judge), score=float(score) if is_share else None)


def _verdict(judge: Answer) -> Record:
    """The side the judge named. Its score is its confidence in that side; without one p_a is 1.

    With a score below one half the judge does not favour the side it names: there is no p_a.
    """
    side = _side(judge.value)
    if side == "tie":
        return {"status": "ok", "p_a": 0.5, "uncertainty": 1.0}
    sure = 1.0 if judge.score is None else judge.score
    p_a = None if sure <= 0.5 else sure if side == "A" else 1 - sure
    return {"status": "ok", "p_a": p_a, "verdict": side, "uncertainty": 1 - sure}


def _judgments(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """The judge's side on every question, with people's majority."""
    for question in task.questions:
        if question.judge is not None:
            label, reasons = people_label(question.people, _side, "label")
            yield from reasons
            yield {
                **task.columns,
                "judge": question.judge.who or question.name,
                "protocol": question.name,
                "metric": question.name,
                **_verdict(question.judge),
                "label": None,
                **label,
            }


def _grades(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """The judge's grade on every question, with people's majority."""
    for question in task.questions:
        if question.judge is not None:
            label, reasons = people_label(question.people, read_share, "human")
            yield from reasons
            named = identify(question.name, question.judge.who)
            yield {**task.columns, **named, **scored(question.judge.value), **label}


def _labels(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """One label per person and question."""
    read = _side if "response_b" in task.columns else _pass_or_fail
    for answer in (answer for question in task.questions for answer in question.people):
        try:
            label = read(answer.value)
        except UnusableRow as reason:
            yield reason
            continue
        yield {
            **task.columns,
            "label": label,
            "rater": answer.who,
            "labelled_by": "person",
            "started_from": "judge" if answer.from_judge else None,
            **({} if answer.comment is None else {"comment": answer.comment}),
        }


def _pairs(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """The pair, with people's majority on the first question."""
    people = task.questions[0].people if task.questions else ()
    label, reasons = people_label(people, _side, "label")
    yield from reasons
    yield {**task.columns, **label}


def _battles(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """One battle per question: the judge's side and people's majority."""
    for side in ("model_a", "model_b"):
        if not task.columns.get(side):
            raise row.error("is missing", side, "battles need the names of both models")
    for question in task.questions:
        label, reasons = people_label(question.people, _side, "label")
        yield from reasons
        winner = _WINNERS.get(label.pop("label", None))
        judged: Record = {"judge": None}
        if question.judge is not None:
            judged = {**_verdict(question.judge), "judge": question.judge.who}
        yield {**task.columns, **judged, "winner": winner, **label}


#: What a task can be read as.
_CONVERTERS: dict[Kind, Callable[[Task, Row], Iterator[Record | UnusableRow]]] = {
    "judgments": _judgments,
    "grades": _grades,
    "labels": _labels,
    "pairs": _pairs,
    "battles": _battles,
}


def _convert(read: Callable[[Row], Task], kind: Kind, row: Row) -> Iterator[Record | UnusableRow]:
    """The rows of that kind in one task, which `read` reads."""
    task = read(row)
    yield from task.left_out
    if kind in ("judgments", "grades"):
        silent = [question for question in task.questions if question.judge is None]
        yield from (UnusableRow("no prediction of a judge") for _ in silent)
    yield from _CONVERTERS[kind](task, row)


def _kind_of(judged: object, texts: Any) -> Kind:
    """Labels if there is no answer of a judge; else judgments of pairs or grades."""
    if not judged:
        return "labels"
    return "judgments" if "response_b" in object_in(texts) else "grades"


# Label Studio: exports as JSON, and tasks with predictions. `data.id` is the row's id. A cancelled
# annotation is not a label. `parent_prediction` means that the person started from the judge's
# answer. The exports JSON_MIN and CSV have neither of the two, and JSON_MIN replaces the row's id
# with the task number: both are refused.

_TEXTS = ("prompt", "response", "response_a", "response_b", "reference")
#: Results of these types are answers; others mark places in a text or an image.
_ANSWERS = {"pairwise": "selected", "choices": "choices", "rating": "rating", "number": "number"}


def read_label_studio(row: Row) -> Task:
    """One task: the judge's prediction and the annotations of people."""
    data = row.record.get("data")
    if not isinstance(data, Mapping):
        raise row.error("has no object", "data", "export the project as JSON")
    key = name_in(data.get("id")) or f"task-{row.record.get('id') or row.number}"
    texts = {name: data.get(name) for name in _TEXTS}
    columns = _task_columns(key, texts, {k: v for k, v in data.items() if k not in ("id", *_TEXTS)})
    judge, *others = _predictions(row.record) or [{}]
    left_out = [UnusableRow("another prediction of the same task") for _ in others]
    answers: dict[str, list[Answer]] = {}
    annotations = list_in(row.record.get("annotations") or row.record.get("completions"))
    for annotation in map(object_in, annotations):
        result = annotation.get("result")
        if annotation.get("was_cancelled"):
            left_out.append(UnusableRow("a cancelled annotation"))
            continue
        # The rater is a number, or an object with an address in more detailed exports.
        rater = annotation.get("completed_by")
        who = name_in(object_in(rater).get("email") or object_in(rater).get("id") or rater)
        from_judge = annotation.get("parent_prediction") is not None
        answered = dict(_answers(result))
        if not answered:
            left_out.append(UnusableRow("an annotation without an answer"))
        for name, value in answered.items():
            answer = Answer(value=value, who=who, from_judge=from_judge, comment=_comment(result))
            answers.setdefault(name, []).append(answer)
    suggested = dict(_answers(judge.get("result")))
    names = list({**suggested, **answers})
    if "response_b" in columns and len(names) > 1:
        # A side and a tie are two controls of one question.
        names = names[:1]
        answers = {names[0]: [a for answered in answers.values() for a in answered]}
        suggested = dict(zip(names, suggested.values(), strict=False))
    model = judge.get("model_version")
    score = judge.get("score")
    suggestions = {name: _suggestion(value, model, score) for name, value in suggested.items()}
    questions = tuple(
        Question(name=name, judge=suggestions.get(name), people=tuple(answers.get(name, ())))
        for name in names
    )
    return Task(columns=columns, left_out=tuple(left_out), questions=questions)


def _answers(result: Any) -> Iterator[tuple[str, Any]]:
    """The answers of an annotation or a prediction, by the name of their control."""
    for part in map(object_in, list_in(result)):
        value = object_in(part.get("value")).get(_ANSWERS.get(str(part.get("type")), ""))
        if isinstance(value, list):
            value = value[0] if len(value) == 1 else None
        if value is not None:
            yield str(part.get("from_name") or "answer"), value


def _comment(result: Any) -> str | None:
    """What was written into the text area `comment`, which `adjudge label --label-studio` asks."""
    lines: list[str] = []
    for part in map(object_in, list_in(result)):
        if (part.get("type"), part.get("from_name")) == ("textarea", "comment"):
            lines += map(str, list_in(object_in(part.get("value")).get("text")))
    return "\n".join(lines) or None


def _predictions(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The judge's predictions: those of the task, else the one kept with its annotations."""
    of_task = [p for p in list_in(task.get("predictions")) if isinstance(p, Mapping)]
    seen = (object_in(a).get("prediction") for a in list_in(task.get("annotations")))
    return of_task or [p for p in seen if isinstance(p, Mapping) and p][:1]


_REFUSE_MIN = partial(
    refuse,
    "JSON_MIN and CSV do not show whether a person started from the judge's answer, and "
    "JSON_MIN has task numbers instead of your ids",
    "annotation_id",
    "export the project as JSON",
)


LABEL_STUDIO = Format(
    name="label-studio",
    title="a Label Studio export",
    signature=signature("data", "annotations predictions completions", without="info"),
    gives={kind: partial(_convert, read_label_studio, kind) for kind in _CONVERTERS},
    log=True,
    kind_of=lambda first: _kind_of(_predictions(first), first.get("data")),
    notes=("a prediction's score is the judge's confidence; without one p_a is 1 or 0",),
)
LABEL_STUDIO_MIN = Format(
    name="label-studio-min",
    title="a Label Studio export as JSON_MIN or CSV",
    signature=signature("annotation_id annotator lead_time"),
    gives=dict.fromkeys(("labels", "judgments", "grades", "pairs"), _REFUSE_MIN),
    log=True,
)


# Argilla records: a judge's suggestions and people's responses, by question. A text question
# `comment` is a comment on the others, not a separate question.

_SUBMITTED = ("submitted", None)


def read_argilla(row: Row) -> Task:
    """One record: the suggestion and the submitted responses to each question."""
    fields = row.record.get("fields")
    if not isinstance(fields, Mapping):
        raise row.error("has no object", "fields", "export records with to_list or to_json")
    key = name_in(row.record.get("id") or row.record.get("_server_id")) or f"record-{row.number}"
    columns = _task_columns(key, fields, row.record.get("metadata"))
    suggestions = object_in(row.record.get("suggestions"))
    responses = dict(object_in(row.record.get("responses")))
    comments = {}
    for comment in map(object_in, list_in(responses.pop("comment", None))):
        text = str(comment.get("value") or "")
        if comment.get("status") in _SUBMITTED and text.strip():
            comments[name_in(comment.get("user_id"))] = text
    left_out: list[UnusableRow] = []
    questions = []
    for name in {**suggestions, **responses}:
        people = []
        for response in map(object_in, list_in(responses.get(name))):
            if response.get("status") not in _SUBMITTED:
                left_out.append(UnusableRow(f"a response that was {response['status']}"))
            else:
                who, value = name_in(response.get("user_id")), response.get("value")
                people.append(Answer(value=value, who=who, comment=comments.get(who)))
        suggestion = object_in(suggestions.get(name))
        judge = _suggestion(
            suggestion.get("value"), suggestion.get("agent"), suggestion.get("score")
        )
        questions.append(
            Question(name=str(name), judge=judge if suggestion else None, people=tuple(people))
        )
    if not questions:
        left_out.append(UnusableRow("a record without an answer"))
    return Task(columns=columns, questions=tuple(questions), left_out=tuple(left_out))


ARGILLA = Format(
    name="argilla",
    title="Argilla records",
    signature=signature("fields responses suggestions"),
    gives={kind: partial(_convert, read_argilla, kind) for kind in _CONVERTERS},
    log=True,
    ids=("id", "_server_id"),
    kind_of=lambda first: _kind_of(object_in(first.get("suggestions")), first.get("fields")),
    notes=(
        "Argilla shows people the judge's suggestion: labels are independent of it only if it was "
        "hidden",
        "a suggestion's score is the judge's confidence; without one p_a is 1 or 0",
    ),
)
