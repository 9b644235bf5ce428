"""What `rank --evaluate` measured, in pictures. Hard-Elo is warm, Soft-Elo the accent colour.

A panel draws on its axes and sets its own title, computed from what it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.text import clip
from adjudge.present.theme import ACCENT, GRID, INK, MUTED, SERIES, WARM, new_figure, themed
from adjudge.results.ranking import HeldOutRow, Leaderboard, Temperature

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOUR = {"hard-elo": WARM, "soft-elo": ACCENT, "smoothed": SERIES[2]}
NAME = {"hard-elo": "Hard-Elo", "soft-elo": "Soft-Elo", "smoothed": "smoothed"}
MARK = {"hard-elo": "s", "soft-elo": "o", "smoothed": "^"}
#: Models whose names fit under an axis.
MOST_NAMES = 30


def evaluation_figure(board: Leaderboard) -> Drawing:
    """What --evaluate measured, six pictures in one; a panel without data is left out."""
    _need_evaluation(board)
    panels: list[Callable[[Axes, Leaderboard], None]] = [draw_held_out, draw_residuals]
    if board.temperature is not None and board.temperature.reliability:
        fit = board.temperature
        panels.append(lambda axes, _: _reliability(axes, fit))
    if any(row.quantile is not None for row in board.conformal):
        panels += [draw_widths, draw_intervals]
    if board.budgets:
        panels.append(draw_budgets)
    columns = 2 if len(panels) in (2, 4) else 3
    lines = -(-len(panels) // columns)
    with themed():
        figure = new_figure(4.9 * columns, 4.3 * lines)
        for at, draw in enumerate(panels):
            axes = figure.add_subplot(lines, columns, at + 1)
            draw(axes, board)
            axes.set_title(axes.get_title(loc="left"), fontsize=10)
    return figure


def _need_evaluation(board: Leaderboard) -> None:
    if not board.held_out:
        raise ArgumentError("figure", "evaluation", "run with --evaluate, on battles with votes")


def panel(
    draw: Callable[[Axes, Leaderboard], None], size: tuple[float, float], board: Leaderboard
) -> Drawing:
    """One of the panels below as a separate figure."""
    _need_evaluation(board)
    with themed():
        figure = new_figure(*size)
        draw(figure.add_subplot(), board)
    return figure


def draw_held_out(axes: Axes, board: Leaderboard) -> None:
    """Held-out Elo against people's, an arrow from hard to soft for each model."""
    plot_held_out(axes, board.held_out)
    axes.set_title(change_title("Held-out error", {row.method: row.mae for row in board.loo}))


def plot_held_out(axes: Axes, held_out: Sequence[HeldOutRow]) -> None:
    """The same from the rows alone, with their mean error in the title."""
    hard = {row.model: row for row in held_out if row.method == "hard-elo"}
    soft = {row.model: row for row in held_out if row.method == "soft-elo"}
    shown = {"hard-elo": hard} | ({"soft-elo": soft} if soft else {})
    x_ends = _ends([row.human_elo for row in hard.values()])
    y_ends = _ends([row.elo for rows in shown.values() for row in rows.values()])
    diagonal = [min(x_ends[0], y_ends[0]), max(x_ends[1], y_ends[1])]
    axes.plot(diagonal, diagonal, color=INK, lw=1, ls="--", zorder=1)
    for name in [name for name in hard if name in soft]:
        x = hard[name].human_elo
        draw_arrow(axes, (x, hard[name].elo), (x, soft[name].elo), alpha=0.6, lw=1.0, shrink=3)
    for method, rows in shown.items():
        axes.plot(
            [row.human_elo for row in rows.values()],
            [row.elo for row in rows.values()],
            MARK[method],
            color=COLOUR[method],
            ms=4.5,
            label=NAME[method],
        )
    axes.set_xlim(*x_ends)
    axes.set_ylim(*y_ends)
    axes.set_xlabel("people's Elo (dashed: equal)")
    axes.set_ylabel("judge's Elo, model left out")
    axes.legend(loc="upper left")
    errors = {
        method: sum(abs(row.residual) for row in rows.values()) / len(rows)
        for method, rows in shown.items()
    }
    axes.set_title(change_title("Held-out error", errors))


