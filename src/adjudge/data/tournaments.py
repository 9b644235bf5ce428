"""Tournaments: a judge's verdicts on all pairs of models for each document.

Repeats and both orders are combined into one edge for each pair of models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
import polars as pl

from adjudge.data.battles import VERDICTS, refuse_self_meetings
from adjudge.data.columns import UNNAMED, Column, Layout, each, missing_columns
from adjudge.data.names import PAIR, add_documents
from adjudge.data.outcomes import OUTCOMES
from adjudge.data.rows import (
    Rows,
    add_absent,
    judge_names,
    measured,
    verdict_by,
    without_numbers,
)
from adjudge.data.source import Reading, Source
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.repeats import leave_out_repeats
from adjudge.data.tables import TableLike, source_name
from adjudge.validation import BoolArray, FloatArray, IntArray, one_of

TOURNAMENT_COLUMNS = Layout(
    "tournaments",
    Column(name="doc_id", filled=True),
    Column(name="prompt", spoken=True),
    *each("model_a", "model_b", required=True, filled=True),
    *each("judge", "criterion"),
    *each("verdict", "verdict_fwd", "verdict_rev", choices=VERDICTS, words=PAIR, answer=True),
    *each("p_a", "p_tie", "p_fwd", "p_rev", type="number", low=0, high=1, answer=True),
    Column(name="order", choices=("ab", "ba")),
    Column(name="repeat"),
    one_of=("verdict", "verdict_fwd", "p_a", "p_fwd"),
)


def read_tournaments(source: TableLike) -> pl.DataFrame:
    """Verdicts of a tournament as a checked frame.

    Always there: doc_id, model_a, model_b, judge, criterion, verdict. A verdict is about the
    models, whichever was shown first: A = model_a. An empty verdict means that the judge decided
    nothing; it is not guessed. Without verdicts they follow from p_a: A above one half, B below,
    tie at exactly one half and if `p_tie` makes a tie more likely than either answer. A file with
    both orders in one row (verdict_fwd and verdict_rev, or p_fwd and p_rev) becomes two rows per
    pair, with `order` ab and ba. A row that is there again counts once; another answer about the
    same document and pair needs a column `repeat` or `order`. judge_label and judge_label_rev are
    read as verdict_fwd and verdict_rev, question_id as doc_id.

    >>> rows = read_tournaments({"doc_id": [1], "model_a": ["x"], "model_b": ["y"],
    ...                          "verdict_fwd": ["A"], "verdict_rev": ["B"]})
    >>> rows.select("order", "verdict").rows()
    [('ab', 'A'), ('ba', 'B')]
    """
    return open_tournaments(source).frame


def open_tournaments(source: TableLike) -> Rows:
    """As `read_tournaments`, with the number of rows that were left out."""
    name = source_name(source)
    frame = without_numbers(TOURNAMENT_COLUMNS.read(source))
    if not {"doc_id", "prompt"} & set(frame.columns):
        raise missing_columns(frame.columns, ["doc_id"], name)
    frame = add_documents(frame, name)
    refuse_self_meetings(frame, name)
    frame = add_absent(frame, ("judge", "criterion"), UNNAMED)
    rows = leave_out_repeats(Rows(frame), name, apart=["judge"], question="doc_id")
    frame = _with_verdict(rows.frame, name)
    return Rows(TOURNAMENT_COLUMNS.sort(frame), rows.dropped)


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
    raise TOURNAMENT_COLUMNS.missing(frame, "verdict", source, remedy)


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


Combine = Literal["mean", "unanimous"]
#: Means of thirds and fifths that should be one half can differ by a rounding error.
_EVEN = 1e-9


@dataclass(frozen=True)
class Tournaments:
    """All documents of one judge and criterion, as edges between numbered models.

    Edge e of document `document[e]` lies between models `first[e]` < `second[e]`; `win_share[e]`
    is how often `first` won, repeats averaged within an order and orders averaged with one weight.
    """

    judge: str | None
    criterion: str | None
    documents: tuple[str, ...]
    models: tuple[str, ...]
    document: IntArray
    first: IntArray
    second: IntArray
    win_share: FloatArray
    asked: IntArray
    winner: IntArray  # +1 first, -1 second, 0 tied
    entrants: IntArray  # models per document, answered or not

    def matrix(self, number: int) -> tuple[BoolArray, FloatArray]:
        """Which model wins in one document, and by which share of the answers."""
        size = len(self.models)
        beats, sure = np.zeros((size, size), dtype=bool), np.zeros((size, size))
        low, high = np.searchsorted(self.document, [number, number + 1])
        i, j = self.first[low:high], self.second[low:high]
        won, share = self.winner[low:high], self.win_share[low:high]
        beats[i[won > 0], j[won > 0]] = True
        beats[j[won < 0], i[won < 0]] = True
        sure[i, j], sure[j, i] = share, 1 - share
        return beats, sure


@dataclass(frozen=True, kw_only=True)
class TournamentRows:
    """The tournaments of a file: one entry for each judge and criterion."""

    tournaments: tuple[Tournaments, ...]
    name: str
    #: Rows of the file.
    rows: int
    dropped: Mapping[str, int]


def prepare_tournaments(
    source: TableLike | Source | TournamentRows,
    *,
    combine: Combine = "mean",
    **reading: Unpack[Reading],
) -> TournamentRows:
    """Read the verdicts of a file once and make its tournaments; one judge per protocol.

    A row without a verdict is counted in `dropped`, by its status if it has one; its edge is
    missing unless it was asked again. A document without any verdict is in no tournament.

    >>> rows = {"doc_id": ["d", "d"], "model_a": ["x", "y"], "model_b": ["y", "z"],
    ...         "verdict": ["A", None]}
    >>> done = prepare_tournaments(rows)
    >>> done.tournaments[0].models, done.tournaments[0].winner.tolist(), list(done.dropped.values())
    (('x', 'y', 'z'), [1], [1])
    """
    source = Source.of(source, **reading)
    if (done := source.prepared(TournamentRows, prepare_tournaments, locals())) is not None:
        return done
    with source:
        rows = open_tournaments(source.rows)
    # Each judge, protocol and criterion has its own tournaments.
    apart = ("judge", "protocol", "criterion")
    check_judges(rows.frame, source.name, measure="tournament", apart=apart)
    frame = judge_names(rows.frame)
    answers = [name for name in ("verdict", "p_a") if name in frame.columns]
    unanswered = pl.all_horizontal(pl.col(answers).is_null())
    answered = measured(Rows(frame, rows.dropped), without=unanswered)
    answered = answered.without(unanswered, _NO_VERDICT)
    return TournamentRows(
        tournaments=tuple(build_tournaments(frame, combine=combine)),
        name=source.name,
        rows=frame.height,
        dropped=answered.dropped,
    )


_NO_VERDICT = "no verdict (the edge is missing unless it was asked again)"


def build_tournaments(frame: pl.DataFrame, *, combine: Combine = "mean") -> list[Tournaments]:
    """Tournaments per judge and criterion from a frame as `adjudge.data.read_tournaments` gives it.

    verdict and p_a are about model_a, whichever was shown first. A row whose verdict is a tie is a
    tie. Any other row uses p_a if it has it, otherwise its verdict. A row with neither is ignored;
    its edge comes from other rows, or is missing. So is a document that has only such rows.

    `combine="mean"`: an edge goes to the side with more than half of the answers, ties counted
    half. `"unanimous"`: an edge goes to a side only if every answer prefers it, otherwise it is a
    tie.
    """
    one_of(combine, ("mean", "unanimous"), "combine")
    rows = _oriented(frame)
    keys = ["judge", "criterion", "doc_id", "low", "high"]
    answered = rows.drop_nulls("value")
    value = pl.col("value")
    per_order = answered.group_by([*keys, "order"]).agg(
        share=value.mean(),
        all_won=(value > 0.5).all(),
        all_lost=(value < 0.5).all(),
        asked=pl.len(),
    )
    edges = per_order.group_by(keys).agg(
        pl.col("share").mean(), pl.col("all_won", "all_lost").all(), pl.col("asked").sum()
    )
    return list(_grouped(rows, edges, unanimous=combine == "unanimous"))


def _oriented(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with `value`, the answer about the model whose name sorts first."""
    answers = [pl.col("p_a")] if "p_a" in frame.columns else []
    named = pl.col("verdict").replace_strict(OUTCOMES, default=None, return_dtype=pl.Float64)
    order = pl.col("order").fill_null("ab") if "order" in frame.columns else pl.lit("ab")
    swapped = pl.when(pl.col("model_a") > pl.col("model_b"))
    tie = pl.when(pl.col("verdict") == "tie").then(pl.lit(0.5))
    value = pl.coalesce(tie, *answers, named)
    turned = pl.when(order == "ab").then(pl.lit("ba")).otherwise(pl.lit("ab"))
    return frame.select(
        "judge",
        "criterion",
        "doc_id",
        low=pl.min_horizontal("model_a", "model_b"),
        high=pl.max_horizontal("model_a", "model_b"),
        value=swapped.then(1 - value).otherwise(value),
        order=swapped.then(turned).otherwise(order),
    )


