"""Labels: what people said about pairs or single answers. Their checks, their join, their origin.

A label that started from the judge's answer repeats the judge if the person did not change it, so
it is not used. A label that a model made gives that model's preference: it is used only if the
caller allows it, and the result then states it. Calibration and estimates can use labels that were
sampled in different ways; both rules are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from adjudge.data.columns import TEXT_COLUMNS, Column, Layout, rename_columns, rename_table
from adjudge.data.names import (
    AS_SAID,
    GIVE_IDS,
    PAIR,
    TEXTS,
    add_ids,
    first_of,
    quote,
    read_words,
    recognise,
    refuse_values,
    refuse_where,
    shorten,
)
from adjudge.data.rows import FROM_JUDGE, LABELS, Rows, merge_dropped, pass_or_fail, tidy
from adjudge.data.source import Source, open_values
from adjudge.data.tables import Table, TableLike, as_text, labels_as_of, source_name
from adjudge.errors import DataError
from adjudge.present.text import count
from adjudge.records import CUT_COLUMNS, About, LabelledBy, SampledBy, StartedFrom

LABEL_COLUMNS = Layout(
    "labels",
    Column(name="id", required=True, filled=True),
    Column(name="label", required=True, choices=LABELS, words=PAIR),
    Column(name="rater"),
    Column(name="labelled_by", choices=get_args(LabelledBy)),
    Column(name="started_from", choices=get_args(StartedFrom)),
    Column(name="sampled_by", choices=get_args(SampledBy)),
    Column(name="shown_order", choices=("ab", "ba")),
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
    layouts = {"pairs": LABEL_COLUMNS, "scores": SCORE_LABEL_COLUMNS}
    frame, name = layouts.get(about, GRADE_LABEL_COLUMNS).read(source), source_name(source)
    label = frame["label"].cast(pl.String)
    if about not in layouts:
        label = pass_or_fail(label, name, labels_as_of(source)).alias("label")
    return once_per_rater(frame.with_columns(label), name)


def read_log_labels(table: Table) -> pl.DataFrame:
    """Labels of a log: of pairs checked, pass and fail as 1 and 0, as rates need them."""
    labels = set(table.frame["label"].drop_nulls().unique())
    return read_labels(table) if labels <= set(LABELS) else once_per_rater(table.frame, table.name)


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


def once_per_rater(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The frame without a rater's repeats; two different labels of one rater are refused."""
    if "rater" not in frame.columns:
        return frame
    known = pl.col("rater").is_not_null() & pl.col("label").is_not_null()
    # A row without a label is neither a repeat nor a contradiction.
    again = known & ~pl.struct("id", "rater", known.alias("known")).is_first_distinct()
    answers = pl.col("label").drop_nulls().n_unique().over("id", "rater")
    torn = frame.select(again & (answers > 1)).to_series().arg_true()
    if len(torn):
        at = int(torn[0])
        problem = f"rater {quote(frame['rater'][at])} labelled {quote(frame['id'][at])} in two ways"
        remedy = "keep one label per id and rater"
        raise DataError(source, problem, row=at + 1, column="label", remedy=remedy)
    return frame.filter(~again)


#: The columns that say who made a label and what it started from.
MAKERS = ("labelled_by", "started_from")
_CHOICES = {column.name: column.choices or () for column in LABEL_COLUMNS.columns}
#: Columns that describe a label: who made it and from what, how its row was drawn, with which
#: probability, below which cut.
_BROUGHT = (*MAKERS, "sampled_by", "sampling_probability", *CUT_COLUMNS)
#: The column with the label of each person.
LABELS_OF = "__labels"
#: A row that is drawn less often is in no sample, and its weight would outweigh all others.
_SMALLEST_CHANCE = 1e-12


