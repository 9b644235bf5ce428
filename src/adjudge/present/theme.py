"""One look for every picture: colours that survive greyscale and colour blindness, quiet axes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjudge.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
