"""Pictures of the Soft-Elo paper. Hard-Elo is warm, Soft-Elo the accent colour.

Titles are computed from what a panel draws; denominators count the judges that have the quantity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import cycle, pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import expit

from adjudge.present.figure import (
    ACCENT,
    GRID,
    INK,
    MARKS,
    MUTED,
    SERIES,
    WARM,
    add_legend,
    draw_reliability,
    new_figure,
    set_suptitle,
)
from adjudge.present.figure import name_rows as name_axis
from adjudge.present.text import clip, number, percent, signed, span
from adjudge.ranking.evaluation_view import (
    COLOUR,
    MARK,
    NAME,
    QUARTERS,
    change_title,
    draw_arrow,
    plot_budgets,
    plot_held_out,
    plot_quarters,
    set_budget_axes,
    width_contours,
)
from adjudge_papers.paper import Gallery, parts_of, values_of
from adjudge_papers.printed import Row, read_published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction


METHODS = ("hard-elo", "soft-elo")
MAIN, NEWER, FRENCH = read_published("soft-elo")["corpora"]
TITLES = read_published("soft-elo")["titles"]
#: Bins with fewer battles are left out of Figure 7; |beta - beta of all| up to here is stable.
_FEWEST = 30
_STABLE = 0.05
_MOST_LANGUAGES = 40
PICTURES = Gallery()


# --- what the pictures share -----------------------------------------------------------------


def main_rows(result: SoftEloReproduction) -> list[Row]:
    """The judges of the main corpus, or of the first corpus if that is not here."""
    corpora = [row["corpus"] for row in result.rows("judges")]
    return result.rows("judges", corpus=MAIN if MAIN in corpora else corpora[0])


def shown_judge(rows: Sequence[Row], name: str) -> Row:
    """The judge that the paper shows, or the first with soft targets."""
    named = [row for row in rows if row["judge"] == name]
    soft = [row for row in rows if row.get("soft_mae") is not None]
    return (named or soft or list(rows))[0]


def rows_of(result: SoftEloReproduction, table: str, judge: Row, **keys: Any) -> list[Row]:
    """The rows of a table of one judge on one corpus."""
    return [
        row
        for row in result.rows(table, corpus=judge["corpus"], **keys)
        if row["judge"] == judge["judge"]
    ]


def short(name: str) -> str:
    return clip(name, 30)


def judge_looks(result: SoftEloReproduction) -> dict[str, dict[str, Any]]:
    """One colour and mark per judge, by name, in every picture; not those of hard and soft."""
    judges = sorted({row["judge"] for row in result.rows("judges")})
    looks = zip(judges, cycle(SERIES[2:]), cycle(MARKS[2:]), strict=False)
    return {judge: {"color": colour, "marker": mark} for judge, colour, mark in looks}


def corpus_look(corpus: str) -> dict[str, Any]:
    """One colour and mark per corpus in every picture."""
    colours = {MAIN: SERIES[0], NEWER: SERIES[3], FRENCH: SERIES[5]}
    marks = dict(zip(colours, MARKS, strict=False))
    return {"color": colours.get(corpus, SERIES[6]), "marker": marks.get(corpus, MARKS[-1])}


def corpus_name(corpus: str) -> str:
    return str(TITLES.get(corpus, corpus))


def name_judges(axes: Axes, names: Sequence[str], size: float = 9) -> None:
    name_axis(axes, [short(name) for name in names], fontsize=size)
    axes.tick_params(axis="y", length=0)


def range_title(measure: str, values: Sequence[float], digits: int) -> str:
    """A title with the smallest and the largest value."""
    if not values:
        return measure
    least = f"{min(values):.{digits}f}"
    return f"{measure} from {span(least, f'{max(values):.{digits}f}')}"


def _grid(parent: Any, n: int) -> list[Axes]:
    """Panels of one size, four in a row, without the empty ones."""
    columns = min(4, n)
    panels = parent.subplots(-(-n // columns), columns, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[n:]:
        axes.set_axis_off()
    return list(panels.flat[:n])


# --- errors, targets and intervals -----------------------------------------------------------


@PICTURES.add("figure-01")
def figure_1(result: SoftEloReproduction) -> Drawing:
    row = shown_judge(main_rows(result), "Qwen3.5-27B")
    models = rows_of(result, "models", row)
    figure = new_figure(12.4, max(7.6, 0.19 * row["models"] + 1.8))
    panels = figure.subplot_mosaic([["targets", "intervals"], ["elo", "intervals"]])
    axes = panels["targets"]
    reach = max(values_of(rows_of(result, "agreement", row), "high"), default=6.0)
    s = np.linspace(-reach, reach, 401)
    axes.plot(s, np.sign(s) / 2 + 0.5, color=WARM, label="verdict")
    if row["beta"] is not None:
        axes.plot(s, expit(row["beta"] * s), color=ACCENT, label=f"σ({row['beta']:.2f} s)")
    axes.axhline(0.5, color=MUTED, lw=1, ls="--")
    axes.set(xlabel="score difference s", ylabel="target: probability that A wins")
    add_legend(axes, "lower right")
    axes.set_title(f"{short(row['judge'])}: what a battle counts for")
    plot_held_out(panels["elo"], parts_of(models))
    _draw_intervals(panels["intervals"], models)
    return figure


def _draw_intervals(axes: Axes, models: Sequence[Row]) -> None:
    """Each model's interval on people's scale, the strongest on top; hard behind soft."""
    people = {model["model"]: model["human_elo"] for model in models}
    names = sorted(people, key=lambda name: -people[name])
    name_judges(axes, names, 9 if len(names) <= 40 else 7)
    widths = {}
    line = ""
    for method, thick, alpha in (("hard-elo", 6.0, 0.3), ("soft-elo", 2.4, 1.0)):
        look: dict[str, Any] = {"color": COLOUR[method], "lw": thick, "alpha": alpha}
        bounded = [m for m in models if m["method"] == method and m["width"] is not None]
        for model in bounded:
            ends = [model["interval_low"], model["interval_high"]]
            at = names.index(model["model"])
            axes.plot(ends, [at, at], solid_capstyle="butt", **look)
        if bounded:
            axes.plot([], [], label=NAME[method], **look)
            widths[method] = median(model["width"] for model in bounded)
            inside = sum(model["covered"] == 1 for model in bounded)
            line = f"\n{inside} of {len(bounded)} {NAME[method]} intervals contain people's Elo"
    elo = [people[name] for name in names]
    axes.plot(elo, range(len(names)), "|", color=INK, ms=7, mew=1.6, label="people")
    axes.set_xlabel("Elo, with the interval of each left-out model")
    add_legend(axes, "lower right")
    axes.set_title(change_title("Median width", widths) + line)


def _corpus_intervals(result: SoftEloReproduction, corpus: str) -> Drawing:
    rows = result.rows("judges", corpus=corpus)
    row = shown_judge(rows, "Gemma4-26B-A4B")
    figure = new_figure(9.4, max(4.6, 0.17 * row["models"] + 1.8))
    axes = figure.subplots()
    _draw_intervals(axes, rows_of(result, "models", row))
    title = axes.get_title(loc="left")
    axes.set_title(f"{short(row['judge'])}, {corpus_name(corpus)}\n{title}")
    return figure


@PICTURES.add("figure-02")
def figure_2(result: SoftEloReproduction) -> Drawing:
    rows = main_rows(result)
    figure = new_figure(11.4, 4.8)
    left, right = figure.subplots(1, 2)
    row = shown_judge(rows, "Qwen3.5-27B")
    _draw_ramp(left, rows_of(result, "models", row, method="hard-elo"), row["judge"])
    right.axhline(0, color=MUTED, lw=1)
    looks = judge_looks(result)
    ramps = {row["judge"]: ramp for row in rows if len(ramp := _ramp(row, "hard")) == 4}
    for judge, ramp in ramps.items():
        right.plot(range(4), ramp, ms=5, lw=1.6, label=short(judge), **looks[judge])
    right.set_xticks(range(4), QUARTERS)
    right.set_ylabel("mean of judge − people, Elo")
    rising = sum(ramp[-1] > ramp[0] for ramp in ramps.values())
    right.set_title(f"It rises from weak to strong for {rising} of {len(ramps)} judges")
    add_legend(right, fontsize=8)
    return figure


def _ramp(row: Row, method: str) -> list[float]:
    """The mean residual of each quarter of strength that has one."""
    quarters = (row.get(f"{method}_q{q}") for q in range(1, 5))
    return [mean for mean in quarters if mean is not None]


def _draw_ramp(axes: Axes, held: Sequence[Row], judge: str) -> None:
    x = np.array(values_of(held, "human_elo"))
    y = np.array(values_of(held, "residual"))
    if len(x) < 4:
        axes.set_title(f"{short(judge)}: fewer than four models")
        return
    quarter = np.argsort(np.argsort(x)) * 4 // len(x)
    axes.axhline(0, color=MUTED, lw=1)
    fit = stats.linregress(x, y)
    grid = np.linspace(x.min(), x.max(), 100)
    line = fit.intercept + fit.slope * grid
    # The band of the line's mean: wider away from the mean of x.
    residual = y - fit.intercept - fit.slope * x
    noise = np.sqrt((residual**2).sum() / (len(x) - 2))
    scatter = ((x - x.mean()) ** 2).sum()
    spread = np.sqrt(1 / len(x) + (grid - x.mean()) ** 2 / scatter)
    reach = stats.t.ppf(0.975, len(x) - 2) * noise * spread
    axes.fill_between(grid, line - reach, line + reach, color=GRID, lw=0, zorder=0)
    axes.plot(grid, line, color=INK, lw=1.4)
    for q, shade in enumerate(("#f4b08f", "#e88453", WARM, "#8f3410")):
        name = QUARTERS[q].replace("\n", " ")
        axes.plot(x[quarter == q], y[quarter == q], "o", color=shade, ms=6, label=name)
    axes.set(xlabel="people's Elo (line: fit, with its 95 % band)", ylabel="Hard-Elo − people, Elo")
    add_legend(axes, fontsize=8)
    axes.set_title(f"{short(judge)}: residual and strength, r = {signed(fit.rvalue, 2)}")


# --- calibration -----------------------------------------------------------------------------


@PICTURES.add("figure-03")
def figure_3(result: SoftEloReproduction) -> Drawing:
    row = shown_judge(main_rows(result), "Qwen3-32B")
    figure = new_figure(11.4, 4.8)
    left, right = figure.subplots(1, 2)
    _draw_agreement(left, result.rows("agreement", corpus=row["corpus"]))
    kinds = (("fitted", row["beta"], row["ece"]), ("raw", 1.0, row["raw_ece"]))
    for at, (kind, beta, ece) in enumerate(kinds):
        label = f"β = {number(beta, 2)}, error {number(ece, 3)}"
        _plot_bins(right, rows_of(result, "reliability", row, kind=kind), series=at, label=label)
    right.set_xlabel("predicted: σ(β|s|) (dashed: equal)")
    right.set_ylabel("people take the judge's side, ± SE")
    add_legend(right, "upper left")
    right.set_title(f"{short(row['judge'])}: before and after fitting β")
    return figure


def _draw_agreement(axes: Axes, bins: Sequence[Row]) -> None:
    starts = sorted({entry["low"] for entry in bins})
    heights = []
    for at, low in enumerate(starts):
        same = [entry for entry in bins if entry["low"] == low]
        shares = np.array(values_of(same, "agreement"))
        spread = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
        heights.append(float(shares.mean()))
        axes.bar(at, 100 * heights[-1], width=0.72, color=ACCENT, alpha=0.8)
        axes.errorbar(at, 100 * heights[-1], yerr=100 * spread, color=INK, capsize=3, lw=1.2)
        n = round(fmean(values_of(same, "n")))
        axes.text(at, 3, f"n = {n:,}", ha="center", color="white", fontsize=8)
    axes.axhline(50, color=MUTED, lw=1, ls="--")
    edges = [f"{low:g} to {high:g}" for low, high in pairwise(starts)]
    axes.set_xticks(range(len(starts)), [*edges, f"over {starts[-1]:g}"])
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("|s| (n: battles per judge; whiskers: standard deviation over judges)")
    axes.set_ylabel("people take the judge's side, %")
    first = percent(heights[0], 0)
    last = percent(heights[-1], 0)
    axes.set_title(f"Agreement goes from {first} at small |s| to {last} at large")


def _plot_bins(axes: Axes, bins: Sequence[Row], **look: Any) -> None:
    predicted = values_of(bins, "predicted")
    observed = values_of(bins, "observed")
    draw_reliability(axes, predicted, observed, n=values_of(bins, "n"), **look)


@PICTURES.add("figure-04")
def figure_4(result: SoftEloReproduction) -> Drawing:
    rows = main_rows(result)
    row = shown_judge(rows, "DeepSeek-V3.2")
    figure = new_figure(14.6, 4.8)
    panels = figure.subplots(1, 3)
    plot_held_out(panels[0], parts_of(rows_of(result, "models", row)))
    title = panels[0].get_title(loc="left")
    panels[0].set_title(f"{short(row['judge'])}\n{title}")
    complete = {
        method: np.array(ramps)
        for method in METHODS
        if (ramps := [ramp for row in rows if len(ramp := _ramp(row, method[:4])) == 4])
    }
    plot_quarters(panels[1], complete)
    panels[1].set_ylabel("mean of judge − people, Elo")
    budgets = result.rows("budgets", corpus=row["corpus"])
    title = plot_budgets(panels[2], budgets, pl.col("mae").std(), 0)
    panels[2].set_title(title[0].upper() + title[1:])
    return figure


@PICTURES.add("figure-06")
def figure_6(result: SoftEloReproduction) -> Drawing:
    row = shown_judge(main_rows(result), "Qwen3.5-27B")
    figure = new_figure(11.4, 4.8)
    left, right = figure.subplots(1, 2)
    _draw_settling(left, result)
    budgets = rows_of(result, "budgets", row)
    title = plot_budgets(right, budgets, pl.col("mae_sd").mean(), -1)
    draws = max(values_of(budgets, "draws"), default=0)
    right.set_xlabel(f"judged battles per model (bands: over {draws:g} draws)")
    right.set_title(f"{short(row['judge'])}: {title}")
    return figure


def _draw_settling(axes: Axes, result: SoftEloReproduction) -> None:
    """beta of random parts of the battles minus that of all of them."""
    axes.axhspan(-_STABLE, _STABLE, color=GRID, lw=0, zorder=0)
    looks = judge_looks(result)
    ticks: set[float] = set()
    late: list[float] = []
    for row in main_rows(result):
        budgets = [b for b in rows_of(result, "budgets", row) if b["beta"] is not None]
        if row["beta"] is None or not budgets:
            continue
        x = values_of(budgets, "per_model")
        away = [b["beta"] - row["beta"] for b in budgets]
        spread = [b["beta_sd"] or 0.0 for b in budgets]
        look: dict[str, Any] = {"label": short(row["judge"]), **looks[row["judge"]]}
        axes.errorbar(x, away, yerr=spread, ms=5, lw=1.6, capsize=2, **look)
        ticks.update(x)
        late += [abs(gap) for tick, gap in zip(x, away, strict=True) if tick >= 50]
    set_budget_axes(axes, sorted(ticks), "β − β of all battles (grey: ± 0.05)", fontsize=8.5)
    farthest = f"; at most {max(late):.3f} away from 50 battles on" if late else ""
    axes.set_title(f"β by budget{farthest}")


@PICTURES.add("figure-07")
def figure_7(result: SoftEloReproduction) -> Drawing:
    rows = result.rows("judges")
    judges = sorted({row["judge"] for row in rows})
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    columns = min(4, len(judges))
    lines = -(-len(judges) // columns)
    figure = new_figure(2.7 * columns + 4.6, max(4.4, 2.6 * lines + 1.2))
    left, right = figure.subfigures(1, 2, width_ratios=[2.7 * columns, 4.4], squeeze=False)[0]
    panels = _grid(left, len(judges))
    for axes, judge in zip(panels, judges, strict=True):
        axes.axhline(50, color=MUTED, lw=1, ls="--")
        for row in (row for row in rows if row["judge"] == judge):
            bins = [b for b in rows_of(result, "agreement", row) if b["n"] >= _FEWEST]
            x = [(b["low"] + b["high"]) / 2 for b in bins]
            y = np.array(values_of(bins, "agreement"))
            n = np.array(values_of(bins, "n"))
            look = {"ms": 3.5, "lw": 1.4, "capsize": 2, **corpus_look(row["corpus"])}
            axes.errorbar(x, 100 * y, yerr=100 * np.sqrt(y * (1 - y) / n), **look)
        axes.set_title(short(judge), fontsize=9)
    for corpus in corpora:
        panels[0].plot([], [], ms=4, label=corpus_name(corpus), **corpus_look(corpus))
    left.supxlabel("|s|, middle of the bin", fontsize=10)
    left.supylabel("people take the judge's side, %, ± SE", fontsize=10)
    left.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    axes = right.subplots()
    name_judges(axes, judges)
    axes.axvline(0, color=MUTED, lw=1)
    for row in (row for row in rows if row["agreement_correlation"] is not None):
        shift = 0.24 * (corpora.index(row["corpus"]) - (len(corpora) - 1) / 2)
        at = judges.index(row["judge"]) + shift
        value = row["agreement_correlation"]
        axes.barh(at, value, height=0.216, color=corpus_look(row["corpus"])["color"])
        axes.text(max(0.0, value), at, f" β {number(row['beta'], 2)}", va="center", fontsize=7.5)
    axes.set(xlim=(None, 1.18 * axes.get_xlim()[1]), xlabel="correlation of |s| with agreement")
    axes.set_title(
        range_title("Correlation", values_of(rows, "agreement_correlation"), 2), fontsize=10
    )
    return figure


for _name, _corpus in (("figure-08", NEWER), ("figure-09", FRENCH)):
    PICTURES.add(_name)(partial(_corpus_intervals, corpus=_corpus))


# --- reliability and widths ------------------------------------------------------------------


@PICTURES.add("figure-15")
def figure_15(result: SoftEloReproduction) -> Drawing:
    rows = [row for row in main_rows(result) if row["ece"] is not None]
    rows.sort(key=lambda row: row["ece"])
    figure = new_figure(3.1 * min(4, len(rows)) + 0.6, 2.9 * -(-len(rows) // 4) + 1.0)
    for axes, row in zip(_grid(figure, len(rows)), rows, strict=True):
        _plot_bins(axes, rows_of(result, "reliability", row, kind="fitted"))
        axes.set_title(f"{short(row['judge'])}\nerror {number(row['ece'], 3)}", fontsize=9)
    figure.supxlabel("predicted: σ(β|s|) (dashed: equal)", fontsize=10)
    figure.supylabel("people take the judge's side, ± SE", fontsize=10)
    mean = fmean(values_of(rows, "ece"))
    set_suptitle(figure, f"Calibration error {number(mean, 3)} on average over judges")
    return figure


@PICTURES.add("figure-17")
def figure_17(result: SoftEloReproduction) -> Drawing:
    fields = ("hard_quantile", "hard_se", "soft_quantile", "soft_se")
    rows = [row for row in main_rows(result) if all(row.get(name) is not None for name in fields)]
    figure = new_figure(9.2, 5.4)
    axes = figure.subplots()
    ends = np.array([[row[name] for name in fields] for row in rows]).reshape(-1, 2, 2)
    largest_quantile, largest_se = ends.max(axis=(0, 1)).tolist()
    width_contours(axes, 1.25 * largest_quantile, 1.2 * largest_se)
    looks = judge_looks(result)
    for row, (hard, soft) in zip(rows, ends, strict=True):
        colour = looks[row["judge"]]["color"]
        draw_arrow(axes, tuple(hard), tuple(soft), colour=colour, lw=1.8, shrink=6)
        axes.plot([], [], color=colour, label=short(row["judge"]))
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


# --- languages -------------------------------------------------------------------------------


@PICTURES.add("figure-05")
def figure_5(result: SoftEloReproduction) -> Drawing:
    prompts = result.rows("prompts")
    corpora = list(dict.fromkeys(row["corpus"] for row in prompts))
    total: Counter[str] = Counter()
    for row in prompts:
        total[row["language"]] += row["prompts"]
    names = sorted(total, key=lambda name: (-total[name], name))[:_MOST_LANGUAGES]
    step = 0.8 / len(corpora)
    figure = new_figure(7.8, max(3.6, 0.3 * len(names) + 1.6))
    axes = figure.subplots()
    name_judges(axes, names)
    for k, corpus in enumerate(corpora):
        counts = {row["language"]: row["prompts"] for row in prompts if row["corpus"] == corpus}
        places = np.arange(len(names)) + step * (k - (len(corpora) - 1) / 2)
        look = {"color": corpus_look(corpus)["color"], "label": corpus_name(corpus)}
        axes.barh(places, [counts.get(name, 0) for name in names], height=0.92 * step, **look)
    axes.set(xscale="log", xlim=(0.7, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("prompts")
    main = [row for row in prompts if row["corpus"] == (MAIN if MAIN in corpora else corpora[0])]
    largest = max(main, key=lambda row: row["prompts"])
    share = 100 * largest["prompts"] / sum(row["prompts"] for row in main)
    more = f", the {len(names)} largest" if len(total) > len(names) else ""
    axes.set_title(f"{len(total)} languages{more}; {share:.0f} % are {largest['language']}")
    if len(corpora) > 1:
        add_legend(axes, "lower right")
    return figure


@PICTURES.add("figure-10")
def figure_10(result: SoftEloReproduction) -> Drawing:
    languages = result.rows("languages")
    rows = result.rows("languages", corpus=languages[0]["corpus"])
    figure = new_figure(max(8.0, 0.7 * len(rows) + 4), 4.4)
    panels = figure.subplots(1, 2)
    for axes, scale, field in zip(panels, (1, 100), ("mean_score", "agreement"), strict=True):
        heights = [scale * (row[field] or 0.0) for row in rows]
        spread = [scale * (row[f"{field}_sd"] or 0.0) for row in rows]
        places = range(len(rows))
        axes.bar(places, heights, width=0.7, color=ACCENT, alpha=0.8)
        axes.errorbar(places, heights, yerr=spread, fmt="none", color=INK, capsize=3, lw=1.2)
        axes.set_xticks(places, [row["language"] for row in rows])
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("language, most prompts first\n(± one std. deviation over judges)")
    left, right = panels
    left.set(ylabel="mean |s|", title=range_title("Mean |s|", values_of(rows, "mean_score"), 2))
    right.axhline(50, color=MUTED, lw=1, ls="--")
    right.set(ylim=(0, 100), ylabel="people take the judge's side, %")
    shares = [100 * value for value in values_of(rows, "agreement")]
    right.set_title(range_title("Agreement, %,", shares, 0))
    return figure


# --- order, length and family ----------------------------------------------------------------


def _two_panels(rows: Sequence[Row], height: float) -> tuple[Drawing, Axes, Axes]:
    """Two panels with the judges' names down the left side."""
    figure = new_figure(12.0, height)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        name_judges(axes, list(dict.fromkeys(row["judge"] for row in rows)))
    return figure, left, right