def draw_arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    colour: str = MUTED,
    alpha: float = 1.0,
    lw: float,
    shrink: float,
) -> None:
    """An arrow between two points that keeps clear of their dots."""
    style = {"arrowstyle": "->", "color": colour, "alpha": alpha, "lw": lw}
    axes.annotate(
        "", xy=end, xytext=start, arrowprops={**style, "shrinkA": shrink, "shrinkB": shrink}
    )


def change_title(what: str, values: Mapping[str, float | None]) -> str:
    """The values of hard and soft targets in a title."""
    names = (("hard-elo", "hard"), ("soft-elo", "soft"))
    parts = [f"{values[key]:.0f} {name}" for key, name in names if values.get(key) is not None]
    return f"{what}, Elo: {', '.join(parts)}" if parts else what


def _ends(values: list[float]) -> tuple[float, float]:
    margin = 0.06 * (max(values) - min(values)) or 10.0
    return min(values) - margin, max(values) + margin


def draw_residuals(axes: Axes, board: Leaderboard) -> None:
    """Signed residual by quarter of strength: if it rises, the scale is stretched."""
    axes.axhline(0, color=MUTED, lw=1)
    ramps = {}
    for row in board.loo:
        quarters = row.residual_by_quarter
        if row.method not in COLOUR or len(quarters) != 4:
            continue
        axes.plot(range(4), quarters, marker=MARK[row.method], color=COLOUR[row.method],
                  label=NAME[row.method])  # fmt: skip
        ramps[row.method] = quarters[3] - quarters[0]
    axes.set_xticks(range(4), ["weakest\nquarter", "second", "third", "strongest\nquarter"])
    axes.set_xlim(-0.3, 3.3)
    axes.set_ylabel("judge − people, Elo")
    axes.set_title(change_title("Strongest − weakest quarter", ramps))
    if ramps:
        axes.legend(loc="best")


def reliability_figure(temperature: Temperature) -> Drawing:
    """How often people take the judge's side, against sigma(beta |s|)."""
    with themed():
        figure = new_figure(5.0, 4.6)
        _reliability(figure.add_subplot(), temperature)
    return figure


def _reliability(axes: Axes, temperature: Temperature) -> None:
    bins = temperature.reliability
    if not bins:
        raise ArgumentError("figure", "reliability", "it needs soft-elo with human votes")
    predicted = np.array([row.predicted for row in bins])
    observed = np.array([row.observed for row in bins])
    error = np.sqrt(observed * (1 - observed) / np.array([row.n for row in bins]))
    low = min(0.5, float((observed - error).min())) - 0.02
    axes.plot([low, 1], [low, 1], color=MUTED, lw=1, ls="--")
    axes.errorbar(predicted, observed, yerr=error, fmt="o-", color=ACCENT, ms=5, lw=1.6, capsize=2)
    axes.set_xlim(low, 1.02)
    axes.set_ylim(low, 1.02)
    axes.set_xlabel("predicted: σ(β|s|) (dashed: equal)")
    axes.set_ylabel("share of votes for the judge's side, ± SE")
    ece = "" if temperature.ece is None else f" (error {temperature.ece:.3f})"
    axes.set_title(f"Calibration of σ(β|s|){ece}")


def draw_widths(axes: Axes, board: Leaderboard) -> None:
    """Interval width as quantile x standard error, on curves of equal width (appendix I)."""
    points = {
        row.method: (row.quantile, row.median_se)
        for row in board.conformal
        if row.method in COLOUR and row.quantile is not None and row.median_se is not None
    }
    if not points:
        needed = board.conformal[0].models_needed if board.conformal else None
        reason = "too few models" if needed is None else f"it takes {needed} calibration models"
        raise ArgumentError("figure", "widths", f"intervals are unbounded here: {reason}")
    right = 1.35 * max(q for q, _ in points.values())
    top = 1.45 * max(se for _, se in points.values())
    width_contours(axes, right, top)
    if {"hard-elo", "soft-elo"} <= points.keys():
        draw_arrow(axes, points["hard-elo"], points["soft-elo"], lw=1.4, shrink=7)
    for method, (q, se) in points.items():
        axes.plot(q, se, MARK[method], color=COLOUR[method], ms=9, label=NAME[method])
    axes.legend(loc="upper left")
    widths = {row.method: row.median_width for row in board.conformal}
    axes.set_title(change_title("Interval width", widths))


