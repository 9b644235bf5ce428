"""A file in the format of an installed package: recognised, converted, refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]

ROWS = [
    {"ticket": 7, "question": "Where is my order?", "answer": "On its way.", "bot": "b1", "day": 1},
    {"ticket": 8, "question": "Can I return it?", "answer": None, "bot": "b1", "day": 1},
    {"ticket": 9, "question": "Is it blue?", "answer": "It is.", "bot": "b2", "day": 2},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    return path


def test_it_is_recognised_and_read_from_python(run_python: Run, log: Path) -> None:
    code = f"""
from adjudge.data import kinds_of, open_items, read_public, sniff
path = {str(log)!r}
print(sniff(path), sorted(kinds_of("my-log")))
table = read_public(path)
print(table.format, table.kind, table.dropped, table.notes)
print(table.frame.select("id", "prompt", "response", "model", "day").rows())
stream = open_items(path)
print([(item.id, item.model, dict(item.extra)) for item in stream], stream.dropped)
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "my-log ['items']",
        "my-log items {'nobody answered the ticket': 1} "
        "('a ticket is one question and one answer',)",
        "[('7', 'Where is my order?', 'On its way.', 'b1', 1), "
        "('9', 'Is it blue?', 'It is.', 'b2', 2)]",
        "[('7', 'b1', {'day': 1}), ('9', 'b2', {'day': 2})] {'nobody answered the ticket': 1}",
    ]


def test_a_command_for_something_else_says_what_it_is(run_python: Run, log: Path) -> None:
    done = run_python("-m", "adjudge", "rank", str(log))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"adjudge: {log}: my-log has no battles; it gives items: use such a file with adjudge "
        "judge with a scoring protocol\n"
    )


def test_without_the_package_nobody_knows_it(log: Path) -> None:
    from adjudge.data import sniff

    # Its columns have usual names of ours; that it is a log of that kind, the package knows.
    assert sniff(log) == "items"


def test_help_imports_neither_the_package_nor_polars(run_python: Run) -> None:
    code = """
import sys
from adjudge.cli import build
build()
print([name for name in ("polars", "adjudge_example") if name in sys.modules])
"""
    done = run_python("-c", code)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
