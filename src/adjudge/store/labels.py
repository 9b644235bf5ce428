"""Labels of people, kept with the judgments: every click, in order, never overwritten.

A label is an event, and an undo is too. A rater's current label is computed from the events. So a
reload, a kill or a second tab loses nothing and counts nothing twice: the page gives each click an
id (`nonce`), and a repeated id is the same click.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

from adjudge.errors import ArgumentError
from adjudge.records import Label, LabelValue, Order, SampledBy
from adjudge.store.interface import Store
from adjudge.store.tables import LabelEvent

PAIR_LABELS: tuple[str, ...] = get_args(LabelValue)
#: Labels of one answer.
GRADE_LABELS = ("pass", "fail")
_HIGHEST_SCORE = 100
#: Characters of a rater's comment.
LONGEST_COMMENT = 2_000
#: Tabs and line ends are text. Other control codes are not, and PostgreSQL cannot keep a zero.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def score_labels(low: int, high: int) -> tuple[str, ...]:
    """The scores from low to high, as labels."""
    return tuple(str(score) for score in range(low, high + 1))


#: Every label that a store can hold.
KNOWN_LABELS = (*PAIR_LABELS, *GRADE_LABELS, *map(str, range(_HIGHEST_SCORE + 1)))


def clean_comment(comment: str | None) -> str | None:
    """A comment as it is kept: without blanks around it, None if nothing is left.

    >>> clean_comment(" both are wrong\\r\\n"), clean_comment("  ")
    ('both are wrong', None)
    """
    text = (comment or "").replace("\r\n", "\n").strip()
    if len(text) > LONGEST_COMMENT:
        remedy = f"shorten it to {LONGEST_COMMENT:,} characters"
        raise ArgumentError("comment", f"{len(text):,} characters", remedy)
    if code := _CONTROL.search(text):
        raise ArgumentError("comment", code.group(), "remove this control character")
    return text or None


class LabelBook:
    """The labels of one kind in an open store: of pairs, grades or scores.

    Threads can share it; processes share the store. Labels of other kinds are ignored. `texts` are
    the rows of a round: id -> the hashes of its texts. Labels of another text with such an id are
    ignored too, and those of a pair with its sides exchanged are turned.
    """

    def __init__(
        self,
        store: Store,
        labels: tuple[str, ...] = PAIR_LABELS,
        texts: Mapping[str, str | None] | None = None,
    ) -> None:
        self._store = store
        self.labels = labels
        self._texts = texts or {}

    def add(
        self,
        *,
        nonce: str,
        rater: str,
        subject_id: str,
        label: str | None,
        shown_order: Order | None,
        sampled_by: SampledBy | None,
        comment: str | None = None,
        shown_texts: str | None = None,
    ) -> None:
        """Store one click: a label, or a skip if `label` is None. The same nonce counts once."""
        if label is not None and label not in self.labels:
            *most, last = self.labels
            shown = most if len(most) < 12 else [most[0], "..."]
            raise ArgumentError("label", label, f"use {', '.join(shown)} or {last}")
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
                comment=clean_comment(comment),
                shown_texts=shown_texts,
            )
        )

    def undo(self, *, nonce: str, rater: str) -> LabelEvent | None:
        """Undo the rater's last answer and return it; None if there is none."""
        events = self._events(rater)
        for event in events:
            if event.nonce == nonce:
                return next((click for click in events if click.event == event.undoes), None)
        last = max(current_answers(events), key=lambda answer: answer.event, default=None)
        if last is None:
            return None
        event = LabelEvent(
            nonce=nonce, rater=rater, subject_id=last.subject_id, action="undo", undoes=last.event
        )
        self._store.add_label_event(event)
        return last

    def recount(self, *, click: LabelEvent, sampled_by: SampledBy) -> None:
        """Change how a label counts as sampled: a random draw chose it too."""
        self._store.add_label_event(
            LabelEvent(
                nonce=f"recount-{click.event}-{sampled_by}",
                rater=click.rater,
                subject_id=click.subject_id,
                action="recount",
                sampled_by=sampled_by,
                undoes=click.event,
            )
        )

    def answers(self, rater: str | None = None) -> list[LabelEvent]:
        """The current answers, oldest first; of one rater or of all. A skip has no label."""
        return current_answers(self._events(rater))

    def answers_by_text(self) -> list[LabelEvent]:
        """The current answers of all raters, for an id about each of its texts."""
        return current_answers(self._all(None), by_text=True)

    def last_comment(self, rater: str, subject_id: str) -> str | None:
        """What the rater wrote with the last answer about this row, taken back or not."""
        clicks = [e for e in self._events(rater) if e.action in ("label", "skip")]
        return next((e.comment for e in reversed(clicks) if e.subject_id == subject_id), None)

    def compare(self) -> Counter[str]:
        """How many labels of these ids are of the same texts, turned, of other or unknown texts."""
        labels = [answer for answer in self.answers_by_text() if answer.label is not None]
        return Counter(self._compare(label) for label in labels if label.subject_id in self._texts)

    def _compare(self, event: LabelEvent) -> str:
        # A backend imports this room, and needs none of what reads tables.
        from adjudge.data.shown import compare_texts

        here = self._texts.get(event.subject_id)
        unknown = "same" if here is None else "unknown"
        return compare_texts(event.shown_texts, here) or unknown

    def _all(self, rater: str | None) -> list[LabelEvent]:
        labels = (None, *self.labels)
        return [event for event in self._store.label_events(rater) if event.label in labels]

    def _events(self, rater: str | None) -> list[LabelEvent]:
        """The events about these texts, each as if its texts had been shown as in this round."""
        compared = ((event, self._compare(event)) for event in self._all(rater))
        return [
            self._turn(event) if how == "turned" else event
            for event, how in compared
            if how != "other"
        ]

    def _turn(self, event: LabelEvent) -> LabelEvent:
        from adjudge.data.shown import OTHER_SIDE

        orders = {"ab": "ba", "ba": "ab"}
        order = cast("Order | None", orders.get(event.shown_order or ""))
        label = OTHER_SIDE.get(event.label or "", event.label)
        texts = self._texts.get(event.subject_id)
        return replace(event, label=label, shown_order=order, shown_texts=texts)

    def import_labels(
        self, labels: Sequence[Label], comments: Sequence[str | None] | None = None
    ) -> tuple[int, int]:
        """Add labels of a file; returns (added, already there). A second import changes nothing.

        `comments` has one entry per label. A label without one leaves the comment in the store.
        """
        stored = {
            (e.rater, e.subject_id, e.shown_texts): (e.label, e.comment)
            for e in self.answers_by_text()
        }
        cleaned = [clean_comment(comment) for comment in comments or [None] * len(labels)]
        added = 0
        for label, comment in zip(labels, cleaned, strict=True):
            rater = label.rater or "imported"
            key = (rater, label.id, label.shown_texts)
            stored_label, stored_comment = stored.get(key, (None, None))
            if stored_label == label.label and comment in (None, stored_comment):
                continue
            self.add(
                nonce=f"import-{uuid.uuid4().hex}",
                rater=rater,
                subject_id=label.id,
                label=label.label,
                shown_order=label.shown_order,
                sampled_by=label.sampled_by,
                comment=comment,
                shown_texts=label.shown_texts,
            )
            stored[key] = (label.label, comment)
            added += 1
        return added, len(labels) - added


def current_answers(events: Iterable[LabelEvent], *, by_text: bool = False) -> list[LabelEvent]:
    """The last click of each rater about each pair that was not undone, oldest first.

    With `by_text`, of an id with several texts, it is the last click about each of them.
    """
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
    counted = [click for click in clicks if click.event not in undone]
    latest = {(e.rater, e.subject_id, by_text and e.shown_texts): e for e in counted}
    return [
        replace(event, sampled_by=recounted.get(event.event, event.sampled_by))
        for event in sorted(latest.values(), key=lambda event: event.event)
    ]
