"""A labelling round: the pairs, the queue, the book of labels, and the rules between them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adjudge.errors import ArgumentError
from adjudge.records import LabelValue, Order, Pair, SampledBy
from adjudge.server.queue import Draw, Queue
from adjudge.store.labels import Answer, LabelBook

Side = Literal["left", "right", "tie", "skip"]
#: A random draw, of all rows or of the surest, may meet a row that was labelled for its score.
_NARROWER: Mapping[SampledBy, tuple[SampledBy, ...]] = {
    "random": ("doubt", "surest", "audit"),
    "surest": ("doubt", "audit"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTask:
    """One pair as one rater sees it."""

    pair: Pair
    shown_order: Order
    draw: Draw

    @property
    def left(self) -> str:
        """The response on the left."""
        return self.pair.response_a if self.shown_order == "ab" else self.pair.response_b

    @property
    def right(self) -> str:
        """The response on the right."""
        return self.pair.response_b if self.shown_order == "ab" else self.pair.response_a


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one rater is (skips count as answered), and how the labels were sampled."""

    answered: int
    total: int
    labels: int
    skipped: int
    random: int
    plan: int
    doubt: int
    surest: int


class LabellingRound:
    """What the page talks to. All state is in the book, so a restart loses nothing."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        queue: Queue,
        book: LabelBook,
        *,
        seed: int = 0,
        share_out: bool = False,
    ) -> None:
        self.pairs = {pair.id: pair for pair in pairs}
        if len(self.pairs) != len(pairs):
            raise ArgumentError("pairs", len(pairs), "give every pair an id of its own")
        self.queue = queue
        self.book = book
        self.seed = seed
        self.share_out = share_out

    def next(self, rater: str) -> LabelTask | None:
        """The first pair of the queue that this rater has not answered yet."""
        answered = {click.id for click in self._answered(rater)}
        return next(
            (self._shown(rater, draw) for draw in self.queue.draws if draw.id not in answered), None
        )

    def record(
        self, *, rater: str, subject_id: str, side: Side, shown_order: Order, nonce: str
    ) -> None:
        """Keep one click. The order it was shown in must be the one this rater was given."""
        if subject_id not in self.pairs:
            raise ArgumentError("id", subject_id, "no such pair in this round")
        if shown_order != self.order_for(rater, subject_id):
            raise ArgumentError("shown_order", shown_order, "reload the page: the pair has changed")
        draw = next((draw for draw in self.queue.draws if draw.id == subject_id), None)
        if draw is None:
            raise ArgumentError("id", subject_id, "this pair is not in the queue")
        label = _label(side, shown_order)
        self.book.add(
            nonce=nonce,
            rater=rater,
            subject_id=subject_id,
            label=label,
            shown_order=shown_order,
            sampled_by=draw.sampled_by,
        )
        now = next((one for one in self.book.answers(rater) if one.id == subject_id), None)
        if now is None or now.label != label:
            # The nonce was another click's: this one was not kept, and must not look as if it was.
            raise ArgumentError("nonce", nonce, "reload the page: that click was counted before")
        self._recount(rater)

    def _recount(self, rater: str) -> None:
        """Labels for doubt that a wider draw has reached too count as drawn by it from now on."""
        answered = {click.id: click for click in self._answered(rater)}
        for draw in self.queue.draws:
            click = answered.get(draw.id)
            if click is None:
                return
            if click.sampled_by in _NARROWER.get(draw.sampled_by, ()):
                self.book.recount(click=click, sampled_by=draw.sampled_by)

    def undo(self, *, rater: str, nonce: str) -> str | None:
        """Take back the rater's last click; the pair's id, which then comes up again."""
        return self.book.undo(nonce=nonce, rater=rater)

    def progress(self, rater: str) -> Progress:
        """How far this rater is."""
        ids = {draw.id for draw in self.queue.draws}
        own = [click for click in self.book.answers(rater) if click.id in ids]
        labels = [click for click in own if click.label is not None]
        kinds = [click.sampled_by for click in labels]
        done = {click.id for click in self._answered(rater)} & ids
        return Progress(
            answered=len(done),
            total=len(ids),
            labels=len(labels),
            skipped=len(own) - len(labels),
            random=kinds.count("random"),
            plan=kinds.count("plan"),
            doubt=kinds.count("doubt"),
            surest=kinds.count("surest"),
        )

    def order_for(self, rater: str, subject_id: str) -> Order:
        """Which response stands left: a coin fixed by seed, rater and pair; a reload keeps it."""
        coin = hashlib.sha256(f"{self.seed}\x00{rater}\x00{subject_id}".encode()).digest()[0]
        return "ab" if coin % 2 == 0 else "ba"

    def _answered(self, rater: str) -> list[Answer]:
        if not self.share_out:
            return self.book.answers(rater)
        # Shared out, a pair labelled by anyone is done; a skip only for the one who skipped.
        return [
            click
            for click in self.book.answers()
            if click.rater == rater or click.label is not None
        ]

    def _shown(self, rater: str, draw: Draw) -> LabelTask:
        order = self.order_for(rater, draw.id)
        return LabelTask(pair=self.pairs[draw.id], shown_order=order, draw=draw)


def _label(side: Side, shown_order: Order) -> LabelValue | None:
    """What a click on a side says of response_a and response_b.

    >>> _label("left", "ba"), _label("tie", "ab"), _label("skip", "ab")
    ('B', 'tie', None)
    """
    if side == "skip":
        return None
    if side == "tie":
        return "tie"
    return "A" if (side == "left") == (shown_order == "ab") else "B"
