"""Elo, residuals and intervals of the Soft-Elo paper: Figures 1, 2, 4, 8, 9, 14 and 17."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats
from scipy.special import expit

from adjudge.errors import ArgumentError
from adjudge.present.figure import ACCENT, GRID, INK, MUTED, WARM, new_figure, plot_band, themed
from adjudge.present.text import clip, signed
from adjudge.ranking.evaluation_view import (
    COLOUR,
    MARK,
    NAME,
    change_title,
    draw_arrow,
    plot_held_out,
    width_contours,
)
from adjudge.ranking.leave_one_out import HeldOutRow
from adjudge_papers.reproduction import Pictures
from adjudge_papers.soft_elo_drawing import (
    QUARTERS,
    add_legend,
    compared,
    corpus_name,
    describe_change,
    judge_looks,
    main_rows,
    name_rows,
    row_names,
    short,
    shown_judge,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow


_METHODS = ("hard-elo", "soft-elo")


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


def figure_1(result: SoftEloReproduction) -> Drawing:
    """What targets are, what they do to Elo, and to the intervals of every model."""
    row = shown_judge(main_rows(result), "Qwen3.5-27B")
    with themed():
        figure = new_figure(12.4, max(7.6, 0.19 * _models(row) + 1.8))
        panels = figure.subplot_mosaic([["targets", "intervals"], ["elo", "intervals"]])
        _draw_targets(panels["targets"], row)
        plot_held_out(panels["elo"], row.held_out)
        _draw_intervals(panels["intervals"], row)
    return figure


def _models(row: SoftEloRow) -> int:
    return len({model.model for model in row.held_out})


def _draw_targets(axes: Axes, row: SoftEloRow) -> None:
    reach = max((bin_.high for bin_ in row.agreement), default=6.0)
    s = np.linspace(-reach, reach, 401)
    axes.plot(s, np.sign(s) / 2 + 0.5, color=WARM, label="verdict")
    if row.beta is not None:
        axes.plot(s, expit(row.beta * s), color=ACCENT, label=f"σ({row.beta:.2f} s)")
    axes.axhline(0.5, color=MUTED, lw=1, ls="--")
    axes.set_xlabel("score difference s")
    axes.set_ylabel("target: probability that A wins")
    add_legend(axes, loc="lower right")
    axes.set_title(f"{short(row.judge)}: what a battle counts for")


def _draw_intervals(axes: Axes, row: SoftEloRow) -> None:
    """Each model's interval on people's scale, the strongest on top; hard behind soft."""
    people = {model.model: model.human_elo for model in row.held_out}
    names = sorted(people, key=lambda name: -people[name])
    place = {name: at for at, name in enumerate(names)}
    name_rows(axes, names, size=9 if len(names) <= 40 else 7)
    widths, inside, bounded, last = {}, 0, 0, ""
    for method, thick, alpha in (("hard-elo", 6.0, 0.3), ("soft-elo", 2.4, 1.0)):
        rows = [model for model in row.held_out if model.method == method]
        known = [(model, *model.interval) for model in rows]
        drawn = [(model, a, b) for model, a, b in known if a is not None and b is not None]
        for model, low, high in drawn:
            at = place[model.model]
            axes.plot(
                [low, high],
                [at, at],
                color=COLOUR[method],
                lw=thick,
                alpha=alpha,
                solid_capstyle="butt",
            )
        if drawn:
            axes.plot([], [], color=COLOUR[method], lw=thick, alpha=alpha, label=NAME[method])
            widths[method] = median(high - low for _, low, high in drawn)
            inside, bounded = sum(model.covered is True for model, *_ in drawn), len(drawn)
            last = NAME[method]
    axes.plot(
        [people[name] for name in names],
        range(len(names)),
        "|",
        color=INK,
        ms=7,
        mew=1.6,
        label="people",
    )
    axes.set_xlabel("Elo, with the interval of each left-out model")
    add_legend(axes, loc="lower right")
    title = change_title("Median width", widths)
    held = f"{inside} of {bounded} {last} intervals contain people's Elo"
    axes.set_title(f"{title}\n{held}" if bounded else title)


def figure_2(result: SoftEloReproduction) -> Drawing:
    """Hard-Elo residuals against strength: one judge's models, then every judge by quarter."""
    rows = main_rows(result)
    row = shown_judge(rows, "Qwen3.5-27B")
    with themed():
        figure = new_figure(11.4, 4.8)
        left, right = figure.subplots(1, 2)
        _draw_ramp(
            left, [judge_row for judge_row in row.held_out if judge_row.method == "hard-elo"], row
        )
        right.axhline(0, color=MUTED, lw=1)
        looks = judge_looks(result.rows)
        for judge_row in rows:
            if len(judge_row.hard_quarters) == 4:
                colour, mark = looks[judge_row.judge]
                right.plot(
                    range(4),
                    judge_row.hard_quarters,
                    marker=mark,
                    color=colour,
                    ms=5,
                    lw=1.6,
                    label=short(judge_row.judge),
                )
        right.set_xticks(range(4), QUARTERS)
        right.set_ylabel("mean of judge − people, Elo")
        rising = sum(
            judge_row.hard_quarters[-1:] > judge_row.hard_quarters[:1] for judge_row in rows
        )
        right.set_title(f"It rises from weak to strong for {rising} of {len(rows)} judges")
        add_legend(right, loc="best", fontsize=8)
    return figure


