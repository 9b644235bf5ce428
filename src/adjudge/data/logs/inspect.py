"""Inspect (inspect_ai) logs, `.eval` and `.json`: a model's answers to a task, scored.

If a person edits a score, its value is overwritten; the scorer's first score is then the first
entry of its `history`. A grader whose reply had no grade has the value NaN (in older versions I)
and an explanation. So has an abstention of our scorer, with the reason abstained. C, P, I and N are
1, 0.5, 0 and 0.

Ratings from a file (`precomputed_scores`) are scores like those of any scorer, and a scorer of
the user's names no model: whose word they are is not in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adjudge.data.files import Archive
from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.opinions import By, Opinion, grades_of_row, reason_of
from adjudge.data.logs.values import (
    COLUMNS,
    abstention,
    as_written,
    failure,
    graded_items,
    is_missing,
    list_in,
    name_in,
    object_in,
    plain_columns,
    scored,
)
from adjudge.data.names import LOG
from adjudge.data.parts import are_parts, has_images
from adjudge.records import ABSTAINED

#: A reference to what is kept once for the messages of a sample.
_ATTACHED = "attachment://"
_UNCHANGED = "UNCHANGED"
#: The explanation in versions before the value NaN, if the grader's reply had no grade.
_NO_GRADE = "Grade not found in model output"
#: Inspect's scorers that compute a score, and those that ask a model.
_COMPUTED = frozenset(("match", "includes", "pattern", "answer", "exact", "f1", "choice", "math"))
_ASKS = ("model_graded_qa", "model_graded_fact", "policy_judge")
#: The scorer that reads ratings from a file.
_FROM_FILE = "precomputed_scores"
_HEADERS = ("header.json", "_journal/start.json")
#: In place of a sample: why an archive does not have it.
_LEFT_OUT = "__left_out"
#: A header that says more is damaged, and would be counted for hours.
_MOST_SAMPLES = 10_000_000


def grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per sample, epoch and score: the judge's first verdict, the last human edit."""
    if reason := row.record.get(_LEFT_OUT):
        raise UnusableRow(str(reason))
    if row.record.get("invalidation"):
        raise UnusableRow("a sample that was invalidated")
    if row.record.get("error"):
        raise UnusableRow("a sample that failed")
    answer = _answer(row)
    key = answer.pop("id")
    opinions: list[Opinion | UnusableRow] = []
    for name, score in object_in(row.record.get("scores")).items():
        if not isinstance(score, Mapping):
            problem = f"the score {name!r} is not an object"
            raise row.error(problem, "scores", "export the log again")
        opinions += _opinions(key, name, score, answer, row)
    yield from grades_of_row(row, opinions, object_in(row.record.get("metadata")))


def items(row: Row) -> Iterator[Record | UnusableRow]:
    """The answers, to be judged: also those that no scorer scored."""
    if row.record.get("scores") or row.record.get("error") or row.record.get("invalidation"):
        yield from graded_items(grades, row)
    else:
        yield _answer(row)


def _opinions(
    key: str, name: str, score: Mapping[str, Any], answer: Record, row: Row
) -> Iterator[Opinion | UnusableRow]:
    """What the scorer said, and the last edit by a person."""
    first, edit = _first_and_edit(score)
    if first is not None:
        by, who = _scorer(name, first, object_in(row.record.get("eval")))
        rater = name_in(object_in(first.get("metadata")).get("rater"))
        for metric, value in _metrics(name, first.get("value")):
            try:
                grade = _judged(first, value)
            except UnusableRow as reason:
                yield reason
                continue
            yield Opinion(
                id=key,
                metric=metric,
                by=by,
                who=rater if by == "unnamed" else who,
                value=value,
                grade=grade,
                call=reason_of(first.get("explanation")),
                columns=answer,
            )
    if edit is not None:
        for metric, value in _metrics(name, edit.get("value")):
            yield Opinion(
                id=key,
                metric=metric,
                by="person",
                who=_author(edit),
                value=value,
                at=str(object_in(edit.get("provenance")).get("timestamp") or ""),
                is_edit=first is not None,
            )


def read_archive(archive: Archive) -> Iterator[Record] | None:
    """The samples of an `.eval` file, one at a time, each with the log's data about the task."""
    header = next((name for name in _HEADERS if name in archive.names), None)
    return None if header is None else _samples(archive, header)


def _samples(archive: Archive, header: str) -> Iterator[Record]:
    log = object_in(archive.read_json(header))
    remark = describe_status({"status": "started", **log})
    if remark is not None:
        LOG.warning("%s: %s", archive.path, remark)
    samples = [n for n in archive.names if n.startswith("samples/") and n.endswith(".json")]
    for name in samples:
        yield {"eval": log.get("eval"), **object_in(archive.read_json(name))}
        for _ in range(archive.earlier(name)):
            yield {_LEFT_OUT: "a sample that is in the archive again"}
    total = object_in(log.get("results")).get("total_samples")
    if isinstance(total, int) and total <= _MOST_SAMPLES:
        for _ in range(total - len(samples)):
            yield {_LEFT_OUT: "a sample that is not in the archive"}


def describe_status(log: Mapping[str, Any]) -> str | None:
    """What a reader of a log must know that did not end well."""
    status = log.get("status")
    return None if status == "success" else f"the log's status is {status}, not success"


