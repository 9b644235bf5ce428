"""The outcome of every table, figure and claim of the diagnosis paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from adjudge.statistics.numbers import mean_known
from adjudge_papers.diagnosis_data import CRITERIA, JUDGES, MAIN_ALPHA, PAPER, published_judge
from adjudge_papers.diagnosis_measures import ALL, METHODS, SET_SIZE, WITH_CYCLE
from adjudge_papers.items import ItemBook, Measured, PaperItem, ends_of, in_percent, over

if TYPE_CHECKING:
    from adjudge_papers.diagnosis import DiagnosisReproduction
    from adjudge_papers.diagnosis_measures import VarianceShare
    from adjudge_papers.diagnosis_sets import SetCell

_MAIN_CRITERION = "coherence"


def list_items(result: DiagnosisReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    cells = [cell for cell in result.sets if cell.data == result.pictured]
    remark = _whose((cell.judge for cell in cells), result.simulated_scores)
    book = ItemBook("diagnosis", simulated=result.simulated_scores, remark=remark)
    simulated = result.simulated_cycles or result.simulated_scores
    book.add(
        "Figure 1",
        {
            "pairwise answers": float(result.pairwise_answers),
            "scores": float(result.score_answers),
        },
        simulated=simulated,
        remark="a drawing without data: only its counts",
    )
    _add_cycles(book, result)
    _add_rankings(book, result)
    _add_sets(book, cells)
    _add_widths(book, result, [cell for cell in cells if cell.alpha == MAIN_ALPHA])
    _add_claims(book, result)
    return book.items()


def _whose(judges: Iterable[str], simulated: bool) -> str:
    """The part of the paper's data in the rows; its judges' answers are not published."""
    if simulated:
        return ""
    theirs = {published_judge(name) for name in judges} - {None}
    if not theirs:
        return "other judges than the paper's"
    return f"{len(theirs)} of the paper's {len(JUDGES)} judges"


def _percent_ends(name: str, shares: Iterable[float | None]) -> Measured:
    return ends_of(name, map(in_percent, shares))


def _add_cycles(book: ItemBook, result: DiagnosisReproduction) -> None:
    rows, simulated = result.cycles, result.simulated_cycles
    add = partial(
        book.add, simulated=simulated, remark=_whose((row.judge for row in rows), simulated)
    )
    # Coherence, which the paper shows; else the first available criterion.
    names = [row.criterion for row in rows]
    criterion = _MAIN_CRITERION if _MAIN_CRITERION in names else names[0]
    shown = [row for row in rows if row.criterion == criterion]
    add(
        "Table 1",
        _percent_ends("mean rate, %", (row.rate for row in shown))
        | _percent_ends("documents with a cycle, %", (row.share for row in shown))
        | _percent_ends("largest rate, %", (row.max for row in shown))
        | _percent_ends("median rate, %", (row.median for row in shown)),
        about=f"Cycles by document, {criterion}",
    )
    add(
        "Table 6",
        _percent_ends("mean rate, %", (row.rate for row in rows))
        | _percent_ends("documents with a cycle, %", (row.share for row in rows)),
    )
    counted = any(group.rates for group in result.transitivity.groups)
    add(
        "Figure 2",
        {"largest rate, %": in_percent(over((row.max for row in rows), max))},
        missing="" if counted else "no decisive triple",
    )


def _add_rankings(book: ItemBook, result: DiagnosisReproduction) -> None:
    rows = [row for row in result.rankings if row.data != PAPER]
    simulated = result.simulated_cycles and any(row.data == result.tournaments for row in rows)
    names = {row.criterion for row in rows}
    shown = [
        row for row in rows if row.criterion == _MAIN_CRITERION or _MAIN_CRITERION not in names
    ]
    remark = _whose((row.judge for row in rows), simulated)
    if rows and rows[0].data != result.tournaments:
        remark += ", pairs decided by their scores"
    wins = {(row.judge, row.criterion): row.tau for row in shown if row.method == "win-rate"}
    exact = {(row.judge, row.criterion): row.tau for row in shown if row.method == "mfas"}
    better = [
        tau > before + 1e-9
        for key, tau in exact.items()
        if tau is not None and (before := wins.get(key)) is not None
    ]
    measured = {
        f"{method}, mean over judges": mean_known(row.tau for row in shown if row.method == method)
        for method in METHODS
    }
    raised = float(sum(better)) if better else None
    book.add(
        "Table 2",
        measured | {"judges whose tau MFAS raises over win rate": raised},
        simulated=simulated,
        remark=remark,
        missing="" if rows else "needs human scores of two systems on the same documents",
    )


def _add_sets(book: ItemBook, cells: Sequence[SetCell]) -> None:
    main = [cell for cell in cells if cell.alpha == MAIN_ALPHA]
    if {cell.criterion for cell in main} & {*CRITERIA}:
        sizes = {
            f"mean size, {criterion}": mean_known(
                cell.mean_size for cell in main if cell.criterion == criterion
            )
            for criterion in CRITERIA
        }
    else:
        sizes = {"mean size": mean_known(cell.mean_size for cell in main)}
    signals = {
        f"width against error, {criterion}, mean over judges": mean_known(
            cell.spearman for cell in main if cell.criterion == criterion
        )
        for criterion in CRITERIA[:2]
    }
    book.add("Table 3", sizes | signals)
    book.add("Figure 3", sizes)
    margins = [cell.coverage - 1 + cell.alpha for cell in cells]
    levels = {
        "cells": float(len(cells)),
        "cells below 1 - alpha": float(sum(margin < -1e-9 for margin in margins)),
        "least coverage minus target, points": in_percent(over(margins, min)),
    }
    book.add("Table 5", levels)
    book.add("Figure 6", levels)


def _add_widths(book: ItemBook, result: DiagnosisReproduction, cells: Sequence[SetCell]) -> None:
    pooled = {part.criterion: part for part in result.pooled if part.data == result.pictured}
    book.add(
        "Figure 4",
        {
            f"width against error, {criterion}": part.spearman
            for criterion, part in pooled.items()
            if criterion is not None
        },
    )
    several = [cell for cell in cells if cell.monotonic is not None]
    falls = sum(not cell.monotonic for cell in several)
    book.add(
        "Section 5.2, width and error",
        {
            "all rows pooled": pooled[None].spearman,
            "rows": float(pooled[None].n),
            "cells where the error never falls with the width": float(len(several) - falls),
            "cells where it falls": float(falls),
            "cells whose sets have one width": float(len(cells) - len(several)),
        },
    )
    pairs = [pair for pair in result.pairs if pair.data == result.pictured]
    agreement = {
        f"{criterion}, mean over pairs": mean_known(
            pair.spearman for pair in pairs if pair.criterion == criterion
        )
        for criterion in dict.fromkeys(pair.criterion for pair in pairs)
    }
    clear = sum(
        (pair.spearman or 0) > 0 and pair.p_value is not None and pair.p_value < 0.05
        for pair in pairs
        if pair.criterion != _MAIN_CRITERION
    )
    for name in ("Table 4", "Figure 5"):
        book.add(
            name,
            agreement | {"pairs with p < 0.05, other than coherence": float(clear)},
            missing="" if pairs else "needs two judges' scores of the same rows",
        )


def _add_claims(book: ItemBook, result: DiagnosisReproduction) -> None:
    scored = [cell.judge for cell in result.sets if cell.data == result.pictured]
    compared = [row.judge for row in result.cycles]
    for section, quantity, data, simulated, judges in (
        ("5.2", SET_SIZE, result.pictured, result.simulated_scores, scored),
        ("5.3", WITH_CYCLE, result.tournaments, result.simulated_cycles, compared),
    ):
        ours, paper = (_variance(result, name, quantity) for name in (data, PAPER))
        book.add(
            f"Section {section}, criterion or judge",
            _shares(ours),
            published=_shares(paper),
            simulated=simulated,
            remark=_whose(judges, simulated),
            missing="" if ours is not None else "needs two judges and two criteria",
        )
    parts = [part for part in result.together if part.data == result.pictured]
    whole = [part for part in parts if part.judge == ALL] or parts
    book.add(
        "Section 5.3, cycles and widths",
        {f"Spearman over documents, {part.sets} sets": part.spearman for part in whole},
        simulated=result.simulated_cycles or result.simulated_scores,
        remark="the paper prints no number",
        missing="" if parts else "needs tournaments and scores of one judge on the same documents",
        unknown="the cycles or the widths of all documents are equal",
    )


def _variance(result: DiagnosisReproduction, data: str, quantity: str) -> VarianceShare | None:
    named = (share for share in result.variance if (share.data, share.quantity) == (data, quantity))
    return next(named, None)


def _shares(variance: VarianceShare | None) -> Measured:
    return {
        f"by {source}, %": in_percent(None if variance is None else getattr(variance, source))
        for source in ("criterion", "judge", "rest")
    }
