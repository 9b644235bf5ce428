"""The reporting paper's simulation: its Table 1, Figures 2 to 6, 8 to 16, and propositions.

Everything is counts and closed forms: 21 rates with 10,000 repeats are one array call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle, pairwise, product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import binom

from adjudge.estimation.estimators.misclassification import (
    Bounds,
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge.estimation.label_budget import proposition_51, proposition_61, split_arrays
from adjudge.present.figure import (
    ACCENT,
    GOOD,
    INK,
    LINES,
    MARKS,
    MUTED,
    SERIES,
    WARM,
    add_legend,
    new_figure,
    set_suptitle,
)
from adjudge.present.text import level as level_text
from adjudge.present.text import number
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import FloatArray
from adjudge_papers.paper import Gallery
from adjudge_papers.printed import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.reporting import ReportingReproduction

RATES = np.linspace(0, 1, 21)
N = 1000
PILOT = 10
ENDLESS = 1e12
#: Figure number of each setting (m, q0, q1), in the paper's order; Figure 6 is the tenth's setting.
SETTINGS = tuple(
    (str(figure), *setting)
    for figure, setting in enumerate(product((200, 500), (0.7, 0.9), (0.7, 0.9)), start=9)
)
MAIN = "10"
CURVES = (0.3, 0.5, 0.7, 0.9)
#: The rate among test rows under label shift.
TEST_RATE = 0.5
PICTURES = Gallery()


# --- the simulation --------------------------------------------------------------------------


def simulate_setting(
    figure: str, m: int, q0: float, q1: float, repeats: int, level: float, rng: np.random.Generator
) -> list[Row]:
    """One setting, a row per true rate: mean estimates, coverage and length of both splits."""
    theta = RATES[:, None]
    p, half, rate, equal = _equal_split(m, q0, q1, repeats, level, rng)
    # Algorithm 1: a pilot in each class, then the rest of the budget where it helps most.
    pilot0 = rng.binomial(PILOT, q0, p.shape)
    pilot1 = rng.binomial(PILOT, q1, p.shape)
    guess0 = (pilot0 + 1) / (PILOT + 2)
    guess1 = (pilot1 + 1) / (PILOT + 2)
    m0, m1 = split_arrays(m, p, guess0, guess1, pilot=PILOT)
    a0 = pilot0 + rng.binomial(m0 - PILOT, q0)
    a1 = pilot1 + rng.binomial(m1 - PILOT, q1)
    adaptive = corrected_interval(p, a0 / m0, a1 / m1, N, m0, m1, confidence_level=level)
    covered = np.abs(p - theta) <= half
    drawn = {
        "naive": p,
        "corrected": rate,
        "coverage_naive": covered,
        "coverage": equal.covers(theta),
        "coverage_adaptive": adaptive.covers(theta),
        "length_equal": equal.length,
        "length_adaptive": adaptive.length,
    }
    means = {name: values.mean(axis=1) for name, values in drawn.items()}
    uncertain = {name: drawn[name] for name in ("naive", "corrected", "coverage")}
    uncertain["length"] = adaptive.length - equal.length
    errors = {f"{name}_se": _standard_error(values) for name, values in uncertain.items()}
    return _rows({"rate": RATES, **means, **errors}, figure=figure, m=m, q0=q0, q1=q1)


def _standard_error(drawn: np.ndarray[Any, Any]) -> FloatArray:
    """The standard error of each row's mean."""
    return np.asarray(drawn.std(axis=1) / np.sqrt(drawn.shape[1]))


def _rows(columns: Mapping[str, np.ndarray[Any, Any]], **keys: Any) -> list[Row]:
    """A row for each entry of arrays of one length."""
    return [keys | entry for entry in pl.DataFrame(columns).iter_rows(named=True)]


