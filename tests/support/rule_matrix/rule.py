"""What a rule is: the step of the door it belongs to, the outcome it expects, and its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rule_matrix.files import Files
from rule_matrix.rows import Row, opposite
from rule_matrix.spellings import Spellings
from rule_matrix.verbs import Expected, Use


@dataclass(frozen=True)
class Fault:
    """Files with a fault, and the files that they are compared with.

    A text names the fault if it has one of `names` as whole words. `parts` are files with a part
    of the fault each, to find out which part changes the result.
    """

    spelling: str
    faulted: Files
    reference: Files
    names: Sequence[str] = ()
    parts: Mapping[str, Files] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A rule about rows. `faults` gives none for a verb whose files cannot have the fault."""

    name: str
    step: str
    expected: Expected
    faults: Callable[[Use, Spellings], Iterator[Fault]]


def opposite_answer(use: Use, row: Row) -> Row:
    """The row with the opposite answer of the judge."""
    return {
        column: opposite(column, value) if column in use.answers else value
        for column, value in row.items()
    }


def added_rows(use: Use, n: int) -> list[Row]:
    """More rows, about other questions, with the opposite answers: they bite if they are used."""
    rows = []
    for number, row in enumerate(use.files.rows[:n]):
        added = opposite_answer(use, row)
        if "id" in row:
            added["id"] = f"bad{number}"
        if "drawn" in row:
            added["drawn"] = len(use.files.rows) + number + 1
        for column in ("prompt_id", "doc_id", "prompt", "response_a", "response_b"):
            if column in row:
                added[column] = f"bad {row[column]}"
        rows.append(added)
    return rows


def label_added_rows(use: Use, files: Files, added: Sequence[Row]) -> Files:
    """The files with labels of the added rows, as those of the rows they were made from."""
    if "labels" not in files.tables:
        return files
    labels = {label["id"]: label for label in files.tables["labels"]}
    more = [
        {**labels[row["id"]], "id": extra["id"]}
        for row, extra in zip(use.files.rows, added, strict=False)
        if row["id"] in labels
    ]
    return files.with_table("labels", [*files.tables["labels"], *more])


def with_value(files: Files, column: str, value: object) -> Files:
    """The files with one value in a column of all rows."""
    for table in ("rows", "other"):
        if table in files.tables:
            files = files.change(table, lambda row: {**row, column: value})
    return files


def rename(rows: Sequence[Row], old: str, new: str) -> list[Row]:
    return [
        {new if column == old else column: value for column, value in row.items()} for row in rows
    ]
