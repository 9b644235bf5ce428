"""Rows as analyses need them: left-out rows counted, columns as text or codes, clusters, judges.

Also values that follow from others: a row's status, its uncertainty, its verdict, pass or fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.names import (
    AS_SAID,
    GRADE,
    MISSING,
    columns_here,
    is_missing,
    plain_word,
    point_decimals,
    read_words,
    refuse_values,
    refuse_where,
    word_refusal,
)
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.records import MEASURED
from adjudge.statistics.entropy import preference_entropy
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import FloatArray, IntArray, Seed, generator


@dataclass(frozen=True)
class Rows:
    """Rows, and how many were left out so far, by reason.

    >>> rows = Rows(pl.DataFrame({"id": ["x", "y", "z"], "label": ["A", None, "tie"]}))
    >>> rows = rows.without(pl.col("label").is_null(), "no label")
    >>> rows.without(pl.col("label") == "tie", "human tie").dropped
    {'no label': 1, 'human tie': 1}
    """

    frame: pl.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)

    def without(self, rows: pl.Expr, reason: str) -> Rows:
        """Leave out the rows for which the expression is true (null is not)."""
        out = self.frame.select(rows.fill_null(False)).to_series()
        lost = int(out.sum())
        if not lost:
            return self
        return Rows(self.frame.filter(~out), merge_dropped(self.dropped, {reason: lost}))


def measured(rows: Rows, *, without: pl.Expr | None = None) -> Rows:
    """Rows that the judge answered; the others (of those `without` an answer) by their status.

    >>> rows = Rows(pl.DataFrame({"status": ["ok", "error", "censored", "error"]}))
    >>> measured(rows).dropped
    {'status error': 2}
    """
    if "status" not in rows.frame.columns:
        return rows
    for status in sorted(set(rows.frame["status"].drop_nulls().unique()) - MEASURED):
        failed = pl.col("status") == status
        rows = rows.without(failed if without is None else failed & without, f"status {status}")
    return rows


def merge_dropped(*parts: Mapping[str, int]) -> dict[str, int]:
    """Counts of several steps summed, in the order of the steps; reasons without rows are omitted.

    >>> merge_dropped({"no label": 2}, {"no label": 1, "human tie": 0})
    {'no label': 3}
    """
    total: Counter[str] = Counter()
    for part in parts:
        total.update({reason: rows for reason, rows in part.items() if rows})
    return dict(total)


#: Why a row is left out that a judge answered again.
ANSWERED_AGAIN = "repeat of another row"
#: Types of columns whose single value can be written as a literal.
_SIMPLE = (pl.String, pl.Float64, pl.Int64, pl.Boolean, pl.Null)
_TRUTH = {"true": "1", "false": "0"}


def text_column(frame: pl.DataFrame, column: str, option: str) -> pl.Series:
    """The column as text, or an error that names the option and the existing columns."""
    if column not in frame.columns:
        here = ", ".join(columns_here(frame.columns))
        raise ArgumentError(option, column, f"choose a column: {here}")
    return as_text(frame.get_column(column))


def tidy(values: pl.Series, name: str, column: str) -> pl.Series:
    """The column as stripped text; empty, N/A and NaN become null, true and false 1 and 0.

    >>> tidy(pl.Series([1.0, float("nan"), 0.0]), "rows", "human").to_list()
    ['1', None, '0']
    """
    if values.dtype.is_nested():
        remedy = "write text or numbers"
        raise DataError(name, "has lists or objects", row=1, column=column, remedy=remedy)
    if values.dtype.is_numeric():
        return as_text(values).alias(column)
    text = point_decimals(as_text(values).str.strip_chars())
    lower = text.str.to_lowercase()
    gaps = lower.is_in(["", *MISSING])
    if values.dtype == pl.Boolean or lower.filter(~gaps).drop_nulls().is_in([*_TRUTH]).all():
        text = lower.replace(_TRUTH)
    return pl.select(pl.when(~gaps).then(text)).to_series().alias(column)


def partition(frame: pl.DataFrame, keys: Sequence[str]) -> list[pl.DataFrame]:
    """The rows of each combination of the keys, in order of first appearance.

    If there is only one, the frame is not copied.
    """
    several = frame.is_empty() or find_varying(frame, keys)
    return frame.partition_by(keys, maintain_order=True) if several else [frame]


def find_varying(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Those of the columns that have more than one value.

    >>> find_varying(pl.DataFrame({"judge": ["x", "x"], "id": [1, 2]}), ["judge", "id"])
    ['id']
    """
    first = frame.select(pl.col(name).eq_missing(pl.col(name).first()).all() for name in columns)
    return [name for name in columns if not first[name][0]]


