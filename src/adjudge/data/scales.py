"""Verdicts and labels of grades as numbers or classes: one spelling a word, and their scale."""

from __future__ import annotations

import shlex
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from adjudge.data.names import GRADE, LOG, PAIR, plain_word, read_grade_words, shorten
from adjudge.data.outcomes import code_names
from adjudge.data.tables import Table
from adjudge.errors import ArgumentError, DataError
from adjudge.present.text import count
from adjudge.validation import FloatArray, IntArray, is_number

Scale = Literal["binary", "probability", "scores", "classes"]
MOST_CLASSES = 12
#: Sums of the squares of larger numbers lose their digits, and overflow.
_LARGEST_SCORE = 1e12


class Answers(NamedTuple):
    """The columns of the judge's answers and of people's."""

    judge: str
    human: str


class Coded(NamedTuple):
    """Verdicts and labels as numbers, or as codes of classes; see `Grades`."""

    scale: Scale
    judge: FloatArray
    human: FloatArray
    verdicts: IntArray
    labels: IntArray
    names: tuple[str, ...]


def code_answers(
    frame: pl.DataFrame, table: Table, answers: Answers, positive: str | None, *, scores: bool
) -> Coded:
    """Verdicts and labels as numbers, or as classes if their words or whole numbers are names."""
    name = table.name
    native = scores and table.format == "scores"
    answers_and_labels = (_read_percents(frame[c]) for c in ("__verdict", "__label"))
    words = in_one_spelling(*answers_and_labels, first=positive)
    if positive is not None:
        verdict, label = against_the_rest(*words, positive, name, answers.judge)
    else:
        verdict, label = map(read_grade_words, words)
    lines = frame["__row"].to_numpy()
    scale = scale_of(verdict, label, name, answers, lines, scores=scores, native=native)
    none = np.empty(0)
    no_codes = np.empty(0, dtype=np.int64)
    if scale != "classes":
        return Coded(scale, as_numbers(verdict), as_numbers(label), no_codes, no_codes, ())
    if (frame["__chance"].is_not_null() & label.is_not_null()).any():
        problem = "labels picked by a plan are for verdicts of 0 and 1"
        remedy = "name the class that counts as 1: --positive NAME (positive=)"
        raise DataError(name, problem, column="sampling_probability", remedy=remedy)
    apart = not words_in(verdict) & words_in(label) and words_in(words[0]) & words_in(words[1])
    if apart and not words_in(label) <= {"0", "1"}:
        # Yes and no of a judge are 1 and 0, but not next to people's yes, no and maybe.
        verdict, label = words
    _refuse_other_words(verdict, label, name, answers.judge, words)
    _refuse_words_of_one_side(*words, table, answers.judge)
    names, verdicts, codes = code_names(verdict, label)
    if len(names) > MOST_CLASSES:
        remedy = f"give at most {MOST_CLASSES} classes; is this the right column?"
        problem = f"has {len(names)} different values"
        raise DataError(name, problem, column=answers.judge, remedy=remedy)
    return Coded(scale, none, none, verdicts, codes, names)


def _read_percents(values: pl.Series) -> pl.Series:
    """Percentages as shares, if all values are percentages.

    >>> _read_percents(pl.Series(["85%", None, "7.5 %"])).to_list()
    ['0.85', None, '0.075']
    """
    if not values.str.contains(r"^\d+([.,]\d+)?\s*%$").all() or values.null_count() == len(values):
        return values
    numbers = values.str.strip_chars(" %").str.replace(",", ".", literal=True).cast(pl.Float64)
    return (numbers / 100).cast(pl.String)


def in_one_spelling(
    verdict: pl.Series, label: pl.Series, *, first: str | None = None
) -> tuple[pl.Series, pl.Series]:
    """Words that differ only in case are one word, in its most frequent spelling or in `first`.

    >>> verdict, label = in_one_spelling(pl.Series(["Good", "bad"]), pl.Series(["good", "Good"]))
    >>> verdict.to_list(), label.to_list()
    (['Good', 'bad'], ['Good', 'Good'])
    """
    both = pl.concat([verdict.alias("word"), label.alias("word")]).drop_nulls()
    distinct = pl.concat([both, pl.Series("word", [first], pl.String).drop_nulls()]).unique()
    if distinct.str.to_lowercase().n_unique() == len(distinct):
        return verdict, label
    words = both.value_counts(name="rows").sort(["rows", "word"], descending=[True, False])
    chosen = {} if first is None else {first.lower(): first}
    for word in words["word"]:
        chosen.setdefault(word.lower(), word)
    spelling = {
        word: chosen[word.lower()] for word in words["word"] if word != chosen[word.lower()]
    }
    return verdict.replace(spelling), label.replace(spelling)


