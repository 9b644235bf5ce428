"""The outcome of every table, figure and proposition of the reporting paper."""

from __future__ import annotations

from statistics import fmean

import numpy as np
from scipy.stats import binom

from adjudge.estimation.allocation import optimal_split, proposition_51, proposition_61, split
from adjudge.estimation.misclassification import (
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge_papers.items import (
    ItemBook,
    ItemValue,
    PaperItem,
    ends_of,
    in_percent,
    mean_of,
    value_of,
)
from adjudge_papers.reporting_result import (
    LengthCurve,
    ProtocolRow,
    ReportingReproduction,
    Simulation,
)

#: The output of the paper's code (Figure 8) for p = 0.55, q0 = 0.7, q1 = 0.9, n = 1000,
#: m0 = m1 = 100; a golden test runs that code.
LISTING = (0.300560, 0.522967)
#: The setting of Figures 2, 3, 5 and 6 is that of Figure 10: specificity 0.7, sensitivity 0.9.
MAIN = "10"
_DRAWING = "a drawing of the two kinds of errors, without data"


def list_items(result: ReportingReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order. The paper's simulation counts as reproduced."""
    book = ItemBook("reporting", simulated=False)
    main = next(one for one in result.settings if one.figure == MAIN)
    _estimators(book, result)
    _arena(book, result)
    book.add("Figure 1", "The judge's two error rates", missing=_DRAWING)
    _bias(book, main)
    _lengths(book, result.lengths)
    region = proposition_61(0.9)
    book.add(
        "Figure 4", "Rates for which the corrected judge beats people alone",
        value_of("least q0 = q1", _least_quality(), 0.854, 3),
        *(value_of(f"q = 0.9: {end} rate", rate, digits=3)
          for end, rate in zip(("from", "to"), region or (None, None), strict=True)),
        figure="figure4",
    )  # fmt: skip
    _simulations(
        book, {"Figure 6": main, **{f"Figure {one.figure}": one for one in result.settings}}
    )
    low, high, _ = corrected_interval(0.55, 0.7, 0.9, 1000, 100, 100)
    book.add(
        "Figure 8", "The paper's code: its interval for p = 0.55, q = (0.7, 0.9), 1000, 100, 100",
        value_of("low", float(low), LISTING[0], 4), value_of("high", float(high), LISTING[1], 4),
    )  # fmt: skip
    _propositions(book)
    return book.items()


def _estimators(book: ItemBook, result: ReportingReproduction) -> None:
    """Table 1 as the effect of its assumptions: bias without and with label shift."""
    shift = result.shift
    if shift is None:
        return
    middle = min(
        range(len(shift.calibration_rates)),
        key=lambda at: abs(shift.calibration_rates[at] - shift.test_rate),
    )
    paper = {name: bias for name, bias in shift.bias.items() if name.startswith("(")}
    unbiased = 0.0
    book.add(
        "Table 1", "Bias of the estimators if labelled and test rows have the same rate",
        *(
            value_of(name, bias[middle], None if name.startswith("(i)") else unbiased, 3)
            for name, bias in paper.items()
        ),
    )  # fmt: skip
    book.add(
        "Figure 5", "Largest bias under label shift",
        *(
            value_of(name, max(map(abs, bias)), unbiased if name.startswith("(v)") else None, 3)
            for name, bias in paper.items()
        ),
        figure="figure5",
    )  # fmt: skip


def _arena(book: ItemBook, result: ReportingReproduction) -> None:
    """Table 2 and Figure 7, on the given rows or on simulated ones."""
    rows, simulated = result.protocol, result.protocol_source is None
    known = [row for row in rows if row.bias_corrected is not None]
    theirs = [row for row in rows if row.paper_coverage is not None]
    remark = ""
    if not simulated and len(theirs) < 6:
        remark = f"{len(theirs)} of the paper's 6 models" if theirs else "other models"
    kind = "probabilities" if result.probabilities else "0/1 verdicts"
    closer = sum(abs(row.bias_corrected or 0.0) < abs(row.bias_naive) for row in known)
    book.add(
        "Table 2", f"Coverage and length of 95 % intervals over splits, {kind}",
        *_arena_values(rows, theirs), remark=remark, simulated=simulated,
        unknown="no model has an estimate",
    )  # fmt: skip
    book.add(
        "Figure 7", f"Mean bias of each model's rate over splits, {kind}",
        value_of("models brought closer to people, %",
                 100 * closer / len(known) if known else None, 100, 0),
        mean_of("mean |bias|, judge alone", (abs(row.bias_naive) for row in known), digits=3),
        mean_of("mean |bias|, corrected", (abs(row.bias_corrected or 0.0) for row in known),
                digits=3),
        figure="figure7", remark=remark, simulated=simulated, unknown="no model has an estimate",
    )  # fmt: skip


def _arena_values(rows: tuple[ProtocolRow, ...], theirs: list[ProtocolRow]) -> list[ItemValue]:
    """The paper's models one by one; for other models the range, next to the paper's range."""
    if theirs:
        cover = [
            value_of(f"coverage of {row.model}, %", in_percent(row.coverage),
                     in_percent(row.paper_coverage), 0)
            for row in theirs
        ]  # fmt: skip
        return [
            *cover,
            *(value_of(f"length of {r.model}", r.length, r.paper_length, 3) for r in theirs),
        ]
    values = [
        *ends_of("coverage, %", (in_percent(row.coverage) for row in rows), (95, 99), 0),
        *ends_of("length", (row.length for row in rows), (0.178, 0.267), 3),
    ]
    if any(row.spread_length is not None for row in rows):
        spread = [in_percent(row.spread_coverage) for row in rows]
        values += ends_of("coverage by the probabilities' own spread, %", spread, digits=0)
        lengths = [row.spread_length for row in rows]
        values += ends_of("length by the probabilities' own spread", lengths, digits=3)
    return values


def _bias(book: ItemBook, main: Simulation) -> None:
    """Figure 2: where the judge's rate is right by chance, and its error at the ends."""
    q0, q1 = main.specificity, main.sensitivity
    gaps = [naive - rate for naive, rate in zip(main.naive, main.rates, strict=True)]
    pairs = zip(gaps, gaps[1:], main.rates, main.rates[1:], strict=False)
    crossing = next((r + (s - r) * g / (g - h) for g, h, r, s in pairs if g > 0 >= h), None)
    left = [abs(one - rate) for one, rate in zip(main.corrected, main.rates, strict=True)]
    book.add(
        "Figure 2", f"Bias of the judge's own rate and of the corrected one, q = ({q0}, {q1})",
        value_of("rate at which the judge's bias changes sign", crossing, 0.75, 3),
        value_of("bias of the judge at rate 0", gaps[0], 1 - q0, 3),
        value_of("bias of the judge at rate 1", gaps[-1], q1 - 1, 3),
        value_of("mean |bias| after correction, 200 labels", fmean(left), 0, 3),
        figure="figure2",
    )  # fmt: skip


def _lengths(book: ItemBook, curves: tuple[LengthCurve, ...]) -> None:
    """Figure 3: labels that bring the interval below 0.1."""

    def needed(curve: LengthCurve, lengths: tuple[float, ...]) -> float | None:
        pairs = zip(curve.labels, lengths, strict=True)
        return next((float(m) for m, length in pairs if length < 0.1), None)

    values = [
        value_of(f"{way}, p = {curve.judge_rate}", needed(curve, lengths),
                 200 if (way, curve.judge_rate) == ("equal split", 0.3) else None, 0)
        for curve in curves
        for way, lengths in (("equal split", curve.equal), ("Algorithm 1", curve.adaptive))
    ]  # fmt: skip
    book.add(
        "Figure 3", "Labels for a length below 0.1 if 500 are enough, q = (0.7, 0.9)",
        *(value for value in values if value.ours is not None), figure="figure3",
    )  # fmt: skip


def _simulations(book: ItemBook, settings: dict[str, Simulation]) -> None:
    """Figures 6 and 9 to 16: coverage by rate, and the gain of Algorithm 1."""
    for name, one in settings.items():
        ratios = [a / e for a, e in zip(one.length_adaptive, one.length_equal, strict=True)]
        book.add(
            name,
            f"Coverage and length, {one.m} labels, q = ({one.specificity}, {one.sensitivity})",
            *ends_of("coverage, %", (100 * share for share in one.coverage), (95, 95)),
            value_of("rates at which the naive interval covers under 5 %",
                     float(sum(share < 0.05 for share in one.coverage_naive)), digits=0),
            mean_of("length by Algorithm 1 / equal split, mean", ratios, digits=3),
            value_of("the same, most", max(ratios), digits=3),
            figure=name.lower().replace(" ", ""),
        )  # fmt: skip


def _propositions(book: ItemBook) -> None:
    """The paper's propositions in numbers, at the judge of its figures."""
    q0, q1, p, q = 0.7, 0.9, 0.5, 0.8
    labels = proposition_51(q) or 0
    book.add(
        "Proposition 5.1", "When correcting leaves less bias, q0 = q1 = 0.8",
        value_of("labels, the same of each class, from", float(labels), digits=0),
        value_of("|bias| after / before, at most, with this many labels",
                 _bias_ratio(q, labels // 2),
                 2 * q / (2 * q - 1) ** 2 / labels, 3),
    )  # fmt: skip
    ours, best = split(200, p=p, q0=q0, q1=q1), optimal_split(200, theta=1 / 3, q0=q0, q1=q1)
    ratio = [float(corrected_variance(p, q0, q1, 1e12, *way)) ** 0.5 for way in (ours, best)]
    book.add(
        "Proposition 5.2", "Algorithm 1's split of 200 labels at p = 0.5, q = (0.7, 0.9)",
        value_of("labels of class 0", float(ours.m0), digits=0),
        value_of("length, over that of the split with least variance", ratio[0] / ratio[1], 1, 3),
    )  # fmt: skip
    book.add(
        "Proposition 6.1", "Smallest q0 = q1 for which the judge can beat people alone",
        value_of("q", _least_quality(), 0.854, 3),
    )  # fmt: skip


def _bias_ratio(q: float, each: int) -> float:
    """Largest |bias| of the corrected rate over that of the judge's rate, `each` labels per class.

    Exact, for infinitely many test rows and labels that show the judge to be better than chance.
    The paper has a second-order approximation, which is the same at every rate.
    """
    right = np.arange(each + 1)
    chance = np.outer(*(binom.pmf(right, each, q),) * 2)
    q0, q1 = np.meshgrid(right / each, right / each, indexing="ij")
    rates = np.linspace(0, 0.49, 50)
    ratios = []
    for rate in rates:
        corrected = corrected_rate((2 * q - 1) * rate + 1 - q, q0, q1)
        usable = chance * corrected.informative
        mean = (usable * corrected.estimate).sum() / usable.sum()
        ratios.append(float(abs(mean - rate) / ((1 - 2 * rate) * (1 - q))))
    return max(ratios)


def _least_quality() -> float:
    """The quality at which the region of Proposition 6.1 opens, by bisection on its formula."""
    low, high = 0.5, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if proposition_61(middle) is None else (low, middle)
    return high
