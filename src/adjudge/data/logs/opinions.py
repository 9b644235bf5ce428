"""Who said what about an answer: a judge, a person, or nobody can tell. One row per judge's grade.

Some tools do not write who gave a score. Then only the user can say it (`human_metrics`), and until
then the score is neither a grade nor a label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from adjudge.data.formats import UNMATCHED, UNSAID, Context, Converter, Format, Row, UnusableRow
from adjudge.data.json_files import Record
from adjudge.data.logs.values import (
    Answer,
    failure,
    graded_items,
    identify,
    is_missing,
    name_in,
    people_label,
    read_share,
    scored,
)
from adjudge.errors import ArgumentError

#: `unsaid`: this tool never says who gave a score. `unnamed`: it names judges, and here it names
#: none: a program of the user can have sent it for a judge or a person. `neither`: it is code's.
By = Literal["judge", "person", "unsaid", "unnamed", "neither"]
#: Who gave an assessment or annotation, as MLflow, Phoenix and OpenInference write it.
SOURCES: Mapping[str, By] = {
    **dict.fromkeys(("LLM", "LLM_JUDGE", "AI_JUDGE"), "judge"),
    "HUMAN": "person",
    "CODE": "neither",
}
#: People's label of the only metric of an answer, whatever its name is.
_ONLY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion(Answer):
    """The opinion of a judge or a person on one answer under one name, with its time."""

    id: str
    metric: str
    by: By
    at: str = ""
    #: What the answer is a part of, such as the trace of an observation: labels of it count too.
    within: str | None = None
    #: Whether it replaced the judge's score, which the person had seen.
    is_edit: bool = False
    error: Any = None
    #: The grade, if the tool says more than a number.
    grade: Record | None = None
    #: The judge's reason, cost and latency.
    call: Record = field(default_factory=dict)
    #: The columns about the answer.
    columns: Record = field(default_factory=dict)


def settle(opinion: Opinion, context: Context) -> Opinion:
    """The opinion with whose it is, as the log or the user says."""
    context.metrics.add(opinion.metric)
    people = context.human_metrics
    if people is not None and opinion.metric in people:
        who = opinion.who or opinion.metric
        target = people[opinion.metric] or _ONLY
        return replace(opinion, by="person", who=who, metric=target, grade=None)
    if opinion.by in ("judge", "person"):
        return opinion
    if opinion.by == "neither":
        raise UnusableRow("a score of code, neither of a judge nor of a person")
    # Without the user's word it is unknown; a part of it says no more than that.
    if people is None or (people and opinion.by == "unnamed"):
        raise UnusableRow(f"{opinion.metric}: {UNSAID}")
    return replace(opinion, by="judge")


def log_of_answers(*, grades: Converter, **more: Any) -> Format:
    """A log that has all opinions on one answer in one row, with the texts of the answer."""
    items = partial(graded_items, grades)
    return Format(gives={"grades": grades, "items": items}, log=True, **more)


def log_of_opinions(*, opinions: Converter, **more: Any) -> Format:
    """A log that has a row for each opinion, without the texts of the answer."""
    return Format(gives={"grades": opinions}, merge={"grades": merge}, log=True, **more)


def as_record(opinion: Opinion, row: Row) -> Record:
    """The opinion, for a log whose opinions on one answer are in several rows."""
    return {"opinion": settle(opinion, row.context)}


def merge(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """The opinions on one answer under one name as one row per judge."""
    return grades_of(record["opinion"] for record in records)


def grades_of_row(
    row: Row, opinions: Iterable[Opinion | UnusableRow], values: Mapping[str, Any] | None = None
) -> Iterator[Record | UnusableRow]:
    """The grades of a log that has all opinions on one answer in one row.

    `values` are those of the case, such as its metadata: people's word can be one of them.
    """
    settled = []
    names = set()
    key = None
    is_scored = False
    for opinion in opinions:
        is_scored = True
        if isinstance(opinion, UnusableRow):
            yield opinion
            continue
        key = opinion.id
        names.add(opinion.metric)
        try:
            settled.append(settle(opinion, row.context))
        except UnusableRow as reason:
            yield reason
    if not is_scored:
        raise UnusableRow("an answer without a score")
    for name, target in (row.context.human_metrics or {}).items():
        if key is not None and name not in names and name in (values or {}):
            row.context.metrics.add(name)
            value = (values or {})[name]
            settled.append(
                Opinion(id=key, metric=target or _ONLY, by="person", who=name, value=value)
            )
    yield from grades_of(settled)


def grades_of(opinions: Iterable[Opinion]) -> Iterator[Record | UnusableRow]:
    """One row per answer, name and judge, with the human labels under that name."""
    judges: dict[tuple[str, str], list[Opinion]] = {}
    people: list[Opinion] = []
    for opinion in opinions:
        if opinion.by == "judge":
            judges.setdefault((opinion.id, opinion.metric), []).append(opinion)
        else:
            people.append(opinion)
    names: dict[str, set[str]] = {}
    for (_, metric), group in judges.items():
        names.setdefault(metric, set()).update(
            opinion.who for opinion in group if opinion.who is not None
        )
    labels: dict[tuple[str, str], list[Opinion]] = {}
    places = _Places(judges)
    for person in people:
        try:
            labels.setdefault(places.find(person), []).append(person)
        except UnusableRow as reason:
            yield reason
    for key, group in judges.items():
        label, reasons = people_label(_once_each(labels.get(key, [])), read_share, "human")
        yield from reasons
        seen = set()
        for opinion in sorted(group, key=lambda opinion: opinion.at):
            if opinion.who is None and len(names[opinion.metric]) == 1:
                # Some tools leave out the judge's name where it failed.
                opinion = replace(opinion, who=min(names[opinion.metric]))
            if opinion.who in seen:
                yield UnusableRow("a second grade by the same judge")
                continue
            seen.add(opinion.who)
            try:
                grade = _grade(opinion)
            except UnusableRow as reason:
                yield reason
                continue
            identity = identify(opinion.metric, opinion.who)
            row = {"id": opinion.id, **opinion.columns, **identity, **grade, **opinion.call}
            if grade["status"] != "ok":
                row.pop("reason", None)  # it is in the detail
            yield {**row, **label}


def _grade(opinion: Opinion) -> Record:
    if opinion.grade is not None:
        return opinion.grade
    failed = opinion.error or (is_missing(opinion.value) and "the judge gave no value")
    return failure(failed) if failed else scored(opinion.value)


class _Places:
    """Where the judged answers are: by their id, and by what they are a part of."""

    def __init__(self, judges: Mapping[tuple[str, str], list[Opinion]]) -> None:
        self._at: dict[str, list[tuple[str, str]]] = {}
        self._within: dict[str, list[tuple[str, str]]] = {}
        self._metrics = {metric for _, metric in judges}
        for key, (first, *_) in judges.items():
            self._at.setdefault(first.id, []).append(key)
            if first.within is not None:
                self._within.setdefault(first.within, []).append(key)

    def find(self, person: Opinion) -> tuple[str, str]:
        """The judged answer that a person's label is about.

        A label of a trace is one of its only judged observation, and the other way round.
        """
        whole = self._at.get(person.within, []) if person.within is not None else []
        for near in (self._at.get(person.id, []), self._within.get(person.id, []), whole):
            matches = [key for key in near if person.metric in (key[1], _ONLY)]
            if person.metric == _ONLY and len({metric for _, metric in matches}) > 1:
                names = ", ".join(sorted({metric for _, metric in matches}))
                remedy = f"say which of these it is the label of, as NAME=METRIC: {names}"
                raise ArgumentError("human_metrics", person.who, remedy)
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise UnusableRow("a human label of a trace with several judged observations")
        if person.metric in (*self._metrics, _ONLY):
            raise UnusableRow("a human label without a judge's grade")
        raise UnusableRow(f"{person.metric}: {UNMATCHED}")


def _once_each(people: list[Opinion]) -> list[Opinion]:
    """The last word of each person; those without a name are taken for different people.

    An edit of the judge's score counts only where nobody rated the answer without seeing it.
    """
    ordered = sorted(people, key=lambda opinion: (not opinion.is_edit, opinion.at))
    filled = [opinion for opinion in ordered if not is_missing(opinion.value)]
    blind = [opinion for opinion in filled if not opinion.is_edit]
    last = {
        at if opinion.who is None else opinion.who: opinion
        for at, opinion in enumerate(blind or filled)
    }
    return list(last.values())


def reason_of(text: Any) -> Record:
    """What a judge wrote with its score, as a column."""
    written = name_in(text)
    return {} if written is None else {"reason": written}


def cost_of(dollars: Any) -> Record:
    """What a judge's reply cost, as a column; tools write 0 where they do not know it.

    >>> cost_of("0.0001"), cost_of(0), cost_of("free")
    ({'cost': 0.0001}, {}, {})
    """
    try:
        cost = float(dollars)
    except (TypeError, ValueError):
        return {}
    return {"cost": cost} if 0 < cost < math.inf else {}
