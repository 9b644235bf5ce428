"""Blocks on a terminal: rich renderables, or plain text where there is none."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from adjudge._text import clip, clip_names, safe
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

#: A cell of a table: a name of millions of characters would take minutes to fold.
_LONGEST = 2_000
_STYLES = {"plain": "", "good": "green", "bad": "yellow"}
#: The width of plain text: wide tables keep their lines whole.
_WIDTH = 400


def render_terminal(blocks: Iterable[Block], *, explain: bool = False) -> list[RenderableType]:
    """What a terminal prints for the blocks; `explain` adds folded notes, never folded tables."""
    shown: list[RenderableType] = []
    for block in blocks:
        if isinstance(block, Table) and block.detail:
            continue
        if isinstance(block, Note) and block.detail and not explain:
            continue
        part = _block(block)
        if part is not None:
            shown.append(part)
    return shown


def render_text(blocks: Iterable[Block], *, explain: bool = False) -> str:
    """The same as plain text, for `str(result)`."""
    page = io.StringIO()
    console = Console(file=page, width=_WIDTH, highlight=False, soft_wrap=True, color_system=None)
    for part in render_terminal(blocks, explain=explain):
        console.print(part)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()).strip("\n")


def _block(block: Block) -> RenderableType | None:
    match block:
        case Headline():
            lines = [Text(safe(block.text), style=f"bold {_STYLES[block.tone]}".strip())]
            if block.action:
                lines.append(Text(safe(block.action)))
            return Group(*lines)
        case Facts():
            return _facts(block)
        case Table():
            return _FittedTable(block)
        case Commands():
            return Group(*(Text(safe(line)) for line in block.lines))
        case Note():
            return Group(*(Text(safe(line), style=_STYLES[block.tone]) for line in block.lines))
        case Heading():
            return Text(safe(block.text), style="bold")
        case Figure() | Sides():
            return None


class _FittedTable:
    """A table that leaves out optional columns where the console is too narrow for all of them."""

    def __init__(self, block: Table) -> None:
        self._block = block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        endless = options.update(width=10_000)
        without: list[str] = []
        table = self._table(without)
        for name in self._block.optional:
            if console.measure(table, options=endless).maximum <= options.max_width:
                break
            without.append(name)
            table = self._table(without)
        yield table
        if without:
            yield Text(f"no room here for {', '.join(without)}: see --json or the report")

    def _table(self, without: Sequence[str]) -> RichTable:
        block = self._block
        kept = [at for at, name in enumerate(block.columns) if name not in without]
        return rich_table(
            [block.columns[at] for at in kept],
            [[row[at] for at in kept] for row in block.rows],
            title=block.caption,
            text_columns=sum(at < block.text_columns for at in kept),
        )


class _Words:
    """The words of a column: those wider than it are shortened in the middle, not broken.

    The full ones are in --json.
    """

    def __init__(self, cells: Iterable[str]) -> None:
        self._words = sorted({word for cell in cells for word in cell.split(" ")})
        self._short: dict[int, dict[str, str]] = {}

    def fit(self, cell: str, width: int) -> str:
        if width not in self._short:
            wide = [word for word in self._words if len(word) > width]
            self._short[width] = dict(zip(wide, clip_names(wide, max(3, width)), strict=True))
        return " ".join(self._short[width].get(word, word) for word in cell.split(" "))


class _Cell:
    """A cell of text, written when the width of its column is known."""

    def __init__(self, text: str, words: _Words) -> None:
        self._text, self._words = text, words

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, Text(self._text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self._words.fit(self._text, options.max_width))


def _facts(block: Facts) -> RichTable:
    grid = RichTable.grid(padding=(0, 2))
    for fact in block.facts:
        grid.add_row(
            Text(clip(fact.label, _LONGEST)),
            Text(clip(fact.value, _LONGEST), style=_STYLES[fact.tone]),
            Text(clip(fact.note, _LONGEST)),
        )
    return grid


def rich_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    text_columns: int = 1,
) -> RichTable:
    """A table whose first `text_columns` columns are text and the others numbers, right-aligned."""
    made = RichTable(
        title=Text(safe(title)) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title_style="bold",
    )
    for position, name in enumerate(columns):
        made.add_column(
            Text(safe(name)),
            justify="left" if position < text_columns else "right",
            overflow="fold",
        )
    texts = [[clip(cell, _LONGEST) for cell in row] for row in rows]
    words = [_Words(column) for column in list(zip(*texts, strict=True))[:text_columns]]
    for row in texts:
        cells = [_Cell(text, column) for text, column in zip(row, words, strict=False)]
        made.add_row(*cells, *map(Text, row[len(cells) :]))
    return made
