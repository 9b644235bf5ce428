"""Score sets of the diagnosis paper, by its protocol: Tables 3 to 5, and what widths show.

Eq. 2 and 3 per judge and criterion, calibrated on a random half of the rows and tested on the other
half, 20 times. The same rows are in the same half for every judge, so that two judges' widths can
be compared (Table 4). Pooling over judges (Figure 4) uses the first split, as in the paper, whose
1,918 rows are one half of 16 x 240. `diagnose_scores` splits and weights documents instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.data.scores import Scores, scored_by_both
from adjudge.diagnosis.scores.evaluation import error_by_width, split_by_judge
from adjudge.diagnosis.scores.figures import size_map, width_matrices
from adjudge.diagnosis.scores.result import ScoreDiagnosis, WidthBin
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Table, table_of
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
    unique,
)
from adjudge.present.result import Correlation, Count, Level, NotNegative, Proportion
from adjudge.present.text import DASH, count, number, percent, show_interval, signed
from adjudge.records import Interval
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p
from adjudge.statistics.numbers import conformal_quantile, mean_known
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, generator
from adjudge_papers.diagnosis_data import (
    ALPHAS,
    CRITERIA,
    DOCUMENTS,
    MAIN_ALPHA,
    MAIN_CRITERION,
    PAPER,
    POOLED,
    SYSTEMS,
    compare,
    pivot,
    published_agreement,
    published_row,
    published_rows,
)
from adjudge_papers.items import ItemBook, Measured, in_percent, over
from adjudge_papers.reproduction import Gallery, interval_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.diagnosis import DiagnosisReproduction

SCALE = (1, 5)
#: The rows of a test half in the paper.
_HALF = DOCUMENTS * SYSTEMS // 2
_PUBLISHED = "as published"
PICTURES = Gallery()


@dataclass(frozen=True, kw_only=True)
class SetCell:
    """Tables 3 and 5: one judge, criterion and level by the paper's protocol, means over splits.

    `n` is the size of a test half. `spearman` is of set width and error; `p_value` treats its rows
    as independent, as the paper does. `monotonic`: the mean error never decreases as the width
    grows, at the first split; None if all sets have one width, and in the paper's rows.
    """

    data: str
    judge: str
    criterion: str
    alpha: Level
    n: Count
    coverage: Proportion
    coverage_sd: NotNegative | None
    mean_size: NotNegative
    spearman: Correlation | None
    p_value: Proportion | None
    monotonic: bool | None
    published_coverage: Proportion | None = None
    published_size: NotNegative | None = None
    published_spearman: Correlation | None = None

    @property
    def size(self) -> float:
        """The name of the mean size in the paper's table."""
        return self.mean_size

    @property
    def error_by_width(self) -> str | None:
        """How the mean error changes as the width grows; None in the paper's rows."""
        texts = {None: "one width", True: "never falls", False: "falls"}
        return None if self.data == PAPER else texts[self.monotonic]

    @property
    def margin(self) -> float:
        """The coverage above the promised one."""
        return self.coverage - 1 + self.alpha


@dataclass(frozen=True, kw_only=True)
class WidthPair:
    """Table 4: Spearman of two judges' set widths on the rows of a test half, mean over splits."""

    data: str
    judge_a: str
    judge_b: str
    criterion: str
    n: Count
    spearman: Correlation | None
    p_value: Proportion | None
    published: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class PooledErrors:
    """A panel of Figure 4: all judges' sets of a criterion (None: of all) at the first split.

    The interval leaves out one document at a time, also in the bins; `p_value` treats rows as
    independent, as the paper does.
    """

    data: str
    criterion: str | None
    n: Count
    spearman: Correlation | None
    p_value: Proportion | None
    interval: Interval | None
    bins: tuple[WidthBin, ...]
    published: Correlation | None = None


