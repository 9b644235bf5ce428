"""What a result shows, before it has a format: headlines, facts, tables, notes and figures.

A view turns one result into a list of blocks, once. The terminal, the HTML page, Markdown and the
notebook render the same blocks, so that all of them say the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Tone = Literal["plain", "good", "bad"]
_Part = TypeVar("_Part")
#: What folded sentences are called, on the page and in the hint at --explain.
ASSUMED = "What this assumes"
PROMISED = "What this assumes and does not promise"


@dataclass(frozen=True)
class Headline:
    """The answer in one sentence, computed from the numbers below it, and what to do about it.

    `decision` is what follows from it, in a few words: the summary of a report begins with it.
    """

    text: str
    action: str = ""
    tone: Tone = "plain"
    decision: str = ""

    @property
    def decides(self) -> bool:
        """Whether a summary begins with it: a decision, or a bad finding."""
        return bool(self.decision) or self.tone == "bad"


@dataclass(frozen=True)
class Fact:
    """One number to remember, with its interval or unit."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Facts:
    """A row of numbers; `detail` as in Table."""

    facts: Sequence[Fact]
    detail: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first `text_columns` columns are words, the others numbers.

    `detail` marks what is not essential: a terminal prints it only with --explain, a page folds it.
    `optional` names columns that a terminal too narrow for all of them leaves out, first to last.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    text_columns: int = 1
    detail: bool = False
    optional: Sequence[str] = ()


#: What each column of a table shows of a part, by the column's name.
Columns = dict[str, Callable[[_Part], str]]


def table_of(
    parts: Iterable[_Part],
    columns: Mapping[str, Callable[[_Part], str]],
    *,
    caption: str = "",
    text_columns: int = 1,
    detail: bool = False,
    optional: Sequence[str] = (),
) -> Table:
    """A row for each part; every column's name is next to what it shows.

    >>> table_of([1, 2], {"n": str, "square": lambda n: str(n * n)}).rows
    [('1', '1'), ('2', '4')]
    """
    rows = [tuple(cell(part) for cell in columns.values()) for part in parts]
    return Table(tuple(columns), rows, caption, text_columns, detail, optional)


@dataclass(frozen=True)
class Note:
    """Sentences: one is a paragraph, several are a list.

    `detail` as in Table. `title` names what is folded, `brief` is the line that a terminal prints
    in its place. Remarks that are no detail have a `brief` for commands, which print few lines.
    """

    lines: Sequence[str]
    tone: Tone = "plain"
    detail: bool = False
    title: str = "Details"
    brief: str = ""


def notes_of(lines: Sequence[str], *, tone: Tone = "plain", detail: bool = False) -> list[Block]:
    """A note of these lines, if there are any."""
    return [Note(lines, tone, detail)] if lines else []


def remarks_of(lines: Sequence[str], *, tone: Tone = "plain") -> list[Block]:
    """A note of remarks; of several, a command prints the first clause and how many follow.

    >>> remarks_of(["left out 3 rows: no label", "left out 1 row: tie"])[0].brief
    'left out 3 rows (1 more: --explain)'
    """
    if len(lines) < 2:
        return notes_of(lines, tone=tone)
    kind = next((word for word in ("note: ", "warning: ") if lines[0].startswith(word)), "")
    first, *_ = re.split("[:;] ", lines[0].removeprefix(kind))
    return [Note(lines, tone, brief=f"{kind}{first} ({len(lines) - 1} more: --explain)")]


def explain(
    assumptions: Sequence[str],
    *,
    promises: Sequence[str] = (),
    others: Sequence[str] = (),
    brief: bool = True,
) -> list[Block]:
    """A folded note of what a result promises and assumes; `brief` shows the first assumption.

    `others` are lines about what it is compared with.

    >>> explain(["rows are independent"])[0].brief
    'Assumes: rows are independent'
    """
    first = f"Assumes: {assumptions[0]}" if assumptions and brief else ""
    title = PROMISED if promises else ASSUMED
    assumed = [f"It assumes: {line}" for line in assumptions] if promises else assumptions
    lines = [*promises, *assumed, *others]
    return [Note(lines, detail=True, title=title, brief=first)] if lines else []


def warnings_of(warnings: Iterable[str]) -> list[Block]:
    """A note of a result's warnings, if it has any."""
    return remarks_of([f"warning: {text}" for text in warnings], tone="bad")


@dataclass(frozen=True)
class Figure:
    """A picture that is drawn only when it is shown; `name` is what `--figure` calls it.

    `caption` explains it. `draw` raises ArgumentError if there is nothing to draw; the reason is
    then shown in its place. Without `on_page` it is drawn only by name: it combines pictures that
    the page already has.
    """

    name: str
    draw: Callable[[], Drawing]
    caption: str
    on_page: bool = True


@dataclass(frozen=True)
class Heading:
    """Begins a part: the file it comes from, or what the blocks below have in common."""

    text: str


@dataclass(frozen=True)
class Commands:
    """Lines to copy into a shell."""

    lines: Sequence[str]


class Html(str):
    """Safe HTML, made of escaped text; a template does not escape it again."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True)
class Sides:
    """One pair of answers side by side, or one answer with what it is compared with, for pages.

    `answers` are by their headings.
    """

    id: str
    prompt: Html
    answers: Mapping[str, Html]
    note: str


Block = Headline | Facts | Table | Note | Figure | Heading | Commands | Sides


def is_folded(block: Block) -> bool:
    """Whether a terminal prints it only with --explain."""
    return isinstance(block, Facts | Table | Note) and block.detail


@dataclass(frozen=True, kw_only=True)
class Part:
    """The blocks of one result, and the file it came from."""

    name: str
    blocks: Sequence[Block]

    @property
    def headline(self) -> Headline | None:
        """The first headline, if there is one."""
        return next((block for block in self.blocks if isinstance(block, Headline)), None)


@dataclass(frozen=True, kw_only=True)
class Section:
    """One question and the results that answer it."""

    key: str
    title: str
    parts: Sequence[Part]

    @property
    def answers(self) -> list[tuple[str, Headline]]:
        """The headline of each part, decisions and bad findings first; the file, if of several."""
        several = len(self.parts) > 1
        answers = [
            (part.name if several else "", part.headline)
            for part in self.parts
            if part.headline is not None
        ]
        return sorted(answers, key=lambda answer: not answer[1].decides)


@dataclass(frozen=True, kw_only=True)
class Document:
    """A complete report."""

    title: str
    subtitle: str
    sections: Sequence[Section]

    @property
    def summary(self) -> list[Section]:
        """The sections, those with decisions and bad findings first."""

        def later(section: Section) -> bool:
            return not any(headline.decides for _, headline in section.answers)

        return sorted(self.sections, key=later)