def _grouped(rows: pl.DataFrame, edges: pl.DataFrame, *, unanimous: bool) -> Iterator[Tournaments]:
    by_group = edges.partition_by(["judge", "criterion"], as_dict=True)
    for key, answers in sorted(
        rows.partition_by(["judge", "criterion"], as_dict=True).items(),
        key=lambda pair: tuple("" if part is None else str(part) for part in pair[0]),
    ):
        played = by_group.get(key, edges.clear())
        if answers["value"].null_count():
            # Unanswered edges count as missing, but not those of a document without any answer.
            answers = answers.filter(pl.col("doc_id").is_in(played["doc_id"].implode()))
        # In order of first appearance.
        entrants = (
            answers.select("doc_id", model=pl.concat_list("low", "high"))
            .explode("model")
            .group_by("doc_id", maintain_order=True)
            .agg(pl.col("model").n_unique())
        )
        documents = entrants["doc_id"].to_list()
        models = sorted(set(answers["low"]) | set(answers["high"]))
        names = {"doc_id": documents, "low": models, "high": models}
        codes = [
            pl.col(column).replace_strict(values, range(len(values)), return_dtype=pl.Int64)
            for column, values in names.items()
        ]
        played = played.with_columns(codes).sort(*names)
        share = played["share"].to_numpy().astype(np.float64)
        if unanimous:
            winner = _whole(played["all_won"]) - _whole(played["all_lost"])
        else:
            winner = np.where(np.abs(share - 0.5) <= _EVEN, 0, np.sign(share - 0.5))
        yield Tournaments(
            judge=None if key[0] is None else str(key[0]),
            criterion=None if key[1] is None else str(key[1]),
            documents=tuple(documents),
            models=tuple(models),
            document=_whole(played["doc_id"]),
            first=_whole(played["low"]),
            second=_whole(played["high"]),
            win_share=share,
            asked=_whole(played["asked"]),
            winner=winner.astype(np.int64),
            entrants=_whole(entrants["model"]),
        )


def _whole(values: pl.Series) -> IntArray:
    return values.to_numpy().astype(np.int64)
