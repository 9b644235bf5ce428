"""A set and a piece of advice for every row a judge scored: trust, look, or hand to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from adjudge._validation import one_of
from adjudge.diagnosis.score_sets import ScoreSets
from adjudge.errors import DataError
from adjudge.io.tables import TableLike
from adjudge.rows.scores import Scores, prepare_scores, ratings_table

METHODS = ("constant", "per-criterion", "adaptive")


def score_set_rows(
    source: TableLike | Scores,
    *,
    alpha: float | str = 0.1,
    method: str = "per-criterion",
    scale: tuple[int, int] = (1, 5),
    target: str = "mean",
    raters: Sequence[str] | None = None,
    weigh: str = "documents",
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The rows with set_low, set_high, set_size, advice, and whether they calibrated the set.

    Each judge is calibrated on its labelled rows; rows without a human score are what the sets are
    for. A row without a judge score gets no set. Advice as the paper gives it: at most two scores
    "trust", the whole scale "human", between "look".

    >>> rows = {"doc_id": [str(d) for d in range(21)], "judge_score": [3] * 21,
    ...         "human_score": [3] * 20 + [None]}
    >>> score_set_rows(rows).select("set_size", "advice", "calibrated").row(20)
    (1, 'trust', False)
    """
    one_of(method, METHODS, "method")
    given = prepare_scores(source, raters=raters, columns=columns)
    name, frame = given.name, given.frame.with_row_index("_row")
    if method == "adaptive" and "score_probs" not in frame.columns:
        raise DataError(name, "is not there", column="score_probs", remedy="use another method")
    spoken = frame.filter(pl.col("judge_score").is_not_null())
    if method == "adaptive":
        spoken = spoken.filter(pl.col("score_probs").is_not_null())
    parts = []
    for part in spoken.partition_by("judge", maintain_order=True):
        labelled = part["human_scores"].is_not_null().to_numpy()
        if not labelled.any():
            continue
        sets = ScoreSets(
            alpha=alpha,
            scale=scale,
            method="adaptive" if method == "adaptive" else "constant",
            weigh="rows" if weigh == "rows" else "documents",
            target=target,
        )
        values = part["score_probs" if method == "adaptive" else "judge_score"].to_list()
        judge = np.array(values, dtype=np.float64)
        criteria = part["criterion"].fill_null("unnamed").to_list()
        groups = None if method == "constant" else np.array(criteria, dtype=object)
        sets.calibrate(
            judge[labelled],
            ratings_table(part.filter(pl.Series(labelled))),
            documents=part.filter(pl.Series(labelled))["doc_id"].to_list(),
            groups=None if groups is None else groups[labelled],
        )
        predicted = sets.predict(judge, groups=groups)
        parts.append(
            part.select("_row").with_columns(
                pl.Series("set_low", predicted.low),
                pl.Series("set_high", predicted.high),
                pl.Series("set_size", predicted.sizes),
                pl.Series("advice", predicted.advice.tolist()),
                pl.Series("calibrated", labelled),
            )
        )
    if not parts:
        raise DataError(name, "no row has both a judge score and a human score")
    return frame.join(pl.concat(parts), on="_row", how="left", maintain_order="left").drop("_row")
