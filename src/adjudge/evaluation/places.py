"""Verdicts that name the place where an answer was shown, where they should name the answer."""

from __future__ import annotations

import polars as pl
from scipy.special import bdtrc

from adjudge.data.names import bare_name
from adjudge.data.tables import as_text
from adjudge.evaluation.rows import LABEL, VERDICT
from adjudge.present.text import percent

#: Columns that say in which order the answers were shown.
_ORDERS = ("order", "shownorder", "swapped", "isswapped", "flipped", "isflipped", "position")
#: How rarely a judge that is no worse than chance is so often against people, and for them.
_RARELY = 0.01


def remark_places(labelled: pl.DataFrame) -> list[str]:
    """The warning that verdicts name the place of an answer: they turn with the order shown."""
    sides = pl.col(VERDICT).is_in(["A", "B"]) & pl.col(LABEL).is_in(["A", "B"])
    for column in (c for c in labelled.columns if bare_name(c) in _ORDERS):
        given = labelled.with_columns(as_text(labelled[column]).alias(column)).filter(sides)
        right = (pl.col(VERDICT) == pl.col(LABEL)).sum()
        shares = given.drop_nulls(column).group_by(column).agg(n=pl.len(), right=right)
        if shares.height != 2:
            continue
        worse, better = shares.sort(pl.col("right") / pl.col("n")).rows(named=True)
        # The chance of so many or more by a coin.
        against = float(bdtrc(worse["n"] - worse["right"] - 1, worse["n"], 0.5))
        in_favour = float(bdtrc(better["right"] - 1, better["n"], 0.5))
        if max(against, in_favour) < _RARELY:
            turned = worse[column]
            return [
                f"verdicts turn with {column}: right on "
                f"{percent(better['right'] / better['n'])} of rows with {better[column]}, on "
                f"{percent(worse['right'] / worse['n'])} with {turned}; they seem to name the "
                f"place, not the answer: where {column} is {turned}, write B for A and A for B"
            ]
    return []
