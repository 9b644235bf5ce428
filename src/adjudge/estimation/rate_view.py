"""What the views of rates share: the blocks around the numbers, and the picture of rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from adjudge.estimation.estimators import known_estimator
from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figure import ForestRow, forest_figure
from adjudge.present.result import Result
from adjudge.present.text import clip, left_out, level, number, show_interval
from adjudge.records import HasInterval

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: At most this many rates fit into a sentence; more are counted, and are in the table.
IN_A_SENTENCE = 4
#: At most this many groups are shown; the file of the result has all.
SHOWN = 60
#: The column of intervals that hold together.
SIMULTANEOUS = "simultaneous"
_Part = TypeVar("_Part")


class Rate(HasInterval):
    """A rate with its interval, as results and their parts have it."""

    estimate: float | None

    @property
    def width(self) -> float | None:
        """The width of the interval; None without an estimate."""
        if self.estimate is None or self.low is None or self.high is None:
            return None
        return self.high - self.low

    @property
    def text(self) -> str:
        """The rate with its interval, or the interval alone."""
        rate = "" if self.estimate is None and self.interval else f"{number(self.estimate)} "
        return rate + show_interval(self.interval)

    @property
    def interval_cell(self) -> str:
        """The interval in a table, with a mark if there is a warning about it."""
        return show_interval(self.interval) + " !" * bool(getattr(self, "warnings", ()))

    def row(self, name: str | None, naive: float | None = None) -> ForestRow:
        """Its line in a picture."""
        return ForestRow(clip(name), self.estimate, self.interval, naive)


class RateResult(Result):
    """A result about rates: the order of its blocks, and its picture."""

    confidence_level: float
    warnings: tuple[str, ...]
    dropped: Mapping[str, int]

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """General warnings, then those of single groups, each once with the groups named."""
        groups: Sequence[Any] = getattr(self, "groups", ())
        texts = ((group.group, text) for group in groups for text in group.warnings)
        return (*self.warnings, *with_groups(texts))

    def show(
        self,
        headline: Headline,
        *numbers: Block,
        notes: Sequence[str] = (),
        tables: Sequence[Block] = (),
        assumptions: Sequence[str],
        assumes: str = "",
        promises: Sequence[str] = (),
        others: Sequence[str] = (),
        figure: tuple[str, Callable[[Any], Drawing], str] | None,
    ) -> list[Block]:
        """The blocks of a result, in the order in which all kinds of estimates have them.

        `assumes` is the first assumption in a few words, for the line that is always visible.
        `figure` is the name of its picture, the function that draws it, and the caption.
        """
        folded = explain(assumptions, promises=promises, others=others)
        if assumes:
            brief = f"Assumes: {assumes}"
            folded = [replace(note, brief=brief) for note in folded if isinstance(note, Note)]
        blocks = [
            headline,
            *warnings_of(self.all_warnings),
            *numbers,
            *notes_of([*notes, *left_out(self.dropped)]),
            *tables,
            *folded,
        ]
        if figure is not None:
            name, draw, caption = figure
            blocks.append(Figure(name, partial(draw, self), caption))
        return blocks

    def draw(
        self,
        rows: Sequence[ForestRow],
        title: str,
        *,
        dot: str = "",
        quantity: str = "rate",
    ) -> Drawing:
        """A line for each rate with its interval; a ring is the judge's own rate."""
        axis = f"{quantity}, with {level(self.confidence_level)} intervals"
        naive = "judge alone (naive)"
        return forest_figure(rows, title=title, axis=axis, dot=dot, ring=naive, scale=1)


# --- sentences and blocks ---


def explain_simultaneous(parts: Sequence[Any], confidence_level: float) -> list[str]:
    """What the intervals of a table promise, each alone and all together."""
    together = sum(part.simultaneous_interval is not None for part in parts)
    if together < 2:
        return []
    confidence = level(confidence_level)
    return [
        f"{SIMULTANEOUS}: all {together:,} intervals hold together with {confidence} (Šidák); the "
        f"{confidence} intervals hold one by one"
    ]


def list_names(names: Sequence[str | None]) -> str:
    """The names, and how many more there are than can be shown."""
    listed = ", ".join(map(str, names[:SHOWN]))
    more = len(names) - SHOWN
    return f"{listed} and {more:,} more" if more > 0 else listed


def with_groups(texts: Iterable[tuple[str | None, str]]) -> list[str]:
    """Each text once, after the names of the groups that it is about."""
    named: dict[str, list[str | None]] = {}
    for group, text in texts:
        named.setdefault(text, []).append(group or "all rows")
    return [f"{list_names(names)} – {text}" for text, names in named.items()]


def sentence(group: str | None, text: str) -> str:
    """A headline: with the group's name before it, or with a capital letter."""
    return text[:1].upper() + text[1:] if group is None else f"{group}: {text}"


def level_text(result: Any) -> str:
    """The level of its intervals, by name if they are the judge's own."""
    naive = "" if known_estimator(result.method).uses_labels else "naive "
    return naive + level(result.confidence_level)


def table_by_group(
    parts: Sequence[_Part],
    by: str,
    columns: Mapping[str, Callable[[_Part], str]],
    *,
    caption: str = "",
    optional: Sequence[str] = (),
    detail: bool = False,
) -> Table:
    """A line for each group; marks in its cells are explained if a group has warnings.

    `by` comes from data: as a key it could be the name of another column.
    """
    marked = any(getattr(part, "warnings", ()) for part in parts)
    table = table_of(
        parts,
        columns,
        caption=" ".join(filter(None, (caption, "(!: read the warning)" * marked))),
        optional=[name for name in optional if name in columns],
        detail=detail,
    )
    return replace(table, columns=(by, *table.columns[1:]))


def describe_outside(what: str, rates: Sequence[Any], noun: str) -> str:
    """How many of the judge's rates are outside the interval that is reported."""
    compared = [rate for rate in rates if rate.naive is not None and rate.interval is not None]
    outside = sum(rate.naive not in rate.interval for rate in compared)
    if not compared:
        return f"People's {what}s"
    if len(compared) == 1:
        return f"The judge's {what} lies {'outside' if outside else 'inside'} the interval"
    if not outside:
        every = "both" if len(compared) == 2 else f"all {len(compared)}"
        return f"The judge's {what} lies inside {every} intervals"
    return f"The judge's {what} lies outside the interval for {outside} of {len(compared)} {noun}"
