"""Labels: what people said about pairs, single answers or scores. Their columns and their checks.

Which labels an analysis can use, and how a file of them is joined: `adjudge.data.steps.labels`.
"""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from adjudge.data.columns import ID, TEXT_COLUMNS, Column, Layout, rename_columns, rename_table
from adjudge.data.names import AS_SAID, PAIR, TEXTS, read_words, recognise, shorten
from adjudge.data.rows import LABELS, Rows, merge_dropped, pass_or_fail, tidy
from adjudge.data.shown import SHOWN_TEXTS, TEXTS_OF_ROWS
from adjudge.data.source import Source, open_values
from adjudge.data.steps.labels import BROUGHT, join_by_id, once_per_rater
from adjudge.data.tables import Table, TableLike, as_text, labels_as_of, source_name
from adjudge.records import About, LabelledBy, SampledBy, StartedFrom

LABEL_COLUMNS = Layout(
    "labels",
    ID,
    Column(name="label", required=True, choices=LABELS, words=PAIR),
    Column(name="rater"),
    Column(name="labelled_by", choices=get_args(LabelledBy)),
    Column(name="started_from", choices=get_args(StartedFrom)),
    Column(name="sampled_by", choices=get_args(SampledBy)),
    Column(name="shown_order", choices=("ab", "ba")),
    Column(name=SHOWN_TEXTS),
    Column(name="comment"),
    *TEXT_COLUMNS,
    apart=("rater",),
    texts_needed=True,
)
_OF_ANSWERS = [column for column in LABEL_COLUMNS.columns if column.name != "label"]
#: Labels of single answers, in `label` or in `human`: pass or fail, or any words.
GRADE_LABEL_COLUMNS = Layout(
    "labels",
    *(*_OF_ANSWERS, Column(name="label", required=True)),
    apart=LABEL_COLUMNS.apart,
    texts_needed=True,
    usual="grade_labels",
)
#: Scores of single answers, in `label` or in `human_score`.
SCORE_LABEL_COLUMNS = Layout(
    "labels",
    *(*_OF_ANSWERS, Column(name="label", type="whole", low=0, required=True)),
    apart=LABEL_COLUMNS.apart,
    texts_needed=True,
    usual="score_labels",
)


def read_labels(source: TableLike, *, about: About | Literal["scores"] = "pairs") -> pl.DataFrame:
    """Labels as a checked frame: id, label (A, B, tie or empty), rater, and their origin.

    Labels `about` grades are pass, fail (also written 1 and 0) or empty, those about scores whole
    numbers. Several raters per id are allowed. Two different labels of one rater for one pair are
    refused; the same label twice is one label.

    >>> read_labels({"id": [7, 8], "label": ["A", "tie"]})["id"].to_list()
    ['7', '8']
    """
    return once_per_rater(read_every_label(source, about=about), source_name(source))


def read_every_label(
    source: TableLike, *, about: About | Literal["scores"] = "pairs"
) -> pl.DataFrame:
    """As `read_labels`, with every label of a rater: their origins can differ."""
    layouts = {"pairs": LABEL_COLUMNS, "scores": SCORE_LABEL_COLUMNS}
    frame = layouts.get(about, GRADE_LABEL_COLUMNS).read(source)
    label = frame["label"].cast(pl.String)
    if about not in layouts:
        label = pass_or_fail(label, source_name(source), labels_as_of(source)).alias("label")
    return frame.with_columns(label)


def read_log_labels(table: Table) -> pl.DataFrame:
    """Labels of a log: of pairs checked, pass and fail as 1 and 0, as rates need them."""
    labels = set(table.frame["label"].drop_nulls().unique())
    return read_labels(table) if labels <= set(LABELS) else once_per_rater(table.frame, table.name)


#: What labels are about: pairs, grades, scores, or values of any column.
Labelled = About | Literal["scores", "values"]


def open_labels(labels: TableLike, about: Labelled = "pairs", *, column: str = "label") -> Rows:
    """The labels of a file, checked, with id, label, rater and origin.

    Labels `about` values are words and numbers as they are written: the file's own column of the
    name `column` is read, else `human`, else `label`. Two of them for one id need a column rater.
    """
    if about != "values":
        opened = Source(labels).open("labels", about=about)
        return Rows(opened.frame, opened.dropped)
    name = source_name(labels)
    opened = open_values(labels)
    if opened.kind is None:
        theirs = {"label": column} if column in opened.frame.columns else {}
        rows = GRADE_LABEL_COLUMNS.load(rename_table(opened, theirs))
        table = GRADE_LABEL_COLUMNS.check(rows, name)
    else:
        # A converted log: human labels are in `label`, next to grades in `human`.
        theirs = {} if "label" in opened.frame else {"label": "human"}
        table = rename_columns(opened.frame, theirs, name)
    values = read_words(tidy(table["label"], name, column), AS_SAID, opened.labels_as)
    rows_of = table.select(
        as_text(table["id"]),
        values.alias("label"),
        *(c for c in ("rater", SHOWN_TEXTS, *TEXTS_OF_ROWS, *BROUGHT) if c in table.columns),
    )
    return Rows(rows_of, opened.dropped)


def join_labels(
    frame: pl.DataFrame,
    labels: TableLike,
    *,
    about: Labelled = "pairs",
    column: str = "label",
    source: str = "the rows",
    ids_made: bool = False,
    alike_ids: bool = False,
) -> Rows:
    """Give each row of `frame` the label of its id, in `column`.

    `about` is what the labels are: A, B or tie for pairs; pass or fail for grades; scores; or
    values as they are written. See `adjudge.data.steps.labels.join_by_id`.

    >>> rows = pl.DataFrame({"id": ["x", "y"], "p_a": [0.9, 0.2]})
    >>> done = join_labels(rows, pl.DataFrame({"id": ["x", "z"], "label": ["A", "B"]}))
    >>> done.frame["label"].to_list(), done.dropped
    (['A', None], {'label of an id without a row': 1})
    """
    return join_by_id(
        Rows(frame),
        open_labels(labels, about, column=column),
        column=column,
        name=source_name(labels),
        source=source,
        ids_made=ids_made,
        alike_ids=alike_ids,
        votes=about != "values",
    )


def with_labels(
    rows: Rows,
    source: Source,
    about: Labelled = "pairs",
    *,
    column: str = "label",
    ids_made: bool = False,
) -> Rows:
    """The rows with the labels of the call's labels file."""
    joined = join_labels(
        rows.frame,
        source.labels,
        about=about,
        column=column,
        source=source.name,
        ids_made=ids_made,
        alike_ids=source.alike_ids,
    )
    return Rows(joined.frame, merge_dropped(rows.dropped, joined.dropped))


def lacking(table: Table) -> str | None:
    """What a file of labels lacks, as a part of an error; None if it has ids and labels."""
    here = table.frame.columns
    kinds = ("labels", "grade_labels", "score_labels", "grades", "binary")
    label = any(recognise(here, kind, [name]) for kind in kinds for name in ("label", "human"))
    by_id = recognise(here, "labels", ["id", *TEXTS])
    absent = [name for name, there in {"id": by_id, "label": label}.items() if not there]
    if not absent:
        return None
    flag = f"--labels-column {absent[0]}=NAME"
    return f"{table.name} has no {', '.join(absent)}: {flag}, columns there: {shorten(here)}"
