"""What pictures share: one look, rows with their intervals, curves with a band, coloured cells.

Colours survive greyscale and colour blindness. Functions named `draw_` add to axes that a picture
already has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.text import clip, clip_names, group_name
from adjudge.records import Interval
from adjudge.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D


INK = "#1f2933"
ON_TINT = "#1f2932"  # ink on a coloured cell: the cell stays light where the page turns dark
MUTED = "#7b8794"
GRID = "#e4e7eb"
ACCENT = "#0b6e99"  # what the picture is about
WARM = "#d9541e"  # what went wrong
GOOD = "#009e73"
#: The hues of Okabe and Ito: distinct for colour-blind readers, and not all equally light in print.
SERIES = (ACCENT, WARM, "#4b2a82", GOOD, "#e0a100", "#d98cba", "#4a4f57", "#56b4e9")
#: Series also differ by mark and line: print has no colours.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")

#: Chinese, Japanese and Korean on Linux, macOS and Windows; the first of each that is installed.
_FALLBACKS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Noto Sans KR",
    "Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Yu Gothic", "Microsoft YaHei",
    "Malgun Gothic", "WenQuanYi Zen Hei", "IPAGothic",
)  # fmt: skip

_STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "figure.dpi": 110,
    "savefig.dpi": 180,
    "savefig.bbox": "tight",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,  # names come from data: $5 to $10 is not a formula
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "adjudge",  # the same data gives the same bytes
}


@contextmanager
def themed() -> Iterator[None]:
    """Draw inside `with themed():`; the caller's matplotlib settings do not change."""
    import matplotlib as mpl
    from cycler import cycler

    style: Any = {
        **_STYLE,
        "axes.prop_cycle": cycler(color=SERIES),
        "font.sans-serif": ["DejaVu Sans", *_other_scripts()],
    }
    with mpl.rc_context(style), warnings.catch_warnings():
        # A letter that no font here has is drawn as a box; matplotlib's warning would repeat that.
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing from font", category=UserWarning
        )
        yield


@cache
def _other_scripts() -> tuple[str, ...]:
    """Fonts on this machine for names that DejaVu Sans cannot write."""
    from matplotlib.font_manager import fontManager

    here = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _FALLBACKS if name in here)


def new_figure(width: float = 7.2, height: float = 4.2) -> Figure:
    """A figure that needs no display and no pyplot state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panel(draw: Callable[[Axes, Any], None], size: tuple[float, float], drawn: Any) -> Figure:
    """A figure of one panel: `draw` on its axes what is `drawn`."""
    with themed():
        figure = new_figure(*size)
        draw(figure.add_subplot(), drawn)
    return figure


def set_suptitle(figure: Figure, text: str) -> None:
    """The title over several panels, in the place and weight of a panel's own."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, fontweight="bold")


def check_picture(path: str | Path) -> Path:
    """The path, if its name ends in a format that a picture can be saved in."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArgumentError("plot", str(path), "end the name in .png, .svg or .pdf")
    return path


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Save as .png, .svg or .pdf, by a rename, so that a half-written picture is never seen."""
    from adjudge.atomic import replacing

    path = check_picture(path)
    suffix = path.suffix.lower()
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    picture = BytesIO()  # drawn whole first: on a full disk the PDF writer hides the reason
    with themed():
        figure.savefig(picture, format=suffix[1:], metadata=metadata)
    with replacing(path) as partial:
        partial.write_bytes(picture.getvalue())
    return path


SMALL_TO_LARGE = ("#9ab7d9", "#f7f3ea", "#eda383")
CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}

# --- names and legends -----------------------------------------------------------------------


def unique(names: Iterable[str | None]) -> list[str | None]:
    """The names in order of first appearance."""
    return list(dict.fromkeys(names))


def axis_names(names: Iterable[str | None]) -> dict[str | None, str]:
    """The names of judges on an axis."""
    different = unique(names)
    shown = clip_names(group_name(name, none="") for name in different)
    return dict(zip(different, shown, strict=True))