def add_absent(
    frame: pl.DataFrame,
    columns: Iterable[str],
    value: str | None = None,
    dtype: type[pl.DataType] = pl.String,
) -> pl.DataFrame:
    """The frame with these columns; one that it lacks has this value in every row."""
    absent = [column for column in columns if column not in frame.columns]
    return frame.with_columns(pl.lit(value, dtype).alias(column) for column in absent)


def has_values(frame: pl.DataFrame, *columns: str) -> bool:
    """Whether each column is there and has a value in some row."""
    return all(c in frame.columns and frame[c].null_count() < frame.height for c in columns)


def sort_rows(
    frame: pl.DataFrame, keys: Sequence[str], keep: Collection[str] | None = None
) -> pl.DataFrame:
    """The rows sorted by the keys, with these columns and those to `keep` (None: all).

    A column with one value is not moved, and takes no memory. The others are moved one by one,
    because polars first copies what is in several chunks.

    >>> rows = pl.DataFrame({"judge": ["x", "x"], "id": ["b", "a"], "p_a": [0.1, 0.9]})
    >>> sort_rows(rows, ["judge", "id"]).rows()
    [('x', 'a', 0.9), ('x', 'b', 0.1)]
    """
    names = [name for name in frame.columns if keep is None or name in {*keys, *keep}]
    simple = [name for name in names if frame.schema[name] in _SIMPLE]
    fixed = {*simple} - {*find_varying(frame, simple)}
    own = [key for key in keys if key not in fixed]
    if not own:
        return frame.select(names)
    order = frame.select(pl.arg_sort_by(own)).to_series()
    # By name: polars would rename a column without one.
    moved = {name: frame[name].rechunk().gather(order) for name in names if name not in fixed}
    values = (pl.lit(frame[name][0], frame.schema[name]).alias(name) for name in fixed)
    return pl.DataFrame(moved).with_columns(values).select(names)


def truth_column(frame: pl.DataFrame, column: str, name: str, *, remedy: str) -> pl.Series:
    """The column as true and false (also 1 and 0); anything else, including gaps, is refused.

    >>> rows = pl.DataFrame({"accepted": ["true", "false"]})
    >>> truth_column(rows, "accepted", "rows", remedy="").to_list()
    [True, False]
    """
    text = tidy(frame.get_column(column), name, column)
    strange = ~text.is_in(["0", "1"]).fill_null(False)
    refuse_values(text, strange, "{} is not true or false", source=name, remedy=remedy)
    return text == "1"


def code_column(values: pl.Series) -> tuple[IntArray, tuple[str, ...]]:
    """Codes from 0 in order of first appearance, and the name of each code."""
    names = values.unique(maintain_order=True)
    known = names.to_frame("name").with_row_index("code")
    coded = values.to_frame("name").join(known, on="name", how="left", maintain_order="left")
    return coded["code"].cast(pl.Int64).to_numpy(), tuple(names.to_list())


def are_distinct(values: pl.Series) -> bool:
    """A fast check that all values are unique; in rare cases a False is wrong."""
    if values.dtype.is_nested():
        return False
    # Most files are sorted by id, as text or by a running number (x9, x10), which is longer text.
    return (
        _increase(values)
        or (values.dtype == pl.String and _increase(values, by_length=True))
        # Different hashes mean different values.
        or values.hash().n_unique() == len(values)
    )


def _increase(values: pl.Series, *, by_length: bool = False) -> bool:
    """Whether every value is larger than the one before it; `by_length`: longer, or larger."""
    # Chunk by chunk: a column and its shifted self have different chunks, which polars copies.
    chunks = [chunk for chunk in values.get_chunks() if len(chunk)]
    pairs = [(chunk[:-1], chunk[1:]) for chunk in chunks]
    borders = [(chunk[-1:], following[:1]) for chunk, following in pairwise(chunks)]
    for low, high in (*borders, *pairs):
        larger = low < high
        if by_length:
            short, long = low.str.len_bytes(), high.str.len_bytes()
            larger = (short < long) | ((short == long) & larger)
        if not larger.all(ignore_nulls=False):
            return False
    return True


