"""A document as Markdown, short enough for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable

from adjudge.present.report.document import (
    Block,
    Document,
    Heading,
    Numbers,
    PairBlock,
    Picture,
    TableBlock,
    Words,
)
from adjudge.present.tables import safe

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render_markdown(document: Document) -> str:
    """Findings, numbers and tables; pictures by their sentence, pairs left to the HTML report."""
    lines = [f"# {_text(document.title)}", "", _text(document.subtitle), ""]
    for section in document.sections:
        lines += [f"## {_text(section.title)}", "", f"**{_text(section.finding)}**", ""]
        if section.action:
            lines += [_text(section.action), ""]
        for block in section.blocks:
            lines += _block(block)
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block) -> list[str]:
    match block:
        case Heading():
            return [f"### {_text(block.text)}", ""]
        case Numbers():
            rows = [(n.label, n.value, n.note) for n in block.numbers]
            return [*_table(("", "value", ""), rows), ""]
        case Words():
            return [*(f"- {_text(line)}" for line in block.lines), ""]
        case TableBlock():
            if block.folded:
                return []
            head = [f"{_text(block.caption)}", ""] if block.caption else []
            return [*head, *_table(block.columns, block.rows), ""]
        case Picture():
            return [f"_{_text(block.caption)}_", ""]
        case PairBlock():
            return []


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    made = [_row(columns), "|" + "---|" * len(columns)]
    made += [_row(row) for row in rows]
    return made


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_text(cell) for cell in cells) + " |"


def _text(value: str) -> str:
    """Text from data as Markdown text: one line, nothing in it takes effect."""
    return _SPECIAL.sub(r"\\\1", " ".join(safe(value).split()))
