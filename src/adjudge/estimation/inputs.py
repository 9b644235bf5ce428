"""From a file, a frame or arrays to checked columns; nothing dropped without being counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge._validation import IntArray
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.joining import with_labels
from adjudge.estimation.sample import Sample, make_sample
from adjudge.io.tables import TableLike, read_table, source_name

MOST_CLASSES = 12
_TRUTH = {"true": "1", "false": "0"}
_SAMPLED_BY = ("random", "plan", "doubt")


@dataclass(frozen=True)
class Rows:
    """Columns of one length, rows without a verdict left out.

    `scale` says what the judge gives: 0/1 (binary), probabilities, or classes. For classes
    `verdicts` and `labels` are codes into `names` (-1: no label); else `sample` is set.
    """

    frame: pl.DataFrame
    scale: Literal["binary", "probability", "classes"]
    sample: Sample | None
    verdicts: IntArray
    labels: IntArray
    names: tuple[str, ...]
    groups: IntArray | None
    group_names: tuple[str, ...]
    strata: IntArray | None
    strata_names: tuple[str, ...]
    clusters: IntArray | None
    dropped: dict[str, int]


def read_rows(
    data: TableLike | None,
    *,
    judge: ArrayLike | None = None,
    human: ArrayLike | None = None,
    labels: TableLike | None = None,
    by: str | ArrayLike | None = None,
    cluster: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    sampling_probability: ArrayLike | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
) -> Rows:
    """Rows from a table (path, polars, pandas, dict) or from the arrays `judge` and `human`."""
    frame, name = _frame(data, judge, human, judge_column, human_column)
    dropped: dict[str, int] = {}
    if labels is not None:
        frame, lost = with_labels(frame, labels, human_column=human_column)
        if lost:
            dropped["label of an id that no row has"] = lost
    if sampling_probability is not None:
        frame = _with_array(frame, "__probability", sampling_probability)
    frame, columns = _groupings(frame, by=by, cluster=cluster, strata=strata)
    sought = {"judge-column": judge_column, "human-column": human_column, **columns}
    for option, wanted in sought.items():
        _require(frame, wanted, name, option)
    verdict, label = (tidy(frame.get_column(c), name, c) for c in (judge_column, human_column))
    keep = _complete(frame, verdict, columns, name, dropped)
    label, chance = _how_sampled(frame, label, name, dropped)
    verdict, label, chance = verdict.filter(keep), label.filter(keep), chance.filter(keep)
    rows = frame.filter(keep)
    if rows.height == 0:
        raise DataError(name, "no row has a judge verdict", column=judge_column)
    if positive is not None:
        verdict, label = _against_the_rest(verdict, label, positive, name, judge_column)
    coded = {
        option: _coded(tidy(rows.get_column(column), name, column))
        for option, column in columns.items()
    }
    groups, group_names = coded.get("by", (None, ()))
    strata_codes, strata_names = coded.get("strata", (None, ()))
    clusters, _ = coded.get("cluster", (None, ()))
    scale = _scale(verdict, label, name, judge_column, keep.arg_true().to_numpy())
    sample, verdicts, known = None, np.empty(0, np.int64), np.empty(0, np.int64)
    names: tuple[str, ...] = ()
    if scale == "classes":
        if (chance.is_not_null() & label.is_not_null()).any():
            raise DataError(
                name,
                "labels picked by plan are for verdicts of 0 and 1",
                column="sampling_probability",
                remedy="name the class that counts as 1: --positive NAME (positive=)",
            )
        names, verdicts, known = _classes(verdict, label, name, judge_column)
    else:
        sample = make_sample(
            verdict.cast(pl.Float64).to_numpy(),
            label.cast(pl.Float64).to_list(),
            sampling_probability=chance.to_list() if chance.null_count() < len(chance) else None,
            clusters=clusters,
            strata=strata_codes,
        )
    return Rows(
        frame=rows,
        scale=scale,
        sample=sample,
        verdicts=verdicts,
        labels=known,
        names=names,
        groups=groups,
        group_names=group_names,
        strata=strata_codes,
        strata_names=strata_names,
        clusters=clusters,
        dropped=dropped,
    )


def _frame(
    data: TableLike | None,
    judge: ArrayLike | None,
    human: ArrayLike | None,
    judge_column: str,
    human_column: str,
) -> tuple[pl.DataFrame, str]:
    if data is not None:
        if judge is not None or human is not None:
            raise ArgumentError("judge", "an array", "give a table or arrays, not both")
        return read_table(data), source_name(data)
    if judge is None or human is None:
        raise ArgumentError("judge, human", None, "give both arrays, or a table")
    frame = _with_array(None, judge_column, judge)
    return _with_array(frame, human_column, human), "<arrays>"


def _groupings(
    frame: pl.DataFrame, **given: str | ArrayLike | None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The column of each option that was given; an array is put beside the table as one."""
    columns: dict[str, str] = {}
    for option, value in given.items():
        if isinstance(value, str):
            columns[option] = value
        elif value is not None:
            columns[option] = f"__{option}"
            frame = _with_array(frame, columns[option], value)
    return frame, columns