#: The conversation whose turns the rows are.
CONVERSATION = "conversation_id"
#: The cluster column if none is named: the first of these that repeats.
DEFAULT_CLUSTERS = ("prompt_id", CONVERSATION)


def cluster_column(
    frame: pl.DataFrame,
    cluster: str | None,
    *,
    within: Sequence[str] = (),
    usual: Sequence[str] = DEFAULT_CLUSTERS,
) -> str | None:
    """The column whose repeats are not independent; None if all rows are independent.

    `cluster` names it. "auto" is prompt_id if it repeats (among rows with equal values in the
    columns `within`: two judges of one prompt are not a repeat), or else conversation_id: turns of
    a conversation are alike; `usual` are these columns. None and "none": no clusters.

    >>> frame = pl.DataFrame({"judge": ["x", "x", "y"], "prompt_id": ["p", "q", "p"]})
    >>> cluster_column(frame, "auto"), cluster_column(frame, "auto", within=["judge"])
    ('prompt_id', None)
    """
    if cluster is None or cluster == "none":
        return None
    if cluster != "auto":
        text_column(frame, cluster, "cluster")
        return cluster
    for column in usual:
        if column not in frame.columns or are_distinct(frame[column]):
            continue
        named = frame.filter(pl.col(column).is_not_null())
        if named.select(*within, column).is_duplicated().any():
            return column
    return None


def code_clusters(values: pl.Series, rows: pl.Series | None = None) -> IntArray:
    """The column as codes 0..G-1 in order of first appearance, by the rule of `cluster_codes`.

    >>> code_clusters(pl.Series(["p", None, "p", None])).tolist()
    [0, 1, 0, 2]
    """
    keys = as_text(values)
    if keys.null_count():
        names = pl.Series(range(len(values))) if rows is None else rows
        own = pl.concat_str(pl.lit("row "), names.cast(pl.String))
        shared = pl.concat_str(pl.lit("cluster "), keys)
        keys = pl.select(pl.when(keys.is_null()).then(own).otherwise(shared)).to_series()
    if keys.n_unique() == len(keys):
        return np.arange(len(keys))
    return code_column(keys)[0]


def one_row_per_cluster(clusters: ArrayLike | Sequence[object], *, seed: Seed = 0) -> IntArray:
    """The positions of one uniformly random row of every cluster, in row order.

    Rows of one prompt are alike, so 20 prompts of 10 rows have little more information than 20
    rows: treated as 200, an error rate of 0.2 was certified as 0.1 (mean share 0.17). The promise
    is then about one row of a new prompt, and each prompt has the same weight.

    >>> one_row_per_cluster(["p", "p", "q", None, None], seed=0).tolist()
    [1, 2, 3, 4]
    """
    codes, groups = cluster_codes(np.asarray(clusters, dtype=object))
    if groups == len(codes):
        return np.arange(len(codes))
    order = np.lexsort((generator(seed).random(len(codes)), codes))
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.sort(order[first])


_ROUNDING = 1e-4


def confidences(rows: pl.DataFrame) -> FloatArray:
    """The confidence of every row with a verdict, in [0, 1]: stated, or max(p_a, 1 - p_a)."""
    sure = np.empty(rows.height)
    for part in partition(rows.with_row_index("__row"), ["judge", "protocol"]):
        stated = stated_confidence(part)
        p_a = part.get_column("p_a").fill_null(np.nan).to_numpy()
        sure[part["__row"].to_numpy()] = np.maximum(p_a, 1 - p_a) if stated is None else stated
    return sure


