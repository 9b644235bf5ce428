"""Judgments: what a judge said of each pair, written by adjudge or brought from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError
from adjudge.io._schema import (
    Column,
    checked,
    load,
    missing,
    refuse_duplicates,
    refuse_where,
)
from adjudge.io.pairs import LABELS
from adjudge.io.tables import TableLike
from adjudge.records import MEASURED, STATUSES
from adjudge.uncertainty import preference_entropy

#: The name of a judge or protocol that the file does not name.
UNNAMED = "unnamed"
#: p_a may be rounded in a file; further from the mean of its two orders it is something else.
_ROUNDING = 0.005
_NUMBERS = ("p_fwd", "p_rev", "p_a", "uncertainty")
LAYOUT = (
    Column(name="id", required=True, filled=True),
    Column(name="judge"),
    Column(name="protocol"),
    Column(name="status", choices=STATUSES),
    Column(name="p_fwd", kind="number", low=0, high=1),
    Column(name="p_rev", kind="number", low=0, high=1),
    Column(name="p_a", kind="number", low=0, high=1),
    Column(name="uncertainty", kind="number"),
    Column(name="verdict", choices=("A", "B")),
    Column(name="judge_fingerprint"),
    Column(name="label", choices=LABELS),
    Column(name="tokens", kind="whole", low=0),
    Column(name="cost", kind="number", low=0),
    Column(name="detail"),
    Column(name="prompt_id"),
)


def read_judgments(
    source: TableLike,
    *,
    judge: str | None = None,
    protocol: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Judgments as a checked frame, one row per id, judge and protocol.

    Always there: id, judge, protocol, status, p_fwd, p_rev, p_a, uncertainty, verdict,
    judge_fingerprint. On rows whose status is ok or censored p_a and uncertainty are numbers; on
    all others nothing is. Only what was measured is derived:

    - p_a, where it is not given, is the mean of p_fwd and p_rev; p_a alone is enough;
    - uncertainty, where a judge and protocol gives none at all, is the entropy of p_a in nats;
    - verdict is A above one half and B below; at exactly one half there is none;
    - without a status column a row with p_a is ok, and one without is an `error` that says so
      in `detail`: it is counted, never guessed;
    - a judge or protocol that the file does not name is called `unnamed`; `judge` and `protocol`
      name it.

    `columns` maps our names to the file's, e.g. {"p_a": "prob_first"}.

    >>> rows = read_judgments({"id": ["x"], "p_fwd": [0.9], "p_rev": [0.5]})
    >>> rows.select("p_a", "verdict").row(0)
    (0.7, 'A')
    """
    frame, name = load(source, LAYOUT, columns=columns, expected="judgments")
    return check_judgments(frame, name, judge=judge, protocol=protocol)


def check_judgments(
    frame: pl.DataFrame, name: str, *, judge: str | None = None, protocol: str | None = None
) -> pl.DataFrame:
    """The frame as judgments, or a DataError that names `name` and the row."""
    frame = checked(frame, LAYOUT, name, expected="judgments")
    if "p_a" not in frame.columns and not {"p_fwd", "p_rev"} <= set(frame.columns):
        remedy = "give p_a, or p_fwd and p_rev, all about response_a"
        raise missing(frame, "p_a", name, "judgments", remedy)
    frame = _named(frame, {"judge": judge, "protocol": protocol}, name)
    absent = [column for column in _NUMBERS if column not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(column) for column in absent)
    frame = _with_p_a(frame, name)
    frame = _with_status(frame, name)
    frame = _with_verdict(_with_uncertainty(frame, name), name)
    if "judge_fingerprint" not in frame.columns:
        frame = frame.with_columns(judge_fingerprint=pl.lit(None, pl.String))
    refuse_duplicates(
        frame, ["id", "judge", "protocol"], name, "keep one row per id, judge and protocol"
    )
    first = [column.name for column in LAYOUT if column.name in frame.columns]
    return frame.select(first + [other for other in frame.columns if other not in first])


