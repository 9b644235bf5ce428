"""The question to a rater: which of two answers is better, whether one passes, or its score."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

from adjudge.records import Item, Order, Pair, Subject
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, score_labels

Name = Literal["pairs", "grades", "scores"]
#: More scores than this are typed, not clicked.
_MOST_BUTTONS = 11
_ALWAYS = "<kbd>S</kbd> skip, <kbd>U</kbd> undo, <kbd>C</kbd> comment."


@dataclass(frozen=True, slots=True)
class LabelKind:
    """A kind of round: its name, its labels, and how the page asks for them."""

    name: Name
    labels: tuple[str, ...]

    @property
    def noun(self) -> str:
        """What is labelled."""
        return "pair" if self.name == "pairs" else "answer"

    @property
    def a_noun(self) -> str:
        """The same with its article."""
        return "a pair" if self.name == "pairs" else "an answer"

    @property
    def typed(self) -> bool:
        """Whether the label is typed, because there are too many for buttons."""
        return self.name == "scores" and len(self.labels) > _MOST_BUTTONS

    def label_of(self, side: str, shown_order: Order | None) -> str | None:
        """The label of a click; None for a skip.

        >>> PAIRS.label_of("left", "ba"), PAIRS.label_of("tie", "ab"), GRADES.label_of("skip", None)
        ('B', 'tie', None)
        """
        if side == "skip":
            return None
        if self.name != "pairs" or side == "tie":
            return side
        return "A" if (side == "left") == (shown_order == "ab") else "B"

    def side_of(self, label: str | None, shown_order: Order | None) -> str:
        """The click that gives a label: the inverse of `label_of`.

        >>> PAIRS.side_of("B", "ba"), GRADES.side_of(None, None)
        ('left', 'skip')
        """
        if label is None:
            return "skip"
        if self.name != "pairs" or label == "tie":
            return label
        return "left" if (label == "A") == (shown_order == "ab") else "right"

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

    @property
    def hint(self) -> str:
        """The instructions and keys, as HTML."""
        if self.name == "pairs":
            return (
                "For each pair choose the better answer. The sides are shuffled; models are not "
                "named.\n  Keys: <kbd>1</kbd> left, <kbd>2</kbd> right, <kbd>0</kbd> tie, "
                + _ALWAYS
            )
        if self.name == "grades":
            keys = "<kbd>1</kbd> or <kbd>P</kbd> pass, <kbd>0</kbd> or <kbd>F</kbd> fail, "
            return "For each answer say whether it passes or fails.\n  Keys: " + keys + _ALWAYS
        low, high = self.labels[0], self.labels[-1]
        said = f"Score each answer from {low} (the worst) to {high} (the best).\n  "
        if self.typed:
            return said + "Type the score and press <kbd>Enter</kbd>. Keys: " + _ALWAYS
        return said + f"Keys: {self._keys(low)} to {self._keys(high)}, " + _ALWAYS

    @property
    def choices(self) -> str:
        """The buttons, or the field, that give a label, as HTML."""
        if self.name == "pairs":
            sides = {"left": ("1", "Left", True), "tie": ("0", "Tie", False)}
            sides["right"] = ("2", "Right", True)
            return "\n  ".join(
                _button(side, (key,), word, main=main, long=" is better" if main else "")
                for side, (key, word, main) in sides.items()
            )
        if self.name == "grades":
            passes = _button("pass", ("1", "p"), "Pass", main=True)
            return passes + "\n  " + _button("fail", ("0", "f"), "Fail", main=True)
        if self.typed:
            low, high = self.labels[0], self.labels[-1]
            return (
                '<form id="score-form"><label for="score">Score</label> '
                f'<input id="score" type="number" min="{low}" max="{high}" step="1" required '
                'autocomplete="off"> <button type="submit" class="main">Keep</button></form>'
            )
        buttons = [_button(label, (self._key(label),), label) for label in self.labels]
        return "\n  ".join(buttons)

    def _key(self, label: str) -> str:
        """Each digit is a key; ten is 0 if the scale has no zero."""
        return label if len(label) == 1 else "0" if "0" not in self.labels else ""

    def _keys(self, label: str) -> str:
        return f"<kbd>{self._key(label)}</kbd>"


def _button(
    side: str, keys: tuple[str, ...], word: str, *, main: bool = False, long: str = ""
) -> str:
    style = ' class="main"' if main else ""
    more = f'<span class="long">{long}</span>' if long else ""
    shown = f"<kbd>{keys[0]}</kbd> " if keys[0] and keys[0] != word else ""
    return (
        f'<button type="button" data-side="{escape(side)}" data-keys="{"".join(keys)}"{style}>'
        f"{shown}{escape(word)}{more}</button>"
    )


def _column(item: Item, name: str) -> str | None:
    value = item.extra.get(name)
    return None if value is None or not str(value).strip() else str(value)


PAIRS = LabelKind("pairs", PAIR_LABELS)
GRADES = LabelKind("grades", GRADE_LABELS)


def scores(scale: tuple[int, int]) -> LabelKind:
    """Scores on a scale of whole numbers."""
    return LabelKind("scores", score_labels(*scale))