def join_labels(
    frame: pl.DataFrame,
    labels: TableLike,
    *,
    about: About = "pairs",
    source: str = "the rows",
    ids_made: bool = False,
) -> Rows:
    """Give each row of `frame` the label of its id: A, B or tie; pass or fail `about` grades.

    If an id has several labels, the most frequent one is used, and `LABELS_OF` has the label of
    each person. If two are equally frequent, the id stays unlabelled and is counted (an even
    disagreement is not a "tie"). A label from the file replaces the row's own; rows where the two
    differ are counted. If any label of an id was sampled by doubt, the id counts as sampled by
    doubt; else if any was drawn below a cut, it counts as drawn so. A file whose ids match no row
    is refused. `source` is the name of the rows' own file, for errors; `ids_made` is true if it has
    no ids itself.

    >>> rows = pl.DataFrame({"id": ["x", "y"], "p_a": [0.9, 0.2]})
    >>> done = join_labels(rows, pl.DataFrame({"id": ["x", "z"], "label": ["A", "B"]}))
    >>> done.frame["label"].to_list(), done.dropped
    (['A', None], {'label of an id without a row': 1})
    """
    opened = Source(labels).open("labels", about=about)
    given, name = opened.frame.filter(pl.col("label").is_not_null()), source_name(labels)
    joined = _join(frame, given, column="label", name=name, source=source, ids_made=ids_made)
    return Rows(joined.frame, merge_dropped(opened.dropped, joined.dropped))


def join_values(
    frame: pl.DataFrame, labels: TableLike, *, column: str, source: str = "the rows"
) -> Rows:
    """Give each row of `frame` the value of its id, in `column`: 0 and 1, or words.

    The file's own column of that name is read, else `human`, else `label`. If a column `rater`
    names who labelled, several raters of one id are treated as in `join_labels`; else an id with
    two labels is refused. The rest is as in `join_labels`.

    >>> rows = pl.DataFrame({"id": ["a", "b"], "judge": [1, 0]})
    >>> join_values(rows, {"id": ["b"], "label": [0]}, column="human").frame["human"].to_list()
    [None, '0']
    """
    name = source_name(labels)
    opened = open_values(labels)
    if opened.kind is None:
        own = {"label": column} if column in opened.frame.columns else {}
        rows = GRADE_LABEL_COLUMNS.load(rename_table(opened, own))
        table = GRADE_LABEL_COLUMNS.check(rows, name)
    else:
        # A converted log: human labels are in `label`, next to grades in `human`.
        theirs = {} if "label" in opened.frame else {"label": "human"}
        table = rename_columns(opened.frame, theirs, name)
    given = table.select(
        as_text(table["id"]),
        read_words(tidy(table["label"], name, column), AS_SAID, opened.labels_as).alias("label"),
        *(c for c in ("rater", *_BROUGHT) if c in table.columns),
    )
    if "rater" not in given.columns:
        labelled = pl.col("label").is_not_null()
        again = labelled & ~pl.struct("id", labelled.alias("labelled")).is_first_distinct()
        problem, remedy = "{} has more than one label", "keep one label per id"
        refuse_where(given, again, problem, source=name, column="id", remedy=remedy)
    given = once_per_rater(given, name).filter(pl.col("label").is_not_null())
    joined = _join(frame, given, column=column, name=name, source=source)
    dropped = merge_dropped(opened.dropped, joined.dropped)
    return Rows(joined.frame.drop(LABELS_OF), dropped)


