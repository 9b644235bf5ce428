"""Verdicts on pairs for the bias diagnoses: texts, models and labels joined by id."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import polars as pl

from adjudge.data.answers import lengths
from adjudge.data.battles import BATTLE_COLUMNS
from adjudge.data.columns import Layout, each
from adjudge.data.formats import NATIVE, kinds_of
from adjudge.data.judgments import JUDGMENT_COLUMNS, read_judgments
from adjudge.data.labels import with_labels
from adjudge.data.names import ORDER_VERDICTS, add_ids, columns_here, shorten
from adjudge.data.outcomes import OUTCOMES, VERDICT_COLUMNS
from adjudge.data.pairs import join_pairs
from adjudge.data.rows import (
    Rows,
    cluster_column,
    code_clusters,
    judge_names,
    measured,
    without_numbers,
)
from adjudge.data.source import Reading, Source
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.labels import take_labels
from adjudge.data.steps.repeats import first_repeats, leave_out_repeats
from adjudge.data.tables import Table, TableLike, as_text, parse_table, sniff
from adjudge.errors import ArgumentError, DataError
from adjudge.validation import FloatArray

#: How battles spell them.
_WINNERS = {"model_a": "A", "model_b": "B", "tie (bothbad)": "tie"}
#: Columns of judgments, or of verdicts or scores instead.
_VERDICTS = Layout(
    "judgments",
    *JUDGMENT_COLUMNS.columns,
    *each("score_a", "score_b", type="number"),
    apart=JUDGMENT_COLUMNS.apart,
    usual="tournaments",
)
_FROM_PAIRS = ("response_a", "response_b", "model_a", "model_b", "label", "prompt_id")
#: The column of cluster codes in prepared rows.
CLUSTER = "__cluster"


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Judgments of pairs; `graded`: with probabilities, `by_score`: there are only scores.

    `cluster` is the column whose rows are alike; the frame has its codes in `CLUSTER`. The frame
    has the first repeat of each row, `repeats` every scored one, and what was left out of these.
    """

    frame: pl.DataFrame
    repeats: Rows
    name: str
    graded: bool
    by_score: bool
    cluster: str
    dropped: Mapping[str, int]
    #: The note about labels that a model made, if they are allowed.
    makers: tuple[str, ...] = ()