def _draw_share(axes: Axes, at: float, row: Row, field: str, height: float, colour: str) -> None:
    """A bar of a share in percent, with its interval if there is one."""
    share = row.get(field)
    low = row.get(f"{field}_low")
    high = row.get(f"{field}_high")
    axes.barh(at, 100 * (share or 0.0), height=height, color=colour, alpha=0.85)
    if share is not None and low is not None and high is not None:
        reach = [[100 * max(0.0, share - low)], [100 * max(0.0, high - share)]]
        axes.errorbar(100 * share, at, xerr=reach, color=INK, capsize=3, lw=1.2)


@PICTURES.add("figure-11")
def figure_11(result: SoftEloReproduction) -> Drawing:
    rows = [row for row in main_rows(result) if row.get("first_share") is not None]
    figure, left, right = _two_panels(rows, max(4.2, 0.9 * len(rows) + 1.8))
    gaps = []
    for at, row in enumerate(rows):
        _draw_share(left, at - 0.19, row, "first_share", 0.34, ACCENT)
        _draw_share(left, at + 0.19, row, "flip_share", 0.34, WARM)
        models = rows_of(result, "orders", row)
        for model in models:
            ends = [model["first"], model["second"]]
            right.plot(ends, [at - 0.2, at + 0.2], color=GRID, lw=0.8, zorder=1)
        for y, order, colour in ((at - 0.2, "first", ACCENT), (at + 0.2, "second", WARM)):
            errors = values_of(models, order)
            mean = row[f"{order}_mae"]
            right.plot(errors, [y] * len(errors), "o", color=colour, ms=3.5, alpha=0.6)
            if mean is not None:
                right.plot([mean, mean], [y - 0.14, y + 0.14], color=colour, lw=3.5)
        if row["first_mae"] is not None and row["second_mae"] is not None:
            gaps.append(abs(row["first_mae"] - row["second_mae"]))
            beside = right.get_yaxis_transform()
            right.text(1.01, at, f"{gaps[-1]:.1f}", transform=beside, va="center", fontsize=8.5)
    left.axvline(50, color=MUTED, lw=1, ls="--")
    left.plot([], [], color=ACCENT, lw=7, label="first slot wins")
    left.plot([], [], color=WARM, lw=7, label="verdict flips with the order")
    left.set(xlim=(0, 100), xlabel="% of battles, with 95 % intervals")
    shares = [100 * value for value in values_of(rows, "first_share")]
    left.set_title(range_title("First slot wins, %,", shares, 0))
    right.plot([], [], "o", color=ACCENT, label="A shown first")
    right.plot([], [], "o", color=WARM, label="A shown second")
    right.set_xlim(left=0)
    right.set_xlabel("|Hard-Elo − people| of each model (bar: mean; right: difference of means)")
    largest = f" by at most {max(gaps):.1f}" if gaps else ""
    right.set_title(f"Mean errors of the two orders differ{largest}")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


