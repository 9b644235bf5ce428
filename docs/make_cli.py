"""Write docs/cli.md from the commands themselves, so that it cannot drift."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

from adjudge.cli import all_verbs, run

TARGET = Path(__file__).with_name("cli.md")
HEAD = """# The command line

Made from the commands themselves by `make docs`; do not edit. The lists are
complete, as with `--help-all`; `--help` shows the options that people need most.
"""


def help_of(*words: str) -> str:
    """What `adjudge WORDS --help-all` prints, at a fixed width; --help for groups of verbs."""
    option = "--help-all" if " ".join(words) in all_verbs() else "--help"
    text = io.StringIO()
    with redirect_stdout(text), mock.patch.dict(os.environ, COLUMNS="100", TERMINAL_WIDTH="100"):
        run([*words, option])
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())


def commands_in(help_text: str) -> list[str]:
    """The names under the heading "Commands:"."""
    _, _, listed = help_text.partition("\nCommands:\n")
    return re.findall(r"^  (\S+)", listed.partition("\n\n")[0], flags=re.MULTILINE)


def section(*words: str) -> list[str]:
    """One command's help, and its subcommands' after it."""
    text = help_of(*words)
    lines = [f"{'#' * (len(words) + 1)} adjudge {' '.join(words)}".rstrip(), "", "```text", text]
    lines += ["```", ""]
    for name in commands_in(text):
        lines += section(*words, name)
    return lines


def render() -> str:
    """The whole page."""
    return HEAD + "\n" + "\n".join(section()).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
