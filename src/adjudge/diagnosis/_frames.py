"""How the diagnoses name judges."""

from __future__ import annotations

import polars as pl


def judge_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Judges told apart by protocol too, where one judge was asked by several.

    >>> rows = {"judge": ["x", "x", "y"], "protocol": ["mcq", "rts", "mcq"]}
    >>> judge_names(pl.DataFrame(rows))["judge"].to_list()
    ['x / mcq', 'x / rts', 'y']
    """
    if not {"judge", "protocol"} <= set(frame.columns):
        return frame
    several = pl.col("protocol").n_unique().over("judge") > 1
    both = pl.concat_str("judge", "protocol", separator=" / ", ignore_nulls=True)
    return frame.with_columns(pl.when(several).then(both).otherwise(pl.col("judge")).alias("judge"))
