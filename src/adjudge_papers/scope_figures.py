"""Pictures of the SCOPE paper: its Figures 2 and 3, and its tables as dots; rings are the paper's.

Titles are computed from what a panel draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.present.figure import INK, MARKS, MUTED, SERIES, new_figure
from adjudge.present.text import clip, count, percent, span
from adjudge.selection.evaluating import JudgeKey
from adjudge_papers.reproduction import Gallery, contains, size_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.scope import PublishedRisk, ReproducedSet, ScopeReproduction

#: The paper's four sizes; every judge of that size has the colour and mark in every picture.
_SIZES = dict(zip((7.0, 14.0, 32.0, 70.0), zip(SERIES, MARKS, strict=True), strict=False))
_OTHERS = (SERIES[4], SERIES[5], SERIES[7], SERIES[6])
_METHOD_MARKS = {"vanilla": "X", "heuristic": "s", "naive": "^", "scope": "o"}
#: The alpha of the paper's Table 3, and the method that its figures show.
_ALPHA, _METHOD = 0.10, "scope"
#: The paper's names of signals, in the order of its tables, with a colour each.
SIGNALS = {
    "single_order": ("predictive probability", SERIES[6]),
    "verbalized": ("verbalized confidence", SERIES[4]),
    "annotators": ("simulated annotators", SERIES[2]),
    "swap_vote": ("swap and vote, agreeing", SERIES[3]),
    "swap_vote_by_coin": ("swap and vote, coin", SERIES[1]),
    "preference_entropy": ("BPE", SERIES[0]),
}
_PAPER, _LAST = ", paper", float("inf")
_METRICS = {"ece": "ECE", "auroc": "AUROC", "auprc": "AUPRC"}
PICTURES = Gallery()


@PICTURES.add(
    "figure-02",
    "Figure 2: coverage grows with alpha, and larger judges keep more; rings are the paper's.",
)
def figure_2(result: ScopeReproduction) -> Drawing:
    """Coverage of scope against alpha: a panel for each data set, a line for each judge."""

    def draw(axes: Axes, reproduced: ReproducedSet) -> str:
        at_main = []
        for key, colour, mark, name in _judges(result, reproduced):
            rows = reproduced.rows_of(_METHOD, key)
            coverage = {row.alpha: row.coverage for row in rows}
            style: dict[str, Any] = {
                "color": colour,
                "marker": mark,
                "markersize": 5,
                "label": name,
            }
            axes.plot([*coverage], [*coverage.values()], **style)
            at_main += [row.coverage for row in rows if row.alpha == _ALPHA]
        _rings(axes, result, reproduced, "coverage")
        axes.set_ylim(-0.02, 1.04)
        axes.set_xticks(reproduced.evaluation.alphas)
        if not at_main:
            return "coverage"
        ends = span(percent(min(at_main), 0), percent(max(at_main), 0))
        return f"{ends} accepted at alpha 0.1"

    return _panels(result, draw, "share of verdicts accepted")


@PICTURES.add(
    "figure-03",
    "Figure 3: below the dashed line the mean error share over splits is within alpha; the band is "
    "one standard deviation, rings are the paper's.",
)
def figure_3(result: ScopeReproduction) -> Drawing:
    """Error share of scope against alpha, a standard deviation to either side, below y = x."""

    def draw(axes: Axes, reproduced: ReproducedSet) -> str:
        diagonal = [0, max(reproduced.evaluation.alphas) * 1.08]
        axes.plot(diagonal, diagonal, "--", color=MUTED, lw=1.2, label="error share = alpha")
        within = []
        for key, colour, mark, name in _judges(result, reproduced):
            rows = reproduced.rows_of(_METHOD, key)
            alphas, risk = [row.alpha for row in rows], np.array([row.risk for row in rows])
            spread = np.array([row.risk_sd for row in rows])
            low, high = np.maximum(risk - spread, 0), risk + spread
            axes.fill_between(alphas, low, high, color=colour, alpha=0.09, linewidth=0)
            axes.plot(alphas, risk, color=colour, marker=mark, markersize=5, label=name)
            within += [row.within_alpha for row in rows]
        axes.fill_between([], [], color=MUTED, alpha=0.3, lw=0, label="± one standard deviation")
        _rings(axes, result, reproduced, "risk")
        axes.set_ylim(bottom=0)
        return f"{sum(within)} of {len(within)} means at or below alpha"

    return _panels(result, draw, "error share among accepted")


@PICTURES.add(
    "table-03",
    "Table 3: methods above the dashed line accept too many errors; rings are the paper's.",
)
def table_3(result: ScopeReproduction) -> Drawing:
    """Every method at alpha 0.10: what it accepts, and how much of that is wrong."""

    def draw(axes: Axes, reproduced: ReproducedSet) -> str:
        axes.axhline(_ALPHA, color=MUTED, linestyle="--", linewidth=1.2, label="alpha = 0.1")
        above: dict[str, int] = {}
        judges = _judges(result, reproduced)
        for key, colour, _, _ in judges:
            for method, mark in _METHOD_MARKS.items():
                for row in reproduced.rows_of(method, key):
                    if row.alpha == _ALPHA:
                        axes.plot(row.coverage, row.risk, mark, color=colour, markersize=8)
                        above[method] = above.get(method, 0) + (not row.within_alpha)
        for theirs in _published(result, reproduced):
            if theirs.alpha == _ALPHA:
                _ring(axes, theirs, theirs.coverage, theirs.risk, _METHOD_MARKS[theirs.method])
        for name, colour in {name: colour for _, colour, _, name in judges}.items():
            axes.plot([], [], "s", color=colour, markersize=8, label=name)
        for method, mark in _METHOD_MARKS.items():
            axes.plot([], [], mark, color=INK, markersize=7, label=method)
        axes.set_xlim(-0.03, 1.05)
        axes.set_ylim(bottom=0)
        exceeding = ", ".join(f"{method} {n}" for method, n in above.items() if n)
        return f"Means above alpha, {count(len(judges), 'judge')}:\n{exceeding or 'none'}"

    return _panels(
        result, draw, "error share among accepted", "share of verdicts accepted", high=4.4
    )


@PICTURES.add(
    "quality",
    "Tables 1 and 2: how good each signal is; the paper's numbers, which name no data, below.",
)
def quality_figure(result: ScopeReproduction) -> Drawing:
    """ECE, AUROC and AUPRC of every signal of every judge; the paper's below, as rings."""
    rows = [
        (
            f"{name}, {clip(reproduced.dataset)}" if len(result.datasets) > 1 else name,
            {
                quality.signal: quality
                for quality in reproduced.qualities
                if quality.judge == key[0]
            },
        )
        for reproduced in result.datasets
        for key, _, _, name in _judges(result, reproduced)
    ]
    papers = list(dict.fromkeys(theirs.judge for theirs in result.published_qualities))
    names = [*(name for name, _ in rows), *(judge + _PAPER for judge in papers)]
    marks = dict(zip(reversed(SIGNALS), MARKS, strict=False))
    figure = new_figure(13.0, 0.34 * len(names) + 1.9)
    panels = figure.subplots(1, len(_METRICS), sharey=True)
    for axes, (metric, title) in zip(panels, _METRICS.items(), strict=True):
        best = []
        for at, (_, qualities) in enumerate(rows):
            metrics = {signal: getattr(quality, metric) for signal, quality in qualities.items()}
            measured = {signal: value for signal, value in metrics.items() if value is not None}
            for signal, (_, colour) in SIGNALS.items():
                if signal in measured:
                    large = 8 if signal == "preference_entropy" else 6
                    axes.plot(
                        measured[signal], at, marks[signal], color=colour, ms=large, alpha=0.9
                    )
            if measured:
                extreme_of = min if metric == "ece" else max
                best.append(extreme_of(measured, key=measured.__getitem__))
        for theirs in result.published_qualities:
            value, at = getattr(theirs, metric), len(rows) + papers.index(theirs.judge)
            if value is not None:
                edge = {"mfc": "none", "mec": SIGNALS[theirs.signal][1], "ms": 8, "mew": 1.8}
                axes.plot(value, at, marks[theirs.signal], **edge)
        if papers:
            axes.axhline(len(rows) - 0.5, color=MUTED, linewidth=0.8)
        axes.locator_params(axis="x", nbins=5)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0, labelsize=9)
        extreme, better = ("lowest", "less") if metric == "ece" else ("highest", "more")
        won = best.count("preference_entropy")
        axes.set_title(f"{title}: BPE is {extreme} in {won} of {len(best)}")
        axes.set_xlabel(f"{title}, {better} is better")
    here = {s.signal for reproduced in result.datasets for s in reproduced.qualities}
    for signal, (name, colour) in SIGNALS.items():
        if signal in here:
            panels[0].plot([], [], marks[signal], color=colour, label=name)
    if papers:
        panels[0].plot([], [], "o", mfc="none", mec=INK, mew=1.8, label="paper")
    figure.legend(loc="outside lower center", ncols=7, fontsize=9.5)
    return figure


