"""The picture of a monitor: the running error rate with its band, and the evidence below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.text import clip, number, percent, plain_level, powers_of_ten
from adjudge.present.theme import ACCENT, INK, MUTED, WARM, new_figure, set_suptitle, themed
from adjudge.results.monitoring import Monitor, MonitorGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def monitor_figure(monitor: Monitor, group: MonitorGroup) -> Drawing:
    """Error rate over evidence, on one axis of counted audits."""
    if not group.path.audits:
        raise ArgumentError("plot", "no audits", "label some audits first")
    with themed():
        figure = new_figure(7.6, 5.6)
        top, bottom = figure.subplots(2, 1, sharex=True)
        _draw_rate(top, monitor, group)
        _draw_evidence(bottom, group)
        set_suptitle(figure, _title(monitor, group))
    return figure


def _title(monitor: Monitor, group: MonitorGroup) -> str:
    if group.alarm_after is None:
        rate = percent(group.rate.error_rate)
        text = f"no alarm in {number(group.rate.n)} audits, {rate} of them wrong"
    else:
        limit = plain_level(monitor.limit)
        text = f"alarm after {number(group.alarm_after)} audits: error rate above {limit}"
    return text[0].upper() + text[1:] if group.group is None else f"{clip(group.group)}: {text}"


def _draw_rate(axes: Axes, monitor: Monitor, group: MonitorGroup) -> None:
    path = group.path
    sure = f"{percent(1 - group.delta)} band, valid at all times"
    axes.fill_between(
        path.audits, path.low, path.high, color=ACCENT, alpha=0.15, linewidth=0, label=sure
    )
    axes.plot(path.audits, path.error_rate, color=ACCENT, label="running error rate")
    axes.axhline(
        monitor.limit, color=WARM, linewidth=1.4, label=f"limit {plain_level(monitor.limit)}"
    )
    if monitor.limit != monitor.alpha:
        name = f"alpha {plain_level(monitor.alpha)}"
        axes.axhline(monitor.alpha, color=MUTED, linewidth=1.2, linestyle="--", label=name)
    _mark_alarm(axes, group)
    axes.set_ylim(0, min(1.0, 1.3 * max(*_settled(path.high), *path.error_rate, monitor.limit)))
    axes.set_ylabel("error rate of accepted")
    _legend(axes)


def _settled(high: tuple[float, ...]) -> tuple[float, ...]:
    """The band without its beginning, which is so wide that it would flatten the rest."""
    return high[len(high) // 8 :]


def _draw_evidence(axes: Axes, group: MonitorGroup) -> None:
    from matplotlib.ticker import MaxNLocator

    path, alarm = group.path, -math.log10(group.delta)
    axes.plot((0, *path.audits), (0.0, *path.log10_e), color=INK, label="evidence e")
    name = f"alarm at {number(round(1 / group.delta))}"
    axes.axhline(alarm, color=WARM, linewidth=1.4, label=name)
    _mark_alarm(axes, group, label="the alarm")
    most = max(*path.log10_e, alarm)
    low, high = min(-1.0, *path.log10_e) - 0.2, most + 0.25 * (most + 1)
    axes.set_ylim(low, high)
    # Logarithms on a plain axis: e itself can be too large for a float.
    ticks = MaxNLocator(integer=True, nbins=6).tick_values(low, high)
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(shown, powers_of_ten(*shown))
    axes.set_xlabel("audits counted, in the order of drawing")
    axes.set_ylabel("evidence (log scale)")
    _legend(axes)


def _legend(axes: Axes) -> None:
    # The line of the alarm can be anywhere in the panel.
    axes.legend(ncols=4, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)


def _mark_alarm(axes: Axes, group: MonitorGroup, label: str | None = None) -> None:
    if group.alarm_after is not None:
        axes.axvline(group.alarm_after, color=WARM, linewidth=1.2, linestyle=":", label=label)
