"""The items of a paper (its tables, figures and claims), each with our numbers and the paper's.

What a paper prints is data: `published/PAPER.toml` has its tables and, for every item, what it is
about, its picture, the paper's number for each of its values, and how many digits to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from adjudge.present.blocks import Block, Heading, Headline, Table, notes_of
from adjudge.present.result import Count, Result, frozen
from adjudge.present.text import count, number, signed

#: reproduced: judge and data are the paper's, or its own simulation was run again.
Status = Literal["reproduced", "other judges or data", "simulated", "not possible"]
STATES: tuple[Status, ...] = get_args(Status)
#: The section of a report with the results of all papers.
SECTION = ("reproduction", "The papers, reproduced")


@dataclass(frozen=True, kw_only=True)
class ItemValue:
    """One number that the paper prints; `ours` is None if it could not be measured here."""

    name: str
    ours: float | None
    published: float | None = None
    digits: Count = 1


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

    def _parts(self) -> Sequence[Any]:
        return [
            {
                "paper": item.paper,
                "item": item.name,
                "status": item.status,
                "value": value.name,
                "ours": value.ours,
                "published": value.published,
                "reason": item.reason,
            }
            for item in self.items
            for value in item.values or (ItemValue(name="", ours=None),)
        ]

    def view(self) -> list[Block]:
        """How many items are reproduced, then each of them, a table for each paper."""
        blocks: list[Block] = [Headline(describe_items(self.items)), count_items(self.items)]
        for paper in dict.fromkeys(item.paper for item in self.items):
            blocks += item_blocks([item for item in self.items if item.paper == paper], paper)
        return blocks


# --- what was measured -----------------------------------------------------------------------

#: Numbers by the name of the value; None if there is none.
Measured = dict[str, float | None]


class ItemBook:
    """Collects the items of one paper: our numbers next to those of its data file.

    >>> book = ItemBook("x", {"Table 1": {"about": "Errors", "digits": 2}})
    >>> book.add("Table 1", {"rate": 0.02})
    >>> [(item.name, item.status) for item in book.items()]
    [('Table 1', 'reproduced')]
    """

    def __init__(self, paper: str, known: Mapping[str, Any]) -> None:
        self._paper = paper
        self._known = known
        self._items: dict[str, PaperItem] = {}
        for name, known in self._known.items():
            if "missing" in known:
                self.add(name, missing=known["missing"])

    def add(
        self,
        name: str,
        measured: Measured | None = None,
        *,
        published: Mapping[str, Any] | None = None,
        about: str | None = None,
        remark: str = "",
        missing: str = "",
        unknown: str = "the rows do not have the needed data",
        status: Status = "reproduced",
    ) -> None:
        """Add an item; it is not possible if something is `missing` or no number is known.

        `published` are the paper's numbers that are not in its list of items, `unknown` is why no
        number is known. `about`, `remark` and `status` are for this item alone.
        """
        known = self._known[name]  # it can be `like` another, but for what it says
        known = {**self._known.get(known.get("like"), {}), **known}
        theirs = {**known.get("values", {}), **(published or {})}
        if not missing and measured and all(ours is None for ours in measured.values()):
            missing = unknown
        values = () if missing or not measured else measured.items()
        self._items[name] = PaperItem(
            paper=self._paper,
            name=name,
            about=about or known["about"],
            status="not possible" if missing else status,
            values=tuple(
                _item_value(value, ours, theirs.get(value), known.get("digits", 1))
                for value, ours in values
            ),
            figure=None if missing else known.get("figure"),
            reason=missing or remark,
        )

    def items(self) -> tuple[PaperItem, ...]:
        """Tables, then figures, then claims of the text, each in the paper's order."""
        return sort_items(self._items.values())


def _item_value(name: str, ours: float | None, theirs: Any, digits: int) -> ItemValue:
    """A value with the paper's: a number, or a table of `paper` and `digits`."""
    if isinstance(theirs, Mapping):
        theirs, digits = theirs.get("paper"), theirs.get("digits", digits)
    return ItemValue(name=name, ours=ours, published=theirs, digits=digits)


def sort_items(items: Iterable[PaperItem]) -> tuple[PaperItem, ...]:
    """Tables, then figures, then claims of the text, each in the paper's order."""
    return tuple(sorted(items, key=lambda item: _place(item.name)))


def _place(name: str) -> tuple[int, int, str]:
    numbered = re.match(r"(Table|Figure) (\d+)", name)
    if numbered is None:
        return 2, 0, name
    return int(numbered[1] == "Figure"), int(numbered[2]), name


def over(
    values: Iterable[float | None], reduce: Callable[[Sequence[float]], float]
) -> float | None:
    """The known values reduced to one; None if no value is known."""
    known = [value for value in values if value is not None]
    return reduce(known) if known else None


def ends_of(name: str, values: Iterable[float | None]) -> Measured:
    """The smallest and the largest, as papers state ranges."""
    known = list(values)
    return {f"{name}, least": over(known, min), f"{name}, most": over(known, max)}


def in_percent(share: float | None) -> float | None:
    """A share in percent."""
    return None if share is None else 100 * share


# --- what people see -------------------------------------------------------------------------

_NUMBERS = ("value", "ours", "paper", "difference")


def describe_items(items: Sequence[PaperItem]) -> str:
    """How many items have which status."""
    states = [item.status for item in items]
    parts = [f"{states.count(state)} {state}" for state in STATES if state in states]
    return f"{count(len(items), 'item')}: {', '.join(parts)}" if parts else "no items"


def count_items(items: Sequence[PaperItem]) -> Table:
    """How many items of each paper have which status."""
    papers = dict.fromkeys(item.paper for item in items)
    rows = [
        (paper, str(len(states)), *(str(states.count(state)) for state in STATES))
        for paper in papers
        for states in [[item.status for item in items if item.paper == paper]]
    ]
    return Table(("paper", "items", *STATES), rows, "Status of each paper's items")


def write_value(item: PaperItem, value: ItemValue) -> tuple[str, ...]:
    """Its name, ours, the paper's, and ours minus the paper's.

    The paper's number is not shown with numbers of other judges or data, and a difference only if
    the item is reproduced.
    """
    ours, theirs = (
        None if numeral is None else float(numeral) for numeral in (value.ours, value.published)
    )
    if item.status == "other judges or data":
        theirs = None
    known = item.status == "reproduced" and None not in (ours, theirs)
    difference = ours - theirs if known and ours is not None and theirs is not None else None
    written = (number(numeral, value.digits) for numeral in (ours, theirs))
    return value.name, *written, signed(difference, value.digits)


def one_item(item: PaperItem) -> list[Block]:
    """One item: its name, its numbers, or the reason why there are none."""
    blocks: list[Block] = [Heading(f"{item.name}: {item.about} ({item.status})")]
    if item.values:
        shown = {"reproduced": 4, "simulated": 3}.get(item.status, 2)
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
