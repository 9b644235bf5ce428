"""What became of each item of a paper: one table for every paper."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge._text import DASH, count, number, signed
from adjudge.present.blocks import Block, Headline, Table
from adjudge.results.items import ItemValue, PaperItem, ReproductionItems


def view_items(result: ReproductionItems) -> list[Block]:
    """How many items are reproduced, then each of them, a table for each paper."""
    papers = dict.fromkeys(item.paper for item in result.items)
    blocks: list[Block] = [Headline(describe_items(result.items))]
    for paper in papers:
        items = [item for item in result.items if item.paper == paper]
        blocks.append(items_table(items, f"{paper}: {describe_items(items)}"))
    return blocks


def describe_items(items: Sequence[PaperItem]) -> str:
    """How many items have which status."""
    if not items:
        return "No items"
    states = [item.status for item in items]
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{count(len(items), 'item')}: {', '.join(parts)}"


def items_table(items: Sequence[PaperItem], caption: str) -> Table:
    """A row for each number; an item without one has a row of its own."""
    rows = []
    for item in items:
        named: tuple[str, ...] = (item.name, item.about, item.status)
        remark = item.reason
        for value in item.values or (ItemValue(name="", ours=None),):
            numbers = (_write(value.ours, value), _write(value.published, value))
            rows.append((*named, value.name, *numbers, _difference(item, value), remark))
            # Said once: the rows below belong to the same item.
            named, remark = ("", "", ""), ""
    columns = ("item", "about", "status", "value", "ours", "paper", "difference", "remark")
    return Table(columns, rows, caption, text_columns=4, optional=("remark", "about"))


def _write(numeral: float | None, value: ItemValue) -> str:
    return number(None if numeral is None else float(numeral), value.digits)


def _difference(item: PaperItem, value: ItemValue) -> str:
    """Ours minus the paper's; simulated data has nothing to differ from."""
    if item.status != "reproduced" or value.ours is None or value.published is None:
        return DASH
    return signed(value.ours - value.published, value.digits)
