"""Summary of the labels of a round: their number, how rows were drawn, agreement of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from adjudge.data import read_table
from adjudge.data.tables import TableLike, as_text
from adjudge.diagnosis.agreement import agreement
from adjudge.records import CUT_COLUMNS, Label, Subject
from adjudge.results.labelling import LabellingSummary, RaterAgreement, RaterComment, RaterSummary
from adjudge.server.label_kinds import PAIRS, LabelKind
from adjudge.statistics.numbers import binomial_interval
from adjudge.store.labels import Answer, LabelBook


def labels_frame(
    book: LabelBook, *, plan: TableLike | None = None, kind: LabelKind = PAIRS
) -> pl.DataFrame:
    """The labels file: one row per label that counts, oldest first; `comment` if there is one.

    Grades are also in `human`, as 1 and 0, and scores in `human_score`, for `estimate` and
    `diagnose scores`. With the plan that was labelled, `sampling_probability` is added, which
    `estimate` needs for rows that were not all equally likely to be drawn, and the cut, which
    `calibrate` needs for rows that were drawn among the surest.
    """
    rows = [
        {
            "id": click.id,
            "label": click.label,
            "rater": click.rater,
            "sampled_by": click.sampled_by,
            "shown_order": click.shown_order,
            "labelled_at": int(1000 * click.created_at),
            "comment": click.comment,
        }
        for click in book.answers()
        if click.label is not None
    ]
    columns = ("id", "label", "rater", "sampled_by", "shown_order")
    frame = pl.DataFrame(
        rows,
        schema={
            **dict.fromkeys(columns, pl.String), "labelled_at": pl.Int64, "comment": pl.String
        },
    )  # fmt: skip
    frame = frame.with_columns(pl.col("labelled_at").cast(pl.Datetime("ms")))
    if frame["comment"].is_null().all():
        frame = frame.drop("comment")
    if kind.name == "grades":
        frame = frame.with_columns(human=(pl.col("label") == "pass").cast(pl.Int8))
    elif kind.name == "scores":
        frame = frame.with_columns(human_score=pl.col("label").cast(pl.Int64))
    if plan is None:
        return frame
    return frame.join(plan_columns(plan), on="id", how="left", maintain_order="left")


def plan_columns(plan: TableLike) -> pl.DataFrame:
    """The columns of a plan for the labels of its rows, by id: probability or cut."""
    drawn = read_table(plan)
    brought = [c for c in ("sampling_probability", *CUT_COLUMNS) if c in drawn.columns]
    return drawn.select(as_text(drawn["id"]), *brought).unique("id")


def records(frame: pl.DataFrame) -> list[Label]:
    """The rows of a checked labels frame as records; rows without a label are left out."""
    columns = [name for name in ("rater", "sampled_by", "shown_order") if name in frame.columns]
    kept = frame.filter(pl.col("label").is_not_null()).select("id", "label", *columns)
    return [Label(**row) for row in kept.to_dicts()]


def comments(frame: pl.DataFrame) -> list[str | None] | None:
    """The comments of these records, in their order; None if the frame has no such column."""
    if "comment" not in frame.columns:
        return None
    return frame.filter(pl.col("label").is_not_null())["comment"].to_list()


def summarise(
    book: LabelBook, subjects: Sequence[Subject], kind: LabelKind = PAIRS
) -> LabellingSummary:
    """The state of a round over these pairs or answers."""
    known = {subject.id for subject in subjects}
    clicks = [click for click in book.answers() if click.id in known]
    labels = [click for click in clicks if click.label is not None]
    raters = sorted({click.rater for click in clicks})
    sampled = Counter(click.sampled_by or "unknown" for click in labels)
    by_rater = {
        rater: {click.id: click.label for click in labels if click.rater == rater}
        for rater in raters
    }
    return LabellingSummary(
        about=kind.name,
        pairs=len(known),
        pairs_labelled=len({click.id for click in labels}),
        n_labels=len(labels),
        sampled_by=dict(sorted(sampled.items())),
        raters=tuple(_rater(rater, clicks, kind) for rater in raters),
        agreement=tuple(
            _agreement(one, by_rater[one], other, by_rater[other], kind)
            for one, other in combinations(raters, 2)
            if by_rater[one].keys() & by_rater[other].keys()
        ),
        comments=tuple(
            RaterComment(id=click.id, rater=click.rater, label=click.label, comment=click.comment)
            for click in clicks
            if click.comment is not None
        ),
    )


def _rater(rater: str, clicks: Sequence[Answer], kind: LabelKind) -> RaterSummary:
    own = [click for click in clicks if click.rater == rater]
    labels = [click for click in own if click.label is not None]
    # Labels with a known side: people have a position bias too.
    sided = [click for click in labels if click.label != "tie" and click.shown_order]
    left = sum((click.label == "A") == (click.shown_order == "ab") for click in sided)
    low, high = binomial_interval(left, len(sided), 0.95) if sided else (None, None)
    return RaterSummary(
        rater=rater,
        labels=len(labels),
        skipped=len(own) - len(labels),
        ties=sum(click.label == "tie" for click in labels),
        left_share=left / len(sided) if sided else None,
        left_low=low,
        left_high=high,
        mean=_mean(labels, kind),
    )


def _mean(labels: Sequence[Answer], kind: LabelKind) -> float | None:
    """The share that passed, or the mean score."""
    if not labels or kind.name == "pairs":
        return None
    if kind.name == "grades":
        return sum(click.label == "pass" for click in labels) / len(labels)
    return sum(int(click.label or 0) for click in labels) / len(labels)


def _agreement(
    one: str,
    labels_1: Mapping[str, str | None],
    other: str,
    labels_2: Mapping[str, str | None],
    kind: LabelKind,
) -> RaterAgreement:
    both = sorted(labels_1.keys() & labels_2.keys())
    said: list[list[Any]] = [[labels[name] for name in both] for labels in (labels_1, labels_2)]
    if kind.name == "scores":
        said = [[int(label) for label in labels] for labels in said]
    shared = agreement(*said, level="interval" if kind.name == "scores" else "nominal")
    return RaterAgreement(
        rater_1=one,
        rater_2=other,
        pairs=len(both),
        raw=shared.raw,
        kappa=shared.kappa,
        alpha=shared.alpha,
    )
