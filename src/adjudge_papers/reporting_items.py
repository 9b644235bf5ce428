"""The outcome of every table, figure and proposition of the reporting paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from adjudge.estimation.estimators.misclassification import (
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge.estimation.label_budget import optimal_split, proposition_51, proposition_61, split
from adjudge.statistics.numbers import mean_known
from adjudge_papers.items import ItemBook, Measured, PaperItem, ends_of, in_percent

if TYPE_CHECKING:
    from adjudge_papers.reporting import LengthCurve, ReportingReproduction, ShiftBias, Simulation
    from adjudge_papers.reporting_arena import ProtocolRow


def list_items(result: ReportingReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order. The paper's simulation counts as reproduced."""
    book = ItemBook("reporting", simulated=False)
    if result.shift is not None:
        _add_shift(book, result.shift)
    _add_arena(book, result)
    if result.main is not None:
        _add_bias(book, result.main)
        _add_simulation(book, "Figure 6", result.main)
    for setting in result.settings:
        _add_simulation(book, f"Figure {setting.figure}", setting)
    _add_lengths(book, result.lengths)
    region = proposition_61(0.9) or (None, None)
    book.add(
        "Figure 4",
        {
            "least q0 = q1": _least_quality(),
            "q = 0.9: from rate": region[0],
            "q = 0.9: to rate": region[1],
        },
    )
    low, high, _ = corrected_interval(0.55, 0.7, 0.9, 1000, 100, 100)
    book.add("Figure 8", {"low": float(low), "high": float(high)})
    _add_propositions(book)
    return book.items()


def _add_shift(book: ItemBook, shift: ShiftBias) -> None:
    """Table 1 as the effect of its assumptions: bias without and with label shift."""
    middle = min(
        range(len(shift.calibration_rates)),
        key=lambda at: abs(shift.calibration_rates[at] - shift.test_rate),
    )
    paper = {name: bias for name, bias in shift.bias.items() if name.startswith("(")}
    book.add("Table 1", {name: bias[middle] for name, bias in paper.items()})
    book.add("Figure 5", {name: max(map(abs, bias)) for name, bias in paper.items()})


def _add_arena(book: ItemBook, result: ReportingReproduction) -> None:
    """Table 2 and Figure 7, on the given rows or on simulated ones."""
    rows, simulated = result.protocol, result.protocol_source is None
    theirs = [row for row in rows if row.paper_coverage is not None]
    remark = ""
    if not simulated and len(theirs) < 6:
        remark = f"{len(theirs)} of the paper's 6 models" if theirs else "other models"
    answers = "probabilities" if result.probabilities else "0/1 verdicts"
    measured, published = _paper_models(theirs) if theirs else (_other_models(rows), {})
    unknown = "no model has an estimate"
    book.add(
        "Table 2",
        measured,
        published=published,
        about=f"Coverage and length of 95 % intervals over splits, {answers}",
        remark=remark,
        simulated=simulated,
        unknown=unknown,
    )
    bias = [
        (abs(r.bias_naive), abs(r.bias_corrected)) for r in rows if r.bias_corrected is not None
    ]
    closer = mean_known(float(corrected < naive) for naive, corrected in bias)
    book.add(
        "Figure 7",
        {
            "models brought closer to people, %": in_percent(closer),
            "mean |bias|, judge alone": mean_known(naive for naive, _ in bias),
            "mean |bias|, corrected": mean_known(corrected for _, corrected in bias),
        },
        about=f"Mean bias of each model's rate over splits, {answers}",
        remark=remark,
        simulated=simulated,
        unknown=unknown,
    )


def _paper_models(rows: Sequence[ProtocolRow]) -> tuple[Measured, Mapping[str, object]]:
    """The paper's models one by one."""
    cover = {f"coverage of {row.model}, %": row for row in rows}
    lengths = {f"length of {row.model}": row for row in rows}
    return (
        {name: in_percent(row.coverage) for name, row in cover.items()}
        | {name: row.length for name, row in lengths.items()},
        {name: in_percent(row.paper_coverage) for name, row in cover.items()}
        | {name: {"paper": row.paper_length, "digits": 3} for name, row in lengths.items()},
    )