def _equal_split(
    m: int, q0: float, q1: float, repeats: int, level: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, Bounds]:
    """The judge's rates and the half-lengths of their intervals; the same corrected."""
    half_m = m // 2
    shape = (len(RATES), repeats)
    rates = RATES[:, None]
    p = rng.binomial(N, rates * q1 + (1 - rates) * (1 - q0), shape) / N
    s0 = rng.binomial(half_m, q0, shape) / half_m
    s1 = rng.binomial(half_m, q1, shape) / half_m
    half = normal_quantile(level) * np.sqrt(p * (1 - p) / N)
    bounds = corrected_interval(p, s0, s1, N, half_m, half_m, confidence_level=level)
    return p, half, corrected_rate(p, s0, s1).estimate, bounds


def one_run(m: int, q0: float, q1: float, level: float, rng: np.random.Generator) -> list[Row]:
    """Figure 6a: a single run, judge alone and corrected, with intervals."""
    p, half, rate, bounds = _equal_split(m, q0, q1, 1, level, rng)
    drawn = {"naive": p, "naive_low": p - half, "naive_high": p + half, "corrected": rate}
    drawn |= {"low": bounds.low, "high": bounds.high}
    return _rows({"rate": RATES, **{name: values.ravel() for name, values in drawn.items()}})


def simulate_shift(repeats: int, rng: np.random.Generator) -> list[Row]:
    """Figure 5 and appendix D: test rate 0.5, labelled rows from 0.25 to 0.75, q = (0.7, 0.9)."""
    q0 = 0.7
    q1 = 0.9
    m = 200
    theta = TEST_RATE
    calibration = np.linspace(0.25, 0.75, 11)
    shape = (len(calibration), repeats)
    m1 = np.clip(rng.binomial(m, calibration[:, None], shape), 1, m - 1)
    m0 = m - m1
    c1 = rng.binomial(m1, q1)
    c0 = rng.binomial(m0, q0)
    p = rng.binomial(N, theta * q1 + (1 - theta) * (1 - q0), shape) / N
    positive = c1 + m0 - c0
    r1 = c1 / np.maximum(positive, 1)
    r0 = (m1 - c1) / np.maximum(m - positive, 1)
    covariance = c1 / m - (m1 / m) * (positive / m)
    everyone = (p * N + positive) / (N + m)
    weight = np.clip(covariance / ((1 + m / N) * everyone * (1 - everyone)), 0, 1)
    estimates = {
        "(i) naive": p,
        "(ii) human-only": m1 / m,
        "(iii) difference": p + (m1 - positive) / m,
        "(iv) conditional": p * r1 + (1 - p) * r0,
        "(v) misclassification": corrected_rate(p, c0 / m0, c1 / m1).estimate,
        "ppi++": weight * p + m1 / m - weight * positive / m,
    }
    return [
        row
        for name, values in estimates.items()
        for row in _rows(
            {
                "rate": calibration,
                "bias": values.mean(axis=1) - theta,
                "bias_se": _standard_error(values),
            },
            estimator=name,
        )
    ]


def length_curve(p: float, level: float = 0.95) -> list[Row]:
    """One curve of Figure 3: q0 = 0.7, q1 = 0.9, infinitely many test rows."""
    m = np.arange(20, 501, 2)
    m0, m1 = split_arrays(500, p, 0.7, 0.9)
    ones = np.clip(np.rint(m * m1 / (m0 + m1)), PILOT, m - PILOT)

    def length(labels0: FloatArray, labels1: FloatArray) -> FloatArray:
        bounds = corrected_interval(p, 0.7, 0.9, ENDLESS, labels0, labels1, confidence_level=level)
        return bounds.length

    columns = {"labels": m, "equal": length(m / 2, m / 2), "adaptive": length(m - ones, ones)}
    return _rows(columns, p=p)


# --- what the paper states, and ours ---------------------------------------------------------


def crossing(main: Sequence[Row]) -> list[float]:
    """The rate at which the bias of the judge's own rate changes its sign, if it does."""
    for below, above in pairwise(main):
        gap = below["naive"] - below["rate"]
        next_gap = above["naive"] - above["rate"]
        if gap > 0 >= next_gap:
            # On the straight line between the two rates.
            step = above["rate"] - below["rate"]
            return [below["rate"] + step * gap / (gap - next_gap)]
    return []


