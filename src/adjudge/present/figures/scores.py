"""Pictures of score sets: size, width where the judge errs, widths of two judges, coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.figures.diagnosis import axis_name, unique
from adjudge.present.text import percent, signed, span
from adjudge.present.theme import (
    ACCENT,
    GRID,
    INK,
    MUTED,
    ON_TINT,
    SERIES,
    WARM,
    new_figure,
    themed,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from adjudge.results.diagnosis import ScoreDiagnosis, ScoreSetGroup

_COLOURS = {
    "constant": MUTED,
    "per-criterion": ACCENT,
    "per-group": SERIES[2],
    "adaptive": WARM,
}


def sizes_figure(result: ScoreDiagnosis) -> Figure:
    """Heat map of mean set size, judge by criterion, coverage below it."""
    alpha, method = result.main_alpha, result.main_method
    groups = [g for g in result.groups if g.alpha == alpha and g.method == method]
    judges, criteria = unique(g.judge for g in groups), unique(g.criterion for g in groups)
    whole = result.scale[1] - result.scale[0] + 1
    with themed():
        figure = new_figure(2.9 + 1.25 * len(criteria), 1.9 + 0.62 * len(judges))
        axes = figure.subplots()
        grid = np.full((len(judges), len(criteria)), np.nan)
        for g in groups:
            grid[judges.index(g.judge), criteria.index(g.criterion)] = g.mean_size
        image = axes.imshow(
            grid, cmap=_trust_map(), vmin=1, vmax=whole, aspect="auto", interpolation="nearest"
        )
        for g in groups:
            row, column = judges.index(g.judge), criteria.index(g.criterion)
            axes.text(
                column,
                row - 0.1,
                f"{g.mean_size:.2f}",
                ha="center",
                va="center",
                fontsize=11,
                color=ON_TINT,
            )
            axes.text(
                column,
                row + 0.26,
                f"covers {percent(g.coverage)}",
                ha="center",
                va="center",
                fontsize=7.5,
                color=ON_TINT,
                fontweight="bold" if _shortfall(g) else "normal",
            )
        axes.set_xticks(range(len(criteria)), [axis_name(c) for c in criteria])
        axes.set_yticks(range(len(judges)), [axis_name(j) for j in judges])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for side in axes.spines.values():
            side.set_visible(False)
        bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=14)
        bar.set_label(f"mean size, of {whole} scores")
        bar.outline.set_visible(False)
        sizes = [g.mean_size for g in groups]
        axes.set_title(
            f"Sets calibrated for {percent(1 - alpha)} coverage have "
            f"{span(f'{min(sizes):.1f}', f'{max(sizes):.1f}')} of {whole} scores",
            fontsize=10,
            x=-0.2,
        )
    return figure


def width_figure(result: ScoreDiagnosis) -> Figure:
    """Mean error at each set width, one panel per criterion, one line per method."""
    alpha = result.main_alpha
    groups = [g for g in result.groups if g.alpha == alpha and g.method in _compared(result)]
    criteria = unique(g.criterion for g in groups)
    whole = result.scale[1] - result.scale[0] + 1
    with themed():
        figure = new_figure(max(6.0, 2.6 * len(criteria)), 3.7)
        panels = figure.subplots(1, len(criteria), sharey=True, squeeze=False)[0]
        for axes, criterion in zip(panels, criteria, strict=True):
            for method in _compared(result):
                own = [g for g in groups if g.criterion == criterion and g.method == method]
                _pooled_width(axes, own, _COLOURS[method])
            axes.set_title(axis_name(criterion), fontsize=10)
            axes.set_xticks(range(1, whole + 1))
            axes.set_xlim(0.6, whole + 0.4)
            axes.set_xlabel("scores in the set")
        panels[0].set_ylabel("mean |judge − human|")
        panels[0].set_ylim(bottom=0)
        _title(figure, _width_title(result))
        _method_legend(figure, _compared(result), extra="small dots: one judge")
    return figure


def _pooled_width(axes: Axes, groups: Sequence[ScoreSetGroup], colour: str) -> None:
    totals: dict[int, list[tuple[int, float]]] = {}
    for g in groups:
        for entry in g.by_width:
            totals.setdefault(entry.width, []).append((entry.n, entry.mean_error))
            axes.scatter(entry.width, entry.mean_error, s=8, color=colour, alpha=0.35, linewidth=0)
    widths = sorted(totals)
    rows = [sum(n for n, _ in totals[w]) for w in widths]
    errors = [
        sum(n * error for n, error in totals[w]) / n_all
        for w, n_all in zip(widths, rows, strict=True)
    ]
    axes.plot(widths, errors, color=colour, linewidth=1.4, zorder=3)
    most = max(rows, default=1)
    axes.scatter(
        widths, errors, s=[18 + 90 * n / most for n in rows], color=colour, zorder=4, linewidth=0
    )


def _width_title(result: ScoreDiagnosis) -> str:
    within = {p.method: p.within for p in result.pooled if p.alpha == result.main_alpha}
    return "Width against error within a criterion (Spearman): " + ", ".join(
        f"{method} {signed(within[method], 2)}" for method in _compared(result)
    )


def agreement_figure(result: ScoreDiagnosis) -> Figure:
    """Spearman of set widths between judges, one matrix per criterion."""
    there = {a.method for a in result.agreement}
    methods = [method for method in _compared(result) if method in there]
    if not methods:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    method = methods[-1]
    pairs = [a for a in result.agreement if a.method == method]
    criteria = unique(a.criterion for a in pairs)
    judges = unique(name for a in pairs for name in (a.judge_a, a.judge_b))
    with themed():
        panel = max(1.7, 0.5 * len(judges))
        figure = new_figure(3.2 + panel * len(criteria), 1.3 + panel)
        panels = figure.subplots(1, len(criteria), squeeze=False)[0]
        for axes, criterion in zip(panels, criteria, strict=True):
            grid = np.full((len(judges), len(judges)), np.nan)
            np.fill_diagonal(grid, 1.0)
            for a in pairs:
                if a.criterion == criterion and a.spearman is not None:
                    i, j = judges.index(a.judge_a), judges.index(a.judge_b)
                    grid[i, j] = grid[j, i] = a.spearman
            image = axes.imshow(grid, cmap=_agree_map(), vmin=-1, vmax=1)
            axes.set_facecolor(GRID)  # shows where there is no correlation
            for i, j in np.ndindex(*grid.shape):
                value = grid[i, j]
                axes.text(
                    j,
                    i,
                    "" if i == j else signed(None if np.isnan(value) else float(value), 2),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=INK if np.isnan(value) else ON_TINT,
                )
            apart = grid[~np.eye(len(judges), dtype=bool)]
            known = apart[~np.isnan(apart)]
            mean = signed(known.mean(), 2) if len(known) else "widths do not vary"
            axes.set_title(f"{axis_name(criterion)}: {mean}", fontsize=10)
            numbers = [str(at + 1) for at in range(len(judges))]
            named = [f"{axis_name(j)}  {n}" for j, n in zip(judges, numbers, strict=True)]
            axes.set_xticks(range(len(judges)), numbers)
            axes.set_yticks(range(len(judges)), named if axes is panels[0] else numbers)
            axes.tick_params(length=0, labelsize=8)
            axes.grid(visible=False)
            for side in axes.spines.values():
                side.set_visible(False)
        bar = figure.colorbar(image, ax=list(panels), shrink=0.9, pad=0.01)
        bar.set_label("Spearman of widths")
        _title(
            figure, f"Spearman of two judges' set widths, mean ({method}, α = {pairs[0].alpha:g})"
        )
    return figure


def coverage_figure(result: ScoreDiagnosis) -> Figure:
    """Coverage against alpha, one panel per criterion; bands span the judges."""
    criteria = unique(g.criterion for g in result.groups)
    methods = unique(g.method for g in result.groups)
    levels = sorted({g.alpha for g in result.groups})
    with themed():
        figure = new_figure(max(6.0, 2.6 * len(criteria)), 3.7)
        panels = figure.subplots(1, len(criteria), sharey=True, squeeze=False)[0]
        for axes, criterion in zip(panels, criteria, strict=True):
            for method in methods:
                lines = [
                    [
                        100 * g.coverage
                        for g in result.groups
                        if (g.criterion, g.method, g.alpha) == (criterion, method, level)
                    ]
                    for level in levels
                ]
                if not all(lines):
                    continue
                colour = _COLOURS[str(method)]
                axes.plot(levels, [np.mean(line) for line in lines], color=colour, marker="o", ms=4)
                axes.fill_between(
                    levels,
                    [min(line) for line in lines],
                    [max(line) for line in lines],
                    color=colour,
                    alpha=0.13,
                    linewidth=0,
                )
            axes.plot(
                levels, [100 * (1 - level) for level in levels], color=INK, linestyle="--", lw=1.3
            )
            axes.set_title(axis_name(criterion), fontsize=10)
            axes.set_xticks(levels, [f"{level:g}" for level in levels])
            axes.set_xlabel("alpha")
        panels[0].set_ylabel("coverage on held-out documents, %")
        panels[0].set_ylim(top=100.8)
        _title(figure, _coverage_title(result))
        _method_legend(figure, methods, extra="band: across judges", promise=True)
    return figure


def _shortfall(group: ScoreSetGroup) -> float:
    """How far coverage is below 1 - alpha; 0 where only rounding is between them."""
    return max(0.0, round(1 - group.alpha - group.coverage, 9))


def _coverage_title(result: ScoreDiagnosis) -> str:
    """A quantile shared by several criteria promises nothing for one of them: it does not count."""
    cells = [g for g in result.groups if g.method != "constant" or result.main_method == "constant"]
    short = [gap for gap in map(_shortfall, cells) if gap]
    if not short:
        return f"Coverage is at least 1 − alpha in all {len(cells)} cells"
    where = f"{len(short)} of {len(cells)} cells, by at most {100 * max(short):.1f} points"
    return f"Coverage is below 1 − alpha in {where}"


def _compared(result: ScoreDiagnosis) -> list[str]:
    adaptive = any(g.method == "adaptive" for g in result.groups)
    return [result.main_method, *(["adaptive"] if adaptive else [])]


def _title(figure: Figure, text: str) -> None:
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, fontweight="bold")


def _method_legend(
    figure: Figure, methods: Sequence[str | None], *, extra: str, promise: bool = False
) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=_COLOURS[str(method)], marker="o", ms=5, label=str(method))
        for method in methods
    ]
    if promise:
        marks.append(Line2D([], [], color=INK, linestyle="--", linewidth=1.3, label="1 − alpha"))
    marks.append(Line2D([], [], linestyle="", label=extra))
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8.5)


def _trust_map() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("trust", ["#8fc7a8", "#f4efe1", "#eda383"])


def _agree_map() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("agree", ["#9ab7d9", "#f7f7f7", "#eda383"])