def scale_of(
    verdict: pl.Series,
    label: pl.Series,
    name: str,
    columns: tuple[str, str],
    rows: IntArray,
    *,
    scores: bool,
    native: bool,
) -> Scale:
    """The scale of the columns of text; `rows` are their rows in the file, for the error.

    Labels of 0 and 1 can also be shares of people between them; the method decides if it can use
    them. Numbers outside [0, 1] are `scores` if these are wanted, else classes if they are whole.
    One such number among verdicts of 0 and 1 is a mistake, and not a score, unless the file is
    `native`, of the format of scores.
    """
    numbers = [s.cast(pl.Float64, strict=False) for s in (verdict, label)]
    if any(n.null_count() > s.null_count() for n, s in zip(numbers, (verdict, label), strict=True)):
        return "classes"
    numbers = [n.fill_nan(None) for n in numbers]
    if all(n.is_between(0, 1).all() for n in numbers):
        if numbers[0].is_in([0.0, 1.0]).all():
            return "binary"
        _remark_one_share(numbers[0], name, columns[0], rows)
        return "probability"
    if scores and all(n.is_between(-_LARGEST_SCORE, _LARGEST_SCORE).all() for n in numbers):
        above = [n.filter(~n.is_between(0, 1)) for n in numbers]
        several = above[0].n_unique() > 1 or not (numbers[0] == 0).any()
        often = several and 10 * len(above[0]) >= len(verdict)
        if native or (often and (len(above[1]) or label.null_count() == len(label))):
            return "scores"
    if all((n.is_finite() & (n == n.round())).all() for n in numbers):
        return "classes"
    outside = [~n.is_between(0, 1).fill_null(True) for n in numbers]
    side = 0 if outside[0].any() else 1
    at = int(outside[side].arg_true()[0])
    problem = f"{numbers[side][at]:g} is neither 0/1, a probability nor a class"
    remedy = "give 0 and 1, numbers in [0, 1], or class names (scores: adjudge diagnose scores)"
    raise DataError(name, problem, row=int(rows[at]) + 1, column=columns[side], remedy=remedy)


#: Among so many verdicts of 0 and 1, one other number is a mean at the end of a sheet.
_MANY_VERDICTS = 20


def _remark_one_share(verdicts: pl.Series, name: str, column: str, rows: IntArray) -> None:
    """Name the only verdict between 0 and 1: the row can be the mean of the others."""
    between = verdicts.is_between(0, 1, closed="none").fill_null(False)
    if between.sum() == 1 and len(verdicts) > _MANY_VERDICTS:
        at = int(between.arg_true()[0])
        LOG.warning(
            "%s, row %d: warning: %g is the only %s between 0 and 1: if the row is the mean of "
            "others, delete it",
            *(name, int(rows[at]) + 1, verdicts[at], column),
        )


def as_numbers(values: pl.Series) -> FloatArray:
    """A column of text as numbers; NaN if empty."""
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()


def against_the_rest(
    verdict: pl.Series, label: pl.Series, positive: str, name: str, column: str
) -> tuple[pl.Series, pl.Series]:
    """Both as 1 for `positive` and 0 for all others; numbers in [0, 1] with word labels are kept.

    They are the probability of `positive`, as p_a is that of label A.
    """
    of_judge = words_in(verdict)
    of_people = words_in(label)
    if positive not in of_judge | of_people:
        choices = shorten(sorted(of_judge | of_people), 5)
        raise ArgumentError("positive", positive, f"choose one of {choices}")
    ones = [(s == positive).cast(pl.Int64).cast(pl.String).alias(s.name) for s in (verdict, label)]
    if positive in of_people and not of_judge & of_people and are_shares(verdict):
        return verdict, ones[1]
    _refuse_other_words(verdict, label, name, column)
    return ones[0], ones[1]


