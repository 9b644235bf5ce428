"""Shared code of several logs: grades, texts, and why a grader failed.

One task of a labelling tool: its texts, the judge's suggestion, human answers.

Label Studio and Argilla have these under different names. A task is about two answers (a side or a
tie) or about one (pass or fail); the same parts make judgments, grades, labels, pairs and battles.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from adjudge.data.columns import input_name
from adjudge.data.conversations import NotTextError, is_conversation, render_conversation
from adjudge.data.formats import Converter, Kind, Row, UnusableRow
from adjudge.data.json_files import Record
from adjudge.data.rows import FROM_JUDGE
from adjudge.data.tables import Table
from adjudge.records import Status

#: Words of tools and people for passed, partly passed and failed.
_WORDS = {
    **dict.fromkeys(("c", "correct", "pass", "passed", "yes", "y", "true", "good"), 1.0),
    **dict.fromkeys(("p", "partial", "partially correct"), 0.5),
    **dict.fromkeys(("i", "incorrect", "fail", "failed", "no", "n", "false", "bad"), 0.0),
}
_NOTHING = ("", "nan", "none", "null", "n/a", "na")
_UNREADABLE = re.compile(r"\bpars|json|not found in model output|invalid .*verdict", re.IGNORECASE)
_LONGEST_DETAIL = 500
#: Why a person's answer is not a label.
NO_MAJORITY = "raters without a majority"


def read_share(value: Any) -> float:
    """A grade as a share in [0, 1]: a number, true or false, or one of the usual words.

    >>> [read_share(value) for value in (True, 0.9, "I", "yes", "0.5")]
    [1.0, 0.9, 0.0, 1.0, 0.5]
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            raise UnusableRow("a grade other than pass and fail") from None
    if not isinstance(value, (bool, int, float)):
        raise UnusableRow("a grade that is neither a number nor a word")
    if not 0 <= value <= 1:
        raise UnusableRow("a score outside 0 to 1")
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether there is no value: nothing, NaN, or a word for it.

    >>> [is_missing(value) for value in (None, float("nan"), " NaN", 0, False)]
    [True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))


def failure(reason: object) -> Record:
    """The status of a failed grader, and its reason.

    >>> failure("reply could not be parsed")["status"], failure("timeout")["status"]
    ('unparsed', 'error')
    """
    text = str(reason)
    status: Status = "unparsed" if _UNREADABLE.search(text) else "error"
    return {"status": status, "detail": text[:_LONGEST_DETAIL]}


def agree(values: Iterable[Any]) -> Any:
    """The most frequent value; None if no value is more frequent than all others.

    >>> agree([1, 1, 0]), agree([1, 0])
    (1, None)
    """
    top = Counter(values).most_common(2)
    return None if not top or (len(top) == 2 and top[0][1] == top[1][1]) else top[0][0]


def as_written(value: Any) -> str | None:
    """A prompt or an answer as text: messages as a conversation, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    try:
        if is_conversation(value):
            return render_conversation(value)
    except NotTextError:
        pass
    return json.dumps(value, ensure_ascii=False)


def hash_of(value: Any) -> str:
    """A stable short hash of any JSON value, to see which rows are about the same."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def name_in(value: Any) -> str | None:
    """A name, or a number as a name; None if there is none."""
    return None if is_missing(value) else as_written(value)