def axis_name(name: str | None) -> str:
    """The name of a judge or criterion on an axis; empty if it has no name."""
    return clip(group_name(name, none=""))


def legend_mark(label: str, **style: Any) -> Line2D:
    """An entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def legend_dot(label: str, colour: str, *, hollow: bool = False) -> Line2D:
    """An entry of a legend: a dot without a line."""
    face = {"mfc": "white"} if hollow else {}
    return legend_mark(label, marker="o", linestyle="", color=colour, **face)


def draw_legend(figure: Figure, marks: Sequence[Line2D], *, columns: int | None = None) -> None:
    """The legend below all panels; none without marks."""
    if marks:
        figure.legend(
            handles=list(marks),
            loc="outside lower center",
            ncols=columns or len(marks),
            fontsize=8.5,
        )


def add_legend(axes: Axes, loc: Any = "best", fontsize: float = 10, **style: Any) -> None:
    """A legend, if anything drawn has a name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=loc, fontsize=fontsize, **style)


# --- rows with intervals ---------------------------------------------------------------------


@dataclass(frozen=True)
class ForestRow:
    """A line of a forest: a dot, its interval if there is one, and a ring to compare it with.

    A dot that is not `filled` shows nothing.
    """

    name: str
    value: float | None
    interval: Interval | None = None
    ring: float | None = None
    filled: bool = True


def forest_figure(
    rows: Sequence[ForestRow],
    *,
    title: str,
    axis: str,
    dot: str = "",
    ring: str = "",
    scale: float = 100,
    around_zero: bool = False,
) -> Figure:
    """A dot with its interval for each row, from the top down; a legend if there are rings.

    `around_zero` has a line at zero in the middle; otherwise the axis begins where the rows do.
    """
    with themed():
        figure = new_figure(7.2, 1.6 + 0.42 * len(rows))
        axes = figure.subplots()
        for place, row in enumerate(rows):
            draw_interval(axes, place, row.interval, scale=scale, color=ACCENT, linewidth=1.6)
            if row.value is None:
                above = place if row.interval is None else place - 0.22  # not on its line
                text = "no estimate" if row.interval is None else "interval alone"
                at_left: Any = {"transform": axes.get_yaxis_transform(), "va": "center"}
                axes.text(0.01, above, text, color=MUTED, fontsize=8.5, **at_left)
            else:
                dot_style: Any = {"edgecolor": ACCENT, "linewidth": 1.0, "zorder": 3}
                face = ACCENT if row.filled else "white"
                axes.scatter(scale * row.value, place, s=44, facecolor=face, **dot_style)
            if row.ring is not None:
                ring_style: Any = {"edgecolor": INK, "linewidth": 1.5, "zorder": 4}
                axes.scatter(scale * row.ring, place, s=40, facecolor="white", **ring_style)
        name_rows(axes, [row.name for row in rows], fontsize=8.5)
        if around_zero:
            axes.axvline(0, color=MUTED, linestyle="--", linewidth=1.2)
            reach = max(map(abs, axes.get_xlim()))
            axes.set_xlim(-reach, reach)
        axes.set_xlabel(axis)
        axes.set_title(title)
        if any(row.ring is not None for row in rows):
            line = legend_mark(dot, marker="o", color=ACCENT)
            draw_legend(figure, [line, legend_dot(ring, INK, hollow=True)])
    return figure


def draw_interval(
    axes: Axes,
    place: float,
    interval: Interval | None,
    *,
    scale: float = 100,
    vertical: bool = False,
    **style: Any,
) -> None:
    """The line of an interval at a place on the other axis; nothing without both ends."""
    ends = [scale * end for end in interval or () if end is not None]
    if len(ends) == 2:
        axes.plot(*([place, place], ends) if vertical else (ends, [place, place]), **style)


