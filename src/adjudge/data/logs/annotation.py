"""One task of a labelling tool: its texts, the judge's suggestion, human answers.

Label Studio and Argilla have these under different names. A task is about two answers (a side or a
tie) or about one (pass or fail); the same parts make judgments, grades, labels, pairs and battles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adjudge.data.columns import input_name
from adjudge.data.derived import FROM_JUDGE
from adjudge.data.formats import Converter, Kind, Row, UnusableRow
from adjudge.data.json_files import Record
from adjudge.data.logs.values import (
    COLUMNS,
    NO_MAJORITY,
    agree,
    as_written,
    identify,
    is_missing,
    label_of,
    plain_columns,
    read_share,
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
class Answer:
    """An answer of a person or the judge; a judge can give its confidence (`score`)."""

    value: Any
    who: str | None
    score: float | None = None
    #: Whether a person started from the judge's answer.
    from_judge: bool = False
    #: What the person wrote with it.
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a task: its name, the judge's answer and human answers."""

    name: str
    judge: Answer | None
    people: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task: its columns (id, texts, models, other values) and its questions."""

    columns: Record
    questions: tuple[Question, ...]
    #: Answers that are not labels, each with the reason.
    left_out: tuple[UnusableRow, ...] = field(default=())


def task_columns(key: str, texts: Mapping[str, Any], *more: Any) -> Record:
    """The columns of a task: its id, its texts, and its other plain values."""
    columns: Record = {"id": key}
    for name, value in texts.items():
        if name != "id" and value is not None:
            columns[input_name(name, columns) if name in _MADE else name] = as_written(value)
    return columns | plain_columns(*more, taken={*columns, *_MADE})


def side_of(value: Any) -> str:
    """A, B or tie, as tools and people write them."""
    side = _SIDES.get(str(value).strip().lower())
    if side is None:
        raise UnusableRow("an answer that is neither a side nor a tie")
    return side


def sureness(score: Any) -> float | None:
    """The judge's confidence in its answer; None if it is not a share."""
    known = isinstance(score, (int, float)) and not isinstance(score, bool) and 0 <= score <= 1
    return float(score) if known else None


def convert_tasks(read: Callable[[Row], Task]) -> dict[Kind, Converter]:
    """The converters of a labelling tool, from the function that reads one of its tasks."""

    def judgments(row: Row) -> Iterator[Record | UnusableRow]:
        task = read(row)
        yield from _reasons(task, needs_judge=True)
        for question, judge in _judged(task):
            label, reasons = _label(question, side_of, "label")
            yield from reasons
            yield {
                **task.columns,
                "judge": judge.who or question.name,
                "protocol": question.name,
                "metric": question.name,
                **_verdict(judge),
                "label": None,
                **label,
            }

    def grades(row: Row) -> Iterator[Record | UnusableRow]:
        task = read(row)
        yield from _reasons(task, needs_judge=True)
        for question, judge in _judged(task):
            label, reasons = _label(question, read_share, "human")
            yield from reasons
            yield {
                **task.columns,
                **identify(question.name, judge.who),
                **scored(judge.value),
                **label,
            }

    def labels(row: Row) -> Iterator[Record | UnusableRow]:
        task = read(row)
        yield from _reasons(task)
        read_word = side_of if is_comparison(task) else _word
        for answer in (answer for question in task.questions for answer in question.people):
            try:
                word = read_word(answer.value)
            except UnusableRow as reason:
                yield reason
                continue
            yield {
                **task.columns,
                "label": word,
                "rater": answer.who,
                "labelled_by": "person",
                "started_from": "judge" if answer.from_judge else None,
                **({} if answer.comment is None else {"comment": answer.comment}),
            }

    def pairs(row: Row) -> Iterator[Record | UnusableRow]:
        task = read(row)
        yield from _reasons(task)
        for question in task.questions[:1] or (Question(name="", judge=None),):
            label, reasons = _label(question, side_of, "label")
            yield from reasons
            yield {**task.columns, **label}

    def battles(row: Row) -> Iterator[Record | UnusableRow]:
        task = read(row)
        yield from _reasons(task)
        for side in ("model_a", "model_b"):
            if not task.columns.get(side):
                raise row.error("is missing", side, "battles need the names of both models")
        for question in task.questions:
            label, reasons = _label(question, side_of, "label")
            yield from reasons
            yield {
                **task.columns,
                **({} if question.judge is None else _verdict(question.judge)),
                "judge": None if question.judge is None else question.judge.who,
                "winner": _WINNERS.get(label.pop("label", None)),
                **label,
            }

    return {
        "judgments": judgments,
        "grades": grades,
        "labels": labels,
        "pairs": pairs,
        "battles": battles,
    }


def _judged(task: Task) -> Iterator[tuple[Question, Answer]]:
    """The questions that a judge answered, and its answers."""
    for question in task.questions:
        if question.judge is not None:
            yield question, question.judge


def _reasons(task: Task, *, needs_judge: bool = False) -> Iterator[UnusableRow]:
    """The parts of a task that are not rows, and the reasons."""
    yield from task.left_out
    if needs_judge:
        silent = [question for question in task.questions if question.judge is None]
        yield from (UnusableRow("no prediction of a judge") for _ in silent)


def is_comparison(task: Task) -> bool:
    """Whether the task is about two answers."""
    return "response_b" in task.columns


def _word(value: Any) -> str:
    """1 or 0: the form of pass and fail labels that rates need."""
    share = read_share(value)
    if share not in (0, 1):
        raise UnusableRow("an answer that is neither pass nor fail")
    return str(int(share))


def _verdict(judge: Answer) -> Record:
    """The side the judge named. Its score is its confidence in that side; without one p_a is 1.

    With a score below one half the judge does not favour the side it names: there is no p_a.
    """
    side = side_of(judge.value)
    if side == "tie":
        return {"status": "ok", "p_a": 0.5, "uncertainty": 1.0}
    sure = 1.0 if judge.score is None else judge.score
    p_a = sure if side == "A" else 1 - sure
    if sure <= 0.5:
        return {"status": "ok", "p_a": None, "verdict": side, "uncertainty": 1 - sure}
    return {"status": "ok", "p_a": p_a, "verdict": side, "uncertainty": 1 - sure}


def _label(
    question: Question, read: Callable[[Any], Any], column: str
) -> tuple[Record, list[UnusableRow]]:
    """The majority of human answers, and why others are not counted.

    Answers that started from the judge's answer count only if all did.
    """
    given = [answer for answer in question.people if not is_missing(answer.value)]
    own = [answer for answer in given if not answer.from_judge]
    used = own or given
    reasons = [UnusableRow(FROM_JUDGE)] * (len(given) - len(used))
    try:
        value = agree(read(answer.value) for answer in used)
    except UnusableRow as reason:
        return {}, [*reasons, reason]
    if used and value is None:
        return {}, [*reasons, UnusableRow(NO_MAJORITY)]
    raters = {answer.who for answer in used}
    rater = raters.pop() if len(raters) == 1 else None
    label = label_of(value, rater, from_judge=bool(given) and not own)
    return {column if key == "human" else key: said for key, said in label.items()}, reasons