@PICTURES.add("figure-12")
def figure_12(result: SoftEloReproduction) -> Drawing:
    rows = [row for row in main_rows(result) if row.get("near_tied") is not None]
    rows.sort(key=lambda row: -(row["longer_share"] or 0.0))
    figure, left, right = _two_panels(rows, max(3.6, 0.46 * len(rows) + 1.8))
    left.axvline(50, color=MUTED, lw=1, ls="--")
    right.axvline(0, color=MUTED, lw=1)
    for at, row in enumerate(rows):
        _draw_share(left, at, row, "longer_share", 0.62, ACCENT)
        left.text(2, at, f"n = {row['near_tied']:,}", va="center", color="white", fontsize=8)
        if row["length_partial"] is not None:
            face = ACCENT if (row["length_p"] or 1.0) < 0.05 else GRID
            right.barh(at, row["length_partial"], height=0.62, color=face, ec=ACCENT)
    left.set(xlim=(0, 100), xlabel="longer answer wins where |s| ≤ 0.3, %, with 95 % intervals")
    shares = [100 * value for value in values_of(rows, "longer_share")]
    left.set_title(range_title("Longer wins, %,", shares, 0))
    right.set_xlim(-1, 1)
    right.set_xlabel("length against the residual, people's Elo held fixed (filled: p < 0.05)")
    p_values = values_of(rows, "length_p")
    clear = sum(p < 0.05 for p in p_values)
    right.set_title(f"Residual goes with length for {clear} of {len(p_values)} judges")
    return figure


