"""Temperature and calibration in the Soft-Elo paper: Figures 3, 6, 7, 15 and 16."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.figure import ACCENT, GRID, INK, MUTED, WARM, new_figure, set_suptitle, themed
from adjudge.present.text import number, percent
from adjudge.ranking.evaluation_view import COLOUR, MARK, NAME, change_title
from adjudge.ranking.temperature import AgreementBin, ReliabilityBin
from adjudge_papers.reproduction import Pictures
from adjudge_papers.soft_elo_drawing import (
    add_legend,
    corpus_colour,
    corpus_mark,
    corpus_name,
    judge_looks,
    main_rows,
    name_rows,
    range_title,
    short,
    shown_judge,
)
from adjudge_papers.soft_elo_ratings import budget_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow


#: The judge that the paper shows across corpora.
_REPRESENTATIVE = "GPT-OSS-120B"
#: Bins with fewer battles are left out of Figure 7.
_FEWEST = 30
_STABLE = 0.05


def figure_3(result: SoftEloReproduction) -> Drawing:
    """Agreement with people by |s| over judges, and reliability before and after beta."""
    rows = main_rows(result)
    row = shown_judge(rows, "Qwen3-32B")
    with themed():
        figure = new_figure(11.4, 4.8)
        left, right = figure.subplots(1, 2)
        _draw_agreement(left, rows)
        _diagonal(right)
        for bins, colour, mark, beta, ece in (
            (row.raw_reliability, WARM, "s", 1.0, row.raw_ece),
            (row.reliability, ACCENT, "o", row.beta, row.ece),
        ):
            label = f"β = {number(beta, 2)}, error {number(ece, 3)}"
            _plot_reliability(right, bins, colour, label, mark)
        add_legend(right, loc="upper left")
        right.set_title(f"{short(row.judge)}: before and after fitting β")
    return figure


def _draw_agreement(axes: Axes, rows: Sequence[SoftEloRow]) -> None:
    starts = sorted({bin_.low for row in rows for bin_ in row.agreement})
    if not starts:
        raise ArgumentError("figure", "figure-03", "it takes battles that people and judge decided")
    heights = []
    for at, low in enumerate(starts):
        bins = [bin_ for row in rows for bin_ in row.agreement if bin_.low == low]
        shares = np.array([bin_.agreement for bin_ in bins])
        spread = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
        heights.append(float(shares.mean()))
        axes.bar(at, 100 * heights[-1], width=0.72, color=ACCENT, alpha=0.8)
        axes.errorbar(at, 100 * heights[-1], yerr=100 * spread, color=INK, capsize=3, lw=1.2)
        n = round(sum(bin_.n for bin_ in bins) / len(bins))
        axes.text(at, 3, f"n = {n:,}", ha="center", color="white", fontsize=8)
    axes.axhline(50, color=MUTED, lw=1, ls="--")
    axes.set_xticks(range(len(starts)), _edges(starts))
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("|s| (n: battles per judge; whiskers: standard deviation over judges)")
    axes.set_ylabel("people take the judge's side, %")
    first, last = percent(heights[0], 0), percent(heights[-1], 0)
    axes.set_title(f"Agreement goes from {first} at small |s| to {last} at large")


def _edges(starts: Sequence[float]) -> list[str]:
    ends = [f"{low:g} to {high:g}" for low, high in pairwise(starts)]
    return [*ends, f"over {starts[-1]:g}"]


def _diagonal(axes: Axes) -> None:
    axes.plot([0.5, 1], [0.5, 1], color=MUTED, lw=1, ls="--")
    axes.set_xlim(0.48, 1.02)
    axes.set_xlabel("predicted: σ(β|s|) (dashed: equal)")
    axes.set_ylabel("people take the judge's side, ± SE")


def _plot_reliability(
    axes: Axes, bins: Sequence[ReliabilityBin], colour: str, label: str | None, mark: str = "o"
) -> None:
    """Shares with a standard error to either side."""
    x = np.array([bin_.predicted for bin_ in bins])
    y = np.array([bin_.observed for bin_ in bins])
    error = np.sqrt(y * (1 - y) / np.array([max(1, bin_.n) for bin_ in bins]))
    axes.errorbar(
        x, y, yerr=error, marker=mark, color=colour, ms=4.5, lw=1.5, capsize=2, label=label
    )


def figure_6(result: SoftEloReproduction) -> Drawing:
    """How soon beta settles, and the error of one judge, by judged battles per model."""
    rows = main_rows(result)
    row = shown_judge(rows, "Qwen3.5-27B")
    with themed():
        figure = new_figure(11.4, 4.8)
        left, right = figure.subplots(1, 2)
        _draw_settling(left, rows, judge_looks(result.rows))
        ticks = sorted({budget.per_model for budget in row.budgets})
        lines = {}
        for method in ("hard-elo", "soft-elo"):
            known = [budget for budget in row.budgets if budget.method == method]
            lines[method] = {budget.per_model: budget.mae for budget in known}
            right.plot(
                list(lines[method]),
                list(lines[method].values()),
                marker=MARK[method],
                color=COLOUR[method],
                label=NAME[method],
            )
        both = [tick for tick in ticks if all(tick in line for line in lines.values())]
        ends = [[line[tick] for tick in both] for line in lines.values()]
        right.fill_between(both, *ends, color=GRID, lw=0, zorder=0)
        if ticks:
            budget_axes(right, ticks)
        last = {method: line[both[-1]] for method, line in lines.items() if both}
        title = change_title(f"error at {both[-1]:g} battles each", last) if both else "error"
        right.set_title(f"{short(row.judge)}: {title}")
    return figure


def _draw_settling(
    axes: Axes, rows: Sequence[SoftEloRow], looks: Mapping[str, tuple[str, str]]
) -> None:
    """beta of random parts of the battles minus that of all of them."""
    axes.axhspan(-_STABLE, _STABLE, color=GRID, lw=0, zorder=0)
    ticks: set[float] = set()
    late: list[float] = []
    for row in rows:
        budgets = [budget for budget in row.budgets if budget.betas]
        if row.beta is None or not budgets:
            continue
        x = [budget.per_model for budget in budgets]
        means = [float(np.mean(budget.betas)) - row.beta for budget in budgets]
        colour, mark = looks[row.judge]
        for budget in budgets:
            away = [beta - row.beta for beta in budget.betas]
            axes.plot([budget.per_model] * len(away), away, mark, color=colour, ms=3, alpha=0.5)
        axes.plot(x, means, marker=mark, color=colour, ms=5, lw=1.6, label=short(row.judge))
        ticks.update(x)
        late += [abs(mean) for tick, mean in zip(x, means, strict=True) if tick >= 50]
    shown = sorted(ticks)
    axes.set_xscale("log")
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.minorticks_off()
    axes.set_xlabel("judged battles per model (dots: random parts of the battles)")
    axes.set_ylabel("β − β of all battles (grey: ± 0.05)")
    add_legend(axes, loc="best", fontsize=8)
    farthest = f"; at most {max(late):.3f} away from 50 battles on" if late else ""
    axes.set_title(f"β by budget{farthest}")


def figure_7(result: SoftEloReproduction) -> Drawing:
    """Agreement by |s| for each judge on each corpus, and its correlation with |s|."""
    judges = sorted({row.judge for row in result.rows})
    corpora = list(dict.fromkeys(row.corpus for row in result.rows))
    columns = min(4, len(judges))
    lines = -(-len(judges) // columns)
    with themed():
        figure = new_figure(2.7 * columns + 4.6, max(4.4, 2.6 * lines + 1.2))
        parts = figure.subfigures(1, 2, width_ratios=[2.7 * columns, 4.4], squeeze=False)
        left, right = parts[0]
        panels = left.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for axes, judge in zip(panels.flat, judges, strict=False):
            axes.axhline(50, color=MUTED, lw=1, ls="--")
            for row in (row for row in result.rows if row.judge == judge):
                _plot_agreement(axes, row.agreement, row.corpus)
            axes.set_title(short(judge), fontsize=9)
        for axes in list(panels.flat)[len(judges) :]:
            axes.set_axis_off()
        for corpus in corpora:
            name, colour = corpus_name(result, corpus), corpus_colour(corpus)
            mark = corpus_mark(corpus)
            panels.flat[0].plot([], [], marker=mark, color=colour, ms=4, label=name)
        left.supxlabel("|s|, middle of the bin", fontsize=10)
        left.supylabel("people take the judge's side, %, ± SE", fontsize=10)
        left.legend(
            *panels.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3
        )
        _draw_correlations(right.subplots(), result, judges, corpora)
    return figure


def _plot_agreement(axes: Axes, bins: Sequence[AgreementBin], corpus: str) -> None:
    shown = [bin_ for bin_ in bins if bin_.n >= _FEWEST]
    x = [(bin_.low + bin_.high) / 2 for bin_ in shown]
    y = np.array([bin_.agreement for bin_ in shown])
    error = 100 * np.sqrt(y * (1 - y) / np.array([bin_.n for bin_ in shown]))
    axes.errorbar(
        x,
        100 * y,
        yerr=error,
        marker=corpus_mark(corpus),
        color=corpus_colour(corpus),
        ms=3.5,
        lw=1.4,
        capsize=2,
    )


def _draw_correlations(
    axes: Axes, result: SoftEloReproduction, judges: Sequence[str], corpora: Sequence[str]
) -> None:
    name_rows(axes, judges)
    axes.axvline(0, color=MUTED, lw=1)
    known = {(row.judge, row.corpus): row for row in result.rows}
    step = 0.24
    for k, corpus in enumerate(corpora):
        for at, judge in enumerate(judges):
            row = known.get((judge, corpus))
            if row is None or row.agreement_correlation is None:
                continue
            y = at + step * (k - (len(corpora) - 1) / 2)
            axes.barh(y, row.agreement_correlation, height=step * 0.9, color=corpus_colour(corpus))
            end = max(0.0, row.agreement_correlation)
            axes.text(end, y, f" β {number(row.beta, 2)}", va="center", fontsize=7.5)
    axes.set_xlim(right=1.18 * axes.get_xlim()[1])
    axes.set_xlabel("correlation of |s| with agreement")
    values = [row.agreement_correlation for row in result.rows]
    axes.set_title(range_title("Correlation", values, 2), fontsize=10)


def figure_15(result: SoftEloReproduction) -> Drawing:
    """Reliability of every judge, the best calibrated first."""
    rows = sorted(
        (row for row in main_rows(result) if row.ece is not None), key=lambda row: row.ece or 0.0
    )
    if not rows:
        raise ArgumentError("figure", "figure-15", "no judge has a positive beta")
    columns = min(4, len(rows))
    lines = -(-len(rows) // columns)
    with themed():
        figure = new_figure(3.1 * columns + 0.6, 2.9 * lines + 1.0)
        panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for axes, row in zip(panels.flat, rows, strict=False):
            _diagonal(axes)
            _plot_reliability(axes, row.reliability, ACCENT, None)
            axes.set_xlabel("")
            axes.set_ylabel("")
            paper = row.published_ece
            theirs = "" if paper is None else f" (paper {number(paper, 3)})"
            axes.set_title(f"{short(row.judge)}\nerror {number(row.ece, 3)}{theirs}", fontsize=9)
        for axes in list(panels.flat)[len(rows) :]:
            axes.set_axis_off()
        figure.supxlabel("predicted: σ(β|s|) (dashed: equal)", fontsize=10)
        figure.supylabel("people take the judge's side, ± SE", fontsize=10)
        mean = sum(row.ece or 0.0 for row in rows) / len(rows)
        set_suptitle(figure, f"Calibration error {number(mean, 3)} on average over judges")
    return figure


def figure_16(result: SoftEloReproduction) -> Drawing:
    """Reliability of one judge on every corpus."""
    drawn = [row for row in result.rows if row.reliability]
    if not drawn:
        raise ArgumentError("figure", "figure-16", "no judge has a positive beta")
    widest = Counter(row.judge for row in drawn).most_common(1)[0][0]
    judge = _REPRESENTATIVE if any(row.judge == _REPRESENTATIVE for row in drawn) else widest
    rows = [row for row in drawn if row.judge == judge]
    with themed():
        figure = new_figure(6.6, 5.2)
        axes = figure.subplots()
        _diagonal(axes)
        for row in rows:
            paper = row.published_ece
            theirs = "" if paper is None else f" (paper {number(paper, 3)})"
            label = (
                f"{corpus_name(result, row.corpus)}: β {number(row.beta, 2)}, "
                f"error {number(row.ece, 3)}{theirs}"
            )
            _plot_reliability(
                axes, row.reliability, corpus_colour(row.corpus), label, corpus_mark(row.corpus)
            )
        add_legend(axes, loc="upper left", fontsize=8.5)
        worst = max(row.ece or 0.0 for row in rows)
        axes.set_title(f"{short(judge)}: calibration error at most {number(worst, 3)}")
    return figure


PICTURES: Pictures = {
    "figure-03": (
        figure_3,
        "Agreement with people grows with |s|; σ(|s|) is too sure until β is fitted.",
    ),
    "figure-06": (
        figure_6,
        "β from few battles against β from all, and the error of one judge by budget.",
    ),
    "figure-07": (
        figure_7,
        "Agreement by |s| for each judge and corpus; a flat line is a score that says little.",
    ),
    "figure-15": (figure_15, "Reliability of every judge; the dashed line is right."),
    "figure-16": (figure_16, "Reliability of one judge on every corpus."),
}
