"""Pictures of the diagnosis paper, on the primitives that `diagnose` draws with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjudge.diagnosis.scores.figures import size_map, width_matrices
from adjudge.diagnosis.transitivity import cycles_figure
from adjudge.errors import ArgumentError
from adjudge.present.figure import (
    ACCENT,
    INK,
    axis_name,
    criterion_panels,
    draw_legend,
    draw_promise,
    legend_mark,
    plot_band,
    set_suptitle,
)
from adjudge.present.text import number, signed
from adjudge_papers.paper import Gallery, parts_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.diagnosis import DiagnosisReproduction

PICTURES = Gallery()


@PICTURES.add(
    "figure-02",
    "Each dot is a document; the bar is the mean rate that a transitive judge with noise shows "
    "on the same comparisons.",
    "cycles",
)
def figure_2(result: DiagnosisReproduction) -> Drawing:
    """Violins of the rate per document by judge and criterion."""
    return cycles_figure(result.transitivity)


@PICTURES.add(
    "figure-03",
    "Mean number of scores in a set and coverage on the other half of the rows (bold: below 90 %).",
    "signals",
)
def figure_3(result: DiagnosisReproduction) -> Drawing:
    """Heat map of mean set size, judge by criterion, coverage below it."""
    cells = parts_of({**row, "alpha": 0.1} for row in result.rows("signals"))
    title = f"{result.short_data('signals')}: sets for 90 % coverage"
    return size_map(cells, title, whole=5, room=(3.1, 1.35, 0.66), note=lambda cell: "")


@PICTURES.add(
    "figure-04",
    "Mean error at each width with 95 % intervals over documents, all judges together.",
    "pooled",
)
def figure_4(result: DiagnosisReproduction) -> Drawing:
    """Mean error at each width, all judges together, one panel per criterion."""
    pooled = {row["criterion"]: row for row in result.rows("pooled")}
    whole = pooled.pop("all")
    figure, panels = criterion_panels(list(pooled))
    top = 0.1
    for axes, (criterion, panel) in zip(panels, pooled.items(), strict=True):
        bins = result.rows("bins", criterion=criterion)
        widths, errors = ([row[name] for row in bins] for name in ("width", "mean_error"))
        axes.plot(widths, errors, color=ACCENT, linewidth=1.4, marker="o", ms=5, zorder=3)
        for row in bins:
            ends = [row["mean_error_low"], row["mean_error_high"]]
            if None not in ends:
                axes.plot([row["width"]] * 2, ends, color=ACCENT, linewidth=1.2)
            top = max(top, row["mean_error_high"] or row["mean_error"])
        rank = f"r = {signed(panel['spearman'], 2)}"
        axes.set_title(f"{axis_name(criterion)}\n{rank}", fontsize=9)
        rows = {row["width"]: number(row["n"]) for row in bins}
        ticks = range(1, 6)
        axes.set_xticks(ticks, [f"{width}\n{rows.get(width, '')}" for width in ticks], fontsize=8.5)
        axes.set_xlim(0.5, 5.5)
        axes.set_xlabel("scores in the set, rows below", fontsize=8.5)
    panels[0].set_ylabel("mean |judge − human|, 95 % interval")
    panels[0].set_ylim(0, 1.06 * top)
    rank = f"width against error {signed(whole['spearman'], 2)} over all {whole['n']:,} rows"
    set_suptitle(figure, f"{result.short_data('pooled')}: {rank}")
    return figure


@PICTURES.add(
    "figure-05", "Spearman correlation of the widths that two judges give a row.", "agreement"
)
def figure_5(result: DiagnosisReproduction) -> Drawing:
    """Matrices of judges by judges, one per criterion."""
    pairs = result.rows("agreement")
    if not pairs:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    title = f"{result.short_data('agreement')}: Spearman of two judges' set widths, and the mean"
    return width_matrices(parts_of(pairs), title)


@PICTURES.add(
    "figure-06",
    "Coverage by alpha, the mean over judges; bands are one standard deviation over them.",
    "sets",
)
def figure_6(result: DiagnosisReproduction) -> Drawing:
    """Coverage against alpha; bands are one standard deviation over judges."""
    cells = sorted(result.rows("sets"), key=lambda row: row["alpha"])
    criteria = list(dict.fromkeys(row["criterion"] for row in result.rows("sets")))
    levels = sorted({row["alpha"] for row in cells})
    figure, panels = criterion_panels(criteria)
    for axes, criterion in zip(panels, criteria, strict=True):
        coverage: dict[str, list[float]] = {}
        for row in cells:
            if row["criterion"] == criterion:
                coverage.setdefault(row["judge"], []).append(100 * row["coverage"])
        plot_band(axes, levels, np.array([*coverage.values()]), ACCENT, "mean over judges")
        draw_promise(axes, levels)
    panels[0].set_ylabel("coverage of held-out rows, %")
    panels[0].set_ylim(top=100.8)
    short = sum(row["margin"] < -1e-9 for row in cells)
    where = f"below 1 − alpha in {short} of {len(cells)} cells"
    if not short:
        where = f"at least 1 − alpha in all {len(cells)} cells"
    set_suptitle(figure, f"{result.short_data('sets')}: coverage is {where}")
    marks = [
        legend_mark("mean over judges", color=ACCENT, marker="o", ms=5),
        legend_mark("one standard deviation", color=ACCENT, alpha=0.2, linewidth=7),
        legend_mark("1 − alpha", color=INK, linestyle="--", linewidth=1.3),
    ]
    draw_legend(figure, marks)
    return figure
