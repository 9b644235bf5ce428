"""Faults of names: every column that means something to us is read in any spelling."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rule_matrix.files import Files, KeyTwice
from rule_matrix.rows import Row, opposite
from rule_matrix.rule import Fault, Rule, rename, with_value
from rule_matrix.spellings import Respell, Spellings
from rule_matrix.verbs import Use

#: The tables of which all columns are spelled in another way, one table at a time.
_TABLES = ("rows", "other", "labels")


def all_names_in_another_spelling(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """All columns of a file in another case, with other separators, in blanks."""
    for table in _TABLES:
        if table not in use.files.tables:
            continue
        columns = list(use.files.tables[table][0])
        for title, respell in spellings.headers.items():
            parts = {
                column: _respelled(use.files, table, respell, [column])
                for column in columns
                if respell(column) != column
            }
            faulted = _respelled(use.files, table, respell, columns)
            yield Fault(f"{table}, {title}", faulted, use.files, parts=parts)


def _respelled(files: Files, table: str, respell: Respell, columns: list[str]) -> Files:
    def respell_row(row: Row) -> Row:
        return {
            respell(column) if column in columns else column: value for column, value in row.items()
        }

    return files.change(table, respell_row)


def _answers_and_labels(use: Use) -> Iterator[tuple[str, str, str]]:
    """What is said, its table and its column: the judge's answer, people's answer."""
    if use.answers:
        yield "the answer", "rows", use.answers[-1]
    if use.people:
        yield "the label", use.labels_table, use.people


def second_name_beside_the_exact_one(use: Use, _: Spellings) -> Iterator[Fault]:
    """The exact name is used; a column with another spelling of it is named."""
    for title, table, column in _answers_and_labels(use):
        second = column.title()
        faulted = use.files.change(table, partial(_with_second, column=column, second=second))
        yield Fault(title, faulted, use.files, [second])
    if use.answers:
        reference = with_value(use.files, "status", "ok")
        faulted = reference.change("rows", lambda row: {**row, "Status": "error"})
        yield Fault("status", faulted, reference, ["Status"])


def _with_second(row: Row, *, column: str, second: str) -> Row:
    """The row with a column whose name is another spelling, and with the opposite value."""
    return {**row, second: opposite(column, row[column])}


def two_spellings_of_one_name(use: Use, _: Spellings) -> Iterator[Fault]:
    """Two columns with other spellings of one name, and none with the exact one."""
    for title, table, column in _answers_and_labels(use):
        title_case = column.title()
        upper_case = column.upper()
        add_second = partial(_with_second, column=column, second=title_case)
        both = use.files.change(table, add_second)
        faulted = both.with_table(table, rename(both.tables[table], column, upper_case))
        yield Fault(title, faulted, use.files, ["can each be"])


def one_key_twice(use: Use, _: Spellings) -> Iterator[Fault]:
    """A JSON object with one key twice: nobody knows which value a reader takes."""
    for title, table, column in _answers_and_labels(use):
        # A verdict that contradicts its probability would be refused by another rule.
        repeated = "p_a" if column == "verdict" and "p_a" in use.answers else column
        faulted = use.files.change(table, partial(_with_key_twice, column=repeated))
        yield Fault(title, faulted, use.files, ["twice"])


def _with_key_twice(row: Row, *, column: str) -> Row:
    value = row[column]
    if value is None:
        return row
    return {**row, column: KeyTwice(opposite(column, value), value)}


RULES = (
    Rule("header", "names", "equal", all_names_in_another_spelling),
    Rule(
        "a second spelling beside the exact name",
        "names",
        "counted",
        second_name_beside_the_exact_one,
    ),
    Rule("two spellings of a name", "names", "refused", two_spellings_of_one_name),
    Rule("a JSON key twice", "files", "refused", one_key_twice),
)
