"""The numbers of the diagnosis paper: cycles, rankings and score sets, as rows of its tables.

Sets (Tables 3 to 5) follow Eq. 2 and 3 per judge and criterion: calibrated on a random half of the
rows and tested on the other half, 20 times. The same rows are in the same half for every judge, so
that two judges' widths can be compared. Pooling over judges (Figure 4) uses the first split, as in
the paper, whose 1,918 rows are one half of 16 x 240. `diagnose_scores` splits documents instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations, pairwise, product
from math import comb
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.scores import Scores, scored_by_both
from adjudge.data.tournaments import Tournaments, build_tournaments
from adjudge.diagnosis import count_cycles, score_set_rows
from adjudge.diagnosis.cycles import complete_cycles
from adjudge.diagnosis.scores.diagnose import error_by_width
from adjudge.diagnosis.scores.judges import KEY, split_by_judge
from adjudge.diagnosis.transitivity import Transitivity
from adjudge.ranking import copeland, least_reversals, rank_correlations, schulze, win_rate
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.statistics.numbers import bootstrap_weights, conformal_quantile, mean_known
from adjudge.validation import (
    FloatArray,
    IntArray,
    exact_level,
    generator,
)
from adjudge_papers.diagnosis_study import ALPHAS, CRITERIA, MAIN_ALPHA, SYSTEMS
from adjudge_papers.paper import ends_of, row_of
from adjudge_papers.printed import Row, paper_tables

# --- cycles, rankings and score sets ----------------------------------------------------------

SCALE = (1, 5)
ALL = "all"
SET_SIZE = "mean set size"
WITH_CYCLE = "documents with a cycle"
#: A ranking: the strength of each system from a table of wins.
_Order = Callable[[FloatArray], FloatArray]
#: The paper's five in its order; its "MFAS-Copeland" is the Copeland score.
METHODS: Mapping[str, _Order] = {
    "win-rate": win_rate,
    "bt": fit_strengths,
    "schulze": schulze,
    "copeland": copeland,
    "mfas": lambda wins: least_reversals(wins).strengths,
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
            "chance_share": group.same_rate_share,
            "median": group.eq1_median,
            "max": group.eq1_max,
        }
        for group in result.groups
    ]


def noise_rows(seed: int = 0) -> list[Row]:
    """The published shares, and those of a consistent judge with noise at the same mean rate."""
    rows: list[Row] = []
    for row in paper_tables("diagnosis")["cycles"].published:
        published = {key: row[key] for key in ("judge", "criterion", "share")}
        chance = _chance_share(row["rate"], seed + CRITERIA.index(row["criterion"]))
        rows.append(published | {"chance_share": chance})
    return rows


@cache
def _chance_share(rate: float, seed: int) -> float:
    """The share of documents with a cycle, at the noise at which a judge has this mean rate."""
    i, j = np.array(list(combinations(range(SYSTEMS), 2))).T
    systems = np.arange(SYSTEMS)
    rng = generator(seed)
    view = rng.normal(size=SYSTEMS) + rng.normal(size=(200, SYSTEMS))
    gap = view[:, i] - view[:, j]
    doubt = rng.logistic(size=(200, len(i)))

    def measured(noise: float) -> tuple[float, float]:
        first = (gap + noise * doubt > 0)[..., None]
        wins = np.where(first, i[:, None] == systems, j[:, None] == systems).sum(axis=1)
        rates = complete_cycles(wins) / comb(SYSTEMS, 3)
        return float(rates.mean()), float((rates > 0).mean())

    low = np.log(0.02)
    high = np.log(2.0)
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
    mean = table.mean()

    def squares(values: FloatArray) -> float:
        return float(((values - mean) ** 2).sum())

    total = squares(table)
    if total <= 1e-12:
        return []
    by_criterion = len(table) * squares(table.mean(axis=0)) / total
    by_judge = len(criteria) * squares(table.mean(axis=1)) / total
    row = {
        "data": data,
        "quantity": quantity,
        "cells": table.size,
        "criterion": by_criterion,
        "judge": by_judge,
        "rest": max(0.0, 1 - by_criterion - by_judge),
    }
    return [row]


def variance_of(data: str, quantity: str, rows: Sequence[Row]) -> list[Row]:
    """The same for rows of a judge and criterion: the size of sets, or documents with a cycle."""
    field = "mean_size" if quantity == SET_SIZE else "share"
    grid = {(row["judge"], row["criterion"]): row[field] for row in rows}
    return variance_row(data, quantity, grid)


def published_variance() -> list[Row]:
    """The shares for the paper's Tables 3 and 6."""
    tables = paper_tables("diagnosis")
    shown = {"signals": SET_SIZE, "cycles": WITH_CYCLE}
    rows = []
    for name, quantity in shown.items():
        rows += variance_of("paper", quantity, tables[name].published)
    return rows


