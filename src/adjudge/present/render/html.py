"""Blocks as HTML: one page without network or script, light and dark; or a notebook's fragment.

A matplotlib figure is inline SVG whose colours follow the page, light or dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present import figure as theme
from adjudge.present.blocks import (
    Block,
    Commands,
    Document,
    Facts,
    Figure,
    Heading,
    Headline,
    Note,
    Section,
    Sides,
    Table,
)
from adjudge.present.text import LONG_WORD, safe, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


#: The theme's constants and their CSS variables on the page.
VARIABLES = {
    theme.INK: "--ink",
    theme.MUTED: "--muted",
    theme.GRID: "--grid",
    **{colour: f"--series-{position}" for position, colour in enumerate(theme.SERIES)},
}


def inline_svg(figure: Drawing, *, prefix: str, label: str) -> str:
    """The figure as one <svg> element; `prefix` makes its ids unique on the page."""
    written = io.StringIO()
    with theme.themed():
        figure.patch.set_alpha(0)
        for axes in figure.axes:
            axes.patch.set_alpha(0)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{prefix}-", svg)
    for colour, variable in VARIABLES.items():
        svg = re.sub(re.escape(colour), f"var({variable}, {colour})", svg, flags=re.IGNORECASE)
    # Width and height come from the page; the viewBox keeps the proportions.
    opened = (
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" aria-label="{escape(label, quote=True)}"'
    )
    svg = re.sub(
        r'^<svg [^>]*?(viewBox="[^"]+")[^>]*>',
        lambda match: f"<svg {match.group(1)} {opened}>",
        svg,
        count=1,
    )
    return svg.replace("\n", " ").strip()


#: The page loads nothing from outside; with this the browser refuses to.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_SENTENCE = 40
#: A section's answers in the table of contents; the rest are counted.
_IN_SHORT = 4


def render_html(document: Document, *, style: str = "") -> str:
    """The whole page; `style` is that of texts in `Sides`."""
    contents = "".join(_contents(section) for section in document.summary)
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
{read_style("base.css")}{read_style("report.css")}{style}</style>
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


def render_fragment(blocks: Iterable[Block]) -> str:
    """The blocks of one result as an element without style, ids kept apart by `cell`."""
    return f'<div class="adjudge">{_blocks(list(blocks), "cell")}</div>'


def render_cell(blocks: Iterable[Block]) -> str:
    """The same for a notebook, whose fonts it has.

    Its colours are mixed with the notebook's own text colour, so that they are readable on light
    and dark. Jupyter floats terms next to their values and aligns all cells of a table alike: the
    style undoes both.
    """
    style = " ".join(read_style("cell.css").splitlines())
    return f"<style>{style}</style>{render_fragment(blocks)}"


@cache
def read_style(name: str) -> str:
    """A style sheet of the pages."""
    return (files("adjudge.present.render") / name).read_text(encoding="utf-8")


def _contents(section: Section) -> str:
    """The section's answers in short, a line for each result: the decision, else the finding."""
    answers = section.answers
    lines = ""
    for file, answer in answers[:_IN_SHORT]:
        words = f"<b>{_short(answer.decision)}</b>" if answer.decision else _short(answer.text)
        words += f" <i>{_short(file)}</i>" if file else ""
        lines += f'<span class="{answer.tone}">{words}</span>'
    if len(answers) > _IN_SHORT:
        lines += f"<span>and {len(answers) - _IN_SHORT} more</span>"
    return f'<li><a href="#{escape(section.key)}">{_text(section.title)}</a><div>{lines}</div></li>'


def _section(section: Section) -> str:
    several = len(section.parts) > 1
    parts = []
    for number, part in enumerate(section.parts):
        heading = f"<h3>{_text(part.name)}</h3>" if several else ""
        parts.append(heading + _blocks(part.blocks, f"{section.key}-{number}"))
    content = "\n".join(parts)
    title = f"<h2>{_text(section.title)}</h2>"
    return f'<section id="{escape(section.key)}">{title}\n{content}</section>'