def _answer(row: Row) -> Record:
    """The columns about the sample; an epoch is another answer to the same question."""
    task = object_in(row.record.get("eval"))
    sample, epoch = row.text("id"), row.record.get("epoch") or 1
    planned = object_in(task.get("config")).get("epochs")
    many = (isinstance(planned, int) and planned > 1) or epoch != 1
    output = object_in(row.record.get("output"))
    attached = object_in(row.record.get("attachments"))
    asked = with_attached(row.record.get("input"), attached)
    choice = object_in(next(iter(list_in(output.get("choices"))), None))
    answered = with_attached(object_in(choice.get("message")).get("content"), attached)
    shown = as_written(answered) if are_parts(answered) else None
    return {
        "id": f"{sample}_epoch_{epoch}" if many else sample,
        "prompt_id": sample,
        "model": task.get("model"),
        "prompt": as_written(asked),
        "response": shown if shown and has_images(shown) else as_written(output.get("completion")),
        "reference": as_written(row.record.get("target")),
        "task": task.get("task"),
        "epoch": epoch,
        **_steps(row.record.get("messages")),
        **plain_columns(row.record.get("metadata"), taken=(*COLUMNS, "task", "epoch", "steps")),
    }


def with_attached(value: Any, attached: Mapping[str, Any]) -> Any:
    """A value with what is kept beside the messages, such as the bytes of images, in its place."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attached.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, Mapping):
        return {key: with_attached(inner, attached) for key, inner in value.items()}
    return [with_attached(each, attached) for each in value] if isinstance(value, list) else value


def _steps(messages: Any) -> Record:
    """What an agent did, if it called a tool: its messages as a conversation."""
    turns = [
        {**object_in(message), "tool_calls": _calls(object_in(message).get("tool_calls"))}
        for message in list_in(messages)
    ]
    return {"steps": as_written(turns)} if any(turn["tool_calls"] for turn in turns) else {}


def _calls(calls: Any) -> list[Record]:
    """Calls of tools as chat messages have them; Inspect has the tool's name as `function`."""
    named = [object_in(call) for call in list_in(calls)]
    return [{"name": call.get("function"), "arguments": call.get("arguments")} for call in named]


def _first_and_edit(
    score: Mapping[str, Any],
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The scorer's score, and the last human edit that changed or kept it."""
    history = [entry for entry in list_in(score.get("history")) if isinstance(entry, Mapping)]
    if not history:
        return score, None
    edits = [e for e in history if _author(e) and e.get("value") != _UNCHANGED]
    first = None if _author(history[0]) else history[0]
    return first, edits[-1] if edits else None


def _author(entry: Mapping[str, Any]) -> str | None:
    author = object_in(entry.get("provenance")).get("author")
    return None if author is None else str(author)


def _metrics(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a scorer: one, or an object of several."""
    if isinstance(value, Mapping):
        yield from ((f"{name}.{key}", inner) for key, inner in value.items())
    else:
        yield name, value


def _judged(first: Mapping[str, Any], value: Any) -> Record:
    explanation = str(first.get("explanation") or "")
    if is_missing(value) and first.get("reason") == ABSTAINED:
        return abstention(explanation) or {"status": ABSTAINED, "detail": explanation}
    if is_missing(value) and (abstained := abstention(explanation)) is not None:
        return abstained
    if (
        is_missing(value)
        or first.get("reason") == "grader_failed"
        or explanation.startswith(_NO_GRADE)
    ):
        return failure(explanation or first.get("reason") or "the scorer gave no value")
    return scored(value)


def _scorer(name: str, first: Mapping[str, Any], task: Mapping[str, Any]) -> tuple[By, str]:
    """Whose score it is: a model's, which is named; a program's; or nobody knows whose."""
    for message in reversed(list_in(object_in(first.get("metadata")).get("grading"))):
        if object_in(message).get("model"):
            return "judge", str(message["model"])
    scorers = [object_in(scorer) for scorer in list_in(task.get("scorers"))]
    scorer: Mapping[str, Any] = next((s for s in scorers if s.get("name") == name), {})
    model = object_in(scorer.get("options")).get("model")
    model = object_in(model).get("model", model)
    if isinstance(model, str):
        return "judge", model
    function = name.rpartition("/")[2].rstrip("0123456789")
    if function == _FROM_FILE:
        return "unnamed", name
    alone = len(scorers) <= 1
    return "judge" if alone or function in _COMPUTED or function in _ASKS else "unnamed", name


def _version(sample: Mapping[str, Any]) -> object:
    return object_in(object_in(sample.get("eval")).get("packages")).get("inspect_ai")


INSPECT = Format(
    name="inspect",
    title="an Inspect log",
    signature=signature("id epoch input", "scores messages"),
    gives={"grades": grades, "items": items},
    log=True,
    envelopes=(
        Envelope(
            marks=columns("eval status"),
            path=("samples",),
            keeps=("eval", "status"),
            remark=describe_status,
        ),
    ),
    archive=read_archive,
    version=("0.3.285", _version),
    notes=(
        "edits of scores are labels: people saw the judge's score and chose the samples",
        "epochs of one sample share a prompt_id",
    ),
)
