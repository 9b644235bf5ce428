"""Pictures of a diagnosis: cycles per document, biases per judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.tables import safe
from adjudge.present.theme import ACCENT, INK, MUTED, SERIES, WARM, new_figure, themed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from adjudge.results.bias import BiasReport, JudgeBias
    from adjudge.results.diagnosis import Transitivity

#: A tournament of coin flips: one of the four ways to orient a triple is a cycle, up to rotation.
RANDOM_RATE = 0.25


def cycles_figure(result: Transitivity) -> Figure:
    """Violins of the rate per document, for each judge and criterion, beside the noisy judge."""
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
                    axes.plot(
                        [place - 0.36, place + 0.36],
                        [100 * g.expected_rate] * 2,
                        color=INK,
                        linewidth=1.6,
                        solid_capstyle="butt",
                    )
                shares.append((place, f"{100 * (g.share_with_cycle or 0):.0f} %"))
                place += 1
            ticks.append(((start + place - 1) / 2, shown(criterion)))
            place += 0.6
        axes.axhline(100 * RANDOM_RATE, color=MUTED, linestyle="--", linewidth=1.2)
        axes.annotate(
            "coin flips: 25 %",
            (1, 100 * RANDOM_RATE),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=MUTED,
        )
        axes.set_xticks([at for at, _ in shares], [text for _, text in shares], fontsize=8)
        for at, name in ticks:
            axes.annotate(
                name,
                (at, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -30),
                textcoords="offset points",
                ha="center",
            )
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=0)
        axes.set_ylim(top=max(30.0, axes.get_ylim()[1] * 1.06))
        axes.set_ylabel("cycles among decisive triples, % per document")
        axes.set_title(_cycle_title(result))
        _cycle_legend(figure, judges)
    return figure


def _violin(axes: Axes, place: float, rates: Any, colour: str) -> None:
    percent = 100 * rates
    if len(percent) > 1 and np.ptp(percent) > 0:
        parts: Any = axes.violinplot([percent], [place], widths=0.8, showextrema=False)
        for body in parts["bodies"]:
            # A density estimate reaches below zero; a rate does not.
            shape = body.get_paths()[0]
            shape.vertices[:, 1] = np.clip(shape.vertices[:, 1], 0, percent.max())
            body.set_facecolor(colour)
            body.set_alpha(0.28)
            body.set_edgecolor("none")
    # Every document with a cycle is drawn; a hundred of the others say enough.
    dots = np.concatenate([percent[percent > 0], percent[percent == 0][:100]])
    jitter = np.random.default_rng(0).uniform(-0.16, 0.16, len(dots))
    axes.scatter(
        place + jitter,
        dots,
        s=9,
        color=colour,
        alpha=0.55,
        linewidth=0,
        zorder=3,
    )


def _cycle_title(result: Transitivity) -> str:
    rated = [g for g in result.groups if g.mean_rate is not None]
    shares = [100 * (g.share_with_cycle or 0) for g in rated]
    rates = [100 * (g.mean_rate or 0) for g in rated]
    if len(rated) == 1:
        return f"{rates[0]:.1f} % of triples are cycles; {shares[0]:.0f} % of documents have one"
    return (
        f"{min(rates):.1f} to {max(rates):.1f} % of triples are cycles; "
        f"{min(shares):.0f} to {max(shares):.0f} % of documents have one"
    )


def _cycle_legend(figure: Figure, judges: Sequence[str | None]) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", linestyle="", color=SERIES[at % len(SERIES)], label=shown(judge))
        for at, judge in enumerate(judges)
    ]
    marks.append(Line2D([], [], color=INK, linewidth=1.6, label="transitive but noisy judge"))
    marks.append(Line2D([], [], linestyle="", label="% below each: documents with a cycle"))
    figure.legend(handles=marks, loc="outside lower center", ncols=min(4, len(marks)), fontsize=8.5)


def bias_figure(result: BiasReport) -> Figure:
    """First-slot share and flips per judge with intervals; reliability curves beside them."""
    judges = [judge for judge in result.judges if judge.position is not None]
    sure = [judge for judge in result.judges if judge.reliability is not None]
    if not judges and not sure:
        raise ArgumentError("plot", "neither position nor reliability measured", "nothing to draw")
    panels = int(bool(judges)) + int(bool(sure))
    with themed():
        figure = new_figure(
            4.9 * panels + 2.2 * bool(sure), max(3.4, 2.1 + 0.42 * len(result.judges))
        )
        drawn = list(figure.subplots(1, panels, squeeze=False)[0])
        if judges:
            _positions(drawn.pop(0), judges)
        if sure:
            _reliabilities(drawn.pop(0), sure)
    return figure


def _positions(axes: Axes, judges: Sequence[JudgeBias]) -> None:
    places = np.arange(len(judges))[::-1]
    for place, judge in zip(places, judges, strict=True):
        found = judge.position
        if found is None:
            continue
        if found.low is not None and found.high is not None:
            axes.plot([100 * found.low, 100 * found.high], [place] * 2, color=ACCENT, lw=2.2)
        axes.scatter(100 * found.first_share, place, color=ACCENT, s=46, zorder=3)
        axes.scatter(
            100 * found.flip_share, place, facecolor="white", edgecolor=WARM, s=40, lw=1.6, zorder=3
        )
    axes.axvline(50, color=MUTED, linestyle="--", linewidth=1.2)
    axes.set_yticks(places, [shown(judge.judge) for judge in judges])
    axes.set_ylim(-0.7, len(judges) - 0.3)
    axes.set_xlim(-2, 102)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("● first answer picked    ○ verdict flips with the order    (%)")
    leaning = sum(judge.position is not None and judge.position.biased for judge in judges)
    if len(judges) == 1:
        axes.set_title("The judge leans to a slot" if leaning else "No lean to a slot shows")
    else:
        axes.set_title(f"{leaning} of {len(judges)} judges lean to a slot")


def _reliabilities(axes: Axes, judges: Sequence[JudgeBias]) -> None:
    axes.plot([50, 100], [50, 100], color=MUTED, linestyle="--", linewidth=1.2)
    for at, judge in enumerate(judges):
        found = judge.reliability
        if found is None:
            continue
        colour = SERIES[at % len(SERIES)]
        x = [100 * entry.confidence for entry in found.curve]
        y = [100 * entry.accuracy for entry in found.curve]
        label = f"{shown(judge.judge)}, ECE {found.ece_equal_mass:.2f}"
        axes.plot(x, y, color=colour, marker="o", ms=3.5, linewidth=1.3, label=label)
    axes.set_xlabel("confidence, %")
    axes.set_ylabel("right, %")
    axes.set_ylim(top=102)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    measured = [judge.reliability for judge in judges if judge.reliability is not None]
    over = sum((entry.low or 0) > 0 for entry in measured)
    under = sum((entry.high or 0) < 0 for entry in measured)
    if len(judges) == 1:
        how = "over-confident" if over else "under-confident" if under else "not clearly off"
        axes.set_title(f"The judge's confidence is {how}")
    else:
        axes.set_title(f"{over} of {len(judges)} judges are over-confident")


def unique(names: Iterable[str | None]) -> list[str | None]:
    """The names in order of first appearance."""
    return list(dict.fromkeys(names))


def shown(name: str | None) -> str:
    """A name as an axis shows it, harmless and not too long."""
    text = safe(name) if name not in (None, "unnamed") else ""
    return (text if len(text) <= 28 else text[:27] + "…").replace("$", r"\$")
