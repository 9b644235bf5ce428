"""Table 2 of the diagnosis paper: five rankings of systems, each against people's mean scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from adjudge.data.tournaments import Tournaments
from adjudge.ranking import copeland, least_reversals, rank_correlations, schulze, win_rate
from adjudge.ranking.orders import order_strengths
from adjudge.statistics.bradley_terry import fit_strengths
from adjudge.statistics.numbers import bootstrap_weights
from adjudge.validation import FloatArray, IntArray, generator
from adjudge_papers.diagnosis_published import published_tau
from adjudge_papers.diagnosis_result import RankingRow

#: The paper's five in its order; its "MFAS-Copeland" is the Copeland score.
METHODS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "win-rate": win_rate,
    "bt": fit_strengths,
    "schulze": schulze,
    "copeland": copeland,
    "mfas": lambda wins: order_strengths(least_reversals(wins)),
}
_TOO_SLOW = "mfas"


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
    for one in tournaments:
        own = _same_criterion(one, people)
        matched = _match(one, own)
        if matched is None:
            continue
        wins, means, documents = matched
        weights = bootstrap_weights(len(wins), replicates, generator(seed))
        for method, order in METHODS.items():
            drawn = [] if method == _TOO_SLOW else _resample(order, wins, means, weights)
            tau = _tau(order, wins.sum(axis=0), np.nanmean(means, axis=0))
            low = high = None
            if tau is not None and len(drawn) > 1 and documents > 2:
                low, high = _hull(tau, np.array(drawn))
            rows.append(
                RankingRow(
                    data=data,
                    judge=one.judge or "unnamed",
                    criterion=one.criterion or "unnamed",
                    method=method,
                    systems=wins.shape[1],
                    documents=documents,
                    tau=tau,
                    low=low,
                    high=high,
                    published=published_tau(one.judge or "", one.criterion or "", method),
                )
            )
    return rows


def _same_criterion(one: Tournaments, people: pl.DataFrame) -> pl.DataFrame:
    names = people["criterion"].unique()
    if one.criterion is None or len(names) == 1:
        return people if len(names) == 1 else people.clear()
    return people.filter(pl.col("criterion") == one.criterion)


def _match(one: Tournaments, people: pl.DataFrame) -> tuple[FloatArray, FloatArray, int] | None:
    """Wins (documents, systems, systems) and people's scores (documents, systems) of both."""
    known = people.filter(
        pl.col("doc_id").is_in(list(one.documents)), pl.col("model").is_in(list(one.models))
    )
    models = [name for name in one.models if name in set(known["model"])]
    documents = [name for name in one.documents if name in set(known["doc_id"])]
    if len(models) < 2 or not documents:
        return None
    place = {name: at for at, name in enumerate(models)}
    scores = np.full((len(documents), len(models)), np.nan)
    at = {name: number for number, name in enumerate(documents)}
    for document, model, score in known.select("doc_id", "model", "human").iter_rows():
        scores[at[document], place[model]] = score
    kept = [one.models.index(name) for name in models]
    wins = np.zeros((len(documents), len(models), len(models)))
    for number, document in enumerate(one.documents):
        if document in at:
            _, share = one.matrix(number)
            wins[at[document]] = share[np.ix_(kept, kept)]
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


def _taus(one: FloatArray, other: FloatArray) -> FloatArray:
    """Kendall's tau-b of each row with the same row of the other table."""
    i, j = np.array(list(combinations(range(one.shape[1]), 2))).T
    # Strengths that differ only by rounding are equal.
    a, b = (np.sign(np.round(table[:, i] - table[:, j], 9)) for table in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))
