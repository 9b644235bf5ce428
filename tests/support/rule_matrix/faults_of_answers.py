"""Faults of the judge's answers: failed rows, words that are no verdict, words in another case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rule_matrix.files import Files
from rule_matrix.rows import PREFERENCE, Row
from rule_matrix.rule import Fault, Rule, added_rows, label_added_rows, rename, with_value
from rule_matrix.spellings import Spellings
from rule_matrix.verbs import Use

#: Words for the values of a grade, and of a preference.
_GRADES = {0: "fail", 1: "pass"}
_OWN_WORDS = {0: "Weak", 1: "Good"}


def failed_rows(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Rows whose status says that the judge failed are left out and counted."""
    if not use.answers:
        return
    reference = with_value(use.files, "status", "ok")
    added = added_rows(use, 12)
    reference = label_added_rows(use, reference, added)
    headers = ["status", *spellings.names_like("status")]
    cases = [(header, "error") for header in headers]
    cases += [("status", " ERROR "), ("status", "refused")]
    for header, word in cases:
        failed = [{**row, "status": word} for row in added]
        rows = rename([*reference.rows, *failed], "status", header)
        plain_word = word.strip().lower()
        names = [f"status {plain_word}", f"{plain_word}: 12", *_NO_ANSWER]
        yield Fault(f"{header}, {word}", reference.with_table("rows", rows), reference, names)


#: What results print about rows without an answer.
_NO_ANSWER = ("no usable verdict", "no verdict", "status error", "status refused")

#: A column beside the verdict that says that the judge failed: its name, its value for rows that
#: did not fail, and for those that did.
_ERROR_COLUMNS: tuple[tuple[str, Any, Any], ...] = (
    ("is_error", False, True),
    ("error", None, "HTTP 500"),
    ("success", True, False),
    ("valid", True, False),
    ("invalidated", False, True),
)


def failed_by_another_column(use: Use, _: Spellings) -> Iterator[Fault]:
    """A column beside the verdict says that the judge failed."""
    if not use.answers:
        return
    added = added_rows(use, 12)
    reference = label_added_rows(use, use.files, added)
    for column, good, bad in _ERROR_COLUMNS:
        rows = [{**row, column: good} for row in use.files.rows]
        rows += [{**row, column: bad} for row in added]
        yield Fault(column, reference.with_table("rows", rows), reference, [column])


def words_of_a_failure(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """A word that says that the judge failed, where its answer is expected."""
    for word in spellings.failures:
        plain_word = word.strip().lower()
        names = [plain_word, "error", *_NO_ANSWER]
        yield from _with_word(use, word, names)


def words_that_can_be_a_failure(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """A rare word, where the judge's answer is expected, that no person uses."""
    for word in spellings.other_failures:
        # The name of a column is in many messages: its word must be quoted.
        names = [repr(word)] if word == "judge" else [word]
        yield from _with_word(use, word, names)


def _with_word(use: Use, word: str, names: list[str]) -> Iterator[Fault]:
    if not use.answers:
        return
    added = added_rows(use, 4)
    reference = label_added_rows(use, use.files, added)
    failed = [
        {column: word if column in use.answers else value for column, value in row.items()}
        for row in added
    ]
    faulted = reference.with_table("rows", [*reference.rows, *failed])
    if use.answers == ("judge",):  # a word among numbers would be refused as no number
        words = {0: "no", 1: "yes"}
        if use.takes("positive"):  # every other word would count as 0
            words = _OWN_WORDS
            reference = reference.with_options("--positive Good")
            faulted = faulted.with_options("--positive Good")
        reference = in_words(use, reference, words)
        faulted = in_words(use, faulted, words)
    yield Fault(word, faulted, reference, names)


def in_words(use: Use, files: Files, words: Mapping[Any, str]) -> Files:
    """The files with words for the judge's and people's values."""
    columns = {"judge", "human", "label"}

    def word_row(row: Row) -> Row:
        return {
            column: words[value] if column in columns and value in words else value
            for column, value in row.items()
        }

    for table in ("rows", "other", "labels", "first"):
        if table in files.tables:
            files = files.change(table, word_row)
    return files


def verdicts_in_another_case(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Words of the judge that differ only in case, or in blanks around them, are one word."""
    reference = use.files
    if use.answers == ("judge",):
        reference = in_words(use, reference, _GRADES)
    elif use.answers not in (("verdict",), PREFERENCE):
        return
    column = use.answers[-1]
    for title, respell in spellings.words.items():
        rows = [
            {**row, column: respell(row[column])} if number % 2 else row
            for number, row in enumerate(reference.rows)
        ]
        yield Fault(title, reference.with_table("rows", rows), reference)


def labels_in_another_case(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Words of people that differ only in case, or in blanks around them, are one word."""
    if use.people in ("", "human_score"):
        return
    reference = use.files
    if use.answers == ("judge",):
        reference = in_words(use, reference, _GRADES)
    for title, respell in spellings.words.items():
        yield Fault(title, _respell_labels(use, reference, respell), reference)
    if "judge" in use.answers and use.takes("positive"):
        own_words = in_words(use, use.files, _OWN_WORDS)
        own_words = own_words.with_options("--positive Good")
        for title, respell in spellings.words.items():
            faulted = _respell_labels(use, own_words, respell)
            yield Fault(f"words of the user, {title}", faulted, own_words)


def _respell_labels(use: Use, files: Files, respell: Any) -> Files:
    """Every second label in another spelling."""
    rows = [
        {**row, use.people: respell(row[use.people])} if number % 2 and row[use.people] else row
        for number, row in enumerate(files.tables[use.labels_table])
    ]
    return files.with_table(use.labels_table, rows)


RULES = (
    Rule("status", "status", "counted", failed_rows),
    Rule("error columns", "status", "named", failed_by_another_column),
    Rule("words of a failure", "status", "counted", words_of_a_failure),
    Rule("other words of a failure", "status", "named", words_that_can_be_a_failure),
    Rule("case of verdict words", "words", "equal", verdicts_in_another_case),
    Rule("case of label words", "words", "equal", labels_in_another_case),
)
