"""What `rank --evaluate` measured, in tables and pictures.

Hard-Elo is warm, Soft-Elo the accent colour. A panel draws on its axes and sets its own title,
computed from what it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.present import text
from adjudge.present.blocks import Block, Columns, Figure, Note, Table, notes_of, table_of
from adjudge.present.figure import (
    ACCENT,
    GRID,
    INK,
    MUTED,
    SERIES,
    WARM,
    add_legend,
    draw_interval,
    new_figure,
    panel,
    plot_band,
    themed,
)
from adjudge.ranking.temperature import draw_calibration
from adjudge.records import Interval
from adjudge.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.ranking.leaderboard import (
        ConformalRow,
        GroupQuantile,
        HeldOutRow,
        Leaderboard,
        LooRow,
    )

    Panel = Callable[[Axes, Leaderboard], None]

_REFUSED_SHOWN = 6
COLOUR = {"hard-elo": WARM, "soft-elo": ACCENT, "smoothed": SERIES[2]}
NAME = {"hard-elo": "Hard-Elo", "soft-elo": "Soft-Elo", "smoothed": "smoothed"}
MARK = {"hard-elo": "s", "soft-elo": "o", "smoothed": "^"}
QUARTERS = ("weakest\nquarter", "second", "third", "strongest\nquarter")
#: Models whose names fit under an axis.
MOST_NAMES = 30


def evaluation_blocks(board: Leaderboard) -> list[Block]:
    """Errors, intervals and budgets of every method against people."""
    columns: Columns[LooRow] = {
        "method": lambda row: row.method,
        "models": lambda row: text.number(row.n_models),
        "error": lambda row: text.number(row.mae, 1),
        "95 % interval": lambda row: text.show_interval(row.mae_interval, 1),
        "Spearman": lambda row: text.number(row.spearman),
        "Kendall": lambda row: text.number(row.kendall),
        "beta or constant": lambda row: text.number(
            row.mean_smoothing if row.mean_beta is None else row.mean_beta
        ),
        "weak to strong quarter": lambda row: (
            " ".join(text.signed(gap, 0) for gap in row.residual_by_quarter) or text.DASH
        ),
    }
    caption = (
        "Against people, each model left out in turn: mean error in Elo, and judge minus people by "
        "quarter of strength"
    )
    optional = ("Kendall", "beta or constant", "models")
    blocks: list[Block] = [table_of(board.loo, columns, caption=caption, optional=optional)]
    lines: dict[str, list[str]] = {}
    for row in board.loo:
        for line in text.left_out(row.left_out, "model"):
            lines.setdefault(line, []).append(row.method)
    blocks += notes_of([f"{line} ({', '.join(names)})" for line, names in lines.items()])
    blocks += _interval_blocks(board)
    if board.budgets:
        sizes = sorted({row.per_model for row in board.budgets})
        names = ("battles per model", *(f"{size:g}" for size in sizes))
        error = {(row.method, row.per_model): text.number(row.mae, 1) for row in board.budgets}
        rows = [
            (method, *(error.get((method, size), text.DASH) for size in sizes))
            for method in dict.fromkeys(row.method for row in board.budgets)
        ]
        blocks.append(Table(names, rows, "Error in Elo with fewer judged battles"))
    return blocks + _quantile_blocks(board) + _evaluation_figures(board)


def interval_notes(board: Leaderboard) -> list[Block]:
    """How many conformal intervals of left-out models contain people's Elo, in one line."""
    rows = [row for row in board.held_out if row.method == board.method]
    widths = [row.width for row in rows if row.width is not None]
    if not widths:
        return []
    inside = sum(row.covered is True for row in rows)
    line = (
        f"Intervals for new models ({text.level(rows[0].interval.level)}, conformal): {inside} of "
        f"{len(widths)} contain people's Elo, median width {text.number(median(widths), 0)}"
    )
    return [Note([line])]


