"""Pictures of rates: a line for each, with the judge's own rate and the one to report as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from adjudge.present.figure import ACCENT, MUTED, WARM, draw_interval, legend_mark
from adjudge.records import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class Rate(Protocol):
    """A rate with its interval, as results and their parts have it."""

    @property
    def estimate(self) -> float | None: ...
    @property
    def interval(self) -> Interval | None: ...


class RateWithNaive(Rate, Protocol):
    """A rate next to the judge's own."""

    @property
    def naive(self) -> float | None: ...


def draw_bar(
    axes: Axes,
    at: float,
    value: float | None,
    interval: Interval | None,
    colour: str,
    marker: str,
) -> None:
    """A rate and its interval, as far as they are known."""
    draw_interval(axes, at, interval, scale=1, color=colour, linewidth=2.2, solid_capstyle="butt")
    if value is not None:
        axes.plot([value], [at], marker, color=colour, markersize=6, zorder=3)


def draw_estimate(axes: Axes, at: float, rate: Rate) -> None:
    """The rate to report, or the words that there is none."""
    if rate.estimate is None:
        draw_no_estimate(axes, at)
    else:
        draw_bar(axes, at, rate.estimate, rate.interval, ACCENT, "s")


def draw_no_estimate(axes: Axes, at: float) -> None:
    """The words for a rate that is not known."""
    axes.text(0.01, at, "no estimate", color=MUTED, fontsize=8.5, va="center")


def name_rates(axes: Axes, names: Sequence[str]) -> None:
    """The names of the lines, from below."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)


def rate_axis(axes: Axes, label: str) -> None:
    """An axis from 0 to 1."""
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


def describe_outside(what: str, rates: Sequence[RateWithNaive], noun: str) -> str:
    """How many of the judge's rates are outside the interval that is reported."""
    outside = sum(map(_naive_outside, rates))
    if len(rates) == 1:
        return f"The judge's {what} lies {'outside' if outside else 'inside'} the interval"
    if not outside:
        every = "both" if len(rates) == 2 else f"all {len(rates)}"
        return f"The judge's {what} lies inside {every} intervals"
    return f"The judge's {what} lies outside the interval for {outside} of {len(rates)} {noun}"


def _naive_outside(rate: RateWithNaive) -> bool:
    return rate.naive is not None and rate.interval is not None and rate.naive not in rate.interval
