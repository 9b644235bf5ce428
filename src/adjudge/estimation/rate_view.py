"""What the views of rates share: the blocks around the numbers, and pictures with a line for each.

A line has the rate to report and the one that it is compared with: the judge's own, or another
method's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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
from adjudge.present.figure import (
    ACCENT,
    MUTED,
    WARM,
    draw_interval,
    legend_mark,
    new_figure,
    themed,
)
from adjudge.present.text import clip, left_out, level, number, show_interval
from adjudge.records import HasInterval, Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: At most this many rates fit into a sentence; more are counted, and are in the table.
IN_A_SENTENCE = 4
#: At most this many groups are shown; the file of the result has all.
SHOWN = 60
_Part = TypeVar("_Part")


class Rate(HasInterval):
    """A rate or difference with its interval, as results and their parts have it."""

    estimate: float | None

    @property
    def width(self) -> float | None:
        """The width of the interval; None without an estimate."""
        return None if self.estimate is None else width_of(self.interval)

    @property
    def text(self) -> str:
        """The rate with its interval."""
        return f"{number(self.estimate)} {show_interval(self.interval)}"


class HasGroups:
    """Warnings of a result and of its `groups`, which have a name and warnings each."""

    warnings: tuple[str, ...]
    groups: Any

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """General warnings, then those of single groups, each once with the groups named."""
        named: dict[str, list[str]] = {}
        for group in self.groups:
            for text in group.warnings:
                named.setdefault(text, []).append(group.group or "all rows")
        return (
            *self.warnings,
            *(f"{list_names(names)}: {text}" for text, names in named.items()),
        )


def width_of(interval: Interval | None) -> float | None:
    """The width of an interval, None without one."""
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.high - interval.low


# --- sentences and blocks ---


def list_names(names: Sequence[str | None]) -> str:
    """The names, and how many more there are than can be shown."""
    listed, more = ", ".join(map(str, names[:SHOWN])), len(names) - SHOWN
    return f"{listed} and {more:,} more" if more > 0 else listed


def sentence(group: str | None, text: str) -> str:
    """A headline: with the group's name before it, or with a capital letter."""
    return text[:1].upper() + text[1:] if group is None else f"{group}: {text}"


def interval_text(result: Any) -> str:
    """The interval of an estimate or a difference, with its level."""
    return f"{level_text(result)} interval {show_interval(result.interval)}"


def level_text(result: Any) -> str:
    """The level of its intervals, by name if they are the judge's own."""
    naive = "" if known_estimator(result.method).uses_labels else "naive "
    return naive + level(result.confidence_level)


def show_rates(
    result: Any,
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

    `assumes` is the first assumption in a few words, for the line that is always visible. `figure`
    is the name of its picture, the function that draws it, and the caption.
    """
    folded = explain(assumptions, promises=promises, others=others)
    if assumes:
        brief = f"Assumes: {assumes}"
        folded = [replace(note, brief=brief) for note in folded if isinstance(note, Note)]
    blocks = [
        headline,
        *warnings_of(getattr(result, "all_warnings", result.warnings)),
        *numbers,
        *notes_of([*notes, *left_out(result.dropped)]),
        *tables,
        *folded,
    ]
    if figure is not None:
        name, draw, caption = figure
        blocks.append(Figure(name, partial(draw, result), caption))
    return blocks


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


def reported_interval(rate: Any) -> str:
    """The interval in a table, with a mark if there is a warning about it."""
    return show_interval(rate.interval) + " !" * bool(rate.warnings)


# --- pictures ---


class Line(NamedTuple):
    """A line of a picture: the rate to report, and the one that it is compared with."""

    name: str | None
    rate: Rate
    other: float | None
    other_interval: Interval | None = None


def rates_figure(
    result: Any,
    lines: Sequence[Line],
    *,
    title: str,
    method: str | None = None,
    other: str = "judge alone (naive)",
    other_bar: bool = True,
    quantity: str = "rate",
    size: tuple[float, float] = (7.6, 0.42),
) -> Drawing:
    """The lines, from below; `size` is the width of the picture and the height of a line."""
    with themed():
        figure = new_figure(size[0], 1.5 + size[1] * len(lines))
        axes = figure.subplots()
        draw_lines(axes, lines, f"{quantity}, with {level(result.confidence_level)} intervals")
        add_legend(figure, method or result.method, other, other_bar=other_bar)
        axes.set_title(title)
    return figure


def draw_lines(axes: Axes, lines: Sequence[Line], label: str) -> None:
    """Each line: what it is compared with above, the rate to report below."""
    for at, (_, rate, other, other_interval) in enumerate(lines):
        draw_bar(axes, at + 0.13, other, other_interval, WARM, "o")
        if rate.estimate is None:
            draw_no_estimate(axes, at - 0.13)
        else:
            draw_bar(axes, at - 0.13, rate.estimate, rate.interval, ACCENT, "s")
    rate_axis(axes, [clip(line.name) for line in lines], label)


def draw_bar(
    axes: Axes, at: float, value: float | None, interval: Interval | None, colour: str, marker: str
) -> None:
    """A rate and its interval, as far as they are known."""
    draw_interval(axes, at, interval, scale=1, color=colour, linewidth=2.2, solid_capstyle="butt")
    if value is not None:
        axes.plot([value], [at], marker, color=colour, markersize=6, zorder=3)


def draw_no_estimate(axes: Axes, at: float) -> None:
    """The words for a rate that is not known."""
    axes.text(0.01, at, "no estimate", color=MUTED, fontsize=8.5, va="center")


def rate_axis(axes: Axes, names: Sequence[str], label: str) -> None:
    """An axis from 0 to 1, and the names of the lines, from below."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlim(0, 1)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def add_legend(
    figure: Drawing, method: str, other: str = "judge alone (naive)", *, other_bar: bool = True
) -> None:
    """What the two colours are."""
    handles = [
        legend_mark(other, color=WARM, marker="o", linestyle="-" if other_bar else ""),
        legend_mark(method, color=ACCENT, marker="s"),
    ]
    figure.legend(handles=handles, loc="outside lower right", fontsize=8.5, ncols=2)


def describe_outside(what: str, rates: Sequence[Any], noun: str) -> str:
    """How many of the judge's rates are outside the interval that is reported."""
    compared = [rate for rate in rates if rate.naive is not None and rate.interval is not None]
    outside = sum(rate.naive not in rate.interval for rate in compared)
    if len(rates) == 1:
        return f"The judge's {what} lies {'outside' if outside else 'inside'} the interval"
    if not outside:
        every = "both" if len(rates) == 2 else f"all {len(rates)}"
        return f"The judge's {what} lies inside {every} intervals"
    return f"The judge's {what} lies outside the interval for {outside} of {len(rates)} {noun}"
