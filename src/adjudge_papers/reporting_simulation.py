"""The reporting paper's simulation: its Table 1, Figures 2 to 6, 8 to 16, and propositions.

Everything is counts and closed forms: 21 rates with 10,000 repeats are one array call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from statistics import fmean, mean, median
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.stats import binom

from adjudge.errors import ArgumentError
from adjudge.estimation.estimators.misclassification import (
    Bounds,
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge.estimation.label_budget import (
    optimal_split,
    proposition_51,
    proposition_61,
    split,
    split_arrays,
)
from adjudge.present.blocks import Table, table_of
from adjudge.present.figure import (
    ACCENT,
    GOOD,
    INK,
    LINES,
    MARKS,
    MUTED,
    SERIES,
    WARM,
    new_figure,
    set_suptitle,
)
from adjudge.present.result import Check, Count, Level, NotNegative, Proportion, same_length
from adjudge.present.text import count as count_of
from adjudge.present.text import level as level_text
from adjudge.present.text import number
from adjudge.simulate.grades import draw_counts
from adjudge.statistics.numbers import mean_known, normal_quantile
from adjudge.validation import FloatArray
from adjudge_papers.items import ItemBook, ends_of
from adjudge_papers.paper import read_published
from adjudge_papers.reproduction import Gallery

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.reporting import ReportingReproduction

RATES = np.linspace(0, 1, 21)
N, PILOT = 1000, 10
ENDLESS = 1e12
#: Figure number of each setting (m, q0, q1), in the paper's order; Figure 6 is the tenth's setting.
SETTINGS = tuple(
    (str(9 + i), m, q0, q1)
    for i, (m, q0, q1) in enumerate(product((200, 500), (0.7, 0.9), (0.7, 0.9)))
)
MAIN = "10"
CURVES = (0.3, 0.5, 0.7, 0.9)
#: Figures 2 to 6, and 9 to 16.
PICTURES, SETTING_PICTURES = Gallery(), Gallery()
#: The smallest q0 = q1 for which a corrected judge can beat people alone, by Proposition 6.1.
LEAST_QUALITY = 0.5 + 1 / (2 * np.sqrt(2))


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """One setting of the paper's simulation: a list entry per true rate."""

    figure: str
    n: Count
    m: Count
    specificity: Proportion
    sensitivity: Proportion
    rates: tuple[Proportion, ...]
    naive: tuple[float, ...]
    corrected: tuple[float, ...]
    coverage_naive: tuple[Proportion, ...]
    coverage: tuple[Proportion, ...]
    coverage_adaptive: tuple[Proportion, ...]
    length_equal: tuple[NotNegative, ...]
    length_adaptive: tuple[NotNegative, ...]

    checks: ClassVar[tuple[Check, ...]] = (
        same_length(
            *("rates", "naive", "corrected", "coverage_naive", "coverage", "coverage_adaptive"),
            *("length_equal", "length_adaptive"),
        ),
    )

    @property
    def gaps(self) -> list[float]:
        """The bias of the judge's own rate."""
        return [naive - rate for naive, rate in zip(self.naive, self.rates, strict=True)]

    @property
    def crossing(self) -> float | None:
        """The rate at which that bias changes its sign."""
        pairs = zip(self.gaps, self.gaps[1:], self.rates, self.rates[1:], strict=False)
        return next((r + (s - r) * g / (g - h) for g, h, r, s in pairs if g > 0 >= h), None)

    @property
    def blind(self) -> int:
        """Rates at which the judge's own interval covers less than 5 %."""
        return sum(share < 0.05 for share in self.coverage_naive)

    @property
    def ratios(self) -> list[float]:
        """The length by Algorithm 1 over that of an equal split."""
        lengths = zip(self.length_adaptive, self.length_equal, strict=True)
        return [adaptive / equal for adaptive, equal in lengths]


def _bias_per_rate(shift: ShiftBias) -> str | None:
    if len(shift.bias) < 2:
        return "bias has fewer than two estimators to compare"
    wanted = len(shift.calibration_rates)
    other = [name for name, values in shift.bias.items() if len(values) != wanted]
    return f"bias of {other[0]} does not have {wanted} entries, one per rate" if other else None


