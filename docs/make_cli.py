"""Write docs/cli.md from the commands themselves, so that it cannot drift."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import fill
from unittest import mock

from adjudge.cli import all_verbs, run

TARGET = Path(__file__).with_name("cli.md")
HEAD = """# The command line

Made from the commands themselves by `make docs`; do not edit. The lists are
complete, as with `--help-all`; `--help`, which every command has, shows the options that
people need most.
"""
#: An option that this many commands explain in the same words is explained once.
MANY = 4
#: An option with its explanation: a line that begins with it, and the indented lines below.
OPTION = re.compile(r"^  (-\S.*(?:\n {6,}\S.*)*)\n?", flags=re.MULTILINE)
#: The heading of a group of options that has none left.
EMPTY = re.compile(r"^[A-Z]\w+:\n(?=\n|\Z)", flags=re.MULTILINE)


def help_of(*words: str) -> str:
    """What `adjudge WORDS --help-all` prints, at a fixed width; --help for groups of verbs."""
    option = "--help-all" if " ".join(words) in all_verbs() else "--help"
    text = io.StringIO()
    with redirect_stdout(text), mock.patch.dict(os.environ, COLUMNS="100", TERMINAL_WIDTH="100"):
        run([*words, option])
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())


def commands_under(*words: str) -> list[str]:
    """The names of the commands in a group, in the order of its help."""
    names = [name.split() for name in all_verbs()]
    below = [name[len(words) :] for name in names if name[: len(words)] == list(words)]
    return list(dict.fromkeys(name[0] for name in below if name))


def all_helps(*words: str) -> dict[tuple[str, ...], str]:
    """The help of a command, and of its subcommands after it."""
    text = help_of(*words)
    helps = {words: text}
    for name in commands_under(*words):
        helps |= all_helps(*words, name)
    return helps


def names_of(option: str) -> str:
    """The names of an option, without its value and explanation."""
    return ", ".join(re.findall(r"(?<!\S)--?[\w-]+", option.split("  ")[0]))


def without(text: str, shared: dict[str, str]) -> str:
    """A command's help that names the options in `shared` without explaining them again."""
    options = [option for option in OPTION.findall(text) if not is_help(option)]
    also = [names_of(option) for option in options if plain(option) in shared]
    gone = {*shared, *(plain(option) for option in OPTION.findall(text) if is_help(option))}
    kept = OPTION.sub(lambda option: "" if plain(option[1]) in gone else option[0], text + "\n")
    kept = re.sub(r"\n{3,}", "\n\n", EMPTY.sub("", kept)).strip()
    if not also:
        return kept
    listed = fill(
        "; ".join(also), 98, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    body, example, end = kept.partition("\nExample")
    return f"{body.rstrip()}\n\nAlso, as above:\n{listed}\n{example}{end}".rstrip()


def is_help(option: str) -> bool:
    """Whether it is --help or --help-all, which every command has."""
    return option.startswith("--help")


def plain(option: str) -> str:
    """An option's text without its layout."""
    return " ".join(option.split())


def row_of(option: str) -> str:
    """An option as a row of a table."""
    head, _, explanation = option.partition("  ")
    return f"| `{head.strip()}` | {plain(explanation)} |"


def render() -> str:
    """The whole page: options of many commands once, then every command."""
    helps = all_helps()
    options = [option for text in helps.values() for option in OPTION.findall(text)]
    uses = Counter(map(plain, options))
    # An option that two groups of commands explain in different words is shared by the larger one.
    by_name = {names_of(o): o for o in sorted(options, key=lambda o: (uses[plain(o)], o))}
    shared = {plain(o): o for o in by_name.values() if uses[plain(o)] >= MANY}
    rows = [
        row_of(shared[o]) for o in sorted(shared, key=lambda o: o.lstrip("-")) if not is_help(o)
    ]
    table = "\n".join(["| option | what it does |", "|---|---|", *rows])
    parts = [HEAD, "## Options of many commands", table]
    for words, text in helps.items():
        title = " ".join(["#" * max(2, len(words) + 1), "adjudge", *words])
        parts.append(f"{title}\n\n```text\n{without(text, shared)}\n```")
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