# --- what the pictures share -----------------------------------------------------------------


def _panels(
    result: ScopeReproduction,
    draw: Callable[[Axes, ReproducedSet], str],
    y_label: str,
    x_label: str = "alpha: error level allowed",
    *,
    high: float = 4.2,
) -> Drawing:
    """A panel for each data set, three in a row; `draw` returns what its title says."""
    across = min(3, len(result.datasets))
    down = -(-len(result.datasets) // across)
    figure = new_figure(max(7.2, 4.9 * across), high * down + 0.5)
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    for panel, reproduced in zip(axes.flat, result.datasets, strict=False):
        name = reproduced.dataset
        name = f"{name} (simulated)" if result.simulated else clip(name)
        panel.set_title(f"{name}\n{draw(panel, reproduced)}")
        panel.set_xlabel(x_label)
    for panel in axes.flat[len(result.datasets) :]:
        panel.set_visible(False)
    for row in axes:
        row[0].set_ylabel(y_label)
    _add_legend(figure)
    return figure


def _add_legend(figure: Drawing) -> None:
    """Below all panels: a column for each size, ours above the paper's, then everything else."""
    from matplotlib.lines import Line2D

    handles = {
        label: handle
        for panel in figure.axes
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    columns: dict[float, list[str]] = {}
    for label in sorted(handles, key=lambda label: label.endswith(_PAPER)):
        columns.setdefault(size_of(label.removesuffix(_PAPER)) or _LAST, []).append(label)
    height = 2 if len(columns) <= len(_SIZES) + 1 else 1
    order: list[str] = []
    for _, labels in sorted(columns.items()):
        order += [*labels, *[""] * (-len(labels) % height)]
    blank = Line2D([], [], linestyle="none")
    figure.legend(
        [handles.get(label, blank) for label in order],
        order,
        loc="outside lower center",
        ncols=len(order) // height if height > 1 else 4,
        fontsize=9.5,
    )


def _judges(
    result: ScopeReproduction, reproduced: ReproducedSet
) -> list[tuple[JudgeKey, str, str, str]]:
    """Every judge of a data set with its colour, mark and name: the same in every panel."""
    look: dict[JudgeKey, tuple[str, str]] = {}
    others = 0
    for key in dict.fromkeys(key for _, key in result.cells):
        size = size_of(key[0]) or _LAST
        if size in _SIZES and _SIZES[size] not in look.values():
            look[key] = _SIZES[size]
        else:
            look[key] = (_OTHERS[others % len(_OTHERS)], "vP*X<"[others % 5])
            others += 1
    return [(key, *look[key], clip(key[0])) for key in reproduced.keys]


def _published(result: ScopeReproduction, reproduced: ReproducedSet) -> list[PublishedRisk]:
    """The paper's numbers for this data set, of all its judges."""
    return [theirs for theirs in result.published if contains(reproduced.dataset, theirs.dataset)]


def _rings(axes: Axes, result: ScopeReproduction, reproduced: ReproducedSet, field: str) -> None:
    for theirs in _published(result, reproduced):
        if theirs.method == _METHOD:
            _ring(axes, theirs, theirs.alpha, getattr(theirs, field))


def _ring(
    axes: Axes, theirs: PublishedRisk, x: float | None, y: float | None, mark: str | None = None
) -> None:
    if x is None or y is None:
        return
    colour, usual = _SIZES.get(size_of(theirs.judge) or 0.0, (INK, "o"))
    edge: dict[str, Any] = {"mfc": "none", "mec": colour, "ms": 10, "mew": 1.7, "linestyle": "none"}
    axes.plot(x, y, mark or usual, zorder=5, label=theirs.judge + _PAPER, **edge)
