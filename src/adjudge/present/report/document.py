"""A report before it has a format: sections of findings, numbers, tables, pictures and pairs.

HTML, Markdown and JSON are three ways of writing the same document, so that none can say more
than another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tone = Literal["plain", "good", "bad"]


@dataclass(frozen=True, kw_only=True)
class Number:
    """One figure to remember, with its interval or unit underneath."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """A row of figures."""

    numbers: tuple[Number, ...]


@dataclass(frozen=True, kw_only=True)
class Heading:
    """The file that what follows comes from, where a folder holds several of its kind."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Words:
    """A paragraph, or a list where there are several."""

    lines: tuple[str, ...]
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class TableBlock:
    """A table; the first `text_columns` columns are words, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    text_columns: int = 1
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure, with one sentence that says what to do with it."""

    figure: Figure
    caption: str


@dataclass(frozen=True, kw_only=True)
class PairBlock:
    """One pair side by side."""

    id: str
    prompt: str
    left_title: str
    left: str
    right_title: str
    right: str
    note: str


Block = Heading | Numbers | Words | TableBlock | Picture | PairBlock


@dataclass(frozen=True, kw_only=True)
class Section:
    """One question answered: a title, the answer in a sentence, what to do, then the evidence."""

    key: str
    title: str
    finding: str
    action: str = ""
    blocks: tuple[Block, ...] = ()
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class Document:
    """The whole report."""

    title: str
    subtitle: str
    sections: tuple[Section, ...] = field(default=())
