"""The rows of selection: labelled rows to learn from, new rows to decide on, and their cuts.

Labels drawn only among the surest rows have no information about the others. Below the cut such
labels are a random sample, and so are random labels that lie there. A sample below one cut and a
sample below another are both random below both. So everything made from them uses, and holds for,
the pairs below every cut: those whose score, by the judge that was cut, is at most the cut.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.judgments import (
    ERROR,
    IS_ERROR,
    JUDGMENT_COLUMNS,
    Judgments,
    doubt_ties,
    mark_off_answer,
    own_verdicts,
    prepare_judgments,
)
from adjudge.data.names import refuse_values, shorten
from adjudge.data.rows import Rows, cluster_column, measured, sort_rows, text_column, tidy
from adjudge.data.source import Source
from adjudge.data.steps.labels import BY_SCORE, CHOSEN_BY, CUT_BY, take_labels
from adjudge.data.tables import TableLike, as_text, read_table, source_name
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.policy.result import Cut, lowest_cuts
from adjudge.records import ALIGNMENT_PART, CERTIFY, CUT_COLUMNS, About
from adjudge.validation import one_of

#: Why a row above a cut neither calibrates nor is accepted.
BEYOND = "outside the share that was labelled"
_KEEP = "keep the columns that plan labels wrote; adjudge label --plan FILE -o copies them"
TIES = ("drop", "error")
#: The column of human labels, and its values.
_LABELS: Mapping[About, tuple[str, str]] = {
    "pairs": ("label", "A, B or tie"),
    "grades": ("human", "0 or 1"),
    "choices": ("best", "the name of a response, or tie"),
}


@dataclass(frozen=True)
class LabelledRows:
    """Scored rows with a human label, errors in `ERROR`; `cluster` is the column to be used.

    All of them lie below the `cuts`, and so must the new rows.
    """

    frame: pl.DataFrame
    cluster: str | None
    dropped: Mapping[str, int]
    about: About
    cuts: tuple[Cut, ...] = ()
    #: The note about labels that a model made, if they are allowed.
    makers: tuple[str, ...] = ()
    #: The warning about rows that an alignment keeps.
    looks: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewRows:
    """Every row of a file, and those of them with a usable score."""

    everything: pl.DataFrame
    measured: pl.DataFrame
    dropped: Mapping[str, int]
    unmeasured: Mapping[str, int]
    about: About


def read_labelled(
    judgments: TableLike | Source | Judgments,
    *,
    ties: str = "drop",
    cluster: str | None = "auto",
    by: str | None = None,
    weights: str | None = None,
    min_answer_mass: float | None = None,
    below_cuts: bool = False,
    model_labels: bool = False,
    keep_failed: bool = False,
    keep: Collection[str] | None = None,
) -> LabelledRows:
    """The rows that calibrate, evaluate and plan learn from; `by` as text, `weights` as numbers.

    An error is a verdict that is not the label. A row without a verdict (p_a = 0.5) is an error. So
    is a judge's tie, whose doubt is infinite. A human tie is left out or an error, depending on
    `ties`. A label sampled by doubt never calibrates (see `take_labels`). A label drawn
    among the surest rows, or by an audit of accepted ones, is used only if the result keeps to the
    cut (`below_cuts`); then all rows above the cut are left out. A label that started from the
    judge's answer is left out. Labels that a model made are refused unless `model_labels` is set.
    Rows with an answer_mass below `min_answer_mass` are `off_answer`. Rows without a usable score
    are left out, unless `keep_failed` is set: a cascade then asks another judge. `keep` names the
    columns that the caller uses in addition to id, judge and protocol (None: all); the others are
    left out before the rows are sorted.

    >>> rows = {"id": [1, 2, 3], "p_a": [0.9, 0.2, 0.7], "label": ["A", "A", "tie"]}
    >>> done = read_labelled(rows)
    >>> done.frame[ERROR].to_list(), done.dropped
    ([0, 1], {'human tie': 1})
    """
    one_of(ties, TIES, "ties")
    prepared = prepare_judgments(judgments)
    frame = mark_off_answer(own_verdicts(prepared), min_answer_mass)
    if by is not None:
        frame = frame.with_columns(text_column(frame, by, "by"))
    file = prepared.name if Path(prepared.name).is_file() else "FILE"
    drawing = shlex.join(["adjudge", "plan", "labels", file, "--write-ids", "to_label.csv"])
    if "label" not in frame.columns:
        place, values = _LABELS[prepared.about]
        others = [name for name in frame.columns if name not in JUDGMENT_COLUMNS.names]
        here = f" (other columns here: {shorten(others)})" if others else ""
        raise DataError(
            prepared.name,
            "has no human labels",
            column=place,
            remedy=f"name your column: --column {place}=NAME (columns=), add one ({values}), or "
            f"give a labels file with --labels{here}; to draw rows to label: {drawing}",
        )
    rows = Rows(frame, prepared.dropped).without(pl.col("label").is_null(), "no label")
    without = CHOSEN_BY if below_cuts else BY_SCORE
    taken = take_labels(rows, "label", prepared.name, without=without, model_labels=model_labels)
    # Labels that are not used were counted by their reason.
    rows = Rows(taken.rows.frame.filter(pl.col("label").is_not_null()), taken.rows.dropped)
    if not keep_failed:
        rows = measured(rows)
    cuts = cuts_of(rows.frame, prepared.name) if below_cuts else ()
    if cuts:
        rows = rows.without(~pl.lit(lie_below(rows.frame, cuts, scored=rows.frame)), BEYOND)
    if ties == "drop":
        rows = rows.without(pl.col("label") == "tie", "human tie")
    if rows.frame.height == 0:
        reasons = ", ".join(f"{n} {reason}" for reason, n in rows.dropped.items())
        only_ties = {*rows.dropped} == {"human tie"}
        raise DataError(
            prepared.name,
            f"no labelled verdict is left ({reasons or 'there are no rows'})",
            remedy="label some rows A or B, or count ties as errors: --ties error (ties=)"
            if only_ties
            else f"draw rows to label: {drawing}, then give the labels: --labels FILE (labels=)",
        )
    if by is not None:
        rows = rows.without(pl.col(by).is_null(), f"no {by}")
        if rows.frame.height == 0:
            raise ArgumentError("by", by, "it is empty in every labelled row")
    looks: tuple[str, ...] = ()
    if ALIGNMENT_PART in rows.frame.columns and (
        n := int((rows.frame[ALIGNMENT_PART] == CERTIFY).sum())
    ):
        looks = (
            f"{n:,} of these rows certify an alignment: using them is a look at them that was not "
            "declared; use labels that align never saw",
        )
    # Sorted, so that everything random depends on the seed and not on the order of the file.
    frame = doubt_ties(rows.frame).with_columns(IS_ERROR.alias(ERROR))
    frame = sort_rows(frame, ["judge", "protocol", "id"], keep)
    if weights is not None:
        frame = _with_weights(frame, weights)
    column = cluster_column(frame, cluster, within=["judge", "protocol"])
    return LabelledRows(frame, column, rows.dropped, prepared.about, cuts, taken.makers, looks)


def read_scored(prepared: Judgments, *, cluster: str | None) -> LabelledRows:
    """The rows with a usable score, as if all of them were right: for a plan without labels."""
    rows = measured(Rows(own_verdicts(prepared), prepared.dropped))
    frame = doubt_ties(rows.frame).with_columns(pl.lit(0, pl.Int64).alias(ERROR))
    frame = sort_rows(frame, ["judge", "protocol", "id"], None)
    column = cluster_column(frame, cluster, within=["judge", "protocol"])
    return LabelledRows(frame, column, rows.dropped, prepared.about, (), ())


def read_new(judgments: TableLike | Judgments, *, min_answer_mass: float | None = None) -> NewRows:
    """The rows that select decides on; `min_answer_mass` as in `read_labelled`."""
    prepared = prepare_judgments(judgments)
    # `select` adds columns of one chunk, and polars copies a frame whose chunks differ.
    frame = mark_off_answer(own_verdicts(prepared).rechunk(), min_answer_mass)
    usable = measured(Rows(frame))
    return NewRows(frame, usable.frame, prepared.dropped, usable.dropped, prepared.about)


def cuts_of(frame: pl.DataFrame, name: str) -> tuple[Cut, ...]:
    """The cuts of the labels of these rows; for each score the lowest.

    >>> cut = Cut(judge="x", protocol="preference", at=0.3, share=0.6)
    >>> cuts_of(pl.DataFrame({"sampled_by": ["surest"], **cut.columns}), "labels") == (cut,)
    True
    """
    if "sampled_by" not in frame.columns:
        return ()
    drawn = frame.filter(pl.col("sampled_by").is_in(CUT_BY))
    if drawn.height == 0:
        return ()
    needed = CUT_COLUMNS[:3]
    for column in needed:
        if column not in drawn.columns or drawn[column].null_count():
            how = drawn["sampled_by"][0]
            problem = f"is missing for labels that were sampled by {how}"
            remedy = _KEEP
            if how == "audit":
                remedy = "after an alarm: adjudge monitor recalibrate AUDITS --state STATE"
            raise DataError(name, problem, column=column, remedy=remedy)
    read = {c: tidy(drawn[c], name, c) for c in CUT_COLUMNS if c in drawn.columns}
    for column in needed[:2]:
        value = read[column].cast(pl.Float64, strict=False)
        bad = ~value.is_finite().fill_null(False)
        problem = "{} is not a number"
        refuse_values(read[column], bad, problem, source=name, remedy=_KEEP)
        read[column] = value
    rows = pl.DataFrame(list(read.values())).unique().sort("cut", descending=True)
    names = ("at", "share", "judge", "protocol", "judge_fingerprint")
    fields = dict(zip(CUT_COLUMNS, names, strict=True))
    cuts: list[dict[str, Any]] = rows.rename(fields, strict=False).to_dicts()
    return lowest_cuts(Cut(**({"protocol": None} | cut)) for cut in cuts)


def lie_below(rows: pl.DataFrame, cuts: Sequence[Cut], *, scored: pl.DataFrame) -> pl.Series:
    """Which rows are of pairs below every cut.

    `scored` has the judgments of the judges whose score was cut, with that score as `uncertainty`.
    For a jury or a learned doubt that is not the score of `rows`. If a cut's judge is missing
    there, PolicyMismatchError names it.
    """
    below = np.ones(rows.height, dtype=np.bool_)
    for cut in cuts:
        of_judge = scored.filter(cut.is_of("judge", "protocol"))
        comparable = of_judge.filter(cut.is_of("judge_fingerprint"))
        if comparable.height == 0:
            differs = "judge" if of_judge.height == 0 else "judge_fingerprint"
            raise PolicyMismatchError(
                f"labels were drawn among {cut.name}, but its judgments are missing"
                + (" (the rows of this judge have another fingerprint)" if of_judge.height else "")
                + "; give them too, or draw labels by the judge you have",
                differs=(differs,),
            )
        accepted = pl.Series(cut.rule.accept(comparable["uncertainty"].to_numpy()))
        below &= rows["id"].is_in(comparable["id"].filter(accepted).implode()).to_numpy()
    return pl.Series(below)


def without_ids(
    frame: pl.DataFrame, ids: TableLike, *, cluster: str | None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows that are not among `ids`, nor in a cluster with one; how many were left out.

    >>> rows = pl.DataFrame({"id": ["x", "y", "z"], "prompt_id": ["p", "p", "q"]})
    >>> kept, dropped = without_ids(rows, {"id": ["x"]}, cluster="prompt_id")
    >>> kept["id"].to_list(), dropped
    (['z'], {'same prompt_id as a row left out': 1, 'left out by id': 1})
    """
    rows = Rows(frame)
    named = pl.col("id").is_in(read_ids(ids).implode())
    if cluster is not None:
        alike = named.any().over(cluster) & pl.col(cluster).is_not_null() & ~named
        rows = rows.without(alike, f"same {cluster} as a row left out")
    rows = rows.without(named, "left out by id")
    if rows.frame.height == 0:
        raise ArgumentError("leave_out", source_name(ids), "leaves no labelled row")
    return rows.frame, dict(rows.dropped)


def only_ids(rows: LabelledRows, ids: TableLike) -> LabelledRows:
    """The rows whose id is among `ids`; all others are left out and counted."""
    wanted = Rows(rows.frame, rows.dropped).without(
        ~pl.col("id").is_in(read_ids(ids).implode()), "not among the ids to choose on"
    )
    if wanted.frame.height == 0:
        raise ArgumentError("choose_on", source_name(ids), "no labelled row has one of its ids")
    return replace(rows, frame=wanted.frame, dropped=wanted.dropped)


def read_ids(ids: TableLike) -> pl.Series:
    """The ids of a table that has a column of them."""
    table = read_table(ids, text=("id",))
    if "id" not in table.columns:
        raise DataError(source_name(ids), "is missing", column="id", remedy="give a column of ids")
    return as_text(table["id"]).unique()


def _with_weights(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    numbers = text_column(frame, column, "weights").cast(pl.Float64, strict=False)
    bad = (~(numbers.is_finite() & (numbers > 0))).fill_null(True)
    if bad.any():
        at = int(bad.arg_true()[0])
        raise ArgumentError(
            f"{column} of id {frame['id'][at]!r}", frame[column][at], "give a weight above 0"
        )
    return frame.with_columns(numbers.alias(column))
