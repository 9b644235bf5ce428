"""Judgments: a judge's verdict on each pair, from adjudge or another source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.columns import TEXT_COLUMNS, Column, Layout, add_unnamed
from adjudge.io.pairs import LABELS
from adjudge.io.refusals import refuse_duplicates, refuse_where
from adjudge.io.tables import TableLike, labels_as_of, source_name
from adjudge.io.words import PAIR
from adjudge.records import MEASURED, STATUSES
from adjudge.uncertainty import preference_entropy

#: p_a can be rounded in a file; a larger distance from the mean of both orders is an error.
_ROUNDING = 0.005
_ORDERS = ("p_fwd", "p_rev")
_NUMBERS = (*_ORDERS, "p_a", "uncertainty")
LAYOUT = Layout(
    "judgments",
    Column(name="id", required=True, filled=True),
    Column(name="judge"),
    Column(name="protocol"),
    Column(name="repeat", type="whole", low=0),
    Column(name="status", choices=STATUSES),
    Column(name="p_fwd", type="number", low=0, high=1),
    Column(name="p_rev", type="number", low=0, high=1),
    Column(name="p_a", type="number", low=0, high=1),
    Column(name="p_tie", type="number", low=0, high=1),
    Column(name="uncertainty", type="number"),
    Column(name="verdict", choices=("A", "B", "tie"), words=PAIR),
    Column(name="answer_mass", type="number", low=0, high=1),
    Column(name="judge_fingerprint"),
    Column(name="server"),
    Column(name="label", choices=LABELS, words=PAIR),
    Column(name="tokens", type="whole", low=0),
    Column(name="cost", type="number", low=0),
    Column(name="detail"),
    Column(name="prompt_id"),
    Column(name="length_a", type="number", low=0),
    Column(name="length_b", type="number", low=0),
    *TEXT_COLUMNS,
    one_of=("p_a", "p_fwd"),
    apart=("judge", "protocol", "repeat"),
)


def read_judgments(
    source: TableLike,
    *,
    judge: str | None = None,
    protocol: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Judgments as a checked frame, one row per id, judge, protocol and repeat.

    Always there: id, judge, protocol, status, p_fwd, p_rev, p_a, uncertainty, verdict,
    judge_fingerprint. On rows with status ok or censored, p_a and uncertainty are numbers; on all
    others they are empty. A row with a verdict (A or B) and an uncertainty can lack p_a: a judge
    can name a side with less confidence than a guess. Only measured values are derived:

    - p_a, if it is not given, is the mean of p_fwd and p_rev; p_a alone is enough;
    - uncertainty, if a judge and protocol gives none at all, is the entropy of p_a in nats;
    - verdict is A above one half and B below; at exactly one half there is none. If a column
      `p_tie` makes a tie more likely than either answer, it is "tie" (half of p_tie is in p_a);
    - without a status column a row with p_a is ok, and a row without it is an `error` with the
      reason in `detail`: it is counted, never guessed;
    - a judge or protocol without a name in the file is `unnamed`; `judge` and `protocol` give a
      name.

    `columns` maps our names to the file's, e.g. {"p_a": "prob_first"}.

    >>> rows = read_judgments({"id": ["x"], "p_fwd": [0.9], "p_rev": [0.5]})
    >>> rows.select("p_a", "verdict").row(0)
    (0.7, 'A')
    """
    frame, name = LAYOUT.load(source, columns), source_name(source)
    if "p_a" not in frame.columns and not {"p_fwd", "p_rev"} <= set(frame.columns):
        remedy = "give p_a, or p_fwd and p_rev, all about response_a"
        if "verdict" in frame.columns:
            remedy = f"verdicts alone have no doubt: {remedy}, or use adjudge estimate"
            raise DataError(name, "is missing", column="p_a", remedy=remedy)
        raise LAYOUT.missing(frame, "p_a", name, remedy)
    frame = LAYOUT.check(frame, name, labels_as=labels_as_of(source))
    frame = _with_names(frame, {"judge": judge, "protocol": protocol}, name)
    absent = [column for column in _ORDERS if column not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(column) for column in absent)
    for derive in (_with_p_a, _with_p_tie, _with_status, _with_uncertainty, _with_verdict):
        frame = derive(frame, name)
    if "judge_fingerprint" not in frame.columns:
        frame = frame.with_columns(judge_fingerprint=pl.lit(None, pl.String))
    key, remedy = ["id", "judge", "protocol"], "keep one row per id, judge and protocol"
    if "repeat" in frame.columns:
        key, remedy = [*key, "repeat"], f"{remedy}, or number them in repeat"
    refuse_duplicates(frame, key, source=name, remedy=remedy)
    return LAYOUT.sort(frame)


