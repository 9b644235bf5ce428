"""What `--help` says at 80 columns: nothing cut off, an example that works under every verb."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from adjudge.cli import all_verbs, run
from adjudge.cli.verb import Group
from adjudge.cli.verbs import PANELS, entries, find_entry

LEAVES = list(all_verbs())
GROUPS = ["", *sorted({name.partition(" ")[0] for name in LEAVES if " " in name})]


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


def help_of(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    run([*verb.split(), "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("group", GROUPS)
def test_a_list_of_verbs_has_each_in_one_line(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = find_entry(group)
    listed = entry.verbs if isinstance(entry, Group) else entries()
    lines = [line.split(maxsplit=1) for line in help_of(group, capsys).splitlines()]
    for verb in listed:
        assert [verb.name.split()[-1], verb.summary] in lines


def test_verbs_are_listed_in_panels(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of("", capsys)
    titles = [line.removesuffix(":") for line in text.splitlines() if re.match(r"\w.*:$", line)]
    assert titles == ["Options", *PANELS, "First steps", "Files", "Exit codes"]


def test_every_exit_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    listed = help_of("", capsys).partition("Exit codes:\n")[2].split("\n")
    assert [line.split()[0] for line in listed if line] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("verb", LEAVES)
def test_a_verb_shows_an_example_that_it_takes(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = help_of(verb, capsys)
    example = f"adjudge {all_verbs()[verb].example}"
    assert text.rstrip().endswith(f"Example:\n  {example}")
    assert example.startswith(f"adjudge {verb}")
    options = re.findall(r"(?<= )--?[a-z][\w-]*", example)
    known = text.partition("Example:")[0]
    assert [option for option in options if not re.search(rf"{option}\b", known)] == []
    assert not re.search(r"<list\[|range>", text)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("verb", LEAVES)
def test_help_is_short_and_help_all_is_complete(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*verb.split(), "--help-all"])
    complete = capsys.readouterr().out
    named = [
        option
        for option in all_verbs()[verb].parameters.values()
        if option.name not in all_verbs()[verb].positional
    ]
    assert [option.flag for option in named if f"{option.flag}" not in complete] == []
    assert max(map(len, complete.splitlines())) <= 80
    short = help_of(verb, capsys)
    assert sum(f" {option.flag} " in short for option in named) <= 14
    assert ("--help-all" in short) == bool(all_verbs()[verb].main)


def test_help_imports_no_room() -> None:
    rooms = ("numpy", "polars", "rich", "adjudge.data", "adjudge.estimation", "adjudge.judges")
    code = (
        "import sys; from adjudge.cli import run; run(['estimate', '--help']);"
        f"print([name for name in {rooms!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stderr.strip(), done.returncode) == ("[]", 0)
