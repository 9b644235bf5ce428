"""A labelling round: its rows, the queue, the labels, and their rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adjudge.errors import ArgumentError
from adjudge.records import Order, SampledBy, Subject
from adjudge.server.label_kinds import PAIRS, LabelKind
from adjudge.server.queue import Draw, Queue
from adjudge.store.labels import Answer, LabelBook, clean_comment

#: A random draw, from all rows or the surest, can choose a row that was labelled for its score.
NARROWER: Mapping[SampledBy, tuple[SampledBy, ...]] = {
    "random": ("doubt", "surest", "audit"),
    "surest": ("doubt", "audit"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTask:
    """One pair or answer as one rater sees it; `texts` by their place on the page."""

    id: str
    texts: Mapping[str, str | None]
    shown_order: Order | None
    draw: Draw
    #: What this rater wrote before, if an answer was taken back.
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of one rater; skips count as answered. Raters do not see how rows were drawn."""

    answered: int
    total: int
    labels: int
    skipped: int


class LabellingRound:
    """The state of a round for the page. It is kept in the store, so a restart loses nothing."""

    def __init__(
        self,
        subjects: Sequence[Subject],
        queue: Queue,
        book: LabelBook,
        *,
        kind: LabelKind = PAIRS,
        instructions: str | None = None,
        seed: int = 0,
        share_out: bool = False,
    ) -> None:
        self.subjects = {subject.id: subject for subject in subjects}
        if len(self.subjects) != len(subjects):
            remedy = f"give every {kind.noun} its own id"
            raise ArgumentError(f"{kind.noun}s", len(subjects), remedy)
        self.kind = kind
        self.instructions = instructions
        self.queue = queue
        self.book = book
        self.seed = seed
        self.share_out = share_out

    def next(self, rater: str) -> LabelTask | None:
        """The first row of the queue that this rater has not answered."""
        answered = self.answered(rater)
        draw = next((draw for draw in self.queue.draws if draw.id not in answered), None)
        if draw is None:
            return None
        return replace(self.task(rater, draw), comment=self.book.last_comment(rater, draw.id))

    def answered(self, rater: str) -> set[str]:
        """The rows that this rater is no longer asked about."""
        return {click.id for click in self._answered(rater)}

    def record(
        self,
        *,
        rater: str,
        subject_id: str,
        side: str,
        shown_order: Order | None,
        nonce: str,
        comment: str | None = None,
    ) -> None:
        """Store one click. Its order must be the one that this rater was shown."""
        comment = clean_comment(comment)
        noun = self.kind.noun
        if subject_id not in self.subjects:
            raise ArgumentError("id", subject_id, f"no such {noun} in this round")
        if shown_order != self.order_for(rater, subject_id):
            raise ArgumentError("shown_order", shown_order, "reload the page: the pair has changed")
        draw = next((draw for draw in self.queue.draws if draw.id == subject_id), None)
        if draw is None:
            raise ArgumentError("id", subject_id, f"this {noun} is not in the queue")
        label = self.kind.label_of(side, shown_order)
        self.book.add(
            nonce=nonce,
            rater=rater,
            subject_id=subject_id,
            label=label,
            shown_order=shown_order,
            sampled_by=draw.sampled_by,
            comment=comment,
        )
        now = next((one for one in self.book.answers(rater) if one.id == subject_id), None)
        if now is None or (now.label, now.comment) != (label, comment):
            # The nonce belongs to another click: this one was not stored, so it must fail.
            raise ArgumentError("nonce", nonce, "reload the page: that click was already counted")
        self._recount(rater)

    def _recount(self, rater: str) -> None:
        """Labels for doubt that a wider draw has also chosen now count as drawn by it."""
        answered = {click.id: click for click in self._answered(rater)}
        for draw in self.queue.draws:
            click = answered.get(draw.id)
            if click is None:
                return
            if click.sampled_by in NARROWER.get(draw.sampled_by, ()):
                self.book.recount(click=click, sampled_by=draw.sampled_by)

    def undo(self, *, rater: str, nonce: str) -> tuple[str, str] | None:
        """Undo the rater's last click; returns the row's id, which is shown again, and the side."""
        last = self.book.undo(nonce=nonce, rater=rater)
        if last is None:
            return None
        return last.id, self.kind.side_of(last.label, self.order_for(rater, last.id))

    def progress(self, rater: str) -> Progress:
        """The progress of this rater."""
        ids = {draw.id for draw in self.queue.draws}
        own = [click for click in self.book.answers(rater) if click.id in ids]
        labels = sum(click.label is not None for click in own)
        return Progress(
            answered=len(self.answered(rater) & ids),
            total=len(ids),
            labels=labels,
            skipped=len(own) - labels,
        )

    def task(self, rater: str, draw: Draw) -> LabelTask:
        """A row as shown to this rater."""
        order = self.order_for(rater, draw.id)
        texts = self.kind.texts(self.subjects[draw.id], order)
        return LabelTask(id=draw.id, texts=texts, shown_order=order, draw=draw)

    def order_for(self, rater: str, subject_id: str) -> Order | None:
        """Which response is left: a coin fixed by seed, rater and pair, the same after a reload."""
        if self.kind is not PAIRS:
            return None
        coin = hashlib.sha256(f"{self.seed}\x00{rater}\x00{subject_id}".encode()).digest()[0]
        return "ab" if coin % 2 == 0 else "ba"

    def _answered(self, rater: str) -> list[Answer]:
        if not self.share_out:
            return self.book.answers(rater)
        # With share_out, a pair with any label is done; a skip counts only for its rater.
        return [
            click
            for click in self.book.answers()
            if click.rater == rater or click.label is not None
        ]