@PICTURES.add("figure-13")
def figure_13(result: SoftEloReproduction) -> Drawing:
    fields = ("points_family", "hard_family", "soft_family")
    rows = [
        row
        for row in result.rows("judges")
        if row["corpus"] != FRENCH and any(row.get(field) is not None for field in fields)
    ]
    rows.sort(key=lambda row: row["judge"])
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    figure, left, right = _two_panels(rows, max(4.0, 0.62 * len(judges) + 2.0))
    for row in rows:
        shift = 0.36 * (corpora.index(row["corpus"]) - (len(corpora) - 1) / 2)
        at = judges.index(row["judge"]) + shift
        colour = corpus_look(row["corpus"])["color"]
        for axes, field, place, face in (
            (left, "points_family", at, colour),
            (right, "hard_family", at - 0.07, "white"),
            (right, "soft_family", at + 0.07, colour),
        ):
            if row.get(field) is not None:
                ends = [row[f"{field}_low"], row[f"{field}_high"]]
                if None not in ends:
                    axes.plot(ends, [place, place], color=colour, lw=2, alpha=0.5)
                axes.plot(row[field], place, "o", mfc=face, mec=colour, mew=1.6, ms=6.5)
    for corpus in corpora:
        look = {"color": corpus_look(corpus)["color"], "label": corpus_name(corpus)}
        left.plot([], [], "o", **look)
    right.plot([], [], "o", mfc="white", mec=INK, label="Hard-Elo")
    right.plot([], [], "o", color=INK, label="Soft-Elo")
    left.set_xlabel("own family − others, points, minus the other judges' median")
    right.set_xlabel("own family − others, judge − people in Elo")
    for axes, start, field in (
        (left, "In points:", "points_family"),
        (right, "In Elo: Hard-Elo", "hard_family"),
    ):
        axes.axvline(0, color=MUTED, lw=1)
        add_legend(axes, fontsize=8.5)
        excess = values_of(rows, field)
        above = sum(value > 0 for value in excess)
        axes.set_title(f"{start} above 0 for {above} of {len(excess)}")
    return figure