@dataclass(frozen=True)
class SetTables:
    """Tables 3 to 5 and Figure 4 of one set of scores."""

    cells: tuple[SetCell, ...]
    pairs: tuple[WidthPair, ...]
    pooled: tuple[PooledErrors, ...]

    @property
    def main_sizes(self) -> dict[tuple[str, str], float]:
        """Mean sizes at the main level, by judge and criterion."""
        main = [cell for cell in self.cells if cell.alpha == MAIN_ALPHA]
        return {(cell.judge, cell.criterion): cell.mean_size for cell in main}


# --- the paper's protocol --------------------------------------------------------------------


@dataclass(frozen=True)
class _Cell:
    """One judge and criterion: document, key and error of each row; at each split, the rows that
    are tested; at each level and split, the size of each row's set, and whether it holds the score.
    """

    judge: str
    criterion: str
    document: IntArray
    key: IntArray
    error: FloatArray
    tests: Sequence[BoolArray]
    sets: Mapping[float, Sequence[tuple[IntArray, BoolArray]]]


def tabulate_sets(data: str, scores: Scores, *, splits: int = 20, seed: int = 0) -> SetTables:
    """The paper's tables of sets; `scores` comes from `prepare_scores`."""
    cells = _cells(scores, splits, seed)
    return SetTables(
        tuple(_table_cell(data, cell, alpha) for cell in cells for alpha in ALPHAS),
        tuple(
            _pair(data, first, second)
            for first, second in combinations(cells, 2)
            if first.criterion == second.criterion and first.judge != second.judge
        ),
        tuple(
            _pooled(data, criterion, [c for c in cells if criterion in (None, c.criterion)])
            for criterion in (None, *dict.fromkeys(cell.criterion for cell in cells))
        ),
    )


