"""Labels of people, kept with the judgments: every click, in order, never overwritten.

A label is an event; so is taking it back. What a rater now says of a pair is read from the events,
so that a reload, a kill or a second tab can lose nothing and count nothing twice: the page names
each click once (`nonce`), and a click that arrives again is the same click.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from adjudge.errors import ArgumentError
from adjudge.records import Label, LabelValue, Order, SampledBy
from adjudge.store.interface import LabelEvent, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one rater now says of one pair; `label` is None for a skip."""

    event: int
    rater: str
    id: str
    label: str | None
    shown_order: Order | None
    sampled_by: SampledBy | None
    created_at: float


class LabelBook:
    """The labels of an open store. Threads may share it; processes share the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self,
        *,
        nonce: str,
        rater: str,
        subject_id: str,
        label: str | None,
        shown_order: Order | None,
        sampled_by: SampledBy | None,
    ) -> None:
        """Keep one click: a label, or a skip where `label` is None. The same nonce counts once."""
        if label is not None and label not in get_args(LabelValue):
            raise ArgumentError("label", label, "use A, B or tie")
        if not rater.strip():
            raise ArgumentError("rater", rater, "give a name")
        self._store.add_label_event(
            LabelEvent(
                nonce=nonce,
                rater=rater,
                subject_id=subject_id,
                action="skip" if label is None else "label",
                label=label,
                shown_order=shown_order,
                sampled_by=sampled_by,
            )
        )

    def undo(self, *, nonce: str, rater: str) -> str | None:
        """Take back the rater's last answer; its pair's id, or None if there is none."""
        events = self._store.label_events(rater)
        for event in events:
            if event.nonce == nonce:
                return event.subject_id
        last = max(current_answers(events), key=lambda answer: answer.event, default=None)
        if last is None:
            return None
        self._store.add_label_event(
            LabelEvent(
                nonce=nonce, rater=rater, subject_id=last.id, action="undo", undoes=last.event
            )
        )
        return last.id

    def recount(self, *, click: Answer, sampled_by: SampledBy) -> None:
        """Let a label count as sampled otherwise: a random draw met it too."""
        self._store.add_label_event(
            LabelEvent(
                nonce=f"recount-{click.event}-{sampled_by}",
                rater=click.rater,
                subject_id=click.id,
                action="recount",
                sampled_by=sampled_by,
                undoes=click.event,
            )
        )

    def answers(self, rater: str | None = None) -> list[Answer]:
        """What raters now say, oldest first; of one rater or of all."""
        return current_answers(self._store.label_events(rater))

    def import_labels(self, labels: Iterable[Label]) -> tuple[int, int]:
        """Add labels from elsewhere; (added, already there). Importing twice changes nothing."""
        there = {(answer.rater, answer.id): answer.label for answer in self.answers()}
        added = same = 0
        for label in labels:
            rater = label.rater or "imported"
            if there.get((rater, label.id)) == label.label:
                same += 1
                continue
            self.add(
                nonce=f"import-{uuid.uuid4().hex}",
                rater=rater,
                subject_id=label.id,
                label=label.label,
                shown_order=label.shown_order,
                sampled_by=label.sampled_by,
            )
            there[(rater, label.id)] = label.label
            added += 1
        return added, same


def current_answers(events: Iterable[LabelEvent]) -> list[Answer]:
    """The last click of each rater about each pair that was not taken back, oldest first."""
    clicks: list[LabelEvent] = []
    undone: set[int | None] = set()
    recounted: dict[int | None, SampledBy | None] = {}
    for event in events:
        if event.action == "undo":
            undone.add(event.undoes)
        elif event.action == "recount":
            recounted[event.undoes] = event.sampled_by
        else:
            clicks.append(event)
    latest = {(e.rater, e.subject_id): e for e in clicks if e.event not in undone}
    return [
        Answer(
            event=event.event,
            rater=event.rater,
            id=event.subject_id,
            label=event.label if event.action == "label" else None,
            shown_order=event.shown_order,
            sampled_by=recounted.get(event.event, event.sampled_by),
            created_at=event.created_at,
        )
        for event in sorted(latest.values(), key=lambda event: event.event)
    ]
