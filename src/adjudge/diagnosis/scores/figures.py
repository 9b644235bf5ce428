"""The pictures of the diagnosis of scores: sizes, coverage, width against error, agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present import figure as theme
from adjudge.present.text import percent, signed, span
from adjudge.statistics.numbers import mean_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.diagnosis.scores.result import ScoreDiagnosis, ScoreSetGroup

_COLOURS = {
    "learned": theme.ACCENT,
    "constant": theme.MUTED,
    "per-criterion": theme.SERIES[7],
    "per-group": theme.SERIES[2],
    "adaptive": theme.WARM,
    "cross-fitted": theme.SERIES[4],
}
_MARKS = dict(zip(_COLOURS, theme.MARKS, strict=False))
_APART_TO_ALIKE = ("#9ab7d9", "#f7f7f7", "#eda383")


def sizes_figure(result: ScoreDiagnosis) -> Drawing:
    """Heat map of mean set size, judge by criterion, coverage below it."""
    sets = f"{result.sets.capitalize()} sets for {percent(1 - result.main_alpha)} coverage"
    return size_map(result.main_groups, sets, whole=result.size, room=(2.9, 1.25, 0.62))


def size_map(
    cells: Sequence[Any],
    sets: str,
    *,
    whole: int,
    room: tuple[float, float, float],
    note: Callable[[Any], str] = lambda cell: "",
) -> Drawing:
    """Heat map of the mean set size of judges and criteria, and the coverage below it.

    A cell has judge, criterion, alpha, mean_size and coverage; `note` is written after its size.
    `room`: width of the margins and of a criterion, height of a judge.
    """
    judges = theme.unique(c.judge for c in cells)
    criteria = theme.unique(c.criterion for c in cells)
    if not criteria:
        raise ArgumentError("figure", "sizes", "there are no sets to draw")
    margins, wide, high = room
    with theme.themed():
        figure = theme.new_figure(margins + wide * len(criteria), 1.9 + high * len(judges))
        axes = figure.subplots()
        grid = np.full((len(judges), len(criteria)), np.nan)
        for c in cells:
            row = judges.index(c.judge)
            column = criteria.index(c.criterion)
            grid[row, column] = c.mean_size
            size = f"{c.mean_size:.2f}{note(c)}"
            covers = f"covers {percent(c.coverage)}"
            theme.write_cell(axes, column, row, size, covers, bold=_shortfall(c) > 0)
        image = theme.draw_cells(axes, grid, theme.SMALL_TO_LARGE, (1, whole), aspect="auto")
        axes.set_xticks(range(len(criteria)), [theme.axis_name(c) for c in criteria])
        axes.set_yticks(range(len(judges)), theme.axis_names(judges).values())
        bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=14)
        bar.set_label(f"mean size, of {whole} scores")
        bar.outline.set_visible(False)
        sizes = [c.mean_size for c in cells]
        shown = span(f"{min(sizes):.1f}", f"{max(sizes):.1f}")
        theme.set_suptitle(figure, f"{sets} have {shown} of {whole} scores")
    return figure


def width_figure(result: ScoreDiagnosis) -> Drawing:
    """Mean error at each set width, one panel per criterion, one line per method."""
    methods = result.methods
    groups = [g for g in result.groups if g.alpha == result.main_alpha]
    with theme.themed():
        criteria = theme.unique(g.criterion for g in groups)
        figure, panels = theme.criterion_panels(criteria)
        for axes, criterion in zip(panels, criteria, strict=True):
            for method in methods:
                among = [g for g in groups if g.criterion == criterion and g.method == method]
                _draw_widths(axes, among, method)
            axes.set_xticks(range(1, result.size + 1))
            axes.set_xlim(0.6, result.size + 0.4)
            axes.set_xlabel("scores in the set (larger: more rows)", fontsize=8.5)
        panels[0].set_ylabel("mean |judge − human|")
        panels[0].set_ylim(bottom=0)
        within = {m: mean_known(g.spearman for g in groups if g.method == m) for m in methods}
        values = ", ".join(f"{method} {signed(value, 2)}" for method, value in within.items())
        theme.set_suptitle(figure, f"Width against error within a criterion (Spearman): {values}")
        judges = {g.judge for g in groups}
        dots = {"label": "small dots: one judge", "marker": "o", "ms": 3, "linestyle": ""}
        _draw_methods_legend(figure, methods, extra=dots if len(judges) > 1 else None)
    return figure


def _draw_widths(axes: Axes, groups: Sequence[ScoreSetGroup], method: str) -> None:
    colour = _COLOURS[method]
    entries = [entry for g in groups for entry in g.by_width]
    for entry in entries:
        axes.scatter(entry.width, entry.mean_error, s=8, color=colour, alpha=0.35, linewidth=0)
    widths, at = np.unique([entry.width for entry in entries], return_inverse=True)
    rows = np.bincount(at, [entry.n for entry in entries])
    errors = np.bincount(at, [entry.n * entry.mean_error for entry in entries]) / rows
    axes.plot(widths, errors, color=colour, linewidth=1.4, zorder=3)
    dots = 18 + 90 * rows / rows.max(initial=1)
    axes.scatter(widths, errors, s=dots, color=colour, marker=_MARKS[method], zorder=4, linewidth=0)


def agreement_figure(result: ScoreDiagnosis) -> Drawing:
    """Spearman of set widths between judges, one matrix per criterion; of the main method."""
    there = {a.method for a in result.agreement}
    method = next(name for name in result.methods if name in there)
    pairs = [a for a in result.agreement if a.method == method]
    about = f"({method}, α = {pairs[0].alpha:g})"
    return width_matrices(pairs, f"Spearman of two judges' set widths, mean {about}")


def width_matrices(pairs: Sequence[Any], title: str) -> Drawing:
    """A matrix of judges by judges for each criterion, its mean in the title of its panel.

    A pair has judge_a, judge_b, criterion and spearman.
    """
    criteria = theme.unique(a.criterion for a in pairs)
    judges = theme.unique(name for a in pairs for name in (a.judge_a, a.judge_b))
    names = list(theme.axis_names(judges).values())
    with theme.themed():
        panel = max(1.9, 0.55 * len(judges))
        figure = theme.new_figure(3.2 + panel * len(criteria), 1.9 + panel)
        panels = figure.subplots(1, len(criteria), squeeze=False)[0]
        for axes, criterion in zip(panels, criteria, strict=True):
            grid = np.full((len(judges), len(judges)), np.nan)
            for a in pairs:
                if a.criterion == criterion and a.spearman is not None:
                    i = judges.index(a.judge_a)
                    j = judges.index(a.judge_b)
                    grid[i, j] = grid[j, i] = a.spearman
            values = grid[~np.isnan(grid)]
            mean = f" {signed(values.mean(), 2)}" if len(values) else "\nwidths do not vary"
            for i, j in np.ndindex(*grid.shape):
                value = None if np.isnan(grid[i, j]) else float(grid[i, j])
                colour = theme.INK if value is None else theme.ON_TINT
                axes.text(
                    j, i, "" if i == j else signed(value, 2), color=colour, size=8, **theme.CENTRED
                )
            np.fill_diagonal(grid, 1.0)
            image = theme.draw_cells(axes, grid, _APART_TO_ALIKE, (-1, 1))
            axes.set_facecolor(theme.GRID)  # shows where there is no correlation
            axes.set_title(f"{theme.axis_name(criterion)}:{mean}", fontsize=10)
            axes.set_xticks(range(len(judges)), names, rotation=40, ha="right")
            axes.set_yticks(range(len(judges)), names if axes is panels[0] else [])
            axes.tick_params(labelsize=8)
        bar = figure.colorbar(image, ax=list(panels), shrink=0.9, pad=0.01)
        bar.set_label("Spearman of widths")
        theme.set_suptitle(figure, title)
    return figure


def coverage_figure(result: ScoreDiagnosis) -> Drawing:
    """Coverage against alpha, one panel per criterion; bands are one standard deviation."""
    methods = list(dict.fromkeys(g.method for g in result.groups))
    levels = sorted({g.alpha for g in result.groups})
    with theme.themed():
        criteria = theme.unique(g.criterion for g in result.groups)
        figure, panels = theme.criterion_panels(criteria)
        for axes, criterion in zip(panels, criteria, strict=True):
            for method in methods:
                cells = [g for g in result.groups if (g.criterion, g.method) == (criterion, method)]
                lines = [[100 * g.coverage for g in cells if g.alpha == alpha] for alpha in levels]
                if len({*map(len, lines)}) == 1 and lines[0]:
                    theme.plot_band(axes, levels, np.array(lines).T, _COLOURS[method], method,
                              _MARKS[method])  # fmt: skip
            theme.draw_promise(axes, levels)
        panels[0].set_ylabel(f"coverage on held-out {result.unit}s, %")
        panels[0].set_ylim(top=100.8)
        theme.set_suptitle(figure, _coverage_title(result))
        judges = {g.judge for g in result.groups}
        band = {"label": "band: one standard deviation over judges", "linewidth": 7}
        _draw_methods_legend(figure, methods, extra=band if len(judges) > 1 else None, promise=True)
    return figure


def _coverage_title(result: ScoreDiagnosis) -> str:
    """A quantile shared by several criteria has no guarantee for one of them: it comes last."""
    shared = [g for g in result.groups if g.method == "constant" != result.main_method]
    cells = [g for g in result.groups if g not in shared]
    short = [gap for gap in map(_shortfall, cells) if gap]
    if short:
        where = f"{len(short)} of {len(cells)} cells, by at most {100 * max(short):.1f} points"
        title = f"Coverage is below 1 − alpha in {where}"
    else:
        title = f"Coverage is at least 1 − alpha in all {len(cells)} cells"
    below = sum(_shortfall(g) > 0 for g in shared)
    return f"{title}; constant: below in {below} of {len(shared)}" if below else title


def _shortfall(group: Any) -> float:
    """How far coverage is below 1 - alpha; 0 if the difference is only rounding."""
    return max(0.0, round(float(1 - group.alpha - group.coverage), 9))


def _draw_methods_legend(
    figure: Drawing,
    methods: Sequence[str],
    *,
    extra: Mapping[str, Any] | None,
    promise: bool = False,
) -> None:
    """A mark for each method, for 1 - alpha if it is drawn, and for pale lines."""
    marks = [theme.legend_mark(m, color=_COLOURS[m], marker=_MARKS[m], ms=5) for m in methods]
    if promise:
        marks.append(theme.legend_mark("1 − alpha", color=theme.INK, linestyle="--", linewidth=1.3))
    if extra is not None:
        marks.append(theme.legend_mark(color=theme.INK, alpha=0.3, **extra))
    theme.draw_legend(figure, marks)
