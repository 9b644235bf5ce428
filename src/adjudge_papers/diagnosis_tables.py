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
from itertools import combinations, pairwise, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.data import join_human_scores, read_public
from adjudge.data.scores import Scores, read_human_scores, scored_by_both
from adjudge.data.tables import TableLike, source_name
from adjudge.data.tournaments import Tournaments, build_tournaments
from adjudge.diagnosis import count_cycles, score_set_rows
from adjudge.diagnosis.cycles import complete_cycles
from adjudge.diagnosis.scores.diagnose import error_by_width
from adjudge.diagnosis.scores.judges import KEY, split_by_judge
from adjudge.diagnosis.transitivity import Transitivity
from adjudge.errors import DataError
from adjudge.judges import judge_pairs
from adjudge.judges.prompting import builtin_prompt
from adjudge.judges.protocols.criterion import ByCriterion
from adjudge.judges.protocols.likert import Likert
from adjudge.ranking import copeland, least_reversals, rank_correlations, schulze, win_rate
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.statistics.numbers import bootstrap_weights, conformal_quantile, mean_known
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    exact_level,
    generator,
    non_negative,
)
from adjudge_papers.paper import (
    Row,
    ends_of,
    paper_tables,
    read_prompts,
    read_published,
    read_rows,
    row_of,
)

_DATA = read_published("diagnosis")
JUDGES: Sequence[str] = _DATA["judges"]
CRITERIA: Sequence[str] = _DATA["criteria"]
ALPHAS: tuple[float, ...] = tuple(_DATA["alphas"])
#: The level of everything except Table 5 and Figure 6.
MAIN_ALPHA = 0.10
#: The criterion of Tables 1 and 2.
MAIN_CRITERION = "coherence"
DOCUMENTS: int = _DATA["design"]["documents"]
SYSTEMS: int = _DATA["design"]["systems"]
REPEATS: int = _DATA["design"]["repeats"]


