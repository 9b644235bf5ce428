"""Picture of cycles per document, and the pictures of the diagnosis paper as files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.text import clip, clip_names, group_name, percent, span
from adjudge.present.theme import INK, MUTED, SERIES, new_figure, themed
from adjudge.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.results.diagnosis import Transitivity

#: A tournament of coin flips: one of the four ways to orient a triple is a cycle, up to rotation.
RANDOM_RATE = 0.25


def cycles_figure(result: Transitivity) -> Drawing:
    """Violins of the rate per document by judge and criterion, and the noisy judge's mean rate."""
    groups = [g for g in result.groups if g.rates]
    if not groups:
        raise ArgumentError("plot", "no document has a decisive triple", "there is nothing to draw")
    criteria = unique(g.criterion for g in groups)
    judges = unique(g.judge for g in groups)
    width = max(6.4, min(16.0, 1.6 + 0.75 * len(groups) + 0.5 * len(criteria)))
    with themed():
        figure = new_figure(width, 4.6)
        axes = figure.subplots()
        place = 0.0
        ticks: list[tuple[float, str]] = []
        shares: list[tuple[float, str]] = []
        for criterion in criteria:
            own = [g for g in groups if g.criterion == criterion]
            start = place
            for g in own:
                colour = SERIES[judges.index(g.judge) % len(SERIES)]
                _violin(axes, place, np.array(g.rates), colour)
                if g.expected_rate is not None:
                    ends = [place - 0.36, place + 0.36]
                    axes.plot(ends, [100 * g.expected_rate] * 2, color=INK, linewidth=1.6)
                shares.append((place, percent(g.share_with_cycle, 0)))
                place += 1
            ticks.append(((start + place - 1) / 2, axis_name(criterion)))
            place += 0.6
        axes.axhline(100 * RANDOM_RATE, color=MUTED, linestyle="--", linewidth=1.2)
        axes.set_xticks([at for at, _ in shares], [text for _, text in shares], fontsize=8)
        for at, name in ticks:
            axes.annotate(name, (at, 0), xycoords=("data", "axes fraction"), xytext=(0, -30),
                          textcoords="offset points", ha="center")  # fmt: skip
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=0)
        axes.set_ylim(top=max(30.0, axes.get_ylim()[1] * 1.06))
        axes.set_ylabel("cycles among decisive triples, % per document")
        named = any(name for _, name in ticks)
        label = "share of documents with a cycle"
        axes.set_xlabel(label, fontsize=8.5, labelpad=22 if named else 4)
        # One shape alone would be as wide as the picture.
        space = max(0.0, 3 - place) / 2
        axes.set_xlim(-0.7 - space, place - 0.9 + space)
        axes.set_title(_cycle_title(result))
        _cycle_legend(figure, judges)
    return figure


def _violin(axes: Axes, place: float, rates: FloatArray, colour: str) -> None:
    values = 100 * rates
    if len(values) > 1 and np.ptp(values) > 0:
        parts: Any = axes.violinplot([values], [place], widths=0.8, showextrema=False)
        for body in parts["bodies"]:
            # A density estimate reaches below zero; a rate does not.
            shape = body.get_paths()[0]
            shape.vertices[:, 1] = np.clip(shape.vertices[:, 1], 0, values.max())
            body.set_facecolor(colour)
            body.set_alpha(0.28)
            body.set_edgecolor("none")
    # Every document with a cycle is drawn, and at most a hundred of the others.
    dots = np.concatenate([values[values > 0], values[values == 0][:100]])
    jitter = np.random.default_rng(0).uniform(-0.16, 0.16, len(dots))
    axes.scatter(place + jitter, dots, s=9, color=colour, alpha=0.55, linewidth=0, zorder=3)


def _cycle_title(result: Transitivity) -> str:
    rates = [g.mean_rate for g in result.groups if g.mean_rate is not None]
    shares = [g.share_with_cycle for g in result.groups if g.share_with_cycle is not None]
    return (
        f"Cycles: {span(percent(min(rates)), percent(max(rates)))} of a document's triples, "
        f"in {span(percent(min(shares), 0), percent(max(shares), 0))} of documents"
    )


def _cycle_legend(figure: Drawing, judges: Sequence[str | None]) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", linestyle="", color=SERIES[at % len(SERIES)], label=name)
        for at, name in enumerate(axis_names(judges).values())
    ]
    marks.append(Line2D([], [], color=INK, linewidth=1.6, label="transitive judge with noise"))
    coins = f"coin flips: {percent(RANDOM_RATE)}"
    marks.append(Line2D([], [], color=MUTED, linewidth=1.2, linestyle="--", label=coins))
    figure.legend(handles=marks, loc="outside lower center", ncols=min(4, len(marks)), fontsize=8.5)


def unique(names: Iterable[str | None]) -> list[str | None]:
    """The names in order of first appearance."""
    return list(dict.fromkeys(names))


def axis_names(names: Iterable[str | None]) -> dict[str | None, str]:
    """The names of judges on an axis."""
    known = unique(names)
    return dict(zip(known, clip_names(group_name(name, none="") for name in known), strict=True))


def axis_name(name: str | None) -> str:
    """The name of a judge or criterion on an axis; empty if it has no name."""
    return clip(group_name(name, none=""))
