"""Cycles of the diagnosis paper: Tables 1 and 6, Figure 2, and its claims about their cause.

Sections 5.2 and 5.3: what explains the variance of cells, and whether documents with cycles get
wide sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adjudge.data.scores import Scores
from adjudge.data.tournaments import Tournaments
from adjudge.diagnosis import count_cycles, score_set_rows
from adjudge.diagnosis.cycles import complete_cycles
from adjudge.diagnosis.transitivity import Transitivity, cycles_figure
from adjudge.present.blocks import Block, Note, table_of
from adjudge.present.result import Correlation, Count, Proportion
from adjudge.present.text import number, percent, show_interval, signed
from adjudge.records import Interval
from adjudge.simulate.battles import simulate_tournaments
from adjudge.statistics.agreement import spearman, spearman_interval
from adjudge_papers.diagnosis_data import (
    CRITERIA,
    MAIN_ALPHA,
    MAIN_CRITERION,
    PAPER,
    SYSTEMS,
    compare,
    published_row,
    published_rows,
    whose,
)
from adjudge_papers.items import ItemBook, Measured, ends_of, in_percent, over
from adjudge_papers.reproduction import Gallery, interval_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.diagnosis import DiagnosisReproduction

#: A number for each judge and criterion.
Grid = Mapping[tuple[str, str], float | None]
#: The name for all judges and criteria together.
ALL = "all"
SET_SIZE, WITH_CYCLE = "mean set size", "documents with a cycle"
PICTURES = Gallery()


@dataclass(frozen=True, kw_only=True)
class PublishedCycles:
    """One row of Tables 1 and 6 as published.

    `chance_share` is the share of documents with a cycle for a consistent judge with noise, if its
    noise is tuned to the published rate.
    """

    judge: str
    criterion: str
    rate: Proportion
    share: Proportion
    max: Proportion | None
    median: Proportion | None
    chance_share: Proportion


@dataclass(frozen=True, kw_only=True)
class CycleRow:
    """One row of Tables 1 and 6, ours. `rate`, `share`, `median` and `max` are by Eq. 1.

    `decisive_rate` divides by decisive triples; `chance_share` is the share of documents with a
    cycle if this rate were spread at random over them.
    """

    judge: str
    criterion: str
    documents: Count
    rate: Proportion | None
    decisive_rate: Proportion | None
    share: Proportion | None
    median: Proportion | None
    max: Proportion | None
    chance_share: Proportion | None
    published_rate: Proportion | None = None
    published_share: Proportion | None = None


@dataclass(frozen=True, kw_only=True)
class VarianceShare:
    """How much of a quantity's variance over judges and criteria each of the two explains.

    From the sums of squares of the two-way table of cells; `rest` is what neither explains alone.
    """

    data: str
    quantity: str
    cells: Count
    criterion: Proportion
    judge: Proportion
    rest: Proportion


@dataclass(frozen=True, kw_only=True)
class CyclesAndWidths:
    """Section 5.3: Spearman over documents of the cycle rate and the mean set width."""

    data: str
    judge: str
    criterion: str
    sets: str
    documents: Count
    spearman: Correlation | None
    interval: Interval | None


# --- Tables 1 and 6, Figure 2 ----------------------------------------------------------------


def cycle_rows(result: Transitivity) -> tuple[CycleRow, ...]:
    """Cycles of every judge and criterion, with the paper's."""
    rows = []
    for group in result.groups:
        judge, criterion = group.judge or "unnamed", group.criterion or "unnamed"
        paper = published_row("cycles", judge, criterion=criterion)
        rows.append(
            CycleRow(
                judge=judge,
                criterion=criterion,
                documents=group.documents,
                rate=group.eq1_mean,
                decisive_rate=group.mean_rate,
                share=group.eq1_share,
                median=group.eq1_median,
                max=group.eq1_max,
                chance_share=group.same_rate_share,
                published_rate=paper.get("rate"),
                published_share=paper.get("share"),
            )
        )
    return tuple(rows)


