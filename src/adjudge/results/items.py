"""The status of each table, figure and claim of a paper: one list for every paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from adjudge.present.blocks import Block
from adjudge.present.result import Count, Result, frozen

#: reproduced: on the paper's data or the user's own; simulated: on data whose truth is known.
Status = Literal["reproduced", "simulated", "not possible"]
STATES: tuple[Status, ...] = get_args(Status)


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

    items: tuple[PaperItem, ...]

    def _parts(self) -> Sequence[Any]:
        return [
            {"paper": item.paper, "item": item.name, "status": item.status, "value": value.name,
             "ours": value.ours, "published": value.published, "reason": item.reason}
            for item in self.items
            for value in item.values or (ItemValue(name="", ours=None),)
        ]  # fmt: skip

    def view(self) -> list[Block]:
        from adjudge.present.views._items import view_items

        return view_items(self)
