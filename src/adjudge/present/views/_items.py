"""The status of each item of a paper: one table for every paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjudge.present.blocks import Block, Heading, Headline, Table, notes_of, table_of
from adjudge.present.text import DASH, count, number, signed
from adjudge.results.items import STATES, ItemValue, PaperItem, ReproductionItems


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
