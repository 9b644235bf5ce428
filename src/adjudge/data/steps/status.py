"""The step of failures: rows that the judge failed have a status and no answer."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from adjudge.data.names import (
    GRADE,
    LOG,
    PAIR,
    bare_name,
    drop_missing,
    is_missing,
    plain_word,
    read_grade_words,
    refuse_where,
    shorten,
)
from adjudge.data.tables import as_text
from adjudge.errors import DataError
from adjudge.present.text import count
from adjudge.records import MEASURED, ROW_STATUSES

#: Words that a tool writes in place of a verdict, and the status that they are.
FAILURES = {"error": "error", "exception": "error", "timeout": "error", "unparsed": "unparsed"}
#: Columns in which tools say that a row failed, by their bare names, and the flag of a failure.
#: None: any value, as it is the message of the error.
ERROR_COLUMNS: Mapping[str, bool | None] = {
    "error": None,
    "iserror": True,
    "invalidated": True,
    "valid": False,
    "success": False,
}
_TRUE = ("true", "1", "yes")
_FALSE = ("false", "0", "no")
_CHOICES = f"use {', '.join(ROW_STATUSES[:-1])} or {ROW_STATUSES[-1]}"
_ONE_OF = "use one of " + ", ".join(ROW_STATUSES) + ", or drop the column"


def mark_failures(
    frame: pl.DataFrame,
    source: str,
    answers: Sequence[str],
    *,
    classes: Collection[str] = (),
    labels_as: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The rows, without an answer where they failed: the rule for every kind of judged rows.

    A row fails by its status (all but ok and censored; others are refused), or by a word in one of
    the judge's `answers` that is no verdict, such as timeout. Such a word is an answer if people
    use it too (`classes`), or if the caller says what it means.

    >>> rows = pl.DataFrame({"judge": ["1", "0", "Timeout"], "status": ["ok", "error", "ok"]})
    >>> mark_failures(rows, "rows", ["judge"]).rows()
    [('1', 'ok'), (None, 'error'), (None, 'error')]
    """
    answers = [name for name in dict.fromkeys(answers) if name in frame.columns]
    if not answers:
        return frame
    _remark_error_columns(frame, source, answers)
    meant = {plain_word(word) for word in (*classes, *(labels_as or {}))}
    failures = _failure_words(frame, answers, meant)
    if "status" in frame.columns:
        frame = frame.with_columns(_read_status(frame["status"], source))
        failures.append(pl.when(~pl.col("status").is_in(list(MEASURED))).then("status"))
    if not failures:
        return frame
    failure = frame.select(pl.coalesce(failures)).to_series()
    if failure.null_count() < frame.height:
        frame = frame.with_columns(
            pl.when(failure.is_null()).then(pl.col(name)).alias(name) for name in answers
        )
    if "status" not in frame.columns:
        return frame.with_columns(failure.alias("status"))
    frame = frame.with_columns(pl.coalesce(failure, pl.col("status")).alias("status"))
    gap = pl.col("status").is_null() & pl.any_horizontal(pl.col(answers).is_not_null())
    refuse_where(frame, gap, "is empty", source=source, column="status", remedy=_ONE_OF)
    return frame


def _failure_words(frame: pl.DataFrame, answers: Sequence[str], meant: set[str]) -> list[pl.Expr]:
    """For each column with words for a failure: the status of each row that has one."""
    words = {word: status for word, status in FAILURES.items() if word not in meant}
    failures: list[pl.Expr] = []
    for name in answers:
        if frame.schema[name] != pl.String:
            continue
        plain = {word: plain_word(word) for word in frame[name].drop_nulls().unique()}
        statuses = {word: words[key] for word, key in plain.items() if key in words}
        if statuses:
            column = pl.col(name)
            failures.append(column.replace_strict(statuses, default=None, return_dtype=pl.String))
    return failures


def _read_status(values: pl.Series, source: str) -> pl.Series:
    """The column status in our words; a flag of a failure, named by the caller, as ok or error."""
    if values.dtype.is_nested():
        row = int(values.is_not_null().arg_max() or 0) + 1
        problem = "contains a list or an object"
        raise DataError(source, problem, row=row, column="status", remedy=_CHOICES)
    if values.dtype == pl.String and {*values.unique()} <= {*ROW_STATUSES, None}:
        return values
    text = drop_missing(values.cast(pl.String).str.strip_chars().str.to_lowercase())
    unknown = pl.col("status").is_not_null() & ~pl.col("status").is_in(ROW_STATUSES)
    where = {"source": source, "column": "status", "remedy": _CHOICES}
    refuse_where(text.to_frame(), unknown, "{} is not known", **where)
    return text


def status_by_flag(values: pl.Series, column: str) -> pl.Series:
    """A column in which a tool flags failures as a column of status.

    >>> status_by_flag(pl.Series([True, False]), "is_error").to_list()
    ['error', 'ok']
    """
    failed = _flagged(values, ERROR_COLUMNS[bare_name(column)])
    return pl.select(pl.when(failed).then(pl.lit("error")).otherwise(pl.lit("ok"))).to_series()


def _flagged(values: pl.Series, flag: bool | None) -> pl.Series:
    """Which rows a column of `ERROR_COLUMNS` calls failed."""
    if values.dtype.is_nested():
        return values.is_not_null() if flag is None else pl.repeat(False, len(values), eager=True)
    text = drop_missing(values.cast(pl.String).str.strip_chars().str.to_lowercase())
    if flag is None:
        return text.is_not_null() & ~text.is_in(["none", *_FALSE])
    return text.is_in(_TRUE if flag else _FALSE).fill_null(False)