def _interval_blocks(board: Leaderboard) -> list[Block]:
    """Intervals tested on random halves, if half the models are enough."""
    if not board.conformal:
        return []
    first = board.conformal[0]
    name = f"{text.level(1 - first.alpha)} intervals for new models"
    if all(row.unbounded for row in board.conformal):
        return [Note([f"{name} cannot be tested on random halves: {first.why_unbounded}"])]
    columns: Columns[ConformalRow] = {
        "method": lambda row: row.method,
        "calibrate": lambda row: text.number(row.n_calibration),
        "test": lambda row: text.number(row.n_test),
        "coverage": lambda row: text.percent(row.coverage),
        "median width": lambda row: (
            "unbounded" if row.unbounded else text.number(row.median_width, 0)
        ),
        "range of widths": lambda row: text.interval(row.width_low, row.width_high, 0),
        "quantile": lambda row: text.number(row.quantile, 2),
        "median se": lambda row: text.number(row.median_se, 1),
    }
    splits = text.count(first.splits, "split")
    caption = f"{name}, tested on random halves of the models ({splits})"
    optional = ("test", "calibrate", "range of widths")
    return [table_of(board.conformal, columns, caption=caption, optional=optional)]


def _quantile_blocks(board: Leaderboard) -> list[Block]:
    """Quantiles by family and by group: a table of those that have one, a line for the others."""
    blocks: list[Block] = []
    for by in dict.fromkeys(row.by for row in board.quantiles):
        rows = [row for row in board.quantiles if row.by == by]
        bounded = [row for row in rows if row.quantile is not None]
        if bounded:
            columns: Columns[GroupQuantile] = {
                by: lambda row: row.group,
                "models": lambda row: text.number(row.n_models),
                "quantile": lambda row: text.number(row.quantile, 2),
                "median width": lambda row: text.number(row.median_width, 0),
                "coverage": lambda row: text.percent(row.coverage),
            }
            caption = f"Intervals by {by}, each model's from the others of its {by}"
            blocks.append(table_of(bounded, columns, caption=f"{caption} ({bounded[0].method})"))
        refused = [f"{row.group} ({row.reason})" for row in rows if row.quantile is None]
        if refused:
            names = ", ".join(refused[:_REFUSED_SHOWN])
            more = len(refused) - _REFUSED_SHOWN
            sentence = f"{names} and {more} more" if more > 0 else names
            blocks.append(Note([f"no intervals by {by} for {sentence}"]))
    return blocks


def beta_columns(name: str) -> Columns[Any]:
    """The columns of temperatures, each of a judge or a group."""
    return {
        name: lambda row: getattr(row, name),
        "votes": lambda row: text.number(row.n_votes),
        "beta": lambda row: text.number(row.beta),
        "se": lambda row: text.number(row.beta_se),
    }


def group_blocks(board: Leaderboard) -> list[Block]:
    """The temperature of each group, and whether one is enough."""
    blocks: list[Block] = []
    if rows := sorted(board.groups, key=lambda row: -row.n_votes):
        blocks.append(table_of(rows, beta_columns("group"), caption="Temperature by group"))
    return blocks + notes_of([board.pooling] if board.pooling else [])


# --- figures ---


def _evaluation_figures(board: Leaderboard) -> list[Block]:
    """Every picture with data to draw; the one with all panels is drawn only by name."""
    if not board.held_out:
        return []
    bounded = (row for row in board.conformal if row.method in COLOUR)
    widths = any(row.quantile is not None for row in bounded)
    has_data = {"widths": widths, "intervals": widths, "budgets": bool(board.budgets)}
    shown = {name: panel for name, panel in _PANELS.items() if has_data.get(name, True)}
    whole = partial(evaluation_figure, board, [draw for draw, _, _ in shown.values()])
    return [
        Figure("evaluation", whole, "What leaving models out measured.", on_page=False),
        *(
            Figure(name, partial(panel, draw, size, board), caption)
            for name, (draw, size, caption) in shown.items()
        ),
    ]


