"""Terminal tables: numbers aligned, text from data never taken for markup or escape codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe(text: object) -> str:
    r"""Text from data made harmless for a terminal: control and direction codes shown, not obeyed.

    >>> safe("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), str(text))


def clipped(text: object, most: int = 28) -> str:
    """A name as an axis shows it: harmless, and not too long.

    >>> clipped("a judge with a name that has no end")
    'a judge with a name that ha…'
    """
    name = safe(text)
    return name if len(name) <= most else name[: most - 1] + "…"


def number(value: float | int | None, digits: int = 3) -> str:
    """A number for a cell; a dash where there is none.

    >>> number(0.12345), number(12000), number(None)
    ('0.123', '12,000', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}f}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def counted(n: int, one: str, many: str) -> str:
    """A number with its noun.

    >>> counted(1, "judge", "judges"), counted(2000, "judge", "judges")
    ('1 judge', '2,000 judges')
    """
    return f"{n:,} {one if n == 1 else many}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval; "unbounded" where an end is missing.

    >>> interval(0.1, 0.25), interval(None, None)
    ('[0.100, 0.250]', 'unbounded')
    """
    if low is None or high is None:
        return "unbounded"
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    text_columns: int = 1,
) -> Table:
    """A table whose first `text_columns` columns are text and the others numbers, right-aligned."""
    made = Table(
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
    for row in rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    return made