def _named(frame: pl.DataFrame, given: Mapping[str, str | None], name: str) -> pl.DataFrame:
    for column, value in given.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(value or UNNAMED).alias(column))
        elif value is not None:
            raise ArgumentError(column, value, f"leave it out: {name} names its own {column}")
        refuse_where(
            frame,
            pl.col(column).is_null(),
            name,
            "is empty",
            column=column,
            remedy=f"name the {column} in every row, or drop the column",
        )
    return frame


def _with_p_a(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    mean = (pl.col("p_fwd") + pl.col("p_rev")) / 2
    refuse_where(
        frame,
        (pl.col("p_a") - mean).abs() > _ROUNDING,
        name,
        "{} is not the mean of p_fwd and p_rev",
        column="p_a",
        remedy="all three are about response_a: drop p_a, or the two orders",
        show="p_a",
    )
    return frame.with_columns(p_a=pl.col("p_a").fill_null(mean))


def _with_status(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    if "status" not in frame.columns:
        silent = pl.col("p_a").is_null()
        frame = frame.with_columns(
            status=pl.when(silent).then(pl.lit("error")).otherwise(pl.lit("ok"))
        )
        if frame.get_column("p_a").null_count():
            own = [pl.col("detail")] if "detail" in frame.columns else []
            told = pl.when(silent).then(pl.lit("no probability in the file"))
            frame = frame.with_columns(detail=pl.coalesce(*own, told))
        # One order without the other was measured, but not what the row needs: no number stays.
        keep = pl.col("status") == "ok"
        return frame.with_columns(
            pl.when(keep).then(pl.col(column)).alias(column)
            for column in (*_NUMBERS, "verdict")
            if column in frame.columns
        )
    refuse_where(
        frame,
        pl.col("status").is_null(),
        name,
        "is empty",
        column="status",
        remedy="use one of " + ", ".join(STATUSES) + ", or drop the column",
    )
    measured = pl.col("status").is_in(list(MEASURED))
    refuse_where(
        frame,
        measured & pl.col("p_a").is_null(),
        name,
        "is empty though the row is {}",
        column="p_a",
        remedy="give p_a, or p_fwd and p_rev, or the status that fits",
        show="status",
    )
    for column in (*_NUMBERS, "verdict"):
        if column in frame.columns:
            refuse_where(
                frame,
                ~measured & pl.col(column).is_not_null(),
                name,
                "holds a value though the row is {}",
                column=column,
                remedy="only ok and censored rows carry one",
                show="status",
            )
    return frame


def _with_uncertainty(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    measured = pl.col("p_a").is_not_null()
    given = pl.col("uncertainty").is_not_null()
    some = given.any().over("judge", "protocol")
    refuse_where(
        frame,
        measured & ~given & some,
        name,
        "is empty while other rows of this judge and protocol have one",
        column="uncertainty",
        remedy="fill it in every measured row, or drop the column to use the entropy of p_a",
    )
    p_a = frame.get_column("p_a").to_numpy()
    entropy = pl.Series("entropy", preference_entropy(np.nan_to_num(p_a, nan=0.5)))
    derived = pl.when(measured).then(pl.coalesce("uncertainty", entropy))
    return frame.with_columns(uncertainty=derived)


def _with_verdict(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    above, below = pl.col("p_a") > 0.5, pl.col("p_a") < 0.5
    derived = pl.when(above).then(pl.lit("A")).when(below).then(pl.lit("B"))
    if "verdict" in frame.columns:
        refuse_where(
            frame,
            pl.col("verdict").is_not_null() & ~pl.col("verdict").eq_missing(derived),
            name,
            "does not follow from p_a = {}",
            column="verdict",
            remedy="A needs p_a above 0.5 and B below; at 0.5 there is none",
            show="p_a",
        )
    return frame.with_columns(verdict=derived)