@dataclass(frozen=True, kw_only=True)
class ShiftBias:
    """Figure 5: bias of each estimator if the labelled rows have another rate."""

    calibration_rates: tuple[Proportion, ...]
    test_rate: Level
    bias: Mapping[str, tuple[float, ...]]

    checks: ClassVar[tuple[Check, ...]] = (_bias_per_rate,)


@dataclass(frozen=True, kw_only=True)
class LengthCurve:
    """Figure 3: interval length against the number of labels, for one judge rate."""

    judge_rate: Proportion
    labels: tuple[Count, ...]
    equal: tuple[float, ...]
    adaptive: tuple[float, ...]

    checks: ClassVar[tuple[Check, ...]] = (same_length("labels", "equal", "adaptive"),)

    def enough(self, lengths: Sequence[float]) -> int | None:
        """The labels that bring the interval below 0.1, if as many are here."""
        return next((m for m, w in zip(self.labels, lengths, strict=True) if w < 0.1), None)


@dataclass(frozen=True, kw_only=True)
class SingleRun:
    """Figure 6a: one run over the true rates, judge alone and corrected, with intervals."""

    naive: tuple[float, ...]
    naive_low: tuple[float, ...]
    naive_high: tuple[float, ...]
    corrected: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("naive", "naive_low", "naive_high", "corrected", "low", "high"),
    )


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A number in the paper's text, and our number."""

    where: str
    claim: str
    paper: str
    ours: str
    agrees: bool


# --- the simulation --------------------------------------------------------------------------


def simulate_setting(
    figure: str, m: int, q0: float, q1: float, repeats: int, level: float, rng: np.random.Generator
) -> Simulation:
    """One setting: mean estimates, coverage and length, equal split and Algorithm 1."""
    theta = RATES[:, None]
    p, half, rate, equal = _equal_split(m, q0, q1, repeats, level, rng)
    # Algorithm 1: a pilot in each class, then the rest of the budget where it helps most.
    pilot0, pilot1 = rng.binomial(PILOT, q0, p.shape), rng.binomial(PILOT, q1, p.shape)
    m0, m1 = split_arrays(m, p, (pilot0 + 1) / (PILOT + 2), (pilot1 + 1) / (PILOT + 2), pilot=PILOT)
    a0, a1 = pilot0 + rng.binomial(m0 - PILOT, q0), pilot1 + rng.binomial(m1 - PILOT, q1)
    adaptive = corrected_interval(p, a0 / m0, a1 / m1, N, m0, m1, confidence_level=level)
    drawn = {
        "naive": p,
        "corrected": rate,
        "coverage_naive": np.abs(p - theta) <= half,
        "coverage": equal.covers(theta),
        "coverage_adaptive": adaptive.covers(theta),
        "length_equal": equal.length,
        "length_adaptive": adaptive.length,
    }
    return Simulation(
        figure=figure,
        n=N,
        m=m,
        specificity=q0,
        sensitivity=q1,
        rates=_floats(RATES),
        **{name: _floats(values.mean(axis=1)) for name, values in drawn.items()},
    )


def _equal_split(
    m: int, q0: float, q1: float, repeats: int, level: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, Bounds]:
    """The judge's rates and the half-lengths of their intervals; the same corrected."""
    half_m = m // 2
    k, c0, c1 = draw_counts(
        RATES, q0, q1, n=N, m0=half_m, m1=half_m, replications=repeats, seed=rng
    )
    p, s0, s1 = k / N, c0 / half_m, c1 / half_m
    half = normal_quantile(level) * np.sqrt(p * (1 - p) / N)
    bounds = corrected_interval(p, s0, s1, N, half_m, half_m, confidence_level=level)
    return p, half, corrected_rate(p, s0, s1).estimate, bounds


def one_run(m: int, q0: float, q1: float, level: float, rng: np.random.Generator) -> SingleRun:
    """Figure 6a: a single run, judge alone and corrected, with intervals."""
    p, half, rate, bounds = _equal_split(m, q0, q1, 1, level, rng)
    drawn = {"naive": p, "naive_low": p - half, "naive_high": p + half, "corrected": rate}
    drawn |= {"low": bounds.low, "high": bounds.high}
    return SingleRun(**{name: _floats(values.ravel()) for name, values in drawn.items()})


