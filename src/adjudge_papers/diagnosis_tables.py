"""The numbers of the diagnosis paper: cycles, rankings and score sets, as rows of its tables.

Sets (Tables 3 to 5) follow Eq. 2 and 3 per judge and criterion: calibrated on a random half of the
rows and tested on the other half, 20 times. The same rows are in the same half for every judge, so
that two judges' widths can be compared. Pooling over judges (Figure 4) uses the first split, as in
the paper, whose 1,918 rows are one half of 16 x 240. `diagnose_scores` splits documents instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.scores import Scores, scored_by_both
from adjudge.data.tournaments import Tournaments, build_tournaments
from adjudge.diagnosis import count_cycles, score_set_rows
from adjudge.diagnosis.cycles import complete_cycles
from adjudge.diagnosis.scores.evaluation import error_by_width, split_by_judge
from adjudge.diagnosis.transitivity import Transitivity
from adjudge.ranking import copeland, least_reversals, rank_correlations, schulze, win_rate
from adjudge.ranking.orders import order_strengths
from adjudge.simulate.battles import simulate_tournaments
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.statistics.numbers import bootstrap_weights, conformal_quantile, mean_known
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, generator
from adjudge_papers.diagnosis_data import ALPHAS, CRITERIA, MAIN_ALPHA, SYSTEMS
from adjudge_papers.paper import Row, paper_tables

SCALE = (1, 5)
ALL = "all"
SET_SIZE, WITH_CYCLE = "mean set size", "documents with a cycle"
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
_BY_WIDTH = {None: "one width", True: "never falls", False: "falls"}


# --- cycles ----------------------------------------------------------------------------------


def cycle_rows(result: Transitivity) -> list[Row]:
    """Tables 1 and 6: cycles of every judge and criterion by Eq. 1."""
    return [
        {
            "judge": group.judge or "unnamed",
            "criterion": group.criterion or "unnamed",
            "documents": group.documents,
            "rate": group.eq1_mean,
            "decisive_rate": group.mean_rate,
            "share": group.eq1_share,
            "median": group.eq1_median,
            "max": group.eq1_max,
            "chance_share": group.same_rate_share,
        }
        for group in result.groups
    ]


def noise_rows(seed: int = 0) -> list[Row]:
    """The published shares, and those of a consistent judge with noise at the same mean rate."""
    return [
        {key: row[key] for key in ("judge", "criterion", "share")}
        | {"chance_share": _chance_share(row["rate"], seed + CRITERIA.index(row["criterion"]))}
        for row in paper_tables("diagnosis")["cycles"].published
    ]


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


def variance_row(
    data: str, quantity: str, grid: Mapping[tuple[str, str], float | None]
) -> list[Row]:
    """The shares of a two-way table's sum of squares; none without two of each, or without spread.

    Judges that lack a criterion are left out, so that the table is complete. `rest` is what neither
    explains alone.

    >>> grid = {("x", "c"): 1.0, ("x", "d"): 3.0, ("y", "c"): 1.0, ("y", "d"): 3.0}
    >>> [(row["criterion"], row["judge"]) for row in variance_row("data", "size", grid)]
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
        {"data": data, "quantity": quantity, "cells": table.size, "criterion": by_criterion}
        | {"judge": by_judge, "rest": max(0.0, 1 - by_criterion - by_judge)}
    ]


def variance_of(data: str, quantity: str, rows: Sequence[Row]) -> list[Row]:
    """The same for rows of a judge and criterion: the size of sets, or documents with a cycle."""
    field = "mean_size" if quantity == SET_SIZE else "share"
    return variance_row(
        data, quantity, {(row["judge"], row["criterion"]): row[field] for row in rows}
    )


def published_variance() -> list[Row]:
    """The shares for the paper's Tables 3 and 6."""
    tables = paper_tables("diagnosis")
    sizes, cycles = tables["signals"].published, tables["cycles"].published
    return variance_of("paper", SET_SIZE, sizes) + variance_of("paper", WITH_CYCLE, cycles)


