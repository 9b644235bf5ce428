"""Pictures of the SCOPE paper: its Figures 2 and 3, and its tables as dots; rings are the paper's.

Titles are computed from what a panel draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.present.figure import INK, MARKS, MUTED, SERIES, new_figure
from adjudge.present.text import clip, percent, span
from adjudge_papers.paper import Gallery, Row, contains, paper_tables, size_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.scope import ScopeReproduction

#: The paper's four sizes; every judge of that size has the colour and mark in every picture.
_SIZES = dict(zip((7.0, 14.0, 32.0, 70.0), zip(SERIES, MARKS, strict=True), strict=False))
_OTHERS = (SERIES[4], SERIES[5], SERIES[7], SERIES[6])
_METHOD_MARKS = {"vanilla": "X", "heuristic": "s", "naive": "^", "scope": "o"}
_ALPHA = 0.10
#: The paper's names of signals, in the order of its tables, with a colour each.
SIGNALS = {
    "single_order": ("predictive probability", SERIES[6]),
    "verbalized": ("verbalized confidence", SERIES[4]),
    "annotators": ("simulated annotators", SERIES[2]),
    "swap_vote": ("swap and vote, agreeing", SERIES[3]),
    "swap_vote_by_coin": ("swap and vote, coin", SERIES[1]),
    "preference_entropy": ("BPE", SERIES[0]),
}
_PAPER = ", paper"
_METRICS = {"ece": "ECE", "auroc": "AUROC", "auprc": "AUPRC"}
PICTURES = Gallery()


@PICTURES.add(
    "figure-02",
    "Figure 2: coverage of scope by alpha; rings are the paper's judges.",
    "curves",
)
def figure_2(result: ScopeReproduction) -> Drawing:
    """Coverage of scope against alpha: a panel for each data set, a line for each judge."""

    def draw(axes: Axes, dataset: str) -> str:
        at_main = []
        for name, colour, mark, rows in _lines(result, dataset, "curves"):
            alphas, coverage = ([row[field] for row in rows] for field in ("alpha", "coverage"))
            axes.plot(alphas, coverage, color=colour, marker=mark, markersize=5, label=name)
            at_main += [row["coverage"] for row in rows if row["alpha"] == _ALPHA]
        for row in _published("curves", dataset):
            _ring(axes, row["judge"], row["alpha"], row["coverage"])
        axes.set_ylim(-0.02, 1.04)
        axes.set_xticks(sorted({row["alpha"] for row in result.rows("curves")}))
        if not at_main:
            return "coverage"
        low, high = percent(min(at_main), 0), percent(max(at_main), 0)
        return f"{span(low, high)} accepted at alpha 0.1"

    return _panels(result, draw, "share of verdicts accepted")


@PICTURES.add(
    "figure-03",
    "Figure 3: below the dashed line the mean error share over splits is within alpha; the band is "
    "one standard deviation.",
    "curves",
)
def figure_3(result: ScopeReproduction) -> Drawing:
    """Error share of scope against alpha, a standard deviation to either side, below y = x."""

    def draw(axes: Axes, dataset: str) -> str:
        diagonal = [0, max(row["alpha"] for row in result.rows("curves")) * 1.08]
        axes.plot(diagonal, diagonal, "--", color=MUTED, lw=1.2, label="error share = alpha")
        within = []
        for name, colour, mark, rows in _lines(result, dataset, "curves"):
            alphas, risk, spread = (
                np.array([row[field] for row in rows]) for field in ("alpha", "risk", "risk_sd")
            )
            low, high = np.maximum(risk - spread, 0), risk + spread
            axes.fill_between(alphas, low, high, color=colour, alpha=0.09, linewidth=0)
            axes.plot(alphas, risk, color=colour, marker=mark, markersize=5, label=name)
            within += [row["within"] for row in rows]
        axes.fill_between([], [], color=MUTED, alpha=0.3, lw=0, label="± one standard deviation")
        axes.set_ylim(bottom=0)
        return f"{sum(within)} of {len(within)} means at or below alpha"

    return _panels(result, draw, "error share among accepted")


# --- what the pictures share -----------------------------------------------------------------


def _name(row: Row, several: bool) -> str:
    return f"{clip(row['judge'])}, {clip(row['dataset'])}" if several else clip(row["judge"])


def _panels(
    result: ScopeReproduction,
    draw: Callable[[Axes, str], str],
    y_label: str,
    x_label: str = "alpha: error level allowed",
) -> Drawing:
    """A panel for each data set, three in a row; `draw` returns what its title says."""
    datasets = [row["dataset"] for row in result.rows("sets")]
    across = min(3, len(datasets))
    down = -(-len(datasets) // across)
    figure = new_figure(max(7.2, 4.9 * across), 4.3 * down + 0.5)
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    for panel, dataset in zip(axes.flat, datasets, strict=False):
        panel.set_title(f"{clip(dataset)}\n{draw(panel, dataset)}")
        panel.set_xlabel(x_label)
    for panel in axes.flat[len(datasets) :]:
        panel.set_visible(False)
    for row in axes:
        row[0].set_ylabel(y_label)
    handles = {
        label: handle
        for panel in figure.axes
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    order = sorted(handles, key=lambda label: label.endswith(_PAPER))
    legend = [handles[label] for label in order]
    figure.legend(legend, order, loc="outside lower center", ncols=4, fontsize=9.5)
    return figure


def _lines(
    result: ScopeReproduction, dataset: str, table: str
) -> list[tuple[str, str, str, list[Row]]]:
    """Name, colour, mark and rows of every judge of a data set: one look in every panel."""
    looks: dict[str, tuple[str, str]] = {}
    for judge in dict.fromkeys(row["judge"] for row in result.rows(table)):
        look = _SIZES.get(size_of(judge) or 0.0)
        if look is None or look in looks.values():
            others = len(looks.keys())
            look = (_OTHERS[others % len(_OTHERS)], "vP*X<"[others % 5])
        looks[judge] = look
    rows = [row for row in result.rows(table) if row["dataset"] == dataset]
    return [
        (clip(judge), *looks[judge], [row for row in rows if row["judge"] == judge])
        for judge in looks
        if any(row["judge"] == judge for row in rows)
    ]


def _published(table: str, dataset: str) -> list[Row]:
    """The paper's numbers for this data set, of all its judges."""
    rows = paper_tables("scope")[table].published
    return [row for row in rows if contains(dataset, row["dataset"])]


def _ring(
    axes: Axes, judge: str, x: float | None, y: float | None, mark: str | None = None
) -> None:
    if x is None or y is None:
        return
    colour, usual = _SIZES.get(size_of(judge) or 0.0, (INK, "o"))
    edge: dict[str, Any] = {"mfc": "none", "mec": colour, "ms": 10, "mew": 1.7, "linestyle": "none"}
    axes.plot(x, y, mark or usual, zorder=5, label=judge + _PAPER, **edge)