def _remark_error_columns(frame: pl.DataFrame, source: str, answers: Sequence[str]) -> None:
    """Name the columns that say of rows with an answer that they failed: they are not read.

    `success` of some tools is the verdict, by a threshold of the score.
    """
    for column in frame.columns:
        bare = bare_name(column)
        if bare not in ERROR_COLUMNS:
            continue
        flags = _flagged(frame[column], ERROR_COLUMNS[bare])
        failed = int(flags.sum())
        if failed and any(_is_verdict(flags, frame[name]) for name in answers):
            LOG.warning(
                "%s: %s is not read; if it says pass and fail: --column judge=%s; if its %s "
                "failed to be judged: --column status=%s (columns=)",
                *(source, column, column, count(failed, "row"), column),
            )
        elif failed:
            LOG.warning(
                "%s: warning: %s says that %s failed, and is not read: leave them out by "
                "--column status=%s (columns=)",
                *(source, column, count(failed, "row"), column),
            )


#: A column with more different words has numbers, or texts.
MOST_WORDS = 50


def plain_words(values: pl.Series, most: int = MOST_WORDS) -> set[str]:
    """The distinct words of a column, failures aside; none if it is nested or has more.

    >>> sorted(plain_words(pl.Series(["Pass", "pass", "timeout", "N/A", "0.0"])))
    ['0', 'pass']
    """
    if values.dtype.is_nested():
        return set()
    words = as_text(values).drop_nulls().unique()
    if len(words) > most:
        return set()
    return {plain_word(word) for word in words if not is_missing(word)} - FAILURES.keys()


#: Fewer rows on one side of a threshold are there by chance.
_FEWEST_VERDICTS = 5


def _is_verdict(failed: pl.Series, answers: pl.Series) -> bool:
    """Whether rows are called failed from a threshold of the judge's answers down."""
    if answers.dtype.is_nested():
        return False
    numbers = read_grade_words(as_text(answers)).cast(pl.Float64, strict=False)
    below = numbers.filter(failed).drop_nulls()
    above = numbers.filter(~failed).drop_nulls()
    if min(len(below), len(above)) < _FEWEST_VERDICTS:
        return False
    return float(below.max()) < float(above.min())  # type: ignore[arg-type]


#: A word of the judge is remarked if no person uses it and no larger share of the rows has it.
_RARE = 0.05


def remark_rare_words(values: pl.Series, people: Collection[str], source: str, column: str) -> None:
    """Name words of the judge that are rare and that no person uses: they can mean a failure."""
    if values.dtype != pl.String or not people:
        return
    words = values.unique().drop_nulls()
    if len(words) > MOST_WORDS:
        return
    used = {plain_word(word) for word in people}
    strange = [
        word for word in words.sort() if plain_word(word) not in used and not is_missing(word)
    ]
    strange = _outside_scale(strange, used)
    most = max(1, _RARE * len(values))
    unlike = [word for word in strange if (values == word).sum() <= most]
    if unlike:
        LOG.warning(
            "%s: warning: no person uses what column %s rarely says: %s; if it is no verdict, "
            "leave it out: --labels-as '%s=' (labels_as=)",
            *(source, column, shorten([repr(word) for word in unlike], 5), unlike[0]),
        )


def _outside_scale(words: list[str], people: set[str]) -> list[str]:
    """The words, without numbers between those of people: of a scale, they can be any of them.

    >>> _outside_scale(["-1", "3", "n"], {"1", "2", "4"})
    ['-1', 'n']
    """
    scale = pl.Series([*people], dtype=pl.String).cast(pl.Float64, strict=False)
    if len(scale) <= 2 or scale.null_count():
        return words
    numbers = pl.Series(words, dtype=pl.String).cast(pl.Float64, strict=False)
    within = numbers.is_between(scale.min(), scale.max()).fill_null(False)
    return [word for word, inside in zip(words, within, strict=True) if not inside]


#: More words of people that no judge uses are classes.
_MOST_ODD = 2


def remark_odd_labels(labels: pl.Series, verdicts: pl.Series, source: str, column: str) -> None:
    """Name labels, such as -1 among 0 and 1, that can mean no label: they are read as classes."""
    said = plain_words(verdicts)
    known = next((words for words in (GRADE.words, PAIR.words) if said <= words.keys()), None)
    people = plain_words(labels)
    if not said or known is None or not people & known.keys():
        return
    odd = {word for word in people - known.keys() if not _is_share(word)}
    if not 0 < len(odd) <= _MOST_ODD:
        return
    rows = pl.Series([plain_word(word) in odd for word in as_text(labels).drop_nulls()])
    spelled = as_text(labels).drop_nulls().filter(rows).unique().sort().to_list()
    typed = " ".join(f"--labels-as {shlex.quote(f'{word}=')}" for word in spelled)
    LOG.warning(
        "%s: warning: column %s says %s of %s, which the judge never says, and they count as its "
        "errors; if that is no label, leave it out: %s (labels_as=)",
        *(source, column, shorten([repr(word) for word in spelled], 5)),
        *(count(int(rows.sum()), "row"), typed),
    )


def _is_share(word: str) -> bool:
    try:
        return 0 <= float(word) <= 1
    except ValueError:
        return False