def summarise_settings(settings: Sequence[Row]) -> list[Row]:
    """Coverage and length in every setting, over its true rates."""
    ends: list[pl.Expr] = []
    for field in ("coverage", "coverage_adaptive"):
        ends += [pl.min(field).alias(f"{field}_low"), pl.max(field).alias(f"{field}_high")]
    naive = pl.col("coverage_naive").median()
    lengths = pl.col("length_equal", "length_adaptive").mean()
    table = pl.DataFrame(settings).group_by("figure", "m", "q0", "q1", maintain_order=True)
    return list(table.agg(*ends, naive, lengths).rename({"m": "labels"}).to_dicts())


def formula_numbers() -> Row:
    """Figures 4 and 8 and the propositions, at the judge of the paper's figures."""
    q0 = 0.7
    q1 = 0.9
    p = 0.5
    q = 0.8
    region = proposition_61(0.9) or (None, None)
    low, high, _ = corrected_interval(0.55, q0, q1, 1000, 100, 100)
    labels = proposition_51(q) or 0
    m1 = np.arange(1, 200)
    chosen = split_arrays(200, p, q0, q1)

    def shortest(labels0: Any, labels1: Any) -> float:
        least = float(corrected_variance(p, q0, q1, ENDLESS, labels0, labels1).min())
        return float(least**0.5)

    length_ratio = shortest(*chosen) / shortest(200 - m1, m1)
    return {
        "least": _least_quality(),
        "region_low": region[0],
        "region_high": region[1],
        "low": float(low),
        "high": float(high),
        "labels": labels,
        "bias_ratio": _bias_ratio(q, labels // 2),
        "labels_0": int(chosen[0]),
        "length_ratio": length_ratio,
    }


def _bias_ratio(q: float, each: int) -> float:
    """Largest |bias| of the corrected rate over that of the judge's rate, `each` labels per class.

    Exact, for infinitely many test rows and labels that show the judge to be better than chance.
    The paper has a second-order approximation, which is the same at every rate.
    """
    right = np.arange(each + 1)
    chance_of_class = binom.pmf(right, each, q)
    chance = np.outer(chance_of_class, chance_of_class)
    q0, q1 = np.meshgrid(right / each, right / each, indexing="ij")
    ratios = []
    for rate in np.linspace(0, 0.49, 50):
        corrected = corrected_rate((2 * q - 1) * rate + 1 - q, q0, q1)
        usable = chance * corrected.informative
        average = (usable * corrected.estimate).sum() / usable.sum()
        ratios.append(float(abs(average - rate) / ((1 - 2 * rate) * (1 - q))))
    return max(ratios)


def _least_quality() -> float:
    """The quality at which the region of Proposition 6.1 opens, by bisection on its formula."""
    low = 0.5
    high = 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if proposition_61(middle) is None else (low, middle)
    return high


# --- figures ---------------------------------------------------------------------------------


def _columns(result: ReportingReproduction, table: str, **keys: Any) -> Any:
    """The rows of a table as arrays, by field."""
    rows = result.rows(table, **keys)
    return SimpleNamespace(**{name: np.array([row[name] for row in rows]) for name in rows[0]})


@PICTURES.add("figure2")
def figure_2(result: ReportingReproduction) -> Drawing:
    setting = _columns(result, "settings", figure=MAIN)
    run = _columns(result, "run")
    rates = setting.rate
    q0 = float(setting.q0[0])
    q1 = float(setting.q1[0])
    turn = (1 - q0) / (2 - q0 - q1)
    expected = (q0 + q1 - 1) * rates + 1 - q0
    at = int(np.argmin(np.abs(rates - 0.5)))
    figure = new_figure(11, 3.8)
    left, middle, right = figure.subplots(1, 3)
    for panel in (left, right):
        panel.plot([0, 1], [0, 1], "--", color=INK, linewidth=1)
        panel.set(xlabel="true rate", xlim=(0, 1), ylim=(0, 1))
    for side, colour, name in (
        (rates <= turn + 1e-9, ACCENT, "too high"),
        (rates >= turn - 1e-9, WARM, "too low"),
    ):
        left.plot(rates[side], expected[side], color=colour, linewidth=2.6, label=name)
        left.fill_between(rates[side], rates[side], expected[side], color=colour, alpha=0.15)
    arrow = {"arrowstyle": "->", "color": GOOD, "lw": 2}
    for x, y, text, place in ((0, 1 - q0, "1 − q0", 0.03), (1, q1, "1 − q1", 0.72)):
        left.annotate("", xy=(x, y), xytext=(x, x), arrowprops=arrow)
        left.text(place, x + (y - x) * 0.7, text, color=GOOD, va="center")
    left.set(ylabel="expected rate, judge alone", title=f"Bias changes sign at {number(turn)}")
    add_legend(left, loc="lower right", fontsize=8.5)
    middle.axvline(rates[at], color=INK, linewidth=1, linestyle="--")
    for place, value, low, high, colour, name in (
        (1, run.naive, run.naive_low, run.naive_high, WARM, "judge alone"),
        (0, run.corrected, run.low, run.high, ACCENT, "corrected"),
    ):
        middle.hlines(place, low[at], high[at], color=colour, linewidth=2.6)
        middle.plot(value[at], place, "o", color=colour)
        middle.text(0.02, place + 0.15, f"{name} {number(value[at])}", color=colour)
    middle.set(xlim=(0, 1), ylim=(-0.6, 1.6), yticks=[])
    middle.set_xlabel(f"one sample; the true rate is {number(float(rates[at]), 2)}")
    held = run.low[at] <= rates[at] <= run.high[at]
    middle.set_title(f"Corrected interval {'holds' if held else 'misses'} the rate")
    right.plot(rates, setting.naive, "o", color=WARM, markersize=4, label="judge alone")
    right.plot(rates, setting.corrected, "s", color=ACCENT, markersize=4, label="corrected")
    right.set_ylabel(f"mean estimate, {setting.m[0]} labels")
    gap = float(np.abs(setting.corrected - rates).max())
    right.set_title(f"Largest bias after correction: {number(gap)}")
    add_legend(right, loc="upper left", fontsize=8.5)
    return figure


@PICTURES.add("figure3")
def figure_3(result: ReportingReproduction) -> Drawing:
    figure = new_figure()
    axes = figure.subplots()
    shorter: list[bool] = []
    rates = dict.fromkeys(row["p"] for row in result.rows("lengths"))
    for p, colour, mark in zip(rates, SERIES, MARKS, strict=False):
        curve = _columns(result, "lengths", p=p)
        axes.plot(curve.labels, curve.equal, "--", color=colour, linewidth=1.4)
        name = f"p = {p}"
        axes.plot(curve.labels, curve.adaptive, color=colour, marker=mark, markevery=40, label=name)
        shorter += (curve.adaptive < curve.equal).tolist()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("labels in all")
    axes.set_ylabel(f"length of the {level_text(result.level)} interval")
    add_legend(axes, title="Algorithm 1 (dashed: equal split)", fontsize=8.5, title_fontsize=8.5)
    points = f"{sum(shorter):,} of {len(shorter):,} points"
    axes.set_title(f"Algorithm 1 is shorter than an equal split at {points}")
    return figure


@PICTURES.add("figure4")
def figure_4(result: ReportingReproduction) -> Drawing:
    least = _least_quality()
    q = least + (1 - least) * np.linspace(0, 1, 401) ** 2  # dense where the region closes
    ends = [proposition_61(float(value)) or (np.nan, np.nan) for value in q]
    low, high = np.array(ends).T
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    axes.fill_between(q, low, high, color=ACCENT, alpha=0.25, linewidth=0)
    axes.plot(q, low, color=ACCENT)
    axes.plot(q, high, color=ACCENT)
    axes.text(0.95, 0.5, "judge with correction\nhas less variance", ha="center", va="center")
    axes.text(0.815, 0.5, "people alone\nhave less", ha="left", va="center", color=WARM)
    axes.axvline(least, color=MUTED, linewidth=1, linestyle=":")
    axes.text(least, 0.02, f" {least:.3f}", fontsize=8.5, va="bottom")
    axes.set(xlim=(0.8, 1), ylim=(0, 1), xlabel="sensitivity = specificity", ylabel="true rate")
    axes.set_title(f"A judge below {least:.3f} never beats its own calibration labels")
    return figure


@PICTURES.add("figure5")
def figure_5(result: ReportingReproduction) -> Drawing:
    colours = (MUTED, WARM, SERIES[2], SERIES[4], ACCENT, GOOD)
    figure = new_figure()
    axes = figure.subplots()
    axes.axhline(0, color=INK, linewidth=1)
    looks = zip(cycle(colours), cycle(LINES), strict=False)
    largest: dict[str, float] = {}
    names = dict.fromkeys(row["estimator"] for row in result.rows("shift"))
    for name, (colour, line) in zip(names, looks, strict=False):
        curve = _columns(result, "shift", estimator=name)
        largest[name] = float(np.abs(curve.bias).max())
        wide = 3.0 if name.startswith("(v)") else 1.8
        axes.plot(
            curve.rate / TEST_RATE, curve.bias, line, color=colour, linewidth=wide, label=name
        )
    axes.set(xlabel="rate among labelled rows / rate among test rows", ylabel="bias")
    add_legend(axes, fontsize=8.5)
    best = min(largest, key=largest.__getitem__)
    others = [value for name, value in largest.items() if name != best]
    ends = f"{number(min(others))} to {number(max(others))}"
    axes.set_title(f"Largest bias: {best} {number(largest[best])}, the others {ends}")
    return figure


def setting_figure(result: ReportingReproduction, *, name: str, setting: str) -> Drawing:
    """Figures 6 and 9 to 16: one run or the mean estimates, coverage, and length by allocation."""
    rows = _columns(result, "settings", figure=setting)
    run = _columns(result, "run") if name == "6" else None
    level = result.level
    figure = new_figure(11, 3.8)
    rates = rows.rate
    left, middle, right = figure.subplots(1, 3)
    left.plot([0, 1], [0, 1], color=INK, linewidth=1)
    middle.axhline(level, color=INK, linewidth=1)
    hits = []
    for suffix, colour, mark in (("_naive", WARM, "o"), ("", ACCENT, "s")):
        field, label = ("naive", "judge alone") if suffix else ("corrected", "corrected")
        look: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 3, "label": label}
        left.plot(rates, getattr(run or rows, field), linestyle="none" if run else "-", **look)
        if run is not None:
            low = run.naive_low if suffix else run.low
            high = run.naive_high if suffix else run.high
            left.fill_between(rates, low, high, color=colour, alpha=0.2, linewidth=0)
            hits.append(int(((low <= rates) & (rates <= high)).sum()))
        middle.plot(rates, getattr(rows, f"coverage{suffix}"), mark + "-", color=colour, ms=3)
    right.plot(rates, rows.length_equal, "s--", color=ACCENT, markersize=3, label="equal split")
    right.plot(rates, rows.length_adaptive, "s-", color=GOOD, markersize=3, label="Algorithm 1")
    left.set_ylabel("estimate, one run" if run else "mean estimate")
    middle.set(ylim=(-0.03, 1.03), ylabel=f"coverage of the {level_text(level)} interval")
    right.set(ylim=(0, None), ylabel="mean interval length")
    for panel in (left, middle, right):
        panel.set(xlabel="true rate", xlim=(-0.02, 1.02))
        add_legend(panel, fontsize=8)
    covered = f"{number(float(rows.coverage.min()))} to {number(float(rows.coverage.max()))}"
    title = (
        f"Figure {name}: n = {N}, m = {rows.m[0]}, specificity {rows.q0[0]}, "
        f"sensitivity {rows.q1[0]}: coverage {covered}"
    )
    if run is not None:
        covered = f"{hits[0]} of {len(rates)} true rates, the corrected one {hits[1]}"
        title = f"One run: the naive interval covers {covered}"
    set_suptitle(figure, title)
    return figure


for _name, _setting in (("6", MAIN), *((figure, figure) for figure, *_ in SETTINGS)):
    PICTURES.add(f"figure{_name}")(partial(setting_figure, name=_name, setting=_setting))
