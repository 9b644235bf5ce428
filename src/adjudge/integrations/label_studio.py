"""Label Studio: a labelling round as its tasks, and the labelling config for them.

A task's `data` has the fields that Label Studio's JSON export returns with the labels: the row's
`id`, `sampled_by` and, for rows that a plan drew, its probability or its cut. The answers of a pair
are shown as `left` and `right`, shuffled by the seed. The export has `response_a` or `response_b`
instead of the side that a rater chose, so it can be read without the shuffle. Tasks have no
predictions, because a label that started from the judge's answer cannot calibrate the judge, and no
names of models.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import polars as pl

from adjudge.atomic import replacing
from adjudge.errors import ArgumentError
from adjudge.records import Order, Pair, SampledBy, Subject
from adjudge.server.labelling import NARROWER, Draw, LabellingRound, Name
from adjudge.validation import count

#: Sides are drawn once for the project: Label Studio cannot draw them again for each rater.
_RATER = "label-studio"
_TITLES = {
    "prompt": "Prompt",
    "context": "Context",
    "reference": "Reference answer",
    "response": "Answer",
    "left": "Left",
    "right": "Right",
}
#: The value of each choice in the export, and its text for the rater.
_GRADES = {"pass": "Pass", "fail": "Fail"}
_SIDES = ("Left is better", "Tie", "Right is better")


def write_tasks(
    round_: LabellingRound,
    path: str | Path,
    *,
    limit: int | None = None,
    plan: pl.DataFrame | None = None,
) -> tuple[int, Path]:
    """Write the tasks of a round to `path` and their labelling config next to it, as .xml.

    Returns the number of tasks and the path of the config. Import the tasks into a project that has
    the config. Keep its task sampling sequential, so that people label in the order of the queue.
    """
    kind = round_.kind.name
    if kind == "scores":
        raise ArgumentError("scale", kind, "Label Studio takes pairs, or answers to pass or fail")
    tasks = make_tasks(round_, limit=limit, plan=plan)
    if not tasks:
        raise ArgumentError("rows", 0, "nothing is left to label")
    config = Path(path).with_suffix(".xml")
    with replacing(path) as partial:
        partial.write_text(json.dumps(tasks, ensure_ascii=False, indent=1), encoding="utf-8")
    with replacing(config) as partial:
        partial.write_text(make_config(kind, tasks[0]["data"]), encoding="utf-8")
    return len(tasks), config


def make_tasks(
    round_: LabellingRound, *, limit: int | None = None, plan: pl.DataFrame | None = None
) -> list[dict[str, Any]]:
    """The tasks of the first `limit` draws, in the queue's order; `plan` adds columns by id.

    With `share_out`, rows that already have a label are left out.
    """
    end = None if limit is None else count(limit, "limit", least=1)
    answered = round_.answered(_RATER)
    draws = [draw for draw in once_each(round_.queue[:end]) if draw.id not in answered]
    shown = [round_.task(_RATER, draw) for draw in draws]
    # Label Studio needs every field of the config in every task; other fields are left out.
    places = {place for task in shown for place, text in task.texts.items() if text}
    brought = {} if plan is None else {row["id"]: row for row in plan.to_dicts()}
    tasks: list[dict[str, Any]] = []
    for task in shown:
        data: dict[str, Any] = {"id": task.id, "sampled_by": task.draw.sampled_by}
        data |= brought.get(task.id, {})
        data |= {place: text or "" for place, text in task.texts.items() if place in places}
        data |= _sides(round_.subjects[task.id], task.shown_order)
        tasks.append({"data": data})
    return tasks


def _sides(subject: Subject, shown_order: Order | None) -> dict[str, Any]:
    """A pair's responses by name, and its choices: the rater's text and the export's value."""
    if not isinstance(subject, Pair):
        return {}
    left, right = ("response_a", "response_b")[:: 1 if shown_order == "ab" else -1]
    words = zip(_SIDES, (left, "tie", right), strict=True)
    return {
        "shown_order": shown_order,
        "response_a": subject.response_a,
        "response_b": subject.response_b,
        "choices": [{"value": value, "alias": alias} for value, alias in words],
    }


def once_each(draws: tuple[Draw, ...]) -> list[Draw]:
    """Each row once. If several streams drew it, it keeps its place in the widest stream.

    A row that was drawn for doubt and later at random is a random row. It must then wait for its
    turn. If it were labelled early and counted as random, the random sample would have too many
    doubtful rows when people stop before the end.

    >>> steps = [Draw("c", "doubt"), Draw("a", "random"), Draw("b", "doubt"), Draw("c", "random")]
    >>> [(draw.id, draw.sampled_by) for draw in once_each(tuple(steps))]
    [('a', 'random'), ('b', 'doubt'), ('c', 'random')]
    """
    streams: dict[str, set[SampledBy]] = {}
    for draw in draws:
        streams.setdefault(draw.id, set()).add(draw.sampled_by)
    widest: dict[str, Draw] = {}
    for draw in draws:
        wider = any(draw.sampled_by in NARROWER.get(how, ()) for how in streams[draw.id])
        if not wider:
            widest.setdefault(draw.id, draw)
    return list(widest.values())


def make_config(kind: Name, places: Collection[str]) -> str:
    """The labelling config for tasks with these texts: one question, answered by one choice."""
    view = Element("View")
    _show(view, "prompt")
    if kind == "pairs":
        columns = SubElement(view, "View", style="display: flex; gap: 2em")
        for place in ("left", "right"):
            _show(SubElement(columns, "View", style="flex: 1"), place)
    for place in ("context", "reference", "response"):
        if place in places:
            _show(view, place)
    asked = SubElement(
        view, "Choices", name="label", toName="prompt", choice="single", required="true"
    )
    if kind == "pairs":
        asked.set("value", "$choices")
    else:
        for alias, words in _GRADES.items():
            SubElement(asked, "Choice", value=words, alias=alias)
    SubElement(view, "Header", value="Comment (optional)")
    SubElement(
        view, "TextArea", name="comment", toName="prompt", rows="2", maxSubmissions="1",
        required="false",
    )  # fmt: skip
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def _show(view: Element, place: str) -> None:
    SubElement(view, "Header", value=_TITLES[place])
    SubElement(view, "Text", name=place, value=f"${place}")
