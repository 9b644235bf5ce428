"""Picture of prompt sensitivity: how often answers change, by judge and criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.present.figures.diagnosis import axis_name
from adjudge.present.text import level, percent, span
from adjudge.present.theme import ACCENT, INK, new_figure, themed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge.results.prompts import PromptSensitivity


def prompts_figure(result: PromptSensitivity) -> Drawing:
    """A dot with its interval for each judge and criterion, a ring if it was asked again."""
    from matplotlib.lines import Line2D

    groups = result.groups
    with themed():
        figure = new_figure(7.2, 1.6 + 0.42 * len(groups))
        axes = figure.subplots()
        for place, group in enumerate(groups):
            if group.low is not None and group.high is not None:
                ends = [100 * group.low, 100 * group.high]
                axes.plot(ends, [place, place], color=ACCENT, linewidth=1.6)
            axes.scatter(100 * group.changed, place, s=44, color=ACCENT, zorder=3)
            if group.again is not None:
                axes.scatter(100 * group.again, place, s=40, facecolor="white", edgecolor=INK,
                             linewidth=1.5, zorder=4)  # fmt: skip
        names = [
            "\n".join(filter(None, (axis_name(group.judge), axis_name(group.criterion))))
            for group in groups
        ]
        axes.set_yticks(range(len(groups)), [name or "all rows" for name in names], fontsize=8.5)
        axes.set_ylim(len(groups) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.grid(axis="y", visible=False)
        interval = f"{level(result.confidence_level)} interval"
        axes.set_xlabel(f"{result.answers} that change, %, with {interval}")
        shares = [group.changed for group in groups]
        least, most = percent(min(shares)), percent(max(shares))
        axes.set_title(f"{span(least, most)} of {result.answers} change with the prompt")
        if any(group.again is not None for group in groups):
            marks = [
                Line2D([], [], marker="o", color=ACCENT, label="other prompt"),
                Line2D([], [], marker="o", linestyle="", color=INK, mfc="white",
                       label="same prompt, asked again"),
            ]  # fmt: skip
            figure.legend(handles=marks, loc="outside lower center", ncols=2, fontsize=8.5)
    return figure
