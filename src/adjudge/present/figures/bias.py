"""Pictures of biases: distances from an unbiased judge, and confidence against accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.figures.diagnosis import axis_name, axis_names
from adjudge.present.text import level, percent
from adjudge.present.theme import ACCENT, INK, MARKS, MUTED, SERIES, new_figure, themed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.results.bias import BiasReport, JudgeBias, Reliability
    from adjudge.results.measures import Measure

    JudgeMeasures = Sequence[tuple[JudgeBias, list[tuple[str, Measure]]]]

_COLOURS = {"first slot": SERIES[0], "longer answer": SERIES[1], "own family": SERIES[2]}
_MARKS = dict(zip(_COLOURS, MARKS, strict=False))


def bias_figure(result: BiasReport) -> Drawing:
    """Every bias of every judge as its distance from an unbiased judge; then confidence."""
    measured = [(judge, measures) for judge in result.judges if (measures := _measures(judge))]
    sure = [judge for judge in result.judges if judge.reliability is not None]
    if not measured and not sure:
        raise ArgumentError("plot", "no bias could be measured", "see what is named as missing")
    panels = int(bool(measured)) + int(bool(sure))
    rows = max(len(sure), sum(len(measures) for _, measures in measured))
    height = max(3.6, 1.9 + 0.27 * rows + 0.12 * len(measured))
    with themed():
        figure = new_figure(1.2 + 4.9 * panels, height)
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        if measured:
            _draw_biases(axes.pop(0), measured, result.confidence_level)
        if len(sure) > 1:
            _draw_confidences(axes.pop(0), sure)
        elif sure and sure[0].reliability is not None:
            _draw_curve(axes.pop(0), sure[0].reliability)
        several = measured if len(measured) > 1 else []
        names = {name for _, measures in several for name, _ in measures}
        _legend(figure, names, confidence=len(sure) > 1)
    return figure


def reliability_figure(result: Reliability) -> Drawing:
    """How often the judge is right at each confidence."""
    with themed():
        figure = new_figure(6.1, 3.9)
        _draw_curve(figure.subplots(), result)
    return figure


def _measures(judge: JudgeBias) -> list[tuple[str, Measure]]:
    parts = (judge.position, judge.length or judge.verbosity, judge.family)
    firsts = [
        (name, part.measures()[0])
        for name, part in zip(_COLOURS, parts, strict=True)
        if part is not None
    ]
    return [(name, measure) for name, measure in firsts if measure.value is not None]


def _draw_biases(axes: Axes, measured: JudgeMeasures, confidence_level: float) -> None:
    alone = len(measured) == 1
    names = axis_names(judge.judge for judge, _ in measured)
    axes.axvline(0, color=MUTED, linestyle="--", linewidth=1.2)
    ticks: list[tuple[float, str]] = []
    at, reach = 0.0, 10.0
    for judge, measures in measured:
        first = at
        for name, measure in measures:
            value, *ends = (
                100 * (end - (measure.unbiased or 0))
                for end in (measure.value, measure.low, measure.high)
                if end is not None
            )
            colour = _COLOURS[name]
            axes.plot(ends, [at] * len(ends), color=colour, lw=2.2, alpha=0.6)
            face = colour if measure.departs else "white"
            axes.scatter(value, at, s=42, zorder=3, marker=_MARKS[name], facecolor=face,
                         edgecolor=colour, linewidth=1.6)  # fmt: skip
            reach = max(reach, *(abs(end) for end in (value, *ends)))
            if alone:
                ticks.append((at, name))
            at += 1
        if not alone:
            flips = judge.position and f"\nflips {percent(judge.position.flip_share, 0)}"
            ticks.append(((first + at - 1) / 2, names[judge.judge] + (flips or "")))
        at += 0.6
    axes.set_yticks([place for place, _ in ticks], [text for _, text in ticks])
    axes.set_ylim(at - 0.6, -1.0)
    axes.set_xlim(-1.08 * reach, 1.08 * reach)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(
        f"points from an unbiased judge, {level(confidence_level)} interval\n"
        "(filled: a bias is shown)"
    )
    axes.set_title(_bias_title(measured))


def _bias_title(measured: JudgeMeasures) -> str:
    """About the biases drawn here: a judge without any of them can still be over-confident."""
    off = [[name for name, measure in measures if measure.departs] for _, measures in measured]
    if len(measured) > 1:
        return f"{sum(map(bool, off))} of {len(measured)} judges show one of these biases"
    [(judge, measures)] = measured
    who = axis_name(judge.judge) or "The judge"
    if off[0]:
        parts = f"{who} shows a bias:", ", ".join(off[0])
    elif all(measure.low is None for _, measure in measures):
        parts = f"{who}:", "no interval, so no bias shown or excluded"
    else:
        parts = f"{who}:", "none of these biases shown"
    # A long title would run into that of the next panel.
    return ("\n" if sum(map(len, parts)) > 44 else " ").join(parts)


def _draw_curve(axes: Axes, result: Reliability) -> None:
    """One judge's reliability curve, with intervals."""
    axes.plot([50, 100], [50, 100], color=MUTED, linestyle="--", linewidth=1.2)
    for entry in result.curve:
        if entry.accuracy_low is not None and entry.accuracy_high is not None:
            ends = [100 * entry.accuracy_low, 100 * entry.accuracy_high]
            axes.plot([100 * entry.confidence] * 2, ends, color=ACCENT, lw=1.4, alpha=0.6)
    axes.plot(
        [100 * entry.confidence for entry in result.curve],
        [100 * entry.accuracy for entry in result.curve],
        color=ACCENT,
        marker="o",
        ms=4.5,
        linewidth=1.3,
    )
    axes.set_xlabel("confidence, % (dashed: right as often as confident)")
    axes.set_ylabel(f"verdicts right, %, {level(result.confidence_level)} interval")
    axes.set_ylim(top=102)
    how = "No over- or under-confidence shown"
    if result.biased:
        how = "Over-confident" if result.over_confidence > 0 else "Under-confident"
    axes.set_title(f"{how} (ECE {result.ece_equal_mass:.2f})")


