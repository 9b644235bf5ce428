"""Table 2 of the diagnosis paper: five rankings of systems, each against people's mean scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.data.scores import Scores
from adjudge.data.tournaments import TournamentRows, Tournaments, build_tournaments
from adjudge.present.blocks import Block, Table
from adjudge.present.result import Correlation, Count
from adjudge.present.text import DASH, number, show_interval
from adjudge.ranking import copeland, least_reversals, rank_correlations, schulze, win_rate
from adjudge.ranking.orders import order_strengths
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.statistics.numbers import bootstrap_weights, mean_known
from adjudge.validation import FloatArray, IntArray, generator
from adjudge_papers.diagnosis_data import (
    DOCUMENTS,
    MAIN_CRITERION,
    PAPER,
    SYSTEMS,
    published_row,
    published_rows,
    whose,
)
from adjudge_papers.items import ItemBook
from adjudge_papers.reproduction import interval_of

if TYPE_CHECKING:
    from adjudge_papers.diagnosis import DiagnosisReproduction

#: A ranking: the strength of each system from a table of wins.
_Order = Callable[[FloatArray], FloatArray]
#: The paper's five in its order; its "MFAS-Copeland" is the Copeland score.
METHODS: Mapping[str, _Order] = {
    "win-rate": win_rate,
    "bt": fit_strengths,
    "schulze": schulze,
    "copeland": copeland,
    "mfas": lambda wins: order_strengths(least_reversals(wins)),
}
_TOO_SLOW = "mfas"


@dataclass(frozen=True, kw_only=True)
class RankingRow:
    """Table 2: Kendall's tau of a judge's ranking of systems with people's mean scores.

    The interval, 95 %, resamples documents: the hull of percentiles and their reflection. The exact
    order (mfas) is too slow to repeat and has no interval.
    """

    data: str
    judge: str
    criterion: str
    method: str
    systems: Count
    documents: Count
    tau: Correlation | None
    interval: Interval | None = None
    published: Correlation | None = None


def rank_systems(
    name: str,
    compared: TournamentRows,
    same: Mapping[str, Scores],
    scored: Mapping[str, Scores],
    seed: int,
) -> tuple[RankingRow, ...]:
    """On the tournaments, if people scored them (`same`), else on pairs by scores; the paper's."""
    rows = [
        row
        for scores in same.values()
        for row in compare_rankings(
            name, compared.tournaments, people_means(scores.frame), seed=seed
        )
    ]
    # SummEval's people are also in the asked judges' scores: the first ones are enough.
    unique = {(row.judge, row.criterion, row.method): row for row in reversed(rows)}
    rows = [*reversed(unique.values())] or [
        row
        for data, scores in scored.items()
        for row in compare_rankings(
            f"{data}, by scores",
            build_tournaments(compare_by_scores(scores.frame)),
            people_means(scores.frame),
            seed=seed,
        )
    ]
    sizes: dict[str, Any] = {"systems": SYSTEMS, "documents": DOCUMENTS}
    theirs = published_rows("rankings")
    return (
        *rows,
        *(RankingRow(data=PAPER, criterion=MAIN_CRITERION, **sizes, **row) for row in theirs),
    )


def compare_rankings(
    data: str,
    tournaments: Sequence[Tournaments],
    people: pl.DataFrame,
    *,
    replicates: int = 200,
    seed: int = 0,
) -> list[RankingRow]:
    """Kendall's tau-b of every method with people's mean score of each system.

    Wins are summed over documents; an answer of k counts 1/k. `people` has doc_id, model, criterion
    and their mean score. A tournament and people are compared on the documents and systems that
    both have, for the same criterion (any, if the tournament has none or people have one).
    """
    rows = []
    for tournament in tournaments:
        matched = _match(tournament, people)
        if matched is None:
            continue
        wins, means = matched
        weights = bootstrap_weights(len(wins), replicates, generator(seed))
        for method, order in METHODS.items():
            strength, mean = order(wins.sum(axis=0)), np.nanmean(means, axis=0)
            finite = np.isfinite(strength) & np.isfinite(mean)
            tau = rank_correlations(strength[finite], mean[finite])[0]
            drawn = [] if method == _TOO_SLOW else _resample(order, wins, means, weights)
            interval = None
            if tau is not None and len(drawn) > 1 and len(wins) > 2:
                # Percentiles and their reflection: resampling lowers tau, even below the estimate.
                low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
                interval = interval_of(
                    max(-1.0, min(low, 2 * tau - high)), min(1.0, max(high, 2 * tau - low))
                )
            rows.append(
                RankingRow(
                    data=data,
                    judge=tournament.judge or "unnamed",
                    criterion=tournament.criterion or "unnamed",
                    method=method,
                    systems=wins.shape[1],
                    documents=len(wins),
                    tau=tau,
                    interval=interval,
                    published=published_tau(
                        tournament.judge or "", tournament.criterion or "", method
                    ),
                )
            )
    return rows


