"""Blocks on a terminal: rich renderables, or plain text without it."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from adjudge.present.blocks import (
    Block,
    Commands,
    Facts,
    Figure,
    Heading,
    Headline,
    Note,
    Sides,
    Table,
)
from adjudge.present.render.tables import LONGEST, TerminalTable
from adjudge.present.text import clip, safe, shorten

_STYLES = {"plain": "", "good": "green", "bad": "yellow"}
#: The width of plain text: wide tables keep their lines whole.
_WIDTH = 400
#: The least room for the notes of facts.
_NOTES = 24


def render_terminal(blocks: Iterable[Block], *, explain: bool = False) -> list[RenderableType]:
    """What a terminal prints for the blocks; `explain` adds folded notes, never folded tables."""
    shown = (_block(block, explain) for block in blocks)
    return [part for part in shown if part is not None]


def render_explanation(blocks: Iterable[Block]) -> str:
    """The folded notes alone, as plain text, for `result.explain()`."""
    return render_text(
        (block for block in blocks if isinstance(block, Note) and block.detail), explain=True
    )


def render_text(blocks: Iterable[Block], *, explain: bool = False) -> str:
    """The same as plain text, for `str(result)`."""
    page = io.StringIO()
    console = Console(file=page, width=_WIDTH, highlight=False, soft_wrap=True, color_system=None)
    for part in render_terminal(blocks, explain=explain):
        console.print(part)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()).strip("\n")


def _block(block: Block, explain: bool) -> RenderableType | None:
    match block:
        case Headline():
            lines = [Text(shorten(block.text), style=f"bold {_STYLES[block.tone]}".strip())]
            if block.action:
                lines.append(Text(safe(block.action)))
            return Group(*lines)
        case Facts():
            return _FactsGrid(block)
        case Table():
            return None if block.detail else TerminalTable(block)
        case Commands():
            return Group(*(Text(safe(line)) for line in block.lines))
        case Note(detail=True):
            if explain:
                lines = [Text(f"{block.title}:"), *(Text(f"- {safe(x)}") for x in block.lines)]
                return Group(*lines)
            return Text(safe(block.brief)) if block.brief else None
        case Note():
            return Group(*(Text(safe(line), style=_STYLES[block.tone]) for line in block.lines))
        case Heading():
            return Text(safe(block.text), style="bold")
        case Figure() | Sides():
            return None


class _FactsGrid:
    """Facts in three columns. Only the notes wrap, if the console leaves enough room for them."""

    def __init__(self, block: Facts) -> None:
        self._rows = [
            (
                Text(clip(fact.label, LONGEST)),
                Text(clip(fact.value, LONGEST), style=_STYLES[fact.tone]),
                Text(clip(fact.note, LONGEST)),
            )
            for fact in block.facts
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        needed = sum(max(row[at].cell_len for row in self._rows) for at in (0, 1))
        complete = needed + _NOTES <= options.max_width
        grid = RichTable.grid(padding=(0, 2))
        for no_wrap in (complete, complete, False):
            grid.add_column(no_wrap=no_wrap)
        for row in self._rows:
            grid.add_row(*row)
        yield grid
