"""A labelling round: its question, its rows, the queue, the labels, and their rules.

Labels drawn at random can calibrate. Labels chosen because the judge was in doubt cannot: among
these the judge is wrong more often. So when people label the judge's abstentions, a random share of
all pairs is mixed in. If the random stream reaches a pair that was labelled for doubt, the pair is
not shown again, and its label then counts as random.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Literal, NamedTuple

from adjudge.data.shown import hashes_of
from adjudge.errors import ArgumentError
from adjudge.records import Item, Order, Pair, SampledBy, Subject
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook, clean_comment, score_labels
from adjudge.store.tables import LabelEvent

Name = Literal["pairs", "grades", "scores"]
#: More scores than this are typed, not clicked.
_MOST_BUTTONS = 11


@dataclass(frozen=True, slots=True)
class LabelKind:
    """A kind of round: its labels, and how the page asks for them.

    `hint` has the instructions and keys, `choices` the buttons or the field, both as HTML.
    """

    name: Name
    labels: tuple[str, ...]
    hint: str = ""
    choices: str = ""

    @property
    def noun(self) -> str:
        """What is labelled."""
        return "pair" if self.name == "pairs" else "answer"

    def label_of(self, side: str, shown_order: Order | None) -> str | None:
        """The label of a click; None for a skip.

        >>> PAIRS.label_of("left", "ba"), PAIRS.label_of("tie", "ab"), GRADES.label_of("skip", None)
        ('B', 'tie', None)
        """
        if side in ("left", "right"):
            return "A" if (side == "left") == (shown_order == "ab") else "B"
        return None if side == "skip" else side

    def side_of(self, label: str | None, shown_order: Order | None) -> str:
        """The click that gives a label: the inverse of `label_of`.

        >>> PAIRS.side_of("B", "ba"), GRADES.side_of(None, None)
        ('left', 'skip')
        """
        if label in ("A", "B"):
            return "left" if (label == "A") == (shown_order == "ab") else "right"
        return label or "skip"

    def texts(self, subject: Subject, shown_order: Order | None) -> dict[str, str | None]:
        """The texts for the rater, by their place on the page; never the model or the judge."""
        if isinstance(subject, Pair):
            both = (subject.response_a, subject.response_b)
            left, right = both if shown_order == "ab" else both[::-1]
            return {"prompt": subject.prompt, "left": left, "right": right}
        return {
            "prompt": subject.prompt,
            "context": _column(subject, "context"),
            "reference": _column(subject, "reference"),
            "response": subject.response,
        }


def side_first(seed: int, reader: str, row: str) -> Order:
    """Which response is left: a coin fixed by seed, reader and pair, the same after a reload."""
    coin = hashlib.sha256(f"{seed}\x00{reader}\x00{row}".encode()).digest()[0]
    return "ab" if coin % 2 == 0 else "ba"


#: What the two sides are called where the answers are stacked.
STACKED = {"left": "upper", "right": "lower"}


def place_of(word: str) -> str:
    """The HTML for a side of a pair, next to or below the other; the style shows one of them."""
    stacked = STACKED[word.lower()]
    stacked = stacked.capitalize() if word[0].isupper() else stacked
    return f'<span class="sideways">{word}</span><span class="stacked">{stacked}</span>'


def _button(side: str, keys: str, word: str, *, main: bool = False, long: str = "") -> str:
    style = ' class="main"' if main else ""
    more = f'<span class="long">{long}</span>' if long else ""
    shown = f"<kbd>{keys[0]}</kbd> " if keys and keys[0] != word else ""
    word = place_of(word) if side in STACKED else escape(word)
    return (
        f'<button type="button" data-side="{escape(side)}" data-keys="{keys}"{style}>'
        f"{shown}{word}{more}</button>"
    )


def _column(item: Item, name: str) -> str | None:
    value = item.extra.get(name)
    return None if value is None or not str(value).strip() else str(value)


_ALWAYS = "<kbd>S</kbd> skip, <kbd>U</kbd> undo, <kbd>C</kbd> comment."
PAIRS = LabelKind(
    "pairs",
    PAIR_LABELS,
    "For each pair choose the better answer. The sides are shuffled; models are not named.\n"
    f"  Keys: <kbd>1</kbd> {place_of('left')}, <kbd>2</kbd> {place_of('right')}, "
    f"<kbd>0</kbd> tie, {_ALWAYS}",
    "\n  ".join(
        [
            _button("left", "1", "Left", main=True, long=" is better"),
            _button("tie", "0", "Tie"),
            _button("right", "2", "Right", main=True, long=" is better"),
        ]
    ),
)
GRADES = LabelKind(
    "grades",
    GRADE_LABELS,
    "For each answer say whether it passes or fails.\n  Keys: <kbd>1</kbd> or <kbd>P</kbd> pass, "
    f"<kbd>0</kbd> or <kbd>F</kbd> fail, {_ALWAYS}",
    _button("pass", "1p", "Pass", main=True) + "\n  " + _button("fail", "0f", "Fail", main=True),
)


def scores(scale: tuple[int, int]) -> LabelKind:
    """Scores on a scale of whole numbers."""
    labels = score_labels(*scale)
    low, high = labels[0], labels[-1]
    asked = f"Score each answer from {low} (the worst) to {high} (the best).\n  "
    if len(labels) > _MOST_BUTTONS:
        field = (
            '<form id="score-form"><label for="score">Score</label> '
            f'<input id="score" type="number" min="{low}" max="{high}" step="1" required '
            'autocomplete="off"> <button type="submit" class="main">Keep</button></form>'
        )
        typed = f"Type the score and press <kbd>Enter</kbd>. Keys: {_ALWAYS}"
        return LabelKind("scores", labels, asked + typed, field)
    # Each digit is a key; ten is 0 if the scale has no zero.
    ten = "" if "0" in labels else "0"
    keys = [label if len(label) == 1 else ten for label in labels]
    buttons = map(_button, labels, keys, labels)
    hint = f"{asked}Keys: <kbd>{keys[0]}</kbd> to <kbd>{keys[-1]}</kbd>, {_ALWAYS}"
    return LabelKind("scores", labels, hint, "\n  ".join(buttons))


class Draw(NamedTuple):
    """One step of the queue: a pair, and the stream that drew it."""

    id: str
    sampled_by: SampledBy


#: The complete order of draws, fixed by the seed, the same for every rater.
Queue = tuple[Draw, ...]


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
        #: Called after each label; it can change the queue.
        self.on_label: Callable[[], None] = lambda: None
        #: When the page closes by itself, by the monotonic clock.
        self.closes_at = math.inf

    def next(self, rater: str) -> LabelTask | None:
        """The first row of the queue that this rater has not answered."""
        answered = self.answered(rater)
        draw = next((draw for draw in self.queue if draw.id not in answered), None)
        if draw is None:
            return None
        return replace(self.task(rater, draw), comment=self.book.last_comment(rater, draw.id))

    def answered(self, rater: str) -> set[str]:
        """The rows that this rater is no longer asked about."""
        return {click.subject_id for click in self._answered(rater)}

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
        draw = next((draw for draw in self.queue if draw.id == subject_id), None)
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
            shown_texts=hashes_of(self.subjects[subject_id]),
        )
        stored = [
            (answer.subject_id, answer.label, answer.comment) for answer in self.book.answers(rater)
        ]
        if (subject_id, label, comment) not in stored:
            # The nonce belongs to another click: this one was not stored, so it must fail.
            raise ArgumentError("nonce", nonce, "reload the page: that click was already counted")
        self._recount(rater)
        self.on_label()

    def _recount(self, rater: str) -> None:
        """Labels for doubt that a wider draw has also chosen now count as drawn by it."""
        answered = {click.subject_id: click for click in self._answered(rater)}
        for draw in self.queue:
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
        order = self.order_for(rater, last.subject_id)
        return last.subject_id, self.kind.side_of(last.label, order)

    def progress(self, rater: str) -> dict[str, int]:
        """The progress of this rater; skips count as answered. How rows were drawn is not shown."""
        ids = {draw.id for draw in self.queue}
        clicks = [click for click in self.book.answers(rater) if click.subject_id in ids]
        labels = sum(click.label is not None for click in clicks)
        return {
            "answered": len(self.answered(rater) & ids),
            "total": len(ids),
            "labels": labels,
            "skipped": len(clicks) - labels,
        }

    def task(self, rater: str, draw: Draw) -> LabelTask:
        """A row as shown to this rater."""
        order = self.order_for(rater, draw.id)
        texts = self.kind.texts(self.subjects[draw.id], order)
        return LabelTask(id=draw.id, texts=texts, shown_order=order, draw=draw)

    def order_for(self, rater: str, subject_id: str) -> Order | None:
        """Which response of a pair is left; see `side_first`."""
        return side_first(self.seed, rater, subject_id) if self.kind is PAIRS else None

    def _answered(self, rater: str) -> list[LabelEvent]:
        if not self.share_out:
            return self.book.answers(rater)
        # With share_out, a pair with any label is done; a skip counts only for its rater.
        clicks = self.book.answers()
        return [click for click in clicks if click.rater == rater or click.label is not None]