def _join(
    frame: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    column: str,
    name: str,
    source: str,
    ids_made: bool = False,
) -> Rows:
    """Each row with the label of its id; `labels` has id, label and how it was sampled."""
    labels = labels.with_columns(tidy(labels[c], name, c) for c in _BROUGHT if c in labels.columns)
    independent, dependent = _independent(labels)
    given = _majority(independent)
    known = "id" in frame.columns and not ids_made
    frame = add_ids(frame, source)
    rows = frame.with_columns(as_text(frame["id"]))
    unused = given.join(rows.select("id"), on="id", how="anti").height
    if given.height == 0:
        remedy = "fill in some labels, or leave the file out"
        raise DataError(name, "has no label", column="label", remedy=remedy)
    if unused == given.height:
        if not known:
            remedy = "labels join by id: give both files a column id, or the same texts"
            raise DataError(source, "is missing", column="id", remedy=remedy)
        raise unmatched_ids(given["id"], rows["id"], name)
    again = pl.Series([], dtype=pl.String) if known else first_of(rows["id"]).drop_nulls()
    if again.is_in(given["id"].implode()).any():
        problem = f"{len(again):,} rows have the content of another row"
        raise DataError(source, problem, column="id", remedy=GIVE_IDS)
    # If a label is replaced, the maker of the old one is not the maker of the new one.
    silent = [c for c in MAKERS if c in rows.columns and c not in given.columns]
    given = given.with_columns(pl.lit(None, pl.String).alias(c) for c in silent)
    brought = [c for c in _BROUGHT if c in given.columns]
    rows = rows.with_columns(
        tidy(rows[c], source, c) if c in rows.columns else pl.lit(None, pl.String).alias(c)
        for c in (column, *brought)
    )
    new = {c: f"__{c}" for c in ("label", *brought)}
    rows = rows.join(given.rename(new), on="id", how="left", maintain_order="left")
    from_file = pl.col("__label").is_not_null()
    replaced = int(rows.select((pl.col("__label") != pl.col(column)).sum()).item())
    rows = rows.with_columns(
        pl.when(from_file).then(new[theirs]).otherwise(ours).alias(ours)
        for ours, theirs in ((column, "label"), *((c, c) for c in brought))
    ).drop(new.values())
    lost = {
        "raters without a majority": given.get_column("label").null_count(),
        "label of an id without a row": unused,
        "label of the row, replaced by the one in the labels file": replaced,
    }
    return Rows(rows, merge_dropped(dependent, lost))


def unmatched_ids(ids: pl.Series, rows: pl.Series, source: str, what: str = "labels") -> DataError:
    """The error for labels, or others, of which no id is an id of the rows."""
    shown, theirs = (
        ", ".join(map(quote, each.unique(maintain_order=True).head(3))) for each in (ids, rows)
    )
    tidied = [each.str.strip_chars() for each in (ids, rows)]
    lower = [each.str.to_lowercase() for each in tidied]
    numbers = [each.cast(pl.Float64, strict=False) for each in tidied]
    alike = {
        "without blanks around them": tidied,
        "in lower case": lower,
        "as numbers (7, 007 and 7.0 are different ids: write them alike)": numbers,
    }
    matches = {
        words: int(a.drop_nulls().is_in(b.drop_nulls().implode()).sum())
        for words, (a, b) in alike.items()
    }
    hint = next((f"; {n:,} would match {words}" for words, n in matches.items() if n), "")
    more = ids.n_unique() - 3
    others = f" and {more:,} more" if more > 0 else ""
    problem = f"no row has one of its ids, {shown}{others}{hint}"
    remedy = f"give {what} of these rows, such as {theirs}"
    return DataError(source, problem, column="id", remedy=remedy)