def simulate_shift(repeats: int, rng: np.random.Generator) -> ShiftBias:
    """Figure 5 and appendix D: test rate 0.5, labelled rows from 0.25 to 0.75, q = (0.7, 0.9)."""
    q0, q1, m, theta = 0.7, 0.9, 200, 0.5
    calibration = np.linspace(0.25, 0.75, 11)
    shape = (len(calibration), repeats)
    m1 = np.clip(rng.binomial(m, calibration[:, None], shape), 1, m - 1)
    m0 = m - m1
    c1, c0 = rng.binomial(m1, q1), rng.binomial(m0, q0)
    p = rng.binomial(N, theta * q1 + (1 - theta) * (1 - q0), shape) / N
    positive = c1 + m0 - c0
    r1, r0 = c1 / np.maximum(positive, 1), (m1 - c1) / np.maximum(m - positive, 1)
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
    return ShiftBias(
        calibration_rates=_floats(calibration),
        test_rate=theta,
        bias={name: _floats(values.mean(axis=1) - theta) for name, values in estimates.items()},
    )


def length_curve(p: float, level: float = 0.95) -> LengthCurve:
    """One curve of Figure 3: q0 = 0.7, q1 = 0.9, infinitely many test rows."""
    m = np.arange(20, 501, 2)
    m0, m1 = split_arrays(500, p, 0.7, 0.9)
    ones = np.clip(np.rint(m * m1 / (m0 + m1)), PILOT, m - PILOT)
    equal, adaptive = (
        _floats(corrected_interval(p, 0.7, 0.9, ENDLESS, a, b, confidence_level=level).length)
        for a, b in ((m / 2, m / 2), (m - ones, ones))
    )
    return LengthCurve(judge_rate=p, labels=tuple(m.tolist()), equal=equal, adaptive=adaptive)


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())


# --- what the paper states, and ours ---------------------------------------------------------


def compare_claims(
    settings: Sequence[Simulation],
    shift: ShiftBias,
    curve: LengthCurve,
    level: float,
    repeats: int,
) -> tuple[Claim, ...]:
    """The statements of the paper's text with our numbers, and whether they agree."""
    main = next(setting for setting in settings if setting.figure == MAIN)
    crossing = main.crossing
    enough = curve.enough(curve.equal)
    covered = [share for setting in settings for share in setting.coverage]
    floor = float(binom.ppf(1e-3 / len(covered), repeats, level)) / repeats
    ratios = [ratio for setting in settings for ratio in setting.ratios]
    shorter = sum(ratio < 1 for ratio in ratios)
    ends = {name: max(abs(values[0]), abs(values[-1])) for name, values in shift.bias.items()}
    corrected, conditional = ends["(v) misclassification"], ends["(iv) conditional"]
    others = f"{ends['(ii) human-only']:.3f}, {ends['(iii) difference']:.3f}, {conditional:.3f}"
    outcomes = {
        "crossing": (number(crossing), crossing is not None and abs(crossing - 0.75) < 0.01),
        "labels": (
            "more than 500" if enough is None else f"{enough} ({enough // 2} per class)",
            enough is not None and abs(enough - 200) <= 40,
        ),
        "coverage": (f"{min(covered):.3f} to {max(covered):.3f}", min(covered) >= floor),
        "naive": (f"{main.blind} of 21", main.blind >= 15),
        "shorter": (
            f"{shorter} of {len(ratios)} (worst {max(ratios):.2f} times as long)",
            shorter == len(ratios),
        ),
        "quality": (
            f"{LEAST_QUALITY:.3f}",
            proposition_61(LEAST_QUALITY - 1e-6) is None and proposition_61(0.86) is not None,
        ),
        "shift": (f"{corrected:.3f}; {others}", corrected < 0.01 < 0.02 < conditional),
    }
    return tuple(
        Claim(
            where=stated["where"],
            claim=stated["claim"].format(level=100 * level),
            paper=stated["paper"],
            ours=outcomes[name][0],
            agrees=outcomes[name][1],
        )
        for name, stated in read_published("reporting")["claims"].items()
    )