def stated_confidence(rows: pl.DataFrame) -> FloatArray | None:
    """1 - uncertainty if that is the confidence a judge stated, for rows of one judge; else None.

    It is a stated confidence if the column `confidence` agrees, or if p_a is missing in a row that
    has a verdict: nothing else could have given it.

    >>> rows = {"p_a": [0.8, None], "uncertainty": [0.2, 0.6], "verdict": ["A", "B"]}
    >>> stated_confidence(pl.DataFrame(rows)).tolist()
    [0.8, 0.4]
    """
    sure = 1 - rows.get_column("uncertainty").cast(pl.Float64).to_numpy()
    if rows.filter(pl.col("p_a").is_null() & pl.col("verdict").is_not_null()).height:
        if not ((sure >= 0) & (sure <= 1)).all():
            remedy = "rows without p_a need 1 - confidence as uncertainty"
            raise ArgumentError("uncertainty", float(1 - sure.min()), remedy)
        return np.asarray(sure)
    if "confidence" not in rows.columns or not rows["confidence"].dtype.is_numeric():
        return None
    confidence = rows["confidence"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.asarray(sure) if bool((np.abs(confidence - sure) <= _ROUNDING).all()) else None


@dataclass(frozen=True)
class Identity:
    """What is known about a judge; None if unknown. `parts` make up the fingerprint."""

    judge: str | None = None
    protocol: str | None = None
    fingerprint: str | None = None
    parts: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        name = self.judge or "a judge"
        return name if self.protocol is None else f"{name} ({self.protocol})"


def identities(frame: pl.DataFrame) -> list[Identity]:
    """The judges of a frame: one for each combination of judge, protocol and fingerprint."""
    columns = [c for c in ("judge", "protocol", "judge_fingerprint") if c in frame.columns]
    if not columns:
        return [Identity()]
    seen = frame.select(as_text(frame[c]) for c in columns).unique().sort(columns)
    return [
        Identity(row.get("judge"), row.get("protocol"), row.get("judge_fingerprint"))
        for row in seen.to_dicts()
    ]


def judge_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Names with the protocol, if one judge was asked by several protocols.

    >>> rows = {"judge": ["x", "x", "y"], "protocol": ["mcq", "rts", "mcq"]}
    >>> judge_names(pl.DataFrame(rows))["judge"].to_list()
    ['x / mcq', 'x / rts', 'y']
    """
    if not {"judge", "protocol"} <= set(frame.columns):
        return frame
    several = pl.col("protocol").n_unique().over("judge") > 1
    both = pl.concat_str("judge", "protocol", separator=" / ", ignore_nulls=True)
    return frame.with_columns(pl.when(several).then(both).otherwise(pl.col("judge")).alias("judge"))


#: The values of a human label of a pair.
LABELS = ("A", "B", "tie")
PASS, FAIL = "pass", "fail"
FROM_JUDGE = "label started from the judge's answer"


def check_status(
    frame: pl.DataFrame, source: str, *, number: str, remedy: str, unless: pl.Expr | None = None
) -> None:
    """Every measured row must have its `number`; `unless` are rows that need none."""
    # Two comparisons are faster than a lookup per value.
    measured = pl.any_horizontal(pl.col("status") == status for status in MEASURED)
    lacking = measured & pl.col(number).is_null()
    if unless is not None:
        lacking &= ~unless.fill_null(False)
    problem = "is empty though the row is {}"
    refuse_where(
        frame, lacking, problem, source=source, column=number, remedy=remedy, value_of="status"
    )


def is_learned(columns: Collection[str]) -> bool:
    """Whether these are rows of `select` by a learned doubt: p_a does not give their verdict.

    >>> is_learned(["id", "verdict", "accepted", "learned_doubt", "p_a"]), is_learned(["verdict"])
    (True, False)
    """
    return {"verdict", "accepted", "learned_doubt"} <= {*columns}


def without_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows without the judge's probabilities if a learned doubt gave their verdict."""
    numbers = ("p_fwd", "p_rev", "p_a", "p_tie") if is_learned(frame.columns) else ()
    return frame.drop(numbers, strict=False)


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


def fill_status(
    frame: pl.DataFrame,
    source: str,
    *,
    number: str,
    values: Sequence[str],
    remedy: str,
    unless: pl.Expr | None = None,
) -> pl.DataFrame:
    """Rows with a status: checked where there is one, else ok if there is a number."""
    if "status" in frame.columns:
        check_status(frame, source, number=number, remedy=remedy, unless=unless)
        if not frame["status"].null_count():
            return frame
    frame = add_absent(frame, ["status"])
    silent = frame.select(pl.col("status").is_null() & pl.col(number).is_null()).to_series()
    if silent.any():
        own = [pl.col("detail")] if "detail" in frame.columns else []
        reason = pl.when(silent).then(pl.lit("no probability in the file"))
        frame = frame.with_columns(detail=pl.coalesce(*own, reason))
    filled = pl.when(silent).then(pl.lit("error")).otherwise(pl.lit("ok"))
    return frame.with_columns(
        pl.coalesce("status", filled).alias("status"),
        *(pl.when(~silent).then(pl.col(column)).alias(column) for column in values),
    )


def fill_uncertainty(frame: pl.DataFrame, source: str, *, probability: str) -> pl.DataFrame:
    """The entropy of the probability as uncertainty, if a judge and protocol gives none."""
    measured = pl.col(probability).is_not_null()
    p = frame.get_column(probability)
    entropy = pl.Series("uncertainty", preference_entropy(p.fill_null(0.5).to_numpy()))
    entropy = in_chunks_of(p, entropy)
    if "uncertainty" not in frame.columns:
        computed = entropy if p.null_count() == 0 else pl.when(measured).then(entropy)
        return frame.with_columns(computed.alias("uncertainty"))
    stated = pl.col("uncertainty").is_not_null()
    if 0 < frame["uncertainty"].null_count() < frame.height:
        silent = measured & ~stated & stated.any().over("judge", "protocol")
        problem = "is empty while other rows of this judge and protocol have one"
        remedy = "fill it in every measured row, or drop the column to use the entropy of "
        remedy += probability
        refuse_where(frame, silent, problem, source=source, column="uncertainty", remedy=remedy)
    derived = pl.when(measured).then(pl.coalesce("uncertainty", entropy))
    return frame.with_columns(uncertainty=derived.otherwise(pl.col("uncertainty")))


def in_chunks_of(column: pl.Series, values: pl.Series) -> pl.Series:
    """The values in the chunks of a column: polars copies a frame whose chunks differ."""
    ends = list(accumulate(column.chunk_lengths(), initial=0))
    parts = [values.slice(start, end - start) for start, end in pairwise(ends)]
    return pl.concat(parts, rechunk=False)


def human_share(value: object) -> float | None:
    """A human label of one answer: 1 passed, 0 failed, or the share of people who passed it.

    None without a label; ValueError for anything else.

    >>> [human_share(value) for value in (1, "pass", False, "0.4", "")]
    [1.0, 1.0, 0.0, 0.4, None]
    """
    if is_missing(value):
        return None
    number = float(GRADE.words.get(plain_word(value), str(value)))
    if not 0 <= number <= 1:
        raise ValueError(value)
    return number


def pass_or_fail(values: pl.Series, source: str, labels_as: Mapping[str, str]) -> pl.Series:
    """Human labels as pass and fail, null if missing; a share between the two is refused."""
    problem = "{} is neither pass nor fail"
    text = read_words(as_text(values), GRADE, labels_as)
    shares = text.str.strip_chars().cast(pl.Float64, strict=False)
    strange = text.filter(text.is_not_null() & ~shares.is_between(0, 1).fill_null(False))
    if len(strange):
        remedy = "give 1 or 0 (pass or fail, yes or no)"
        _, remedy = word_refusal(strange[0], AS_SAID, remedy, labels_as)
        refuse_values(text, text == strange[0], problem, source=source, remedy=remedy)
    between = (shares > 0) & (shares < 1)
    remedy = "a share of people is neither right nor wrong: give 1 or 0, or leave it empty"
    refuse_values(values, between, problem, source=source, remedy=remedy)
    return pass_by_share(shares)


def pass_by_share(shares: pl.Series) -> pl.Series:
    """pass above one half, fail below, null at exactly one half or if missing."""
    named = pl.when(shares > 0.5).then(pl.lit(PASS)).when(shares < 0.5).then(pl.lit(FAIL))
    return pl.select(named).to_series()


def spelled_alike(names: Iterable[str]) -> list[str]:
    """A warning for models whose names differ only in case or blanks: each counts as its own.

    >>> spelled_alike(["GPT-4", "gpt-4 ", "llama"])
    ["'GPT-4' and 'gpt-4 ' are 2 models here: give one name if they are one"]
    """
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(" ".join(name.split()).casefold(), []).append(name)
    several = [alike for alike in spellings.values() if len(alike) > 1]
    remedy = "give one name if they are one"
    return [
        f"{' and '.join(map(repr, alike))} are {len(alike)} models here: {remedy}"
        for alike in several
    ]