def published_cycles(seed: int = 0) -> tuple[PublishedCycles, ...]:
    """Tables 1 and 6, and the share of a consistent judge with noise at the same rate."""
    return tuple(
        PublishedCycles(
            **row, chance_share=_chance_share(row["rate"], seed + CRITERIA.index(row["criterion"]))
        )
        for row in published_rows("cycles")
    )


@cache
def _chance_share(rate: float, seed: int) -> float:
    """The share of documents with a cycle, at the noise at which a judge has this mean rate."""
    i, j = np.array(list(combinations(range(SYSTEMS), 2))).T
    systems = np.arange(SYSTEMS)

    def measured(noise: float) -> tuple[float, float]:
        drawn = simulate_tournaments(
            documents=200, models=SYSTEMS, document_spread=1.0, noise=noise, seed=seed
        )
        first = (drawn.frame["verdict"] == "A").to_numpy().reshape(-1, len(i), 1)
        wins = np.where(first, i[:, None] == systems, j[:, None] == systems).sum(axis=1)
        rates = complete_cycles(wins) / comb(SYSTEMS, 3)
        return float(rates.mean()), float((rates > 0).mean())

    low, high = np.log(0.02), np.log(2.0)
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if measured(np.exp(middle))[0] > rate else (middle, high)
    return measured(float(np.exp((low + high) / 2)))[1]


def cycle_tables(result: DiagnosisReproduction) -> list[Block]:
    """Ours, then the paper's with what noise alone would show."""
    ours = compare(
        result.cycles,
        {
            "documents": ("documents", number),
            "rate": ("rate", percent),
            "decisive": ("decisive_rate", percent),
            "with cycle": ("share", percent),
            "at random": ("chance_share", percent),
            "median": ("median", percent),
            "max": ("max", percent),
        },
        f"Tables 1 and 6, {result.tournaments}: cycles over all triples (Eq. 1) and over decisive "
        "ones, documents with one, and the same rate at random",
        optional=("documents", "median"),
    )
    apart = [abs(row.share - row.chance_share) for row in result.published_cycles]
    theirs = compare(
        result.published_cycles,
        {
            "rate": ("rate", percent),
            "with a cycle": ("share", percent),
            "by noise": ("chance_share", percent),
            "median": ("median", percent),
            "max": ("max", percent),
        },
        "Tables 1 and 6 as published, and documents with a cycle of a consistent judge with noise "
        f"({100 * sum(apart) / len(apart):.0f} points apart on average)",
        optional=("median",),
    )
    return [ours, theirs]


@PICTURES.add(
    "figure-02",
    "Each dot is a document; the bar is the mean rate that a transitive judge with noise shows "
    "on the same comparisons.",
)
def figure_2(result: DiagnosisReproduction) -> Drawing:
    """Violins of the rate per document by judge and criterion."""
    return cycles_figure(result.transitivity)


def _percent_ends(rows: Iterable[CycleRow], **titles: str) -> Measured:
    """The range of each of these fields in percent."""
    measured: Measured = {}
    for field, title in titles.items():
        measured |= ends_of(f"{title}, %", (in_percent(getattr(row, field)) for row in rows))
    return measured


def add_cycles(book: ItemBook, result: DiagnosisReproduction) -> None:
    """Tables 1 and 6 and Figure 2."""
    rows, simulated = result.cycles, result.simulated_cycles
    remark = whose((row.judge for row in rows), simulated)
    add = partial(book.add, simulated=simulated, remark=remark)
    # Coherence, which the paper shows; else the first available criterion.
    names = [row.criterion for row in rows]
    criterion = MAIN_CRITERION if MAIN_CRITERION in names else names[0]
    titles = {"rate": "mean rate", "share": "documents with a cycle"}
    add(
        "Table 1",
        _percent_ends(
            [row for row in rows if row.criterion == criterion],
            **titles,
            max="largest rate",
            median="median rate",
        ),
        about=f"Cycles by document, {criterion}",
    )
    add("Table 6", _percent_ends(rows, **titles))
    counted = any(group.rates for group in result.transitivity.groups)
    add(
        "Figure 2",
        {"largest rate, %": in_percent(over((row.max for row in rows), max))},
        missing="" if counted else "no decisive triple",
    )


# --- Sections 5.2 and 5.3: variance ----------------------------------------------------------