def cycles_and_widths(tournaments: Sequence[Tournaments], scores: Scores) -> list[Row]:
    """Section 5.3: do documents with cycles get wide sets? Per judge and criterion, and over all.

    Sets are the paper's, calibrated row by row on all rows. Over all, a document has its mean rate
    and its mean width.
    """
    rows = []
    for tournament in tournaments:
        for at, document in enumerate(tournament.documents):
            rate = count_cycles(tournament.matrix(at)[0]).rate
            rows.append((tournament.judge or "", tournament.criterion or "", document, rate))
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
    correlations: list[Row] = []
    for (judge, criterion), documents in groups.items():
        rates_here = documents["rate"].to_numpy()
        widths_here = documents["width"].to_numpy()
        n = len(documents)
        row = {
            "judge": str(judge),
            "criterion": str(criterion),
            "sets": "residual",
            "documents": n,
            "spearman": spearman(rates_here, widths_here),
        }
        interval = spearman_interval(rates_here, widths_here, np.arange(n))
        correlations.append(row | ends_of("spearman", interval))
    return correlations


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
            strength = order(wins.sum(axis=0))
            mean = np.nanmean(means, axis=0)
            finite = np.isfinite(strength) & np.isfinite(mean)
            tau = rank_correlations(strength[finite], mean[finite])[0]
            drawn = [] if method == _TOO_SLOW else _resample(order, wins, means, weights)
            ends = None
            if tau is not None and len(drawn) > 1 and len(wins) > 2:
                # Percentiles and their reflection: resampling lowers tau, even below the estimate.
                low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
                least = min(low, 2 * tau - high)
                most = max(high, 2 * tau - low)
                ends = (max(-1.0, least), min(1.0, most))
            row = {
                "judge": tournament.judge or "unnamed",
                "method": method,
                "tau": tau,
                **ends_of("tau", ends),
                "criterion": tournament.criterion or "unnamed",
                "systems": wins.shape[1],
                "documents": len(wins),
            }
            rows.append(row)
    return rows


def _match(tournament: Tournaments, people: pl.DataFrame) -> tuple[FloatArray, FloatArray] | None:
    """Wins (documents, systems, systems) and people's scores (documents, systems) of both."""
    scored = people.filter(
        pl.col("doc_id").is_in(list(tournament.documents)),
        pl.col("model").is_in(list(tournament.models)),
    )
    if people["criterion"].n_unique() != 1:
        scored = scored.filter(pl.col("criterion") == pl.lit(tournament.criterion, pl.String))
    here = scored.pivot(on="model", index="doc_id", values="human")
    models = [name for name in tournament.models if name in here.columns]
    seen = {name: at for at, name in enumerate(here["doc_id"])}
    documents = {n: at for at, n in enumerate(tournament.documents) if n in seen}
    if len(models) < 2 or not documents:
        return None
    scores = here.select(models).to_numpy().astype(np.float64)[[seen[name] for name in documents]]
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
    a = np.sign(np.round(strengths[:, i] - strengths[:, j], 9))
    b = np.sign(np.round(means[:, i] - means[:, j], 9))
    untied_a = (a**2).sum(axis=1)
    untied_b = (b**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt(untied_a * untied_b))


def compare_by_scores(scores: pl.DataFrame) -> list[Tournaments]:
    """Tournaments from a judge's scores: the higher score wins, equal scores tie."""
    key = ["judge", "criterion", "doc_id"]
    side = scores.select(*key, "model", "judge_score").drop_nulls(["model", "judge_score"])
    gap = (pl.col("judge_score") - pl.col("judge_score_b")).sign()
    verdict = gap.replace_strict({1.0: "A", -1.0: "B", 0.0: "tie"}, return_dtype=pl.String)
    pairs = side.join(side, on=key, suffix="_b", nulls_equal=True)
    battles = pairs.filter(pl.col("model") < pl.col("model_b"))
    return list(
        build_tournaments(battles.select(*key, "model_b", model_a="model", verdict=verdict))
    )


def people_means(scores: pl.DataFrame) -> pl.DataFrame:
    """The human mean score of each summary and criterion, once for all judges."""
    key = ["doc_id", "model", "criterion"]
    scored = scores.drop_nulls(["human_scores", "model"])
    means = scored.select(*key, human=pl.col("human_scores").list.mean())
    return means.unique(key, keep="first", maintain_order=True)


# --- score sets ------------------------------------------------------------------------------


