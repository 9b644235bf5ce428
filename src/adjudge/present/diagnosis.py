"""Pictures of a diagnosis: cycles per document, biases per judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge._validation import FloatArray
from adjudge.errors import ArgumentError
from adjudge.present.tables import clipped
from adjudge.present.theme import ACCENT, INK, MUTED, SERIES, new_figure, themed

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


def _violin(axes: Axes, place: float, rates: FloatArray, colour: str) -> None:
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


#: A bias and its distance from the unbiased value, with its interval, in points of 100.
_Departure = tuple[str, float, float | None, float | None]
_BIASES = {"first slot": SERIES[0], "longer answer": SERIES[1], "own family": SERIES[2]}


def bias_figure(result: BiasReport) -> Figure:
    """Every bias of every judge as its distance from an unbiased judge; calibration beside it."""
    judges = [(judge, departures) for judge in result.judges if (departures := _departures(judge))]
    sure = [judge for judge in result.judges if judge.reliability is not None]
    if not judges and not sure:
        raise ArgumentError("plot", "no bias could be measured", "see what is named as missing")
    panels = int(bool(judges)) + int(bool(sure))
    rows = max(len(sure), sum(len(found) for _, found in judges))
    with themed():
        figure = new_figure(1.2 + 4.9 * panels, max(3.6, 1.9 + 0.27 * rows + 0.12 * len(judges)))
        drawn = list(figure.subplots(1, panels, squeeze=False)[0])
        if judges:
            _biases(drawn.pop(0), judges)
        if len(sure) == 1:
            _reliability(drawn.pop(0), sure[0])
        elif sure:
            _confidences(drawn.pop(0), sure)
        several = {name for _, found in judges for name, *_ in found} if len(judges) > 1 else set()
        _bias_legend(figure, several, confidence=len(sure) > 1)
    return figure


def _departures(judge: JudgeBias) -> list[_Departure]:
    found: list[tuple[str, float | None, float | None, float | None, float]] = []
    if (p := judge.position) is not None:
        found.append(("first slot", p.first_share, p.low, p.high, 0.5))
    if (v := judge.verbosity) is not None:
        found.append(("longer answer", v.longer_share, v.low, v.high, 0.5))
    if (f := judge.family) is not None:
        found.append(("own family", f.excess, f.low, f.high, 0.0))
    return [
        (
            name,
            100 * (value - fair),
            None if low is None else 100 * (low - fair),
            None if high is None else 100 * (high - fair),
        )
        for name, value, low, high, fair in found
        if value is not None
    ]


def _biases(axes: Axes, judges: Sequence[tuple[JudgeBias, list[_Departure]]]) -> None:
    alone = len(judges) == 1
    axes.axvline(0, color=MUTED, linestyle="--", linewidth=1.2)
    ticks: list[tuple[float, str]] = []
    at, reach = 0.0, 10.0
    for judge, found in judges:
        first = at
        for name, value, low, high in found:
            colour = _BIASES[name]
            if low is not None and high is not None:
                axes.plot([low, high], [at, at], color=colour, lw=2.2, alpha=0.6)
                reach = max(reach, abs(low), abs(high))
            face = colour if _clearly(low, high) else "white"
            axes.scatter(value, at, s=42, zorder=3, facecolor=face, edgecolor=colour, linewidth=1.6)
            reach = max(reach, abs(value))
            if alone:
                ticks.append((at, name))
            at += 1
        if not alone:
            flips = judge.position and f"\nflips {100 * judge.position.flip_share:.0f} %"
            ticks.append(((first + at - 1) / 2, shown(judge.judge) + (flips or "")))
        at += 0.6
    axes.set_yticks([place for place, _ in ticks], [text for _, text in ticks])
    axes.set_ylim(at - 0.6, -1.0)
    axes.set_xlim(-1.08 * reach, 1.08 * reach)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("points from an unbiased judge (filled: clearly off)")
    axes.set_title(_bias_title(judges))


def _clearly(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and not low <= 0 <= high


def _bias_legend(figure: Figure, biases: set[str], *, confidence: bool) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", linestyle="", color=colour, label=name)
        for name, colour in _BIASES.items()
        if name in biases
    ]
    if confidence:
        marks.append(Line2D([], [], marker="s", linestyle="", color=INK, label="right"))
        marks.append(
            Line2D([], [], marker="s", linestyle="", color=INK, mfc="white", label="confidence")
        )
    if marks:
        figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8.5)


def _bias_title(judges: Sequence[tuple[JudgeBias, list[_Departure]]]) -> str:
    off = [[name for name, _, low, high in found if _clearly(low, high)] for _, found in judges]
    if len(judges) > 1:
        return f"{sum(map(bool, off))} of {len(judges)} judges show a bias"
    [judge], [names] = [judge for judge, _ in judges], off
    who = shown(judge.judge) or "The judge"
    if not names:
        return f"{who}: no bias shows"
    return f"{who} is moved by: " + ", ".join(names)


def _reliability(axes: Axes, judge: JudgeBias) -> None:
    """One judge's reliability curve, with intervals."""
    found = judge.reliability
    if found is None:
        return
    axes.plot([50, 100], [50, 100], color=MUTED, linestyle="--", linewidth=1.2)
    for entry in found.curve:
        if entry.accuracy_low is not None and entry.accuracy_high is not None:
            ends = [100 * entry.accuracy_low, 100 * entry.accuracy_high]
            axes.plot([100 * entry.confidence] * 2, ends, color=ACCENT, lw=1.4, alpha=0.6)
    axes.plot(
        [100 * entry.confidence for entry in found.curve],
        [100 * entry.accuracy for entry in found.curve],
        color=ACCENT,
        marker="o",
        ms=4.5,
        linewidth=1.3,
    )
    axes.set_xlabel("confidence, %")
    axes.set_ylabel("right, %")
    axes.set_ylim(top=102)
    over, under = (found.low or 0) > 0, (found.high or 0) < 0
    how = "over-confident" if over else "under-confident" if under else "not clearly off"
    axes.set_title(f"Confidence: {how} (ECE {found.ece_equal_mass:.2f})")


