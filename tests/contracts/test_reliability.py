"""The table of docs/reliability.md has what `make crash` and `make fuzz` counted, line by line."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from tries import KEPT, LINES

ROOT = Path(__file__).parents[2]
PROGRAM = runpy.run_path(str(ROOT / "docs" / "make_reliability.py"))
ATTACKED: dict[str, set[str]] = {}
for file in (ROOT / "tests").rglob("test_*.py"):
    for line in re.findall(r'mark\.attack\("([^"]+)"\)', file.read_text(encoding="utf-8")):
        ATTACKED.setdefault(line, set()).add(str(file.relative_to(ROOT)))


def test_the_lines_are_those_that_tests_attack() -> None:
    assert set(ATTACKED) == set(LINES)


def test_the_page_has_the_table() -> None:
    assert PROGRAM["PAGE"].read_text() == PROGRAM["page"](), "run docs/make_reliability.py"


@pytest.mark.parametrize("line", LINES)
def test_a_line_was_tried_by_tests_that_still_attack_it(line: str) -> None:
    counted = {
        file: counts[line]
        for files in json.loads(KEPT.read_text()).values()
        for file, counts in files.items()
        if line in counts
    }
    assert sum(tried for tried, _ in counted.values()) > 0, "run make crash and make fuzz"
    assert set(counted) <= ATTACKED[line]