def _match(tournament: Tournaments, people: pl.DataFrame) -> tuple[FloatArray, FloatArray] | None:
    """Wins (documents, systems, systems) and people's scores (documents, systems) of both."""
    scored = people.filter(
        pl.col("doc_id").is_in(list(tournament.documents)),
        pl.col("model").is_in(list(tournament.models)),
    )
    if people["criterion"].n_unique() != 1:
        scored = scored.filter(pl.col("criterion") == pl.lit(tournament.criterion, pl.String))
    both_models, both_documents = set(scored["model"]), set(scored["doc_id"])
    models = [name for name in tournament.models if name in both_models]
    documents = {n: at for at, n in enumerate(tournament.documents) if n in both_documents}
    if len(models) < 2 or not documents:
        return None
    row, column = ({name: at for at, name in enumerate(names)} for names in (documents, models))
    scores = np.full((len(documents), len(models)), np.nan)
    for document, model, score in scored.select("doc_id", "model", "human").iter_rows():
        scores[row[document], column[model]] = score
    places = [tournament.models.index(name) for name in models]
    tables = [tournament.matrix(at)[1][np.ix_(places, places)] for at in documents.values()]
    return np.stack(tables), scores


def _resample(order: _Order, wins: FloatArray, means: FloatArray, weights: IntArray) -> list[float]:
    """Tau of resampled documents, with wins and human scores of a document together."""
    finite = np.isfinite(means)
    totals = np.einsum("rd,dij->rij", weights.astype(np.float64), wins)
    counts = weights @ finite
    with np.errstate(invalid="ignore"):
        people = (weights @ np.where(finite, means, 0.0)) / counts
    usable = (counts > 0).all(axis=1)
    if not usable.any():
        return []
    together = order is fit_strengths  # it takes all tables in one call
    strengths = order(totals[usable]) if together else np.stack([*map(order, totals[usable])])
    ok = np.isfinite(strengths).all(axis=1)
    taus = _taus(strengths[ok], people[usable][ok])
    return [float(tau) for tau in taus[np.isfinite(taus)]]


def _taus(strengths: FloatArray, means: FloatArray) -> FloatArray:
    """Kendall's tau-b of each row with the same row of the other table."""
    i, j = np.array(list(combinations(range(strengths.shape[1]), 2))).T
    # Strengths that differ only by rounding are equal.
    a, b = (np.sign(np.round(table[:, i] - table[:, j], 9)) for table in (strengths, means))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))


def published_tau(judge: str, criterion: str, method: str) -> float | None:
    """Kendall's tau of Table 2, which is about coherence."""
    if criterion != MAIN_CRITERION:
        return None
    return published_row("rankings", judge, method=method).get("tau")


def compare_by_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """Pairwise verdicts from a judge's scores: the higher score wins, equal scores tie."""
    key = ["judge", "criterion", "doc_id"]
    side = scores.filter(pl.col("judge_score").is_not_null(), pl.col("model").is_not_null()).select(
        *key, "model", "judge_score"
    )
    gap = (pl.col("judge_score") - pl.col("judge_score_b")).sign()
    verdict = gap.replace_strict({1.0: "A", -1.0: "B", 0.0: "tie"}, return_dtype=pl.String)
    return (
        side.join(side, on=key, suffix="_b", nulls_equal=True)
        .filter(pl.col("model") < pl.col("model_b"))
        .select(*key, "model_b", model_a="model", verdict=verdict)
    )


def people_means(scores: pl.DataFrame) -> pl.DataFrame:
    """The human mean score of each summary and criterion, once for all judges."""
    key = ["doc_id", "model", "criterion"]
    return (
        scores.filter(pl.col("human_scores").is_not_null(), pl.col("model").is_not_null())
        .select(*key, human=pl.col("human_scores").list.mean())
        .unique(key, keep="first", maintain_order=True)
    )


# --- the table and its item ------------------------------------------------------------------


def ranking_table(rows: Sequence[RankingRow]) -> list[Block]:
    """A row per judge and criterion, a column per method, the paper's below if it has one."""
    if not rows:
        return []
    first, *others = dict.fromkeys(row.method for row in rows)
    groups: dict[tuple[str, str, str], dict[str, RankingRow]] = {}
    for row in rows:
        groups.setdefault((row.data, row.judge, row.criterion), {})[row.method] = row
    lines = []
    for key, by_method in groups.items():
        name = ", ".join(key if key[0] == PAPER else key[1:])
        sizes = f"{by_method[first].documents:,} x {by_method[first].systems:,}"
        ends = show_interval(by_method[first].interval, 2)
        taus = [number(by_method[method].tau, 3) for method in others]
        lines.append((name, sizes, number(by_method[first].tau, 3), ends, *taus))
        theirs = [number(by_method[method].published, 3) for method in (first, *others)]
        if {*theirs} != {DASH}:
            lines.append(("  paper", DASH, theirs[0], DASH, *theirs[1:]))
    caption = (
        f"Table 2, {rows[0].data}: Kendall's tau with people's mean scores (size: documents x "
        "systems; the interval is over documents)"
    )
    columns = ("judge, criterion", "size", first, "95 % interval", *others)
    return [Table(columns, lines, caption, optional=("size",))]


def add_rankings(book: ItemBook, result: DiagnosisReproduction) -> None:
    """Table 2: mean tau of each method on coherence, or on all criteria without it."""
    rows = [row for row in result.rankings if row.data != PAPER]
    simulated = result.simulated_cycles and any(row.data == result.tournaments for row in rows)
    shown = [row for row in rows if row.criterion == MAIN_CRITERION] or rows
    remark = whose((row.judge for row in rows), simulated)
    if rows and rows[0].data != result.tournaments:
        remark += ", pairs decided by their scores"
    wins, exact = (
        {(row.judge, row.criterion): row.tau for row in shown if row.method == method}
        for method in ("win-rate", "mfas")
    )
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