def _draw_ramp(axes: Axes, held: Sequence[HeldOutRow], row: SoftEloRow) -> None:
    x = np.array([model.human_elo for model in held])
    y = np.array([model.residual for model in held])
    if len(x) < 4:
        axes.set_title(f"{short(row.judge)}: fewer than four models")
        return
    quarter = np.argsort(np.argsort(x)) * 4 // len(x)
    shades = ("#f4b08f", "#e88453", WARM, "#8f3410")
    axes.axhline(0, color=MUTED, lw=1)
    fit = stats.linregress(x, y)
    grid = np.linspace(x.min(), x.max(), 100)
    line = fit.intercept + fit.slope * grid
    noise = np.sqrt(((y - fit.intercept - fit.slope * x) ** 2).sum() / (len(x) - 2))
    spread = np.sqrt(1 / len(x) + (grid - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    reach = stats.t.ppf(0.975, len(x) - 2) * noise * spread
    axes.fill_between(grid, line - reach, line + reach, color=GRID, lw=0, zorder=0)
    axes.plot(grid, line, color=INK, lw=1.4)
    for q, shade in enumerate(shades):
        inside = quarter == q
        name = QUARTERS[q].replace("\n", " ")
        axes.plot(x[inside], y[inside], "o", color=shade, ms=6, label=name)
    axes.set_xlabel("people's Elo (line: fit, with its 95 % band)")
    axes.set_ylabel("Hard-Elo − people, Elo")
    add_legend(axes, loc="best", fontsize=8)
    axes.set_title(f"{short(row.judge)}: residual and strength, r = {signed(fit.rvalue, 2)}")


def figure_4(result: SoftEloReproduction) -> Drawing:
    """Held-out Elo of one judge, then residuals by quarter and error by budget over judges."""
    rows = main_rows(result)
    row = shown_judge(rows, "DeepSeek-V3.2")
    with themed():
        figure = new_figure(14.6, 4.8)
        panels = figure.subplots(1, 3)
        plot_held_out(panels[0], row.held_out)
        title = panels[0].get_title(loc="left")
        panels[0].set_title(f"{short(row.judge)}: {title[0].lower()}{title[1:]}")
        _draw_quarters(panels[1], rows)
        _draw_budgets(panels[2], rows)
    return figure


def _draw_quarters(axes: Axes, rows: Sequence[SoftEloRow], *, each: bool = False) -> None:
    """Mean residual by quarter, a band over judges; with `each`, a faint line for each of them."""
    axes.axhline(0, color=MUTED, lw=1)
    ramps = {}
    for method in _METHODS:
        quarters = [_quarters_of(row, method) for row in rows]
        known = np.array([ramp for ramp in quarters if len(ramp) == 4])
        if not len(known):
            continue
        if each:
            for ramp in known:
                axes.plot(range(4), ramp, color=COLOUR[method], lw=0.8, alpha=0.35, zorder=1)
        plot_band(axes, range(4), known, COLOUR[method], NAME[method], MARK[method])
        mean = known.mean(axis=0)
        ramps[method] = float(mean[3] - mean[0])
    axes.set_xticks(range(4), QUARTERS)
    axes.set_ylabel("mean of judge − people, Elo")
    add_legend(axes, loc="best")
    axes.set_title(change_title("Strongest − weakest quarter", ramps))


def _quarters_of(row: SoftEloRow, method: str) -> tuple[float, ...]:
    return row.hard_quarters if method == "hard-elo" else row.soft_quarters


def _draw_budgets(axes: Axes, rows: Sequence[SoftEloRow]) -> None:
    sizes = [{budget.per_model for budget in row.budgets} for row in rows]
    ticks = sorted(set.intersection(*sizes)) if sizes else []
    if not ticks:
        axes.set_title("Too few battles for smaller budgets")
        return
    fewest = {}
    for method in _METHODS:
        errors = [
            {budget.per_model: budget.mae for budget in row.budgets if budget.method == method}
            for row in rows
        ]
        each = np.array([[seen.get(tick, np.nan) for tick in ticks] for seen in errors if seen])
        if len(each):
            plot_band(axes, ticks, each, COLOUR[method], NAME[method], MARK[method])
            fewest[method] = float(np.nanmean(each[:, 0]))
    budget_axes(axes, ticks)
    axes.set_title(change_title(f"Error at {ticks[0]:g} battles each", fewest))


def budget_axes(axes: Axes, ticks: Sequence[float]) -> None:
    """A logarithmic axis of battles per model, error in Elo upwards."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("judged battles per model")
    axes.set_ylabel("held-out error, Elo")
    add_legend(axes, loc="upper right")


def figure_8(result: SoftEloReproduction) -> Drawing:
    """Intervals of every model on LMArena 140K."""
    return _corpus_intervals(result, "lmarena140k", "figure-08")


def figure_9(result: SoftEloReproduction) -> Drawing:
    """Intervals of every model on ComparIA."""
    return _corpus_intervals(result, "comparia", "figure-09")


def _corpus_intervals(result: SoftEloReproduction, corpus: str, name: str) -> Drawing:
    rows = [row for row in result.rows if row.corpus == corpus]
    if not rows:
        raise ArgumentError("figure", name, f"it takes files of {corpus}")
    row = shown_judge(rows, "Gemma4-26B-A4B")
    with themed():
        figure = new_figure(9.4, max(4.6, 0.17 * _models(row) + 1.8))
        axes = figure.subplots()
        _draw_intervals(axes, row)
        title = axes.get_title(loc="left")
        axes.set_title(f"{short(row.judge)}, {corpus_name(result, corpus)}\n{title}")
    return figure


def figure_14(result: SoftEloReproduction) -> Drawing:
    """Residuals by quarter under both methods, every judge faint; the paper's means as rings."""
    with themed():
        figure = new_figure(7.4, 4.8)
        axes = figure.subplots()
        _draw_quarters(axes, main_rows(result), each=True)
        for method, name in zip(_METHODS, ("hard", "soft"), strict=True):
            if theirs := result.published_quarters.get(name):
                axes.plot(
                    range(4), theirs, MARK[method], mfc="none", mec=COLOUR[method], ms=12, mew=1.6
                )
        if result.published_quarters:
            axes.plot([], [], "o", mfc="none", mec=INK, ms=11, mew=1.2, label="paper")
        add_legend(axes, loc="best")
    return figure


def figure_17(result: SoftEloReproduction) -> Drawing:
    """Where the width comes from: an arrow from hard to soft for every judge."""
    points = [
        (row, (row.hard_quantile, row.hard_se), (row.soft_quantile, row.soft_se))
        for row in main_rows(result)
        if None not in (row.hard_quantile, row.hard_se, row.soft_quantile, row.soft_se)
    ]
    if not points:
        raise ArgumentError("figure", "figure-17", "intervals are unbounded: it takes more models")
    with themed():
        figure = new_figure(9.2, 5.4)
        axes = figure.subplots()
        ends = np.array([[hard, soft] for _, hard, soft in points], dtype=np.float64)
        width_contours(axes, 1.25 * float(ends[..., 0].max()), 1.2 * float(ends[..., 1].max()))
        looks = judge_looks(result.rows)
        for (row, *_), (hard, soft) in zip(points, ends, strict=True):
            colour, _ = looks[row.judge]
            draw_arrow(axes, tuple(hard), tuple(soft), colour=colour, lw=1.8, shrink=6)
            axes.plot([], [], color=colour, label=short(row.judge))
            for method, end in zip(_METHODS, (hard, soft), strict=True):
                axes.plot(*end, MARK[method], color=COLOUR[method], ms=8)
        for method in _METHODS:
            axes.plot([], [], MARK[method], color=COLOUR[method], ms=8, label=NAME[method])
        figure.legend(loc="outside right upper", fontsize=8.5)
        falls = int((ends[:, 1, 0] < ends[:, 0, 0]).sum())
        smaller = int((ends[:, 1, 1] < ends[:, 0, 1]).sum())
        axes.set_title(
            f"Soft targets lower the quantile of {falls} and the standard error of {smaller} of "
            f"{len(ends)} judges"
        )
    return figure


PICTURES: Pictures = {
    "errors": (
        error_figure,
        "Held-out error of each judge with hard and with soft targets; rings are the paper's.",
    ),
    "figure-01": (
        figure_1,
        "Hard and calibrated targets of one judge, the Elo they give, and each model's interval.",
    ),
    "figure-02": (
        figure_2,
        "Hard-Elo residuals grow with strength: models of one judge, then quarters of every judge.",
    ),
    "figure-04": (
        figure_4,
        "Soft targets move Elo to the dashed line, flatten the residuals and need fewer battles; "
        "bands are standard deviations over judges.",
    ),
    "figure-08": (figure_8, "Each model's interval on LMArena 140K."),
    "figure-09": (figure_9, "Each model's interval on ComparIA."),
    "figure-14": (
        figure_14,
        "Residual by quarter of strength; faint lines are judges, rings the paper's means.",
    ),
    "figure-17": (
        figure_17,
        "The width of an interval is twice its quantile times its standard error.",
    ),
}