def claim_table(claims: Sequence[Claim], repeats: int) -> Table:
    """The paper's statements and ours."""
    return table_of(
        claims,
        {
            "where": lambda claim: claim.where,
            "statement": lambda claim: claim.claim,
            "paper": lambda claim: claim.paper,
            "ours": lambda claim: claim.ours,
            "agrees": lambda claim: "yes" if claim.agrees else "no",
        },
        caption=f"The paper's text and ours, {count_of(repeats, 'repeat')}",
        text_columns=4,
    )


def setting_table(settings: Sequence[Simulation], confidence_level: float) -> Table:
    """Coverage and length in every setting."""

    def ends(values: Sequence[float]) -> str:
        return f"{number(min(values))} to {number(max(values))}"

    rates = count_of(len(settings[0].rates), "true rate")
    return table_of(
        settings,
        {
            "figure": lambda setting: setting.figure,
            "labels": lambda setting: number(setting.m),
            "q0": lambda setting: number(setting.specificity, 1),
            "q1": lambda setting: number(setting.sensitivity, 1),
            "coverage": lambda setting: ends(setting.coverage),
            "adaptive coverage": lambda setting: ends(setting.coverage_adaptive),
            "naive coverage": lambda setting: number(median(setting.coverage_naive)),
            "length": lambda setting: number(mean(setting.length_equal)),
            "adaptive length": lambda setting: number(mean(setting.length_adaptive)),
        },
        caption=f"{level_text(confidence_level)} intervals over {rates}: coverage from least to "
        "most (naive: median), mean length; labels split equally, adaptive: by Algorithm 1",
        optional=("naive coverage", "adaptive coverage"),
    )


def add_simulation(
    book: ItemBook,
    settings: Sequence[Simulation],
    shift: ShiftBias,
    curves: Sequence[LengthCurve],
) -> None:
    """The items of the simulation. Table 1 is the effect of its assumptions: bias without shift."""
    middle = int(np.argmin([abs(rate - shift.test_rate) for rate in shift.calibration_rates]))
    bias = {name: values for name, values in shift.bias.items() if name.startswith("(")}
    book.add("Table 1", {name: values[middle] for name, values in bias.items()})
    book.add("Figure 5", {name: max(map(abs, values)) for name, values in bias.items()})
    main = next(setting for setting in settings if setting.figure == MAIN)
    left = [abs(rate - true) for rate, true in zip(main.corrected, main.rates, strict=True)]
    book.add(
        "Figure 2",
        {
            "rate at which the judge's bias changes sign": main.crossing,
            "bias of the judge at rate 0": main.gaps[0],
            "bias of the judge at rate 1": main.gaps[-1],
            "mean |bias| after correction, 200 labels": fmean(left),
        },
    )
    for name, setting in [("6", main), *((setting.figure, setting) for setting in settings)]:
        book.add(
            f"Figure {name}",
            {
                **ends_of("coverage, %", (100 * share for share in setting.coverage)),
                "rates at which the naive interval covers under 5 %": float(setting.blind),
                "length by Algorithm 1 / equal split, mean": mean_known(setting.ratios),
                "the same, most": max(setting.ratios),
            },
        )
    needed = {
        f"{way}, p = {curve.judge_rate}": curve.enough(lengths)
        for curve in curves
        for way, lengths in (("equal split", curve.equal), ("Algorithm 1", curve.adaptive))
    }
    book.add("Figure 3", {name: float(labels) for name, labels in needed.items() if labels})