def cycles_and_widths(tournaments: Sequence[Tournaments], scores: Scores) -> list[Row]:
    """Section 5.3: do documents with cycles get wide sets? Per judge and criterion, and over all.

    Sets are the paper's, calibrated row by row on all rows. Over all, a document has its mean rate
    and its mean width.
    """
    rows = [
        (
            *(tournament.judge or "", tournament.criterion or "", document),
            count_cycles(tournament.matrix(at)[0]).rate,
        )
        for tournament in tournaments
        for at, document in enumerate(tournament.documents)
    ]
    names = {"judge": pl.String, "criterion": pl.String, "doc_id": pl.String, "rate": pl.Float64}
    # Documents with a decisive triple.
    rates = pl.DataFrame(rows, schema=names, orient="row").drop_nulls("rate")
    widths = (
        score_set_rows(scores, alpha=MAIN_ALPHA, sets="residual", weigh="rows")
        .filter(pl.col("set_size").is_not_null())
        .group_by("judge", "criterion", "doc_id", maintain_order=True)
        .agg(width=pl.col("set_size").mean())
    )
    both = rates.join(widths, on=["judge", "criterion", "doc_id"], maintain_order="left")
    groups = both.partition_by(["judge", "criterion"], as_dict=True, maintain_order=True)
    if len(groups) > 1:
        mean = both.group_by("doc_id", maintain_order=True).agg(pl.col("rate", "width").mean())
        groups[ALL, ALL] = mean
    parts: list[Row] = []
    for (judge, criterion), documents in groups.items():
        rate, width = documents["rate"].to_numpy(), documents["width"].to_numpy()
        low, high = spearman_interval(rate, width, np.arange(len(rate)))
        parts.append(
            {"judge": str(judge), "criterion": str(criterion), "sets": "residual"}
            | {"documents": len(rate), "spearman": spearman(rate, width)}
            | {"spearman_low": low, "spearman_high": high}
        )
    return parts


# --- rankings --------------------------------------------------------------------------------


