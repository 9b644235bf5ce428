"""A paper run again: what every reproduction is, whichever paper it is of.

A paper is a subclass of `Reproduction` with its numbers as fields, its headline, its tables and its
pictures; one view shows them all in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from adjudge.present.blocks import Block, Figure, Headline, notes_of
from adjudge.present.figure import themed
from adjudge.present.result import Count, Result, frozen
from adjudge.records import Interval
from adjudge_papers.items import SECTION, PaperItem, item_blocks

#: A picture by name: the function that draws it from a reproduction, and its caption.
Draw = Callable[[Any], Any]
Pictures = Mapping[str, tuple[Draw, str]]


class Gallery(dict[str, tuple[Draw, str]]):
    """The pictures of a paper; `add` declares one next to the function that draws it."""

    def add(self, name: str, caption: str) -> Callable[[Draw], Draw]:
        """A decorator: the function draws, in the common look, the picture of that name."""

        def declare(draw: Draw) -> Draw:
            drawing = themed()(draw)
            self[name] = drawing, caption
            return drawing

        return declare


#: The judge that is asked first: what is wrong with the data must not cost calls of another.
REHEARSAL = "simulated:"


def costs_calls(judge: object) -> bool:
    """Whether a rehearsal is needed before this judge is asked."""
    return judge is not None and not str(judge).startswith(REHEARSAL)


@frozen
class Reproduction(Result):
    """A paper's protocol on the given data: tables, items with the paper's numbers, figures.

    `items` lists the status of every table, figure and claim of the paper.
    """

    section: ClassVar[tuple[str, str]] = SECTION
    #: The pictures of the paper, in its order.
    drawings: ClassVar[Pictures]
    #: The title of the list of items.
    listed: ClassVar[str] = "Tables, figures and claims of the paper"

    seed: Count
    items: tuple[PaperItem, ...] = ()
    notes: tuple[str, ...] = ()

    def headline(self) -> Headline:
        """What the numbers say, in a sentence."""
        raise NotImplementedError

    def tables(self) -> Sequence[Block]:
        """The paper's tables, ours with the paper's."""
        raise NotImplementedError

    def remarks(self) -> Sequence[Block]:
        """Warnings, rows left out, and notes about the paper."""
        return notes_of([f"note: {text}" for text in self.notes])

    def can_draw(self, name: str) -> bool:
        """Whether the numbers allow a picture: one of the items that are possible has it."""
        return name in {item.figure for item in self.items}

    def view(self) -> list[Block]:
        """Headline, tables, items, pictures, remarks."""
        return [
            self.headline(),
            *self.tables(),
            *item_blocks(self.items, self.listed),
            *(
                Figure(name, partial(draw, self), caption)
                for name, (draw, caption) in self.drawings.items()
                if self.can_draw(name)
            ),
            *self.remarks(),
        ]


def interval_of(low: float | None, high: float | None) -> Interval | None:
    """A 95 % interval; None if it has no ends."""
    return None if low is None or high is None else Interval(low, high, level=0.95)


def contains(name: str, part: str) -> bool:
    """Whether a name contains another, compared by letters and digits only.

    >>> contains("vllm:Qwen2.5-7B-Instruct", "qwen 2.5 7b"), contains("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    return _squeeze(part) in _squeeze(name)


def _squeeze(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def size_of(judge: str) -> float | None:
    """The billions of parameters that a judge's name states, if it does.

    >>> size_of("vllm:Qwen2.5-7B-Instruct"), size_of("gpt-4.1-mini")
    (7.0, None)
    """
    stated = re.findall(r"(\d+(?:\.\d+)?)\s?b(?![a-z0-9])", judge.lower())
    return float(stated[-1]) if stated else None
