"""What the diagnosis paper claims over judges, criteria and documents, as numbers.

Table 2: five rankings of systems, each against people's mean scores. Sections 5.2 and 5.3: what
explains the variance of cells, and whether documents with cycles get wide sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from adjudge.data.scores import Scores
from adjudge.data.tournaments import Tournaments
from adjudge.diagnosis import count_cycles, score_set_rows
from adjudge.present.result import Correlation, Count, Proportion
from adjudge.ranking import copeland, least_reversals, rank_correlations, schulze, win_rate
from adjudge.ranking.orders import order_strengths
from adjudge.records import Interval
from adjudge.statistics.agreement import spearman, spearman_interval
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.statistics.numbers import bootstrap_weights
from adjudge.validation import FloatArray, IntArray, generator
from adjudge_papers.diagnosis_data import MAIN_ALPHA, PAPER, published_row, published_rows
from adjudge_papers.diagnosis_sets import SetCell
from adjudge_papers.reproduction import interval_of

#: The paper's five in its order; its "MFAS-Copeland" is the Copeland score.
METHODS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "win-rate": win_rate,
    "bt": fit_strengths,
    "schulze": schulze,
    "copeland": copeland,
    "mfas": lambda wins: order_strengths(least_reversals(wins)),
}
_TOO_SLOW = "mfas"
#: A number for each judge and criterion.
Grid = Mapping[tuple[str, str], float | None]
#: The name for all judges and criteria together.
ALL = "all"
SET_SIZE, WITH_CYCLE = "mean set size", "documents with a cycle"


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


# --- rankings --------------------------------------------------------------------------------


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
        scored = _same_criterion(tournament, people)
        matched = _match(tournament, scored)
        if matched is None:
            continue
        wins, means, documents = matched
        weights = bootstrap_weights(len(wins), replicates, generator(seed))
        for method, order in METHODS.items():
            drawn = [] if method == _TOO_SLOW else _resample(order, wins, means, weights)
            tau = _tau(order, wins.sum(axis=0), np.nanmean(means, axis=0))
            interval = None
            if tau is not None and len(drawn) > 1 and documents > 2:
                interval = interval_of(*_hull(tau, np.array(drawn)))
            rows.append(
                RankingRow(
                    data=data,
                    judge=tournament.judge or "unnamed",
                    criterion=tournament.criterion or "unnamed",
                    method=method,
                    systems=wins.shape[1],
                    documents=documents,
                    tau=tau,
                    interval=interval,
                    published=published_tau(
                        tournament.judge or "", tournament.criterion or "", method
                    ),
                )
            )
    return rows


def _same_criterion(tournament: Tournaments, people: pl.DataFrame) -> pl.DataFrame:
    names = people["criterion"].unique()
    if tournament.criterion is None or len(names) == 1:
        return people if len(names) == 1 else people.clear()
    return people.filter(pl.col("criterion") == tournament.criterion)


def _match(
    tournament: Tournaments, people: pl.DataFrame
) -> tuple[FloatArray, FloatArray, int] | None:
    """Wins (documents, systems, systems) and people's scores (documents, systems) of both."""
    scored = people.filter(
        pl.col("doc_id").is_in(list(tournament.documents)),
        pl.col("model").is_in(list(tournament.models)),
    )
    models = [name for name in tournament.models if name in set(scored["model"])]
    documents = [name for name in tournament.documents if name in set(scored["doc_id"])]
    if len(models) < 2 or not documents:
        return None
    place = {name: at for at, name in enumerate(models)}
    scores = np.full((len(documents), len(models)), np.nan)
    at = {name: number for number, name in enumerate(documents)}
    for document, model, score in scored.select("doc_id", "model", "human").iter_rows():
        scores[at[document], place[model]] = score
    places = [tournament.models.index(name) for name in models]
    wins = np.zeros((len(documents), len(models), len(models)))
    for number, document in enumerate(tournament.documents):
        if document in at:
            _, share = tournament.matrix(number)
            wins[at[document]] = share[np.ix_(places, places)]
    return wins, scores, len(documents)


def _hull(tau: float, drawn: FloatArray) -> tuple[float, float]:
    """Percentiles and their reflection: resampling lowers tau, even below the estimate."""
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    return max(-1.0, min(low, 2 * tau - high)), min(1.0, max(high, 2 * tau - low))


def _tau(
    order: Callable[[FloatArray], FloatArray], wins: FloatArray, means: FloatArray
) -> float | None:
    strength = order(wins)
    known = np.isfinite(strength) & np.isfinite(means)
    return rank_correlations(strength[known], means[known])[0]


def _resample(
    order: Callable[[FloatArray], FloatArray],
    wins: FloatArray,
    means: FloatArray,
    weights: IntArray,
) -> list[float]:
    """Tau of resampled documents, with wins and human scores of a document together."""
    known = np.isfinite(means)
    totals = np.einsum("rd,dij->rij", weights.astype(np.float64), wins)
    counts = weights @ known
    with np.errstate(invalid="ignore"):
        people = (weights @ np.where(known, means, 0.0)) / counts
    usable = (counts > 0).all(axis=1)
    strengths = (
        fit_strengths(totals[usable])
        if order is fit_strengths
        else np.stack([order(table) for table in totals[usable]])
        if usable.any()
        else np.empty((0, wins.shape[1]))
    )
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
    if criterion != "coherence":
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


# --- variance, and cycles with widths --------------------------------------------------------


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
    sizes = [row for row in published_rows("sets") if row["alpha"] == MAIN_ALPHA]
    cycles = published_rows("cycles")
    return [
        *share_variance(PAPER, SET_SIZE, {(r["judge"], r["criterion"]): r["size"] for r in sizes}),
        *share_variance(
            PAPER, WITH_CYCLE, {(r["judge"], r["criterion"]): r["share"] for r in cycles}
        ),
    ]


def size_grid(cells: Sequence[SetCell]) -> Grid:
    """Mean sizes at the main level."""
    return {
        (cell.judge, cell.criterion): cell.mean_size for cell in cells if cell.alpha == MAIN_ALPHA
    }


def cycles_and_widths(
    data: str, tournaments: Sequence[Tournaments], scores: Scores
) -> list[CyclesAndWidths]:
    """Do documents with cycles get wide sets? Per judge and criterion of both, and over all.

    Sets are the paper's, calibrated row by row on all rows; if the judge gave probabilities, also
    adaptive ones. Over all, a document has its mean rate and its mean width.
    """
    rates = _cycle_rates(tournaments)
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
        for (judge, criterion), part in groups.items():
            rate, width = part["rate"].to_numpy(), part["width"].to_numpy()
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


def _cycle_rates(tournaments: Sequence[Tournaments]) -> pl.DataFrame:
    """The rate of every document with a decisive triple."""
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
    return pl.DataFrame(rows, schema=names, orient="row").drop_nulls("rate")
