"""How labels were drawn: at random, by a plan with known probabilities, or by the judge's score.

Calibration and estimates can use different labels; both rules are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import polars as pl

from adjudge.errors import DataError
from adjudge.io.refusals import refuse_values
from adjudge.records import SampledBy
from adjudge.rows.columns import tidy
from adjudge.rows.dropped import Rows
from adjudge.rows.makers import without_dependent

SAMPLED_BY = get_args(SampledBy)
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
    bad = _refused(how, has_label, ways)
    if bad.any():
        _refuse_unclear(rows.frame, how, has_label, bad, name)
    rows = Rows(rows.frame.with_columns(how), rows.dropped)
    for way in how.filter(bad).unique().sort().to_list():
        drawn_so = pl.col("label").is_not_null() & (pl.col("sampled_by") == way)
        rows = rows.without(drawn_so, f"label sampled by {way}")
    return rows


def _refused(how: pl.Series, labelled: pl.Series, ways: Sequence[str]) -> pl.Series:
    return labelled & how.is_in(list(ways)).fill_null(False)


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
    how = tidy(frame.get_column("sampled_by"), name, "sampled_by")
    strange = labelled & how.is_not_null() & ~how.is_in(SAMPLED_BY)
    remedy = "use " + ", ".join(SAMPLED_BY)
    refuse_values(how, strange, "{} is not known", source=name, remedy=remedy)
    return how


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

    Labels that started from the judge's answer are left out in the same way.

    A rate from labels of only the surest rows would be too high: if some other label does not state
    how it was drawn, such a file is refused.

    A label drawn by a plan needs its probability, from the column `probability`. If the file does
    not state how labels were drawn, a label with a probability counts as drawn with it.
    """
    chance = _probabilities(frame, name, probability)
    labels, dependent = without_dependent(frame, labels, name)
    if "sampled_by" not in frame.columns:
        return Sampling(labels, chance, dependent)
    known = labels.is_not_null()
    how = ways_of(frame, known, name)
    surest = _refused(how, known, CUT_BY)
    if surest.any():
        _refuse_unclear(frame, how, known, surest, name)
    bad = _refused(how, known, BY_SCORE)
    usable = pl.select(pl.when(~bad).then(labels)).to_series().alias(labels.name)
    planned = usable.is_not_null() & (how == "plan").fill_null(False)
    remedy = "keep the column that plan --write-ids wrote"
    refuse_values(
        chance,
        planned & chance.is_null(),
        "is empty for a row picked by a plan",
        source=name,
        remedy=remedy,
    )
    return Sampling(
        usable,
        pl.select(pl.when(planned).then(chance)).to_series(),
        dependent
        | {
            f"label sampled by {way}: not used, its row is unlabelled": int(
                (bad & (how == way)).sum()
            )
            for way in how.filter(bad).unique().sort().to_list()
        },
    )


def _probabilities(frame: pl.DataFrame, name: str, column: str) -> pl.Series:
    """The column as numbers above 0 and at most 1, null if empty or absent."""
    if column not in frame.columns:
        return pl.repeat(None, frame.height, dtype=pl.Null, eager=True).alias(column)
    # An array argument is a column of the table whose name starts with two underscores.
    text = tidy(frame.get_column(column), name, column.removeprefix("__"))
    chance = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & (chance.is_null() | (chance <= 0) | (chance > 1))
    remedy = "give a number above 0 and at most 1, or nothing"
    refuse_values(text, bad, "{} is not a probability", source=name, remedy=remedy)
    return chance
