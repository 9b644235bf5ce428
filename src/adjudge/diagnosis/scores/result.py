"""What the diagnosis of scores returns and shows: coverage, size, advice, what width indicates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjudge.diagnosis.agreement import MANY_ROWS, Agreement
from adjudge.diagnosis.family import FamilyScores
from adjudge.diagnosis.measures import table_of_groups
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Figure, Headline, Table, explain, notes_of
from adjudge.present.figure import (
    ACCENT,
    CENTRED,
    GRID,
    INK,
    MARKS,
    MUTED,
    ON_TINT,
    SERIES,
    SMALL_TO_LARGE,
    WARM,
    axis_name,
    axis_names,
    criterion_panels,
    draw_cells,
    draw_legend,
    draw_promise,
    legend_mark,
    new_figure,
    plot_band,
    set_suptitle,
    themed,
    unique,
    write_cell,
)
from adjudge.present.result import (
    Check,
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.present.text import (
    DASH,
    count,
    group_name,
    left_out,
    level,
    number,
    percent,
    show_interval,
    signed,
    span,
)
from adjudge.records import HasInterval, Interval
from adjudge.statistics.numbers import mean_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


#: Methods whose sets all have the same width, except at the ends of the scale.
_ONE_QUANTILE = ("constant", "per-criterion", "per-group")


@dataclass(frozen=True, kw_only=True)
class WidthBin(HasInterval):
    """Rows whose set has this many scores, and the judge's mean error on them."""

    width: Count
    n: Count
    mean_error: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class ScoreSetGroup:
    """One judge, criterion, method and alpha; means over the splits by document.

    `quantile` is calibrated on all labelled documents; None if a method has none or several.
    `whole_scale`: too few documents are labelled for this alpha, so every set is the entire scale.
    """

    judge: str | None
    criterion: str | None
    method: str
    alpha: Level
    n: Count
    documents: Count
    coverage: Proportion
    coverage_sd: NotNegative
    mean_size: NotNegative
    spearman: Correlation | None
    quantile: float | None
    whole_scale: bool
    distinct_widths: Count
    trust: Proportion
    look: Proportion
    human: Proportion
    by_width: tuple[WidthBin, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class WidthAgreement(HasInterval):
    """Spearman correlation of the set widths that two judges give to the same rows."""

    judge_a: str
    judge_b: str
    criterion: str | None
    method: str
    alpha: Level
    n: Count
    spearman: Correlation | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class HumanAgreement:
    """Agreement of one judge's scores with people on one criterion."""

    judge: str | None
    criterion: str | None
    agreement: Agreement


@dataclass(frozen=True, kw_only=True)
class PooledWidth:
    """Width against error over all criteria together, and the mean within one criterion."""

    method: str
    alpha: Level
    n: Count
    pooled: float | None
    within: float | None


@frozen
class ScoreDiagnosis(Result):
    """The distance of human scores from the judge's, and what the width of a set indicates.

    `sets` is the kind of set that the diagnosis is about: learned, cross-fitted, residual or
    adaptive; other methods are for comparison. `documents` counts the labelled ones. `agreement`,
    of the widths of two judges, is at one level.
    """

    kind: ClassVar[str] = "score_diagnosis"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups"),)
    groups: tuple[ScoreSetGroup, ...]
    agreement: tuple[WidthAgreement, ...]
    pooled: tuple[PooledWidth, ...]
    human_agreement: tuple[HumanAgreement, ...]
    family: tuple[FamilyScores, ...]
    documents: Count
    scale: tuple[int, int]
    target: str
    weigh: str
    splits: Count
    confidence_level: Level
    seed: Count | None
    dropped: Mapping[str, Count]
    assumptions: tuple[str, ...]
    sets: str = "residual"

    @property
    def main_method(self) -> str:
        """For each criterion, the method with a promise: the one to read first."""
        methods = {group.method for group in self.groups}
        if self.sets in methods:
            return self.sets
        return "per-criterion" if "per-criterion" in methods else "constant"

    @property
    def telling_methods(self) -> tuple[str, ...]:
        """Methods whose width can differ between rows, the main one first.

        With one quantile for all rows, the width changes only where the scale's end truncates a
        set.
        """
        methods = dict.fromkeys((self.main_method, *(group.method for group in self.groups)))
        return tuple(name for name in methods if name not in _ONE_QUANTILE)

    @property
    def main_alpha(self) -> float:
        """The paper's level 0.1 if it was requested, else the first."""
        levels = [group.alpha for group in self.groups]
        return 0.1 if 0.1 in levels else levels[0]

    @property
    def main_groups(self) -> list[ScoreSetGroup]:
        """The groups of the main method at the main level."""
        key = self.main_method, self.main_alpha
        return [group for group in self.groups if (group.method, group.alpha) == key]

    @property
    def size(self) -> int:
        """How many scores the scale has."""
        return self.scale[1] - self.scale[0] + 1

    def view(self) -> list[Block]:
        return view_scores(self)


def view_scores(result: ScoreDiagnosis) -> list[Block]:
    """Coverage and size of the sets, advice by size, agreement with people."""
    ends = f"{level(result.confidence_level)} interval"
    return [
        _sets_headline(result),
        *_size_tables(result),
        _advice_table(result),
        table_of_groups(
            result.human_agreement,
            {
                "agree": lambda h: percent(h.agreement.raw),
                "kappa": lambda h: number(h.agreement.kappa, 2),
                ends: lambda h: show_interval(h.agreement.kappa_interval, 2),
                "Krippendorff's alpha": lambda h: number(h.agreement.alpha, 2),
                "two people": lambda h: percent(c.raw if (c := h.agreement.ceiling) else None),
            },
            "Agreement with people (kappa with quadratic weights)",
            optional=("Krippendorff's alpha",),
        ),
        *notes_of([*_remarks(result), *left_out(result.dropped)]),
        *notes_of([f"Promise: {result.assumptions[0]}"] if result.assumptions else []),
        *explain(result.assumptions[1:]),
        *_score_figures(result),
    ]


def _sets_headline(result: ScoreDiagnosis) -> Headline:
    documents = count(result.documents, "labelled document")
    if all(g.whole_scale for g in result.groups):
        return Headline(f"Every set is the entire scale: {documents} are too few", tone="bad")
    sizes, covered = zip(*((g.mean_size, g.coverage) for g in result.main_groups), strict=True)
    return Headline(
        f"{result.sets.capitalize()} sets for {percent(1 - result.main_alpha)} coverage contain "
        f"{span(number(min(sizes), 2), number(max(sizes), 2))} of {result.size} scores on average "
        f"and cover {span(percent(min(covered)), percent(max(covered)))} on held-out documents"
    )


def _size_tables(result: ScoreDiagnosis) -> list[Block]:
    """A table for each judge, the main method first.

    The names of both would leave 80 columns no room for the numbers.
    """
    levels = sorted({g.alpha for g in result.groups})
    judges: dict[str | None, dict[tuple[str | None, str], dict[float, str]]] = {}
    for g in sorted(result.groups, key=lambda g: g.method != result.main_method):
        cells = judges.setdefault(g.judge, {}).setdefault((g.criterion, g.method), {})
        cells[g.alpha] = f"{percent(g.coverage).removesuffix(' %')} {number(g.mean_size, 2)}"
    return [
        Table(
            ("criterion", "method", *(f"α {alpha:g}" for alpha in levels)),
            [
                (group_name(criterion, none="all"), method, *(cells.get(a, DASH) for a in levels))
                for (criterion, method), cells in rows.items()
            ],
            caption=f"{group_name(judge, none='the judge')}: coverage in % and mean size of sets "
            f"at each alpha, scale {result.scale[0]} to {result.scale[1]}",
            text_columns=2,
        )
        for judge, rows in sorted(judges.items(), key=lambda named: named[0] or "")
    ]


def _advice_table(result: ScoreDiagnosis) -> Table:
    """Rows by the size of their set, and how size and error correlate if that is known."""
    columns: dict[str, Callable[[ScoreSetGroup], str]] = {
        "trust": lambda g: percent(g.trust),
        "look": lambda g: percent(g.look),
        "human": lambda g: percent(g.human),
    }
    caption = f"Rows by size of their {result.main_method} set at alpha {result.main_alpha:g} "
    caption += "(1 or 2 scores: trust; the entire scale: human; between: look)"
    if result.main_method in result.telling_methods:
        columns["Spearman"] = lambda g: signed(g.spearman, 2)
        caption += ", and Spearman of size and error"
    return table_of_groups(result.main_groups, columns, caption)


# --- remarks ---------------------------------------------------------------------------------


def _remarks(result: ScoreDiagnosis) -> list[str]:
    """Odd judges, uninformative sets, what learning gained, what width shows, own families."""
    judges = dict.fromkeys(entry.judge for entry in result.human_agreement)
    lines = [line for judge in judges for line in _odd_scores(result, judge)]
    for alpha in sorted({g.alpha for g in result.groups}):
        sizes = {g.mean_size for g in result.groups if g.alpha == alpha}
        if sizes == {float(result.size)}:
            lines.append(
                f"alpha {alpha:g}: every set is the entire scale{_why_whole_scale(result, alpha)}"
            )
    lines += _describe_gain(result)
    lines += [
        f"set size against error, {entry.method} sets: Spearman {signed(entry.pooled, 2)} over all "
        f"rows, {signed(entry.within, 2)} within one judge and criterion"
        for entry in result.pooled
        if entry.alpha == result.main_alpha and entry.method in result.telling_methods
    ]
    for family in result.family:
        lines.append(f"{group_name(family.judge, none='the judge')} {family.describe()}")
    return lines


def _describe_gain(result: ScoreDiagnosis) -> list[str]:
    """Mean size next to that of residual sets with the same promise."""
    methods = dict.fromkeys(g.method for g in result.groups)
    residual = "per-criterion" if "per-criterion" in methods else "constant"
    if result.main_method not in result.telling_methods or residual not in methods:
        return []
    main, other = (
        mean_known(
            g.mean_size for g in result.groups if (g.method, g.alpha) == (method, result.main_alpha)
        )
        for method in (result.main_method, residual)
    )
    return [
        f"{result.main_method} sets have {number(main, 2)} scores on average over judges and "
        f"criteria, residual sets {number(other, 2)}, at alpha {result.main_alpha:g}"
    ]


def _odd_scores(result: ScoreDiagnosis, judge: str | None) -> list[str]:
    """A judge whose scores are all the same, or always the human score."""
    who = group_name(judge, none="the judge")
    entries = [entry for entry in result.human_agreement if entry.judge == judge]
    answers = [{value for value, n in e.agreement.judge_values.items() if n} for e in entries]
    rows = sum(entry.agreement.n for entry in entries)
    if len(set().union(*answers)) == 1:
        [value] = answers[0]
        return [
            f"{who} gives {value} to all {rows:,} rows: its sets describe only how people score"
        ]
    lines = [
        f"{who} gives {values.pop()} to all {entry.agreement.n:,} rows of {entry.criterion}"
        for entry, values in zip(entries, answers, strict=True)
        if len(values) == 1
    ]
    errors = [width.mean_error for g in result.groups if g.judge == judge for width in g.by_width]
    if errors and not any(errors) and rows >= MANY_ROWS:
        lines.append(
            f"{who} equals the human score on all {rows:,} rows: check that it did not see the "
            "labels, or that the labels were not made by it"
        )
    return lines


def _why_whole_scale(result: ScoreDiagnosis, alpha: float) -> str:
    """Half of the documents calibrate; D of them reach 1 - alpha only if D >= (1 - alpha)/alpha."""
    exact = Fraction(str(alpha))
    needed, half = math.ceil((1 - exact) / exact), result.documents // 2
    if result.weigh != "documents" or half >= needed:
        return ""
    return f", because calibration needs {needed} labelled documents and has {half}"


# --- figures ---------------------------------------------------------------------------------

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


def _score_figures(result: ScoreDiagnosis) -> list[Block]:
    """In the order of importance; widths are left out if they are not informative."""
    telling = result.telling_methods
    compared = {entry.method for entry in result.agreement} & set(telling)
    sizes = (
        "Mean number of scores in a set, and coverage on held-out documents (bold: below 1 - "
        "alpha)."
    )
    coverage = "Coverage on held-out documents at each alpha; the dashed line is 1 - alpha."
    figures: list[Block] = [
        Figure("sizes", partial(sizes_figure, result), sizes),
        Figure("coverage", partial(coverage_figure, result), coverage),
    ]
    if telling:
        caption = "Mean error of the judge by the number of scores in the set."
        figures.append(Figure("width", partial(width_figure, result, telling), caption))
    if compared:
        caption = "Whether two judges give the same rows wide sets."
        figures.append(Figure("agreement", partial(agreement_figure, result, telling), caption))
    return figures


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
    judges, criteria = unique(c.judge for c in cells), unique(c.criterion for c in cells)
    margins, wide, high = room
    with themed():
        figure = new_figure(margins + wide * len(criteria), 1.9 + high * len(judges))
        axes = figure.subplots()
        grid = np.full((len(judges), len(criteria)), np.nan)
        for c in cells:
            row, column = judges.index(c.judge), criteria.index(c.criterion)
            grid[row, column] = c.mean_size
            size, covers = f"{c.mean_size:.2f}{note(c)}", f"covers {percent(c.coverage)}"
            write_cell(axes, column, row, size, covers, bold=_shortfall(c) > 0)
        image = draw_cells(axes, grid, SMALL_TO_LARGE, (1, whole), aspect="auto")
        axes.set_xticks(range(len(criteria)), [axis_name(c) for c in criteria])
        axes.set_yticks(range(len(judges)), axis_names(judges).values())
        bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=14)
        bar.set_label(f"mean size, of {whole} scores")
        bar.outline.set_visible(False)
        sizes = [c.mean_size for c in cells]
        shown = span(f"{min(sizes):.1f}", f"{max(sizes):.1f}")
        set_suptitle(figure, f"{sets} have {shown} of {whole} scores")
    return figure