def check_status(
    frame: pl.DataFrame,
    source: str,
    *,
    number: str,
    values: Sequence[str],
    remedy: str,
    unless: pl.Expr | None = None,
) -> None:
    """Every measured row must have its `number`, every other row none of the `values`.

    `unless` are rows that need no number.
    """
    # Two comparisons are faster than a lookup per value.
    either = pl.any_horizontal(pl.col("status") == status for status in MEASURED)
    is_measured = frame.select(either.fill_null(False)).to_series()
    measured = pl.lit(is_measured)
    refuse = partial(refuse_where, frame, source=source, value_of="status")
    problem = "is empty though the row is {}"
    lacking = measured & pl.col(number).is_null()
    if unless is not None:
        lacking &= ~unless.fill_null(False)
    refuse(lacking, problem, column=number, remedy=remedy)
    if is_measured.all():
        return
    problem, remedy = "has a value though the row is {}", "only ok and censored rows have one"
    for column in values:
        refuse(~measured & pl.col(column).is_not_null(), problem, column=column, remedy=remedy)


def verdict_by(columns: Collection[str], words: tuple[str, str] = ("A", "B")) -> pl.Expr:
    """The verdict by p_a and, if that column is there, p_tie; as `uncertainty.verdict`."""
    above, below = words
    p_a, p_tie = pl.col("p_a"), pl.col("p_tie")
    # By position: it makes one column of text, where a text for every case makes three.
    at = pl.when(p_a != 0.5).then((p_a < 0.5).cast(pl.UInt32))
    side = pl.lit(pl.Series([above, below])).gather(at)
    if "p_tie" not in columns:
        return side
    tie = p_tie > pl.max_horizontal(p_a, 1 - p_a) - p_tie / 2
    return pl.when(p_a.is_not_null() & tie.fill_null(False)).then(pl.lit("tie")).otherwise(side)


def _with_names(frame: pl.DataFrame, given: Mapping[str, str | None], source: str) -> pl.DataFrame:
    for column, value in given.items():
        if column in frame.columns and value is not None:
            raise ArgumentError(column, value, f"leave it out: {source} has its own {column}")
        if value is not None:
            frame = frame.with_columns(pl.lit(value).alias(column))
        frame = add_unnamed(frame, [column])
        remedy = f"give the {column} in every row, or drop the column"
        empty = pl.col(column).is_null()
        refuse_where(frame, empty, "is empty", source=source, column=column, remedy=remedy)
    return frame


