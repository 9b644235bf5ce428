"""Human labels from a second file, by id.

One join for judgments (A, B or tie, several raters), for grades (any values, one per id) and for
the bias of pairs. Every label is counted, used or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from adjudge.errors import DataError
from adjudge.io import open_labels, open_values
from adjudge.io.columns import rename_columns
from adjudge.io.labels import VALUES, once_per_rater
from adjudge.io.made_ids import GIVE_IDS, add_ids, first_of
from adjudge.io.refusals import refuse_where
from adjudge.io.runners.values import FROM_JUDGE
from adjudge.io.tables import TableLike, as_text, source_name
from adjudge.io.words import AS_SAID, read_words
from adjudge.records import About
from adjudge.results.rules import CUT_COLUMNS
from adjudge.rows.columns import tidy
from adjudge.rows.dropped import merge_dropped
from adjudge.rows.makers import MAKERS
from adjudge.rows.sampling import CUT_BY
from adjudge.validation import one_of

Raters = Literal["majority", "refuse"]
#: Columns that describe a label: who made it and from what (`rows.makers`), how its row was drawn,
#: with which probability, below which cut.
_BROUGHT = (*MAKERS, "sampled_by", "sampling_probability", *CUT_COLUMNS)
#: The columns with the number of people who labelled a row, and with their labels.
RATERS, LABELS = "__raters", "__labels"
_HUMAN = {"label": "human"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelJoin:
    """Rows with their labels, and the counts of all labels.

    `frame` has all rows in their order, with the label (null if there is none) and, if the labels
    have them, `sampled_by`, `sampling_probability` and the columns of a cut; with several raters
    also `RATERS` (the number of people) and `LABELS` (the label of each).
    """

    frame: pl.DataFrame
    #: Rows of the frame that now have a label.
    matched: int
    #: Rows of the frame without one.
    unmatched: int
    #: Label rows after the first of their id.
    duplicates: int
    #: Ids whose raters have no majority; they have no label.
    split: int
    #: Ids that were labelled but are not in the frame.
    unused: int
    #: Rows whose own label differed and was replaced.
    replaced: int
    #: Everything that was left out, by reason, including when the labels were read.
    dropped: dict[str, int]


def join_labels(
    frame: pl.DataFrame,
    labels: TableLike,
    *,
    raters: Raters = "majority",
    about: About = "pairs",
    source: str = "the rows",
    ids_made: bool = False,
) -> LabelJoin:
    """Give each row of `frame` the label of its id: A, B or tie; pass or fail `about` grades.

    If an id has several labels, `raters="majority"` uses the most frequent one. If two are equally
    frequent, the id stays unlabelled and is counted in `split` (an even disagreement is not a
    "tie"). `raters="refuse"` refuses a second label. A label from the file replaces the row's own;
    rows where the two differ are counted in `replaced`. If any label of an id was sampled by doubt,
    the id counts as sampled by doubt; else if any was drawn below a cut, it counts as drawn so. A
    file whose ids match no row is refused. `source` is the name of the rows' own file, for errors;
    `ids_made` is true if it has no ids itself.

    >>> rows = pl.DataFrame({"id": ["x", "y"], "p_a": [0.9, 0.2]})
    >>> done = join_labels(rows, pl.DataFrame({"id": ["x", "z"], "label": ["A", "B"]}))
    >>> done.matched, done.unmatched, done.unused, done.frame["label"].to_list()
    (1, 1, 1, ['A', None])
    """
    one_of(raters, ("majority", "refuse"), "raters")
    opened = open_labels(labels, about=about)
    name = source_name(labels)
    if raters == "refuse":
        _refuse_second(opened.frame, name)
    given, dependent = _independent(opened.frame.filter(pl.col("label").is_not_null()))
    voted = _majority(given)
    return _join(
        frame,
        voted,
        column="label",
        name=name,
        source=source,
        duplicates=given.height - voted.height,
        unread=merge_dropped(opened.dropped, dependent),
        ids_made=ids_made,
    )


def join_values(
    frame: pl.DataFrame, labels: TableLike, *, column: str, source: str = "the rows"
) -> LabelJoin:
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
    own = {"label": column} if column in opened.frame.columns else {}
    if opened.kind is None:
        table = VALUES.check(VALUES.load(opened, own), name)
    else:
        # A converted log: human labels are in `label`, next to grades in `human`.
        table = rename_columns(opened.frame, {} if "label" in opened.frame else _HUMAN, name)
    given = table.select(
        as_text(table["id"]),
        read_words(tidy(table["label"], name, column), AS_SAID, opened.labels_as).alias("label"),
        *(c for c in ("rater",) if c in table.columns),
        *(tidy(table[c], name, c) for c in _BROUGHT if c in table.columns),
    )
    if "rater" not in given.columns:
        _refuse_second(given, name)
    given = once_per_rater(given, name).filter(pl.col("label").is_not_null())
    given, dependent = _independent(given)
    voted = _majority(given)
    return _join(
        frame,
        voted.drop(RATERS, LABELS),
        column=column,
        name=name,
        source=source,
        duplicates=given.height - voted.height,
        unread=merge_dropped(opened.dropped, dependent),
    )


def _join(
    frame: pl.DataFrame,
    given: pl.DataFrame,
    *,
    column: str,
    name: str,
    source: str,
    duplicates: int = 0,
    unread: Mapping[str, int] | None = None,
    ids_made: bool = False,
) -> LabelJoin:
    """Each row with the label of its id; `given` has id, label and how it was sampled."""
    known = "id" in frame.columns and not ids_made
    frame = add_ids(frame, source)
    rows = frame.with_columns(as_text(frame["id"]))
    unused = given.join(rows.select("id"), on="id", how="anti").height
    if given.height and unused == given.height:
        if not known:
            remedy = "labels join by id: give both files a column id, or the same texts"
            raise DataError(source, "is missing", column="id", remedy=remedy)
        raise DataError(
            name,
            f"{given['id'][0]!r} and all other ids match no row",
            column="id",
            remedy="give labels of these rows",
        )
    again = pl.Series([], dtype=pl.String) if known else first_of(rows["id"]).drop_nulls()
    if again.is_in(given["id"].implode()).any():
        problem = f"{len(again):,} rows have the content of another row"
        raise DataError(source, problem, column="id", remedy=GIVE_IDS)
    # If a label is replaced, the maker of the old one is not the maker of the new one.
    silent = [c for c in MAKERS if c in rows.columns and c not in given.columns]
    given = given.with_columns(pl.lit(None, pl.String).alias(c) for c in silent)
    brought = [c for c in _BROUGHT if c in given.columns]
    given = given.with_columns(tidy(given[c], name, c) for c in brought)
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
    matched = rows.height - rows.get_column(column).null_count()
    split = given.get_column("label").null_count()
    return LabelJoin(
        frame=rows,
        matched=matched,
        unmatched=rows.height - matched,
        duplicates=duplicates,
        split=split,
        unused=unused,
        replaced=replaced,
        dropped=merge_dropped(
            unread or {},
            {
                "raters without a majority": split,
                "label of an id without a row": unused,
                "label of the row, replaced by the one in the labels file": replaced,
            },
        ),
    )


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
        .alias("label"),
        pl.col("votes").sum().cast(pl.Int64).alias(RATERS),
    )
    brought = {c: pl.col(c).drop_nulls().first() for c in _BROUGHT if c in given.columns}
    if "labelled_by" in brought:
        by_model = pl.col("labelled_by").filter(pl.col("labelled_by") == "model").first()
        brought["labelled_by"] = pl.coalesce(by_model, brought["labelled_by"])
    if "sampled_by" in brought:
        for kinds in (CUT_BY, ("doubt",)):
            narrow = pl.col("sampled_by").filter(pl.col("sampled_by").is_in(kinds)).first()
            brought["sampled_by"] = pl.coalesce(narrow, brought["sampled_by"])
    each = given.group_by("id", maintain_order=True).agg(pl.col("label").alias(LABELS), **brought)
    return top.join(each, on="id", how="left")


def _refuse_second(given: pl.DataFrame, name: str) -> None:
    labelled = pl.col("label").is_not_null()
    refuse_where(
        given,
        labelled & ~pl.struct("id", labelled.alias("labelled")).is_first_distinct(),
        "{} has more than one label",
        source=name,
        column="id",
        remedy="keep one label per id",
    )
