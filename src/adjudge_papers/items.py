"""The status of each table, figure and claim of a paper: one list for every paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from adjudge.present.blocks import Block, Heading, Headline, Table, notes_of, table_of
from adjudge.present.result import Count, Result, frozen
from adjudge.present.text import DASH, count, number, signed
from adjudge.statistics.numbers import mean_known

#: reproduced: on the paper's data or the user's own; simulated: on data whose truth is known.
Status = Literal["reproduced", "simulated", "not possible"]
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
            {"paper": item.paper, "item": item.name, "status": item.status, "value": value.name,
             "ours": value.ours, "published": value.published, "reason": item.reason}
            for item in self.items
            for value in item.values or (ItemValue(name="", ours=None),)
        ]  # fmt: skip

    def view(self) -> list[Block]:

        return view_items(self)


def view_items(result: ReproductionItems) -> list[Block]:
    """How many items are reproduced, then each of them, a table for each paper."""
    blocks: list[Block] = [Headline(describe_items(result.items)), count_items(result.items)]
    for paper in dict.fromkeys(item.paper for item in result.items):
        items = [item for item in result.items if item.paper == paper]
        blocks += item_blocks(items, paper)
    return blocks


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


def one_item(item: PaperItem) -> list[Block]:
    """One item: its name, its numbers, or the reason why there are none."""
    blocks: list[Block] = [Heading(f"{item.name}: {item.about} ({item.status})")]
    if item.values:
        columns: dict[str, Callable[[ItemValue], str]] = {
            "value": lambda value: value.name,
            "ours": lambda value: _write(value.ours, value),
            "paper": lambda value: _write(value.published, value),
        }
        if item.status == "reproduced":
            columns["difference"] = lambda value: _difference(item, value)
        blocks.append(table_of(item.values, columns))
    return blocks + notes_of([item.reason] if item.reason else [])


def item_blocks(items: Sequence[PaperItem], what: str) -> list[Block]:
    """A row for each number, or for the reason why there is none; then the data that items lack."""
    if not items:
        return []
    rows = [
        (
            item.name,
            item.about,
            item.status,
            value.name,
            _write(value.ours, value),
            _write(value.published, value),
            _difference(item, value),
        )
        for item in items
        for value in item.values or (ItemValue(name=item.reason, ours=None),)
    ]
    columns = ("item", "about", "status", "value", "ours", "paper", "difference")
    caption = f"{what}, {describe_items(items)}"
    table = Table(columns, rows, caption, text_columns=4, optional=("about",))
    partly: dict[str, list[str]] = {}
    for item in items:
        if item.values and item.reason:
            partly.setdefault(item.reason, []).append(item.name)
    notes = [f"{reason}: {', '.join(names)}" for reason, names in partly.items()]
    return [table, *notes_of(notes)]


def _write(numeral: float | None, value: ItemValue) -> str:
    return number(None if numeral is None else float(numeral), value.digits)


def _difference(item: PaperItem, value: ItemValue) -> str:
    """Ours minus the paper's; a dash for simulated data."""
    if item.status != "reproduced" or value.ours is None or value.published is None:
        return DASH
    return signed(value.ours - value.published, value.digits)


#: From several numbers to one.
Reduce = Callable[[Sequence[float]], float]


class ItemBook:
    """Collects the items of one paper.

    >>> book = ItemBook("scope", simulated=False)
    >>> book.add("Table 1", "Errors", ItemValue(name="mean", ours=0.12, published=0.1))
    >>> book.add("Figure 2", "Curves", missing="no files")
    >>> [(item.name, item.status) for item in book.items()]
    [('Table 1', 'reproduced'), ('Figure 2', 'not possible')]
    """

    def __init__(self, paper: str, *, simulated: bool) -> None:
        self._paper = paper
        self._done = _done(simulated)
        self._items: list[PaperItem] = []

    def add(
        self,
        name: str,
        about: str,
        *values: ItemValue,
        figure: str | None = None,
        remark: str = "",
        missing: str = "",
        unknown: str = "the rows do not have the needed data",
        simulated: bool | None = None,
    ) -> None:
        """Add an item; it is not possible if something is `missing` or no number is known.

        `figure` names its picture, `remark` states how much of the paper's data it uses, `unknown`
        why no number is known. `simulated` is for this item alone, if a paper's items use several
        sets of data.
        """
        status = self._done if simulated is None else _done(simulated)
        if not missing and values and all(value.ours is None for value in values):
            missing = unknown
        self._items.append(
            PaperItem(
                paper=self._paper,
                name=name,
                about=about,
                status="not possible" if missing else status,
                values=() if missing else values,
                figure=None if missing else figure,
                reason=missing or remark,
            )
        )

    def items(self) -> tuple[PaperItem, ...]:
        """Tables, then figures, then claims of the text, each in the paper's order."""
        return tuple(sorted(self._items, key=lambda item: _place(item.name)))


def _done(simulated: bool) -> Status:
    return "simulated" if simulated else "reproduced"


def _place(name: str) -> tuple[int, int, str]:
    numbered = re.match(r"(Table|Figure) (\d+)", name)
    if numbered is None:
        return 2, 0, name
    return int(numbered[1] == "Figure"), int(numbered[2]), name


def over(values: Iterable[float | None], reduce: Reduce) -> float | None:
    """The known values reduced to one; None if no value is known."""
    known = [value for value in values if value is not None]
    return reduce(known) if known else None


def value_of(
    name: str, ours: float | None, published: float | None = None, digits: int = 1
) -> ItemValue:
    """One number."""
    return ItemValue(name=name, ours=ours, published=published, digits=digits)


def mean_of(
    name: str, values: Iterable[float | None], published: float | None = None, digits: int = 1
) -> ItemValue:
    """The mean of the known values."""
    return value_of(name, mean_known(values), published, digits)


def ends_of(
    name: str,
    values: Iterable[float | None],
    published: tuple[float | None, float | None] = (None, None),
    digits: int = 1,
) -> tuple[ItemValue, ItemValue]:
    """The smallest and the largest, as papers state ranges."""
    known = list(values)
    return (
        value_of(f"{name}, least", over(known, min), published[0], digits),
        value_of(f"{name}, most", over(known, max), published[1], digits),
    )


def cut_of(before: float | None, after: float | None) -> float | None:
    """The decrease of a number in percent."""
    return None if not before or after is None else 100 * (1 - after / before)


def less(one: float | None, other: float | None) -> float | None:
    """The difference, if both are known."""
    return None if one is None or other is None else one - other


def in_percent(share: float | None) -> float | None:
    """A share in percent."""
    return None if share is None else 100 * share
