"""What tables and pictures of the Soft-Elo paper share: judges, columns, names, colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from adjudge.present.blocks import Table
from adjudge.present.figure import MARKS, SERIES
from adjudge.present.text import DASH, clip, interval, number, span
from adjudge.statistics.numbers import mean_known
from adjudge_papers.items import in_percent, read_published
from adjudge_papers.reproduction import Gallery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adjudge_papers.soft_elo import SoftEloRow

#: What the paper prints, its corpora (the first is that of the main tables) and their names.
PAPER = read_published("soft-elo")
MAIN, NEWER, FRENCH = PAPER["corpora"]
TITLES: Mapping[str, str] = PAPER["titles"]
METHODS = ("hard-elo", "soft-elo")
#: The pictures, each declared next to its function.
GALLERY = Gallery()
_Corner = Literal["best", "upper left", "upper right", "lower left", "lower right"]


# --- judges ----------------------------------------------------------------------------------


def shown_judge(rows: Sequence[SoftEloRow], name: str) -> SoftEloRow:
    """The judge that the paper shows, or the first with soft targets."""
    named = [row for row in rows if row.judge == name]
    soft = [row for row in rows if row.soft_mae is not None]
    return (named or soft or list(rows))[0]


def judges_named(name: str, rows: Sequence[SoftEloRow]) -> Sequence[SoftEloRow]:
    """The judge whose numbers the paper prints, or all judges if it is not here."""
    return [row for row in rows if row.judge == name] or rows


def row_names(rows: Sequence[SoftEloRow]) -> list[str]:
    """The judge of each row, with its corpus if there are several."""
    several = len({row.corpus for row in rows}) > 1
    return [f"{row.judge}, {row.corpus}" if several else row.judge for row in rows]


# --- fields of rows --------------------------------------------------------------------------


def value_of(row: Any, field: str) -> Any:
    """A field of a row or of a part of it (`length.partial`, `smoothed.0.75`); None without it.

    Not every field has a `published_` one.
    """
    name, _, inner = field.partition(".")
    part = getattr(row, name, None) if name.startswith("published_") else getattr(row, name)
    if not inner or part is None:
        return part
    return part.get(inner) if isinstance(part, Mapping) else getattr(part, inner)


def values_of(rows: Iterable[Any], field: str) -> list[float | None]:
    """That field of every row."""
    return [value_of(row, field) for row in rows]


def percents_of(rows: Iterable[Any], field: str) -> list[float | None]:
    """A share of every row in percent."""
    return [in_percent(share) for share in values_of(rows, field)]


def combine(
    rows: Iterable[Any], measure: Callable[[Any, Any], float | None], first: str, second: str
) -> list[float | None]:
    """A measure of two fields of every row."""
    return [measure(value_of(row, first), value_of(row, second)) for row in rows]


@dataclass(frozen=True)
class Column:
    """A field and how it is written: digits, or a function.

    The paper's number is in the field of the same name with `published_` before it. `between` is a
    field of two numbers that is written after it.
    """

    heading: str
    field: str
    write: int | Callable[[Any], str]
    between: str = ""

    def cell(self, rows: Sequence[Any], prefix: str = "") -> str:
        """The field of one row, or its mean over several."""
        values = values_of(rows, prefix + self.field)
        value = values[0] if len(rows) == 1 else mean_known(values)
        if prefix and value is None:
            return DASH
        text = number(value, self.write) if isinstance(self.write, int) else self.write(value)
        single = self.between and len(rows) == 1
        ends = value_of(rows[0], prefix + self.between) if single else None
        return text if ends is None else f"{text} {interval(ends[0], ends[1], 0)}"


def tabulate(
    caption: str,
    first: str,
    rows: Iterable[tuple[str, Sequence[Any]]],
    *columns: Column,
    compare: bool = True,
    **layout: Any,
) -> Table:
    """A line for each name; to compare, another below it if the paper has a number for it."""
    lines = []
    for name, named in rows:
        lines.append((name, *(column.cell(named) for column in columns)))
        theirs = [column.cell(named, "published_") for column in columns]
        if compare and {*theirs} != {DASH}:
            lines.append(("  paper", *theirs))
    return Table((first, *(column.heading for column in columns)), lines, caption, **layout)


# --- pictures --------------------------------------------------------------------------------


def corpus_look(corpus: str) -> dict[str, Any]:
    """One colour and mark per corpus in every picture."""
    colours = {MAIN: SERIES[0], NEWER: SERIES[3], FRENCH: SERIES[5]}  # the paper's
    marks = dict(zip(colours, MARKS, strict=False))
    return {"color": colours.get(corpus, SERIES[6]), "marker": marks.get(corpus, MARKS[-1])}


def short(name: str) -> str:
    """The name of a judge or model on an axis."""
    return clip(name, 30)


def name_rows(axes: Axes, names: Sequence[str], *, size: float = 9) -> None:
    """Names down the left side, the first on top."""
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.tick_params(axis="y", length=0, labelsize=size)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def add_legend(axes: Axes, loc: _Corner = "best", *, fontsize: float = 10) -> None:
    """A legend, if a line has a name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=loc, fontsize=fontsize)


def range_title(measure: str, values: Sequence[float | None], digits: int) -> str:
    """A title with the smallest and the largest value."""
    known = [value for value in values if value is not None]
    if not known:
        return measure
    return f"{measure} from {span(f'{min(known):.{digits}f}', f'{max(known):.{digits}f}')}"