def _blocks(blocks: Sequence[Block], prefix: str) -> str:
    numbered = enumerate(blocks)
    rendered = []
    # Pictures that follow one another are side by side if there is space.
    for pictures, run in groupby(numbered, key=lambda entry: isinstance(entry[1], Figure)):
        elements = [_block(block, f"{prefix}-{i}") for i, block in run]
        if pictures:
            rendered.append(f'<div class="pictures">{"".join(elements)}</div>')
        else:
            rendered += elements
    return "\n".join(rendered)


def _block(block: Block, prefix: str) -> str:
    match block:
        case Headline():
            action = f'<p class="action">{_text(block.action)}</p>' if block.action else ""
            return f'<p class="finding {block.tone}">{_short(block.text)}</p>{action}'
        case Facts():
            cells = "".join(
                f'<div class="number {fact.tone}"><dt>{_text(fact.label)}</dt>'
                f"<dd>{_text(fact.value)}</dd><small>{_text(fact.note)}</small></div>"
                for fact in block.facts
            )
            return f'<dl class="numbers">{cells}</dl>'
        case Note():
            return _note(block)
        case Table():
            return _table(block)
        case Figure():
            return _figure(block, prefix) if block.on_page else ""
        case Heading():
            return f"<h4>{_text(block.text)}</h4>"
        case Commands():
            lines = "\n".join(map(_text, block.lines))
            return f'<pre class="commands" tabindex="0">{lines}</pre>'
        case Sides():
            return _sides(block)


def _note(block: Note) -> str:
    if len(block.lines) == 1 and not block.detail:
        return f'<p class="{block.tone}">{_text(block.lines[0])}</p>'
    items = "".join(f"<li>{_text(line)}</li>" for line in block.lines)
    listed = f'<ul class="{block.tone}">{items}</ul>'
    if block.detail:
        return f"<details><summary>{_text(block.title)}</summary>{listed}</details>"
    return listed


def _figure(block: Figure, prefix: str) -> str:
    try:
        drawing = inline_svg(block.draw(), prefix=prefix, label=block.caption)
    except ArgumentError as error:
        return f"<p>No picture: {_text(str(error))}</p>"
    caption = f"<figcaption>{_text(block.caption)}</figcaption>"
    return f'<figure><div class="drawing" tabindex="0">{drawing}</div>{caption}</figure>'


def _table(block: Table) -> str:
    words = block.text_columns
    write = _text if block.detail else _short

    def row(cells: Sequence[str], tag: str) -> str:
        filled = "".join(
            f"<{tag}{_kind(cell, i < words)}>{write(cell)}</{tag}>" for i, cell in enumerate(cells)
        )
        return f"<tr>{filled}</tr>"

    body = "".join(row(cells, "td") for cells in block.rows)
    table = (
        f'<div class="wide" tabindex="0"><table><thead>{row(block.columns, "th")}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    if block.detail:
        return f"<details><summary>{_text(block.caption)}</summary>{table}</details>"
    return (f'<p class="caption">{_short(block.caption)}</p>' if block.caption else "") + table


def _kind(cell: str, words: bool) -> str:
    """The class of a cell: numbers are right-aligned, sentences keep room to be read."""
    if not words:
        return " class=num"
    return " class=sentence" if len(cell) > _SENTENCE else ""


def _sides(block: Sides) -> str:
    sides = "".join(
        f"<div><h3>{_text(heading)}</h3>"
        f'<div class="text" dir="auto" tabindex="0">{answer}</div></div>'
        for heading, answer in block.answers.items()
    )
    two = ' class="sides"' if len(block.answers) > 1 else ""
    return (
        f'<article class="pair"><p class="caption"><b><bdi>{_text(block.id)}</bdi></b> '
        f"{_short(block.note)}</p>"
        f'<blockquote class="text" dir="auto" tabindex="0"><div>{block.prompt}</div></blockquote>'
        f"<div{two}>{sides}</div></article>"
    )


def _short(value: str) -> str:
    """Text with very long words, such as a judge's name, shortened; their titles are complete."""
    parts = []
    for k, part in enumerate(LONG_WORD.split(value)):
        text = _text(part)
        # Every second part is what the pattern captured: a long word.
        parts.append(f'<span title="{text}">{_text(shorten(part))}</span>' if k % 2 else text)
    return "".join(parts)


def _text(value: str) -> str:
    """Text from data: control codes shown, markup escaped."""
    return escape(safe(value), quote=True)
