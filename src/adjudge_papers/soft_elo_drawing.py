"""What tables and pictures of the Soft-Elo paper share: which judges, names, colours, bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from adjudge.diagnosis.measures import ends_of
from adjudge.errors import ArgumentError
from adjudge.present.figure import INK, MARKS, SERIES
from adjudge.present.text import clip, percent, span
from adjudge.records import Interval
from adjudge_papers.items import read_published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow


_Corner = Literal["best", "upper left", "upper right", "lower left", "lower right"]
MAIN = "lmarena100k"
#: The paper's colours of its corpora: blue, green, pink.
CORPUS_COLOUR = {MAIN: SERIES[0], "lmarena140k": SERIES[3], "comparia": SERIES[5]}
QUARTERS = ("weakest\nquarter", "second", "third", "strongest\nquarter")


def main_rows(result: SoftEloReproduction) -> list[SoftEloRow]:
    """The judges of the main corpus, or of the first corpus if that is not here."""
    corpora = [row.corpus for row in result.rows]
    if not corpora:
        raise ArgumentError("plot", result.kind, "no judge could be compared with people")
    shown = MAIN if MAIN in corpora else corpora[0]
    return [row for row in result.rows if row.corpus == shown]


def shown_judge(rows: Sequence[SoftEloRow], name: str) -> SoftEloRow:
    """The judge that the paper shows, or the first with soft targets."""
    named = [row for row in rows if row.judge == name]
    soft = [row for row in rows if row.soft_mae is not None]
    return (named or soft or list(rows))[0]


def corpus_name(result: SoftEloReproduction, corpus: str) -> str:
    """The name of a corpus in a legend, marked if it is simulated."""
    name = read_published("soft-elo")["titles"].get(corpus, corpus)
    return f"{name} (simulated)" if result.simulated else name


def corpus_mark(corpus: str) -> str:
    """One mark per corpus in every picture."""
    return dict(zip(CORPUS_COLOUR, MARKS, strict=False)).get(corpus, MARKS[-1])


def corpus_colour(corpus: str) -> str:
    """One colour per corpus in every picture."""
    return CORPUS_COLOUR.get(corpus, SERIES[6])


def judge_looks(rows: Iterable[SoftEloRow]) -> dict[str, tuple[str, str]]:
    """One colour and mark per judge, by name, in every picture; not those of hard and soft."""
    names = sorted({row.judge for row in rows})
    colours = SERIES[2:]
    return {
        name: (colours[k % len(colours)], MARKS[2:][k % len(MARKS[2:])])
        for k, name in enumerate(names)
    }


def short(name: str) -> str:
    """The name of a judge or model on an axis."""
    return clip(name, 30)


def name_rows(axes: Axes, names: Sequence[str], *, size: float = 9) -> None:
    """Names down the left side, the first on top."""
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.tick_params(axis="y", length=0, labelsize=size)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def add_legend(axes: Axes, *, loc: _Corner = "best", fontsize: float = 10) -> None:
    """A legend, if a line has a name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=loc, fontsize=fontsize)


def draw_share(
    axes: Axes, at: float, share: float, interval: Interval | None, height: float, colour: str
) -> None:
    """A bar of a share in percent, with its interval if there is one."""
    axes.barh(at, 100 * share, height=height, color=colour, alpha=0.85)
    low, high = ends_of(interval)
    if low is not None and high is not None:
        reach = [[100 * max(0.0, share - low)], [100 * max(0.0, high - share)]]
        axes.errorbar(100 * share, at, xerr=reach, color=INK, capsize=3, lw=1.2)


def range_title(what: str, values: Sequence[float | None], digits: int) -> str:
    """A title with the smallest and the largest value."""
    known = [value for value in values if value is not None]
    if not known:
        return what
    return f"{what} from {span(f'{min(known):.{digits}f}', f'{max(known):.{digits}f}')}"


def compared(result: SoftEloReproduction) -> list[tuple[SoftEloRow, float, float]]:
    """The rows that have both errors, hard and soft."""
    return [
        (row, row.hard_mae, row.soft_mae)
        for row in result.rows
        if row.hard_mae is not None and row.soft_mae is not None
    ]


def describe_change(result: SoftEloReproduction) -> str:
    """By how much soft targets change the held-out error, the mean over judges and corpora."""
    gains = [1 - soft / hard for _, hard, soft in compared(result) if hard]
    if not gains:
        return "Held-out error"
    gain = sum(gains) / len(gains)
    verb = "cut" if gain >= 0 else "raise"
    return f"Soft targets {verb} the held-out error by {percent(abs(gain), 0)}"


def row_names(rows: list[SoftEloRow]) -> list[str]:
    """The judge of each row, with its corpus if there are several."""
    several = len({row.corpus for row in rows}) > 1
    return [f"{row.judge}, {row.corpus}" if several else row.judge for row in rows]
