"""Blocks as Markdown, short enough for a pull request: what is not essential is folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from adjudge.present.blocks import (
    Block,
    Commands,
    Document,
    Facts,
    Figure,
    Heading,
    Headline,
    Note,
    Sides,
    Table,
)
from adjudge.present.text import safe

_TICKS = re.compile("`+").findall
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render_markdown(document: Document) -> str:
    """Headlines, numbers and tables; figures by their captions, pairs left to the HTML page."""
    lines = [f"# {_text(document.title)}", "", _text(document.subtitle), ""]
    for section in document.summary:
        for file, answer in section.answers:
            if answer.decides:
                words = f"**{_text(answer.decision or answer.text)}**"
                of_file = f" ({_text(file)})" if file else ""
                lines.append(f"- {_text(section.title)}: {words}{of_file}")
    lines.append("")
    for section in document.sections:
        lines += [f"## {_text(section.title)}", ""]
        for part in section.parts:
            if len(section.parts) > 1:
                lines += [f"### {_text(part.name)}", ""]
            lines += _lines(part.blocks)
    return "\n".join(lines).rstrip() + "\n"


def render_blocks(blocks: Iterable[Block]) -> str:
    """The blocks of one result."""
    return "\n".join(_lines(blocks)).rstrip() + "\n"


def _lines(blocks: Iterable[Block]) -> list[str]:
    return [line for block in blocks for line in _block(block)]


def _block(block: Block) -> list[str]:
    match block:
        case Headline():
            action = [_text(block.action), ""] if block.action else []
            return [f"**{_text(block.text)}**", "", *action]
        case Facts():
            rows = [(fact.label, fact.value, fact.note) for fact in block.facts]
            return [*_table(("", "value", ""), rows), ""]
        case Note():
            listed = [*(f"- {_text(line)}" for line in block.lines), ""]
            return _fold(block.title, listed) if block.detail else listed
        case Table():
            table = [*_table(block.columns, block.rows), ""]
            if block.detail:
                return _fold(block.caption, table)
            return [_text(block.caption), "", *table] if block.caption else table
        case Figure():
            return [f"_{_text(block.caption)}_", ""] if block.on_page else []
        case Heading():
            return [f"#### {_text(block.text)}", ""]
        case Commands():
            # The fence is longer than any in the lines, so that none of them ends the block.
            fence = "`" * max(3, *(len(run) + 1 for line in block.lines for run in _TICKS(line)), 0)
            return [f"{fence}sh", *map(safe, block.lines), fence, ""]
        case Sides():
            return []


def _fold(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{escape(safe(title))}</summary>", "", *lines, "</details>", ""]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(columns), "|" + "---|" * len(columns), *(_row(row) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_text(cell) for cell in cells) + " |"


def _text(value: str) -> str:
    """Text from data as Markdown text: one line, nothing in it takes effect."""
    return _SPECIAL.sub(r"\\\1", " ".join(safe(value).split()))
