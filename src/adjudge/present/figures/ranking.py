"""The leaderboard in a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.text import DASH, clip, interval, level, number, span
from adjudge.present.theme import ACCENT, INK, MUTED, WARM, new_figure, themed
from adjudge.results.ranking import Leaderboard, ModelRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_MOST_ROWS = 70
_COLOUR = {"battles": ACCENT, "anchor": MUTED, "new": WARM}
_NAMED = 3


def leaderboard_figure(board: Leaderboard) -> Drawing:
    """Models from the top down, each with its interval; open ends end in an arrow."""
    rows = _rows(board)
    if not rows:
        raise ArgumentError("plot", board.method, "there is no leaderboard to draw")
    with themed():
        figure = new_figure(7.6, max(2.6, 0.24 * len(rows) + 1.5))
        axes = figure.add_subplot()
        _draw(axes, board, rows)
        axes.set_title(_title(board))
    return figure


def _rows(board: Leaderboard) -> tuple[ModelRow, ...]:
    """What fits: the top of a board, or around the new models if there are any."""
    new = [row.rank for row in board.models if row.origin == "new"]
    if not new or len(board.models) <= _MOST_ROWS:
        return board.models[:_MOST_ROWS]
    nearest = sorted(board.models, key=lambda row: min(abs(row.rank - rank) for rank in new))
    kept = {row.model for row in nearest[:_MOST_ROWS]}
    return tuple(row for row in board.models if row.model in kept)


def _title(board: Leaderboard) -> str:
    new = [row for row in board.models if row.origin == "new"]
    if len(new) == 1:
        ends = interval(new[0].low, new[0].high, 0, unbounded=new[0].unbounded)
        return f"{clip(new[0].model, 40)}: {number(new[0].elo, 0)} on people's scale {ends}"
    if new:
        return f"{len(new)} new models on people's scale"
    ranks = spell_range(board.models[0])
    if ranks is None:
        return f"{first_place(board)} by {board.method}"
    return f"{first_place(board)} (rank range {ranks})"


def first_place(board: Leaderboard) -> str:
    """Who is first: one model, or those that share the place."""
    first = [clip(row.model, 40) for row in leaders(board)]
    if len(first) == 1:
        return f"{first[0]} is first"
    named = ", ".join(first[: min(_NAMED, len(first) - 1)])
    more = len(first) - _NAMED
    return f"{named} and {f'{more} more' if more > 0 else first[-1]} share first place"


def leaders(board: Leaderboard) -> list[ModelRow]:
    """The models of rank 1 in the group that is listed first."""
    first = board.models[0]
    return [row for row in board.models if row.component == first.component and row.rank == 1]


def rank_range(row: ModelRow) -> str:
    """The ranks that a model can have; a dash if they are not known."""
    if row.rank_low is None or row.rank_high is None:
        return DASH
    return span(str(row.rank_low), str(row.rank_high))


def spell_range(row: ModelRow) -> str | None:
    """The ranks that a model can have, in a sentence."""
    ranks = rank_range(row)
    if ranks == DASH:
        return None
    return f"{ranks} only" if row.rank_low == row.rank_high else ranks


def _draw(axes: Axes, board: Leaderboard, rows: tuple[ModelRow, ...]) -> None:
    has_elo = any(row.elo is not None for row in rows)
    values = [(row.elo if has_elo else row.score) or 0.0 for row in rows]
    ends = [v for row in rows for v in (row.low, row.high) if v is not None]
    low, high = min([*values, *ends]), max([*values, *ends])
    margin = 0.04 * (high - low) or 1.0
    axes.set_xlim(low - 2 * margin, high + 2 * margin)
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = _COLOUR[row.origin]
        left = row.low if row.low is not None else (low - margin if row.unbounded else value)
        right = row.high if row.high is not None else (high + margin if row.unbounded else value)
        axes.plot([left, right], [at, at], color=colour, lw=2.2, alpha=0.45, solid_capstyle="butt")
        axes.plot(value, at, "o", color=colour, ms=5)
        if row.unbounded:
            for end, where, marker in ((row.low, left, "<"), (row.high, right, ">")):
                if end is None:
                    axes.plot(where, at, marker, color=colour, ms=5)
    axes.set_yticks(range(len(rows)), [f"{clip(row.model, 40)}  {row.rank}" for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=8 if len(rows) > 25 else 9)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.origin == "new":
            label.set(color=WARM, fontweight="bold")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    breaks = [k for k in range(1, len(rows)) if rows[k].component != rows[k - 1].component]
    for at in breaks:
        axes.axhline(at - 0.5, color=INK, lw=0.8, ls=":")
    unit = "Elo" if has_elo else {"win-rate": "win rate"}.get(board.method, "score")
    lines = [unit]
    if board.interval != "none" and board.confidence_level is not None:
        lines = [f"{unit}, {level(board.confidence_level)} {board.interval} interval"]
        if not board.covers_judge_error:
            lines.append("intervals do not include judge errors")
    if any(row.origin == "anchor" for row in rows):
        lines.append("grey: people's Elo of the anchors")
    if breaks:
        lines.append("groups separated by a dotted line are not on one scale")
    lines.append("the number after a name is its rank")
    if len(rows) < len(board.models):
        lines.append(f"{len(rows)} of {len(board.models)} models")
    axes.set_xlabel("\n".join(lines))
