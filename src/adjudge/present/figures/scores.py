"""Pictures of score sets: size, width where the judge errs, widths of two judges, coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.figures._panels import (
    CENTRED,
    SMALL_TO_LARGE,
    criterion_panels,
    draw_cells,
    draw_promise,
    plot_band,
    write_cell,
)
from adjudge.present.figures.diagnosis import axis_name, axis_names, unique
from adjudge.present.text import percent, signed, span
from adjudge.present.theme import (
    ACCENT,
    GRID,
    INK,
    MARKS,
    MUTED,
    ON_TINT,
    SERIES,
    WARM,
    new_figure,
    set_suptitle,
    themed,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.results.diagnosis import ScoreDiagnosis, ScoreSetGroup

_COLOURS = {
    "learned": ACCENT,
    "constant": MUTED,
    "per-criterion": SERIES[7],
    "per-group": SERIES[2],
    "adaptive": WARM,
    "cross-fitted": SERIES[4],
}
_MARKS = dict(zip(_COLOURS, MARKS, strict=False))
_APART_TO_ALIKE = ("#9ab7d9", "#f7f7f7", "#eda383")


def sizes_figure(result: ScoreDiagnosis) -> Drawing:
    """Heat map of mean set size, judge by criterion, coverage below it."""
    key = result.main_method, result.main_alpha
    groups = [g for g in result.groups if (g.method, g.alpha) == key]
    return size_map(
        [
            SizeCell(
                g.judge,
                g.criterion,
                g.mean_size,
                f"{g.mean_size:.2f}",
                g.coverage,
                bool(_shortfall(g)),
            )
            for g in groups
        ],
        f"{result.sets.capitalize()} sets for {percent(1 - result.main_alpha)} coverage",
        whole=result.scale[1] - result.scale[0] + 1,
        room=(2.9, 1.25, 0.62),
    )


@dataclass(frozen=True, slots=True)
class SizeCell:
    """Mean set size of a judge and criterion, as it is written, and the coverage below it."""

    judge: str | None
    criterion: str | None
    mean_size: float
    written: str
    coverage: float
    bold: bool


def size_map(
    cells: Sequence[SizeCell], what: str, *, whole: int, room: tuple[float, float, float]
) -> Drawing:
    """Heat map of `cells`; `room`: width of the margins and of a criterion, height of a judge."""
    judges, criteria = unique(c.judge for c in cells), unique(c.criterion for c in cells)
    margins, wide, high = room
    with themed():
        figure = new_figure(margins + wide * len(criteria), 1.9 + high * len(judges))
        axes = figure.subplots()
        grid = np.full((len(judges), len(criteria)), np.nan)
        for c in cells:
            row, column = judges.index(c.judge), criteria.index(c.criterion)
            grid[row, column] = c.mean_size
            write_cell(axes, column, row, c.written, f"covers {percent(c.coverage)}", bold=c.bold)
        image = draw_cells(axes, grid, SMALL_TO_LARGE, (1, whole), aspect="auto")
        axes.set_xticks(range(len(criteria)), [axis_name(c) for c in criteria])
        axes.set_yticks(range(len(judges)), axis_names(judges).values())
        bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=14)
        bar.set_label(f"mean size, of {whole} scores")
        bar.outline.set_visible(False)
        sizes = [c.mean_size for c in cells]
        shown = span(f"{min(sizes):.1f}", f"{max(sizes):.1f}")
        set_suptitle(figure, f"{what} have {shown} of {whole} scores")
    return figure


def width_figure(result: ScoreDiagnosis, methods: Sequence[str]) -> Drawing:
    """Mean error at each set width, one panel per criterion, one line per method."""
    groups = [g for g in result.groups if g.alpha == result.main_alpha]
    whole = result.scale[1] - result.scale[0] + 1
    within = {p.method: p.within for p in result.pooled if p.alpha == result.main_alpha}
    with themed():
        criteria = unique(g.criterion for g in groups)
        figure, panels = criterion_panels(criteria)
        for axes, criterion in zip(panels, criteria, strict=True):
            for method in methods:
                own = [g for g in groups if g.criterion == criterion and g.method == method]
                _draw_widths(axes, own, method)
            axes.set_xticks(range(1, whole + 1))
            axes.set_xlim(0.6, whole + 0.4)
            axes.set_xlabel("scores in the set (larger: more rows)", fontsize=8.5)
        panels[0].set_ylabel("mean |judge − human|")
        panels[0].set_ylim(bottom=0)
        values = ", ".join(f"{method} {signed(within.get(method), 2)}" for method in methods)
        set_suptitle(figure, f"Width against error within a criterion (Spearman): {values}")
        judges = {g.judge for g in groups}
        dots = {"label": "small dots: one judge", "marker": "o", "ms": 3, "linestyle": ""}
        _legend(figure, methods, extra=dots if len(judges) > 1 else None)
    return figure


def _draw_widths(axes: Axes, groups: Sequence[ScoreSetGroup], method: str) -> None:
    colour = _COLOURS[method]
    entries = [entry for g in groups for entry in g.by_width]
    for entry in entries:
        axes.scatter(entry.width, entry.mean_error, s=8, color=colour, alpha=0.35, linewidth=0)
    widths = sorted({entry.width for entry in entries})
    own = [[entry for entry in entries if entry.width == width] for width in widths]
    rows = [sum(entry.n for entry in part) for part in own]
    errors = [
        sum(entry.n * entry.mean_error for entry in part) / n
        for part, n in zip(own, rows, strict=True)
    ]
    axes.plot(widths, errors, color=colour, linewidth=1.4, zorder=3)
    dots = [18 + 90 * n / max(rows) for n in rows]
    axes.scatter(widths, errors, s=dots, color=colour, marker=_MARKS[method], zorder=4, linewidth=0)


def agreement_figure(result: ScoreDiagnosis, methods: Sequence[str]) -> Drawing:
    """Spearman of set widths between judges, one matrix per criterion; of the last method."""
    there = {a.method for a in result.agreement}
    drawn = [method for method in methods if method in there]
    if not drawn:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    pairs = [a for a in result.agreement if a.method == drawn[-1]]
    about = f"({drawn[-1]}, α = {pairs[0].alpha:g})"
    return width_matrices(pairs, f"Spearman of two judges' set widths, mean {about}")


class WidthCorrelation(Protocol):
    """Spearman correlation of two judges' set widths on one criterion."""

    @property
    def judge_a(self) -> str: ...
    @property
    def judge_b(self) -> str: ...
    @property
    def criterion(self) -> str | None: ...
    @property
    def spearman(self) -> float | None: ...


