"""The step of labels: which of them an analysis can use, and the join of a labels file by id.

A label that started from the judge's answer repeats the judge if the person did not change it, so
it is not used. A label that a model made gives that model's preference: it is used only if the
caller allows it, and the result then states it. A label whose row was chosen by the judge's doubt,
or by a person who was browsing, is not of a typical row, and never replaces one that is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import polars as pl

from adjudge.data.columns import absent_column
from adjudge.data.names import (
    GIVE_IDS,
    GRADE,
    LOG,
    TEXTS,
    add_ids,
    first_of,
    quote,
    recognise,
    refuse_values,
    refuse_where,
)
from adjudge.data.rows import FROM_JUDGE, Rows, add_absent, merge_dropped, tidy
from adjudge.data.shown import (
    OTHER_SIDE,
    OTHER_TEXT,
    SHOWN_TEXTS,
    TEXTS_OF_ROWS,
    compare_texts,
    hashes_in,
    say_turned,
)
from adjudge.data.steps.repeats import plain_ids
from adjudge.data.tables import Table, as_text
from adjudge.errors import DataError
from adjudge.present.text import count
from adjudge.records import CUT_COLUMNS, LabelledBy, SampledBy, StartedFrom

#: The columns that say who made a label and what it started from.
MAKERS = ("labelled_by", "started_from")
#: Columns that describe a label: who made it and from what, how its row was drawn, with which
#: probability, below which cut, and what the person wrote.
BROUGHT = (*MAKERS, "sampled_by", "sampling_probability", *CUT_COLUMNS, "comment")
#: The column with the label of each person.
LABELS_OF = "__labels"
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "labelled_by": get_args(LabelledBy),
    "started_from": get_args(StartedFrom),
    "sampled_by": get_args(SampledBy),
}
#: Drawn at random below a cut of a judge's score, which `CUT_COLUMNS` of the label give.
CUT_BY = ("surest", "audit")
#: All fails and some passes, say: the judge's verdict decided how likely a row was drawn.
BY_VERDICT = "verdict"
#: Not drawn from all rows: by the judge's doubt or verdict, or by a person who looked at the rows.
CHOSEN_BY = ("doubt", "browsed", BY_VERDICT)
#: Such rows are not like the others.
BY_SCORE = (*CHOSEN_BY, *CUT_BY)
#: Why an id of several raters has no label.
NO_MAJORITY = "raters without a majority"
#: A row that is drawn less often is in no sample, and its weight would outweigh all others.
_SMALLEST_CHANCE = 1e-12
_UNLABELLED = "not used, its row is unlabelled"


# --- which labels are used ---


@dataclass(frozen=True)
class Labels:
    """The rows with the labels that are used, and the note of a result about who made them."""

    rows: Rows
    makers: tuple[str, ...]
    #: How many of the labels a model made.
    by_model: int = 0


def take_labels(
    rows: Rows,
    column: str | None,
    source: str,
    *,
    without: Collection[str] = BY_SCORE,
    model_labels: bool | None = False,
    refused: bool = False,
) -> Labels:
    """The rows without labels that the analysis does not use: these are empty, and counted.

    Not used: labels that started from the judge's answer, and those whose rows were chosen in one
    of the ways `without`; if they are `refused`, a file with one. Labels that a model made are
    refused, unless they are allowed (None: the analysis has no option that allows them). Labels of
    rows below a cut alone would give too good a result, and labels drawn by verdict another one: if
    another label does not state how it was drawn, such a file is refused.

    >>> rows = pl.DataFrame({"label": ["A", "B"], "sampled_by": ["random", "doubt"]})
    >>> taken = take_labels(Rows(rows), "label", "rows")
    >>> taken.rows.frame["label"].to_list(), taken.rows.dropped
    (['A', None], {'label sampled by doubt: not used, its row is unlabelled': 1})
    """
    if column not in rows.frame.columns:
        return Labels(rows, ())
    frame = rows.frame
    # Two raters who disagree leave their row without one label, and the row keeps both of theirs.
    columns = [name for name in (column, LABELS_OF) if name in frame.columns]
    labelled = frame.select(pl.any_horizontal(pl.col(columns).is_not_null())).to_series()
    by_model = int(_says(frame, labelled, source, "labelled_by", "model").sum())
    makers = _note_models(by_model, int(labelled.sum()), source, allowed=model_labels)
    not_used = _says(frame, labelled, source, "started_from", "judge")
    dropped = {f"{FROM_JUDGE}: {_UNLABELLED}": int(not_used.sum())}
    if "sampled_by" in frame.columns and without:
        labelled &= ~not_used
        ways = origin_of(frame, labelled, source, "sampled_by")
        chosen = labelled & ways.is_in([*without]).fill_null(False)
        if refused:
            _refuse_ways(frame, ways, chosen, source)
        _refuse_unclear(frame, ways, labelled, chosen, source)
        counts = ways.filter(chosen).value_counts(sort=True, name="labels").rows()
        dropped |= {f"label sampled by {way}: {_UNLABELLED}": n for way, n in counts}
        not_used |= chosen
        frame = frame.with_columns(ways)
    if not_used.any():
        frame = frame.with_columns(
            pl.when(~not_used).then(pl.col(name)).alias(name) for name in columns
        )
    return Labels(Rows(frame, merge_dropped(rows.dropped, dropped)), makers, by_model)


def _note_models(number: int, labels: int, source: str, *, allowed: bool | None) -> tuple[str, ...]:
    """The note of a result about labels that a model made, if any; refused unless `allowed`."""
    if not number:
        return ()
    by_model = f"{'was' if number == 1 else 'were'} made by a model"
    if not allowed:
        problem = f"{count(number, 'label')} of {labels:,} {by_model}"
        remedy = "use labels of people"
        if allowed is not None:
            remedy += ", or allow these: --model-labels (model_labels=True)"
        raise DataError(source, problem, column="labelled_by", remedy=remedy)
    agreement = "every figure is about agreement with it, not with people"
    return (f"{count(number, 'label')} {by_model}: {agreement}",)


def _says(
    frame: pl.DataFrame, labelled: pl.Series, source: str, column: str, value: str
) -> pl.Series:
    """Which labelled rows have this value in the column."""
    if column not in frame.columns:
        return pl.repeat(False, frame.height, eager=True)
    return labelled & (origin_of(frame, labelled, source, column) == value).fill_null(False)


def origin_of(frame: pl.DataFrame, labelled: pl.Series, source: str, column: str) -> pl.Series:
    """A column about the origin of labels as text; for a labelled row it must be a known value."""
    values = tidy(frame[column], source, column).str.to_lowercase()
    choices = _CHOICES[column]
    strange = labelled & values.is_not_null() & ~values.is_in(choices)
    remedy = "use " + (" or " if len(choices) == 2 else ", ").join(choices)
    refuse_values(values, strange, "{} is not known", source=source, remedy=remedy)
    return values


def _refuse_unclear(
    frame: pl.DataFrame, ways: pl.Series, labelled: pl.Series, not_used: pl.Series, source: str
) -> None:
    """Refuse labels below a cut or by verdict, unless every other label states how it was drawn."""
    of_a_part = not_used & ways.is_in([*CUT_BY, BY_VERDICT]).fill_null(False)
    others = ways.filter(labelled & ~not_used)
    if not of_a_part.any() or (others.len() and not others.null_count()):
        return
    _refuse_ways(frame, ways, of_a_part, source)


def _refuse_ways(frame: pl.DataFrame, ways: pl.Series, wrong: pl.Series, source: str) -> None:
    """Refuse the labels with a flag, by the way in which the row of the first was chosen."""
    if not wrong.any():
        return
    first = int(wrong.arg_true()[0])
    times = int((wrong & (ways == ways[first])).sum())
    where = f"id {frame['id'][first]!r}" if "id" in frame.columns else f"row {first + 1}"
    labels = count(times, "label was", "labels were")
    problem = f"{labels} sampled by {ways[first]} ({where} first)"
    remedy = "use labels drawn at random, each marked sampled_by random or plan"
    raise DataError(source, problem, column="sampled_by", remedy=remedy)


def sampling_probabilities(
    frame: pl.DataFrame, labels: pl.Series, source: str, *, column: str = "sampling_probability"
) -> pl.Series:
    """The probability of each label that a plan drew; null for the others.

    A label drawn by a plan needs its probability. If the rows do not state how labels were drawn,
    a label with a probability counts as drawn with it.
    """
    chances = _probabilities(frame, source, column)
    if "sampled_by" not in frame.columns:
        return chances
    ways = origin_of(frame, labels.is_not_null(), source, "sampled_by")
    planned = labels.is_not_null() & (ways == "plan").fill_null(False)
    problem = "is empty for a row picked by a plan"
    remedy = "keep the column that plan --write-ids wrote"
    refuse_values(chances, planned & chances.is_null(), problem, source=source, remedy=remedy)
    return pl.select(pl.when(planned).then(chances)).to_series()


def _probabilities(frame: pl.DataFrame, source: str, column: str) -> pl.Series:
    """The column as numbers above 0 and at most 1, null if empty or absent."""
    if column not in frame.columns:
        return pl.repeat(None, frame.height, dtype=pl.Null, eager=True).alias(column)
    # An array argument is a column of the table whose name starts with two underscores.
    text = tidy(frame.get_column(column), source, column.removeprefix("__"))
    chance = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & (chance.is_null() | (chance < _SMALLEST_CHANCE) | (chance > 1))
    remedy = f"give a number from {_SMALLEST_CHANCE:g} to 1, or nothing"
    refuse_values(text, bad, "{} is not a probability", source=source, remedy=remedy)
    return chance


# --- the labels file ---


def join_by_id(
    rows: Rows,
    labels: Rows,
    *,
    column: str,
    name: str,
    source: str,
    ids_made: bool = False,
    alike_ids: bool = False,
    votes: bool = True,
) -> Rows:
    """Each row with the label of its id in `column`; `labels` has id, label and their origin.

    If an id has several labels, the most frequent one is used, and `LABELS_OF` has the label of
    each person. If two are equally frequent, the id stays unlabelled and is counted (an even
    disagreement is not a "tie"). A label from the file replaces the row's own, and those that
    differ are counted; but a label whose row was chosen by the judge's score replaces no other.
    `name` and `source` are the files of the labels and of the rows, for errors; `ids_made` is true
    if the rows have no ids of their own. With `alike_ids`, ids that are equal up to blanks, case,
    Unicode or number form match; without it they are counted. Labels of one id without a rater are
    `votes` of several people, or refused. If both files have the texts, or their hashes, a label of
    another text is left out and counted, and one of a pair with its sides exchanged is turned.

    >>> rows = Rows(pl.DataFrame({"id": ["x", "y"], "p_a": [0.9, 0.2]}))
    >>> labels = Rows(pl.DataFrame({"id": ["x", "z"], "label": ["A", "B"]}))
    >>> done = join_by_id(rows, labels, column="label", name="labels", source="rows")
    >>> done.frame["label"].to_list(), done.dropped
    (['A', None], {'label of an id without a row': 1})
    """
    frame = add_ids(rows.frame, source)
    frame = frame.with_columns(as_text(frame["id"]))
    labels = _of_these_texts(labels, frame, name, source)
    given = one_label_per_id(labels, name, votes=votes)
    if not given.frame.height:
        remedy = "fill in some labels, or leave the file out"
        raise DataError(name, "has no label", column="label", remedy=remedy)
    has_ids = "id" in rows.frame.columns and not ids_made
    matched = _match_ids(given, frame["id"], name, source, has_ids=has_ids, alike=alike_ids)
    if not has_ids:
        _refuse_equal_content(frame["id"], matched.frame["id"], source)
    replaced = _replace_labels(frame, matched.frame, column, source)
    return Rows(
        replaced.frame,
        merge_dropped(rows.dropped, labels.dropped, matched.dropped, replaced.dropped),
    )


def _of_these_texts(labels: Rows, rows: pl.DataFrame, name: str, source: str) -> Rows:
    """The labels whose texts are those of the row with their id, or are not stated.

    >>> rows = pl.DataFrame({"id": ["1", "2"], "prompt": ["a", "b"]})
    >>> labels = rows.with_columns(pl.Series("prompt", ["a", "c"]), pl.lit("A").alias("label"))
    >>> kept = _of_these_texts(Rows(labels), rows, "labels", "rows")
    >>> kept.frame["id"].to_list(), kept.dropped
    (['1'], {'label of another text with the id of a row': 1})
    """
    stated = {SHOWN_TEXTS, *TEXTS_OF_ROWS}
    if not stated & {*labels.frame.columns} or not stated & {*rows.columns}:
        return labels
    here = rows.filter(pl.col("id").is_in(labels.frame["id"].implode()))
    here = here.unique(["id", *stated & {*rows.columns}], maintain_order=True)
    of_id: dict[str, list[str | None]] = {}
    for key, texts in zip(here["id"], hashes_in(here), strict=True):
        of_id.setdefault(key, []).append(texts)
    ids = labels.frame["id"].to_list()
    compared = [
        _compare_to_any(shown, of_id.get(key, ()))
        for key, shown in zip(ids, hashes_in(labels.frame), strict=True)
    ]
    how = pl.Series(compared, dtype=pl.String)
    labelled = labels.frame["label"].is_not_null()
    turned = (how == "turned").fill_null(False)
    values = labels.frame["label"].cast(pl.String)
    if not values.filter(turned).drop_nulls().is_in([*OTHER_SIDE, "tie"]).all():
        # Words that do not name a side cannot be turned.
        how = pl.select(pl.when(turned).then(pl.lit("other")).otherwise(how)).to_series()
        turned = how == "turned"
    other = (how == "other").fill_null(False)
    if (other & labelled).any() and (other | ~labelled).all():
        at = int((other & labelled).arg_true()[0])
        problem = f"no label is of the texts of {source}: {quote(ids[at])} has other texts there"
        columns = ", ".join(c for c in (SHOWN_TEXTS, *TEXTS_OF_ROWS) if c in labels.frame.columns)
        remedy = f"give the labels of these rows, or delete {columns} to join by id alone"
        raise DataError(name, problem, row=at + 1, column="id", remedy=remedy)
    frame = labels.frame
    if turned.any():
        frame = frame.with_columns(
            pl.when(turned)
            .then(values.replace(OTHER_SIDE))
            .otherwise(frame["label"])
            .alias("label")
        )
        LOG.warning("%s: %s", name, say_turned(int((turned & labelled).sum())))
    lost = {OTHER_TEXT: int((other & labelled).sum())}
    return Rows(frame.filter(~other), merge_dropped(labels.dropped, lost))


def _compare_to_any(shown: str | None, texts: Iterable[str | None]) -> str | None:
    """How the texts of a label are those of the rows with its id, which can be of two systems.

    >>> _compare_to_any("response:1", ["response:2", "response:1"])
    'same'
    """
    ways = [compare_texts(shown, here) for here in texts]
    return next((way for way in ("same", None, "turned", "other") if way in ways), None)


def one_label_per_id(labels: Rows, name: str, *, votes: bool = True) -> Rows:
    """The label that most people gave each id, with its origin; `LABELS_OF` has all of them.

    A label that started from the judge's answer, or whose row was chosen by the judge's score, is
    left out if the id has another one.
    """
    frame = labels.frame
    frame = frame.with_columns(tidy(frame[c], name, c) for c in BROUGHT if c in frame.columns)
    rows = Rows(frame)
    if "started_from" in frame.columns:
        rows = _without_weaker(rows, "started_from", "judge", FROM_JUDGE)
    if "sampled_by" in frame.columns:
        for way in BY_SCORE:
            reason = f"label sampled by {way} of an id with another label"
            rows = _without_weaker(rows, "sampled_by", way, reason)
    if not votes:
        _refuse_second_label(rows.frame, name)
    labelled = once_per_rater(rows.frame, name).filter(pl.col("label").is_not_null())
    given = _majority(labelled)
    torn = {NO_MAJORITY: given["label"].null_count()}
    return Rows(given, merge_dropped(rows.dropped, torn))


def _without_weaker(rows: Rows, column: str, value: str, reason: str) -> Rows:
    """The rows without labels that have the value in a column, if the id has others."""
    labelled = pl.col("label").is_not_null()
    weaker = labelled & (pl.col(column).str.to_lowercase() == value).fill_null(False)
    others = (labelled & ~weaker).any().over("id")
    frame = rows.frame.with_columns(__weaker=weaker & others)
    left_out = frame["__weaker"]
    labels = pl.when(~left_out).then(frame["label"]).alias("label")
    counted = merge_dropped(rows.dropped, {reason: int(left_out.sum())})
    return Rows(frame.drop("__weaker").with_columns(labels), counted)


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


def _refuse_second_label(frame: pl.DataFrame, source: str) -> None:
    """Refuse two labels of one id if no column `rater` tells who gave them."""
    if "rater" in frame.columns:
        return
    labelled = pl.col("label").is_not_null()
    again = labelled & ~pl.struct("id", labelled.alias("labelled")).is_first_distinct()
    problem = "{} has more than one label"
    remedy = "keep one label per id"
    refuse_where(frame, again, problem, source=source, column="id", remedy=remedy)


def _majority(given: pl.DataFrame) -> pl.DataFrame:
    # Good and GOOD are one word, and so are pass and 1.
    word = pl.col("label").str.to_lowercase().replace(dict(GRADE.words)).alias("word")
    votes = given.group_by("id", word, maintain_order=True).agg(
        pl.col("label").first(), votes=pl.len()
    )
    most_votes = pl.col("votes") == pl.col("votes").max()
    label = pl.col("label").get(pl.col("votes").arg_max())
    top = votes.group_by("id", maintain_order=True).agg(
        label=pl.when(most_votes.sum() == 1).then(label)
    )
    brought = {c: pl.col(c).drop_nulls().first() for c in BROUGHT if c in given.columns}
    if "labelled_by" in brought:
        by_model = pl.col("labelled_by").filter(pl.col("labelled_by") == "model").first()
        brought["labelled_by"] = pl.coalesce(by_model, brought["labelled_by"])
    each = given.group_by("id", maintain_order=True).agg(
        pl.col("label").alias(LABELS_OF), **brought
    )
    return top.join(each, on="id", how="left")


#: How ids differ that are merely alike.
_UP_TO = "up to blanks, case, Unicode or number form"
_MATCH_ALIKE = "--alike-ids (alike_ids=True)"
#: Why a label has no row.
WOULD_MATCH = f"label of an id that would match {_UP_TO}: {_MATCH_ALIKE}"


def alike_ids(given: pl.Series, rows: pl.Series) -> pl.DataFrame:
    """The ids that no row has but is alike to a row's (`theirs`), to which none is equal.

    >>> alike_ids(pl.Series(["x", " Y "]), pl.Series(["x", "y"])).select("id", "theirs").rows()
    [(' Y ', 'y')]
    """
    unmatched = given.filter(~given.is_in(rows.implode())).alias("id")
    free = rows.filter(~rows.is_in(given.implode())).unique().alias("theirs")
    plain_rows = pl.DataFrame([free, plain_ids(free).alias("plain")])
    plain_given = pl.DataFrame([unmatched, plain_ids(unmatched).alias("plain")])
    return plain_given.join(plain_rows, on="plain")


def with_ids_of_rows(given: pl.DataFrame, pairs: pl.DataFrame, name: str) -> pl.DataFrame:
    """The labels with the ids of rows for ids that are alike (`alike_ids`)."""
    _refuse_ambiguous(pairs.unique(), name)
    ours = dict(pairs.select("id", "theirs").iter_rows())
    return given.with_columns(pl.col("id").replace(ours))


def _match_ids(
    given: Rows, ids: pl.Series, name: str, source: str, *, has_ids: bool, alike: bool
) -> Rows:
    """The labels of ids that a row has; the others are counted, all of them are refused."""
    # Few ids are looked for among many: a set of the few takes a tenth of the time.
    labelled = ids.filter(ids.is_in(given.frame["id"].implode())).unique()
    has_row = given.frame["id"].is_in(labelled.implode())
    unmatched = given.frame.filter(~has_row)
    if not unmatched.height:
        return given
    pairs = alike_ids(given.frame["id"], ids)
    if alike and pairs.height:
        frame = with_ids_of_rows(given.frame, pairs, name)
        return _match_ids(
            Rows(frame, given.dropped), ids, name, source, has_ids=has_ids, alike=False
        )
    if not has_row.any():
        if not has_ids:
            remedy = "labels join by id: give both files a column id, or the same texts"
            raise DataError(source, "is missing", column="id", remedy=remedy)
        raise unmatched_ids(given.frame["id"], ids, name)
    nearly = pairs["id"].n_unique()
    lost = {
        WOULD_MATCH: nearly,
        "label of an id without a row": unmatched.height - nearly,
    }
    return Rows(given.frame.filter(has_row), merge_dropped(given.dropped, lost))


def _refuse_ambiguous(pairs: pl.DataFrame, name: str) -> None:
    """Refuse a label that is alike several rows, and two labels that are alike one row."""
    twice = pairs["id"].is_duplicated() | pairs["theirs"].is_duplicated()
    if twice.any():
        at = pairs.filter(twice).row(0, named=True)
        problem = f"{quote(at['id'])} is not the only id like {quote(at['theirs'])}"
        remedy = "write these ids alike in both files"
        raise DataError(name, problem, column="id", remedy=remedy)


def _refuse_equal_content(made: pl.Series, labelled: pl.Series, source: str) -> None:
    """Refuse labels for ids that were made from the content of several rows."""
    again = first_of(made).drop_nulls()
    if again.is_in(labelled.implode()).any():
        problem = f"{len(again):,} rows have the content of another row"
        raise DataError(source, problem, column="id", remedy=GIVE_IDS)


def _replace_labels(rows: pl.DataFrame, given: pl.DataFrame, column: str, source: str) -> Rows:
    """The rows with the labels of the file in place of their own."""
    # If a label is replaced, the maker of the old one is not the maker of the new one.
    unstated = [c for c in MAKERS if c in rows.columns and c not in given.columns]
    given = given.with_columns(pl.lit(None, pl.String).alias(c) for c in unstated)
    brought = [c for c in BROUGHT if c in given.columns]
    columns = (column, *brought)
    rows = rows.with_columns(tidy(rows[c], source, c) for c in columns if c in rows.columns)
    rows = add_absent(rows, columns)
    new = {c: f"__{c}" for c in ("label", *brought)}
    rows = rows.join(given.rename(new), on="id", how="left", maintain_order="left")
    weaker = pl.lit(False)
    if "sampled_by" in brought:
        chosen = pl.col("__sampled_by").is_in(BY_SCORE).fill_null(False)
        own_chosen = pl.col("sampled_by").is_in(BY_SCORE).fill_null(False)
        weaker = chosen & pl.col(column).is_not_null() & ~own_chosen
    labelled = pl.col("__label").is_not_null()
    from_file = labelled & ~weaker
    replaced = from_file & (pl.col("__label") != pl.col(column))
    counts = rows.select(replaced=replaced.sum(), weaker=(labelled & weaker).sum())
    # Raters without a majority leave the row unlabelled, and their labels have an origin too.
    torn = pl.col(column).is_null() & pl.col(LABELS_OF).is_not_null()
    own_label = pl.when(pl.col(column).is_not_null()).then(pl.concat_list(column))
    origin_in_file = pl.when(from_file | torn)
    rows = rows.with_columns(
        pl.when(from_file).then("__label").otherwise(column).alias(column),
        origin_in_file.then(LABELS_OF).otherwise(own_label).alias(LABELS_OF),
        *(origin_in_file.then(new[name]).otherwise(name).alias(name) for name in brought),
    ).drop(new.values())
    lost = {
        "label of the row, replaced by the one in the labels file": counts["replaced"].item(),
        "label sampled by the judge's score of a row with another label": counts["weaker"].item(),
    }
    return Rows(rows, merge_dropped(lost))


def unmatched_ids(ids: pl.Series, rows: pl.Series, source: str, what: str = "labels") -> DataError:
    """The error for labels, or others, of which no id is an id of the rows."""
    ours, theirs = (
        ", ".join(map(quote, each.unique(maintain_order=True).head(3))) for each in (ids, rows)
    )
    more = ids.n_unique() - 3
    others = f" and {more:,} more" if more > 0 else ""
    alike = plain_ids(ids).drop_nulls().is_in(plain_ids(rows).drop_nulls().implode()).sum()
    hint = f"; {alike:,} would match {_UP_TO}" if alike else ""
    problem = f"no row has one of its ids, {ours}{others}{hint}"
    remedy = f"give {what} of these rows, such as {theirs}"
    if alike and what == "labels":
        remedy += f", or match ids that are alike: {_MATCH_ALIKE}"
    return DataError(source, problem, column="id", remedy=remedy)


def all_drawn_at_random(frame: pl.DataFrame, name: str) -> bool:
    """Whether there are labels and each is recorded as drawn at random."""
    labelled = frame["__label"].is_not_null()
    if "sampled_by" not in frame.columns or not labelled.any():
        return False
    ways = tidy(frame["sampled_by"], name, "sampled_by").filter(labelled)
    return bool((ways == "random").fill_null(False).all())


# --- labels of raters in columns of the rows, or of a labels file ---

_KINDS = ("judgments", "grades", "binary")


def with_ids(table: Table) -> Table:
    """The table with a column id, which is made of the texts if no column has that meaning.

    >>> rows = pl.DataFrame({"Question": ["How?"], "Answer": ["So."], "Ann": ["good"]})
    >>> again = rows.with_columns(pl.Series("Ann", ["bad"]))
    >>> with_ids(Table(frame=rows)).frame["id"][0] == with_ids(Table(frame=again)).frame["id"][0]
    True
    """
    frame = table.frame
    ours = {
        column: name for name in ("id", *TEXTS) if (column := _column_of(name, frame)) is not None
    }
    if "id" not in frame.columns:
        made = add_ids(frame.rename(ours), table.name)["id"]
        frame = frame.drop(column for column, name in ours.items() if name == "id")
        frame = frame.select(made, pl.all())
    return replace(table, frame=frame, fields=None)


def _column_of(name: str, frame: pl.DataFrame) -> str | None:
    """The column with one of our names under another name; None if it has ours, or is not there."""
    if name in frame.columns:
        return None
    named = (
        column
        for column in frame.columns
        if any(recognise([column], kind, [name]) for kind in _KINDS)
    )
    return next(named, None)


def labels_of_raters(table: Table, raters: Sequence[str]) -> Table:
    """The labels in these columns, of rows that have ids: id, rater, label and their origin.

    >>> table = Table(frame=pl.DataFrame({"id": [7], "Ann": ["A"], "Bob": ["B"]}), name="rows")
    >>> labels_of_raters(table, ["Ann", "Bob"]).frame.rows()
    [(7, 'Ann', 'A'), (7, 'Bob', 'B')]
    """
    frame = table.frame
    for rater in raters:
        if rater not in frame.columns:
            raise absent_column(rater, frame.columns, table.name)
    about = [
        column
        for column in frame.columns
        if column == "id" or recognise([column], "labels", BROUGHT)
    ]
    long = frame.with_columns(as_text(frame[rater]) for rater in raters).unpivot(
        on=list(raters), index=about, variable_name="rater", value_name="label"
    )
    return Table(frame=long, name=table.name, labels_as=table.labels_as)
