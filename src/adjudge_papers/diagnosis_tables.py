"""The diagnosis paper's tables, our numbers with the paper's below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from adjudge.diagnosis.measures import ends_of
from adjudge.present.blocks import Block, Headline, Note, Table, table_of
from adjudge.present.text import DASH, count, interval, number, percent, signed, span
from adjudge.statistics.numbers import mean_known
from adjudge_papers.diagnosis_data import PAPER
from adjudge_papers.diagnosis_figures import p_text

if TYPE_CHECKING:
    from adjudge_papers.diagnosis import DiagnosisReproduction, PublishedCycles
    from adjudge_papers.diagnosis_measures import CyclesAndWidths, VarianceShare
    from adjudge_papers.diagnosis_sets import PooledErrors, SetCell, WidthPair

_MAIN = 0.1
_SIMULATED = (
    "Simulated where nothing was given: judges, documents and numbers are invented. Compare the "
    "pattern with the paper's, not the numbers."
)


def diagnosis_tables(result: DiagnosisReproduction) -> list[Block]:
    """Tables 1 to 6 in the paper's order, then its claims."""
    blocks: list[Block] = [_cycles(result), _published_cycles(result)]
    if result.rankings:
        blocks.append(_rankings(result))
    for data in dict.fromkeys(cell.data for cell in result.sets):
        blocks += [_signals(data, result), *_pairs(data, result), _sets(data, result)]
    return [
        *blocks,
        _pooled(result),
        _by_document(result),
        *_variance(result),
        *_together(result),
    ]


def describe_diagnosis(result: DiagnosisReproduction) -> Headline:
    """Cycles, sizes of sets, and what their width says, ours and the paper's."""
    rates = [row.rate for row in result.cycles if row.rate is not None]
    shares = [row.share for row in result.cycles if row.share is not None]
    main = [c for c in result.sets if c.data == result.pictured and c.alpha == _MAIN]
    sizes = [cell.mean_size for cell in main]
    [whole] = [p for p in result.pooled if p.data == result.pictured and p.criterion is None]
    theirs = result.published_cycles
    parts = [
        f"{_range(shares)} of documents have a cycle (paper "
        f"{_range([row.share for row in theirs])}), {_range(rates, 1)} of triples are one (paper "
        f"{_range([row.rate for row in theirs], 1)})"
        if rates and shares
        else "No cycle could be counted",
        f"sets for 90 % have {span(number(min(sizes), 1), number(max(sizes), 1))} of 5 scores",
        f"their width against the error: {signed(whole.spearman, 2)} (paper "
        f"{signed(whole.published, 2)})",
    ]
    simulated = result.simulated_cycles or result.simulated_scores
    return Headline("; ".join(parts), _SIMULATED if simulated else "")


def _range(shares: list[float], digits: int = 0) -> str:
    return span(percent(min(shares), digits), percent(max(shares), digits))


# --- cycles ----------------------------------------------------------------------------------


def _cycles(result: DiagnosisReproduction) -> Table:
    rows = []
    for row in result.cycles:
        rows.append(
            (
                f"{row.judge}, {row.criterion}",
                number(row.documents),
                percent(row.rate),
                percent(row.decisive_rate),
                percent(row.share),
                percent(row.chance_share),
                percent(row.median),
                percent(row.max),
            )
        )
        if row.published_rate is not None:
            theirs = percent(row.published_rate), DASH, percent(row.published_share)
            rows.append(("  paper", DASH, *theirs, DASH, DASH, DASH))
    columns = (
        "judge, criterion",
        "documents",
        "rate",
        "decisive",
        "with cycle",
        "at random",
        "median",
        "max",
    )
    caption = (
        f"Tables 1 and 6, {result.tournaments}: cycles over all triples (Eq. 1) and over decisive "
        "ones, documents with one, and the same rate at random"
    )
    return Table(columns, rows, caption, optional=("documents", "median"))


def _published_cycles(result: DiagnosisReproduction) -> Table:
    columns: dict[str, Callable[[PublishedCycles], str]] = {
        "judge, criterion": lambda c: f"{c.judge}, {c.criterion}",
        "rate": lambda c: percent(c.rate),
        "with a cycle": lambda c: percent(c.share),
        "by noise": lambda c: percent(c.chance_share),
        "median": lambda c: percent(c.median),
        "max": lambda c: percent(c.max),
    }
    apart = [abs(row.share - row.chance_share) for row in result.published_cycles]
    caption = (
        "Tables 1 and 6 as published, and documents with a cycle of a consistent judge with noise "
        f"({100 * sum(apart) / len(apart):.0f} points apart on average)"
    )
    return table_of(result.published_cycles, columns, caption=caption, optional=("median",))


# --- rankings --------------------------------------------------------------------------------