def width_contours(axes: Axes, right: float, top: float) -> None:
    """Curves of equal width 2 q SE behind points in the plane of its two factors."""
    x = np.linspace(0.02 * right, right, 200)
    last = 0.0
    for width in _round_steps(2 * right * top):
        y = width / (2 * x)
        inside = y <= top
        axes.plot(x[inside], y[inside], color=GRID, lw=1)
        # Labelled where the curve leaves the picture on the right, if the label has room there.
        end = width / (2 * right)
        if inside.any() and end - last > 0.05 * top:
            axes.text(right, end, f" {width:g}", color=MUTED, fontsize=8, va="center")
            last = end
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    axes.set_xlabel("conformal quantile (grey: equal width, in Elo)")
    axes.set_ylabel("median standard error, Elo")
    axes.grid(visible=False)


def _round_steps(largest: float) -> list[float]:
    steps = [base * 10**power for power in range(5) for base in (1.0, 2.0, 5.0)]
    return [step for step in steps if largest / 40 <= step <= 0.6 * largest]


def draw_intervals(axes: Axes, board: Leaderboard) -> None:
    """Each left-out model's conformal interval around people's Elo, hard behind soft."""
    order = sorted(
        (row for row in board.held_out if row.method == "hard-elo"), key=lambda row: row.human_elo
    )
    place = {row.model: k for k, row in enumerate(order)}
    title = "Too few models for an interval"
    for method, width, alpha in (("hard-elo", 5.0, 0.25), ("soft-elo", 2.2, 0.9)):
        rows = [row for row in board.held_out if row.method == method and row.model in place]
        bounded = [row for row in rows if row.low is not None and row.high is not None]
        for row in bounded:
            ends = [end - row.human_elo for end in (row.low, row.high) if end is not None]
            axes.plot(
                [place[row.model]] * 2,
                ends,
                color=COLOUR[method],
                lw=width,
                alpha=alpha,
                solid_capstyle="butt",
            )
        if rows:
            axes.plot([], [], color=COLOUR[method], lw=width, alpha=alpha, label=NAME[method])
        if bounded:
            inside = sum(row.covered is True for row in bounded)
            title = f"{inside} of {len(bounded)} {NAME[method]} intervals contain people's Elo"
    axes.axhline(0, color=INK, lw=1)
    names = [clip(row.model, 16) for row in order]
    shown = len(names) <= MOST_NAMES
    axes.set_xticks(
        range(len(names)) if shown else [],
        names if shown else [],
        rotation=50,
        ha="right",
        rotation_mode="anchor",
    )
    axes.set_xlabel("models, weakest to strongest on people's scale")
    axes.set_ylabel("interval − people's Elo")
    axes.set_xlim(-1, len(order))
    axes.legend(loc="best", ncols=2)
    axes.set_title(title)


def draw_budgets(axes: Axes, board: Leaderboard) -> None:
    """Held-out error against judged battles per model."""
    if not board.budgets:
        raise ArgumentError("figure", "budgets", "it needs more than five battles per model")
    for method in ("hard-elo", "soft-elo"):
        rows = [row for row in board.budgets if row.method == method]
        if not rows:
            continue
        x = np.array([row.per_model for row in rows])
        y = np.array([row.mae for row in rows])
        sd = np.array([row.mae_sd or 0.0 for row in rows])
        axes.fill_between(x, y - sd, y + sd, color=COLOUR[method], alpha=0.15, lw=0)
        axes.plot(x, y, marker=MARK[method], color=COLOUR[method], label=NAME[method])
    axes.set_xscale("log")
    ticks = sorted({row.per_model for row in board.budgets})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("judged battles per model")
    axes.set_ylabel("held-out error, Elo, ± one std. deviation")
    axes.legend(loc="upper right")
    fewest = {row.method: row.mae for row in board.budgets if row.per_model == ticks[0]}
    axes.set_title(change_title(f"Error at {ticks[0]:g} battles each", fewest))
