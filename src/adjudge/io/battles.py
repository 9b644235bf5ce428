"""Battles: which of two models a person, or a judge, preferred, and scores per side."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import Column, Layout, check_columns
from adjudge.io.refusals import quote, refuse_values, refuse_where
from adjudge.io.tables import TableLike, as_text, labels_as_of, source_name
from adjudge.io.words import PAIR, WINNER, drop_missing

VERDICTS = ("A", "B", "tie")
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
_WINNER = Column(name="winner", choices=WINNERS, words=WINNER)
LAYOUT = Layout(
    "battles",
    Column(name="id"),
    Column(name="model_a", required=True, filled=True),
    Column(name="model_b", required=True, filled=True),
    _WINNER,
    Column(name="verdict_fwd", choices=VERDICTS, words=PAIR),
    Column(name="verdict_rev", choices=VERDICTS, words=PAIR),
    Column(name="length_a", type="number", low=0),
    Column(name="length_b", type="number", low=0),
    Column(name="score_a", type="number"),
    Column(name="score_b", type="number"),
    Column(name="prompt_id"),
    Column(name="language"),
    Column(name="judge"),
)
_SHARES = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}
_OBJECT = 'write {"clarity": 7, ...}'


def read_battles(
    source: TableLike, *, columns: Mapping[str, str] | None = None, votes_required: bool = True
) -> pl.DataFrame:
    """Battles as a checked frame: model_a, model_b, winner, then the other columns.

    `winner` is model_a, model_b, tie or tie (bothbad), or empty without a vote. `human_pref` can
    replace it: A, B or tie, or the share of the preference for model_a: 1, 0.5 or 0. (The SoftElo
    release writes 0 for a win of A: such a file is refused here and read with `--format softelo`.)
    With `votes_required=False` a file without either is read too: a `label` column counts as votes,
    and without one there are no votes. score_a and score_b are the judge's numbers. If the file has
    per-criterion objects scores_a and scores_b instead (also as text, JSON or Python), score_a and
    score_b are the means over the criteria that both sides have.

    >>> read_battles({"model_a": ["x"], "model_b": ["y"], "human_pref": ["B"]})["winner"].to_list()
    ['model_b']
    """
    frame, name = LAYOUT.read(source, columns), source_name(source)
    words = labels_as_of(source)
    if not votes_required and not {"winner", "human_pref"} & set(frame.columns):
        votes = as_text(frame["label"]) if "label" in frame.columns else pl.lit(None, pl.String)
        frame = check_columns(frame.with_columns(winner=votes), [_WINNER], name, labels_as=words)
    frame = _with_winner(frame, name, words)
    refuse_self_meetings(frame, name)
    for column in ("scores_a", "scores_b"):
        if column in frame.columns:
            frame = _unpack(frame, column, name)
    if {"scores_a", "scores_b"} <= set(frame.columns):
        frame = _with_means(frame, name)
    if ("score_a" in frame.columns) != ("score_b" in frame.columns):
        problem, remedy = "one side has a score and the other has none", "give score_a and score_b"
        raise DataError(name, problem, column="score_a", remedy=remedy)
    return LAYOUT.sort(frame)


def refuse_self_meetings(frame: pl.DataFrame, source: str) -> None:
    """Refuse battles of a model with itself."""
    refuse_where(
        frame,
        pl.col("model_a") == pl.col("model_b"),
        "{} is compared with itself",
        source=source,
        column="model_b",
        remedy="drop comparisons of a model with itself",
    )


def _with_winner(frame: pl.DataFrame, source: str, words: Mapping[str, str]) -> pl.DataFrame:
    if "winner" in frame.columns:
        return frame
    if "human_pref" not in frame.columns:
        raise LAYOUT.missing(frame, "winner", source, "give winner or human_pref")
    given = frame.get_column("human_pref")
    if given.dtype == pl.Null:
        return frame.with_columns(winner=pl.lit(None, pl.String))
    if not (given.dtype == pl.String or given.dtype.is_numeric()):
        problem, remedy = "has neither letters nor numbers", "use A, B or tie"
        raise DataError(source, problem, row=1, column="human_pref", remedy=remedy)
    texts = drop_missing(as_text(given))
    numbers = texts.cast(pl.Float64, strict=False)
    if words or texts.is_null().all() or numbers.null_count() > texts.null_count():
        read = frame.with_columns(texts.alias("human_pref"))
        votes = check_columns(read, [replace(_WINNER, name="human_pref")], source, labels_as=words)
        return frame.with_columns(winner=votes["human_pref"])
    if {"judge_pref", "scores_a"} & set(frame.columns):
        raise DataError(
            source,
            "numbers next to judge_pref or scores_a: this looks like the SoftElo release, "
            "where 0 means that A won",
            column="human_pref",
            remedy="read it with --format softelo, or write A, B and tie",
        )
    winner = numbers.replace_strict(_SHARES, default=None, return_dtype=pl.String)
    bad = numbers.is_not_null() & winner.is_null()
    remedy = "use A, B or tie, or the share for model_a: 1, 0.5 or 0"
    refuse_values(numbers, bad, "{} is not known", source=source, remedy=remedy)
    return frame.with_columns(winner=winner)


def _unpack(frame: pl.DataFrame, column: str, source: str) -> pl.DataFrame:
    values = frame.get_column(column)
    if values.dtype == pl.String:
        values = _decode(values, source)
    fields = values.struct.fields if isinstance(values.dtype, pl.Struct) else []
    if not fields:
        problem = "has no objects of criterion and number"
        raise DataError(source, problem, row=1, column=column, remedy=_OBJECT)
    numbers = [Column(name=field, type="number") for field in fields]
    parts = check_columns(values.struct.unnest(), numbers, f"{source}, column {column}")
    packed = parts.select(pl.struct(fields).alias(column)).to_series()
    return frame.with_columns(pl.when(values.is_not_null()).then(packed).alias(column))


def _decode(values: pl.Series, source: str) -> pl.Series:
    # Python writes {'clarity': 7.0}; with plain names, other quotes make it JSON.
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
            problem = f"{quote(value)} is not an object of criterion and number"
            raise DataError(source, problem, row=row, column=values.name, remedy=_OBJECT) from None
    return pl.Series(values.name, lines).str.json_decode(infer_schema_length=None)


def _with_means(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    left, right = frame.get_column("scores_a"), frame.get_column("scores_b")
    both = [field for field in left.struct.fields if field in right.struct.fields]
    if not both:
        problem, remedy = "shares no criterion with scores_b", "score both on the same criteria"
        raise DataError(source, problem, column="scores_a", remedy=remedy)
    for side, other in (("a", "b"), ("b", "a")):
        if f"score_{side}" in frame.columns:
            continue
        mine, theirs = (pl.col(f"scores_{name}").struct for name in (side, other))
        # A criterion counts only if both sides have it; else the means cannot be compared.
        paired = [pl.when(theirs.field(c).is_not_null()).then(mine.field(c)) for c in both]
        frame = frame.with_columns(pl.mean_horizontal(paired).alias(f"score_{side}"))
    return frame