def _rankings(result: DiagnosisReproduction) -> Table:
    """A row per judge and criterion, a column per method, the paper's below if it has one."""
    methods = list(dict.fromkeys(row.method for row in result.rankings))
    lines: list[tuple[str, ...]] = []
    for key in dict.fromkeys((row.data, row.judge, row.criterion) for row in result.rankings):
        own = {
            row.method: row
            for row in result.rankings
            if (row.data, row.judge, row.criterion) == key
        }
        first = own[methods[0]]
        ours = [number(own[method].tau, 3) for method in methods]
        ends = interval(*ends_of(first.interval), 2)
        sizes = f"{first.documents:,} x {first.systems:,}"
        name = ", ".join(key if key[0] == PAPER else key[1:])
        lines.append((name, sizes, ours[0], ends, *ours[1:]))
        theirs = [number(own[method].published, 3) for method in methods]
        if {*theirs} != {DASH}:
            lines.append(("  paper", DASH, theirs[0], DASH, *theirs[1:]))
    caption = (
        f"Table 2, {result.rankings[0].data}: Kendall's tau with people's mean scores (size: "
        "documents x systems; the interval is over documents)"
    )
    columns = ("judge, criterion", "size", methods[0], "95 % interval", *methods[1:])
    return Table(columns, lines, caption, optional=("size",))


# --- sets ------------------------------------------------------------------------------------


def _signals(data: str, result: DiagnosisReproduction) -> Table:
    rows = []
    for cell in result.sets:
        if (cell.data, cell.alpha) != (data, _MAIN):
            continue
        rows.append(
            (
                f"{cell.judge}, {cell.criterion}",
                percent(cell.coverage),
                number(cell.mean_size, 2),
                signed(cell.spearman, 2),
                _p(cell.p_value),
                _monotonic(cell),
            )
        )
        if cell.published_size is not None:
            theirs = percent(cell.published_coverage), number(cell.published_size, 2)
            rows.append(("  paper", *theirs, signed(cell.published_spearman, 2), DASH, DASH))
    columns = ("judge, criterion", "coverage", "size", "width and error", "p", "error by width")
    about = "" if data == PAPER else f": the paper's protocol, {_count_monotonic(data, result)}"
    return Table(columns, rows, f"Table 3, {_named(data)}, alpha 0.1{about}")


def _named(data: str) -> str:
    return "as published" if data == PAPER else data


def _monotonic(cell: SetCell) -> str:
    if cell.data == PAPER:
        return DASH
    return {None: "one width", True: "never falls", False: "falls"}[cell.monotonic]


def _count_monotonic(data: str, result: DiagnosisReproduction) -> str:
    cells = [c for c in result.sets if (c.data, c.alpha) == (data, _MAIN)]
    known = [c.monotonic for c in cells if c.monotonic is not None]
    text = f"the error never falls with the width in {sum(known)} of {count(len(cells), 'cell')}"
    alone = len(cells) - len(known)
    return f"{text} ({alone} with one width; paper 13 of 16)"


def _p(value: float | None) -> str:
    return DASH if value is None else p_text(value).removeprefix("p ").removeprefix("= ")


def _sets(data: str, result: DiagnosisReproduction) -> Table:
    """Table 5: coverage and size at every level."""
    cells: dict[str, dict[float, str]] = {}
    for cell in result.sets:
        if cell.data != data:
            continue
        name = f"{cell.judge}, {cell.criterion}"
        cells.setdefault(name, {})[cell.alpha] = _cell(cell.coverage, cell.mean_size)
        if cell.published_size is not None and cell.published_coverage is not None:
            paper = cells.setdefault(f"  paper, {name}", {})
            paper[cell.alpha] = _cell(cell.published_coverage, cell.published_size)
    levels = sorted({alpha for own in cells.values() for alpha in own})
    return Table(
        ("judge, criterion", *(f"alpha {alpha:g}" for alpha in levels)),
        [(name, *(own.get(alpha, DASH) for alpha in levels)) for name, own in cells.items()],
        caption=f"Table 5, {_named(data)}: coverage and mean size",
    )


def _cell(coverage: float, size: float) -> str:
    return f"{percent(coverage)} {number(size, 2)}"


def _pairs(data: str, result: DiagnosisReproduction) -> list[Block]:
    """Table 4: a row per pair of judges, a column per criterion, then the means."""
    pairs = [pair for pair in result.pairs if pair.data == data]
    if not pairs:
        return []
    criteria = list(dict.fromkeys(pair.criterion for pair in pairs))
    rows: list[tuple[str, ...]] = []
    for key in dict.fromkeys((pair.judge_a, pair.judge_b) for pair in pairs):
        own = {p.criterion: p for p in pairs if (p.judge_a, p.judge_b) == key}
        rows.append((" / ".join(key), *(_marked(own.get(name)) for name in criteria)))
        theirs = [signed(own[name].published, 2) if name in own else DASH for name in criteria]
        if {*theirs} != {DASH}:
            rows.append(("  paper", *theirs))
    means = [mean_known(p.spearman for p in pairs if p.criterion == name) for name in criteria]
    rows.append(("mean", *(signed(mean, 2) for mean in means)))
    caption = f"Table 4, {_named(data)}, alpha 0.1: two judges' widths († p < 0.05, ‡ p < 0.01)"
    return [Table(("judges", *criteria), rows, caption)]


