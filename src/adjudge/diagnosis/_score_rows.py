"""One judge's scores as arrays, with the nonconformity of every method that can be tried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge._stats import cluster_codes
from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.diagnosis.adaptive import ordinal_nonconformity
from adjudge.diagnosis.score_sets import residuals
from adjudge.diagnosis.targets import Target, human_target, round_half_up
from adjudge.errors import ArgumentError
from adjudge.io.tables import as_text
from adjudge.rows.scores import ratings_table


@dataclass(frozen=True)
class Plan:
    """What a method calibrates: nonconformity (rows, scores), and which rows share a quantile."""

    values: FloatArray
    group: IntArray


@dataclass(frozen=True)
class ScoreRows:
    """The labelled rows of one judge. Documents are numbered over the whole file."""

    judge: str
    key: NDArray[np.object_]
    model: NDArray[np.object_]
    document: IntArray
    criterion: NDArray[np.object_]
    score: FloatArray
    ratings: FloatArray
    target: Target
    error: FloatArray
    plans: dict[str, Plan]

    @cached_property
    def by_criterion(self) -> dict[str, BoolArray]:
        """Which rows each criterion has, criteria in the order of the file."""
        names = dict.fromkeys(self.criterion.tolist())
        return {name: np.asarray(self.criterion == name, dtype=bool) for name in names}


def split_by_judge(
    frame: pl.DataFrame, *, scale: tuple[int, int], target: str, by: str | None
) -> list[ScoreRows]:
    """One `ScoreRows` per judge, judges in alphabetical order."""
    documents, _ = cluster_codes(frame["doc_id"].to_list())
    ratings = ratings_table(frame)
    several = frame["criterion"].n_unique() > 1
    keyed = frame.with_columns(
        pl.concat_str("doc_id", pl.coalesce("model", "id"), separator="\x1f").alias("_key"),
        pl.col("judge").fill_null("unnamed"),
        pl.col("criterion").fill_null("unnamed"),
    ).with_row_index("_row")
    parts = []
    for (judge,), part in sorted(keyed.partition_by("judge", as_dict=True).items()):
        rows = part["_row"].to_numpy()
        score = part["judge_score"].to_numpy().astype(np.float64)
        table = ratings[rows]
        held = table
        if target == "mean":
            held = round_half_up(np.nanmean(table, axis=1, keepdims=True))
        parts.append(
            ScoreRows(
                judge=str(judge),
                key=np.array(part["_key"].to_list(), dtype=object),
                model=np.array(part["model"].to_list(), dtype=object),
                document=documents[rows],
                criterion=np.array(part["criterion"].to_list(), dtype=object),
                score=score,
                ratings=table,
                target=human_target(table, target=target, scale=scale),
                error=np.nanmean(np.abs(held - score[:, None]), axis=1),
                plans=_plans(part, score, scale, by, several=several),
            )
        )
    return parts


def _plans(
    part: pl.DataFrame, score: FloatArray, scale: tuple[int, int], by: str | None, *, several: bool
) -> dict[str, Plan]:
    values = residuals(score, scale)
    criterion, _ = cluster_codes(part["criterion"].to_list())
    plans = {"constant": Plan(values, np.zeros(len(values), dtype=np.int64))}
    if several:
        plans["per-criterion"] = Plan(values, criterion)
    if by is not None:
        pairs: list[object] = list(zip(part["criterion"], as_text(part[by]), strict=True))
        plans["per-group"] = Plan(values, cluster_codes(pairs)[0])
    if "score_probs" in part.columns and part["score_probs"].null_count() == 0:
        size = int(part["score_probs"].list.len()[0])
        if size != scale[1] - scale[0] + 1:
            raise ArgumentError(
                "scale", scale, f"score_probs lists {size} scores: give their scale"
            )
        plans["adaptive"] = Plan(ordinal_nonconformity(part["score_probs"].to_list()), criterion)
    return plans
