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
    draw_promise,
    plot_band,
    set_suptitle,
    themed,
    unique,
)
from adjudge.present.text import number, signed
from adjudge_papers.reproduction import Pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.diagnosis import DiagnosisReproduction
    from adjudge_papers.diagnosis_sets import PooledErrors, SetCell

_SCORES = 5
_MAIN = 0.1


def p_text(value: float | None) -> str:
    """A p-value as papers print it.

    >>> p_text(0.0312), p_text(1e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    if value is None:
        return "p unknown"
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def figure_2(result: DiagnosisReproduction) -> Drawing:
    """Violins of the rate per document by judge and criterion."""
    return cycles_figure(result.transitivity)


def _cells(result: DiagnosisReproduction) -> list[SetCell]:
    return [cell for cell in result.sets if cell.data == result.pictured]


def figure_3(result: DiagnosisReproduction) -> Drawing:
    """Heat map of mean set size, judge by criterion, coverage below it, and the paper's size."""
    cells = [cell for cell in _cells(result) if cell.alpha == _MAIN]
    return size_map(
        cells,
        f"{result.pictured}: sets for 90 % coverage",
        whole=_SCORES,
        room=(3.1, 1.35, 0.66),
        note=lambda c: "" if c.published_size is None else f" (paper {c.published_size:.2f})",
    )


def figure_4(result: DiagnosisReproduction) -> Drawing:
    """Mean error at each width, all judges together, one panel per criterion."""
    pooled = [part for part in result.pooled if part.data == result.pictured]
    parts = [part for part in pooled if part.criterion is not None]
    [whole] = [part for part in pooled if part.criterion is None]
    with themed():
        figure, panels = criterion_panels([part.criterion for part in parts])
        for axes, part in zip(panels, parts, strict=True):
            _reliability(axes, part)
        panels[0].set_ylabel("mean |judge − human|, 95 % interval")
        top = max(entry.high or entry.mean_error for part in parts for entry in part.bins)
        panels[0].set_ylim(0, 1.06 * max(top, 0.1))
        paper = "" if whole.published is None else f" (paper {signed(whole.published, 3)})"
        set_suptitle(
            figure,
            f"{result.pictured}: width against error {signed(whole.spearman, 2)} over all "
            f"{whole.n:,} rows{paper}",
        )
    return figure


def _reliability(axes: Axes, part: PooledErrors) -> None:
    widths = [entry.width for entry in part.bins]
    errors = [entry.mean_error for entry in part.bins]
    axes.plot(widths, errors, color=ACCENT, linewidth=1.4, marker="o", ms=5, zorder=3)
    for entry in part.bins:
        if entry.low is not None and entry.high is not None:
            axes.plot([entry.width] * 2, [entry.low, entry.high], color=ACCENT, linewidth=1.2)
    paper = "" if part.published is None else f" (paper {signed(part.published, 2)})"
    axes.set_title(
        f"{axis_name(part.criterion)}{paper}\nr = {signed(part.spearman, 2)}, "
        f"{p_text(part.p_value)}",
        fontsize=9,
    )
    rows = {entry.width: number(entry.n) for entry in part.bins}
    ticks = range(1, _SCORES + 1)
    axes.set_xticks(ticks, [f"{width}\n{rows.get(width, '')}" for width in ticks], fontsize=8.5)
    axes.set_xlim(0.5, _SCORES + 0.5)
    axes.set_xlabel("scores in the set, rows below", fontsize=8.5)


def figure_5(result: DiagnosisReproduction) -> Drawing:
    """Matrices of judges by judges, one per criterion."""
    pairs = [pair for pair in result.pairs if pair.data == result.pictured]
    if not pairs:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    return width_matrices(
        pairs, f"{result.pictured}: Spearman of two judges' set widths, and the mean"
    )


def figure_6(result: DiagnosisReproduction) -> Drawing:
    """Coverage against alpha; bands are one standard deviation over judges."""
    cells = _cells(result)
    criteria, levels = unique(c.criterion for c in cells), sorted({c.alpha for c in cells})
    with themed():
        figure, panels = criterion_panels(criteria)
        for axes, criterion in zip(panels, criteria, strict=True):
            own = [cell for cell in cells if cell.criterion == criterion]
            each = [
                [100 * c.coverage for c in sorted(own, key=lambda c: c.alpha) if c.judge == judge]
                for judge in unique(c.judge for c in own)
            ]
            plot_band(axes, levels, np.array(each), ACCENT, "mean over judges")
            draw_promise(axes, levels)
        panels[0].set_ylabel("coverage of held-out rows, %")
        panels[0].set_ylim(top=100.8)
        short = sum(cell.coverage < 1 - cell.alpha - 1e-9 for cell in cells)
        where = f"below 1 − alpha in {short} of {len(cells)} cells"
        if not short:
            where = f"at least 1 − alpha in all {len(cells)} cells"
        set_suptitle(figure, f"{result.pictured}: coverage is {where}")
        _coverage_legend(figure)
    return figure


def _coverage_legend(figure: Drawing) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=ACCENT, marker="o", ms=5, label="mean over judges"),
        Line2D([], [], color=ACCENT, alpha=0.2, linewidth=7, label="one standard deviation"),
        Line2D([], [], color=INK, linestyle="--", linewidth=1.3, label="1 − alpha"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, fontsize=8.5)


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
