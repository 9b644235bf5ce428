"""Summary of the labels of a round: their number, how rows were drawn, agreement of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Literal

import polars as pl

from adjudge.data import read_table
from adjudge.data.shown import SHOWN_TEXTS, hashes_in
from adjudge.data.tables import TableLike, as_text
from adjudge.diagnosis.agreement import agreement
from adjudge.present.blocks import Block, Columns, Headline, Table, notes_of, table_of
from adjudge.present.result import Count, Proportion, Result, frozen
from adjudge.present.text import DASH, clip, count, number, percent
from adjudge.records import CUT_COLUMNS, Label, Subject
from adjudge.server.labelling import PAIRS, LabelKind
from adjudge.statistics.numbers import binomial_interval
from adjudge.store.labels import LabelBook
from adjudge.store.tables import LabelEvent


@dataclass(frozen=True, kw_only=True)
class RaterSummary:
    """One person's labels; `left_share` is how often the left side won among decided labels.

    `mean` is the share that passed, or the mean score.
    """

    rater: str
    labels: Count
    skipped: Count
    ties: Count
    left_share: Proportion | None
    left_low: float | None
    left_high: float | None
    mean: float | None = None


@dataclass(frozen=True, kw_only=True)
class RaterAgreement:
    """How well two people agree on the pairs (or answers) that both labelled."""

    rater_1: str
    rater_2: str
    pairs: Count
    raw: Proportion
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class RaterComment:
    """What one person wrote about one pair or answer; `label` is None if it was skipped."""

    id: str
    rater: str
    label: str | None
    comment: str


@frozen
class LabellingSummary(Result):
    """How many labels, by whom, sampled how, how well people agree, and what they commented.

    `about` is what was labelled: pairs, or answers by pass and fail (grades) or by scores.
    """

    kind: ClassVar[str] = "labelling"
    rows_in: ClassVar[str] = "raters"

    about: Literal["pairs", "grades", "scores"] = "pairs"
    pairs: Count
    pairs_labelled: Count
    n_labels: Count
    sampled_by: Mapping[str, Count] = field(default_factory=dict)
    raters: tuple[RaterSummary, ...] = ()
    agreement: tuple[RaterAgreement, ...] = ()
    comments: tuple[RaterComment, ...] = ()

    @property
    def _noun(self) -> str:
        return "pair" if self.about == "pairs" else "answer"

    def view(self) -> list[Block]:
        blocks: list[Block] = [
            Headline(
                f"{count(self.n_labels, 'label')} on {self.pairs_labelled:,} of "
                f"{count(self.pairs, self._noun)}"
            )
        ]
        notes = []
        if self.sampled_by:
            by_draw = (f"{n:,} by {how}" for how, n in self.sampled_by.items())
            notes.append("drawn: " + ", ".join(by_draw))
        if self.sampled_by.get("doubt"):
            notes.append("labels drawn by doubt cannot calibrate; labels drawn at random can")
        if self.sampled_by.get("surest"):
            notes.append(
                "labels drawn among the surest calibrate below their cut, "
                "and cannot estimate a rate"
            )
        blocks += notes_of(notes)
        if self.raters:
            blocks.append(table_of(self.raters, _rater_columns(self.about)))
        if self.agreement:
            columns: Columns[RaterAgreement] = {
                "rater": lambda pair: pair.rater_1,
                "and": lambda pair: pair.rater_2,
                f"{self._noun}s": lambda pair: number(pair.pairs),
                "agree": lambda pair: percent(pair.raw, 0),
                "kappa": lambda pair: number(pair.kappa, 2),
                "Krippendorff's alpha": lambda pair: number(pair.alpha, 2),
            }
            caption = f"Agreement on {self._noun}s that both labelled"
            blocks.append(table_of(self.agreement, columns, caption=caption, text_columns=2))
        if self.comments:
            blocks.append(self._comments_table())
        return blocks

    def _comments_table(self) -> Table:
        """The first comments, each on one line; the file of the summary has all of them."""
        n = len(self.comments)
        shown = self.comments[:_MOST_COMMENTS]
        columns: Columns[RaterComment] = {
            self._noun: lambda comment: comment.id,
            "rater": lambda comment: comment.rater,
            "label": lambda comment: comment.label or "skipped",
            "comment": lambda comment: clip(" ".join(comment.comment.split()), _LONGEST),
        }
        caption = "Comments" if len(shown) == n else f"The first {len(shown)} of {n:,} comments"
        return table_of(shown, columns, caption=caption, text_columns=4)


def labels_frame(
    book: LabelBook, *, plan: TableLike | None = None, kind: LabelKind = PAIRS
) -> pl.DataFrame:
    """The labels file: one row per label that counts, oldest first; `comment` if there is one.

    `shown_texts` has a hash of each text that the person was shown, so that the label is joined to
    no other text with the same id.
    Grades are also in `human`, as 1 and 0, and scores in `human_score`, for `estimate` and
    `diagnose scores`. With the plan that was labelled, `sampling_probability` is added, which
    `estimate` needs for rows that were not all equally likely to be drawn, and the cut, which
    `calibrate` needs for rows that were drawn among the surest.
    """
    labels = [click for click in book.answers() if click.label is not None]
    columns = (
        *("label", "rater", "sampled_by", "shown_order", "created_at", "comment", SHOWN_TEXTS),
    )
    rows = [[click.subject_id, *(getattr(click, name) for name in columns)] for click in labels]
    schema = dict.fromkeys(("id", *columns), pl.String) | {"created_at": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    at = (pl.col("created_at") * 1000).cast(pl.Int64).cast(pl.Datetime("ms"))
    frame = frame.with_columns(at).rename({"created_at": "labelled_at"})
    frame = frame.drop(c for c in ("comment", SHOWN_TEXTS) if frame[c].is_null().all())
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


def records(frame: pl.DataFrame) -> tuple[list[Label], list[str | None]]:
    """The rows of a checked labels frame that have a label, and the comment of each."""
    labelled = frame.filter(pl.col("label").is_not_null())
    names = ("id", "label", "rater", "sampled_by", "shown_order")
    labels = labelled.select(name for name in names if name in frame.columns)
    commented = "comment" in frame.columns
    comments = labelled["comment"].to_list() if commented else [None] * len(labelled)
    texts = hashes_in(labelled)
    rows = zip(labels.iter_rows(named=True), texts, strict=True)
    return [Label(**row, shown_texts=shown) for row, shown in rows], comments


def summarise(
    book: LabelBook, subjects: Sequence[Subject], kind: LabelKind = PAIRS
) -> LabellingSummary:
    """The state of a round over these pairs or answers."""
    ids = {subject.id for subject in subjects}
    clicks = [click for click in book.answers() if click.subject_id in ids]
    labels = [click for click in clicks if click.label is not None]
    raters = sorted({click.rater for click in clicks})
    sampled = Counter(click.sampled_by or "unknown" for click in labels)
    by_rater: dict[str, dict[str, str | None]] = {rater: {} for rater in raters}
    for click in labels:
        by_rater[click.rater][click.subject_id] = click.label
    couples = [
        two for two in combinations(raters, 2) if by_rater[two[0]].keys() & by_rater[two[1]].keys()
    ]
    comments = [
        RaterComment(
            id=click.subject_id, rater=click.rater, label=click.label, comment=click.comment
        )
        for click in clicks
        if click.comment is not None
    ]
    agreement = [_agreement(two, by_rater, kind) for two in couples]
    labelled = {click.subject_id for click in labels}
    summaries = tuple(_rater(rater, clicks, kind) for rater in raters)
    return LabellingSummary(
        about=kind.name,
        pairs=len(ids),
        pairs_labelled=len(labelled),
        n_labels=len(labels),
        sampled_by=dict(sorted(sampled.items())),
        raters=summaries,
        agreement=tuple(agreement),
        comments=tuple(comments),
    )


def _rater(rater: str, clicks: Sequence[LabelEvent], kind: LabelKind) -> RaterSummary:
    answers = [click for click in clicks if click.rater == rater]
    labels = [click for click in answers if click.label is not None]
    # Labels with a known side: people have a position bias too.
    sided = [click for click in labels if click.label != "tie" and click.shown_order]
    left = sum((click.label == "A") == (click.shown_order == "ab") for click in sided)
    low, high = binomial_interval(left, len(sided), 0.95) if sided else (None, None)
    ties = sum(click.label == "tie" for click in labels)
    return RaterSummary(
        rater=rater,
        labels=len(labels),
        skipped=len(answers) - len(labels),
        ties=ties,
        left_share=left / len(sided) if sided else None,
        left_low=low,
        left_high=high,
        mean=_mean(labels, kind),
    )


def _mean(labels: Sequence[LabelEvent], kind: LabelKind) -> float | None:
    """The share that passed, or the mean score."""
    if not labels or kind.name == "pairs":
        return None
    if kind.name == "grades":
        return sum(click.label == "pass" for click in labels) / len(labels)
    return sum(int(click.label or 0) for click in labels) / len(labels)


def _agreement(
    raters: tuple[str, str], labels: Mapping[str, Mapping[str, str | None]], kind: LabelKind
) -> RaterAgreement:
    first, second = raters
    both = sorted(labels[first].keys() & labels[second].keys())
    shared: list[list[Any]] = [[labels[rater][name] for name in both] for rater in raters]
    if kind.name == "scores":
        shared = [[int(label) for label in scores] for scores in shared]
    agreed = agreement(*shared, level="interval" if kind.name == "scores" else "nominal")
    numbers = {name: getattr(agreed, name) for name in ("raw", "kappa", "alpha")}
    return RaterAgreement(rater_1=first, rater_2=second, pairs=len(both), **numbers)


_MOST_COMMENTS = 20
_LONGEST = 200


def _rater_columns(about: str) -> Columns[RaterSummary]:
    columns: Columns[RaterSummary] = {
        "rater": lambda rater: rater.rater,
        "labels": lambda rater: number(rater.labels),
    }
    if about == "pairs":
        columns["ties"] = lambda rater: number(rater.ties)
    columns["skipped"] = lambda rater: number(rater.skipped)
    if about == "grades":
        columns["passed"] = lambda rater: percent(rater.mean, 0)
    elif about == "scores":
        columns["mean score"] = lambda rater: number(rater.mean, 2)
    else:
        columns["chose the left side"] = lambda rater: percent(rater.left_share, 0)
        columns["95 % interval"] = _interval
    return columns


def _interval(rater: RaterSummary) -> str:
    if rater.left_low is None or rater.left_high is None:
        return DASH
    return f"{percent(rater.left_low, 0)} to {percent(rater.left_high, 0)}"