def _draw_confidences(axes: Axes, judges: Sequence[JudgeBias]) -> None:
    """How sure each judge is on average, and how often it is right."""
    results = [(judge.judge, judge.reliability) for judge in judges if judge.reliability]
    for place, (_, result) in enumerate(results):
        right, sure = 100 * result.accuracy, 100 * result.mean_confidence
        axes.plot([right, sure], [place, place], color=MUTED, lw=1.2, zorder=1)
        if result.accuracy_low is not None and result.accuracy_high is not None:
            ends = [100 * result.accuracy_low, 100 * result.accuracy_high]
            axes.plot(ends, [place, place], color=INK, lw=2.6, alpha=0.3)
        axes.scatter(right, place, s=46, marker="s", color=INK, zorder=3)
        axes.scatter(
            *(sure, place), s=42, marker="s", zorder=3, facecolor="white", edgecolor=INK, lw=1.6
        )
    shown = axis_names(judge for judge, _ in results)
    names = [f"{shown[judge]}\nECE {one.ece_equal_mass:.2f}" for judge, one in results]
    axes.set_yticks(range(len(results)), names)
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean over the judge's verdicts, %")
    over = sum(result.biased and result.over_confidence > 0 for _, result in results)
    axes.set_title(f"{over} of {len(results)} judges are shown to be over-confident")


def _legend(figure: Drawing, biases: set[str], *, confidence: bool) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker=_MARKS[name], linestyle="", color=colour, label=name)
        for name, colour in _COLOURS.items()
        if name in biases
    ]
    if confidence:
        marks.append(Line2D([], [], marker="s", linestyle="", color=INK, label="right"))
        marks.append(
            Line2D([], [], marker="s", linestyle="", color=INK, mfc="white", label="confidence")
        )
    if marks:
        figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8.5)
