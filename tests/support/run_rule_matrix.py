"""Run the rule matrix and print how many cells pass, with PYTHONPATH=examples.

    python tests/support/run_rule_matrix.py                    the table of all cells
    python tests/support/run_rule_matrix.py --verb calibrate --rule status --show
    python tests/support/run_rule_matrix.py --rule status --without status

--verb takes all uses of a verb, or one: "calibrate (labels)". --show prints every failing cell: its
command, the first lines of its files, and what differs. --without switches a step off: then the
cells of its rules must fail, or the rule lives elsewhere too. --format csv runs the cells on CSV
files, and --seed 1 with other spellings.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext

from rule_matrix.cells import RULES, Cell, cells_of, report
from rule_matrix.spellings import FEW, many
from rule_matrix.switching import OFF, switched_off
from rule_matrix.verbs import USES


def chosen_cells(options: argparse.Namespace) -> list[Cell]:
    uses = [use for use in USES if options.verb in (None, use.verb, use.title)]
    rules = [rule for rule in RULES if options.rule in (None, rule.name)]
    spellings = FEW if options.seed is None else many(options.seed)
    return [
        cell
        for use in uses
        for cell in cells_of(use, rules, spellings=spellings, format=options.format)
    ]


def table_of(cells: Sequence[Cell], title: str, groups: Sequence[str]) -> str:
    """How many cells of each group pass, by the outcome that they expect."""
    outcomes = ("equal", "counted", "named", "refused")
    total: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    for cell, group in zip(cells, groups, strict=True):
        for key in ((group, cell.expected), (group, "all"), ("all", cell.expected), ("all", "all")):
            total[key] += 1
            passed[key] += cell.failure is None
    lines = [
        f"{title + ': passed / all':42}" + "".join(f"{name:>13}" for name in (*outcomes, "all"))
    ]
    for group in [*dict.fromkeys(groups), "all"]:
        numbers = [
            f"{passed[group, name]} / {total[group, name]}" if total[group, name] else ""
            for name in (*outcomes, "all")
        ]
        lines.append(f"{group:42}" + "".join(f"{number:>13}" for number in numbers))
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--verb", help="only this verb")
    parser.add_argument("--rule", choices=[rule.name for rule in RULES], help="only this rule")
    parser.add_argument("--show", action="store_true", help="print every failing cell")
    parser.add_argument("--without", choices=OFF, help="switch this step off")
    parser.add_argument("--format", choices=("jsonl", "csv", "tsv"), default="jsonl")
    parser.add_argument("--seed", type=int, help="spellings by this seed")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    cells = chosen_cells(options)
    with switched_off(options.without) if options.without else nullcontext():
        failing = [cell for cell in cells if cell.failure is not None]
    seconds = time.monotonic() - began
    if options.show:
        print("\n\n".join(map(report, failing)), end="\n\n")
    print(table_of(cells, "by verb", [cell.use.title for cell in cells]), end="\n\n")
    print(table_of(cells, "by rule", [cell.rule.name for cell in cells]), end="\n\n")
    silent = sum(cell.failure is not None and cell.failure.is_silent for cell in cells)
    print(
        f"{len(cells):,} cells, {len(failing):,} fail; of these {silent:,} change numbers and print"
        f" nothing new; {seconds:.0f} s"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