def add_propositions(book: ItemBook) -> None:
    """Figures 4 and 8 and the propositions in numbers, at the judge of the paper's figures."""
    q0, q1, p, q = 0.7, 0.9, 0.5, 0.8
    least, region = _least_quality(), proposition_61(0.9) or (None, None)
    book.add(
        "Figure 4",
        {"least q0 = q1": least, "q = 0.9: from rate": region[0], "q = 0.9: to rate": region[1]},
    )
    low, high, _ = corrected_interval(0.55, q0, q1, 1000, 100, 100)
    book.add("Figure 8", {"low": float(low), "high": float(high)})
    labels = proposition_51(q) or 0
    book.add(
        "Proposition 5.1",
        {
            "labels, the same of each class, from": float(labels),
            "|bias| after / before, at most, with this many labels": _bias_ratio(q, labels // 2),
        },
    )
    chosen, best = split(200, p=p, q0=q0, q1=q1), optimal_split(200, theta=1 / 3, q0=q0, q1=q1)
    ours, shortest = (
        float(corrected_variance(p, q0, q1, ENDLESS, *way)) ** 0.5 for way in (chosen, best)
    )
    book.add(
        "Proposition 5.2",
        {
            "labels of class 0": float(chosen.m0),
            "length, over that of the split with least variance": ours / shortest,
        },
    )
    book.add("Proposition 6.1", {"q": least})


def _bias_ratio(q: float, each: int) -> float:
    """Largest |bias| of the corrected rate over that of the judge's rate, `each` labels per class.

    Exact, for infinitely many test rows and labels that show the judge to be better than chance.
    The paper has a second-order approximation, which is the same at every rate.
    """
    right = np.arange(each + 1)
    chance = np.outer(*(binom.pmf(right, each, q),) * 2)
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
    low, high = 0.5, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if proposition_61(middle) is None else (low, middle)
    return high


# --- figures ---------------------------------------------------------------------------------


def _main(result: ReportingReproduction) -> tuple[Simulation, SingleRun]:
    """The setting of Figures 2 and 6, and a single run of it."""
    if result.main is None or result.single_run is None:
        raise ArgumentError("figure", "figure2", "the simulation was not run")
    return result.main, result.single_run


@PICTURES.add(
    "figure2", "Figure 2: bias of the judge's own rate, one sample corrected, what bias is left."
)
def figure_2(result: ReportingReproduction) -> Drawing:
    """The judge's bias, one sample corrected with its interval, the bias that is left."""
    setting, run = _main(result)
    rates, q0, q1 = np.array(setting.rates), setting.specificity, setting.sensitivity
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
    left.set_ylabel("expected rate, judge alone")
    left.set_title(f"Bias changes sign at {number(turn)}")
    left.legend(loc="lower right", fontsize=8.5)
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
    right.set_ylabel(f"mean estimate, {setting.m} labels")
    gap = float(np.abs(np.array(setting.corrected) - rates).max())
    right.set_title(f"Largest bias after correction: {number(gap)}")
    right.legend(loc="upper left", fontsize=8.5)
    return figure


@PICTURES.add("figure3", "Figure 3: interval length by number of labels, q0 = 0.7, q1 = 0.9.")
def figure_3(result: ReportingReproduction) -> Drawing:
    """Interval length against labels (q0 = 0.7, q1 = 0.9)."""
    figure = new_figure()
    axes = figure.subplots()
    shorter: list[bool] = []
    for curve, colour, mark in zip(result.lengths, SERIES, MARKS, strict=False):
        axes.plot(curve.labels, curve.equal, "--", color=colour, linewidth=1.4)
        name = f"p = {curve.judge_rate}"
        axes.plot(curve.labels, curve.adaptive, color=colour, marker=mark, markevery=40, label=name)
        shorter += [a < e for a, e in zip(curve.adaptive, curve.equal, strict=True)]
    axes.set_ylim(bottom=0)
    axes.set_xlabel("labels in all")
    axes.set_ylabel(f"length of the {level_text(result.confidence_level)} interval")
    axes.legend(title="Algorithm 1 (dashed: equal split)", fontsize=8.5, title_fontsize=8.5)
    points = f"{sum(shorter):,} of {len(shorter):,} points"
    axes.set_title(f"Algorithm 1 is shorter than an equal split at {points}")
    return figure


@PICTURES.add(
    "figure4", "Figure 4: rates for which the judge beats people alone (Proposition 6.1)."
)
def figure_4(result: ReportingReproduction) -> Drawing:
    """Where a corrected judge has less variance than as many human labels alone."""
    least = LEAST_QUALITY
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


@PICTURES.add("figure5", "Figure 5: bias of every estimator when labelled rows have another rate.")
def figure_5(result: ReportingReproduction) -> Drawing:
    """Bias under label shift."""
    shift = result.shift
    if shift is None:
        raise ArgumentError("figure", "figure5", "the simulation was not run")
    ratio = np.array(shift.calibration_rates) / shift.test_rate
    colours = (MUTED, WARM, SERIES[2], SERIES[4], ACCENT, GOOD)
    figure = new_figure()
    axes = figure.subplots()
    axes.axhline(0, color=INK, linewidth=1)
    looks = zip(cycle(colours), cycle(LINES), strict=False)
    for (name, bias), (colour, line) in zip(shift.bias.items(), looks, strict=False):
        wide = 3.0 if name.startswith("(v)") else 1.8
        axes.plot(ratio, bias, line, color=colour, linewidth=wide, label=name)
    axes.set_xlabel("rate among labelled rows / rate among test rows")
    axes.set_ylabel("bias")
    axes.legend(fontsize=8.5)
    largest = {name: max(map(abs, bias)) for name, bias in shift.bias.items()}
    best = min(largest, key=largest.__getitem__)
    others = [value for name, value in largest.items() if name != best]
    ends = f"{number(min(others))} to {number(max(others))}"
    axes.set_title(f"Largest bias: {best} {number(largest[best])}, the others {ends}")
    return figure


@PICTURES.add("figure6", "Figure 6: one run, coverage, and length by allocation.")
def figure_6(result: ReportingReproduction) -> Drawing:
    """A single run, coverage, and length by allocation."""
    setting, run = _main(result)
    rates = np.array(setting.rates)
    figure, left = _three_panels(setting, result.confidence_level)
    hits = []
    for value, low, high, colour, marker, name in (
        (run.naive, run.naive_low, run.naive_high, WARM, "o", "judge alone"),
        (run.corrected, run.low, run.high, ACCENT, "s", "corrected"),
    ):
        left.fill_between(rates, low, high, color=colour, alpha=0.2, linewidth=0)
        left.plot(rates, value, marker, color=colour, markersize=4, label=name)
        hits.append(int(((low <= rates) & (rates <= high)).sum()))
    left.legend(fontsize=8)
    left.set_ylabel("estimate, one run")
    covered = f"{hits[0]} of {len(rates)} true rates, the corrected one {hits[1]}"
    set_suptitle(figure, f"One run: the naive interval covers {covered}")
    return figure


def setting_figure(result: ReportingReproduction, *, figure_number: str) -> Drawing:
    """Figures 9 to 16: one setting each."""
    [setting] = [drawn for drawn in result.settings if drawn.figure == figure_number]
    figure, left = _three_panels(setting, result.confidence_level)
    left.plot(setting.rates, setting.naive, "o-", color=WARM, markersize=3, label="judge alone")
    left.plot(setting.rates, setting.corrected, "s-", color=ACCENT, markersize=3, label="corrected")
    left.set_ylabel("mean estimate")
    left.legend(fontsize=8)
    set_suptitle(
        figure,
        f"Figure {setting.figure}: n = {setting.n}, m = {setting.m}, specificity "
        f"{setting.specificity}, sensitivity {setting.sensitivity}: coverage "
        f"{number(min(setting.coverage))} to {number(max(setting.coverage))}",
    )
    return figure


def _three_panels(setting: Simulation, confidence_level: float) -> tuple[Drawing, Axes]:
    """Coverage and length in the second and third panel; the first is returned to be drawn."""
    figure, rates = new_figure(11, 3.8), setting.rates
    left, middle, right = figure.subplots(1, 3)
    left.plot([0, 1], [0, 1], color=INK, linewidth=1)
    middle.axhline(confidence_level, color=INK, linewidth=1)
    middle.plot(rates, setting.coverage_naive, "o-", color=WARM, markersize=3)
    middle.plot(rates, setting.coverage, "s-", color=ACCENT, markersize=3)
    middle.set_ylim(-0.03, 1.03)
    middle.set_ylabel(f"coverage of the {level_text(confidence_level)} interval")
    right.plot(rates, setting.length_equal, "s--", color=ACCENT, markersize=3, label="equal split")
    right.plot(rates, setting.length_adaptive, "s-", color=GOOD, markersize=3, label="Algorithm 1")
    right.set_ylim(bottom=0)
    right.set_ylabel("mean interval length")
    right.legend(fontsize=8)
    for panel in (left, middle, right):
        panel.set(xlabel="true rate", xlim=(-0.02, 1.02))
    return figure, left


for _figure, *_ in SETTINGS:
    SETTING_PICTURES.add(
        f"figure{_figure}", f"Figure {_figure}: mean estimate, coverage and length."
    )(partial(setting_figure, figure_number=_figure))