def _complete(
    frame: pl.DataFrame,
    verdict: pl.Series,
    columns: Mapping[str, str],
    name: str,
    dropped: dict[str, int],
) -> pl.Series:
    """Which rows have a verdict and a value in every column; the others are counted."""
    keep = verdict.is_not_null()
    for option, column in columns.items():
        empty = keep & tidy(frame.get_column(column), name, column).is_null()
        if empty.any():
            dropped[f"no {option} value"] = int(empty.sum())
            keep &= ~empty
    unjudged = int(verdict.is_null().sum())
    if unjudged:
        dropped["no judge verdict"] = unjudged
    return keep


def _with_array(frame: pl.DataFrame | None, column: str, values: ArrayLike) -> pl.DataFrame:
    listed: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)  # type: ignore[arg-type]
    series = pl.Series(column, listed, strict=False)
    if frame is None:
        return series.to_frame()
    if len(listed) != frame.height:
        raise ArgumentError(
            column.strip("_"), len(listed), f"give one value for each of the {frame.height} rows"
        )
    return frame.with_columns(series)


def _require(frame: pl.DataFrame, column: str, name: str, option: str) -> None:
    if column not in frame.columns:
        shown = ", ".join(c for c in frame.columns if not c.startswith("__"))
        raise DataError(
            name,
            "is missing",
            column=column,
            remedy=f"name another with --{option} ({option.replace('-', '_')}=); "
            f"columns here: {shown[:300]}",
        )


def tidy(values: pl.Series, name: str, column: str) -> pl.Series:
    """The column as stripped text; empty, null and NaN are null, true and false are 1 and 0."""
    if values.dtype.is_nested():
        raise DataError(name, "holds lists or objects", row=1, column=column)
    if values.dtype.is_float():
        values = values.fill_nan(None)
        if (values == values.round()).all() and (values.abs() < 2**53).all():
            values = values.cast(pl.Int64)
    text = values.cast(pl.String).str.strip_chars()
    lower = text.str.to_lowercase()
    if values.dtype == pl.Boolean or lower.drop_nulls().is_in(["true", "false"]).all():
        text = lower.replace(_TRUTH)
    return pl.select(pl.when(text != "").then(text)).to_series().alias(column)


def _coded(values: pl.Series) -> tuple[IntArray, tuple[str, ...]]:
    """Codes from 0 in order of first appearance, and the names they stand for."""
    names = values.unique(maintain_order=True)
    codes = values.replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64)
    return codes.to_numpy(), tuple(names.to_list())


def _how_sampled(
    frame: pl.DataFrame, label: pl.Series, name: str, dropped: dict[str, int]
) -> tuple[pl.Series, pl.Series]:
    """Labels with those picked by doubt taken away, and sampling probabilities of planned ones."""
    nothing = pl.Series("sampling_probability", [None] * frame.height, dtype=pl.Float64)
    column = "__probability" if "__probability" in frame.columns else "sampling_probability"
    given = nothing
    if column in frame.columns:
        text = tidy(frame.get_column(column), name, column)
        given = text.cast(pl.Float64, strict=False)
        bad = text.is_not_null() & (given.is_null() | (given <= 0) | (given > 1))
        if bad.any():
            at = int(bad.arg_true()[0])
            raise DataError(
                name,
                f"{text[at]!r} is not a probability",
                row=at + 1,
                column="sampling_probability",
                remedy="give a number above 0 and at most 1, or nothing",
            )
    if "sampled_by" not in frame.columns:
        return label, given
    how = tidy(frame.get_column("sampled_by"), name, "sampled_by")
    known = label.is_not_null()
    strange = known & how.is_not_null() & ~how.is_in(_SAMPLED_BY)
    if strange.any():
        at = int(strange.arg_true()[0])
        raise DataError(
            name,
            f"{how[at]!r} is not known",
            row=at + 1,
            column="sampled_by",
            remedy="use random, plan or doubt",
        )
    doubt = known & (how == "doubt").fill_null(False)
    if doubt.any():
        dropped["label picked by doubt: not used, the row counts as unlabelled"] = int(doubt.sum())
        label = pl.select(pl.when(~doubt).then(label)).to_series().alias(label.name)
    planned = label.is_not_null() & (how == "plan").fill_null(False)
    lacking = planned & given.is_null()
    if lacking.any():
        raise DataError(
            name,
            "is empty for a row picked by plan",
            row=int(lacking.arg_true()[0]) + 1,
            column="sampling_probability",
            remedy="keep the column that plan --write-ids wrote",
        )
    return label, pl.select(pl.when(planned).then(given)).to_series()


