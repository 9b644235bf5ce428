"""A paper run again: what every reproduction is, whichever paper it is of.

A paper is a subclass of `Reproduction` with its numbers as fields, its headline, its tables and its
pictures; one view shows them all in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from adjudge.present.blocks import Block, Figure, Headline, notes_of
from adjudge.present.figure import WARM, themed
from adjudge.present.result import Count, Result, frozen
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

    def stamp(self, name: str) -> str | None:
        """What a picture of simulated judges carries; None for other pictures."""
        return None

    def draw(self, name: str) -> Any:
        """A picture of the paper; one that shows simulated judges carries the word."""
        figure, text = self.drawings[name][0](self), self.stamp(name)
        if text is not None:
            style: dict[str, Any] = {"ha": "left", "va": "bottom", "fontsize": 10}
            figure.text(0.01, 1.01, text, color=WARM, fontweight="bold", **style)
        return figure

    def view(self) -> list[Block]:
        """Headline, tables, items, pictures, remarks."""
        return [
            self.headline(),
            *self.tables(),
            *item_blocks(self.items, self.listed),
            *(
                Figure(name, partial(self.draw, name), caption)
                for name, (_, caption) in self.drawings.items()
                if self.can_draw(name)
            ),
            *self.remarks(),
        ]
