"""What `--help` says at 80 columns: nothing cut off, an example that works under every verb."""

from __future__ import annotations

import re

import pytest

from adjudge.cli import all_verbs, run
from adjudge.cli._examples import EXAMPLES as BUILT_IN
from adjudge_papers.cli import EXAMPLES as OF_PAPERS

VERBS = all_verbs()
EXAMPLES = {**BUILT_IN, **OF_PAPERS}

LEAVES = [
    f"{name} {inner}".strip()
    for name, verb in VERBS.items()
    for inner in ([""] if isinstance(verb, str) else verb[1])
]
GROUPS = ["", *(name for name, verb in VERBS.items() if not isinstance(verb, str))]


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


def help_of(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    run([*verb.split(), "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("group", GROUPS)
def test_no_line_of_a_list_of_verbs_is_cut_off(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = help_of(group, capsys).partition("Commands:\n")[2].splitlines()
    assert lines
    assert [line for line in lines if line.endswith("...")] == []


def test_every_verb_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(LEAVES)


@pytest.mark.parametrize("verb", LEAVES)
def test_a_verb_shows_an_example_that_it_takes(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = help_of(verb, capsys)
    example = EXAMPLES[verb]
    assert text.rstrip().endswith(f"Example:\n  {example}")
    assert example.startswith(f"adjudge {verb}")
    options = re.findall(r"(?<= )--?[a-z][\w-]*", example)
    known = text.partition("Example:")[0]
    assert [option for option in options if not re.search(rf"{option}\b", known)] == []
    assert not re.search(r"<list\[|range>", text)
    assert max(map(len, text.splitlines())) <= 80