def _marked(pair: WidthPair | None) -> str:
    if pair is None or pair.spearman is None or pair.p_value is None:
        return DASH
    mark = " ‡" if pair.p_value < 0.01 else " †" if pair.p_value < 0.05 else ""
    return signed(pair.spearman, 2) + mark


def _pooled(result: DiagnosisReproduction) -> Table:
    columns: dict[str, Callable[[PooledErrors], str]] = {
        "data, criterion": lambda p: f"{p.data}, {p.criterion or 'all'}",
        "rows": lambda p: number(p.n),
        "width and error": lambda p: signed(p.spearman, 2),
        "95 % interval": lambda p: interval(*ends_of(p.interval), 2),
        "p": lambda p: _p(p.p_value),
        "paper": lambda p: signed(p.published, 2 if p.criterion else 3),
    }
    caption = "Section 5.2 and Figure 4, alpha 0.1: all judges together, one split"
    return table_of(result.pooled, columns, caption=caption)


def _by_document(result: DiagnosisReproduction) -> Table:
    """The paper's sets and adaptive ones with documents split and weighed, means over judges."""
    rows = []
    criteria = list(
        dict.fromkeys(g.criterion for own in result.scores.values() for g in own.groups)
    )
    for data, own in result.scores.items():
        groups = [g for g in own.groups if g.alpha == _MAIN and g.method != "constant"]
        groups = groups or [g for g in own.groups if g.alpha == _MAIN]
        for method in dict.fromkeys(g.method for g in groups):
            within = next(
                (p.within for p in own.pooled if (p.method, p.alpha) == (method, _MAIN)), None
            )
            cells = []
            for name in criteria:
                same = [g for g in groups if (g.method, g.criterion) == (method, name)]
                means = (
                    mean_known(g.coverage for g in same),
                    mean_known(g.mean_size for g in same),
                )
                cells.append(
                    DASH if None in means else f"{percent(means[0])} {number(means[1], 2)}"
                )
            rows.append((f"{data}, {method}", *cells, signed(within, 2)))
    caption = (
        "The same at alpha 0.1 with documents split and weighed, not rows: coverage and size, "
        "means over judges; width and error within one judge and criterion"
    )
    return Table(("sets", *(str(name) for name in criteria), "width and error"), rows, caption)


# --- claims ----------------------------------------------------------------------------------


def _variance(result: DiagnosisReproduction) -> Iterable[Block]:
    columns: dict[str, Callable[[VarianceShare], str]] = {
        "quantity": lambda v: v.quantity,
        "data": lambda v: v.data,
        "cells": lambda v: number(v.cells),
        "criterion": lambda v: percent(v.criterion, 0),
        "judge": lambda v: percent(v.judge, 0),
        "rest": lambda v: percent(v.rest, 0),
    }
    caption = "Sections 5.2 and 5.3: what explains the variance over judges and criteria"
    ordered = sorted(result.variance, key=lambda v: v.quantity, reverse=True)
    return [table_of(ordered, columns, caption=caption, text_columns=2), Note([_reading(ordered)])]


def _reading(shares: list[VarianceShare]) -> str:
    """Whether criterion or judge explains more, for each quantity, the paper's first."""
    parts = []
    for share in shares:
        if share.criterion > 2 * share.judge:
            verdict = "criterion explains more than judge"
        elif share.judge > 2 * share.criterion:
            verdict = "judge explains more than criterion"
        else:
            verdict = "neither criterion nor judge explains twice as much as the other"
        parts.append(f"{share.quantity}, {share.data}: {verdict}")
    return "; ".join(parts)


def _together(result: DiagnosisReproduction) -> list[Block]:
    if not result.together:
        return []
    columns: dict[str, Callable[[CyclesAndWidths], str]] = {
        "judge, criterion": lambda t: f"{t.judge}, {t.criterion}" if t.judge != "all" else "all",
        "data, sets": lambda t: f"{t.data}, {t.sets}",
        "documents": lambda t: number(t.documents),
        "Spearman": lambda t: signed(t.spearman, 2),
        "95 % interval": lambda t: interval(*ends_of(t.interval), 2),
    }
    caption = (
        "Section 5.3: a document's cycle rate and its mean set width (the paper has no number)"
    )
    return [table_of(result.together, columns, caption=caption, text_columns=2)]
