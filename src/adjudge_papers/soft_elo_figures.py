"""The Soft-Elo paper's errors and ours in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.text import clip, percent
from adjudge.present.theme import ACCENT, INK, MUTED, WARM, new_figure, themed
from adjudge_papers.soft_elo_result import SoftEloReproduction, SoftEloRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


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


def error_figure(result: SoftEloReproduction) -> Drawing:
    """Held-out error of each judge, hard to soft; the paper's as rings."""
    rows = compared(result)[::-1]
    if not rows:
        raise ArgumentError("plot", result.kind, "no judge could be compared with people")
    with themed():
        figure = new_figure(7.4, max(2.4, 0.34 * len(rows) + 1.5))
        axes = figure.add_subplot()
        for at, (row, hard, soft) in enumerate(rows):
            axes.plot([soft, hard], [at, at], color=MUTED, lw=1.2, zorder=1)
            axes.plot(hard, at, "s", color=WARM, ms=7, label="Hard-Elo" if at == 0 else None)
            axes.plot(soft, at, "o", color=ACCENT, ms=7, label="Soft-Elo" if at == 0 else None)
            for value, colour in ((row.published_hard_mae, WARM), (row.published_soft_mae, ACCENT)):
                if value is not None:
                    axes.plot(value, at, "o", mfc="none", mec=colour, ms=11, mew=1.5)
        if any(row.published_hard_mae is not None for row, *_ in rows):
            axes.plot([], [], "o", mfc="none", mec=INK, ms=11, mew=1, label="paper")
        names = [clip(name, 40) for name in row_names([row for row, *_ in rows])]
        axes.set_yticks(range(len(rows)), names)
        axes.grid(visible=False, axis="y")
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("held-out error, Elo")
        axes.set_title(describe_change(result))
        figure.legend(loc="outside lower center", ncols=3)
    return figure