def _cells(scores: Scores, splits: int, seed: int) -> list[_Cell]:
    frame = scored_by_both(scores).frame
    judges = split_by_judge(frame, scale=SCALE, target="mean", by=None, sets="residual")
    names = dict.fromkeys(key for rows in judges for key in rows.key.tolist())
    number_of = {name: place for place, name in enumerate(names)}
    rng = generator(seed)
    # One permutation of the rows per split; a cell uses the first half of its rows in it.
    orders = [rng.permutation(len(names)) for _ in range(splits)]
    cells = []
    for rows in judges:
        for criterion, at in rows.by_criterion.items():
            score = rows.score[at]
            error = np.abs(score - rows.target.score[at].astype(np.float64))
            key = np.array([number_of[name] for name in rows.key[at].tolist()])
            places = [np.argsort(np.argsort(order[key])) for order in orders]
            tests = [np.asarray(place >= len(place) // 2) for place in places]
            sets = {a: [_sets(score, error, test, a) for test in tests] for a in ALPHAS}
            cells.append(_Cell(rows.judge, criterion, rows.document[at], key, error, tests, sets))
    return cells


def _sets(
    score: FloatArray, error: FloatArray, test: BoolArray, alpha: float
) -> tuple[IntArray, BoolArray]:
    """Set sizes, and whether people's score is inside, of every row (Eq. 2 and 3)."""
    quantile = conformal_quantile(error[~test], exact_level(alpha))
    reach = np.inf if quantile is None else quantile
    steps = np.arange(SCALE[0], SCALE[1] + 1)
    inside = np.abs(score[:, None] - steps) <= reach + 1e-9
    return inside.sum(axis=1), np.asarray(error <= reach + 1e-9)


def _table_cell(data: str, cell: _Cell, alpha: float) -> SetCell:
    tested = [
        (width[test], held[test], cell.error[test])
        for test, (width, held) in zip(cell.tests, cell.sets[alpha], strict=True)
    ]
    coverage = [float(held.mean()) for _, held, _ in tested]
    rank = mean_known([spearman(width, error) for width, _, error in tested])
    first_widths, _, first_errors = tested[0]
    by_width = [float(first_errors[first_widths == w].mean()) for w in np.unique(first_widths)]
    rises = all(low <= high + 1e-12 for low, high in pairwise(by_width))
    paper = published_row("sets", cell.judge, criterion=cell.criterion, alpha=alpha)
    return SetCell(
        data=data,
        judge=cell.judge,
        criterion=cell.criterion,
        alpha=alpha,
        n=len(first_widths),
        coverage=float(np.mean(coverage)),
        coverage_sd=float(np.std(coverage)),
        mean_size=float(np.mean([width.mean() for width, _, _ in tested])),
        spearman=rank,
        p_value=spearman_p(rank, len(first_widths)),
        monotonic=None if len(by_width) < 2 else rises,
        published_coverage=paper.get("coverage"),
        published_size=paper.get("mean_size"),
        published_spearman=paper.get("spearman"),
    )


def _pair(data: str, first: _Cell, second: _Cell) -> WidthPair:
    _, mine, theirs = np.intersect1d(first.key, second.key, return_indices=True)
    values, rows = [], 0
    for at, (first_sets, second_sets) in enumerate(
        zip(first.sets[MAIN_ALPHA], second.sets[MAIN_ALPHA], strict=True)
    ):
        both = first.tests[at][mine] & second.tests[at][theirs]
        rows = max(rows, int(both.sum()))
        values.append(spearman(first_sets[0][mine][both], second_sets[0][theirs][both]))
    value = mean_known(values)
    return WidthPair(
        data=data,
        judge_a=first.judge,
        judge_b=second.judge,
        criterion=first.criterion,
        n=rows,
        spearman=value,
        p_value=spearman_p(value, rows),
        published=published_agreement(first.judge, second.judge, first.criterion),
    )


def _pooled(data: str, criterion: str | None, cells: Sequence[_Cell]) -> PooledErrors:
    """The test rows of the first split."""
    tested = [
        (cell.sets[MAIN_ALPHA][0][0][test], cell.error[test], cell.document[test])
        for cell in cells
        for test in cell.tests[:1]
    ]
    width, error, document = map(np.concatenate, zip(*tested, strict=True))
    value = spearman(width, error)
    return PooledErrors(
        data=data,
        criterion=criterion,
        n=len(width),
        spearman=value,
        p_value=spearman_p(value, len(width)),
        interval=interval_of(*spearman_interval(width, error, document)),
        bins=error_by_width(width, error, document, SCALE, 0.95),
        published=POOLED.get(criterion or "all"),
    )


def published_tables() -> SetTables:
    """Tables 3 to 5 as rows; the p-values of Table 4 follow from the rows of the test half."""
    absent: dict[str, Any] = {"coverage_sd": None, "p_value": None, "monotonic": None}
    return SetTables(
        tuple(SetCell(data=PAPER, n=_HALF, **absent, **row) for row in published_rows("sets")),
        tuple(
            WidthPair(data=PAPER, n=_HALF, p_value=spearman_p(row["spearman"], _HALF), **row)
            for row in published_rows("agreement")
        ),
        (),
    )


# --- tables ----------------------------------------------------------------------------------


def p_text(value: float | None) -> str:
    """A p-value as papers print it.

    >>> p_text(0.0312), p_text(1e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    if value is None:
        return "p unknown"
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def _p(value: float | None) -> str:
    return DASH if value is None else p_text(value).removeprefix("p ").removeprefix("= ")


def set_tables(result: DiagnosisReproduction) -> list[Block]:
    """Tables 3, 4 and 5 of every set of scores, then all judges together, then by document."""
    blocks: list[Block] = []
    for data in dict.fromkeys(cell.data for cell in result.sets):
        cells = [cell for cell in result.sets if cell.data == data]
        pairs = [pair for pair in result.pairs if pair.data == data]
        title = _PUBLISHED if data == PAPER else data
        blocks.append(_signals(title, [cell for cell in cells if cell.alpha == MAIN_ALPHA]))
        if pairs:
            blocks.append(_agreement(title, pairs))
        blocks.append(_levels(title, cells))
    return [*blocks, _pooled_table(result.pooled), _by_document(result.scores)]


def _signals(title: str, cells: Sequence[SetCell]) -> Table:
    """Table 3: coverage, size, and width against error."""
    about = ""
    if title != _PUBLISHED:
        rises = [cell.monotonic for cell in cells if cell.monotonic is not None]
        about = (
            f": the paper's protocol, the error never falls with the width in {sum(rises)} of "
            f"{count(len(cells), 'cell')} ({len(cells) - len(rises)} with one width; paper 13 of "
            "16)"
        )
    columns: dict[str, tuple[str, Callable[..., str]]] = {
        "coverage": ("coverage", percent),
        "size": ("size", lambda size: number(size, 2)),
        "width and error": ("spearman", lambda rank: signed(rank, 2)),
        "p": ("p_value", _p),
        "error by width": ("error_by_width", lambda text: text or DASH),
    }
    return compare(cells, columns, f"Table 3, {title}, alpha 0.1{about}")


def _agreement(title: str, pairs: Sequence[WidthPair]) -> Table:
    """Table 4: a row per pair of judges, a column per criterion, then the means."""

    def marked(pair: WidthPair) -> str:
        if pair.spearman is None or pair.p_value is None:
            return DASH
        mark = " ‡" if pair.p_value < 0.01 else " †" if pair.p_value < 0.05 else ""
        return signed(pair.spearman, 2) + mark

    rows = pivot(
        pairs,
        lambda pair: f"{pair.judge_a} / {pair.judge_b}",
        lambda pair: pair.criterion,
        marked,
        lambda pair: signed(pair.published, 2),
    )
    means = mean_agreement(pairs)
    rows.append(("mean", *(signed(mean, 2) for mean in means.values())))
    caption = f"Table 4, {title}, alpha 0.1: two judges' widths († p < 0.05, ‡ p < 0.01)"
    return Table(("judges", *means), rows, caption)


def mean_agreement(pairs: Sequence[WidthPair]) -> dict[str, float | None]:
    """The mean over pairs of judges, by criterion."""
    return {
        criterion: mean_known(pair.spearman for pair in pairs if pair.criterion == criterion)
        for criterion in dict.fromkeys(pair.criterion for pair in pairs)
    }


def _levels(title: str, cells: Sequence[SetCell]) -> Table:
    """Table 5: coverage and size at every level."""
    ordered = sorted(cells, key=lambda cell: cell.alpha)
    rows = pivot(
        ordered,
        lambda cell: f"{cell.judge}, {cell.criterion}",
        lambda cell: cell.alpha,
        lambda cell: _coverage_and_size(cell.coverage, cell.mean_size),
        lambda cell: _coverage_and_size(cell.published_coverage, cell.published_size),
        label="  paper, {name}",
    )
    levels = (f"alpha {alpha:g}" for alpha in dict.fromkeys(cell.alpha for cell in ordered))
    caption = f"Table 5, {title}: coverage and mean size"
    return Table(("judge, criterion", *levels), rows, caption)


def _coverage_and_size(coverage: float | None, size: float | None) -> str:
    return DASH if None in (coverage, size) else f"{percent(coverage)} {number(size, 2)}"


def _pooled_table(pooled: Sequence[PooledErrors]) -> Table:
    columns: dict[str, Callable[[PooledErrors], str]] = {
        "data, criterion": lambda p: f"{p.data}, {p.criterion or 'all'}",
        "rows": lambda p: number(p.n),
        "width and error": lambda p: signed(p.spearman, 2),
        "95 % interval": lambda p: show_interval(p.interval, 2),
        "p": lambda p: _p(p.p_value),
        "paper": lambda p: signed(p.published, 2 if p.criterion else 3),
    }
    caption = "Section 5.2 and Figure 4, alpha 0.1: all judges together, one split"
    return table_of(pooled, columns, caption=caption)


def _by_document(scores: Mapping[str, ScoreDiagnosis]) -> Table:
    """The paper's sets and adaptive ones with documents split and weighed, means over judges."""
    rows = []
    criteria = list(dict.fromkeys(g.criterion for study in scores.values() for g in study.groups))
    for data, study in scores.items():
        main = [group for group in study.groups if group.alpha == MAIN_ALPHA]
        groups = [group for group in main if group.method != "constant"] or main
        for method in dict.fromkeys(group.method for group in groups):
            within = [p.within for p in study.pooled if (p.method, p.alpha) == (method, MAIN_ALPHA)]
            cells = []
            for name in criteria:
                same = [g for g in groups if (g.method, g.criterion) == (method, name)]
                coverage = mean_known(group.coverage for group in same)
                size = mean_known(group.mean_size for group in same)
                cells.append(_coverage_and_size(coverage, size))
            rows.append((f"{data}, {method}", *cells, signed(within[0] if within else None, 2)))
    caption = (
        "The same at alpha 0.1 with documents split and weighed, not rows: coverage and size, "
        "means over judges; width and error within one judge and criterion"
    )
    return Table(("sets", *(str(name) for name in criteria), "width and error"), rows, caption)


# --- items -----------------------------------------------------------------------------------


def add_sets(book: ItemBook, result: DiagnosisReproduction) -> None:
    """Tables 3 to 5, Figures 3 to 6 and section 5.2, on the scores that the pictures show."""
    cells = result.pictured_cells
    main = [cell for cell in cells if cell.alpha == MAIN_ALPHA]

    def by_criterion(name: str, field: str, criteria: Sequence[str]) -> Measured:
        return {
            name.format(criterion): mean_known(
                getattr(cell, field) for cell in main if cell.criterion == criterion
            )
            for criterion in criteria
        }

    sizes = by_criterion("mean size, {}", "mean_size", CRITERIA)
    if not {cell.criterion for cell in main} & {*CRITERIA}:
        sizes = {"mean size": mean_known(cell.mean_size for cell in main)}
    signal = "width against error, {}, mean over judges"
    book.add("Table 3", sizes | by_criterion(signal, "spearman", CRITERIA[:2]))
    book.add("Figure 3", sizes)
    levels = {
        "cells": float(len(cells)),
        "cells below 1 - alpha": float(sum(cell.margin < -1e-9 for cell in cells)),
        "least coverage minus target, points": in_percent(over((c.margin for c in cells), min)),
    }
    book.add("Table 5", levels)
    book.add("Figure 6", levels)
    pooled = {panel.criterion: panel for panel in result.pooled if panel.data == result.pictured}
    named = {
        f"width against error, {name}": panel for name, panel in pooled.items() if name is not None
    }
    book.add("Figure 4", {name: panel.spearman for name, panel in named.items()})
    several = [cell for cell in main if cell.monotonic is not None]
    falls = sum(not cell.monotonic for cell in several)
    book.add(
        "Section 5.2, width and error",
        {
            "all rows pooled": pooled[None].spearman,
            "rows": float(pooled[None].n),
            "cells where the error never falls with the width": float(len(several) - falls),
            "cells where it falls": float(falls),
            "cells whose sets have one width": float(len(main) - len(several)),
        },
    )
    pairs = [pair for pair in result.pairs if pair.data == result.pictured]
    agreement = {f"{name}, mean over pairs": mean for name, mean in mean_agreement(pairs).items()}
    clear = sum(
        (pair.spearman or 0) > 0 and pair.p_value is not None and pair.p_value < 0.05
        for pair in pairs
        if pair.criterion != MAIN_CRITERION
    )
    agreement["pairs with p < 0.05, other than coherence"] = float(clear)
    missing = "" if pairs else "needs two judges' scores of the same rows"
    book.add("Table 4", agreement, missing=missing)
    book.add("Figure 5", agreement, missing=missing)


# --- figures ---------------------------------------------------------------------------------


def _paper(value: float | None, form: str) -> str:
    return "" if value is None else f" (paper {value:{form}})"


@PICTURES.add(
    "figure-03",
    "Mean number of scores in a set and coverage on the other half of the rows (bold: below 90 %).",
)
def figure_3(result: DiagnosisReproduction) -> Drawing:
    """Heat map of mean set size, judge by criterion, coverage below it, and the paper's size."""
    cells = [cell for cell in result.pictured_cells if cell.alpha == MAIN_ALPHA]
    title = f"{result.pictured}: sets for 90 % coverage"
    return size_map(
        cells,
        title,
        whole=SCALE[1],
        room=(3.1, 1.35, 0.66),
        note=lambda cell: _paper(cell.published_size, ".2f"),
    )


@PICTURES.add(
    "figure-04",
    "Mean error at each width with 95 % intervals over documents, all judges together.",
)
def figure_4(result: DiagnosisReproduction) -> Drawing:
    """Mean error at each width, all judges together, one panel per criterion."""
    everything = [panel for panel in result.pooled if panel.data == result.pictured]
    pooled = [panel for panel in everything if panel.criterion is not None]
    [whole] = [panel for panel in everything if panel.criterion is None]
    figure, panels = criterion_panels([panel.criterion for panel in pooled])
    ticks = range(1, SCALE[1] + 1)
    for axes, panel in zip(panels, pooled, strict=True):
        widths, errors = [b.width for b in panel.bins], [b.mean_error for b in panel.bins]
        axes.plot(widths, errors, color=ACCENT, linewidth=1.4, marker="o", ms=5, zorder=3)
        for entry in panel.bins:
            style = {"color": ACCENT, "linewidth": 1.2}
            draw_interval(axes, entry.width, entry.interval, scale=1, vertical=True, **style)
        name = f"{axis_name(panel.criterion)}{_paper(panel.published, '+z.2f')}"
        rank = f"r = {signed(panel.spearman, 2)}, {p_text(panel.p_value)}"
        axes.set_title(f"{name}\n{rank}", fontsize=9)
        rows = {entry.width: number(entry.n) for entry in panel.bins}
        axes.set_xticks(ticks, [f"{width}\n{rows.get(width, '')}" for width in ticks], fontsize=8.5)
        axes.set_xlim(0.5, SCALE[1] + 0.5)
        axes.set_xlabel("scores in the set, rows below", fontsize=8.5)
    panels[0].set_ylabel("mean |judge − human|, 95 % interval")
    top = max(entry.high or entry.mean_error for panel in pooled for entry in panel.bins)
    panels[0].set_ylim(0, 1.06 * max(top, 0.1))
    rank = f"width against error {signed(whole.spearman, 2)} over all {whole.n:,} rows"
    set_suptitle(figure, f"{result.pictured}: {rank}{_paper(whole.published, '+z.3f')}")
    return figure


@PICTURES.add("figure-05", "Spearman correlation of the widths that two judges give a row.")
def figure_5(result: DiagnosisReproduction) -> Drawing:
    """Matrices of judges by judges, one per criterion."""
    pairs = [pair for pair in result.pairs if pair.data == result.pictured]
    if not pairs:
        raise ArgumentError("plot", "one judge", "agreement between judges needs two")
    title = f"{result.pictured}: Spearman of two judges' set widths, and the mean"
    return width_matrices(pairs, title)


@PICTURES.add(
    "figure-06",
    "Coverage by alpha, the mean over judges; bands are one standard deviation over them.",
)
def figure_6(result: DiagnosisReproduction) -> Drawing:
    """Coverage against alpha; bands are one standard deviation over judges."""
    cells = sorted(result.pictured_cells, key=lambda cell: cell.alpha)
    criteria = unique(cell.criterion for cell in result.pictured_cells)
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