def words_in(values: pl.Series) -> set[str]:
    return {*values.drop_nulls().unique()}


def are_shares(values: pl.Series) -> bool:
    """Whether all are numbers in [0, 1]."""
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.null_count() == values.null_count() and bool(numbers.is_between(0, 1).all())


def _refuse_other_words(
    verdict: pl.Series,
    label: pl.Series,
    name: str,
    column: str,
    as_written: tuple[pl.Series, pl.Series] | None = None,
) -> None:
    """Refuse verdicts and labels without a common value, such as yes and no against good and bad.

    The error names the words `as_written`: those are what --labels-as takes.
    """
    of_judge = words_in(verdict)
    of_people = words_in(label)
    if min(len(of_judge), len(of_people)) > 1 and not of_judge & of_people:
        judge_words, people_words = (
            sorted(words_in(words)) for words in as_written or (verdict, label)
        )
        meaning = ",".join(f"{word}=..." for word in people_words[:3])
        remedy = f"give the meaning of each label in the judge's words: --labels-as '{meaning}'"
        if are_shares(verdict):
            remedy += ", or name the label that a verdict of 1 means: --positive NAME (positive=)"
        words = shorten(judge_words, 5)
        theirs = shorten(people_words, 5)
        problem = f"the judge says {words}, people say {theirs}: no value in common"
        strange = sorted(word for word in of_judge if plain_word(word) not in GRADE.words)
        if of_people <= {"0", "1"} and len(strange) < len(of_judge):
            problem = f"the judge says {shorten(strange, 5)}: neither pass nor fail"
            remedy = f"give its meaning, or leave it out: --labels-as '{strange[0]}=' (labels_as=)"
        elif of_people <= {"0", "1"} and all(map(is_number, of_judge)):
            scores = shorten(sorted(judge_words, key=float), 5)
            problem = f"the judge gives scores ({scores}), people say {theirs}"
            remedy = (
                "decide from which score on an answer passes, and give the judge's verdicts in "
            )
            remedy += "a column of 1 and 0; a score chosen on these labels looks better than it is"
        raise DataError(name, problem, column=column, remedy=remedy)


#: A word that only the judge, or only people say is one of two names of a class, if so many say it.
_OFTEN = 0.1
_FEWEST_LABELS = 20


def _refuse_words_of_one_side(
    verdict: pl.Series, label: pl.Series, table: Table, column: str
) -> None:
    """Refuse two names of what looks like one class, such as hallucinated and Hallucination.

    Each is in a tenth of the labelled rows, and the other side never says it. A label whose meaning
    the caller gave is one that the judge can miss.
    """
    labelled = label.is_not_null() & verdict.is_not_null()
    stated = {plain_word(word) for word in table.labels_as.values()}
    of_judge = _words_often_said(verdict.filter(labelled), label)
    of_people = _words_often_said(label.filter(labelled), verdict)
    of_people = {word: n for word, n in of_people.items() if plain_word(word) not in stated}
    if labelled.sum() < _FEWEST_LABELS or not (of_judge and of_people):
        return
    judge_word, judge_rows = next(iter(of_judge.items()))
    word, rows = next(iter(of_people.items()))
    both = {plain_word(judge_word), plain_word(word)}
    if both <= GRADE.words.keys() or both <= PAIR.words.keys():
        return
    as_judge = shlex.quote(f"{word}={judge_word}")
    as_people = shlex.quote(f"{word}={word}")
    raise DataError(
        table.name,
        f"the judge says {judge_word} on {count(judge_rows, 'labelled row')}, people never; people "
        f"say {word} on {rows:,}, the judge never",
        column=column,
        remedy=f"if these are one class: --labels-as {as_judge}; if they are two: --labels-as "
        f"{as_people} (labels_as=)",
    )


def _words_often_said(values: pl.Series, by_others: pl.Series) -> dict[str, int]:
    """The words, with their rows, that many of these values are and none of the others is."""
    table = values.value_counts(sort=True, name="rows").rows()
    others = words_in(by_others)
    return {
        word: rows
        for word, rows in table
        if word not in others and rows >= _OFTEN * len(values) and not is_number(word)
    }
