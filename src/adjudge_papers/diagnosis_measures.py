"""What the diagnosis paper claims over judges, criteria and documents, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from adjudge.data.scores import Scores
from adjudge.data.tournaments import Tournaments
from adjudge.diagnosis import count_cycles, score_set_rows
from adjudge.statistics.agreement import spearman, spearman_interval
from adjudge_papers import diagnosis_published as published
from adjudge_papers.diagnosis_result import PAPER, CyclesAndWidths, SetCell, VarianceShare

#: A number for each judge and criterion.
Grid = Mapping[tuple[str, str], float | None]
#: The name for all judges and criteria together.
ALL = "all"


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
    main = published.ALPHAS.index(published.MAIN_ALPHA)
    sizes: Grid = {
        (judge, criterion): cells[main][1]
        for judge, own in published.SETS.items()
        for criterion, cells in zip(published.CRITERIA, own, strict=True)
    }
    shares: Grid = {
        (judge, criterion): cell[1]
        for judge, own in published.CYCLES.items()
        for criterion, cell in zip(published.CRITERIA, own, strict=True)
    }
    return [*share_variance(PAPER, SET_SIZE, sizes), *share_variance(PAPER, WITH_CYCLE, shares)]


SET_SIZE, WITH_CYCLE = "mean set size", "documents with a cycle"


def size_grid(cells: Sequence[SetCell]) -> Grid:
    """Mean sizes at the main level."""
    return {
        (cell.judge, cell.criterion): cell.mean_size
        for cell in cells
        if cell.alpha == published.MAIN_ALPHA
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
            score_set_rows(scores, alpha=published.MAIN_ALPHA, sets=sets, weigh=weigh)
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
            low, high = spearman_interval(rate, width, np.arange(len(rate)))
            parts.append(
                CyclesAndWidths(
                    data=data,
                    judge=str(judge),
                    criterion=str(criterion),
                    sets=sets,
                    documents=len(rate),
                    spearman=spearman(rate, width),
                    low=low,
                    high=high,
                )
            )
    return parts


def _cycle_rates(tournaments: Sequence[Tournaments]) -> pl.DataFrame:
    """The rate of every document with a decisive triple."""
    rows = [
        (one.judge or "", one.criterion or "", document, count_cycles(one.matrix(at)[0]).rate)
        for one in tournaments
        for at, document in enumerate(one.documents)
    ]
    names = {"judge": pl.String, "criterion": pl.String, "doc_id": pl.String, "rate": pl.Float64}
    return pl.DataFrame(rows, schema=names, orient="row").drop_nulls("rate")


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
