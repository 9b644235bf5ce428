"""Elo, residuals and intervals of the Soft-Elo paper.

Tables 1 to 5 and 8, section 4.2, Figures 1, 2, 4, 8, 9, 14 and 17.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.special import expit

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Table
from adjudge.present.figure import (
    ACCENT,
    GRID,
    INK,
    MUTED,
    WARM,
    draw_interval,
    new_figure,
    plot_band,
)
from adjudge.present.result import Correlation, NotNegative
from adjudge.present.text import clip, level, number, percent, signed
from adjudge.ranking.evaluation import Residuals, strongest_quarters
from adjudge.ranking.evaluation_view import (
    COLOUR,
    MARK,
    NAME,
    change_title,
    draw_arrow,
    plot_held_out,
    quarters,
    width_contours,
)
from adjudge.ranking.leaderboard import HeldOutRow
from adjudge.statistics.numbers import mean_known
from adjudge.validation import BoolArray
from adjudge_papers.items import (
    ItemBook,
    Measured,
    count_where,
    cut_of,
    ends_of,
    less,
    over,
)
from adjudge_papers.soft_elo_exhibits import (
    FRENCH,
    GALLERY,
    METHODS,
    NEWER,
    TITLES,
    Column,
    add_legend,
    combine,
    judges_named,
    name_rows,
    percents_of,
    row_names,
    short,
    shown_judge,
    values_of,
)
from adjudge_papers.soft_elo_runs import Run, pearson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow

_QUARTERS = ("weakest\nquarter", "second", "third", "strongest\nquarter")
_UNBOUNDED = "intervals are unbounded: too few models"
#: The judge of Figures 8 and 9.
_ELSEWHERE = "Gemma4-26B-A4B"


def tables(result: SoftEloReproduction) -> list[Table]:
    """Errors, intervals, smoothing, and residuals by quarter of strength."""
    constants = list(result.rows[0].smoothed) if result.rows else []
    by_quarter = result.judge_table(
        "Judge minus people in Elo, weakest quarter of models to strongest, Figure 14",
        Column("hard", "hard_quarters", quarters),
        Column("soft", "soft_quarters", quarters),
    )
    if result.published_quarters:
        theirs = (quarters(result.published_quarters[name]) for name in ("hard", "soft"))
        by_quarter = replace(
            by_quarter, rows=[*by_quarter.rows, ("paper, mean of judges", *theirs)]
        )
    return [
        result.judge_table(
            f"Held-out error in Elo, Tables 1, 2 and 4 (l2 {result.l2:g}, {result.splits} splits, "
            f"{result.replicates} resamples, seed {result.seed})",
            Column("|s|", "mean_score", 2),
            Column("kappa", "kappa", 3),
            Column("beta", "beta", 2),
            Column("hard", "hard_mae", 1),
            Column("soft", "soft_mae", 1),
            Column("rho hard", "hard_spearman", 3),
            Column("rho soft", "soft_spearman", 3),
            means=True,
        ),
        result.judge_table(
            f"{level(1 - result.alpha)} conformal intervals, their range over splits, and "
            "calibration error, Tables 3, 5 and 7",
            Column("width hard", "hard_width", _write_width, "hard_width_range"),
            Column("coverage hard", "hard_coverage", percent),
            Column("width soft", "soft_width", _write_width, "soft_width_range"),
            Column("coverage soft", "soft_coverage", percent),
            Column("ECE", "ece", 3),
            means=True,
        ),
        result.judge_table(
            "Held-out error of label smoothing by constant, Table 8",
            *(Column(constant, f"smoothed.{constant}", 1) for constant in constants),
            Column("chosen", "chosen_smoothing_mae", 1),
            means=True,
        ),
        by_quarter,
    ]


def _write_width(width: float | None) -> str:
    return "unbounded" if width is None else number(width, 0)


def add_items(book: ItemBook, rows: Sequence[SoftEloRow]) -> None:
    """Tables 1, 2, 3 and 8, figures of Elo, residuals and intervals, and section 4.2."""
    book.add(
        "Table 1",
        ends_of("mean |s|", (row.mean_score for row in rows))
        | ends_of("kappa", (row.kappa for row in rows))
        | ends_of("Spearman", (row.hard_spearman for row in rows))
        | ends_of("error", (row.hard_mae for row in rows)),
    )
    book.add(
        "Table 2",
        {
            "mean error, hard": mean_known(row.hard_mae for row in rows),
            "mean error, soft": mean_known(row.soft_mae for row in rows),
            **ends_of("error cut, %", combine(rows, cut_of, "hard_mae", "soft_mae")),
            **ends_of("change of Spearman", combine(rows, less, "soft_spearman", "hard_spearman")),
        },
    )
    book.add(
        "Table 3",
        ends_of("coverage hard, %", percents_of(rows, "hard_coverage"))
        | ends_of("coverage soft, %", percents_of(rows, "soft_coverage"))
        | ends_of("width cut, %", combine(rows, cut_of, "hard_width", "soft_width")),
        unknown=_UNBOUNDED,
    )
    constants = ("0.55", "0.65", "0.75", "0.85", "0.95")
    book.add(
        "Table 8", {f"c = {c}": mean_known(values_of(rows, f"smoothed.{c}")) for c in constants}
    )
    book.add("Figure 1", {"models": over((float(row.models) for row in rows), max)})
    book.add("Figure 2", ends_of("correlation", values_of(rows, "strength.hard_correlation")))
    book.add("Figure 4", budget_values(rows, "mean", fmean))
    ramps = {
        method: [ramp for row in rows if len(ramp := _quarters_of(row, method)) == 4]
        for method in METHODS
    }
    book.add(
        "Figure 14",
        {
            f"{method[:4]}, quarter {q + 1}": mean_known(ramp[q] for ramp in ramps[method])
            for method in METHODS
            for q in range(4)
        }
        | {
            f"{method[:4]}, quarter 4, sd over judges": (
                stdev(ramp[3] for ramp in ramps[method]) if len(ramps[method]) > 1 else None
            )
            for method in METHODS
        },
        unknown="needs eight models",
    )
    book.add(
        "Figure 17",
        {
            f"judges whose {field} falls": count_where(
                combine(rows, less, f"soft_{field}", f"hard_{field}"), lambda change: change < 0
            )
            for field in ("quantile", "width")
        },
        unknown=_UNBOUNDED,
    )
    book.add(
        "Section 4.2",
        {
            "strongest among itself": mean_known(values_of(rows, "strength.top_top")),
            "strongest against weakest": mean_known(values_of(rows, "strength.top_bottom")),
        },
    )


def add_replication_items(
    book: ItemBook, rows: Sequence[SoftEloRow], corpus: str, remark: str
) -> None:
    """Appendix D on one of the two other corpora."""
    title = TITLES[corpus]
    notes: dict[str, Any] = {"remark": remark, "missing": "" if rows else f"no files of {corpus}"}
    cuts = combine(rows, cut_of, "hard_mae", "soft_mae")
    book.add(f"Table 4, {title}", ends_of("error cut, %", cuts), **notes)
    cuts = combine(rows, cut_of, "hard_width", "soft_width")
    book.add(
        f"Table 5, {title}",
        ends_of("width cut, %", cuts) | {"width cut, %, mean": mean_known(cuts)},
        unknown=_UNBOUNDED,
        **notes,
    )
    models = [model for row in judges_named(_ELSEWHERE, rows)[:1] for model in row.held_out]
    hard, soft = ([model for model in models if model.method == method] for method in METHODS)
    book.add(
        "Figure 8" if corpus == NEWER else "Figure 9",
        {
            "median width, hard": over((model.width for model in hard), median),
            "median width, soft": over((model.width for model in soft), median),
            "contain people's Elo, soft, %": over(percents_of(soft, "covered"), fmean),
        },
        unknown=_UNBOUNDED,
        **notes,
    )


def _quarters_of(row: SoftEloRow, method: str) -> tuple[float, ...]:
    return row.hard_quarters if method == "hard-elo" else row.soft_quarters


# --- errors and targets ----------------------------------------------------------------------


@GALLERY.add(
    "errors", "Held-out error of each judge with hard and with soft targets; rings are the paper's."
)
def error_figure(result: SoftEloReproduction) -> Drawing:
    rows = result.compared()[::-1]
    if not rows:
        raise ArgumentError("plot", result.kind, "no judge could be compared with people")
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
    axes.set_title(result.describe_change())
    figure.legend(loc="outside lower center", ncols=3)
    return figure


@GALLERY.add(
    "figure-01",
    "Hard and calibrated targets of one judge, the Elo they give, and each model's interval.",
)
def figure_1(result: SoftEloReproduction) -> Drawing:
    row = shown_judge(result.main_rows(), "Qwen3.5-27B")
    figure = new_figure(12.4, max(7.6, 0.19 * _count_models(row) + 1.8))
    panels = figure.subplot_mosaic([["targets", "intervals"], ["elo", "intervals"]])
    axes = panels["targets"]
    reach = max((bin_.high for bin_ in row.agreement), default=6.0)
    s = np.linspace(-reach, reach, 401)
    axes.plot(s, np.sign(s) / 2 + 0.5, color=WARM, label="verdict")
    if row.beta is not None:
        axes.plot(s, expit(row.beta * s), color=ACCENT, label=f"σ({row.beta:.2f} s)")
    axes.axhline(0.5, color=MUTED, lw=1, ls="--")
    axes.set_xlabel("score difference s")
    axes.set_ylabel("target: probability that A wins")
    add_legend(axes, "lower right")
    axes.set_title(f"{short(row.judge)}: what a battle counts for")
    plot_held_out(panels["elo"], row.held_out)
    _draw_intervals(panels["intervals"], row)
    return figure


# --- intervals -------------------------------------------------------------------------------


def _count_models(row: SoftEloRow) -> int:
    return len({model.model for model in row.held_out})


def _draw_intervals(axes: Axes, row: SoftEloRow) -> None:
    """Each model's interval on people's scale, the strongest on top; hard behind soft."""
    people = {model.model: model.human_elo for model in row.held_out}
    names = sorted(people, key=lambda name: -people[name])
    name_rows(axes, names, size=9 if len(names) <= 40 else 7)
    widths, contained = {}, ""
    for method, thick, alpha in (("hard-elo", 6.0, 0.3), ("soft-elo", 2.4, 1.0)):
        look: dict[str, Any] = {"color": COLOUR[method], "lw": thick, "alpha": alpha}
        models = [model for model in row.held_out if model.method == method]
        models = [model for model in models if model.width is not None]
        for model in models:
            place = names.index(model.model)
            draw_interval(axes, place, model.interval, scale=1, solid_capstyle="butt", **look)
        if models:
            axes.plot([], [], label=NAME[method], **look)
            widths[method] = median(model.width for model in models if model.width is not None)
            inside = sum(model.covered is True for model in models)
            contained = f"\n{inside} of {len(models)} {NAME[method]} intervals contain people's Elo"
    elo = [people[name] for name in names]
    axes.plot(elo, range(len(names)), "|", color=INK, ms=7, mew=1.6, label="people")
    axes.set_xlabel("Elo, with the interval of each left-out model")
    add_legend(axes, "lower right")
    axes.set_title(change_title("Median width", widths) + contained)


def _corpus_intervals(result: SoftEloReproduction, corpus: str, name: str) -> Drawing:
    rows = [row for row in result.rows if row.corpus == corpus]
    if not rows:
        raise ArgumentError("figure", name, f"it takes files of {corpus}")
    row = shown_judge(rows, _ELSEWHERE)
    figure = new_figure(9.4, max(4.6, 0.17 * _count_models(row) + 1.8))
    axes = figure.subplots()
    _draw_intervals(axes, row)
    title = axes.get_title(loc="left")
    axes.set_title(f"{short(row.judge)}, {result.corpus_name(corpus)}\n{title}")
    return figure


for _name, _corpus in (("figure-08", NEWER), ("figure-09", FRENCH)):
    _caption = f"Each model's interval on {TITLES[_corpus]}."
    GALLERY.add(_name, _caption)(partial(_corpus_intervals, corpus=_corpus, name=_name))


@GALLERY.add(
    "figure-17", "The width of an interval is twice its quantile times its standard error."
)
def figure_17(result: SoftEloReproduction) -> Drawing:
    points = [
        (row.judge, (row.hard_quantile, row.hard_se), (row.soft_quantile, row.soft_se))
        for row in result.main_rows()
        if None not in (row.hard_quantile, row.hard_se, row.soft_quantile, row.soft_se)
    ]
    if not points:
        raise ArgumentError("figure", "figure-17", "intervals are unbounded: it takes more models")
    figure = new_figure(9.2, 5.4)
    axes = figure.subplots()
    ends = np.array([methods for _, *methods in points], dtype=np.float64)
    width_contours(axes, 1.25 * float(ends[..., 0].max()), 1.2 * float(ends[..., 1].max()))
    looks = result.judge_looks()
    for (judge, *_), (hard, soft) in zip(points, ends, strict=True):
        colour = looks[judge]["color"]
        draw_arrow(axes, tuple(hard), tuple(soft), colour=colour, lw=1.8, shrink=6)
        axes.plot([], [], color=colour, label=short(judge))
        for method, end in zip(METHODS, (hard, soft), strict=True):
            axes.plot(*end, MARK[method], color=COLOUR[method], ms=8)
    for method in METHODS:
        axes.plot([], [], MARK[method], color=COLOUR[method], ms=8, label=NAME[method])
    figure.legend(loc="outside right upper", fontsize=8.5)
    falls, smaller = (ends[:, 1] < ends[:, 0]).sum(axis=0)
    axes.set_title(
        f"Soft targets lower the quantile of {falls} and the standard error of {smaller} of "
        f"{len(ends)} judges"
    )
    return figure


# --- residuals by strength -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StrengthStructure:
    """How residuals and score differences depend on strength (sections 4.2 and 4.3).

    `*_correlation` is Pearson's of residual and people's Elo; `top_top` and `top_bottom` are median
    |s| of battles within the strongest quarter of models, and between it and the weakest.
    """

    hard_correlation: Correlation | None
    soft_correlation: Correlation | None
    top_top: NotNegative | None
    top_bottom: NotNegative | None


def strength_structure(run: Run, hard: Residuals, soft: Residuals | None) -> StrengthStructure:
    """Residual against strength, and |s| within and between quarters."""
    quarter = np.full(run.battles.n_models, -1)
    if len(hard.names) >= 4:
        for name, q in zip(hard.names, strongest_quarters(hard.human), strict=True):
            quarter[run.battles.names.index(name)] = q
    a, b = quarter[run.battles.a], quarter[run.battles.b]

    def median_size(rows: BoolArray) -> float | None:
        sizes = np.abs(run.score[rows & np.isfinite(run.score)])
        return float(np.median(sizes)) if len(sizes) else None

    return StrengthStructure(
        hard_correlation=pearson(hard.human, hard.values),
        soft_correlation=None if soft is None else pearson(soft.human, soft.values),
        top_top=median_size((a == 3) & (b == 3)),
        top_bottom=median_size(((a == 3) & (b == 0)) | ((a == 0) & (b == 3))),
    )


@GALLERY.add(
    "figure-02",
    "Hard-Elo residuals grow with strength: models of one judge, then quarters of every judge.",
)
def figure_2(result: SoftEloReproduction) -> Drawing:
    rows = result.main_rows()
    figure = new_figure(11.4, 4.8)
    left, right = figure.subplots(1, 2)
    row = shown_judge(rows, "Qwen3.5-27B")
    _draw_ramp(left, [model for model in row.held_out if model.method == "hard-elo"], row.judge)
    right.axhline(0, color=MUTED, lw=1)
    looks = result.judge_looks()
    for row in rows:
        if len(row.hard_quarters) == 4:
            look = looks[row.judge]
            right.plot(range(4), row.hard_quarters, ms=5, lw=1.6, label=short(row.judge), **look)
    right.set_xticks(range(4), _QUARTERS)
    right.set_ylabel("mean of judge − people, Elo")
    rising = sum(row.hard_quarters[-1:] > row.hard_quarters[:1] for row in rows)
    right.set_title(f"It rises from weak to strong for {rising} of {len(rows)} judges")
    add_legend(right, fontsize=8)
    return figure


def _draw_ramp(axes: Axes, held: Sequence[HeldOutRow], judge: str) -> None:
    x = np.array([model.human_elo for model in held])
    y = np.array([model.residual for model in held])
    if len(x) < 4:
        axes.set_title(f"{short(judge)}: fewer than four models")
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
        name = _QUARTERS[q].replace("\n", " ")
        axes.plot(x[inside], y[inside], "o", color=shade, ms=6, label=name)
    axes.set_xlabel("people's Elo (line: fit, with its 95 % band)")
    axes.set_ylabel("Hard-Elo − people, Elo")
    add_legend(axes, fontsize=8)
    axes.set_title(f"{short(judge)}: residual and strength, r = {signed(fit.rvalue, 2)}")


@GALLERY.add(
    "figure-04",
    "Soft targets move Elo to the dashed line, flatten the residuals and need fewer battles; "
    "bands are standard deviations over judges.",
)
def figure_4(result: SoftEloReproduction) -> Drawing:
    rows = result.main_rows()
    row = shown_judge(rows, "DeepSeek-V3.2")
    figure = new_figure(14.6, 4.8)
    panels = figure.subplots(1, 3)
    plot_held_out(panels[0], row.held_out)
    title = panels[0].get_title(loc="left")
    panels[0].set_title(f"{short(row.judge)}: {title[0].lower()}{title[1:]}")
    _draw_quarters(panels[1], rows)
    _draw_budgets(panels[2], rows)
    return figure


@GALLERY.add(
    "figure-14",
    "Residual by quarter of strength; faint lines are judges, rings the paper's means.",
)
def figure_14(result: SoftEloReproduction) -> Drawing:
    figure = new_figure(7.4, 4.8)
    axes = figure.subplots()
    _draw_quarters(axes, result.main_rows(), each=True)
    for method in METHODS:
        if theirs := result.published_quarters.get(method[:4]):
            ring: dict[str, Any] = {"mfc": "none", "mec": COLOUR[method]}
            axes.plot(range(4), theirs, MARK[method], ms=12, mew=1.6, **ring)
    if result.published_quarters:
        axes.plot([], [], "o", mfc="none", mec=INK, ms=11, mew=1.2, label="paper")
    add_legend(axes)
    return figure


def _draw_quarters(axes: Axes, rows: Sequence[SoftEloRow], *, each: bool = False) -> None:
    """Mean residual by quarter, a band over judges; with `each`, a faint line for each of them."""
    axes.axhline(0, color=MUTED, lw=1)
    ramps = {}
    for method in METHODS:
        known = np.array([ramp for row in rows if len(ramp := _quarters_of(row, method)) == 4])
        if not len(known):
            continue
        if each:
            for ramp in known:
                axes.plot(range(4), ramp, color=COLOUR[method], lw=0.8, alpha=0.35, zorder=1)
        plot_band(axes, range(4), known, COLOUR[method], NAME[method], MARK[method])
        mean = known.mean(axis=0)
        ramps[method] = float(mean[3] - mean[0])
    axes.set_xticks(range(4), _QUARTERS)
    axes.set_ylabel("mean of judge − people, Elo")
    add_legend(axes)
    axes.set_title(change_title("Strongest − weakest quarter", ramps))


# --- budgets ---------------------------------------------------------------------------------


def _common_budgets(rows: Sequence[SoftEloRow]) -> list[float]:
    """The battles per model at which all judges have an error."""
    sizes = [{budget.per_model for budget in row.budgets} for row in rows]
    return sorted(set.intersection(*sizes)) if sizes else []


def budget_values(
    rows: Sequence[SoftEloRow], word: str, reduce: Callable[[Sequence[float]], float]
) -> Measured:
    """Error at the smallest and largest budget that all judges have, hard and soft."""
    common = _common_budgets(rows)
    budgets = [budget for row in rows for budget in row.budgets]
    return {
        f"{word} error, {method}, {size:g} battles per model": over(
            (
                budget.mae
                for budget in budgets
                if (budget.method, budget.per_model) == (method, size)
            ),
            reduce,
        )
        for method in METHODS
        for size in common[:1] + common[-1:]
    }


def _draw_budgets(axes: Axes, rows: Sequence[SoftEloRow]) -> None:
    ticks = _common_budgets(rows)
    if not ticks:
        axes.set_title("Too few battles for smaller budgets")
        return
    fewest = {}
    for method in METHODS:
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
    budget_ticks(axes, ticks)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("judged battles per model")
    axes.set_ylabel("held-out error, Elo")
    add_legend(axes, "upper right")


def budget_ticks(axes: Axes, ticks: Sequence[float]) -> None:
    """Battles per model on a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
