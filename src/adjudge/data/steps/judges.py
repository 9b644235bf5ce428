"""The step of judges: a number of several judges, metrics or scales has no meaning."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from adjudge.data.names import LOG, shorten
from adjudge.data.rows import find_varying
from adjudge.data.tables import as_text
from adjudge.errors import DataError

#: What the judge was asked: two of them are two numbers, never one.
_ASKED = ("criterion", "metric")
_NAMES = {
    "criterion": "criteria",
    "metric": "metrics",
    "judge_name": "judges",
    "judge": "judges",
    "protocol": "protocols",
    "served_model": "served models",
    "judge_fingerprint": "fingerprints of a judge",
}
#: What can change while a judge keeps its name, and what that means.
_CHANGED = {
    "served_model": "several models answered for one judge",
    "judge_fingerprint": "one judge has several fingerprints (model, prompt or settings)",
}


def check_judges(
    frame: pl.DataFrame,
    source: str,
    *,
    measure: str,
    judge: str = "judge",
    apart: Collection[str] = (),
    groups: Sequence[str] = (),
    compared: bool = False,
    mixed: bool = False,
) -> tuple[str, ...]:
    """Refuse rows of several judges, protocols, metrics or criteria, and name changes of a judge.

    `judge` is the column of judges' names, `measure` what is made of the rows, such as "rate". The
    values of the columns `apart` are never mixed: each gets its own number. If every value of
    `groups` has one judge, the numbers are each of one judge: this is stated, or refused if groups
    are `compared`. With `mixed`, rows of several are allowed, and stated: each row is by itself.

    >>> rows = pl.DataFrame({"judge": ["g1", "g2"], "model": ["old", "new"]})
    >>> check_judges(rows, "rows", measure="rate", groups=["model"])
    ('2 judges: g1 on old, g2 on new',)
    """
    here = [name for name in (*_ASKED, judge, "protocol", *_CHANGED) if name in frame.columns]
    simple = [name for name in here if not frame.schema[name].is_nested() and name not in apart]
    notes: dict[str, str] = {}
    for column in find_varying(frame, simple):
        values = as_text(frame[column]).drop_nulls().unique().sort().to_list()
        if len(values) < 2:
            continue
        if (compared or column in _ASKED) and _is_within(frame, column, apart):
            continue
        many = f"{len(values)} {_NAMES[column]}"
        by_group = _one_in_each(frame, column, groups) if compared or column not in _ASKED else None
        if by_group is not None and not compared:
            notes[column] = f"{many}: {by_group}"
        elif by_group is None and column in _CHANGED:
            _warn_of_change(frame, column, source, [judge, "protocol", *apart])
        elif mixed:
            notes[column] = f"{many}: {shorten(values, 5)}"
        else:
            remedy = f"a {measure} is about one: {_remedy(column)}"
            if compared and column in _ASKED and by_group is not None:
                remedy = f"compare systems by the same {column}"
            elif compared and column in _ASKED:
                each = f"adjudge compare --within {column} (within=)"
                remedy = f"compare in each of them: {each}, or keep the rows of one"
            elif compared:
                remedy = "compare systems that one judge judged"
            problem = f"has {many}: {by_group or shorten(values, 5)}"
            raise DataError(source, problem, column=column, remedy=remedy)
    # Two judges have two fingerprints: their names are enough.
    if judge in notes:
        return tuple(note for column, note in notes.items() if column not in _CHANGED)
    return tuple(notes.values())


#: Fewer answers do not show a scale.
_FEW = 10
#: A group is on a longer scale if more of its answers are above the highest of another group.
_LONGER = 0.25


def check_scales(
    values: pl.Series, groups: pl.Series, source: str, *, compared: bool = False
) -> tuple[str, ...]:
    """Name groups whose answers are on two scales, as 0 and 1 beside probabilities.

    Groups with 0 and 1 alone are refused beside one with mostly other probabilities if they are
    `compared`. Whether scores of 1 to 5 and of 1 to 10 are one scale cannot be known: they are only
    named.

    >>> answers, groups = pl.Series([1.0, 0.0, 0.9, 0.2] * 10), pl.Series(["old", "new"])
    >>> check_scales(answers, groups.gather([0, 0, 1, 1] * 10), "rows")
    ('two scales: 0 and 1 on old, probabilities on new',)
    """
    answers = pl.DataFrame({"group": groups, "value": values}).drop_nulls()
    value = pl.col("value")
    is_between = value.is_between(0, 1) & ~value.is_in([0.0, 1.0])
    of_group = answers.group_by("group", maintain_order=True)
    scales = of_group.agg(
        between=is_between.mean(), low=value.min(), high=value.max(), answers=pl.len()
    )
    scales = scales.filter(pl.col("answers") >= _FEW)
    if not scales.height:
        return ()
    if answers["value"].is_between(0, 1).all():
        verdicts = scales.filter(pl.col("between") == 0)["group"].to_list()
        shares = scales.filter(pl.col("between") > 0)["group"].to_list()
        if not verdicts or not shares:
            return ()
        note = f"two scales: 0 and 1 on {shorten(verdicts, 5)}, probabilities on "
        note += shorten(shares, 5)
        if compared and (scales["between"] > 0.5).any():
            remedy = "compare answers on one scale: all 0 and 1, or all probabilities"
            raise DataError(source, f"has {note}", column=values.name, remedy=remedy)
    else:
        lowest = scales.sort("high").row(0, named=True)
        above = answers.filter(pl.col("group").is_in(scales["group"].implode()))
        above = above.group_by("group").agg((value > lowest["high"]).mean() > _LONGER)
        longer = above.filter("value").select("group").join(scales, on="group")
        ranges = pl.concat(
            [scales.filter(pl.col("group") == lowest["group"]), longer.sort("group")]
        )
        each = [f"{low:g} to {high:g} on {group}" for group, _, low, high, _ in ranges.rows()]
        if not longer.height:
            return ()
        note = f"two scales? {shorten(each, 5)}"
    LOG.warning("%s: warning: %s", source, note)
    return (note,)


def _is_within(frame: pl.DataFrame, column: str, apart: Collection[str]) -> bool:
    """Whether a column has one value for each criterion or metric, and these are kept apart."""
    asked = [name for name in _ASKED if name in apart and name in frame.columns]
    return bool(asked) and _one_in_each(frame, column, asked) is not None


def _remedy(column: str) -> str:
    if column == "judge_name":
        return "keep the rows of one (estimate --judge NAME), or --by judge_name (by=)"
    if column == "judge":
        return "keep the rows of one; a board of all as one: rank --jury (jury=True)"
    return f"keep the rows of one, or --by {column} (by=)"


def _one_in_each(frame: pl.DataFrame, column: str, groups: Sequence[str]) -> str | None:
    """Which value each group has, if it has only one; else None."""
    if not groups:
        return None
    named = frame.select(*(as_text(frame[name]) for name in groups), as_text(frame[column]))
    each = named.group_by(groups, maintain_order=True).agg(pl.col(column).drop_nulls().unique())
    if (each[column].list.len() > 1).any():
        return None
    shown = [f"{value} on {'/'.join(group)}" for *group, values in each.rows() for value in values]
    return shorten(shown, 5)


def _warn_of_change(frame: pl.DataFrame, column: str, source: str, within: Sequence[str]) -> None:
    """Name the values of a column that differ within one judge."""
    keys = [name for name in dict.fromkeys(within) if name in frame.columns and name != column]
    rows = frame.filter(pl.col(column).is_not_null())
    counted = rows.group_by(keys or pl.lit(0), maintain_order=True).agg(
        pl.col(column).value_counts(sort=True)
    )
    for counts in counted[column]:
        if len(counts) > 1:
            shown = [f"{value} ({n:,} rows)" for value, n in counts.struct.unnest().rows()]
            LOG.warning(
                "%s: warning: %s: %s; numbers of one do not hold for another: judge all rows "
                "again with another --store",
                *(source, _CHANGED[column], shorten(shown)),
            )