def width_figure(result: ScoreDiagnosis, methods: Sequence[str]) -> Drawing:
    """Mean error at each set width, one panel per criterion, one line per method."""
    groups = [g for g in result.groups if g.alpha == result.main_alpha]
    within = {p.method: p.within for p in result.pooled if p.alpha == result.main_alpha}
    with themed():
        criteria = unique(g.criterion for g in groups)
        figure, panels = criterion_panels(criteria)
        for axes, criterion in zip(panels, criteria, strict=True):
            for method in methods:
                among = [g for g in groups if g.criterion == criterion and g.method == method]
                _draw_widths(axes, among, method)
            axes.set_xticks(range(1, result.size + 1))
            axes.set_xlim(0.6, result.size + 0.4)
            axes.set_xlabel("scores in the set (larger: more rows)", fontsize=8.5)
        panels[0].set_ylabel("mean |judge − human|")
        panels[0].set_ylim(bottom=0)
        values = ", ".join(f"{method} {signed(within.get(method), 2)}" for method in methods)
        set_suptitle(figure, f"Width against error within a criterion (Spearman): {values}")
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


def agreement_figure(result: ScoreDiagnosis, methods: Sequence[str]) -> Drawing:
    """Spearman of set widths between judges, one matrix per criterion; of the last method."""
    there = {a.method for a in result.agreement}
    drawn = [method for method in methods if method in there]
    if not drawn:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    pairs = [a for a in result.agreement if a.method == drawn[-1]]
    about = f"({drawn[-1]}, α = {pairs[0].alpha:g})"
    return width_matrices(pairs, f"Spearman of two judges' set widths, mean {about}")


