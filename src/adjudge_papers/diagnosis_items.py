"""The outcome of every table, figure and claim of the diagnosis paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean

from adjudge_papers import diagnosis_published as published
from adjudge_papers.diagnosis_measures import ALL, SET_SIZE, WITH_CYCLE
from adjudge_papers.diagnosis_rankings import METHODS
from adjudge_papers.diagnosis_result import (
    PAPER,
    CycleRow,
    DiagnosisReproduction,
    SetCell,
    VarianceShare,
)
from adjudge_papers.items import (
    ItemBook,
    ItemValue,
    PaperItem,
    ends_of,
    in_percent,
    mean_of,
    over,
    value_of,
)

_ONE_JUDGE = "needs two judges' scores of the same rows"


def list_items(result: DiagnosisReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    book = ItemBook("diagnosis", simulated=result.simulated_scores)
    _design(book, result)
    _cycles(book, result)
    _rankings(book, result)
    _sets(book, result)
    _widths(book, result)
    _claims(book, result)
    return book.items()


def _whose(judges: Sequence[str], simulated: bool) -> str:
    """The part of the paper's data in the rows; its judges' answers are not published."""
    if simulated:
        return ""
    theirs = {published.published_judge(name) for name in judges} - {None}
    return (
        f"{len(theirs)} of the paper's {len(published.JUDGES)} judges"
        if theirs
        else "other judges than the paper's"
    )


def _design(book: ItemBook, result: DiagnosisReproduction) -> None:
    book.add(
        "Figure 1", "The pipeline: answers of its two protocols",
        value_of("pairwise answers", float(result.pairwise_answers), published.PAIRWISE_CALLS, 0),
        value_of("scores", float(result.score_answers), published.SCORE_CALLS, 0),
        simulated=result.simulated_cycles or result.simulated_scores,
        remark="a drawing without data: only its counts",
    )  # fmt: skip


def _main_criterion(rows: Sequence[CycleRow]) -> str:
    """Coherence, which the paper shows; else the first available criterion."""
    names = [row.criterion for row in rows]
    return "coherence" if "coherence" in names else names[0]


def _cycles(book: ItemBook, result: DiagnosisReproduction) -> None:
    rows, simulated = result.cycles, result.simulated_cycles
    remark = _whose([row.judge for row in rows], simulated)
    add = partial(book.add, simulated=simulated, remark=remark)
    shown = [row for row in rows if row.criterion == _main_criterion(rows)]
    cells = [cell for own in published.CYCLES.values() for cell in own]
    first = [own[0] for own in published.CYCLES.values()]
    largest = [own[0] for own in published.EXTREMES.values()]
    medians = [own[1] for own in published.EXTREMES.values()]
    add("Table 1", f"Cycles by document, {shown[0].criterion}",
        *_ends("mean rate, %", (row.rate for row in shown), [cell[0] for cell in first]),
        *_ends("documents with a cycle, %", (row.share for row in shown),
               [cell[1] for cell in first]),
        *_ends("largest rate, %", (row.max for row in shown), largest),
        *_ends("median rate, %", (row.median for row in shown), medians))  # fmt: skip
    add("Table 6", "Cycles by document, every criterion",
        *_ends("mean rate, %", (row.rate for row in rows), [cell[0] for cell in cells]),
        *_ends("documents with a cycle, %", (row.share for row in rows),
               [cell[1] for cell in cells]))  # fmt: skip
    counted = any(group.rates for group in result.transitivity.groups)
    add("Figure 2", "Distribution of the rate over documents",
        value_of("largest rate, %", in_percent(over((row.max for row in rows), max)), 30.4),
        figure="figure-02", missing="" if counted else "no decisive triple")  # fmt: skip


def _ends(
    name: str, values: Iterable[float | None], paper: Sequence[float]
) -> tuple[ItemValue, ItemValue]:
    """The smallest and largest of shares, in percent."""
    known = [in_percent(value) for value in values]
    return ends_of(name, known, (100 * min(paper), 100 * max(paper)))


def _rankings(book: ItemBook, result: DiagnosisReproduction) -> None:
    rows = [row for row in result.rankings if row.data != PAPER]
    simulated = result.simulated_cycles and any(row.data == result.tournaments for row in rows)
    names = {row.criterion for row in rows}
    shown = [row for row in rows if row.criterion == "coherence" or "coherence" not in names]
    remark = _whose([row.judge for row in rows], simulated)
    if rows and rows[0].data != result.tournaments:
        remark += ", pairs decided by their scores"
    wins = {(row.judge, row.criterion): row.tau for row in shown if row.method == "win-rate"}
    exact = {(row.judge, row.criterion): row.tau for row in shown if row.method == "mfas"}
    better = [
        tau > before + 1e-9
        for key, tau in exact.items()
        if tau is not None and (before := wins.get(key)) is not None
    ]
    book.add(
        "Table 2", "Kendall's tau of five rankings with people's means",
        *(
            mean_of(f"{method}, mean over judges",
                    (row.tau for row in shown if row.method == method),
                    fmean(published.RANKINGS[method]), 3)
            for method in METHODS
        ),
        value_of("judges whose tau MFAS raises over win rate",
                 float(sum(better)) if better else None, 1, 0),
        simulated=simulated, remark=remark,
        missing="" if rows else "needs human scores of two systems on the same documents",
    )  # fmt: skip


def _sets(book: ItemBook, result: DiagnosisReproduction) -> None:
    cells = [cell for cell in result.sets if cell.data == result.pictured]
    main = [cell for cell in cells if cell.alpha == published.MAIN_ALPHA]
    remark = _whose([cell.judge for cell in cells], result.simulated_scores)
    add = partial(book.add, remark=remark)
    at = published.ALPHAS.index(published.MAIN_ALPHA)
    for name, figure, about in (
        ("Table 3", None, "Coverage, size and width against error at alpha 0.1"),
        ("Figure 3", "figure-03", "Mean set size by judge and criterion"),
    ):
        signals = () if figure else tuple(
            mean_of(f"width against error, {criterion}, mean over judges",
                    (cell.spearman for cell in main if cell.criterion == criterion),
                    fmean(values), 2)
            for criterion, values in published.WIDTH_ERROR.items()
        )  # fmt: skip
        add(name, about, *(
            mean_of(f"mean size, {criterion}",
                    (cell.mean_size for cell in main if cell.criterion == criterion),
                    fmean(own[number][at][1] for own in published.SETS.values()), 2)
            for number, criterion in enumerate(published.CRITERIA)
        ) if _has_criteria(main) else (mean_of("mean size", [c.mean_size for c in main], None, 2),),
            *signals, figure=figure)  # fmt: skip
    short = [cell for cell in cells if cell.coverage < 1 - cell.alpha - 1e-9]
    below = sum(
        coverage < 1 - alpha
        for own in published.SETS.values()
        for by_alpha in own
        for alpha, (coverage, _) in zip(published.ALPHAS, by_alpha, strict=True)
    )
    for name, figure, about in (
        ("Table 5", None, "Coverage and size at every level"),
        ("Figure 6", "figure-06", "Coverage against alpha"),
    ):
        add(name, about, value_of("cells", float(len(cells)), 64, 0),
            value_of("cells below 1 - alpha", float(len(short)), below, 0),
            value_of("least coverage minus target, points",
                     over((100 * (cell.coverage - 1 + cell.alpha) for cell in cells), min),
                     _published_margin()), figure=figure)  # fmt: skip


def _has_criteria(cells: Sequence[SetCell]) -> bool:
    return bool({cell.criterion for cell in cells} & {*published.CRITERIA})


def _published_margin() -> float:
    """The distance of a cell of Table 5 from its target, in points."""
    return min(
        100 * (coverage - 1 + alpha)
        for own in published.SETS.values()
        for by_alpha in own
        for alpha, (coverage, _) in zip(published.ALPHAS, by_alpha, strict=True)
    )


def _widths(book: ItemBook, result: DiagnosisReproduction) -> None:
    pooled = {part.criterion: part for part in result.pooled if part.data == result.pictured}
    main = [
        cell for cell in result.sets
        if cell.data == result.pictured and cell.alpha == published.MAIN_ALPHA
    ]  # fmt: skip
    remark = _whose([cell.judge for cell in main], result.simulated_scores)
    add = partial(book.add, remark=remark)
    add("Figure 4", "Error at each set width, all judges together",
        *(
            value_of(f"width against error, {criterion}", part.spearman, part.published, 2)
            for criterion, part in pooled.items()
            if criterion is not None
        ),
        figure="figure-04")  # fmt: skip
    several = [cell for cell in main if cell.monotonic is not None]
    falls = sum(not cell.monotonic for cell in several)
    whole = pooled[None]
    add("Section 5.2, width and error", "Set width predicts the judge's error",
        value_of("all rows pooled", whole.spearman, published.POOLED_WIDTH, 3),
        value_of("rows", float(whole.n), published.POOLED_ROWS, 0),
        value_of("cells where the error never falls with the width",
                 float(len(several) - falls), published.MONOTONIC, 0),
        value_of("cells where it falls", float(falls), published.NOT_MONOTONIC, 0),
        value_of("cells whose sets have one width", float(len(main) - len(several)), None, 0),
        )  # fmt: skip
    pairs = [pair for pair in result.pairs if pair.data == result.pictured]
    clear = [
        pair for pair in pairs
        if pair.criterion != "coherence" and pair.p_value is not None and pair.p_value < 0.05
        and pair.spearman is not None and pair.spearman > 0
    ]  # fmt: skip
    for name, figure in (("Table 4", None), ("Figure 5", "figure-05")):
        add(name, "Widths that two judges give the same rows",
            *(
                mean_of(f"{criterion}, mean over pairs",
                        (pair.spearman for pair in pairs if pair.criterion == criterion),
                        published.AGREEMENT_MEANS.get(criterion), 2)
                for criterion in dict.fromkeys(pair.criterion for pair in pairs)
            ),
            value_of("pairs with p < 0.05, other than coherence", float(len(clear)),
                     published.SIGNIFICANT_PAIRS, 0),
            figure=figure, missing="" if pairs else _ONE_JUDGE)  # fmt: skip


def _claims(book: ItemBook, result: DiagnosisReproduction) -> None:
    for quantity, data, simulated, section in (
        (SET_SIZE, result.pictured, result.simulated_scores, "Section 5.2, criterion or judge"),
        (WITH_CYCLE, result.tournaments, result.simulated_cycles,
         "Section 5.3, criterion or judge"),
    ):  # fmt: skip
        ours, paper = _variance(result, data, quantity), _variance(result, PAPER, quantity)
        judges = (
            [row.judge for row in result.cycles]
            if quantity == WITH_CYCLE
            else [cell.judge for cell in result.sets if cell.data == data]
        )
        book.add(
            section, f"Source of variance: {quantity}",
            *(
                value_of(f"by {name}, %",
                         in_percent(None if ours is None else getattr(ours, name)),
                         in_percent(None if paper is None else getattr(paper, name)))
                for name in ("criterion", "judge", "rest")
            ),
            simulated=simulated, remark=_whose(judges, simulated),
            missing="" if ours is not None else "needs two judges and two criteria",
        )  # fmt: skip
    parts = [part for part in result.together if part.data == result.pictured]
    whole = [part for part in parts if part.judge == ALL] or parts
    book.add(
        "Section 5.3, cycles and widths", "Documents with cycles have wide sets",
        *(value_of(f"Spearman over documents, {part.sets} sets", part.spearman, None, 2)
          for part in whole),
        simulated=result.simulated_cycles or result.simulated_scores,
        remark="the paper prints no number",
        missing="" if parts else "needs tournaments and scores of one judge on the same "
        "documents",
        unknown="the cycles or the widths of all documents are equal",
    )  # fmt: skip
    book.add(
        "Appendix A", "The prompts", missing="no numbers: --judge asks with these prompts",
    )  # fmt: skip
    book.add(
        "Section 7, prompts", "Sensitivity to the prompt",
        missing="the paper leaves it to future work: `adjudge diagnose prompts A B` measures it",
    )  # fmt: skip


def _variance(result: DiagnosisReproduction, data: str, quantity: str) -> VarianceShare | None:
    named = (one for one in result.variance if (one.data, one.quantity) == (data, quantity))
    return next(named, None)