def _independent(given: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Labels without those that started from the judge's answer, if others of the id did not."""
    if "started_from" not in given.columns:
        return given, {}
    from_judge = (pl.col("started_from") == "judge").fill_null(False)
    kept = given.filter(~(from_judge & ~from_judge.all().over("id")))
    return kept, {FROM_JUDGE: given.height - kept.height}


def _majority(given: pl.DataFrame) -> pl.DataFrame:
    votes = given.group_by("id", "label", maintain_order=True).agg(votes=pl.len())
    top = votes.group_by("id", maintain_order=True).agg(
        pl.when((pl.col("votes") == pl.col("votes").max()).sum() == 1)
        .then(pl.col("label").get(pl.col("votes").arg_max()))
        .alias("label")
    )
    brought = {c: pl.col(c).drop_nulls().first() for c in _BROUGHT if c in given.columns}
    if "labelled_by" in brought:
        by_model = pl.col("labelled_by").filter(pl.col("labelled_by") == "model").first()
        brought["labelled_by"] = pl.coalesce(by_model, brought["labelled_by"])
    if "sampled_by" in brought:
        for kinds in (CUT_BY, ("doubt",)):
            narrow = pl.col("sampled_by").filter(pl.col("sampled_by").is_in(kinds)).first()
            brought["sampled_by"] = pl.coalesce(narrow, brought["sampled_by"])
    each = given.group_by("id", maintain_order=True).agg(
        pl.col("label").alias(LABELS_OF), **brought
    )
    return top.join(each, on="id", how="left")


def leave_out_dependent(rows: Rows, name: str) -> Rows:
    """Rows whose `label` did not start from the judge's answer; the others are counted."""
    labelled = rows.frame["label"].is_not_null()
    from_judge = _says(rows.frame, labelled, name, "started_from", "judge")
    return rows.without(pl.lit(from_judge), FROM_JUDGE)


def without_dependent(
    frame: pl.DataFrame, labels: pl.Series, name: str
) -> tuple[pl.Series, dict[str, int]]:
    """Labels without those that started from the judge's answer; their rows count as unlabelled."""
    from_judge = _says(frame, labels.is_not_null(), name, "started_from", "judge")
    kept = pl.select(pl.when(~from_judge).then(labels)).to_series().alias(labels.name)
    lost = int(from_judge.sum())
    return kept, {f"{FROM_JUDGE}: not used, its row is unlabelled": lost} if lost else {}


def note_model_labels(
    frame: pl.DataFrame, labels: pl.Series, name: str, *, allowed: bool
) -> tuple[str, ...]:
    """The note of a result about labels that a model made, if any; refused unless `allowed`.

    >>> rows = pl.DataFrame({"label": ["A"], "labelled_by": ["model"]})
    >>> note_model_labels(rows, rows["label"], "rows", allowed=True)[0]
    '1 label was made by a model: every figure is about agreement with it, not with people'
    """
    number = int(_says(frame, labels.is_not_null(), name, "labelled_by", "model").sum())
    if not number:
        return ()
    made = f"{'was' if number == 1 else 'were'} made by a model"
    if not allowed:
        problem = f"{count(number, 'label')} of {labels.len() - labels.null_count():,} {made}"
        remedy = "use labels of people, or allow these: --model-labels (model_labels=True)"
        raise DataError(name, problem, column="labelled_by", remedy=remedy)
    agreement = "every figure is about agreement with it, not with people"
    return (f"{count(number, 'label')} {made}: {agreement}",)


def usable_labels(
    rows: Rows, column: str | None, name: str, *, model_labels: bool
) -> tuple[Rows, tuple[str, ...]]:
    """Rows without labels that started from the judge's answer, and the note on models."""
    if column not in rows.frame.columns:
        return rows, ()
    labels, dependent = without_dependent(rows.frame, rows.frame[column], name)
    makers = note_model_labels(rows.frame, labels, name, allowed=model_labels)
    return Rows(rows.frame.with_columns(labels), merge_dropped(rows.dropped, dependent)), makers


def _says(
    frame: pl.DataFrame, labelled: pl.Series, name: str, column: str, value: str
) -> pl.Series:
    """Which labelled rows have this value in the column."""
    if column not in frame.columns:
        return pl.repeat(False, frame.height, eager=True)
    return labelled & (_origin(frame, labelled, name, column) == value).fill_null(False)


def _origin(frame: pl.DataFrame, labelled: pl.Series, name: str, column: str) -> pl.Series:
    """The column as text; for a labelled row it must be a known value."""
    said, choices = tidy(frame[column], name, column), _CHOICES[column]
    strange = labelled & said.is_not_null() & ~said.is_in(choices)
    remedy = "use " + (" or " if len(choices) == 2 else ", ").join(choices)
    refuse_values(said, strange, "{} is not known", source=name, remedy=remedy)
    return said


#: Drawn at random below a cut of a judge's score, which `CUT_COLUMNS` of the label give.
CUT_BY = ("surest", "audit")
#: Drawn by a judge's score: such rows are not like the others.
BY_SCORE = ("doubt", *CUT_BY)
_REMEDY = "use labels drawn at random, each marked sampled_by random or plan"


def leave_out_sampled_by(rows: Rows, name: str, *, ways: Sequence[str] = BY_SCORE) -> Rows:
    """Rows whose label was not sampled in one of these ways; the others are counted.

    Labels sampled by doubt are for pairs that are hard for a judge, not for typical pairs; those
    drawn among the surest are for easy pairs. If every other label states how it was drawn, they
    are left out; if some do not, the file is refused.
    """
    if "sampled_by" not in rows.frame.columns:
        return rows
    has_label = rows.frame.get_column("label").is_not_null()
    how = ways_of(rows.frame, has_label, name)
    bad = has_label & how.is_in(list(ways)).fill_null(False)
    if bad.any():
        _refuse_unclear(rows.frame, how, has_label, bad, name)
    rows = Rows(rows.frame.with_columns(how), rows.dropped)
    for way in how.filter(bad).unique().sort().to_list():
        drawn_so = pl.col("label").is_not_null() & (pl.col("sampled_by") == way)
        rows = rows.without(drawn_so, f"label sampled by {way}")
    return rows


def _refuse_unclear(
    frame: pl.DataFrame, how: pl.Series, labelled: pl.Series, bad: pl.Series, name: str
) -> None:
    """Refuse a file with unusable labels, unless every other label states how it was drawn."""
    others = how.filter(labelled & ~bad)
    if others.len() and not others.null_count():
        return
    first = int(bad.arg_true()[0])
    times = int((bad & (how == how[first])).sum())
    where = f"id {frame['id'][first]!r}" if "id" in frame.columns else f"row {first + 1}"
    problem = f"{times} labels were sampled by {how[first]} ({where} first)"
    raise DataError(name, problem, column="sampled_by", remedy=_REMEDY)


def ways_of(frame: pl.DataFrame, labelled: pl.Series, name: str) -> pl.Series:
    """The column `sampled_by` as text; for a labelled row it must be a known value."""
    return _origin(frame, labelled, name, "sampled_by")


@dataclass(frozen=True)
class Sampling:
    """For estimates: the usable labels, and the sampling probability of those drawn by a plan."""

    labels: pl.Series
    probability: pl.Series
    dropped: dict[str, int]


def sampling_of(
    frame: pl.DataFrame, labels: pl.Series, name: str, *, probability: str = "sampling_probability"
) -> Sampling:
    """Labels without those sampled by a score (their rows count as unlabelled), and probabilities.

    Labels that started from the judge's answer are left out in the same way. A rate from labels of
    only the surest rows would be too high: if some other label does not state how it was drawn,
    such a file is refused. A label drawn by a plan needs its probability, from the column
    `probability`. If the file does not state how labels were drawn, a label with a probability
    counts as drawn with it.
    """
    chance = _probabilities(frame, name, probability)
    labels, dependent = without_dependent(frame, labels, name)
    if "sampled_by" not in frame.columns:
        return Sampling(labels, chance, dependent)
    known = labels.is_not_null()
    how = ways_of(frame, known, name)
    surest = known & how.is_in(CUT_BY).fill_null(False)
    if surest.any():
        _refuse_unclear(frame, how, known, surest, name)
    bad = known & how.is_in(BY_SCORE).fill_null(False)
    usable = pl.select(pl.when(~bad).then(labels)).to_series().alias(labels.name)
    planned = usable.is_not_null() & (how == "plan").fill_null(False)
    unknown, problem = planned & chance.is_null(), "is empty for a row picked by a plan"
    remedy = "keep the column that plan --write-ids wrote"
    refuse_values(chance, unknown, problem, source=name, remedy=remedy)
    by_score = {
        f"label sampled by {way}: not used, its row is unlabelled": int((bad & (how == way)).sum())
        for way in how.filter(bad).unique().sort().to_list()
    }
    chances = pl.select(pl.when(planned).then(chance)).to_series()
    return Sampling(usable, chances, dependent | by_score)


def _probabilities(frame: pl.DataFrame, name: str, column: str) -> pl.Series:
    """The column as numbers above 0 and at most 1, null if empty or absent."""
    if column not in frame.columns:
        return pl.repeat(None, frame.height, dtype=pl.Null, eager=True).alias(column)
    # An array argument is a column of the table whose name starts with two underscores.
    text = tidy(frame.get_column(column), name, column.removeprefix("__"))
    chance = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & (chance.is_null() | (chance < _SMALLEST_CHANCE) | (chance > 1))
    remedy = f"give a number from {_SMALLEST_CHANCE:g} to 1, or nothing"
    refuse_values(text, bad, "{} is not a probability", source=name, remedy=remedy)
    return chance
