"""How labels were drawn: at random, by a plan with known probabilities, or by doubt.

Calibration and estimates differ in what they can use; both rules are here.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from adjudge.errors import DataError
from adjudge.io.refusals import refuse_values
from adjudge.rows.columns import tidy
from adjudge.rows.dropped import Rows, merge_dropped

SAMPLED_BY = ("random", "plan", "doubt")


def without_doubt(rows: Rows, name: str) -> Rows:
    """For calibration: rows whose label was not sampled by doubt, the others counted.

    Labels sampled by doubt are of pairs that are hard for a judge, not of the pairs it will meet.
    Where every other label says that it was drawn otherwise they are left out; where some do not
    say, the whole file is refused.
    """
    if "sampled_by" not in rows.frame.columns:
        return rows
    has_label = rows.frame.get_column("label").is_not_null()
    how = _how(rows.frame, has_label, name)
    by_doubt = has_label & (how == "doubt").fill_null(False)
    doubted = rows.frame.filter(by_doubt)
    if doubted.height == 0:
        return rows
    others = how.filter(has_label & ~by_doubt)
    if others.len() == 0 or others.null_count():
        raise DataError(
            name,
            f"{doubted.height} labels were sampled by doubt (id {doubted['id'][0]!r} first)",
            column="sampled_by",
            remedy="calibrate on labels drawn at random, each marked sampled_by random or plan",
        )
    return rows.without(pl.lit(by_doubt), "label sampled by doubt")


def _how(frame: pl.DataFrame, labelled: pl.Series, name: str) -> pl.Series:
    """The column `sampled_by` as text; of a labelled row, one of the ways there are."""
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
    """Labels without those sampled by doubt (their rows count as unlabelled), and probabilities.

    A label drawn by a plan needs its probability, from the column `probability`. Where nothing
    says how labels were drawn, a label with a probability counts as drawn with it.
    """
    chance = _probabilities(frame, name, probability)
    if "sampled_by" not in frame.columns:
        return Sampling(labels, chance, {})
    known = labels.is_not_null()
    how = _how(frame, known, name)
    doubt = known & (how == "doubt").fill_null(False)
    usable = pl.select(pl.when(~doubt).then(labels)).to_series().alias(labels.name)
    planned = usable.is_not_null() & (how == "plan").fill_null(False)
    remedy = "keep the column that plan --write-ids wrote"
    refuse_values(
        chance,
        planned & chance.is_null(),
        "is empty for a row picked by plan",
        source=name,
        remedy=remedy,
    )
    return Sampling(
        usable,
        pl.select(pl.when(planned).then(chance)).to_series(),
        merge_dropped(
            {"label sampled by doubt: not used, its row is unlabelled": int(doubt.sum())}
        ),
    )


def _probabilities(frame: pl.DataFrame, name: str, column: str) -> pl.Series:
    """The column as numbers above 0 and at most 1, null where empty or absent."""
    if column not in frame.columns:
        return pl.Series(column, [None] * frame.height, dtype=pl.Float64)
    # An array that was given is a column of the table whose name starts with two underscores.
    text = tidy(frame.get_column(column), name, column.removeprefix("__"))
    chance = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & (chance.is_null() | (chance <= 0) | (chance > 1))
    remedy = "give a number above 0 and at most 1, or nothing"
    refuse_values(text, bad, "{} is not a probability", source=name, remedy=remedy)
    return chance
