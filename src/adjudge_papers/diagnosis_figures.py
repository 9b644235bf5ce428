"""Every picture of the diagnosis paper on our data, by name, with its caption."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjudge.diagnosis.scores.result import size_map, width_matrices
from adjudge.diagnosis.transitivity import cycles_figure
from adjudge.errors import ArgumentError
from adjudge.present.figure import (
    ACCENT,
    INK,
    axis_name,
    criterion_panels,
    draw_interval,
    draw_legend,
    draw_promise,
    legend_mark,
    plot_band,
    set_suptitle,
    themed,
    unique,
)
from adjudge.present.text import number, signed
from adjudge_papers.diagnosis_data import MAIN_ALPHA
from adjudge_papers.diagnosis_sets import SCALE, SetCell, p_text
from adjudge_papers.reproduction import Pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.diagnosis import DiagnosisReproduction

_SCORES = SCALE[1]


def figure_2(result: DiagnosisReproduction) -> Drawing:
    """Violins of the rate per document by judge and criterion."""
    return cycles_figure(result.transitivity)


def _cells(result: DiagnosisReproduction) -> list[SetCell]:
    return [cell for cell in result.sets if cell.data == result.pictured]


def _paper(value: float | None, form: str) -> str:
    return "" if value is None else f" (paper {value:{form}})"


def figure_3(result: DiagnosisReproduction) -> Drawing:
    """Heat map of mean set size, judge by criterion, coverage below it, and the paper's size."""
    cells = [cell for cell in _cells(result) if cell.alpha == MAIN_ALPHA]
    title = f"{result.pictured}: sets for 90 % coverage"
    return size_map(
        cells,
        title,
        whole=_SCORES,
        room=(3.1, 1.35, 0.66),
        note=lambda cell: _paper(cell.published_size, ".2f"),
    )


@themed()
def figure_4(result: DiagnosisReproduction) -> Drawing:
    """Mean error at each width, all judges together, one panel per criterion."""
    pooled = [part for part in result.pooled if part.data == result.pictured]
    parts = [part for part in pooled if part.criterion is not None]
    [whole] = [part for part in pooled if part.criterion is None]
    figure, panels = criterion_panels([part.criterion for part in parts])
    ticks = range(1, _SCORES + 1)
    for axes, part in zip(panels, parts, strict=True):
        widths, errors = [b.width for b in part.bins], [b.mean_error for b in part.bins]
        axes.plot(widths, errors, color=ACCENT, linewidth=1.4, marker="o", ms=5, zorder=3)
        for entry in part.bins:
            style = {"color": ACCENT, "linewidth": 1.2}
            draw_interval(axes, entry.width, entry.interval, scale=1, vertical=True, **style)
        name = f"{axis_name(part.criterion)}{_paper(part.published, '+z.2f')}"
        rank = f"r = {signed(part.spearman, 2)}, {p_text(part.p_value)}"
        axes.set_title(f"{name}\n{rank}", fontsize=9)
        rows = {entry.width: number(entry.n) for entry in part.bins}
        axes.set_xticks(ticks, [f"{width}\n{rows.get(width, '')}" for width in ticks], fontsize=8.5)
        axes.set_xlim(0.5, _SCORES + 0.5)
        axes.set_xlabel("scores in the set, rows below", fontsize=8.5)
    panels[0].set_ylabel("mean |judge − human|, 95 % interval")
    top = max(entry.high or entry.mean_error for part in parts for entry in part.bins)
    panels[0].set_ylim(0, 1.06 * max(top, 0.1))
    rank = f"width against error {signed(whole.spearman, 2)} over all {whole.n:,} rows"
    set_suptitle(figure, f"{result.pictured}: {rank}{_paper(whole.published, '+z.3f')}")
    return figure


def figure_5(result: DiagnosisReproduction) -> Drawing:
    """Matrices of judges by judges, one per criterion."""
    pairs = [pair for pair in result.pairs if pair.data == result.pictured]
    if not pairs:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    title = f"{result.pictured}: Spearman of two judges' set widths, and the mean"
    return width_matrices(pairs, title)


@themed()
def figure_6(result: DiagnosisReproduction) -> Drawing:
    """Coverage against alpha; bands are one standard deviation over judges."""
    cells = sorted(_cells(result), key=lambda cell: cell.alpha)
    criteria = unique(cell.criterion for cell in _cells(result))
    levels = sorted({cell.alpha for cell in cells})
    figure, panels = criterion_panels(criteria)
    for axes, criterion in zip(panels, criteria, strict=True):
        coverage: dict[str, list[float]] = {}
        for cell in cells:
            if cell.criterion == criterion:
                coverage.setdefault(cell.judge, []).append(100 * cell.coverage)
        each = np.array([*coverage.values()])
        plot_band(axes, levels, each, ACCENT, "mean over judges")
        draw_promise(axes, levels)
    panels[0].set_ylabel("coverage of held-out rows, %")
    panels[0].set_ylim(top=100.8)
    short = sum(cell.margin < -1e-9 for cell in cells)
    where = f"below 1 − alpha in {short} of {len(cells)} cells"
    if not short:
        where = f"at least 1 − alpha in all {len(cells)} cells"
    set_suptitle(figure, f"{result.pictured}: coverage is {where}")
    marks = [
        legend_mark("mean over judges", color=ACCENT, marker="o", ms=5),
        legend_mark("one standard deviation", color=ACCENT, alpha=0.2, linewidth=7),
        legend_mark("1 − alpha", color=INK, linestyle="--", linewidth=1.3),
    ]
    draw_legend(figure, marks)
    return figure


PICTURES: Pictures = {
    "figure-02": (
        figure_2,
        "Each dot is a document; the bar is the mean rate that a transitive judge with noise shows "
        "on the same comparisons.",
    ),
    "figure-03": (
        figure_3,
        "Mean number of scores in a set and coverage on the other half of the rows (bold: below "
        "90 %).",
    ),
    "figure-04": (
        figure_4,
        "Mean error at each width with 95 % intervals over documents, all judges together.",
    ),
    "figure-05": (figure_5, "Spearman correlation of the widths that two judges give a row."),
    "figure-06": (
        figure_6,
        "Coverage by alpha, the mean over judges; bands are one standard deviation over them.",
    ),
}
