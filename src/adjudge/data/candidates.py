"""Which columns of a table can be judges' or people's, by their values and names.

Nothing is decided here: the columns are named in a question, or excluded from the slices.
"""

from __future__ import annotations

import re
import shlex

import polars as pl

from adjudge.data.names import GRADE, LOG, OURS, PAIR, bare_name, shorten, usual_names
from adjudge.data.scales import MOST_CLASSES
from adjudge.data.steps.status import ERROR_COLUMNS, plain_words
from adjudge.data.tables import Table, as_text

#: Parts of names that columns of people have.
_PERSON = re.compile(
    r"(?i)\b(human|people|person|expert|reviewer|rater|annotator|labell?er|grader|sme|gold|manual"
    r"|ground truth)s?(\b|\d)"
)


def judge_candidates(frame: pl.DataFrame, human_column: str = "human") -> list[str]:
    """Columns with another meaning to no reader on the scale of what people say: maybe judges.

    They hold the same classes. If none does, and people say pass and fail, they hold shares.

    >>> rows = {"id": [0, 1], "human": [1, 0], "GPT-4": [1, 1], "Mistral": [0, 1], "topic": "ab"}
    >>> judge_candidates(pl.DataFrame({**rows, "topic": ["a", "b"]}))
    ['GPT-4', 'Mistral']
    >>> judge_candidates(pl.DataFrame({"human": [1, 0, 1], "gpt": [0.9, 0.4, 0.7], "n": 5}))
    ['gpt']
    """
    if human_column not in frame.columns:
        return []
    people = plain_words(frame[human_column])
    if not 2 <= len(people) <= MOST_CLASSES:
        return []
    taken = {bare_name(name) for name in OURS} | {bare_name(human_column)}
    free = [
        column
        for column in frame.columns
        if bare_name(column) not in taken and not frame.schema[column].is_nested()
    ]
    judges = [column for column in free if same_classes(plain_words(frame[column]), people)]
    if not judges and people <= GRADE.words.keys():
        judges = [column for column in free if holds_shares(frame[column])]
    return judges


def same_classes(said: set[str], people: set[str]) -> bool:
    """Whether all of these words are among people's, as they are or as verdicts or sides.

    >>> same_classes({"pass", "fail"}, {"1", "0"}), same_classes({"output_1"}, {"a", "b"})
    (True, True)
    >>> same_classes({"billing"}, {"1", "0"})
    False
    """
    if said and in_words_of_sides(said | people):
        return True
    theirs = {GRADE.words.get(word, word) for word in people}
    return bool(said) and {GRADE.words.get(word, word) for word in said} <= theirs


def in_words_of_sides(words: set[str]) -> bool:
    """Whether all words name the better of two answers, or a tie: 1 and 0 are pass and fail.

    >>> in_words_of_sides({"a", "2", "tie"}), in_words_of_sides({"1"}), in_words_of_sides({"good"})
    (True, False, False)
    """
    return words <= PAIR.words.keys() and not words <= GRADE.words.keys()


def holds_shares(values: pl.Series) -> bool:
    """Whether a column holds numbers in [0, 1] other than 0 and 1."""
    numbers = as_text(values).drop_nulls().cast(pl.Float64, strict=False)
    within = numbers.is_between(0, 1).all() and not numbers.null_count()
    between = numbers.is_between(0, 1, closed="none").sum()
    return within and 2 * between > len(numbers)


def people_candidates(frame: pl.DataFrame) -> list[str]:
    """Columns of few words that no reader knows, with a name as people's have: maybe labels.

    >>> people_candidates(pl.DataFrame({"Reviewer 1": ["good", "bad"], "topic": ["a", "b"]}))
    ['Reviewer 1']
    """
    taken = {bare_name(name) for name in OURS}
    return [
        column
        for column in frame.columns
        if bare_name(column) not in taken
        and _PERSON.search(column.replace("_", " "))
        and 2 <= len(plain_words(frame[column])) <= MOST_CLASSES
    ]


def remark_people(table: Table, judge: str) -> None:
    """Name columns of a table without labels that can be people's labels."""
    frame = table.frame
    if people := people_candidates(frame):
        typed = shlex.join(["--raters", ",".join(people)])
        LOG.warning("%s: if %s are labels of people: %s", table.name, shorten(people), typed)
    elif alike := _says_the_same(frame, judge):
        typed = " or ".join(shlex.join(["--column", f"human={column}"]) for column in alike)
        LOG.warning(
            "%s: warning: no column is read as people's labels; if one of these is: %s (columns=)",
            *(table.name, typed),
        )


def _says_the_same(frame: pl.DataFrame, judge: str) -> list[str]:
    """Columns without a meaning to any reader that hold what the judge says.

    Next to the judge's probabilities they hold pass and fail.

    >>> _says_the_same(pl.DataFrame({"judge": ["ok", "bad"], "QA": ["bad", "ok"]}), "judge")
    ['QA']
    """
    if judge not in frame.columns:
        return []
    verdicts = plain_words(frame[judge])
    usual = [*OURS, judge, *usual_names("judge", "binary"), *ERROR_COLUMNS]
    taken = {bare_name(name) for name in usual}
    words = {c: plain_words(frame[c]) for c in frame.columns if bare_name(c) not in taken}
    return [
        column
        for column, values in words.items()
        if len(values) > 1 and same_classes(values, verdicts or {"0", "1"})
    ]
