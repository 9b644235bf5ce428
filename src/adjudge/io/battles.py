"""Battles: which of two models a person, or a judge, preferred; scores per side beside it."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from adjudge.errors import DataError
from adjudge.io._schema import Column, checked, load, missing, refuse_values, refuse_where, shown
from adjudge.io.tables import TableLike

WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
LAYOUT = (
    Column(name="id"),
    Column(name="model_a", required=True, filled=True),
    Column(name="model_b", required=True, filled=True),
    Column(name="winner", choices=WINNERS),
    Column(name="score_a", kind="number"),
    Column(name="score_b", kind="number"),
    Column(name="prompt_id"),
    Column(name="language", also=("lang",)),
    Column(name="judge"),
)
_LETTERS = {"A": "model_a", "B": "model_b", "tie": "tie", "tie (bothbad)": "tie (bothbad)"}
_SHARES = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}


def read_battles(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Battles as a checked frame: model_a, model_b, winner, then what else is there.

    `winner` is model_a, model_b, tie or tie (bothbad), empty where nobody voted. In its place
    `human_pref` may say A, B or tie, or the share of the preference that went to model_a: 1, 0.5
    or 0. (The SoftElo release writes 0 for a win of A: such a file is refused here and read with
    `--from softelo`.) score_a and score_b are the judge's numbers; where there are per-criterion
    objects scores_a and scores_b instead (also as text, JSON or Python), they are unpacked and
    score_a, score_b are the means over the criteria that both sides have.

    >>> read_battles({"model_a": ["x"], "model_b": ["y"], "human_pref": ["B"]})["winner"].to_list()
    ['model_b']
    """
    frame, name = load(source, LAYOUT, columns=columns, expected="battles")
    return check_battles(frame, name)


def check_battles(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame as battles, or a DataError that names `name` and the row."""
    frame = checked(frame, LAYOUT, name, expected="battles")
    frame = _with_winner(frame, name)
    refuse_where(
        frame,
        pl.col("model_a") == pl.col("model_b"),
        name,
        "{} meets itself",
        column="model_b",
        remedy="drop battles of a model against itself",
        show="model_a",
    )
    for side in ("a", "b"):
        if f"scores_{side}" in frame.columns:
            frame = _unpacked(frame, f"scores_{side}", name)
    if {"scores_a", "scores_b"} <= set(frame.columns):
        frame = _with_means(frame, name)
    if ("score_a" in frame.columns) != ("score_b" in frame.columns):
        raise DataError(
            name,
            "one side is scored and the other is not",
            column="score_a",
            remedy="give score_a and score_b",
        )
    first = [c.name for c in LAYOUT if c.name in frame.columns]
    return frame.select(first + [other for other in frame.columns if other not in first])


def _with_winner(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    if "winner" in frame.columns:
        return frame
    if "human_pref" not in frame.columns:
        raise missing(frame, "winner", name, "battles", "give winner or human_pref")
    given = frame.get_column("human_pref")
    if given.dtype == pl.Null:
        return frame.with_columns(winner=pl.lit(None, pl.String))
    if not (given.dtype == pl.String or given.dtype.is_numeric()):
        raise DataError(
            name,
            "holds neither letters nor numbers",
            row=1,
            column="human_pref",
            remedy="use A, B or tie",
        )
    numbers = given.cast(pl.Float64, strict=False)
    known: dict[Any, str] = {**_LETTERS}
    if given.null_count() < given.len() and numbers.null_count() == given.null_count():
        given, known = numbers, {**_SHARES}
        if {"judge_pref", "scores_a"} & set(frame.columns):
            raise DataError(
                name,
                "numbers beside judge_pref or scores_a: this looks like the SoftElo release, where "
                "0 means that A won",
                column="human_pref",
                remedy="read it with --from softelo, or write A, B and tie",
            )
    winner = given.replace_strict(known, default=None, return_dtype=pl.String)
    bad = given.is_not_null() & winner.is_null()
    remedy = "use A, B or tie, or the share for model_a: 1, 0.5 or 0"
    refuse_values(given, bad, name, "human_pref", "{} is not known", remedy)
    return frame.with_columns(winner=winner)


def _unpacked(frame: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    values = frame.get_column(column)
    if values.dtype == pl.String:
        values = _decoded(values, column, name)
    if not isinstance(values.dtype, pl.Struct):
        raise DataError(
            name,
            "holds no objects of criterion and number",
            row=1,
            column=column,
            remedy='write {"clarity": 7, ...}',
        )
    fields = values.struct.fields
    parts = checked(
        values.struct.unnest(),
        [Column(name=field, kind="number") for field in fields],
        f"{name}, column {column}",
    )
    packed = parts.select(pl.struct(fields).alias(column)).to_series()
    return frame.with_columns(pl.when(values.is_not_null()).then(packed).alias(column))


def _decoded(values: pl.Series, column: str, name: str) -> pl.Series:
    # Python writes {'clarity': 7.0}; with plain names a change of quotes makes it JSON.
    for text in (values, values.str.replace_all("'", '"')):
        try:
            return text.str.json_decode(infer_schema_length=None)
        except pl.exceptions.PolarsError:
            continue
    lines = []
    for row, value in enumerate(values, start=1):
        try:
            parsed = None if value is None else ast.literal_eval(value)
            if parsed is not None and not isinstance(parsed, dict):
                raise ValueError
            lines.append(json.dumps(parsed, allow_nan=False))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise DataError(
                name,
                f"{shown(value)} is not an object of criterion and number",
                row=row,
                column=column,
                remedy='write {"clarity": 7, ...}',
            ) from None
    return pl.Series(column, lines).str.json_decode(infer_schema_length=None)


def _with_means(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    left, right = frame.get_column("scores_a"), frame.get_column("scores_b")
    both = [field for field in left.struct.fields if field in right.struct.fields]
    if not both:
        raise DataError(
            name,
            "shares no criterion with scores_b",
            column="scores_a",
            remedy="score both sides on the same criteria",
        )
    a = [pl.col("scores_a").struct.field(field) for field in both]
    b = [pl.col("scores_b").struct.field(field) for field in both]
    # A criterion counts only where both sides have it: else the means speak of different things.
    paired_a = [pl.when(y.is_not_null()).then(x) for x, y in zip(a, b, strict=True)]
    paired_b = [pl.when(x.is_not_null()).then(y) for x, y in zip(a, b, strict=True)]
    return frame.with_columns(
        expression.alias(column)
        for column, expression in (
            ("score_a", pl.mean_horizontal(paired_a)),
            ("score_b", pl.mean_horizontal(paired_b)),
        )
        if column not in frame.columns
    )