# --- SummEval --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Size:
    """The part of SummEval that is used: the first documents, and evenly spaced systems.

    The paper's 8 of 16 systems are 0, 2, 4, 6, 9, 11, 13 and 15, in the release's order.
    """

    documents: int | None = DOCUMENTS
    systems: int | None = SYSTEMS

    def cut(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of those documents and systems."""
        documents = rows["doc_id"].unique(maintain_order=True)
        systems = rows["model"].unique(maintain_order=True)
        if self.documents is not None:
            documents = documents.head(count(self.documents, "documents", least=2))
        if self.systems is not None and count(self.systems, "systems", least=2) < len(systems):
            places = np.rint(np.linspace(0, len(systems) - 1, self.systems)).astype(int)
            systems = systems[places.tolist()]
        return rows.filter(
            pl.col("doc_id").is_in(documents.implode()), pl.col("model").is_in(systems.implode())
        )


@dataclass(frozen=True)
class Answers:
    """Judges' answers by both protocols: tournaments, and scores with human scores."""

    tournaments: pl.DataFrame
    scores: pl.DataFrame


def crowd_as_judge(summeval: TableLike, size: Size) -> pl.DataFrame:
    """SummEval's crowd mean as a judge's score, compared with the experts as people."""
    rows = size.cut(read_public(summeval, "summeval", kind="human_scores").frame)
    return rows.rename({"turker_mean": "judge_score"}).with_columns(
        pl.lit("crowd workers").alias("judge")
    )


def ask_judges(
    summeval: TableLike,
    judges: Sequence[str],
    size: Size,
    *,
    repeats: int = REPEATS,
    samples: int | None = None,
    min_answer_mass: float | None = None,
    prompts: Mapping[str, str | Path] | None = None,
    **asking: Any,
) -> Answers:
    """Both protocols with the paper's prompts: all pairs in one order, `repeats` times, and scores.

    `samples` is for judges without log probabilities; `min_answer_mass` as in `judge_pairs`;
    `prompts` are the user's by protocol; `asking` are its other options.
    """
    count(repeats, "repeats", least=1)
    texts = read_prompts(prompts, "criterion", "likert")
    items = size.cut(read_public(summeval, "summeval", kind="items").frame)
    options: dict[str, Any] = {"samples": samples, "min_answer_mass": min_answer_mass}
    compared = judge_pairs(
        _all_pairs(items, source_name(summeval)),
        judge=[*judges],
        protocol=ByCriterion(
            prompt=texts.get("criterion") or builtin_prompt("diagnosis_pairwise"),
            order="ab",
            **options,
        ),
        repeats=repeats,
        **asking,
    ).judgments
    scoring = Likert(prompt=texts.get("likert") or builtin_prompt("diagnosis_likert"), **options)
    scored = judge_pairs(items, judge=[*judges], protocol=scoring, **asking).judgments
    people = read_human_scores(read_public(summeval, "summeval", kind="human_scores").frame)
    columns = [c for c in ("verdict", "p_a", "order", "repeat") if c in compared.columns]
    joined, _ = join_human_scores(scored.drop("protocol"), people)
    return Answers(
        # The protocol contains the criterion, which has its own column.
        compared.select("doc_id", "model_a", "model_b", "judge", "criterion", *columns),
        joined,
    )


def _all_pairs(items: pl.DataFrame, name: str) -> pl.DataFrame:
    """Every pair of systems on every document, the earlier system first."""
    order = items["model"].unique(maintain_order=True)
    place = pl.col("model").replace_strict(order, range(len(order)))
    side = items.with_columns(place=place)
    both = side.join(side, on="doc_id", suffix="_b").filter(pl.col("place") < pl.col("place_b"))
    pairs = both.select(
        "doc_id",
        "prompt",
        id=pl.concat_str("doc_id", "model", "model_b", separator="|"),
        response_a="response",
        response_b="response_b",
        model_a="model",
        model_b="model_b",
        prompt_id="doc_id",
    )
    if pairs.is_empty():
        raise DataError(name, "no document has two systems", remedy="give the complete release")
    return pairs


# --- a simulated study -----------------------------------------------------------------------

#: Mean and spread of people's scores.
_PEOPLE = {
    "coherence": (3.4, 1.1), "consistency": (5.3, 1.0), "fluency": (5.2, 0.8),
    "relevance": (3.8, 0.85),
}  # fmt: skip
STUDY: tuple[Row, ...] = tuple(read_rows(_DATA["simulator"]))
#: The share of the noise in a judge's scores that all judges have.
_SHARED = 0.8
#: The spread of the logarithm of a document's hardness.
_HARDNESS = 0.4
#: The lowest score that judges give.
_LOWEST = 2


def simulate_study(
    *,
    documents: int = 30,
    models: int = 8,
    cells: Sequence[Row] = STUDY,
    repeats: int = 3,
    slip: float = 0.3,
    again: float = 0.05,
    seed: Seed = 0,
) -> Answers:
    """The same judges compare summaries and score them; by default with the paper's size.

    A summary has a quality z ~ N(0, 1) on each criterion. People's score is their mean plus spread
    times z, a judge's is

        mean + spread (skill z + sqrt(1 - skill^2) noise) / hardness_d,

    rounded and clipped to 1 to 5; judges do not give a 1. Means, spreads and skills are those of
    the data file, fitted to the paper's Table 3, so that the pattern of its tables shows: judges
    rarely give a 5 where people nearly always do, and that makes wide sets and large errors. They
    show that the method runs as described, and replicate nothing. On document d a judge prefers
    model i to j if

        z_i - z_j + slip spread hardness_d L_ij + again L_ask  >  0,

    L is standard logistic, one draw per pair and one for each time it is asked. So on a hard
    document a judge gives scores in the middle, which have wide sets and large errors, and has
    cycles; on an easy one neither.

    >>> study = simulate_study(documents=2, models=3, repeats=1, seed=1)
    >>> study.scores.height, study.tournaments.height  # 16 judges and criteria, 6 or 2 x 3 rows
    (96, 96)
    """
    count(documents, "documents", least=1)
    count(models, "models", least=2)
    count(repeats, "repeats", least=1)
    non_negative(slip, "slip")
    non_negative(again, "again")
    rng = generator(seed)
    shape = (documents, models)
    criteria = dict.fromkeys(str(cell["criterion"]) for cell in cells)
    quality = {name: rng.normal(size=shape) for name in criteria}
    shared = {name: rng.normal(size=shape) for name in criteria}
    hardness = np.exp(_HARDNESS * rng.normal(size=(documents, 1)))
    i, j = np.array(list(combinations(range(models), 2))).T
    doc_names = np.array([f"doc-{d}" for d in range(documents)])
    names = np.array([f"system-{s}" for s in range(models)])
    scores = []
    tournaments = []
    for cell in cells:
        judge = cell["judge"]
        criterion = cell["criterion"]
        skill = cell["skill"]
        z = quality[criterion]
        mean, spread = _PEOPLE.get(criterion, _PEOPLE[MAIN_CRITERION])
        # The variance of the noise is 1, whatever share of it judges have in common.
        unshared = np.sqrt(1 - _SHARED**2) * rng.normal(size=shape)
        noise = _SHARED * shared[criterion] + unshared
        lean = (skill * z + np.sqrt(1 - skill**2) * noise) / hardness
        stated = cell["mean"] + cell["spread"] * lean
        labels = {"judge": judge, "criterion": criterion}
        columns = {
            "doc_id": np.repeat(doc_names, models),
            "model": np.tile(names, documents),
            "judge_score": np.clip(np.rint(stated), _LOWEST, 5).ravel(),
            "human_score": np.clip(np.rint(mean + spread * z), 1, 5).ravel(),
        }
        scores.append(pl.DataFrame(columns | labels))
        doubt = slip * cell["spread"] * hardness * rng.logistic(size=(documents, len(i)))
        edge = z[:, i] - z[:, j] + doubt
        asked = edge + again * rng.logistic(size=(repeats, *edge.shape))
        columns = {
            "doc_id": np.tile(np.repeat(doc_names, len(i)), repeats),
            "model_a": np.tile(names[i], documents * repeats),
            "model_b": np.tile(names[j], documents * repeats),
            "repeat": np.repeat([str(k) for k in range(repeats)], edge.size),
            "verdict": np.where(asked > 0, "A", "B").ravel(),
        }
        tournaments.append(pl.DataFrame(columns | {"order": "ab"} | labels))
    return Answers(pl.concat(tournaments), pl.concat(scores))


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
