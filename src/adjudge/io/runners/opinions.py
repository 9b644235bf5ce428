"""Grades from opinions: tools that keep the answers of judges and people as entries of one list.

MLflow, Phoenix and Langfuse do this. Entries about one answer under one name become one row per
judge. If a judge answered twice, its first answer counts. If a person answered twice, the last one
counts, since people correct themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adjudge.io.json_files import Record
from adjudge.io.published import UnusableRow
from adjudge.io.runners.grades import identify, label_of, scored
from adjudge.io.runners.values import (
    FROM_JUDGE,
    NO_MAJORITY,
    agree,
    failure,
    is_missing,
    read_share,
)


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