def share_variance(data: str, quantity: str, grid: Grid) -> list[VarianceShare]:
    """The shares of a two-way table's sum of squares; None without two of each, or without spread.

    Judges that lack a criterion are left out, so that the table is complete.

    >>> grid = {("x", "c"): 1.0, ("x", "d"): 3.0, ("y", "c"): 1.0, ("y", "d"): 3.0}
    >>> [(one.criterion, one.judge) for one in share_variance("data", "size", grid)]
    [(1.0, 0.0)]
    """
    judges = list(dict.fromkeys(judge for judge, _ in grid))
    criteria = list(dict.fromkeys(criterion for _, criterion in grid))
    rows = [[grid.get((judge, criterion)) for criterion in criteria] for judge in judges]
    table = np.array([row for row in rows if None not in row], dtype=np.float64)
    if len(table) < 2 or len(criteria) < 2:
        return []
    mean, total = table.mean(), float(((table - table.mean()) ** 2).sum())
    if total <= 1e-12:
        return []
    by_criterion = len(table) * float(((table.mean(axis=0) - mean) ** 2).sum()) / total
    by_judge = len(criteria) * float(((table.mean(axis=1) - mean) ** 2).sum()) / total
    return [
        VarianceShare(
            data=data,
            quantity=quantity,
            cells=table.size,
            criterion=by_criterion,
            judge=by_judge,
            rest=max(0.0, 1 - by_criterion - by_judge),
        )
    ]


def published_variance() -> list[VarianceShare]:
    """The same shares for the paper's Tables 5 and 6."""
    shares = []
    for quantity, table, column in (SET_SIZE, "sets", "mean_size"), (WITH_CYCLE, "cycles", "share"):
        rows = [r for r in published_rows(table) if r.get("alpha", MAIN_ALPHA) == MAIN_ALPHA]
        grid = {(row["judge"], row["criterion"]): row[column] for row in rows}
        shares += share_variance(PAPER, quantity, grid)
    return shares


def explain_variance(
    sizes: Mapping[str, Grid], tournaments: str, cycles: Sequence[CycleRow]
) -> tuple[VarianceShare, ...]:
    """The paper's shares, then those of the set sizes of every data set and of the cycles."""
    shares = published_variance()
    for data, grid in sizes.items():
        shares += share_variance(data, SET_SIZE, grid)
    with_cycle = {(row.judge, row.criterion): row.share for row in cycles}
    return (*shares, *share_variance(tournaments, WITH_CYCLE, with_cycle))


# --- Section 5.3: cycles and widths ----------------------------------------------------------


def cycles_and_widths(
    data: str, tournaments: Sequence[Tournaments], scores: Scores
) -> list[CyclesAndWidths]:
    """Do documents with cycles get wide sets? Per judge and criterion of both, and over all.

    Sets are the paper's, calibrated row by row on all rows; if the judge gave probabilities, also
    adaptive ones. Over all, a document has its mean rate and its mean width.
    """
    rows = [
        (
            tournament.judge or "",
            tournament.criterion or "",
            document,
            count_cycles(tournament.matrix(at)[0]).rate,
        )
        for tournament in tournaments
        for at, document in enumerate(tournament.documents)
    ]
    names = {"judge": pl.String, "criterion": pl.String, "doc_id": pl.String, "rate": pl.Float64}
    # Documents with a decisive triple.
    rates = pl.DataFrame(rows, schema=names, orient="row").drop_nulls("rate")
    kinds = {"residual": "rows", "adaptive": "documents"}
    if "score_probs" not in scores.frame.columns or scores.frame["score_probs"].null_count():
        del kinds["adaptive"]
    parts = []
    for sets, weigh in kinds.items():
        widths = (
            score_set_rows(scores, alpha=MAIN_ALPHA, sets=sets, weigh=weigh)
            .filter(pl.col("set_size").is_not_null())
            .group_by("judge", "criterion", "doc_id", maintain_order=True)
            .agg(width=pl.col("set_size").mean())
        )
        both = rates.join(widths, on=["judge", "criterion", "doc_id"], maintain_order="left")
        groups = both.partition_by(["judge", "criterion"], as_dict=True, maintain_order=True)
        if len(groups) > 1:
            mean = both.group_by("doc_id", maintain_order=True).agg(pl.col("rate", "width").mean())
            groups[ALL, ALL] = mean
        for (judge, criterion), documents in groups.items():
            rate, width = documents["rate"].to_numpy(), documents["width"].to_numpy()
            parts.append(
                CyclesAndWidths(
                    data=data,
                    judge=str(judge),
                    criterion=str(criterion),
                    sets=sets,
                    documents=len(rate),
                    spearman=spearman(rate, width),
                    interval=interval_of(*spearman_interval(rate, width, np.arange(len(rate)))),
                )
            )
    return parts


