"""Every verb's arguments and options: names, short forms, number of values, defaults.

options.txt is the list that people's scripts rely on. To change it:

    python tests/contracts/test_options.py > tests/contracts/options.txt
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.cli import all_verbs
from adjudge.cli.app import VerbCommand

LIST = Path(__file__).with_name("options.txt")


def listed_options() -> str:
    """One line for each option, under its verb."""
    verbs = sorted(all_verbs().items())
    return "\n".join(line for name, verb in verbs for line in (name, *_lines(VerbCommand(verb))))


def _lines(verb: VerbCommand) -> list[str]:
    with verb.make_context("adjudge", [], resilient_parsing=True) as context:
        parameters = [one for one in verb.get_params(context) if "help" not in (one.name or "")]
    arguments = [f"  {one.name}" for one in parameters if one.param_type_name == "argument"]
    return arguments + sorted(_line(one) for one in parameters if one.param_type_name == "option")


def _line(parameter: Any) -> str:
    names = sorted(
        [*parameter.opts, *parameter.secondary_opts], key=lambda name: (-len(name), name)
    )
    words = ["  " + ", ".join(names), *["VALUE"] * (0 if parameter.is_flag else parameter.nargs)]
    shown = parameter.show_default
    if isinstance(shown, str):
        words.append(f"[{shown}]")
    elif isinstance(parameter.default, str | int | float | Path) and parameter.default is not False:
        words.append(f"[{parameter.default}]")
    for word in ("required", "multiple", "hidden"):
        words += [f"({word})"] if getattr(parameter, word) else []
    words += [f"${parameter.envvar}"] if parameter.envvar else []
    return " ".join(words)


def test_no_option_is_lost_or_changed() -> None:
    assert listed_options() + "\n" == LIST.read_text(encoding="utf-8")


if __name__ == "__main__":
    print(listed_options())
