"""Inspect (inspect_ai) logs, `.eval` and `.json`: a model's answers to a task, scored.

If a person edits a score, its value is overwritten; the scorer's first score is then the first
entry of its `history`. A grader whose reply had no grade has the value NaN (in older versions I)
and an explanation. C, P, I and N are 1, 0.5, 0 and 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adjudge.data.files import Archive
from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import (
    COLUMNS,
    as_written,
    failure,
    graded_items,
    identify,
    is_missing,
    label_of,
    list_in,
    object_in,
    plain_columns,
    read_share,
    scored,
)
from adjudge.data.names import LOG

_UNCHANGED = "UNCHANGED"
#: The explanation in versions before the value NaN, if the grader's reply had no grade.
_NO_GRADE = "Grade not found in model output"
_HEADERS = ("header.json", "_journal/start.json")


def grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per sample, epoch and score: the judge's first verdict, the last human edit."""
    if row.record.get("invalidation"):
        raise UnusableRow("a sample that was invalidated")
    if row.record.get("error"):
        raise UnusableRow("a sample that failed")
    scores = row.record.get("scores")
    if not isinstance(scores, Mapping) or not scores:
        raise UnusableRow("a sample without scores")
    answer = _answer(row)
    for name, score in scores.items():
        if not isinstance(score, Mapping):
            problem = f"the score {name!r} is not an object"
            raise row.error(problem, "scores", "export the log again")
        first, edited = _first_and_edit(score)
        if first is None:
            yield UnusableRow("a score that only a person gave")
            continue
        judge = _grader(name, first, object_in(row.record.get("eval")))
        for metric, value in _metrics(name, first.get("value")):
            try:
                yield {
                    **answer,
                    **identify(metric, judge),
                    **_judged(first, value),
                    **_human(metric, name, edited),
                }
            except UnusableRow as reason:
                yield reason


def read_archive(archive: Archive) -> Iterator[Record] | None:
    """The samples of an `.eval` file, one at a time, each with the log's data about the task."""
    header = next((name for name in _HEADERS if name in archive.names), None)
    return None if header is None else _samples(archive, header)


def _samples(archive: Archive, header: str) -> Iterator[Record]:
    log = object_in(archive.read_json(header))
    remark = describe_status({"status": "started", **log})
    if remark is not None:
        LOG.warning("%s: %s", archive.path, remark)
    for name in archive.names:
        if name.startswith("samples/") and name.endswith(".json"):
            yield {"eval": log.get("eval"), **object_in(archive.read_json(name))}


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
    return {
        "id": f"{sample}_epoch_{epoch}" if many else sample,
        "prompt_id": sample,
        "model": task.get("model"),
        "prompt": as_written(row.record.get("input")),
        "response": as_written(object_in(row.record.get("output")).get("completion")),
        "reference": as_written(row.record.get("target")),
        "task": task.get("task"),
        "epoch": epoch,
        **plain_columns(row.record.get("metadata"), taken=(*COLUMNS, "task", "epoch")),
    }


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
    said = str(first.get("explanation") or "")
    if is_missing(value) or first.get("reason") == "grader_failed" or said.startswith(_NO_GRADE):
        return failure(said or first.get("reason") or "the scorer gave no value")
    return scored(value)


def _human(metric: str, name: str, edited: Mapping[str, Any] | None) -> Record:
    if edited is None:
        return {}
    value = dict(_metrics(name, edited.get("value"))).get(metric)
    return label_of(None if is_missing(value) else read_share(value), _author(edited))


def _grader(name: str, first: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """The grading model, from its messages or the scorer's options; else the scorer's name."""
    for message in reversed(list_in(object_in(first.get("metadata")).get("grading"))):
        if object_in(message).get("model"):
            return str(message["model"])
    for scorer in list_in(task.get("scorers")):
        if object_in(scorer).get("name") == name:
            model = object_in(scorer.get("options")).get("model")
            model = object_in(model).get("model", model)
            return str(model) if isinstance(model, str) else name
    return name


INSPECT = Format(
    name="inspect",
    title="an Inspect log",
    signature=signature("id epoch input scores"),
    gives={"grades": grades, "items": partial(graded_items, grades)},
    log=True,
    envelopes=(
        Envelope(
            marks=frozenset({"eval", "status"}),
            path=("samples",),
            keeps=("eval", "status"),
            remark=describe_status,
        ),
    ),
    archive=read_archive,
    notes=(
        "labels are human edits of scores: people saw the judge's score and chose the samples",
        "epochs of one sample share a prompt_id",
    ),
)
