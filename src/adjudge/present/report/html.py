"""A document as one HTML file: no network, no script, light and dark, and it prints."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from itertools import groupby

from adjudge.present.report.document import (
    Block,
    Document,
    Heading,
    Numbers,
    PairBlock,
    Picture,
    Section,
    TableBlock,
    Words,
)
from adjudge.present.report.svg import inline_svg
from adjudge.present.tables import safe

#: The file needs nothing but itself; this makes the browser hold it to that.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"

_SENTENCE = 40


def render_html(document: Document) -> str:
    """The whole page."""
    style = (files("adjudge.present.report") / "report.css").read_text(encoding="utf-8")
    # The contents are the answer in short: every section's finding, in a line of its own.
    contents = "".join(
        f'<li class="{s.tone}"><a href="#{escape(s.key)}">{_text(s.title)}</a> '
        f"<span>{_text(s.finding)}</span></li>"
        for s in document.sections
    )
    body = "\n".join(_section(section) for section in document.sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(document.title)}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{_text(document.title)}</h1><p>{_text(document.subtitle)}</p>
<nav aria-label="In short"><ul>{contents}</ul></nav></header>
<main>
{body}
</main>
<footer>Made by adjudge. This file needs no network.</footer>
</body>
</html>
"""


def _section(section: Section) -> str:
    made = [(block, _block(block, f"{section.key}-{i}")) for i, block in enumerate(section.blocks)]
    # Pictures that follow one another stand side by side where there is room.
    blocks = "\n".join(
        f'<div class="pictures">{"".join(html for _, html in run)}</div>'
        if pictures
        else "\n".join(html for _, html in run)
        for pictures, run in groupby(made, key=lambda entry: isinstance(entry[0], Picture))
    )
    action = f'<p class="action">{_text(section.action)}</p>' if section.action else ""
    return (
        f'<section id="{escape(section.key)}" class="{section.tone}">'
        f"<h2>{_text(section.title)}</h2>"
        f'<p class="finding">{_text(section.finding)}</p>{action}\n{blocks}</section>'
    )


def _block(block: Block, prefix: str) -> str:
    match block:
        case Heading():
            return f"<h3>{_text(block.text)}</h3>"
        case Numbers():
            cells = "".join(
                f'<div class="number {n.tone}"><dt>{_text(n.label)}</dt><dd>{_text(n.value)}</dd>'
                f"<small>{_text(n.note)}</small></div>"
                for n in block.numbers
            )
            return f'<dl class="numbers">{cells}</dl>'
        case Words():
            if len(block.lines) == 1:
                return f'<p class="{block.tone}">{_text(block.lines[0])}</p>'
            items = "".join(f"<li>{_text(line)}</li>" for line in block.lines)
            return f'<ul class="{block.tone}">{items}</ul>'
        case TableBlock():
            return _table(block)
        case Picture():
            drawn = inline_svg(block.figure, prefix=prefix, label=block.caption)
            caption = f"<figcaption>{_text(block.caption)}</figcaption>"
            return f'<figure><div class="drawing" tabindex="0">{drawn}</div>{caption}</figure>'
        case PairBlock():
            return _pair(block)


def _table(block: TableBlock) -> str:
    words = block.text_columns

    def row(cells: tuple[str, ...], tag: str) -> str:
        made = "".join(
            f"<{tag}{_kind(cell, i < words)}>{_text(cell)}</{tag}>" for i, cell in enumerate(cells)
        )
        return f"<tr>{made}</tr>"

    body = "".join(row(cells, "td") for cells in block.rows)
    table = (
        f'<div class="wide" tabindex="0"><table><thead>{row(block.columns, "th")}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    if block.folded:
        return f"<details><summary>{_text(block.caption)}</summary>{table}</details>"
    return (f'<p class="caption">{_text(block.caption)}</p>' if block.caption else "") + table


def _kind(cell: str, words: bool) -> str:
    """The class of a cell: numbers stand right, sentences keep room to be read."""
    if not words:
        return " class=num"
    return " class=sentence" if len(cell) > _SENTENCE else ""


def _pair(block: PairBlock) -> str:
    sides = "".join(
        f"<div><h3>{_text(title)}</h3>"
        f'<div class="text" dir="auto" tabindex="0">{_text(body)}</div></div>'
        for title, body in ((block.left_title, block.left), (block.right_title, block.right))
    )
    return (
        f'<article class="pair"><p class="caption"><b>{_text(block.id)}</b> {_text(block.note)}</p>'
        f'<blockquote class="text" dir="auto" tabindex="0">{_text(block.prompt)}</blockquote>'
        f'<div class="sides">{sides}</div></article>'
    )


def _text(value: str) -> str:
    """Text from data: control codes shown, markup escaped."""
    return escape(safe(value), quote=True)
