"""Faults of judges: rows of two judges, metrics or scales where a result is about one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rule_matrix.files import Files
from rule_matrix.prepared import make_policy
from rule_matrix.rows import Row, judgments
from rule_matrix.rule import Fault, Rule, with_value
from rule_matrix.spellings import Spellings
from rule_matrix.verbs import Use

#: What distinguishes two judges, and two values of it.
_TWO_OF = {
    "served_model": ("gpt-x-2024", "gpt-x-2025"),
    "judge": ("g1", "g2"),
    "judge_fingerprint": ("f-g1", "f-g2"),
    "protocol": ("preference", "likelihood"),
    "criterion": ("quality", "brevity"),
    "metric": ("correctness", "style"),
}


def two_of_one(use: Use, _: Spellings) -> Iterator[Fault]:
    """Rows of two judges, metrics ...: the second for one system, or for every second row."""
    if not use.answers:
        return
    for title, (first, second) in _TWO_OF.items():
        column = _column_of(use, title)
        reference = use.files
        if column not in use.files.rows[0]:
            reference = with_value(reference, column, first)
        has_systems = {"old", "new"} <= {row.get("model") for row in _all_rows(use.files)}
        if has_systems:
            give_system = partial(_for_system, column=column, second=second)
            faulted = reference.change("rows", give_system)
            if "other" in faulted.tables:
                faulted = faulted.change("other", give_system)
            yield Fault(f"{title} by system", faulted, reference, [second])
        rows = [
            {**row, column: second} if number % 2 else row
            for number, row in enumerate(reference.rows)
        ]
        yield Fault(f"{title} by row", reference.with_table("rows", rows), reference, [second])


def _column_of(use: Use, title: str) -> str:
    """In grades, `judge` is the verdict."""
    return "judge_name" if title == "judge" and "judge" in use.answers else title


def _all_rows(files: Files) -> list[Row]:
    return [*files.rows, *files.tables.get("other", ())]


def _for_system(row: Row, *, column: str, second: str) -> Row:
    return {**row, column: second} if row["model"] == "new" else row


def two_scales(use: Use, _: Spellings) -> Iterator[Fault]:
    """The judge's answers about one system are on another scale."""
    names = ["two scales", "the scale is", "verdicts of 0 and 1"]
    if "judge" in use.answers:
        yield Fault("0/1 and probabilities", _rescaled(use), use.files, names)
    if "judge_score" in use.answers:
        yield Fault("1 to 5 and 1 to 10", _rescaled(use), use.files, names)


def _rescaled(use: Use) -> Files:
    def rescale(row: Row) -> Row:
        if row["model"] != "new":
            return row
        if "judge_score" in row:
            return {**row, "judge_score": 2 * row["judge_score"]}
        return {**row, "judge": 0.9 if row["judge"] else 0.2}

    faulted = use.files.change("rows", rescale)
    return faulted.change("other", rescale) if "other" in faulted.tables else faulted


def unlike_the_policy(use: Use, _: Spellings) -> Iterator[Fault]:
    """Rows of another judge, served model ... than the policy was made from."""
    if "policy.json" not in use.files.texts:
        return
    for column, (first, second) in _TWO_OF.items():
        policy = make_policy([{**row, column: first} for row in judgments()])
        files = use.files.with_text("policy.json", policy)
        reference = with_value(files, column, first)
        yield Fault(column, with_value(files, column, second), reference, [second])


RULES = (
    Rule("two of one", "judges", "named", two_of_one),
    Rule("two scales", "judges", "named", two_scales),
    Rule("other than the policy's", "policy", "named", unlike_the_policy),
)
