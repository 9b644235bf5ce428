"""The judge's confidence in its verdict: from its probability, or as stated by the judge."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError
from adjudge.rows.columns import partition
from adjudge.validation import FloatArray

_ROUNDING = 1e-4


def confidences(rows: pl.DataFrame) -> FloatArray:
    """The confidence of every row with a verdict, in [0, 1]: stated, or max(p_a, 1 - p_a)."""
    sure = np.empty(rows.height)
    for part in partition(rows.with_row_index("__row"), ["judge", "protocol"]):
        stated = stated_confidence(part)
        p_a = part.get_column("p_a").fill_null(np.nan).to_numpy()
        sure[part["__row"].to_numpy()] = np.maximum(p_a, 1 - p_a) if stated is None else stated
    return sure


def stated_confidence(rows: pl.DataFrame) -> FloatArray | None:
    """1 - uncertainty if that is the confidence a judge stated, for rows of one judge; else None.

    It is a stated confidence if the column `confidence` agrees, or if p_a is missing in a row that
    has a verdict: nothing else could have given it.

    >>> rows = {"p_a": [0.8, None], "uncertainty": [0.2, 0.6], "verdict": ["A", "B"]}
    >>> stated_confidence(pl.DataFrame(rows)).tolist()
    [0.8, 0.4]
    """
    sure = 1 - rows.get_column("uncertainty").cast(pl.Float64).to_numpy()
    if rows.filter(pl.col("p_a").is_null() & pl.col("verdict").is_not_null()).height:
        if not ((sure >= 0) & (sure <= 1)).all():
            remedy = "rows without p_a need 1 - confidence as uncertainty"
            raise ArgumentError("uncertainty", float(1 - sure.min()), remedy)
        return np.asarray(sure)
    if "confidence" not in rows.columns or not rows["confidence"].dtype.is_numeric():
        return None
    own = rows["confidence"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.asarray(sure) if bool((np.abs(own - sure) <= _ROUNDING).all()) else None
