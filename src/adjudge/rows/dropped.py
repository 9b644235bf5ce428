"""Left-out rows, counted by reason and returned with the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Rows:
    """Rows, and how many were left out so far, by reason.

    >>> rows = Rows(pl.DataFrame({"id": ["x", "y", "z"], "label": ["A", None, "tie"]}))
    >>> rows = rows.without(pl.col("label").is_null(), "no label")
    >>> rows.without(pl.col("label") == "tie", "human tie").dropped
    {'no label': 1, 'human tie': 1}
    """

    frame: pl.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)

    def without(self, rows: pl.Expr, reason: str) -> Rows:
        """Leave out the rows for which the expression is true (null is not)."""
        out = self.frame.select(rows.fill_null(False)).to_series()
        lost = int(out.sum())
        if not lost:
            return self
        return Rows(self.frame.filter(~out), merge_dropped(self.dropped, {reason: lost}))


def first_repeats(rows: Rows) -> Rows:
    """Rows of the first repeat: an analysis of one answer per question uses only these.

    Only rows that a judge answered several times; a column `repeat` from elsewhere is ignored.

    >>> asked = {"id": ["x", "x"], "repeat": [0, 1], "judge_fingerprint": ["f", "f"]}
    >>> first_repeats(Rows(pl.DataFrame(asked))).dropped
    {'repeat of another row': 1}
    """
    if not {"repeat", "judge_fingerprint"} <= set(rows.frame.columns):
        return rows
    again = pl.col("repeat").cast(pl.Int64, strict=False) > 0
    return rows.without(again, "repeat of another row")


def merge_dropped(*parts: Mapping[str, int]) -> dict[str, int]:
    """Counts of several steps summed, in the order of the steps; reasons without rows are omitted.

    >>> merge_dropped({"no label": 2}, {"no label": 1, "human tie": 0})
    {'no label': 3}
    """
    total: dict[str, int] = {}
    for part in parts:
        for reason, rows in part.items():
            if rows:
                total[reason] = total.get(reason, 0) + rows
    return total