def prepare_verdicts(
    source: TableLike | Source | Verdicts,
    *,
    pairs: TableLike | None = None,
    labels: TableLike | None = None,
    judge: str | None = None,
    cluster: str | None = "auto",
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> Verdicts:
    """Read judgments, battles, or verdicts or scores used as such, and join the other inputs.

    `cluster` as everywhere; without one each pair is a cluster, whichever judges saw it. With
    several raters in `labels`, the column `LABELS` has the label of each.

    >>> rows = prepare_verdicts({"verdict_fwd": ["A"], "verdict_rev": ["B"]})
    >>> *rows.frame.select("p_fwd", "p_rev").row(0), rows.graded, rows.cluster
    (1.0, 0.0, False, 'id')
    """
    source = Source.of(source, labels=labels, pairs=pairs, **reading)
    if (done := source.prepared(Verdicts, prepare_verdicts, locals())) is not None:
        return done
    with source:
        return _prepare(source, judge, cluster, model_labels)


def _prepare(
    source: Source, judge: str | None, cluster: str | None, model_labels: bool
) -> Verdicts:
    table = _read(source.rows, {*source.columns})
    if judge is not None:
        if "judge" in table.frame.columns:
            raise ArgumentError("judge", judge, "leave it out: the file names its judges")
        table = replace(table, frame=table.frame.with_columns(judge=pl.lit(judge)))
    rows = without_numbers(_VERDICTS.load(table))
    here = set(rows.columns)
    graded = "p_a" in here or {"p_fwd", "p_rev"} <= here
    by_orders = here.issuperset(ORDER_VERDICTS)
    if not graded and not by_orders:
        if "verdict" not in here and not {"score_a", "score_b"} <= here:
            remedy = (
                "give p_fwd and p_rev, p_a, verdict_fwd and verdict_rev, verdict, or score_a and "
                f"score_b; columns here: {shorten(columns_here(sorted(here)))}"
            )
            raise DataError(table.name, "has no judgment", remedy=remedy)
        rows = _from_verdicts(_VERDICTS.check(rows, table.name, labels_as=table.labels_as))
        rows = _with_every_status(rows, pl.col("p_a").is_not_null())
        table = replace(table, labels_as={})
    rows = add_ids(rows, table.name, _VERDICTS.apart)
    # Its columns have our names now: those of the file that stay are not matched again.
    table = replace(table, frame=rows, fields=None, kind="judgments")
    # An analysis adds columns of one chunk, and polars copies a frame whose chunks differ.
    frame = judge_names(read_judgments(table).rechunk())
    if source.pairs is not None:
        frame = join_pairs(frame, source.pairs, _FROM_PAIRS)
    distinct = leave_out_repeats(Rows(frame, table.dropped), table.name, apart=["judge"])
    check_judges(distinct.frame, table.name, measure="diagnosis", apart=("judge", "protocol"))
    if source.labels is not None:
        distinct = with_labels(distinct, source, ids_made="id" not in here)
    taken = take_labels(distinct, "label", table.name, model_labels=model_labels)
    frame = taken.rows.frame
    for side in ("a", "b"):
        if f"length_{side}" not in frame.columns and f"response_{side}" in frame.columns:
            length = lengths(as_text(frame[f"response_{side}"]))
            frame = frame.with_columns(length.alias(f"length_{side}"))
    column = cluster_column(frame, cluster) or "id"
    codes = code_clusters(frame[column], frame["id"])
    frame = frame.with_columns(pl.Series(CLUSTER, codes))
    first = first_repeats(Rows(frame, taken.rows.dropped))
    scored = measured(first)
    first = scored if scored.frame.height else first
    return Verdicts(
        frame=first.frame,
        repeats=measured(Rows(frame, taken.rows.dropped)),
        name=table.name,
        graded=graded,
        by_score=not graded and "verdict" not in here and not by_orders,
        cluster=column,
        dropped=first.dropped,
        makers=taken.makers,
    )


def label_values(labels: Sequence[Any] | pl.Series) -> FloatArray:
    """The share of a win for response_a by each label; NaN without a label.

    >>> label_values(["A", None, "tie"]).tolist()
    [1.0, nan, 0.5]
    """
    words = pl.Series(labels, dtype=pl.String)
    values = words.replace_strict(OUTCOMES, default=None, return_dtype=pl.Float64)
    return values.fill_null(np.nan).to_numpy()


def _read(source: TableLike, named: Collection[str]) -> Table:
    """The rows unchanged; for battles, people's winner as label and the judge's as verdict.

    `named` has those of our columns that the caller named.
    """
    format = sniff(source)
    kinds = kinds_of(format)
    if format not in NATIVE and "judgments" in kinds:
        return Source(source).open("judgments")
    if kinds != {"battles"}:
        return parse_table(source)
    battles = Source(source).open("battles")
    # Judgments have no model names: only here can sides that are swapped be seen.
    rows = leave_out_repeats(Rows(battles.frame, battles.dropped), battles.name, apart=["judge"])
    scores = [name for name in ("score_a", "score_b") if name in rows.frame.columns]
    others = [name for name in BATTLE_COLUMNS.answers if name in rows.frame.columns]
    others = [name for name in others if name not in scores]
    has_scores = pl.all_horizontal(pl.col(scores).is_not_null()) if scores else pl.lit(False)
    answered = pl.any_horizontal(has_scores, pl.col(others).is_not_null())
    frame = _with_every_status(rows.frame, answered)
    verdict = next((c for c in VERDICT_COLUMNS if c in frame.columns), None)
    votes = {"label": "winner", "verdict": verdict}
    frame = frame.with_columns(
        as_text(frame[theirs]).replace(_WINNERS).alias(ours)
        for ours, theirs in votes.items()
        if theirs is not None and ours not in named
    )
    return replace(battles, frame=frame, dropped=rows.dropped)


def _with_every_status(frame: pl.DataFrame, answered: pl.Expr) -> pl.DataFrame:
    """The rows with the status of each, if only failures have one: they are read again."""
    if "status" not in frame.columns:
        return frame
    status = pl.when(answered).then(pl.lit("ok")).otherwise(pl.lit("error"))
    return frame.with_columns(pl.coalesce("status", status).alias("status"))


def _from_verdicts(table: pl.DataFrame) -> pl.DataFrame:
    """p_a as 1, 0 and one half from verdicts, else from two scores."""
    if "verdict" in table.columns:
        # A verdict of "tie" is not a verdict; p_a = 1/2 expresses that.
        answer = pl.col("verdict").replace_strict(OUTCOMES, return_dtype=pl.Float64)
        return table.with_columns(p_a=answer).drop("verdict", "judge_verdict", strict=False)
    gap = pl.col("score_a") - pl.col("score_b")
    return table.with_columns(p_a=(gap.sign() + 1) / 2)
