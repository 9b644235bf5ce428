"""Values that follow from others: a row's status, its uncertainty, its verdict, pass or fail."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise

import polars as pl

from adjudge.data.refusals import refuse_values, refuse_where
from adjudge.data.tables import as_text
from adjudge.data.words import AS_SAID, GRADE, is_missing, plain_word, read_words
from adjudge.records import MEASURED, STATUSES
from adjudge.statistics.entropy import preference_entropy

#: The values of a human label of a pair.
LABELS = ("A", "B", "tie")
PASS, FAIL = "pass", "fail"
FROM_JUDGE = "label started from the judge's answer"


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


def fill_uncertainty(frame: pl.DataFrame, source: str, *, probability: str) -> pl.DataFrame:
    """The entropy of the probability as uncertainty, if a judge and protocol gives none."""
    measured = pl.col(probability).is_not_null()
    p = frame.get_column(probability)
    entropy = pl.Series("uncertainty", preference_entropy(p.fill_null(0.5).to_numpy()))
    entropy = in_chunks_of(p, entropy)
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


def pass_or_fail(
    values: pl.Series, source: str, labels_as: Mapping[str, str] | None = None
) -> pl.Series:
    """Human labels as pass and fail, null if missing; a share between the two is refused."""
    shares = _shares(read_words(as_text(values), AS_SAID, labels_as or {}), source)
    between = (shares > 0) & (shares < 1)
    remedy = "a share of people is neither right nor wrong: give 1 or 0, or leave it empty"
    refuse_values(values, between, "{} is neither pass nor fail", source=source, remedy=remedy)
    return pass_by_share(shares)


def _shares(values: pl.Series, source: str) -> pl.Series:
    """Each value as `human_share` reads it; the first that it cannot read is refused."""
    text = as_text(values)
    known: dict[str | None, float | None] = {}
    for value in text.unique(maintain_order=True).to_list():
        try:
            known[value] = human_share(value)
        except ValueError:
            remedy = (
                "give 1 or 0 (pass or fail, yes or no), or give its meaning: "
                f"--labels-as '{value}=...'"
            )
            problem = "{} is neither pass nor fail"
            refuse_values(text, text == value, problem, source=source, remedy=remedy)
    shares = [known[value] for value in text.to_list()]
    return pl.Series(values.name, shares, dtype=pl.Float64)


def pass_by_share(shares: pl.Series) -> pl.Series:
    """pass above one half, fail below, null at exactly one half or if missing."""
    named = pl.when(shares > 0.5).then(pl.lit(PASS)).when(shares < 0.5).then(pl.lit(FAIL))
    return pl.select(named).to_series()