# --- tables and items of the claims ----------------------------------------------------------


def claim_tables(result: DiagnosisReproduction) -> list[Block]:
    """What explains the variance, a sentence on each quantity, and cycles with widths."""
    ordered = sorted(result.variance, key=lambda v: v.quantity, reverse=True)
    variance: dict[str, Callable[[VarianceShare], str]] = {
        "quantity": lambda v: v.quantity,
        "data": lambda v: v.data,
        "cells": lambda v: number(v.cells),
        "criterion": lambda v: percent(v.criterion, 0),
        "judge": lambda v: percent(v.judge, 0),
        "rest": lambda v: percent(v.rest, 0),
    }
    parts = []
    for share in ordered:
        verdict = "neither criterion nor judge explains twice as much as the other"
        if share.criterion > 2 * share.judge:
            verdict = "criterion explains more than judge"
        elif share.judge > 2 * share.criterion:
            verdict = "judge explains more than criterion"
        parts.append(f"{share.quantity}, {share.data}: {verdict}")
    caption = "Sections 5.2 and 5.3: what explains the variance over judges and criteria"
    blocks: list[Block] = [
        table_of(ordered, variance, caption=caption, text_columns=2),
        Note(["; ".join(parts)]),
    ]
    together: dict[str, Callable[[CyclesAndWidths], str]] = {
        "judge, criterion": lambda t: f"{t.judge}, {t.criterion}" if t.judge != ALL else ALL,
        "data, sets": lambda t: f"{t.data}, {t.sets}",
        "documents": lambda t: number(t.documents),
        "Spearman": lambda t: signed(t.spearman, 2),
        "95 % interval": lambda t: show_interval(t.interval, 2),
    }
    if result.together:
        caption = "Section 5.3: a document's cycle rate and its mean set width"
        caption += " (the paper has no number)"
        blocks.append(table_of(result.together, together, caption=caption, text_columns=2))
    return blocks


def add_claims(book: ItemBook, result: DiagnosisReproduction) -> None:
    """The claims about criterion and judge, and about documents with cycles."""
    by_name = {(share.data, share.quantity): share for share in reversed(result.variance)}

    def shares(data: str, quantity: str) -> Measured:
        share = by_name.get((data, quantity))
        names = ("criterion", "judge", "rest")
        return {f"by {name}, %": in_percent(getattr(share, name, None)) for name in names}

    scored = [cell.judge for cell in result.pictured_cells]
    compared = [row.judge for row in result.cycles]
    for section, quantity, data, simulated, judges in (
        ("5.2", SET_SIZE, result.pictured, result.simulated_scores, scored),
        ("5.3", WITH_CYCLE, result.tournaments, result.simulated_cycles, compared),
    ):
        here = (data, quantity) in by_name
        book.add(
            f"Section {section}, criterion or judge",
            shares(data, quantity),
            published=shares(PAPER, quantity),
            simulated=simulated,
            remark=whose(judges, simulated),
            missing="" if here else "needs two judges and two criteria",
        )
    parts = [part for part in result.together if part.data == result.pictured]
    whole = [part for part in parts if part.judge == ALL] or parts
    book.add(
        "Section 5.3, cycles and widths",
        {f"Spearman over documents, {part.sets} sets": part.spearman for part in whole},
        simulated=result.simulated,
        remark="the paper prints no number",
        missing="" if parts else "needs tournaments and scores of one judge on the same documents",
        unknown="the cycles or the widths of all documents are equal",
    )
