"""Blocks on a terminal: rich renderables, or plain text without it.

Numbers in a table are never broken. One too wide for the terminal leaves out its optional columns
first, then shortens long words; if that is not enough, each row becomes a list of its cells.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding
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
    is_folded,
)
from adjudge.present.text import clip, clip_names, safe, shorten

#: A cell: a name of millions of characters would take minutes to fold.
LONGEST = 2_000
#: Words up to this width stay complete while a column can be left out; then shorter ones.
_WORDS = (52, 24, 16, 10)
#: Rows of a folded table that --explain prints.
_MOST_ROWS = 200
#: The spaces between two columns, and at both edges.
_GAP = 3
_EDGES = 2


class TerminalTable:
    """A table that is laid out when the width of the console is known."""

    def __init__(self, block: Table) -> None:
        self._title = shorten(block.caption)
        self._text_columns = block.text_columns
        self._names = [safe(name) for name in block.columns]
        rows = block.rows[:_MOST_ROWS] if block.detail else block.rows
        self._rows = [[clip(cell, LONGEST) for cell in row] for row in rows]
        self._more = len(block.rows) - len(rows)
        self._optional = [at for name in block.optional for at in _places(block.columns, name)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        every = range(len(self._names))
        for word in _WORDS:
            left_out: list[int] = []
            for more in (None, *self._optional):
                if more is not None and more not in left_out:
                    left_out.append(more)
                columns = [at for at in every if at not in left_out]
                widths = self._fit(columns, options.max_width, word)
                if widths is not None:
                    yield from self._heading()
                    yield self._table(columns, widths)
                    yield from self._remark(left_out)
                    return
        yield from self._stacked(every, options.max_width)

    def _fit(self, shown: Sequence[int], room: int, word: int) -> list[int] | None:
        """The width of each column; None if numbers or names would be broken."""
        least = [self._least(at, word) for at in shown]
        spare = room - sum(least) - _GAP * (len(shown) - 1) - _EDGES
        if spare < 0:
            return None
        # Text has the room first: a name on one line is worth more than a heading on one line.
        wanted = [
            max(cell_len(self._names[at]), *(cell_len(row[at]) for row in self._rows), 0)
            for at in shown
        ]
        for text in (True, False):
            columns = [i for i, at in enumerate(shown) if self._is_text(at) == text]
            for n, i in enumerate(sorted(columns, key=lambda i: wanted[i] - least[i])):
                more = min(wanted[i] - least[i], spare // (len(columns) - n))
                least[i] += more
                spare -= more
        return least

    def _least(self, at: int, word: int) -> int:
        heading = max(map(cell_len, self._names[at].split()), default=0)
        cells = [row[at] for row in self._rows]
        if not self._is_text(at):
            return max(heading, *map(cell_len, cells), 0)
        longest = max((cell_len(text) for cell in cells for text in cell.split()), default=0)
        return max(heading, min(longest, word))

    def _is_text(self, at: int) -> bool:
        return at < self._text_columns

    def _table(self, shown: Sequence[int], widths: Sequence[int]) -> RichTable:
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        columns = []
        for at, width in zip(shown, widths, strict=True):
            justify: JustifyMethod = "left" if self._is_text(at) else "right"
            table.add_column(Text(self._names[at]), justify=justify, width=width, overflow="fold")
            cells = [row[at] for row in self._rows]
            columns.append(_shorten(cells, width) if self._is_text(at) else cells)
        for row in zip(*columns, strict=True):
            table.add_row(*map(Text, row))
        return table

    def _heading(self) -> Iterable[Text]:
        # Not rich's title: that is as wide as the table, and a caption can be wider.
        if self._title:
            yield Text(self._title, style="bold")

    def _remark(self, left_out: Sequence[int]) -> Iterable[Text]:
        if left_out:
            names = "; ".join(self._names[at] for at in left_out)
            yield Text(f"left out at this width: {names} (see --json or the report)")
        if self._more:
            yield Text(f"and {self._more:,} more rows (see --json or the report)")

    def _stacked(self, every: Sequence[int], room: int) -> RenderResult:
        """A list of its cells for each row, for a console too narrow for a table."""
        yield from self._heading()
        for row in self._rows:
            yield Text("")
            for at in every:
                line = f"{self._names[at]}: {row[at]}"
                if cell_len(line) <= room:
                    yield Text(line)
                else:  # a number is not broken while a separate line can hold it
                    yield Text(f"{self._names[at]}:")
                    yield Padding(Text(row[at]), (0, 0, 0, 2))
        yield from self._remark(())


def _places(columns: Sequence[str], name: str) -> list[int]:
    return [at for at, column in enumerate(columns) if column == name]


def _shorten(cells: Sequence[str], width: int) -> list[str]:
    """The cells of a column; a word wider than it is shortened in the middle, not broken."""
    words = {word for cell in cells for word in cell.split(" ") if cell_len(word) > width}
    wide = sorted(words)
    short = dict(zip(wide, clip_names(wide, max(3, width)), strict=True))
    return [" ".join(short.get(word, word) for word in cell.split(" ")) for cell in cells]


_STYLES = {"plain": "", "good": "green", "bad": "yellow"}
#: The width of plain text: wide tables keep their lines whole.
_WIDTH = 400
#: The least room for the notes of facts.
_NOTES = 24


def render_terminal(blocks: Iterable[Block], *, explain: bool = False) -> list[RenderableType]:
    """What a terminal prints for the blocks; `explain` adds what is folded."""
    shown = (_block(block, explain) for block in blocks)
    return [part for part in shown if part is not None]


def render_explanation(blocks: Iterable[Block]) -> str:
    """What is folded alone, as plain text, for `result.explain()`."""
    return render_text((block for block in blocks if is_folded(block)), explain=True)


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
            return _FactsGrid(block) if explain or not block.detail else None
        case Table():
            return TerminalTable(block) if explain or not block.detail else None
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
