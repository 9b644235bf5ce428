"""Verbs are made from functions: arguments read from source, options, completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.cli import run
from adjudge.cli.signature import COMPUTED, REQUIRED, read_arguments
from adjudge.cli.verb import Option, Verb, files_by_name, option_for
from adjudge.errors import ArgumentError

MODULE = '''
from numpy.typing import ArrayLike
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload
if TYPE_CHECKING:
    from verbs_of_a_test.constants import FLOOR
How = Literal["fast", "slow"]

class Reading(TypedDict, total=False):
    """What is read.

    Args:
        columns: Columns with other names. A mapping.
    """

    columns: dict[str, str] | None

class Settings:
    """How.

    Args:
        limit: Only the first N rows, as in Eq. 5 of the paper. Default: all rows. More.
    """

    limit: int | None = None

@overload
def measure(rows: str) -> int: ...
@overload
def measure(rows: bytes) -> int: ...
@takes(Settings)
def measure(
    rows: TableLike, options: Settings, *, how: How = "fast", names: Sequence[str] = (),
    pair: tuple[str, str] | None = None, floor: float = FLOOR, weights: ArrayLike | None = None,
    strict: bool = False, made: list = list(), **reading: Unpack[Reading],
) -> int:
    """Measure.

    Args:
        rows: Rows to measure; see `how`. Or a frame.
        how: fast or slow.

            More about it.
        names: Names of raters.

    Returns a number.
    """
'''


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    package = tmp_path / "verbs_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    (package / "constants.py").write_text("FLOOR: float = 0.03\n")
    (package / "measuring.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "verbs_of_a_test.measuring:measure"


def test_arguments_are_read_from_the_source_alone(target: str) -> None:
    arguments = read_arguments(target)
    assert list(arguments) == [
        "rows",
        "limit",
        "how",
        "names",
        "pair",
        "floor",
        "weights",
        "strict",
        "made",
        "columns",
    ]
    assert arguments["rows"].default is REQUIRED
    assert arguments["made"].default is COMPUTED
    assert (arguments["floor"].default, arguments["columns"].default) == (0.03, None)
    assert arguments["rows"].help == "Rows to measure; see `how`."
    assert arguments["limit"].help == "Only the first N rows, as in Eq. 5 of the paper."
    assert arguments["limit"].default_in_words == "all rows"
    assert arguments["columns"].help == "Columns with other names."
    assert arguments["how"].takes_literals
    with pytest.raises(LookupError, match="has no nothing"):
        read_arguments("verbs_of_a_test.measuring:nothing")


def test_options_follow_from_types_and_defaults(target: str) -> None:
    verb = Verb("measure", target, "Measure.", "measure x", options=[Option("by", "Column.", str)])
    options = verb.parameters
    assert verb.positional == ["rows"]
    assert "weights" not in options  # an array cannot be typed
    assert {name: options[name].type for name in ("rows", "limit", "how", "strict", "floor")} == {
        "rows": Path,
        "limit": int,
        "how": str,
        "strict": bool,
        "floor": float,
    }
    assert options["names"].repeats
    assert options["names"].help == "Names of raters; repeatable."
    assert options["pair"].values == 2
    assert (options["limit"].words, options["floor"].default) == ("all rows", 0.03)
    assert options["rows"].help == "Rows to measure; see --how."
    assert (options["column"].argument, options["by"].argument) == ("columns", None)
    assert {"output", "plot", "explain", "json"} <= set(options)


def test_what_a_verb_states_replaces_what_the_function_states() -> None:
    argument = read_arguments("adjudge.diagnosis:diagnose_bias")["floor"]
    option = option_for(argument, Option("least", "The least.", argument="floor", short="-f"))
    assert option is not None
    assert (option.name, option.help, option.type, option.default, option.short, option.flag) == (
        "least",
        "The least.",
        float,
        0.03,
        "-f",
        "--least",
    )


@pytest.mark.parametrize("value", [0, 11])
def test_numbers_outside_their_limits_are_refused(value: int) -> None:
    option = Option("n", least=1, most=10)
    assert option.value(5) == 5
    with pytest.raises(ArgumentError, match=rf"n = {value}: give a number, from 1 to 10"):
        option.value(value)


def test_files_by_name() -> None:
    assert files_by_name("--data")(["a=b=c.csv"]) == {"a": Path("b=c.csv")}
    for pair in ("a", "=b", "a="):
        with pytest.raises(ArgumentError, match="write it as NAME=FILE"):
            files_by_name("--data")([pair])
    with pytest.raises(ArgumentError, match="a is named twice"):
        files_by_name("--data")(["a=b.csv", "a=c.csv"])


def test_a_misspelt_option_is_answered_with_the_right_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["estimate", "x.csv", "--lables", "y.csv"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--lables" in error
    assert "'--labels'" in error
    assert error.endswith("see adjudge estimate --help\n")


def test_shells_complete_verbs_and_options() -> None:
    for words, completion in (("adjudge esti", "estimate"), ("adjudge estimate --lab", "--labels")):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        environment = {**os.environ, **asked, "_ADJUDGE_COMPLETE": "bash_complete"}
        done = subprocess.run(
            [sys.executable, "-m", "adjudge"], env=environment, capture_output=True, text=True
        )
        assert completion in done.stdout


def test_completion_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell in ("bash", "zsh", "fish"):
        monkeypatch.setenv("SHELL", f"/bin/{shell}")
        assert run(["--show-completion"]) == 0
        assert "_ADJUDGE_COMPLETE" in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/bin/dash")
    assert run(["--show-completion"]) == 1
    assert "bash, zsh and fish" in capsys.readouterr().err
