"""Tournaments: a judge's verdicts on all pairs of models for each document."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from adjudge.io.battles import VERDICTS, refuse_self_meetings
from adjudge.io.columns import Column, Layout, add_unnamed, missing_columns
from adjudge.io.judgments import verdict_by
from adjudge.io.made_ids import add_documents
from adjudge.io.refusals import refuse_where
from adjudge.io.tables import TableLike, source_name
from adjudge.io.words import PAIR

LAYOUT = Layout(
    "tournaments",
    Column(name="doc_id", filled=True),
    Column(name="prompt", spoken=True),
    Column(name="model_a", required=True, filled=True),
    Column(name="model_b", required=True, filled=True),
    Column(name="judge"),
    Column(name="criterion"),
    Column(name="verdict", choices=VERDICTS, words=PAIR),
    Column(name="verdict_fwd", choices=VERDICTS, words=PAIR),
    Column(name="verdict_rev", choices=VERDICTS, words=PAIR),
    Column(name="p_a", type="number", low=0, high=1),
    Column(name="p_tie", type="number", low=0, high=1),
    Column(name="p_fwd", type="number", low=0, high=1),
    Column(name="p_rev", type="number", low=0, high=1),
    Column(name="order", choices=("ab", "ba")),
    Column(name="repeat"),
    one_of=("verdict", "verdict_fwd", "p_a", "p_fwd"),
)


def read_tournaments(
    source: TableLike, *, columns: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Verdicts of a tournament as a checked frame.

    Always there: doc_id, model_a, model_b, judge, criterion, verdict. A verdict is about the
    models, whichever was shown first: A = model_a. An empty verdict means that the judge decided
    nothing; it is not guessed. Without verdicts they follow from p_a: A above one half, B below,
    tie at exactly one half and if `p_tie` makes a tie more likely than either answer. A file with
    both orders in one row (verdict_fwd and verdict_rev, or p_fwd and p_rev) becomes two rows per
    pair, with `order` ab and ba. judge_label and judge_label_rev are read as verdict_fwd and
    verdict_rev, question_id as doc_id.

    `columns` maps our names to the file's, e.g. {"doc_id": "question_id", "verdict": "winner"}.

    >>> rows = read_tournaments({"doc_id": [1], "model_a": ["x"], "model_b": ["y"],
    ...                          "verdict_fwd": ["A"], "verdict_rev": ["B"]})
    >>> rows.select("order", "verdict").rows()
    [('ab', 'A'), ('ba', 'B')]
    """
    frame, name = LAYOUT.read(source, columns), source_name(source)
    if not {"doc_id", "prompt"} & set(frame.columns):
        raise missing_columns(frame.columns, ["doc_id"], name)
    frame = add_documents(frame, name)
    refuse_self_meetings(frame, name)
    frame = add_unnamed(_with_verdict(frame, name), ("judge", "criterion"))
    _refuse_second(frame, name)
    return LAYOUT.sort(frame)


def _with_verdict(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    here = set(frame.columns)
    if "verdict" in here:
        return frame
    if "p_a" in here:
        return frame.with_columns(verdict=verdict_by(here).fill_null(_from("p_a")))
    if {"verdict_fwd", "verdict_rev"} <= here:
        return _both_orders(frame)
    if {"p_fwd", "p_rev"} <= here:
        both = frame.with_columns(verdict_fwd=_from("p_fwd"), verdict_rev=_from("p_rev"))
        return _both_orders(both)
    remedy = "give verdict or p_a, or verdict_fwd and verdict_rev"
    raise LAYOUT.missing(frame, "verdict", source, remedy)


def _from(column: str) -> pl.Expr:
    side = (pl.col(column) - 0.5).sign()
    return side.replace_strict({1.0: "A", -1.0: "B", 0.0: "tie"}, return_dtype=pl.String)


def _both_orders(frame: pl.DataFrame) -> pl.DataFrame:
    # Row i becomes rows 2i and 2i+1: the two orders of a pair stay next to each other.
    numbered = frame.with_row_index("__row")
    halves = [
        numbered.with_columns(verdict=pl.col(column), order=pl.lit(order))
        for column, order in (("verdict_fwd", "ab"), ("verdict_rev", "ba"))
    ]
    return pl.concat(halves).sort("__row", "order").drop("__row", "verdict_fwd", "verdict_rev")


def _refuse_second(frame: pl.DataFrame, source: str) -> None:
    """Refuse a second verdict per document, unordered pair, judge, criterion, order and repeat."""
    key = ["doc_id", "judge", "criterion"]
    key += [column for column in ("protocol", "order", "repeat") if column in frame.columns]
    low = pl.min_horizontal("model_a", "model_b")
    high = pl.max_horizontal("model_a", "model_b")
    again = ~pl.struct(*key, low.alias("_low"), high.alias("_high")).is_first_distinct()
    refuse_where(
        frame,
        again,
        "{} was already compared with the same model here",
        source=source,
        column="model_a",
        remedy="keep one row per pair, or number repeated answers in a column `repeat`",
    )
