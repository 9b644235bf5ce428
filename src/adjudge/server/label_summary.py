"""What the labels of a round say of themselves: how many, sampled how, how far people agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import polars as pl

from adjudge._stats import binomial_interval
from adjudge.diagnosis.agreement import agreement
from adjudge.io import read_table
from adjudge.io.tables import TableLike, as_text
from adjudge.records import Label, Pair
from adjudge.results.labelling import LabellingSummary, RaterAgreement, RaterSummary
from adjudge.results.selection import CUT_COLUMNS
from adjudge.store.labels import Answer, LabelBook


def labels_frame(book: LabelBook, *, plan: TableLike | None = None) -> pl.DataFrame:
    """The labels file: one row per label that counts, oldest first.

    With the plan that was labelled, its `sampling_probability` comes along, which `estimate` needs
    for rows that were not all equally likely to be drawn, and its cut, which `calibrate` needs for
    rows that were drawn among the surest.
    """
    rows = [
        {
            "id": click.id,
            "label": click.label,
            "rater": click.rater,
            "sampled_by": click.sampled_by,
            "shown_order": click.shown_order,
            "labelled_at": int(1000 * click.created_at),
        }
        for click in book.answers()
        if click.label is not None
    ]
    columns = ("id", "label", "rater", "sampled_by", "shown_order")
    frame = pl.DataFrame(
        rows, schema={**dict.fromkeys(columns, pl.String), "labelled_at": pl.Int64}
    )
    frame = frame.with_columns(pl.col("labelled_at").cast(pl.Datetime("ms")))
    if plan is None:
        return frame
    drawn = read_table(plan)
    brought = [c for c in ("sampling_probability", *CUT_COLUMNS) if c in drawn.columns]
    planned = drawn.select(as_text(drawn["id"]), *brought).unique("id")
    return frame.join(planned, on="id", how="left", maintain_order="left")


def records(frame: pl.DataFrame) -> list[Label]:
    """The rows of a checked labels frame as records; rows without a label are left out."""
    columns = [name for name in ("rater", "sampled_by", "shown_order") if name in frame.columns]
    kept = frame.filter(pl.col("label").is_not_null()).select("id", "label", *columns)
    return [Label(**row) for row in kept.to_dicts()]


def summarise(book: LabelBook, pairs: Sequence[Pair]) -> LabellingSummary:
    """The state of a round over these pairs."""
    known = {pair.id for pair in pairs}
    clicks = [click for click in book.answers() if click.id in known]
    labels = [click for click in clicks if click.label is not None]
    raters = sorted({click.rater for click in clicks})
    sampled = Counter(click.sampled_by or "unknown" for click in labels)
    by_rater = {
        rater: {click.id: click.label for click in labels if click.rater == rater}
        for rater in raters
    }
    return LabellingSummary(
        pairs=len(known),
        pairs_labelled=len({click.id for click in labels}),
        n_labels=len(labels),
        sampled_by=dict(sorted(sampled.items())),
        raters=tuple(_rater(rater, clicks) for rater in raters),
        agreement=tuple(
            _agreement(one, by_rater[one], other, by_rater[other])
            for one, other in combinations(raters, 2)
            if by_rater[one].keys() & by_rater[other].keys()
        ),
    )


def _rater(rater: str, clicks: Sequence[Answer]) -> RaterSummary:
    own = [click for click in clicks if click.rater == rater]
    labels = [click for click in own if click.label is not None]
    # Where a side won and the page knows which one it was: people have a position bias too.
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
    )


def _agreement(
    one: str, labels_1: Mapping[str, str | None], other: str, labels_2: Mapping[str, str | None]
) -> RaterAgreement:
    both = sorted(labels_1.keys() & labels_2.keys())
    shared = agreement([labels_1[name] for name in both], [labels_2[name] for name in both])
    return RaterAgreement(
        rater_1=one,
        rater_2=other,
        pairs=len(both),
        raw=shared.raw,
        kappa=shared.kappa,
        alpha=shared.alpha,
    )