def evaluation_figure(board: Leaderboard, draws: list[Panel]) -> Drawing:
    """What --evaluate measured, six pictures in one; a panel without data is left out."""
    if (fit := board.temperature) is not None and fit.reliability:
        draws = [*draws[:2], lambda axes, _: draw_calibration(axes, fit), *draws[2:]]
    columns = 2 if len(draws) in (2, 4) else 3
    lines = -(-len(draws) // columns)
    with themed():
        figure = new_figure(4.9 * columns, 4.3 * lines)
        for at, draw in enumerate(draws):
            axes = figure.add_subplot(lines, columns, at + 1)
            draw(axes, board)
            axes.set_title(axes.get_title(loc="left"), fontsize=10)
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
    ends = [
        _axis_ends([row.human_elo for row in hard.values()]),
        _axis_ends([row.elo for rows in shown.values() for row in rows.values()]),
    ]
    diagonal = [min(low for low, _ in ends), max(high for _, high in ends)]
    axes.plot(diagonal, diagonal, color=INK, lw=1, ls="--", zorder=1)
    for name in [name for name in hard if name in soft]:
        at = hard[name].human_elo
        draw_arrow(axes, (at, hard[name].elo), (at, soft[name].elo), alpha=0.6, lw=1.0, shrink=3)
    errors = {}
    for method, rows in shown.items():
        x, y = zip(*((row.human_elo, row.elo) for row in rows.values()), strict=True)
        axes.plot(x, y, MARK[method], color=COLOUR[method], ms=4.5, label=NAME[method])
        errors[method] = sum(abs(row.residual) for row in rows.values()) / len(rows)
    axes.set(xlim=ends[0], xlabel="people's Elo (dashed: equal)")
    axes.set(ylim=ends[1], ylabel="judge's Elo, model left out")
    axes.legend(loc="upper left")
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


def change_title(measure: str, values: Mapping[str, float | None]) -> str:
    """The values of hard and soft targets in a title."""
    names = (("hard-elo", "hard"), ("soft-elo", "soft"))
    parts = [f"{values[key]:.0f} {name}" for key, name in names if values.get(key) is not None]
    return f"{measure}, Elo: {', '.join(parts)}" if parts else measure


def _axis_ends(values: list[float]) -> tuple[float, float]:
    margin = 0.06 * (max(values) - min(values)) or 10.0
    return min(values) - margin, max(values) + margin


def draw_residuals(axes: Axes, board: Leaderboard) -> None:
    """Signed residual by quarter of strength: if it rises, the scale is stretched."""
    quarters = {
        row.method: np.array([row.residual_by_quarter])
        for row in board.loo
        if row.method in COLOUR and len(row.residual_by_quarter) == 4
    }
    plot_quarters(axes, quarters)
    axes.set(xlim=(-0.3, 3.3), ylabel="judge − people, Elo")


def plot_quarters(axes: Axes, quarters: Mapping[str, FloatArray]) -> None:
    """The mean residual by quarter for each method, with a band if it has several judges (rows)."""
    axes.axhline(0, color=MUTED, lw=1)
    ramps = {}
    for method, each in quarters.items():
        plot_band(axes, range(4), each, COLOUR[method], NAME[method], MARK[method])
        ramps[method] = float((each[:, 3] - each[:, 0]).mean())
    axes.set_xticks(range(4), QUARTERS)
    axes.set_title(change_title("Strongest − weakest quarter", ramps))
    add_legend(axes)


def draw_widths(axes: Axes, board: Leaderboard) -> None:
    """Interval width as quantile x standard error, on curves of equal width (appendix I)."""
    points = {
        row.method: (row.quantile, row.median_se)
        for row in board.conformal
        if row.method in COLOUR and row.quantile is not None and row.median_se is not None
    }
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
    most = 2 * right * top
    steps = [base * 10**power for power in range(5) for base in (1.0, 2.0, 5.0)]
    for width in [step for step in steps if most / 40 <= step <= 0.6 * most]:
        y = width / (2 * x)
        inside = y <= top
        axes.plot(x[inside], y[inside], color=GRID, lw=1)
        # Labelled where the curve leaves the picture on the right, if the label has room there.
        end = width / (2 * right)
        if inside.any() and end - last > 0.05 * top:
            axes.text(right, end, f" {width:g}", color=MUTED, fontsize=8, va="center")
            last = end
    axes.set(xlim=(0, right), xlabel="conformal quantile (grey: equal width, in Elo)")
    axes.set(ylim=(0, top), ylabel="median standard error, Elo")
    axes.grid(visible=False)


def draw_intervals(axes: Axes, board: Leaderboard) -> None:
    """Each left-out model's conformal interval around people's Elo, hard behind soft."""
    order = sorted(
        (row for row in board.held_out if row.method == "hard-elo"), key=lambda row: row.human_elo
    )
    place = {row.model: k for k, row in enumerate(order)}
    title = "Too few models for an interval"
    for method, width, alpha in (("hard-elo", 5.0, 0.25), ("soft-elo", 2.2, 0.9)):
        style: dict[str, Any] = {"color": COLOUR[method], "lw": width, "alpha": alpha}
        line = {**style, "solid_capstyle": "butt"}
        rows = [row for row in board.held_out if row.method == method and row.model in place]
        bounded = [row for row in rows if row.width is not None]
        for row in bounded:
            ends = [end - row.human_elo for end in row.interval if end is not None]
            around = Interval(ends[0], ends[1], row.interval.level)
            draw_interval(axes, place[row.model], around, scale=1, vertical=True, **line)
        if rows:
            axes.plot([], [], label=NAME[method], **style)
        if bounded:
            inside = sum(row.covered is True for row in bounded)
            title = f"{inside} of {len(bounded)} {NAME[method]} intervals contain people's Elo"
    axes.axhline(0, color=INK, lw=1)
    names = [text.clip(row.model, 16) for row in order]
    shown = len(names) <= MOST_NAMES
    ticks = (range(len(names)), names) if shown else ([], [])
    axes.set_xticks(*ticks, rotation=50, ha="right", rotation_mode="anchor")
    axes.set(xlim=(-1, len(order)), xlabel="models, weakest to strongest on people's scale")
    axes.set(ylabel="interval − people's Elo")
    axes.legend(loc="best", ncols=2)
    axes.set_title(title)


def draw_budgets(axes: Axes, board: Leaderboard) -> None:
    """Held-out error against judged battles per model."""
    budgets = [vars(row) for row in board.budgets]
    title = plot_budgets(axes, budgets, pl.col("mae_sd").first(), 0)
    axes.set_ylabel("held-out error, Elo, ± one std. deviation")
    axes.set_title(title[0].upper() + title[1:])


def plot_budgets(axes: Axes, budgets: Sequence[Mapping[str, Any]], spread: pl.Expr, at: int) -> str:
    """The mean error by budget, with bands; returns what a title says of one of the budgets."""
    if not budgets:
        return "too few battles for smaller budgets"
    frame = pl.DataFrame(list(budgets))
    groups = frame.group_by("method", "per_model")
    means = groups.agg(pl.col("mae").mean(), sd=spread.fill_null(0.0), n=pl.len())
    # Budgets that every judge has battles for.
    bands = means.filter(pl.col("n") == pl.col("n").max()).sort("per_model")
    ticks = bands["per_model"].unique().sort().to_list()
    for method in ("hard-elo", "soft-elo"):
        line = bands.filter(pl.col("method") == method)
        x = line["per_model"].to_numpy()
        y = line["mae"].fill_null(0.0).to_numpy()
        sd = line["sd"].to_numpy()
        axes.fill_between(x, y - sd, y + sd, color=COLOUR[method], alpha=0.16, lw=0)
        axes.plot(x, y, marker=MARK[method], color=COLOUR[method], label=NAME[method])
    set_budget_axes(axes, ticks, "held-out error, Elo", fontsize=8.5)
    chosen = bands.filter(pl.col("per_model") == ticks[at]).sort("method")
    errors = dict(chosen.select("method", "mae").iter_rows())
    return change_title(f"error at {ticks[at]:g} battles each", errors)


def set_budget_axes(axes: Axes, ticks: Sequence[float], y_label: str, fontsize: float) -> None:
    """A logarithmic axis of battles per model; errors begin at 0."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel="judged battles per model", ylabel=y_label)
    if y_label.startswith("held-out error"):
        axes.set_ylim(bottom=0)
    add_legend(axes, "upper right", fontsize)


#: How each picture is drawn, its size and what it shows.
_PANELS: dict[str, tuple[Panel, tuple[float, float], str]] = {
    "held-out": (
        *(draw_held_out, (5.6, 5.2)),
        "Judge's Elo of each left-out model against people's; both are equal on the dashed line.",
    ),
    "residuals": (
        *(draw_residuals, (5.6, 4.0)),
        "Judge's Elo minus people's, by quarter of strength; a slope is a scale that is stretched "
        "or compressed.",
    ),
    "widths": (
        *(draw_widths, (5.6, 4.4)),
        "The width of an interval is twice its quantile times its standard error.",
    ),
    "intervals": (
        *(draw_intervals, (7.6, 4.4)),
        "Interval of each left-out model minus people's Elo; one that crosses 0 contains it.",
    ),
    "budgets": (
        *(draw_budgets, (5.6, 4.0)),
        "Held-out error with fewer judged battles; bands are standard deviations over random "
        "draws.",
    ),
}
