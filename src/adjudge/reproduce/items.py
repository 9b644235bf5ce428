"""Lists the outcome of a paper's items, with the numbers that the paper prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from adjudge.results.items import ItemValue, PaperItem, Status
from adjudge.statistics.numbers import mean_known

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