def object_in(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def list_in(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def plain_columns(*sources: Any, taken: Collection[str]) -> Record:
    """The plain values of these objects as columns; one whose name is taken becomes input_NAME.

    >>> plain_columns({"topic": "maths", "human": 1, "_own": 2, "deep": {}}, taken=["human"])
    {'topic': 'maths', 'input_human': 1}
    """
    columns: Record = {}
    for source in sources:
        for key, value in object_in(source).items():
            if str(key).startswith("_") or not isinstance(value, (str, bool, int, float)):
                continue
            name = str(key)
            columns[input_name(name, taken) if name in taken else name] = value
    return columns


#: The columns of a grade in order; columns of the log come after them.
COLUMNS = (
    *("id", "prompt_id", "metric", "judge_name", "protocol", "status"),
    *("judge", "p_pass", "judge_score", "uncertainty"),
    *("human", "human_overall", "rater", "labelled_by", "started_from"),
    *("model", "detail", "prompt", "response", "reference"),
)
#: Columns about the judge, not about the answer.
_JUDGES = frozenset(
    ("metric", "judge_name", "protocol", "status", "judge", "p_pass", "judge_score", "uncertainty")
) | {"detail"}
_THRESHOLD = 0.5


def scored(score: Any) -> Record:
    """The grade of a tool that gives a score and no verdict."""
    return {"status": "ok", "p_pass": read_share(score)}


def decided(passed: bool, score: Any, threshold: Any = None) -> Record:
    """The grade of a tool that gives pass or fail, with its score and threshold if it has them.

    The doubt is one minus the distance of the score from the threshold.

    >>> decided(True, 0.75, 0.5)
    {'status': 'ok', 'judge': 1, 'judge_score': 0.75, 'uncertainty': 0.75}
    """
    cut = _THRESHOLD if not _is_number(threshold) else float(threshold)
    known = _is_number(score) and (0 <= score <= 1 or _is_number(threshold))
    # Without a threshold the distance is unknown.
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
    """The human label of a row, and whether it started from the judge's answer."""
    if share is None:
        return {}
    return {
        "human": share,
        "rater": None if rater is None else str(rater),
        "labelled_by": "person",
        "started_from": "judge" if from_judge else None,
    }


def graded_items(grades: Converter, row: Row) -> Iterator[Record | UnusableRow]:
    """The graded answers, once each, to be judged again; human labels stay.

    A label stays if it is the same for all metrics: then it is about the answer.
    """
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
    labels.discard(None)
    yield {**first, "human": labels.pop() if len(labels) == 1 else None}


def read_log_grades(table: Table) -> pl.DataFrame:
    """Converted grades as one frame: our columns first, without empty columns.

    If an id is repeated with the same judge and metric (a test that was run twice), the later ones
    become id#2, id#3 ...; they share a `prompt_id`.
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
    """The metric and the judge; a metric counts as a protocol."""
    return {"metric": metric, "judge_name": str(judge or metric), "protocol": metric}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """The opinion of a judge or a person on one answer under one name, with its time."""

    id: str
    metric: str
    by: Literal["judge", "person"]
    who: str | None
    value: Any
    at: str
    error: Any = None
    #: Whether a person started from the judge's answer.
    from_judge: bool = False
    #: The columns about the answer.
    answer: Record = field(default_factory=dict)


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
        own = [opinion for opinion in people.values() if not opinion.from_judge]
        used = own or list(people.values())
        yield from (UnusableRow(FROM_JUDGE) for _ in range(len(people) - len(used)))
        try:
            label = _label(used)
        except UnusableRow as reason:
            yield reason
            label = {}
        if not judges:
            yield UnusableRow("a human label without a judge's grade")
        for who, opinion in judges.items():
            try:
                judged = _judged(opinion)
            except UnusableRow as reason:
                yield reason
                continue
            yield {"id": key, **opinion.answer, **identify(metric, who), **judged, **label}


def _judged(opinion: Opinion) -> Record:
    if opinion.error or is_missing(opinion.value):
        return failure(opinion.error or "the judge gave no value")
    return scored(opinion.value)


def _label(people: Sequence[Opinion]) -> Record:
    """The majority of these people; all or none of them started from the judge's answer."""
    if not people:
        return {}
    share = agree(read_share(opinion.value) for opinion in people)
    if share is None:
        raise UnusableRow(NO_MAJORITY)
    raters = {opinion.who for opinion in people}
    rater = raters.pop() if len(raters) == 1 else None
    return label_of(share, rater, from_judge=people[0].from_judge)


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


TaskReader = Callable[[Row], Task]


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


def _task_judgments(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """The judge's side on every question, with people's majority."""
    for question, judge in _judged_annotation(task):
        label, reasons = _annotation_label(question, side_of, "label")
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


def _task_grades(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """The judge's grade on every question, with people's majority."""
    for question, judge in _judged_annotation(task):
        label, reasons = _annotation_label(question, read_share, "human")
        yield from reasons
        yield {
            **task.columns,
            **identify(question.name, judge.who),
            **scored(judge.value),
            **label,
        }


def _task_labels(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """One label per person and question."""
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


def _task_pairs(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """The pair, with people's majority on the first question."""
    for question in task.questions[:1] or (Question(name="", judge=None),):
        label, reasons = _annotation_label(question, side_of, "label")
        yield from reasons
        yield {**task.columns, **label}


def _task_battles(task: Task, row: Row) -> Iterator[Record | UnusableRow]:
    """One battle per question: the judge's side and people's majority."""
    for side in ("model_a", "model_b"):
        if not task.columns.get(side):
            raise row.error("is missing", side, "battles need the names of both models")
    for question in task.questions:
        label, reasons = _annotation_label(question, side_of, "label")
        yield from reasons
        yield {
            **task.columns,
            **({} if question.judge is None else _verdict(question.judge)),
            "judge": None if question.judge is None else question.judge.who,
            "winner": _WINNERS.get(label.pop("label", None)),
            **label,
        }


_TASK_CONVERTERS: dict[Kind, Callable[[Task, Row], Iterator[Record | UnusableRow]]] = {
    "judgments": _task_judgments,
    "grades": _task_grades,
    "labels": _task_labels,
    "pairs": _task_pairs,
    "battles": _task_battles,
}
#: What a task of a labelling tool can be read as.
TASK_KINDS = tuple(_TASK_CONVERTERS)


def convert_task(read: TaskReader, kind: Kind, row: Row) -> Iterator[Record | UnusableRow]:
    """The rows of that kind in one task of a labelling tool, which `read` reads."""
    task = read(row)
    yield from _reasons(task, needs_judge=kind in ("judgments", "grades"))
    yield from _TASK_CONVERTERS[kind](task, row)


def _judged_annotation(task: Task) -> Iterator[tuple[Question, Answer]]:
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


def _annotation_label(
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