def _other_models(rows: Sequence[ProtocolRow]) -> Measured:
    """The ranges over other models, for the paper's ranges."""
    measured = {
        **ends_of("coverage, %", (in_percent(row.coverage) for row in rows)),
        **ends_of("length", (row.length for row in rows)),
    }
    if any(row.spread_length is not None for row in rows):
        spread = "by the probabilities' own spread"
        shares = (in_percent(row.spread_coverage) for row in rows)
        measured |= ends_of(f"coverage {spread}, %", shares)
        measured |= ends_of(f"length {spread}", (row.spread_length for row in rows))
    return measured


def _add_bias(book: ItemBook, main: Simulation) -> None:
    """Figure 2: where the judge's rate is right by chance, and its error at the ends."""
    gaps = [naive - rate for naive, rate in zip(main.naive, main.rates, strict=True)]
    pairs = zip(gaps, gaps[1:], main.rates, main.rates[1:], strict=False)
    crossing = next((r + (s - r) * g / (g - h) for g, h, r, s in pairs if g > 0 >= h), None)
    left = [abs(rate - true) for rate, true in zip(main.corrected, main.rates, strict=True)]
    book.add(
        "Figure 2",
        {
            "rate at which the judge's bias changes sign": crossing,
            "bias of the judge at rate 0": gaps[0],
            "bias of the judge at rate 1": gaps[-1],
            "mean |bias| after correction, 200 labels": fmean(left),
        },
    )


def _add_lengths(book: ItemBook, curves: Sequence[LengthCurve]) -> None:
    """Figure 3: labels that bring the interval below 0.1, if as many are enough."""
    needed = {
        f"{way}, p = {curve.judge_rate}": next(
            (float(m) for m, length in zip(curve.labels, lengths, strict=True) if length < 0.1),
            None,
        )
        for curve in curves
        for way, lengths in (("equal split", curve.equal), ("Algorithm 1", curve.adaptive))
    }
    book.add("Figure 3", {name: labels for name, labels in needed.items() if labels is not None})


def _add_simulation(book: ItemBook, name: str, setting: Simulation) -> None:
    """Figures 6 and 9 to 16: coverage by rate, and the gain of Algorithm 1."""
    ratios = [
        adaptive / equal
        for adaptive, equal in zip(setting.length_adaptive, setting.length_equal, strict=True)
    ]
    blind = sum(share < 0.05 for share in setting.coverage_naive)
    book.add(
        name,
        {
            **ends_of("coverage, %", (100 * share for share in setting.coverage)),
            "rates at which the naive interval covers under 5 %": float(blind),
            "length by Algorithm 1 / equal split, mean": mean_known(ratios),
            "the same, most": max(ratios),
        },
    )


def _add_propositions(book: ItemBook) -> None:
    """The paper's propositions in numbers, at the judge of its figures."""
    q0, q1, p, q = 0.7, 0.9, 0.5, 0.8
    labels = proposition_51(q) or 0
    book.add(
        "Proposition 5.1",
        {
            "labels, the same of each class, from": float(labels),
            "|bias| after / before, at most, with this many labels": _bias_ratio(q, labels // 2),
        },
    )
    chosen, best = split(200, p=p, q0=q0, q1=q1), optimal_split(200, theta=1 / 3, q0=q0, q1=q1)
    ours, least = (
        float(corrected_variance(p, q0, q1, 1e12, *way)) ** 0.5 for way in (chosen, best)
    )
    book.add(
        "Proposition 5.2",
        {
            "labels of class 0": float(chosen.m0),
            "length, over that of the split with least variance": ours / least,
        },
    )
    book.add("Proposition 6.1", {"q": _least_quality()})


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