def width_matrices(pairs: Sequence[WidthCorrelation], title: str) -> Drawing:
    """A matrix of judges by judges for each criterion, its mean in the title of its panel."""
    criteria = unique(a.criterion for a in pairs)
    judges = unique(name for a in pairs for name in (a.judge_a, a.judge_b))
    names = list(axis_names(judges).values())
    with themed():
        panel = max(1.9, 0.55 * len(judges))
        figure = new_figure(3.2 + panel * len(criteria), 1.9 + panel)
        panels = figure.subplots(1, len(criteria), squeeze=False)[0]
        for axes, criterion in zip(panels, criteria, strict=True):
            grid = np.full((len(judges), len(judges)), np.nan)
            for a in pairs:
                if a.criterion == criterion and a.spearman is not None:
                    i, j = judges.index(a.judge_a), judges.index(a.judge_b)
                    grid[i, j] = grid[j, i] = a.spearman
            known = grid[~np.isnan(grid)]
            mean = f" {signed(known.mean(), 2)}" if len(known) else "\nwidths do not vary"
            for i, j in np.ndindex(*grid.shape):
                value = None if np.isnan(grid[i, j]) else float(grid[i, j])
                colour = INK if value is None else ON_TINT
                axes.text(j, i, "" if i == j else signed(value, 2), color=colour, size=8, **CENTRED)
            np.fill_diagonal(grid, 1.0)
            image = draw_cells(axes, grid, _APART_TO_ALIKE, (-1, 1))
            axes.set_facecolor(GRID)  # shows where there is no correlation
            axes.set_title(f"{axis_name(criterion)}:{mean}", fontsize=10)
            axes.set_xticks(range(len(judges)), names, rotation=40, ha="right")
            axes.set_yticks(range(len(judges)), names if axes is panels[0] else [])
            axes.tick_params(labelsize=8)
        bar = figure.colorbar(image, ax=list(panels), shrink=0.9, pad=0.01)
        bar.set_label("Spearman of widths")
        set_suptitle(figure, title)
    return figure


def coverage_figure(result: ScoreDiagnosis) -> Drawing:
    """Coverage against alpha, one panel per criterion; bands are one standard deviation."""
    methods = list(dict.fromkeys(g.method for g in result.groups))
    levels = sorted({g.alpha for g in result.groups})
    with themed():
        criteria = unique(g.criterion for g in result.groups)
        figure, panels = criterion_panels(criteria)
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
                if len({*map(len, lines)}) == 1 and lines[0]:
                    plot_band(axes, levels, np.array(lines).T, _COLOURS[method], method,
                              _MARKS[method])  # fmt: skip
            draw_promise(axes, levels)
        panels[0].set_ylabel("coverage on held-out documents, %")
        panels[0].set_ylim(top=100.8)
        set_suptitle(figure, _coverage_title(result))
        judges = {g.judge for g in result.groups}
        band = {"label": "band: one standard deviation over judges", "linewidth": 7}
        _legend(figure, methods, extra=band if len(judges) > 1 else None, promise=True)
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


def _shortfall(group: ScoreSetGroup) -> float:
    """How far coverage is below 1 - alpha; 0 if the difference is only rounding."""
    return max(0.0, round(1 - group.alpha - group.coverage, 9))


def _legend(
    figure: Drawing,
    methods: Sequence[str],
    *,
    extra: Mapping[str, Any] | None,
    promise: bool = False,
) -> None:
    """A mark for each method, for 1 - alpha if it is drawn, and for pale lines."""
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], color=_COLOURS[m], marker=_MARKS[m], ms=5, label=m) for m in methods]
    if promise:
        marks.append(Line2D([], [], color=INK, linestyle="--", linewidth=1.3, label="1 − alpha"))
    if extra is not None:
        marks.append(Line2D([], [], color=INK, alpha=0.3, **extra))
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8.5)
