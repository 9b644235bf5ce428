"""The leaderboard in a picture, and the names of all pictures of the ranking room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.ranking_evaluation import (
    budget_figure,
    evaluation_figure,
    held_out_figure,
    interval_figure,
    reliability_figure,
    residual_figure,
    width_figure,
)
from adjudge.present.tables import clipped
from adjudge.present.theme import ACCENT, INK, MUTED, WARM, new_figure, themed
from adjudge.results.ranking import Leaderboard, ModelRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS = 70


def leaderboard_figure(board: Leaderboard) -> Figure:
    """Models from the top down, each with its interval; open ends end in an arrow."""
    rows = _rows(board)
    if not rows:
        raise ArgumentError("plot", board.method, "there is no leaderboard to draw")
    with themed():
        figure = new_figure(7.6, max(2.6, 0.24 * len(rows) + 1.5))
        axes = figure.add_subplot()
        _leaderboard(axes, board)
        axes.set_title(_headline(board))
    return figure


def _rows(board: Leaderboard) -> tuple[ModelRow, ...]:
    """What fits: the top of a board, or around the new models where there are any."""
    new = [row.rank for row in board.models if row.origin == "new"]
    if not new or len(board.models) <= _MOST_ROWS:
        return board.models[:_MOST_ROWS]
    nearest = sorted(board.models, key=lambda row: min(abs(row.rank - rank) for rank in new))
    kept = {row.model for row in nearest[:_MOST_ROWS]}
    return tuple(row for row in board.models if row.model in kept)


def _headline(board: Leaderboard) -> str:
    first = board.models[0]
    rivals = sum(row.rank_low == 1 for row in board.models if row.component == first.component)
    if any(row.origin == "new" for row in board.models):
        new = [row for row in board.models if row.origin == "new"]
        if len(new) == 1 and new[0].elo is not None:
            span = "unbounded"
            if new[0].low is not None and new[0].high is not None:
                span = f"{new[0].low:.0f} to {new[0].high:.0f}"
            return f"{_short(new[0].model)}: {new[0].elo:.0f} on people's scale ({span})"
        return f"{len(new)} new models on people's scale"
    if first.rank_low is None:
        return f"{_short(first.model)} leads by {board.method}"
    if rivals <= 1:
        return f"{_short(first.model)} leads, beyond doubt"
    return f"{rivals} of {len(board.models)} models may be first"


def _leaderboard(axes: Axes, board: Leaderboard) -> None:
    rows = _rows(board)
    has_elo = any(row.elo is not None for row in rows)
    values = [(row.elo if has_elo else row.score) or 0.0 for row in rows]
    ends = [v for row in rows for v in (row.low, row.high) if v is not None]
    low, high = min([*values, *ends]), max([*values, *ends])
    margin = 0.04 * (high - low) or 1.0
    axes.set_xlim(low - 2 * margin, high + 2 * margin)
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = MUTED if row.origin == "anchor" else WARM if row.origin == "new" else ACCENT
        left = row.low if row.low is not None else (low - margin if row.unbounded else value)
        right = row.high if row.high is not None else (high + margin if row.unbounded else value)
        axes.plot([left, right], [at, at], color=colour, lw=2.2, alpha=0.45, solid_capstyle="butt")
        axes.plot(value, at, "o", color=colour, ms=5)
        if row.unbounded:
            for end, where, marker in ((row.low, left, "<"), (row.high, right, ">")):
                if end is None:
                    axes.plot(where, at, marker, color=colour, ms=5)
    axes.set_yticks(range(len(rows)), [f"{_short(row.model)}  {row.rank}" for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=8 if len(rows) > 25 else 9)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.origin == "new":
            label.set(color=WARM, fontweight="bold")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    breaks = [k for k in range(1, len(rows)) if rows[k].component != rows[k - 1].component]
    for at in breaks:
        axes.axhline(at - 0.5, color=INK, lw=0.8, ls=":")
    level = "" if board.confidence_level is None else f"{100 * board.confidence_level:g} % "
    unit = "Elo" if has_elo else {"win-rate": "win rate"}.get(board.method, "score")
    told = f"{unit}, {level}{board.interval} interval" if board.interval != "none" else unit
    if any(row.origin == "anchor" for row in rows):
        told += "; grey: people's Elo of the anchors"
    if breaks:
        told += "; groups parted by a line are not on one scale"
    axes.set_xlabel(told)


def _short(name: str) -> str:
    return clipped(name, 40)


FIGURES: dict[str, Callable[[Leaderboard], Figure]] = {
    "leaderboard": leaderboard_figure,
    "evaluation": evaluation_figure,
    "held-out": held_out_figure,
    "residuals": residual_figure,
    "reliability": reliability_figure,
    "widths": width_figure,
    "intervals": interval_figure,
    "budgets": budget_figure,
}
