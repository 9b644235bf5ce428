"""Label Studio: exports as JSON, and tasks with predictions.

`data.id` is the row's id. A cancelled annotation is not a label. `parent_prediction` means that the
person started from the judge's answer. The exports JSON_MIN and CSV have neither of the two, and
JSON_MIN replaces the row's id with the task number: both are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Kind, Row, UnusableRow, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.values import (
    TASK_KINDS,
    Answer,
    Question,
    Task,
    convert_task,
    is_comparison,
    list_in,
    name_in,
    object_in,
    sureness,
    task_columns,
)

_TEXTS = ("prompt", "response", "response_a", "response_b", "reference")
#: A result of this type and name is a comment; `adjudge label --label-studio` asks for one.
_COMMENT = ("textarea", "comment")
#: Results of these types are answers; others mark places in a text or an image.
_ANSWERS = {"pairwise": "selected", "choices": "choices", "rating": "rating", "number": "number"}


def read_task(row: Row) -> Task:
    """One task: the judge's prediction and the annotations of people."""
    data = row.record.get("data")
    if not isinstance(data, Mapping):
        raise row.error("has no object", "data", "export the project as JSON")
    key = name_in(data.get("id")) or f"task-{row.record.get('id') or row.number}"
    texts = {name: data.get(name) for name in _TEXTS}
    columns = task_columns(key, texts, {k: v for k, v in data.items() if k not in ("id", *_TEXTS)})
    judge, *others = _predictions(row.record) or [{}]
    left_out = [UnusableRow("another prediction of the same task") for _ in others]
    answers: dict[str, list[Answer]] = {}
    for annotation in list_in(row.record.get("annotations") or row.record.get("completions")):
        one = object_in(annotation)
        given = dict(_answers(one.get("result")))
        if one.get("was_cancelled"):
            left_out.append(UnusableRow("a cancelled annotation"))
        elif not given:
            left_out.append(UnusableRow("an annotation without an answer"))
        for name, value in {} if one.get("was_cancelled") else given.items():
            answers.setdefault(name, []).append(
                Answer(
                    value=value,
                    who=_person(one.get("completed_by")),
                    from_judge=one.get("parent_prediction") is not None,
                    comment=_comment(one.get("result")),
                )
            )
    suggested = dict(_answers(judge.get("result")))
    names = {**dict.fromkeys(suggested), **dict.fromkeys(answers)}
    task = Task(columns=columns, questions=(), left_out=tuple(left_out))
    if is_comparison(task) and len(names) > 1:
        # A side and a tie are two controls of one question.
        answers = {next(iter(names)): [a for given in answers.values() for a in given]}
        suggested = {next(iter(names)): value for value in list(suggested.values())[:1]}
        names = dict.fromkeys(list(names)[:1])
    return Task(
        columns=columns,
        left_out=tuple(left_out),
        questions=tuple(
            Question(
                name=name,
                judge=_answer_of(judge, suggested[name]) if name in suggested else None,
                people=tuple(answers.get(name, ())),
            )
            for name in names
        ),
    )


def _answers(result: Any) -> Iterator[tuple[str, Any]]:
    """The answers of an annotation or a prediction, by the name of their control."""
    for part in list_in(result):
        one = object_in(part)
        value = object_in(one.get("value")).get(_ANSWERS.get(str(one.get("type")), ""))
        if isinstance(value, list):
            value = value[0] if len(value) == 1 else None
        if value is not None:
            yield str(one.get("from_name") or "answer"), value


def _comment(result: Any) -> str | None:
    """What was written into the text area `comment`; other texts are not comments."""
    areas = (object_in(part) for part in list_in(result))
    own = [one for one in areas if (one.get("type"), one.get("from_name")) == _COMMENT]
    texts = [text for one in own for text in list_in(object_in(one.get("value")).get("text"))]
    return "\n".join(str(text) for text in texts) or None


def _predictions(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The judge's predictions: those of the task, else the one kept with its annotations."""
    own = [one for one in list_in(task.get("predictions")) if isinstance(one, Mapping)]
    kept = (object_in(a).get("prediction") for a in list_in(task.get("annotations")))
    return own or [one for one in kept if isinstance(one, Mapping) and one][:1]


def _answer_of(judge: Mapping[str, Any], value: Any) -> Answer:
    name = name_in(judge.get("model_version"))
    return Answer(value=value, who=name, score=sureness(judge.get("score")))


def _person(completed_by: Any) -> str | None:
    """The rater: a number, or an object with an address in more detailed exports."""
    person = object_in(completed_by)
    return name_in(person.get("email") or person.get("id") or completed_by)


def kind_of(first: Mapping[str, Any]) -> Kind:
    """Labels if there is no prediction of a judge; else judgments of pairs or grades."""
    if not _predictions(first):
        return "labels"
    data = object_in(first.get("data"))
    return "judgments" if "response_b" in data else "grades"


def refuse(row: Row) -> Iterator[Record]:
    """Refuse the file with the reason in one line."""
    raise row.error(
        "JSON_MIN and CSV do not show whether a person started from the judge's answer, and "
        "JSON_MIN has task numbers instead of your ids",
        "annotation_id",
        "export the project as JSON",
    )


LABEL_STUDIO = Format(
    name="label-studio",
    title="a Label Studio export",
    source="label-studio 1.23.2, JSON",
    signature=signature("data", "annotations predictions completions", without="info"),
    gives={kind: partial(convert_task, read_task, kind) for kind in TASK_KINDS},
    log=True,
    kind_of=kind_of,
    notes=("a prediction's score is the judge's confidence; without one p_a is 1 or 0",),
)
LABEL_STUDIO_MIN = Format(
    name="label-studio-min",
    title="a Label Studio export as JSON_MIN or CSV",
    source="label-studio 1.23.2, JSON_MIN and CSV",
    signature=signature("annotation_id annotator lead_time"),
    gives={"labels": refuse, "judgments": refuse, "grades": refuse, "pairs": refuse},
    log=True,
)
