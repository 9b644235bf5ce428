"""What people see, as lines that a test can list: the same in terminal, Markdown and HTML.

Cells of a table row are joined by " | ". A line begins with "bad: " where its headline warns,
"figure: " where it is the caption of a picture, "detail: " where it is folded away on the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from adjudge.present.blocks import ASSUMED, PROMISED, Headline, Note
from adjudge.present.render.html import render_fragment
from adjudge.present.render.markdown import render_blocks
from adjudge.records import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from adjudge.present.result import Result


def ends(low: float | None, high: float | None) -> Interval:
    """A 95 % interval."""
    return Interval(low, high, level=0.95)


def assert_shown(result: Result, lines: Sequence[str]) -> None:
    """The result shows exactly these lines, in every format."""
    assert read_lines(result._repr_html_()) == list(lines)
    assert markdown_lines(result) == [line.removeprefix("bad: ") for line in lines]
    briefs = {block.brief for block in result.view() if isinstance(block, Note)}
    said = [line.removeprefix("bad: ") for line in _unfold(lines, briefs)]
    # An empty cell between two others leaves no trace in the terminal.
    assert terminal_lines(result) == [
        line.replace(" |  | ", " | ") for line in said if not line.startswith("figure: ")
    ]


def _unfold(lines: Sequence[str], briefs: set[str]) -> list[str]:
    """The lines without what is folded; of what is assumed, the first can stay in sight."""
    shown: list[str] = []
    for at, line in enumerate(lines):
        if not line.startswith("detail: "):
            shown.append(line)
        elif line == f"detail: {ASSUMED}":
            shown += {lines[at + 1].replace("detail: ", "Assumes: ")} & briefs
        elif line == f"detail: {PROMISED}":
            start = "detail: It assumes: "
            first = next((one for one in lines[at:] if one.startswith(start)), None)
            shown += [] if first is None else {first.replace(start, "Assumes: ")} & briefs
    return shown


def decision(result: Result) -> str:
    """What follows from a result, in the summary of a report."""
    return next(block for block in result.view() if isinstance(block, Headline)).decision


def terminal_lines(result: Result) -> list[str]:
    lines = [line.strip() for line in str(result).splitlines()]
    return [re.sub(r"\s{2,}", " | ", line) for line in lines if line.strip("─ ")]


def markdown_lines(result: Result) -> list[str]:
    lines, mark = [], ""
    for line in render_blocks(result.view()).splitlines():
        text = line.removeprefix("- ").removeprefix("#### ").strip("*")
        if folded := re.fullmatch("<details><summary>(.*)</summary>", line):
            text, mark = unescape(folded[1]), "detail: "
        elif line == "</details>":
            text, mark = "", ""
        if line.startswith("_"):
            text = f"figure: {line.strip('_')}"
        elif line.startswith("| "):
            text = line.strip("| ")
        if text and not set(text) <= set("|-") and line != "|  | value |  |":
            lines.append(mark + re.sub(r"\\(.)", r"\1", text))
    return lines


def html_lines(result: Result) -> list[str]:
    return read_lines(render_fragment(result.view()))


def read_lines(fragment: str) -> list[str]:
    reader = _Reader()
    reader.feed(re.sub(r"<svg.*?</svg>", "", fragment, flags=re.DOTALL))
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


# --- figures, by what is drawn ---------------------------------------------------------------


def panel(result: Result, name: str | None = None) -> Axes:
    """The only panel of a picture."""
    [axes] = result.plot(figure=name).axes
    return axes


def title(axes: Axes) -> str:
    return axes.get_title(loc="left")


def words(axes: Axes) -> tuple[str, str, str]:
    """Title and names of the axes."""
    return title(axes), axes.get_xlabel(), axes.get_ylabel()


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def y_ticks(axes: Axes) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def points(axes: Axes, digits: int = 3) -> list[list[tuple[float, float]]]:
    """The points of every line that has some, rounded, in drawing order."""
    lines = (_points(line, digits) for line in axes.lines)
    return [line for line in lines if line]


def named_points(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of every line with a name."""
    named = ((str(line.get_label()), line) for line in axes.lines)
    return {name: _points(line, 12) for name, line in named if not name.startswith("_")}


def _points(line: Line2D, digits: int) -> list[tuple[float, float]]:
    places = np.asarray(line.get_xydata(), dtype=np.float64).round(digits)
    return [(float(x), float(y)) for x, y in places]


def legend(shown: Axes | Figure) -> list[str]:
    """The entries of a panel's legend, or of those of a whole figure."""
    legends = shown.legends if isinstance(shown, Figure) else [shown.get_legend()]
    return [text.get_text() for one in legends if one for text in one.get_texts()]


def drawn(axes: Axes) -> dict[str, Any]:
    """What a panel shows: its words, the lines and the dots in it, rounded."""
    return {
        "title": title(axes),
        "x": axes.get_xlabel(),
        "y": axes.get_ylabel(),
        "x ticks": [tick.get_text() for tick in axes.get_xticklabels()],
        "y ticks": y_ticks(axes),
        "lines": points(axes),
        "dots": [
            tuple(round(float(v), 3) for v in dot) for c in axes.collections for dot in _dots(c)
        ],
        "texts": texts(axes),
    }


def _dots(collection: Any) -> list[Any]:
    # Violins, bands and bars are outlines and lines; only dots have sizes.
    sizes = collection.get_sizes() if hasattr(collection, "get_sizes") else ()
    return list(collection.get_offsets()) if len(sizes) else []
