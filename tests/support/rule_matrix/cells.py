"""All cells, what is wrong with one, and the table of how many pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from rule_matrix import (
    faults_of_answers,
    faults_of_judges,
    faults_of_labels,
    faults_of_names,
    faults_of_repeats,
)
from rule_matrix.files import Files, Format, table_text, tables_text
from rule_matrix.rule import Fault, Rule
from rule_matrix.running import Run, differences, first_naming, run_on
from rule_matrix.spellings import FEW, Spellings
from rule_matrix.verbs import USES, Expected, Use

RULES: tuple[Rule, ...] = (
    *faults_of_names.RULES,
    *faults_of_answers.RULES,
    *faults_of_labels.RULES,
    *faults_of_repeats.RULES,
    *faults_of_judges.RULES,
)


@dataclass(frozen=True)
class Failure:
    """Why a cell fails. It is silent if numbers changed and no new text was printed."""

    problem: str
    is_silent: bool = False
    changed: Sequence[str] = ()


@dataclass(frozen=True)
class Cell:
    """A verb, a rule and a fault, in files of one format."""

    use: Use
    rule: Rule
    fault: Fault
    format: Format = "jsonl"

    @property
    def title(self) -> str:
        return f"{self.use.title} | {self.rule.name} | {self.fault.spelling}"

    @property
    def expected(self) -> Expected:
        exemption = self.use.exemption(self.rule.name)
        return (exemption and exemption.expected) or self.rule.expected

    @cached_property
    def failure(self) -> Failure | None:
        return _failure(self)


def cells_of(
    use: Use, rules: Sequence[Rule] = RULES, *, spellings: Spellings = FEW, format: Format = "jsonl"
) -> Iterator[Cell]:
    """The cells of a verb: without the rules that do not concern it."""
    for rule in rules:
        exemption = use.exemption(rule.name)
        if rule.step == "files" and format != "jsonl":
            continue  # only an object has keys
        if exemption is None or exemption.expected is not None:
            for fault in rule.faults(use, spellings):
                yield Cell(use, rule, fault, format)


#: Of the spellings of a rule, a verb has a third in `make test`, and at least three.
_LEAST = 3
_THIRD = 3


def some_cells_of(use: Use) -> list[Cell]:
    """A few spellings of every rule, other ones than those of the verb before it in `USES`."""
    turn = USES.index(use)
    cells = []
    for _, of_rule in groupby(cells_of(use), lambda cell: cell.rule.name):
        every = list(of_rule)
        few = min(len(every), max(_LEAST, math.ceil(len(every) / _THIRD)))
        cells += [every[(turn + number) % len(every)] for number in range(few)]
    return cells


_runs: dict[tuple[str, str], Run] = {}


def run_reference(use: Use, files: Files, format: Format) -> Run:
    """Of reference files many are the same: each is run once."""
    key = (use.title, f"{format} {tables_text(files, format)} {files.texts} {files.options}")
    if key not in _runs:
        _runs[key] = run_on(use.command, files, format)
    return _runs[key]


def _failure(cell: Cell) -> Failure | None:
    reference = run_reference(cell.use, cell.fault.reference, cell.format)
    if reference.traceback or reference.is_refused:
        problem = reference.traceback or " ".join(reference.texts)
        return Failure(f"the reference files are refused: {problem}")
    run = run_on(cell.use.command, cell.fault.faulted, cell.format)
    if run.traceback:
        return Failure(f"ends with {run.traceback}")
    if run.is_refused:
        return _failure_of_a_refusal(cell, run)
    failure = _failure_of_a_result(cell, run, reference)
    if failure and cell.fault.parts:
        return _with_columns_to_blame(cell, failure, reference)
    return failure


def _failure_of_a_refusal(cell: Cell, run: Run) -> Failure | None:
    message = " ".join(run.texts)
    if cell.expected in ("equal", "counted"):
        return Failure(f"refused: {message}")
    if first_naming(cell.fault.names, run.texts) is None:
        return Failure(f"refused, but not by name: {message}")
    return None


def _failure_of_a_result(cell: Cell, run: Run, reference: Run) -> Failure | None:
    fault = cell.fault
    leaves_out = fault.faulted.count != fault.reference.count
    counts = cell.use.counts if leaves_out else frozenset[str]()
    changed = differences(reference, run, but=counts | cell.use.spelled)
    texts = run.texts_unlike(reference)
    is_named = first_naming(fault.names, texts) is not None
    is_silent = bool(changed) and not texts
    text = f"printed {texts[0][:120]!r}" if texts else "nothing new is printed"
    if cell.expected == "refused":
        return Failure(f"not refused; {text}", is_silent, changed)
    if cell.expected == "named":
        if is_named or run.names_more(fault.names, reference):
            return None
        return Failure(f"not named; {text}", is_silent, changed)
    if changed:
        return Failure(f"another result; {text}", is_silent, changed)
    if cell.expected == "counted" and not is_named:
        return Failure(f"not counted; {text}")
    return None


def _with_columns_to_blame(cell: Cell, failure: Failure, reference: Run) -> Failure:
    """The failure, with the columns that change the result alone."""
    columns = []
    for column, files in cell.fault.parts.items():
        run = run_on(cell.use.command, files, cell.format)
        if run.traceback or run.is_refused or differences(reference, run, but=cell.use.spelled):
            columns.append(column)
    blamed = f"columns: {', '.join(columns)}" if columns else "no column alone"
    return Failure(f"{failure.problem}; {blamed}", failure.is_silent, failure.changed)


#: How much of a faulted file, and how many differences, a report of a cell shows.
_FIRST_LINES = 3
_FIRST_DIFFERENCES = 8


def report(cell: Cell) -> str:
    """What a person needs to repeat a failing cell: its command, its files, what differs."""
    failure = cell.failure
    fault = cell.fault
    paths = {name: f"{name}.{cell.format}" for name in fault.faulted.tables}
    command = f"{cell.use.command.format(**paths)} {fault.faulted.options}".strip()
    lines = [cell.title, f"  expected: {cell.expected}"]
    if failure is not None:
        lines.append(f"  {failure.problem}")
        lines += [f"  {text}" for text in failure.changed[:_FIRST_DIFFERENCES]]
        if len(failure.changed) > _FIRST_DIFFERENCES:
            lines.append(f"  and {len(failure.changed) - _FIRST_DIFFERENCES} more differences")
    lines.append(f"  $ adjudge {command}")
    for name, rows in fault.faulted.tables.items():
        if rows == fault.reference.tables[name]:
            continue
        text = table_text(rows, cell.format).splitlines()
        lines += [f"  {paths[name]}, {len(text)} lines:"]
        lines += [f"    {line}" for line in [*text[:_FIRST_LINES], "...", text[-1]]]
    return "\n".join(lines)