def compare_rankings(
    tournaments: Sequence[Tournaments],
    people: pl.DataFrame,
    *,
    replicates: int = 200,
    seed: int = 0,
) -> list[Row]:
    """Table 2: Kendall's tau-b of every method with people's mean score of each system.

    Wins are summed over documents; an answer of k counts 1/k. `people` has doc_id, model, criterion
    and their mean score. A tournament and people are compared on the documents and systems that
    both have, for the same criterion (any, if the tournament has none or people have one). The
    interval, 95 %, resamples documents: the hull of percentiles and their reflection. The exact
    order (mfas) is too slow to repeat and has no interval.
    """
    rows: list[Row] = []
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
            ends: dict[str, float | None] = {"tau_low": None, "tau_high": None}
            if tau is not None and len(drawn) > 1 and len(wins) > 2:
                # Percentiles and their reflection: resampling lowers tau, even below the estimate.
                low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
                ends = {
                    "tau_low": max(-1.0, min(low, 2 * tau - high)),
                    "tau_high": min(1.0, max(high, 2 * tau - low)),
                }
            rows.append(
                {"judge": tournament.judge or "unnamed", "method": method, "tau": tau, **ends}
                | {"criterion": tournament.criterion or "unnamed"}
                | {"systems": wins.shape[1], "documents": len(wins)}
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


def compare_by_scores(scores: pl.DataFrame) -> list[Tournaments]:
    """Tournaments from a judge's scores: the higher score wins, equal scores tie."""
    key = ["judge", "criterion", "doc_id"]
    side = scores.filter(pl.col("judge_score").is_not_null(), pl.col("model").is_not_null()).select(
        *key, "model", "judge_score"
    )
    gap = (pl.col("judge_score") - pl.col("judge_score_b")).sign()
    verdict = gap.replace_strict({1.0: "A", -1.0: "B", 0.0: "tie"}, return_dtype=pl.String)
    return list(
        build_tournaments(
            side.join(side, on=key, suffix="_b", nulls_equal=True)
            .filter(pl.col("model") < pl.col("model_b"))
            .select(*key, "model_b", model_a="model", verdict=verdict)
        )
    )


def people_means(scores: pl.DataFrame) -> pl.DataFrame:
    """The human mean score of each summary and criterion, once for all judges."""
    key = ["doc_id", "model", "criterion"]
    return (
        scores.filter(pl.col("human_scores").is_not_null(), pl.col("model").is_not_null())
        .select(*key, human=pl.col("human_scores").list.mean())
        .unique(key, keep="first", maintain_order=True)
    )


# --- score sets ------------------------------------------------------------------------------


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


def set_tables(scores: Scores, *, splits: int = 20, seed: int = 0) -> dict[str, list[Row]]:
    """Tables 3 to 5, pooled correlations, and errors by width; `scores` is of `prepare_scores`."""
    cells = _cells(scores, splits, seed)
    pooled, bins = [], []
    for criterion in (ALL, *dict.fromkeys(cell.criterion for cell in cells)):
        row, by_width = _pooled(criterion, [c for c in cells if criterion in (ALL, c.criterion)])
        pooled.append(row)
        bins += by_width
    return {
        "signals": [_signal(cell) for cell in cells],
        "agreement": [
            _pair(first, second)
            for first, second in combinations(cells, 2)
            if first.criterion == second.criterion and first.judge != second.judge
        ],
        "sets": [_level(cell, alpha) for cell in cells for alpha in ALPHAS],
        "pooled": pooled,
        "bins": bins,
    }


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


def _tested(cell: _Cell, alpha: float) -> list[tuple[IntArray, BoolArray, FloatArray]]:
    """Width, coverage and error of the tested rows of each split."""
    return [
        (width[test], held[test], cell.error[test])
        for test, (width, held) in zip(cell.tests, cell.sets[alpha], strict=True)
    ]


def _level(cell: _Cell, alpha: float) -> Row:
    tested = _tested(cell, alpha)
    coverage = [float(held.mean()) for _, held, _ in tested]
    return {
        "judge": cell.judge,
        "criterion": cell.criterion,
        "alpha": alpha,
        "coverage": float(np.mean(coverage)),
        "coverage_sd": float(np.std(coverage)),
        "mean_size": float(np.mean([width.mean() for width, _, _ in tested])),
        "margin": float(np.mean(coverage)) - 1 + alpha,
    }


def _signal(cell: _Cell) -> Row:
    """Table 3; the p-value treats rows as independent, as the paper does."""
    tested = _tested(cell, MAIN_ALPHA)
    rank = mean_known([spearman(width, error) for width, _, error in tested])
    widths, _, errors = tested[0]
    by_width = [float(errors[widths == w].mean()) for w in np.unique(widths)]
    rises = all(low <= high + 1e-12 for low, high in pairwise(by_width))
    monotonic = None if len(by_width) < 2 else rises
    level = _level(cell, MAIN_ALPHA)
    return {
        **{name: level[name] for name in ("judge", "criterion", "coverage", "mean_size")},
        "n": len(widths),
        "spearman": rank,
        "p_value": spearman_p(rank, len(widths)),
        "by_width": _BY_WIDTH[monotonic],
        "monotonic": None if monotonic is None else int(monotonic),
    }


def _pair(first: _Cell, second: _Cell) -> Row:
    _, mine, theirs = np.intersect1d(first.key, second.key, return_indices=True)
    values, rows = [], 0
    for at, (first_sets, second_sets) in enumerate(
        zip(first.sets[MAIN_ALPHA], second.sets[MAIN_ALPHA], strict=True)
    ):
        both = first.tests[at][mine] & second.tests[at][theirs]
        rows = max(rows, int(both.sum()))
        values.append(spearman(first_sets[0][mine][both], second_sets[0][theirs][both]))
    value = mean_known(values)
    return {
        "judge_a": first.judge,
        "judge_b": second.judge,
        "criterion": first.criterion,
        "spearman": value,
        "p_value": spearman_p(value, rows),
        "n": rows,
    }


def _pooled(criterion: str, cells: Sequence[_Cell]) -> tuple[Row, list[Row]]:
    """A panel of Figure 4: the test rows of the first split; intervals leave out one document."""
    tested = [
        (cell.sets[MAIN_ALPHA][0][0][test], cell.error[test], cell.document[test])
        for cell in cells
        for test in cell.tests[:1]
    ]
    width, error, document = map(np.concatenate, zip(*tested, strict=True))
    value = spearman(width, error)
    low, high = spearman_interval(width, error, document)
    row: dict[str, Any] = {
        "criterion": criterion,
        "n": len(width),
        "spearman": value,
        "spearman_low": low,
        "spearman_high": high,
        "p_value": spearman_p(value, len(width)),
    }
    bins: list[Row] = [
        {"criterion": criterion, "width": entry.width, "n": entry.n}
        | {"mean_error": entry.mean_error, "mean_error_low": ends[0], "mean_error_high": ends[1]}
        for entry in error_by_width(width, error, document, SCALE, 0.95)
        for ends in [tuple(entry.interval or (None, None))]
    ]
    return row, bins