def _confidences(axes: Axes, judges: Sequence[JudgeBias]) -> None:
    """How sure each judge is on average, beside how often it is right."""
    over = 0
    for place, judge in enumerate(judges):
        found = judge.reliability
        if found is None:
            continue
        over += (found.low or 0) > 0
        right, sure = 100 * found.accuracy, 100 * found.mean_confidence
        axes.plot([right, sure], [place, place], color=MUTED, lw=1.2, zorder=1)
        if found.accuracy_low is not None and found.accuracy_high is not None:
            ends = [100 * found.accuracy_low, 100 * found.accuracy_high]
            axes.plot(ends, [place, place], color=INK, lw=2.6, alpha=0.3)
        axes.scatter(right, place, s=46, marker="s", color=INK, zorder=3)
        axes.scatter(
            *(sure, place), s=42, marker="s", zorder=3, facecolor="white", edgecolor=INK, lw=1.6
        )
    axes.set_yticks(
        range(len(judges)),
        [
            f"{shown(judge.judge)}\nECE {judge.reliability.ece_equal_mass:.2f}"
            for judge in judges
            if judge.reliability is not None
        ],
    )
    axes.set_ylim(len(judges) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean over the judge's verdicts, %")
    axes.set_title(f"{over} of {len(judges)} judges are over-confident")


def unique(names: Iterable[str | None]) -> list[str | None]:
    """The names in order of first appearance."""
    return list(dict.fromkeys(names))


def shown(name: str | None) -> str:
    """A judge or criterion as an axis shows it; nothing where it has no name."""
    return clipped(name) if name not in (None, "unnamed") else ""