def name_rows(axes: Axes, names: Sequence[str], **style: Any) -> None:
    """The names of rows 0, 1, ... from the top down, without lines between them."""
    axes.set_yticks(range(len(names)), names, **style)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


# --- panels and curves -----------------------------------------------------------------------


def criterion_panels(criteria: Sequence[str | None]) -> tuple[Figure, Sequence[Axes]]:
    """A figure with a panel for each criterion."""
    figure = new_figure(max(6.0, 2.6 * len(criteria)), 3.7)
    panels: Sequence[Axes] = figure.subplots(1, len(criteria), sharey=True, squeeze=False)[0]
    for axes, criterion in zip(panels, criteria, strict=True):
        axes.set_title(axis_name(criterion), fontsize=10)
    return figure, panels


def draw_promise(axes: Axes, levels: Sequence[float]) -> None:
    """The dashed line 1 - alpha, over the levels on the axis."""
    axes.plot(levels, [100 * (1 - level) for level in levels], color=INK, linestyle="--", lw=1.3)
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_xlabel("alpha")


def plot_band(
    axes: Axes, x: Sequence[float], each: FloatArray, colour: str, label: str, mark: str = "o"
) -> None:
    """The mean over judges (rows of `each`), a standard deviation to either side."""
    mean = np.nanmean(each, axis=0)
    spread = np.nanstd(each, axis=0, ddof=1) if len(each) > 1 else np.zeros(len(mean))
    axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.16, lw=0)
    axes.plot(x, mean, mark, linestyle="-", color=colour, label=label)


def draw_reliability(
    axes: Axes,
    confidence: Sequence[float],
    right: Sequence[float],
    *,
    n: Sequence[float] = (),
    intervals: Sequence[Interval | None] = (),
    series: int = 0,
    label: str | None = None,
) -> None:
    """The share that is right at each confidence; both are equal on the dashed line.

    Bars are the `intervals`, or a standard error to either side, from the number `n` of each share.
    """
    if intervals:
        ends = [tuple(interval or (None, None)) for interval in intervals]
        low, high = np.array(ends, dtype=np.float64).T
    else:
        shares = np.array(right)
        spread = np.sqrt(shares * (1 - shares) / n)
        low = shares - spread
        high = shares + spread
    colour = SERIES[series % len(SERIES)]
    mark = MARKS[series % len(MARKS)]
    axes.plot([0.5, 1], [0.5, 1], color=MUTED, linestyle="--", linewidth=1.2)
    axes.vlines(confidence, low, high, color=colour, linewidth=1.4, alpha=0.6)
    axes.plot(confidence, right, color=colour, marker=mark, ms=4.5, linewidth=1.4, label=label)


# --- coloured cells --------------------------------------------------------------------------


def draw_cells(
    axes: Axes,
    grid: FloatArray,
    colours: Sequence[str],
    ends: tuple[float, float],
    aspect: Literal["equal", "auto"] = "equal",
) -> AxesImage:
    """Coloured cells, without the lines around and between them."""
    from matplotlib.colors import LinearSegmentedColormap

    colour_map = LinearSegmentedColormap.from_list("cells", list(colours))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    low, high = ends
    return axes.imshow(grid, cmap=colour_map, vmin=low, vmax=high, aspect=aspect)


def write_cell(axes: Axes, column: int, row: int, value: str, note: str, *, bold: bool) -> None:
    """A value in the middle of a coloured cell, a note below it; `bold` for a note that warns."""
    size = 11 if len(value) < 8 else 8.5
    weight = "bold" if bold else "normal"
    for text, up, style in (
        (value, 6, {"size": size}),
        (note, -9, {"size": 7.5, "weight": weight}),
    ):
        axes.annotate(
            text,
            (column, row),
            xytext=(0, up),
            textcoords="offset points",
            color=ON_TINT,
            **style,
            **CENTRED,
        )