def width_matrices(pairs: Sequence[Any], title: str) -> Drawing:
    """A matrix of judges by judges for each criterion, its mean in the title of its panel.

    A pair has judge_a, judge_b, criterion and spearman.
    """
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
            values = grid[~np.isnan(grid)]
            mean = f" {signed(values.mean(), 2)}" if len(values) else "\nwidths do not vary"
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
                cells = [g for g in result.groups if (g.criterion, g.method) == (criterion, method)]
                lines = [[100 * g.coverage for g in cells if g.alpha == alpha] for alpha in levels]
                if len({*map(len, lines)}) == 1 and lines[0]:
                    plot_band(axes, levels, np.array(lines).T, _COLOURS[method], method,
                              _MARKS[method])  # fmt: skip
            draw_promise(axes, levels)
        panels[0].set_ylabel("coverage on held-out documents, %")
        panels[0].set_ylim(top=100.8)
        set_suptitle(figure, _coverage_title(result))
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
    marks = [legend_mark(m, color=_COLOURS[m], marker=_MARKS[m], ms=5) for m in methods]
    if promise:
        marks.append(legend_mark("1 − alpha", color=INK, linestyle="--", linewidth=1.3))
    if extra is not None:
        marks.append(legend_mark(color=INK, alpha=0.3, **extra))
    draw_legend(figure, marks)
