"""The items of a paper (its tables, figures and claims), each with our numbers and the paper's.

What a paper prints is data: `published/PAPER.toml` has its tables and, for every item, what it is
about, its picture, the paper's number for each of its values, and how many digits to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from adjudge.present.blocks import Block, Heading, Headline, Table, notes_of, warnings_of
from adjudge.present.result import Count, Result, frozen
from adjudge.present.text import count, number, signed

#: reproduced: judge and data are the paper's, or its own simulation was run again, and every number
#: is the paper's within noise. with differences: the same, and at least one number differs.
Status = Literal[
    "reproduced", "with differences", "other judges or data", "simulated", "not possible"
]
STATES: tuple[Status, ...] = get_args(Status)
#: The section of a report with the results of all papers.
SECTION = ("reproduction", "The papers, reproduced")


@dataclass(frozen=True, kw_only=True)
class ItemValue:
    """One number that the paper prints; `ours` is None if it could not be measured here.

    `noise` is the largest difference that random draws and rounded digits explain (95 %), `why` the
    reason for a larger one.
    """

    name: str
    ours: float | None
    published: float | None = None
    digits: Count = 1
    noise: float | None = None
    why: str = ""

    @property
    def differs(self) -> bool:
        """Whether ours is further from the paper's number than noise explains."""
        if self.ours is None or self.published is None or self.noise is None:
            return False
        return abs(self.ours - self.published) > self.noise


@dataclass(frozen=True, kw_only=True)
class PaperItem:
    """A table, a figure or a claim in the text, with its numbers.

    `figure` names the figure of the reproduction that shows it. `reason` explains why an item is
    not possible, or how much of the paper's data it uses.
    """

    paper: str
    name: str
    about: str
    status: Status
    values: tuple[ItemValue, ...] = ()
    figure: str | None = None
    reason: str = ""


@frozen
class ReproductionItems(Result):
    """Every item of one or several papers."""

    kind: ClassVar[str] = "reproduction_items"
    section: ClassVar[tuple[str, str]] = SECTION

    items: tuple[PaperItem, ...]
    #: Why a paper could not read its data, by paper.
    failures: Mapping[str, str] = field(default_factory=dict)

    def _parts(self) -> Sequence[Any]:
        rows = []
        for item in self.items:
            of_item = {"paper": item.paper, "item": item.name, "status": item.status}
            for value in item.values or (ItemValue(name="", ours=None),):
                numbers = {"ours": value.ours, "published": value.published}
                rows.append(of_item | {"value": value.name} | numbers | {"reason": item.reason})
        return rows

    def view(self) -> list[Block]:
        """How many items are reproduced, then each of them, a table for each paper."""
        blocks: list[Block] = [Headline(describe_items(self.items)), count_items(self.items)]
        blocks += warnings_of(f"{paper}: {reason}" for paper, reason in self.failures.items())
        for paper in dict.fromkeys(item.paper for item in self.items):
            blocks += item_blocks([item for item in self.items if item.paper == paper], paper)
        return blocks


def sort_items(items: Iterable[PaperItem]) -> tuple[PaperItem, ...]:
    """Tables, then figures, then claims of the text, each in the paper's order."""
    return tuple(sorted(items, key=lambda item: _place(item.name)))


def _place(name: str) -> tuple[int, int, str]:
    numbered = re.match(r"(Table|Figure) (\d+)", name)
    if numbered is None:
        return 2, 0, name
    return int(numbered[1] == "Figure"), int(numbered[2]), name


# --- what people see -------------------------------------------------------------------------

_NUMBERS = ("value", "ours", "paper", "difference")
#: The states of items with the paper's judge and data, or its own simulation.
SAME = ("reproduced", "with differences")


def describe_items(items: Sequence[PaperItem]) -> str:
    """How many items have which status."""
    states = [item.status for item in items]
    parts = [f"{states.count(state)} {state}" for state in STATES if state in states]
    return f"{count(len(items), 'item')}: {', '.join(parts)}" if parts else "no items"


def count_items(items: Sequence[PaperItem]) -> Table:
    """How many items of each paper have which status."""
    rows = []
    for paper in dict.fromkeys(item.paper for item in items):
        states = [item.status for item in items if item.paper == paper]
        counts = (len(states), *map(states.count, STATES))
        rows.append((paper, *map(str, counts)))
    return Table(("paper", "items", *STATES), rows, "Status of each paper's items")


def write_value(item: PaperItem, value: ItemValue) -> tuple[str, ...]:
    """Its name, ours, the paper's, and ours minus the paper's with what explains it.

    The paper's number is not shown with numbers of other judges or data, and a difference only if
    judge and data are the paper's.
    """
    ours = None if value.ours is None else float(value.ours)
    theirs = None if value.published is None else float(value.published)
    digits = value.digits
    difference = signed(None)
    if item.status == "other judges or data":
        theirs = None
    if item.status in SAME and ours is not None and theirs is not None:
        difference = signed(ours - theirs, digits)
        if value.noise is not None:
            difference += f", differs: {value.why}" if value.differs else ", equal within noise"
    return value.name, number(ours, digits), number(theirs, digits), difference


def one_item(item: PaperItem) -> list[Block]:
    """One item: its name, its numbers, or the reason why there are none."""
    blocks: list[Block] = [Heading(f"{item.name}: {item.about} ({item.status})")]
    if item.values:
        shown = {**dict.fromkeys(SAME, 4), "simulated": 3}.get(item.status, 2)
        rows = [write_value(item, value)[:shown] for value in item.values]
        blocks.append(Table(_NUMBERS[:shown], rows))
    return blocks + notes_of([item.reason] if item.reason else [])


def item_blocks(items: Sequence[PaperItem], title: str) -> list[Block]:
    """A row for each number, or for the reason why there is none; then the data that items lack."""
    if not items:
        return []
    rows = [
        (item.name, item.about, item.status, *write_value(item, value))
        for item in items
        for value in item.values or (ItemValue(name=item.reason, ours=None),)
    ]
    columns = ("item", "about", "status", *_NUMBERS)
    caption = f"{title}, {describe_items(items)}"
    table = Table(columns, rows, caption, text_columns=4, optional=("about",))
    partly: dict[str, list[str]] = {}
    for item in items:
        if item.values and item.reason:
            partly.setdefault(item.reason, []).append(item.name)
    notes = [f"{reason}: {', '.join(names)}" for reason, names in partly.items()]
    return [table, *notes_of(notes)]
