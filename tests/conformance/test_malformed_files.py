"""Malformed files, every verb: a result or one line, never a traceback, never a changed input."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz_attacks import BYTES, OURS, PATHS, RECORDS, VALUES
from fuzz_commands import COMMANDS, READS_AS_OTHERS, READS_NOTHING, TABLES, write_valid
from fuzzing import Case, make_case, places_in, run_case, run_cases, run_on_records
from tries import tried

from adjudge.cli import all_verbs

#: Cases in one test; a test prints every case of its own that breaks.
PART = 50


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_files_that_are_attacked_are_valid(
    command: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """Without this an attack could pass because the command had no chance to begin with."""
    done = run_case(Case(0, 0, command, places_in(command)[0], ()), files, tmp_path / "case")
    refused = command.startswith("serve")  # the judge is another, so that no server starts
    # A bad finding (2) and one that is not known yet (3) are results.
    ran = ("exit 0", "exit 2: []", "exit 3: []")
    assert done.startswith("exit 1: ['adjudge: the policy was made for" if refused else ran)


def test_every_verb_that_reads_a_file_is_attacked() -> None:
    verbs = set(all_verbs())
    attacked = {verb for verb in verbs if any(c.startswith(f"{verb} ") for c in COMMANDS)}
    assert verbs - attacked == {*READS_NOTHING, *READS_AS_OTHERS}


def test_cases_are_the_same_every_time_and_use_every_attack() -> None:
    cases = [make_case(1, number) for number in range(3000)]
    assert cases == [make_case(1, number) for number in range(3000)]
    assert {case.command for case in cases} == set(COMMANDS)
    assert {name for case in cases for name in case.attacks} == {*RECORDS, *BYTES, *PATHS}


@pytest.mark.attack("files")
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.fuzz) for part in range(1, 8))]
)
def test_some_malformed_files(part: int, files: dict[str, Path]) -> None:
    tried(PART)
    assert run_cases(1, range(part * PART, (part + 1) * PART), files) == {}


@pytest.mark.attack("files")
@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(60))
def test_many_malformed_files(part: int, files: dict[str, Path]) -> None:
    tried(PART)
    assert run_cases(2026, range(part * PART, (part + 1) * PART), files) == {}


@pytest.mark.attack("columns")
@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("command", "target"),
    [(c, place) for c in COMMANDS for place in places_in(c) if place in TABLES],
)
def test_a_column_called_like_any_of_ours(
    command: str, target: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """Every name that some verb reads, writes or works with; the types take turns."""
    broken = {}
    for at, column in enumerate(OURS):
        kind = list(VALUES)[(at + COMMANDS.index(command)) % len(VALUES)]
        tried()
        problem = run_on_records(command, target, {column: VALUES[kind]}, files, tmp_path / str(at))
        if problem is not None:
            broken[column, kind] = problem
    assert broken == {}