def _with_p_a(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    mean = (pl.col("p_fwd") + pl.col("p_rev")) / 2
    if "p_a" not in frame.columns:
        return frame.with_columns(p_a=mean)
    refuse_where(
        frame,
        (pl.col("p_a") - mean).abs() > _ROUNDING,
        "{} is not the mean of p_fwd and p_rev",
        source=source,
        column="p_a",
        remedy="all three are about response_a: drop p_a, or the two orders",
    )
    return frame.with_columns(p_a=pl.col("p_a").fill_null(mean))


def _with_p_tie(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    if "p_tie" not in frame.columns:
        return frame
    half = pl.col("p_tie") / 2 - _ROUNDING
    refuse_where(
        frame,
        (pl.col("p_a") < half) | (pl.col("p_a") > 1 - half),
        "{} is larger than p_a allows",
        source=source,
        column="p_tie",
        remedy="p_a is P(A) + p_tie / 2, and all three add up to 1",
    )
    return frame


def _with_status(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    remedy = "give p_a, or p_fwd and p_rev, or the status that fits"
    values = [column for column in (*_NUMBERS, "p_tie", "verdict") if column in frame.columns]
    # If only one order was measured, the row has no number.
    stated = None
    if {"verdict", "uncertainty"} <= {*frame.columns}:
        stated = pl.col("verdict").is_in(["A", "B"]) & pl.col("uncertainty").is_not_null()
    return fill_status(frame, source, number="p_a", values=values, remedy=remedy, unless=stated)


def fill_status(
    frame: pl.DataFrame,
    source: str,
    *,
    number: str,
    values: Sequence[str],
    remedy: str,
    unless: pl.Expr | None = None,
) -> pl.DataFrame:
    """Rows with a status: checked if the file has one, else ok if there is a number."""
    if "status" in frame.columns:
        known = "use one of " + ", ".join(STATUSES) + ", or drop the column"
        empty = pl.col("status").is_null()
        refuse_where(frame, empty, "is empty", source=source, column="status", remedy=known)
        check_status(frame, source, number=number, values=values, remedy=remedy, unless=unless)
        return frame
    silent = pl.col(number).is_null()
    if frame.get_column(number).null_count():
        own = [pl.col("detail")] if "detail" in frame.columns else []
        reason = pl.when(silent).then(pl.lit("no probability in the file"))
        frame = frame.with_columns(detail=pl.coalesce(*own, reason))
    return frame.with_columns(
        pl.when(silent).then(pl.lit("error")).otherwise(pl.lit("ok")).alias("status"),
        *(pl.when(~silent).then(pl.col(column)).alias(column) for column in values),
    )


def _with_uncertainty(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    return fill_uncertainty(frame, source, probability="p_a")


def fill_uncertainty(frame: pl.DataFrame, source: str, *, probability: str) -> pl.DataFrame:
    """The entropy of the probability as uncertainty, if a judge and protocol gives none."""
    measured = pl.col(probability).is_not_null()
    p = frame.get_column(probability)
    entropy = pl.Series("uncertainty", preference_entropy(p.fill_null(0.5).to_numpy()))
    entropy = _in_chunks_of(p, entropy)
    if "uncertainty" not in frame.columns:
        own = entropy if p.null_count() == 0 else pl.when(measured).then(entropy)
        return frame.with_columns(own.alias("uncertainty"))
    given = pl.col("uncertainty").is_not_null()
    if 0 < frame["uncertainty"].null_count() < frame.height:
        refuse_where(
            frame,
            measured & ~given & given.any().over("judge", "protocol"),
            "is empty while other rows of this judge and protocol have one",
            source=source,
            column="uncertainty",
            remedy="fill it in every measured row, or drop the column to use the entropy of "
            f"{probability}",
        )
    derived = pl.when(measured).then(pl.coalesce("uncertainty", entropy))
    return frame.with_columns(uncertainty=derived.otherwise(pl.col("uncertainty")))


def _with_verdict(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    derived = verdict_by(frame.columns)
    if "verdict" in frame.columns:
        stated = pl.col("p_a").is_null()
        derived = pl.when(stated).then(pl.col("verdict")).otherwise(derived)
        refuse_where(
            frame,
            pl.col("verdict").is_not_null() & ~pl.col("verdict").eq_missing(derived),
            "does not follow from p_a = {}",
            source=source,
            column="verdict",
            remedy="A needs p_a above 0.5 and B below; at 0.5 there is none; tie needs p_tie",
            value_of="p_a",
        )
    verdict = frame.select(verdict=derived).to_series()
    return frame.with_columns(_in_chunks_of(frame.get_column("p_a"), verdict))


def _in_chunks_of(column: pl.Series, values: pl.Series) -> pl.Series:
    """The values in the chunks of a column: polars copies a frame whose chunks differ."""
    ends = list(accumulate(column.chunk_lengths(), initial=0))
    parts = [values.slice(start, end - start) for start, end in pairwise(ends)]
    return pl.concat(parts, rechunk=False)
