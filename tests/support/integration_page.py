"""docs/integrations.md as tests use it: its commands, and its examples for other tools."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from examples import write_examples

from adjudge.cli import run

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(heading: str) -> str:
    """The text under a heading; "" is what precedes the first."""
    text = PAGE.read_text(encoding="utf-8")
    under = text.partition(f"\n## {heading}\n")[2] if heading else text
    assert under, f"no heading {heading} on the page"
    return under.partition("\n## ")[0]


def example(heading: str, language: str) -> str:
    """The one example in that language under a heading."""
    blocks: list[tuple[str, str]] = _BLOCK.findall(section(heading))
    [text] = [text for kind, text in blocks if kind == language]
    return text


def run_commands(heading: str) -> None:
    """The commands under a heading, in this folder."""
    for line in example(heading, "sh").splitlines():
        code = run(shlex.split(line)[1:])
        assert code in (0, 2), line


def write_page_files(folder: Path) -> None:
    """The example files of the docs and what the page's first commands make of them, here."""
    write_examples(folder)
    run_commands("")
