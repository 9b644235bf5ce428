"""A rule about rows lives once, in `adjudge.data.steps`: who calls a step, and what settles rows.

The rule matrix shows that every verb keeps the rules; this test, that nobody has a copy of one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjudge

SRC = Path(adjudge.__file__).parents[1]
#: Outside `adjudge.data`, rows are read by `prepare_*`. These read rows of a kind of their own, or
#: say which labels they use of rows that were prepared.
CALLERS = {
    "adjudge/auditing.py": {"take_labels"},
    # Guesses are about the words of a column, failures aside.
    "adjudge/cli/guessing.py": {"plain_words"},
    "adjudge/estimation/judges.py": {"APART"},
    "adjudge/estimation/judge_agreement.py": {"take_labels"},
    "adjudge/diagnosis/agreement.py": {"LABELS_OF"},
    "adjudge/evaluation/rows.py": {
        "BY_SCORE",
        "BY_VERDICT",
        "LABELS_OF",
        "plain_words",
        "sampling_probabilities",
        "take_labels",
    },
    "adjudge/monitoring/drawing.py": {"check_judges", "remark_alike"},
    "adjudge/ranking/plan.py": {"leave_out_repeats"},
    "adjudge/selection/choices.py": {"LABELS_OF", "MAKERS"},
    "adjudge/selection/labelled.py": {"BY_SCORE", "CHOSEN_BY", "CUT_BY", "take_labels"},
    "adjudge/selection/planning.py": {"CHOSEN_BY", "CUT_BY", "take_labels"},
    "adjudge/alignment/parts.py": {"MAKERS", "take_labels"},
    # Labels are imported into a store by id, and counted as they are where labels are joined.
    "adjudge/server/rounds.py": {"WOULD_MATCH", "alike_ids", "with_ids_of_rows"},
    # Columns about labels are shown next to them, and are no filters.
    "adjudge/server/view_rows.py": {"BROUGHT", "LABELS_OF"},
    "adjudge/server/viewing.py": {"BROUGHT", "LABELS_OF"},
    "adjudge_papers/reporting.py": {"BROUGHT", "check_judges"},
    "adjudge_papers/scope.py": {"take_labels"},
}
#: What settles a value, and the files that may use it besides the one that defines it.
SETTLERS = {
    "refuse_duplicates": {"columns.py", "scores.py"},
    "read_choices": {"columns.py", "battles.py"},
    "FAILURES": {"battles.py"},
}


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """The module and the name of every `from module import name`."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def test_outside_the_data_room_few_files_call_a_step() -> None:
    unknown = []
    for file in sorted(SRC.rglob("*.py")):
        name = str(file.relative_to(SRC))
        if name.startswith("adjudge/data/"):
            continue
        called = {what for module, what in imports(file) if module.startswith("adjudge.data.steps")}
        if called - CALLERS.get(name, set()):
            unknown.append(f"{name}: {', '.join(sorted(called))}")
    assert not unknown, "read these rows by prepare_* of their kind:\n" + "\n".join(unknown)


@pytest.mark.parametrize("settler", SETTLERS)
def test_what_settles_rows_is_used_by_the_steps(settler: str) -> None:
    users = {
        str(file.relative_to(SRC / "adjudge" / "data"))
        if file.is_relative_to(SRC / "adjudge" / "data")
        else str(file.relative_to(SRC))
        for file in SRC.rglob("*.py")
        if any(name == settler and "adjudge" in module for module, name in imports(file))
    }
    assert users <= SETTLERS[settler]


@pytest.mark.parametrize("column", ["labelled_by", "started_from"])
def test_only_the_step_of_labels_decides_by_the_origin_of_a_label(column: str) -> None:
    """A comparison with "model" or "judge" beside the column's name is a copy of the rule."""
    value = {"labelled_by": "model", "started_from": "judge"}[column]
    deciding = []
    for file in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                words = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                if {column, value} <= words:
                    deciding.append(str(file.relative_to(SRC)))
    # `convert` counts, and leaves nothing out.
    assert set(deciding) <= {"adjudge/data/steps/labels.py", "adjudge/data/conversion.py"}
