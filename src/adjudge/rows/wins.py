"""Judgments of pairs from the side of one model: how often the judge and people prefer it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.names import recognise
from adjudge.io.opening import open_table
from adjudge.io.refusals import quote, shorten
from adjudge.io.tables import Table, TableLike, as_text
from adjudge.io.words import PAIR, read_words
from adjudge.rows.columns import tidy
from adjudge.rows.dropped import Rows
from adjudge.rows.judgments import prepare_judgments
from adjudge.rows.outcomes import OUTCOMES

#: Columns about response_a, which a row about the model does not keep.
_ABOUT_A = ("p_fwd", "p_rev", "p_a", "p_tie", "verdict", "label", "model_a", "model_b")


def read_wins(
    data: TableLike, model: str, *, labels: TableLike | None = None, judge_column: str = "judge"
) -> Table:
    """A row for each pair in which the model takes part, and whether it won.

    `judge` is the judge's probability that it won (`judge_column` verdict: its verdict) and `human`
    what people said; a tie is half a win. `opponent` names the other model. A file with a column
    `verdict` and without probabilities is read too.

    >>> pairs = {"id": [1, 2], "p_a": [0.9, 0.8], "label": ["A", None]}
    >>> rows = {**pairs, "model_a": ["new", "old"], "model_b": ["old", "new"]}
    >>> read_wins(rows, "new").frame.select("judge", "human", "opponent").rows()
    [(0.9, 1.0, 'old'), (0.19999999999999996, None, 'old')]
    """
    given = prepare_judgments(_with_certainty(open_table(data)), labels=labels)
    frame = given.frame
    if given.about == "grades":
        raise ArgumentError(
            "model", model, "is for judgments of pairs; for grades: --by model (by=)"
        )
    for column in ("model_a", "model_b"):
        if column not in frame.columns:
            raise DataError(
                given.name,
                "is missing",
                column=column,
                remedy=f"name the column of each side's model: --column {column}=NAME (columns=)",
            )
    names = (tidy(frame[column], given.name, column) for column in ("model_a", "model_b"))
    frame = frame.with_columns(names)
    if "label" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, pl.String).alias("label"))
    first, second = pl.col("model_a") == model, pl.col("model_b") == model
    rows = Rows(frame, given.dropped)
    rows = rows.without(~(first | second).fill_null(False), f"a pair without {model}")
    rows = rows.without(first & second, "a pair of the model with itself")
    if rows.frame.height == 0:
        known = pl.concat([frame["model_a"], frame["model_b"].alias("model_a")])
        models = known.drop_nulls().unique().sort().to_list()
        raise ArgumentError("model", model, f"the pairs have {shorten(models)}")
    said = {"judge": pl.col("p_a"), "p_a": pl.col("p_a"), "verdict": _worth("verdict")}
    if judge_column not in said:
        raise ArgumentError("judge_column", judge_column, "with a model, use p_a or verdict")
    sides = {"judge": said[judge_column], "human": _worth("label")}
    wins = rows.frame.with_columns(
        pl.col("judge").alias("judge_name"),
        pl.when(first).then(pl.col("model_b")).otherwise(pl.col("model_a")).alias("opponent"),
        *(
            pl.when(first).then(side).otherwise(1 - side).alias(name)
            for name, side in sides.items()
        ),
    )
    return Table(
        frame=wins.drop(_ABOUT_A, strict=False),
        name=given.name,
        kind="grades",
        dropped=rows.dropped,
    )


def _with_certainty(table: Table) -> Table:
    """Verdicts without probabilities as probabilities of 0, 0.5 and 1."""
    here = table.frame.columns
    if "verdict" not in here or recognise(here, "judgments", ["p_a", "p_fwd"]):
        return table
    said = read_words(as_text(table.frame["verdict"]), PAIR, table.labels_as)
    strange = said.filter(said.is_not_null() & ~said.is_in([*OUTCOMES]))
    if len(strange):
        raise DataError(
            table.name,
            f"{quote(strange[0])} is not A, B or tie",
            column="verdict",
            remedy="say what it means: --labels-as WORD=A (labels_as=)",
        )
    sure = said.replace_strict(OUTCOMES, return_dtype=pl.Float64).alias("p_a")
    return replace(table, frame=table.frame.drop("verdict").with_columns(sure), fields=None)


def _worth(column: str) -> pl.Expr:
    return pl.col(column).replace_strict(OUTCOMES, default=None, return_dtype=pl.Float64)
