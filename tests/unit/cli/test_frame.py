"""The frame of the command line: exit codes and one-line errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

import adjudge
from adjudge.cli import VERBS, build, run


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == adjudge.__version__


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    for verb in VERBS:
        assert verb in told


@pytest.mark.parametrize("arguments", [["nonsense"], ["judge"], ["judge", "--no-such-option"]])
def test_a_usage_error_is_one_line_and_exit_1(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1
    assert "--help" in told.err


def test_every_command_and_option_explains_itself() -> None:
    app = build()
    assert app.registered_commands or app.registered_groups
    for command in app.registered_commands:
        assert command.callback is not None
        assert (command.callback.__doc__ or command.help or "").strip()


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "adjudge", "--version"], capture_output=True)
    assert done.returncode == 0