def _scale(
    verdict: pl.Series, label: pl.Series, name: str, column: str, places: IntArray
) -> Literal["binary", "probability", "classes"]:
    numbers = [s.cast(pl.Float64, strict=False) for s in (verdict, label)]
    if any(n.null_count() > s.null_count() for n, s in zip(numbers, (verdict, label), strict=True)):
        return "classes"
    said, known = (n.drop_nulls().to_numpy() for n in numbers)
    if np.isin(known, (0, 1)).all():
        if np.isin(said, (0, 1)).all():
            return "binary"
        if ((said >= 0) & (said <= 1)).all():
            return "probability"
    whole = np.concatenate([said, known])
    if (whole == np.round(whole)).all():
        return "classes"
    bad = ~((said >= 0) & (said <= 1))
    at = int(np.flatnonzero(bad)[0]) if bad.any() else 0
    raise DataError(
        name,
        f"{said[at]:g} is neither 0/1, a probability nor a class",
        row=int(places[at]) + 1,
        column=column,
        remedy="give verdicts of 0 and 1, probabilities in [0, 1], or class names",
    )


def _classes(
    verdict: pl.Series, label: pl.Series, name: str, column: str
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    said, known = _same_words(verdict, label, name, column)
    names: Sequence[str] = sorted(said | known)
    if len(names) > MOST_CLASSES:
        raise DataError(
            name,
            f"holds {len(names)} different values",
            column=column,
            remedy=f"give at most {MOST_CLASSES} classes; is this the right column?",
        )
    code = {value: i for i, value in enumerate(names)}
    verdicts = np.array([code[v] for v in verdict.to_list()], dtype=np.int64)
    labels = np.array([-1 if v is None else code[v] for v in label.to_list()], dtype=np.int64)
    return tuple(names), verdicts, labels


def _against_the_rest(
    verdict: pl.Series, label: pl.Series, positive: str, name: str, column: str
) -> tuple[pl.Series, pl.Series]:
    """Both as 1 for `positive` and 0 for all else; numbers in [0, 1] beside labels in words stay.

    They are the probability of `positive`, as p_a is that of label A.
    """
    said, known = (set(s.drop_nulls().unique().to_list()) for s in (verdict, label))
    if positive not in said | known:
        raise ArgumentError("positive", positive, f"choose one of {_some(said | known)}")
    ones = [(s == positive).cast(pl.Int64).cast(pl.String).alias(s.name) for s in (verdict, label)]
    if positive in known and not said & known and _shares(verdict):
        return verdict, ones[1]
    _same_words(verdict, label, name, column)
    return ones[0], ones[1]


def _shares(values: pl.Series) -> bool:
    """Whether all are numbers in [0, 1]."""
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.null_count() == values.null_count() and bool(numbers.is_between(0, 1).all())


def _same_words(
    verdict: pl.Series, label: pl.Series, name: str, column: str
) -> tuple[set[str], set[str]]:
    """The values of both; refused where none is common, as with yes and no against 1 and 0."""
    said, known = (set(s.drop_nulls().unique().to_list()) for s in (verdict, label))
    if min(len(said), len(known)) > 1 and not said & known:
        remedy = "write verdicts and labels in the same words"
        if _shares(verdict):
            remedy += (
                ", or name the label that verdicts of 1 stand for: --positive NAME (positive=)"
            )
        raise DataError(
            name,
            f"the judge says {_some(said)}, people say {_some(known)}: no value in common",
            column=column,
            remedy=remedy,
        )
    return said, known


def _some(values: set[str]) -> str:
    shown = sorted(values)
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