def set_tables(scores: Scores, *, splits: int = 20, seed: int = 0) -> dict[str, list[Row]]:
    """Tables 3 to 5, pooled correlations, and errors by width; `scores` is of `prepare_scores`."""
    tested = _test_sets(scores, splits, seed)
    cell = ["judge", "criterion"]
    coverage = pl.col("coverage")
    splits_of_levels = tested.group_by(*cell, "alpha", "split", maintain_order=True).agg(
        coverage=pl.col("held").mean(), mean_size=pl.col("width").mean()
    )
    levels = splits_of_levels.group_by(*cell, "alpha", maintain_order=True).agg(
        coverage.mean(), pl.col("mean_size").mean(), coverage_sd=coverage.std(ddof=0)
    )
    levels = levels.with_columns(margin=coverage - 1 + pl.col("alpha"))
    main = tested.filter(pl.col("alpha") == MAIN_ALPHA).drop("alpha")
    first = main.filter(pl.col("split") == 0)
    criteria = dict.fromkeys(main["criterion"])
    panels = {ALL: first} | {c: first.filter(pl.col("criterion") == c) for c in criteria}
    pooled = [_pool(criterion, panel) for criterion, panel in panels.items()]
    sizes = levels.filter(pl.col("alpha") == MAIN_ALPHA).select(*cell, "coverage", "mean_size")
    cells = main.partition_by(cell, maintain_order=True)
    signals: list[Row] = [
        row | _signal(rows) for row, rows in zip(sizes.to_dicts(), cells, strict=True)
    ]
    bins = [row for _, bins in pooled for row in bins]
    # Two cells of one criterion are of different judges.
    couples = [(x, y) for x, y in combinations(cells, 2) if x["criterion"][0] == y["criterion"][0]]
    return {
        "signals": signals,
        "agreement": [_agree(x, y) for x, y in couples],
        "sets": list(levels.to_dicts()),
        "pooled": [row for row, _ in pooled],
        "bins": bins,
    }


def _test_sets(scores: Scores, splits: int, seed: int) -> pl.DataFrame:
    """The tested rows of each judge, criterion, level and split: set size, coverage and error."""
    frame = scored_by_both(scores).frame
    judges = split_by_judge(frame, scale=SCALE, target="mean")
    names = dict.fromkeys(key for rows in judges for key in rows.frame[KEY])
    number_of = {name: place for place, name in enumerate(names)}
    rng = generator(seed)
    # One permutation of the rows per split; a cell uses the first half of its rows in it.
    orders = [rng.permutation(len(names)) for _ in range(splits)]
    steps = np.arange(SCALE[0], SCALE[1] + 1)
    parts = []
    for rows in judges:
        for criterion, at in rows.by_criterion.items():
            score = rows.score[at]
            document = rows.document[at]
            error = np.abs(score - rows.target.score[at].astype(np.float64))
            key = np.array([number_of[name] for name in rows.frame[KEY].filter(at)])
            for alpha, (split, order) in product(ALPHAS, enumerate(orders)):
                test = np.argsort(np.argsort(order[key])) >= len(key) // 2
                # Eq. 2 and 3; with too few rows a set is the entire scale.
                quantile = conformal_quantile(error[~test], exact_level(alpha))
                reach = (np.inf if quantile is None else quantile) + 1e-9
                inside = np.abs(score[test, None] - steps) <= reach
                columns = {"key": key[test], "document": document[test], "error": error[test]}
                columns |= {"width": inside.sum(axis=1), "held": error[test] <= reach}
                labels = {"judge": rows.judge, "criterion": criterion, "alpha": alpha}
                parts.append(pl.DataFrame(columns | labels | {"split": split}))
    return pl.concat(parts)


def _signal(cell: pl.DataFrame) -> dict[str, Any]:
    """Table 3; the p-value treats rows as independent, as the paper does."""
    splits = cell.partition_by("split", maintain_order=True)
    rank = mean_known([spearman(*_arrays(split, "width", "error")) for split in splits])
    by_width = splits[0].group_by("width").agg(pl.col("error").mean()).sort("width")["error"]
    rises = all(low <= high + 1e-12 for low, high in pairwise(by_width))
    monotonic = None if len(by_width) < 2 else rises
    n = splits[0].height
    return {
        "n": n,
        "spearman": rank,
        "p_value": spearman_p(rank, n),
        "by_width": _BY_WIDTH[monotonic],
        "monotonic": None if monotonic is None else int(monotonic),
    }


def _arrays(frame: pl.DataFrame, *columns: str) -> list[Any]:
    return [frame[column].to_numpy() for column in columns]


def _agree(cell_a: pl.DataFrame, cell_b: pl.DataFrame) -> Row:
    """Table 4: the rank correlation of the widths that two judges give the same rows."""
    both = cell_a.join(cell_b, on=["split", "key"], suffix="_b", maintain_order="left")
    splits = both.partition_by("split", maintain_order=True)
    value = mean_known([spearman(*_arrays(split, "width", "width_b")) for split in splits])
    n = max((split.height for split in splits), default=0)
    return {
        "judge_a": cell_a["judge"][0],
        "judge_b": cell_b["judge"][0],
        "criterion": cell_a["criterion"][0],
        "spearman": value,
        "p_value": spearman_p(value, n),
        "n": n,
    }


def _pool(criterion: str, rows: pl.DataFrame) -> tuple[Row, list[Row]]:
    """A panel of Figure 4: the test rows of the first split; intervals leave out one document."""
    width, error, document = _arrays(rows, "width", "error", "document")
    n = len(width)
    value = spearman(width, error)
    row = {
        "criterion": criterion,
        "n": n,
        "spearman": value,
        **ends_of("spearman", spearman_interval(width, error, document)),
        "p_value": spearman_p(value, n),
    }
    bins: list[Row] = [
        row_of(entry, "width n mean_error", criterion=criterion)
        | ends_of("mean_error", entry.interval)
        for entry in error_by_width(width, error, document, SCALE, 0.95)
    ]
    return row, bins
