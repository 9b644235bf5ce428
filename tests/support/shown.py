"""What people see, as lines that a test can list: the same in terminal, Markdown and HTML.

Cells of a table row are joined by " | ". A line begins with "bad: " where its headline warns,
"figure: " where it is the caption of a picture, "detail: " where it is folded away on the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from adjudge.present.render.html import render_fragment
from adjudge.present.render.markdown import render_blocks
from adjudge.present.views import blocks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from adjudge.results.base import Result


def assert_shown(result: Result, lines: Sequence[str]) -> None:
    """The result shows exactly these lines, in every format."""
    said = [line for line in lines if not line.startswith("detail: ")]
    assert html_lines(result) == list(lines)
    assert markdown_lines(result) == [line.removeprefix("bad: ") for line in said]
    assert terminal_lines(result) == [
        line.removeprefix("bad: ") for line in said if not line.startswith("figure: ")
    ]
    assert result._repr_html_() == render_fragment(blocks_of(result))


def terminal_lines(result: Result) -> list[str]:
    lines = [line.strip() for line in str(result).splitlines()]
    return [re.sub(r"\s{2,}", " | ", line) for line in lines if line.strip("─ ")]


def markdown_lines(result: Result) -> list[str]:
    lines = []
    for line in render_blocks(blocks_of(result)).splitlines():
        text = line.removeprefix("- ").removeprefix("#### ").strip("*")
        if line.startswith("_"):
            text = f"figure: {line.strip('_')}"
        elif line.startswith("| "):
            text = line.strip("| ")
        if text and not set(text) <= set("|-") and line != "|  | value |  |":
            lines.append(re.sub(r"\\(.)", r"\1", text))
    return lines


def html_lines(result: Result) -> list[str]:
    reader = _Reader()
    reader.feed(re.sub(r"<svg.*?</svg>", "", render_fragment(blocks_of(result)), flags=re.DOTALL))
    return reader.lines


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._prefix = ""
        self._folded = False
        self._cells: list[str] = []
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._text = ""
        self._prefix = "bad: " if dict(attrs).get("class") == "finding bad" else ""
        if tag == "details":
            self._folded = True

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "dt", "dd", "small"):
            self._cells.append(self._text.strip())
        if tag in ("p", "li", "summary", "figcaption", "h4", "tr", "small"):
            while self._cells and not self._cells[-1]:
                self._cells.pop()
            text = self._prefix + self._text
            if tag in ("tr", "small"):
                text, self._cells = " | ".join(self._cells), []
            mark = "detail: " if self._folded else "figure: " if tag == "figcaption" else ""
            self.lines.append(mark + text)
        if tag == "details":
            self._folded = False


def drawn(axes: Axes) -> dict[str, Any]:
    """What a panel shows: its words, the lines and the dots in it, rounded."""
    return {
        "title": axes.get_title(loc="left") or axes.get_title(),
        "x": axes.get_xlabel(),
        "y": axes.get_ylabel(),
        "x ticks": [tick.get_text() for tick in axes.get_xticklabels()],
        "y ticks": [tick.get_text() for tick in axes.get_yticklabels()],
        "lines": [_points(*line.get_data()) for line in axes.get_lines()],
        "dots": [
            tuple(round(float(v), 3) for v in dot) for c in axes.collections for dot in _dots(c)
        ],
        "texts": [text.get_text() for text in axes.texts if text.get_text()],
    }


def _points(xs: Any, ys: Any) -> list[tuple[float, float]]:
    return [(round(float(x), 3), round(float(y), 3)) for x, y in zip(xs, ys, strict=True)]


def _dots(collection: Any) -> list[Any]:
    # Violins and bands are filled outlines; only dots have places of their own.
    return list(collection.get_offsets()) if len(collection.get_sizes()) else []


def legend(figure: Figure) -> list[str]:
    """The entries of the figure's legends."""
    return [text.get_text() for one in figure.legends for text in one.get_texts()]
