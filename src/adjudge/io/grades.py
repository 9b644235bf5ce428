"""Grades: whether a judge passed each answer, from adjudge or another source."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from adjudge.errors import DataError
from adjudge.io.columns import TEXT_COLUMNS, Column, Layout, add_unnamed
from adjudge.io.judgments import fill_status, fill_uncertainty
from adjudge.io.names import plain_name, recognise, usual_names
from adjudge.io.refusals import refuse_duplicates, refuse_values, refuse_where
from adjudge.io.tables import Table, TableLike, as_text, labels_as_of, source_name
from adjudge.io.words import AS_SAID, GRADE, PAIR, is_missing, plain_word, read_words
from adjudge.records import STATUSES

PASS, FAIL = "pass", "fail"
LAYOUT = Layout(
    "grades",
    Column(name="id", required=True, filled=True),
    Column(name="judge_name"),
    Column(name="protocol"),
    Column(name="repeat", type="whole", low=0),
    Column(name="judge"),
    Column(name="human"),
    Column(name="status", choices=STATUSES),
    Column(name="p_pass", type="number", low=0, high=1),
    Column(name="uncertainty", type="number"),
    Column(name="answer_mass", type="number", low=0, high=1),
    Column(name="judge_fingerprint"),
    Column(name="server"),
    Column(name="tokens", type="whole", low=0),
    Column(name="cost", type="number", low=0),
    Column(name="detail"),
    Column(name="prompt_id"),
    *TEXT_COLUMNS,
    apart=("judge_name", "protocol", "repeat"),
)


def are_grades(columns: Collection[str]) -> bool:
    """Whether a table with these columns has grades of single answers, not verdicts on pairs.

    >>> are_grades(["id", "p_pass"]), are_grades(["id", "judge", "human", "p_a"])
    (True, False)
    """
    here = list(columns)
    if recognise(here, "judgments", ["p_a", "p_fwd"]):
        return False
    known = recognise(here, "grades", ["p_pass", "judge", "human"])
    return "p_pass" in known or {"judge", "human"} <= known


def names_sides(table: Table) -> bool:
    """Whether the verdicts of a file without p_pass name one of two answers, as A and B do."""
    usual = {"verdict", *usual_names("judge", "grades")}
    here = [name for name in table.frame.columns if plain_name(name) in usual]
    if not here or "p_pass" in table.frame.columns:
        return False
    words = as_text(table.frame[here[0]]).drop_nulls().unique()
    sides = read_words(words, PAIR, table.labels_as).is_in(["A", "B", "tie"]).all()
    # 1 is the first answer, or a pass.
    return sides and not any(plain_word(word) in GRADE.words for word in words)


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


def read_grades(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Grades as a checked frame in the columns of judgments, one row per id, judge and protocol.

    `judge` is the judge's name here and `verdict` its verdict: pass above p_pass = 0.5, fail below;
    at exactly 0.5 there is none. `label` is the human label, from the column human (or label). A
    share of people other than 0 and 1 is refused: no verdict is right or wrong then. Without p_pass
    the verdict is the file's judge (0 or 1), and its doubt must be in the column uncertainty.
    Statuses are as in `read_judgments`.

    >>> rows = read_grades({"id": ["x"], "p_pass": [0.9], "human": [0]})
    >>> rows.select("judge", "p_pass", "verdict", "label").row(0)
    ('unnamed', 0.9, 'pass', 'fail')
    """
    name, labels_as = source_name(source), labels_as_of(source)
    frame = LAYOUT.read(source, columns)
    number = "p_pass" if "p_pass" in frame.columns else "uncertainty"
    if number not in frame.columns:
        remedy = "verdicts alone have no doubt: give p_pass, or judge and uncertainty"
        raise DataError(name, "is missing", column="p_pass", remedy=remedy)
    frame = _with_verdict(frame, name, labels_as)
    if "human" in frame.columns:
        frame = frame.rename({"label": "label_given"}, strict=False)
        people = pass_or_fail(frame["human"], name, labels_as)
        frame = frame.with_columns(people.alias("label"))
    frame = frame.drop("judge", strict=False).rename({"judge_name": "judge"}, strict=False)
    frame = add_unnamed(frame, ["judge", "protocol"])
    absent = [column for column in ("p_pass", "uncertainty") if column not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(column) for column in absent)
    values, remedy = ["p_pass", "uncertainty", "verdict"], f"give {number}, or the status that fits"
    frame = fill_status(frame, name, number=number, values=values, remedy=remedy)
    if number == "p_pass":
        frame = fill_uncertainty(frame, name, probability=number)
    if "judge_fingerprint" not in frame.columns:
        frame = frame.with_columns(judge_fingerprint=pl.lit(None, pl.String))
    key, remedy = ["id", "judge", "protocol"], "keep one row per id, judge and protocol"
    first = [*key, "status", *values]
    if "repeat" in frame.columns:
        key, remedy = [*key, "repeat"], f"{remedy}, or number them in repeat"
    refuse_duplicates(frame, key, source=name, remedy=remedy)
    return frame.select(*first, pl.exclude(first))


def pass_or_fail(
    values: pl.Series, source: str, labels_as: Mapping[str, str] | None = None
) -> pl.Series:
    """Human labels as pass and fail, null if missing; a share between the two is refused."""
    shares = _shares(read_words(as_text(values), AS_SAID, labels_as or {}), source)
    between = (shares > 0) & (shares < 1)
    remedy = "a share of people is neither right nor wrong: give 1 or 0, or leave it empty"
    refuse_values(values, between, "{} is neither pass nor fail", source=source, remedy=remedy)
    return _words(shares)


def _with_verdict(frame: pl.DataFrame, source: str, labels_as: Mapping[str, str]) -> pl.DataFrame:
    """The verdict by p_pass if it is given, else by the file's judge; the two must agree."""
    said = pl.Series([None] * frame.height, dtype=pl.String)
    if "judge" in frame.columns:
        said = pass_or_fail(frame["judge"], source, labels_as)
    if "p_pass" not in frame.columns:
        return frame.with_columns(said.alias("verdict"))
    derived = _words(frame["p_pass"])
    remedy = "1 needs p_pass above 0.5 and 0 below; at 0.5 there is none"
    bad = said.is_not_null() & said.ne_missing(derived)
    refuse_where(
        frame,
        pl.lit(bad),
        "does not follow from p_pass = {}",
        source=source,
        column="judge",
        remedy=remedy,
        value_of="p_pass",
    )
    return frame.with_columns(derived.alias("verdict"))


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


def _words(shares: pl.Series) -> pl.Series:
    """pass above one half, fail below, null at exactly one half or if missing."""
    named = pl.when(shares > 0.5).then(pl.lit(PASS)).when(shares < 0.5).then(pl.lit(FAIL))
    return pl.select(named).to_series()
