"""The reporting paper: its simulation (Figures 2 to 6 and 9 to 16) and its protocol (Table 2).

Everything is counts and closed forms: 21 rates with 10,000 repeats are one array call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import mean, median
from typing import Any, ClassVar

import numpy as np
from scipy.stats import binom

from adjudge.data.tables import TableLike, source_name
from adjudge.errors import ArgumentError
from adjudge.estimation.estimators.misclassification import (
    Bounds,
    corrected_interval,
    corrected_rate,
)
from adjudge.estimation.label_budget import proposition_61, split_arrays
from adjudge.present.blocks import Block, Headline, Table, notes_of, table_of
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    frozen,
    same_length,
)
from adjudge.present.text import count as count_of
from adjudge.present.text import left_out, number, percent, signed
from adjudge.present.text import level as level_text
from adjudge.simulate.grades import draw_counts
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import FloatArray, count, open_unit
from adjudge_papers.items import read_published
from adjudge_papers.reporting_arena import (
    ProtocolRow,
    ask_judge,
    gather_rows,
    measure_model,
    simulate_arena,
)
from adjudge_papers.reporting_figures import PICTURES, describe_protocol
from adjudge_papers.reporting_items import list_items
from adjudge_papers.reproduction import Reproduction

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
#: Battles without data; the length of intervals is then near Table 2's.
SIMULATED_BATTLES = 4500
#: A model with fewer rows is left out.
_FEWEST = 20


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


def _run_over_the_rates(result: ReportingReproduction) -> str | None:
    if result.single_run is None or not result.settings:
        return None
    entries, rates = (
        len(result.single_run.naive),
        {len(setting.rates) for setting in result.settings},
    )
    return None if rates == {entries} else f"single_run has {entries} entries, not one per rate"


@frozen
class ReportingReproduction(Reproduction):
    """The reporting paper's simulation, its Chatbot Arena protocol, and all its items."""

    kind: ClassVar[str] = "reproduction_reporting"
    checks: ClassVar[tuple[Check, ...]] = (_run_over_the_rates,)
    drawings = PICTURES
    listed = "Tables, figures and propositions of the paper"

    repeats: Count
    confidence_level: Level
    settings: tuple[Simulation, ...]
    shift: ShiftBias | None
    lengths: tuple[LengthCurve, ...] = ()
    single_run: SingleRun | None = None
    claims: tuple[Claim, ...]
    protocol: tuple[ProtocolRow, ...] = ()
    #: The source of the rows; None if they are simulated.
    protocol_source: str | None = None
    protocol_judge: str | None = None
    probabilities: bool = False
    splits: Count | None = None
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def main(self) -> Simulation | None:
        """The setting of the paper's Figures 2 and 6."""
        return next((setting for setting in self.settings if setting.figure == MAIN), None)

    def _parts(self) -> Sequence[Any]:
        own = self.protocol_source is not None or not self.claims
        return self.protocol if own else self.claims

    def headline(self) -> Headline:
        """How many statements of the paper agree, and what section 8.2 shows on these rows."""
        arena = describe_protocol(self.protocol).replace("\n", "; ") if self.protocol else ""
        if not self.claims:
            return Headline(arena)
        differing = [claim.where for claim in self.claims if not claim.agrees]
        agreeing = len(self.claims) - len(differing)
        statements = count_of(len(self.claims), "statement")
        text = f"{agreeing} of {statements} of the paper agree with ours"
        if differing:
            text += f"; these differ: {'; '.join(differing)}"
        return Headline(text, f"Section 8.2 on {self.rows_of()}: {arena}." if arena else "")

    def rows_of(self) -> str:
        """Whose rows section 8.2 ran on."""
        if self.protocol_source is None:
            return "simulated battles"
        asked = f", judged by {self.protocol_judge}" if self.protocol_judge else ""
        return f"{self.protocol_source}{asked}"

    def tables(self) -> list[Block]:
        """The statements, the settings, the protocol, with notes about them."""
        shown: list[Block] = []
        if self.claims:
            shown.append(_claim_table(self))
        if self.settings:
            shown.append(_setting_table(self))
        if self.protocol:
            shown.append(_protocol_table(self))
        notes = [*(f"note: {text}" for text in self.notes), *left_out(self.dropped)]
        return shown + notes_of(notes)

    def remarks(self) -> list[Block]:
        """None: its notes are about its tables, and follow them."""
        return []

    def can_draw(self, name: str) -> bool:
        """A picture of the simulation if it ran, that of the protocol if it has an estimate."""
        run = self.main is not None and self.single_run is not None
        possible = {
            "figure2": run,
            "figure3": bool(self.lengths),
            "figure4": bool(self.settings),
            "figure5": self.shift is not None,
            "figure6": run,
            "figure7": any(row.bias_corrected is not None for row in self.protocol),
        }
        return possible.get(name, name in {f"figure{setting.figure}" for setting in self.settings})


def reproduce_reporting(
    data: TableLike | None = None,
    *,
    judge: str | None = None,
    judge_column: str | None = None,
    human_column: str | None = None,
    by: str = "model",
    repeats: int = 10_000,
    splits: int = 100,
    calibration: float = 0.1,
    sample: int | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    **asking: Any,
) -> ReportingReproduction:
    """The tables and figures of the reporting paper.

    The paper's simulation runs unchanged: 21 rates, 8 settings, label shift. The protocol of
    section 8.2 (`arena_protocol`), splits of labelled rows, runs on your own data.

    Args:
        data: Your own rows for section 8.2, all labelled: grades, judgments or battles; with
            `judge`, pairs or items; without it, simulated battles.
        judge: The judge to ask about the pairs or items.
        judge_column: Column of the judge's verdicts, or of its probability that the answer is right
            or that A wins. Default: p_a, p_pass or judge.
        human_column: Column of the human labels. Default: human, label, winner or human_pref.
        by: Column of the model (not for battles).
        repeats: Samples per rate and setting.
        splits: Random splits of section 8.2.
        calibration: Share of rows whose labels are used in a split.
        sample: Rows to ask about, drawn at random; without data, battles to simulate. Default: all;
            4500.
        confidence_level: Confidence level of the intervals.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store.

    >>> result = reproduce_reporting(repeats=50, splits=5, sample=400)
    >>> [setting.figure for setting in result.settings]
    ['9', '10', '11', '12', '13', '14', '15', '16']
    """
    simulation = simulate_paper(repeats=repeats, confidence_level=confidence_level, seed=seed)
    arena = arena_protocol(
        data,
        judge=judge,
        judge_column=judge_column,
        human_column=human_column,
        by=by,
        splits=splits,
        calibration=calibration,
        sample=sample,
        confidence_level=confidence_level,
        seed=seed,
        **asking,
    )
    result = replace(
        simulation,
        protocol=arena.protocol,
        protocol_source=arena.protocol_source,
        protocol_judge=arena.protocol_judge,
        probabilities=arena.probabilities,
        splits=splits,
        notes=(*simulation.notes, *arena.notes),
        dropped=arena.dropped,
    )
    return replace(result, items=list_items(result))


def arena_protocol(
    data: TableLike | None = None,
    *,
    judge: str | None = None,
    judge_column: str | None = None,
    human_column: str | None = None,
    by: str = "model",
    splits: int = 100,
    calibration: float = 0.1,
    sample: int | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    **asking: Any,
) -> ReportingReproduction:
    """Section 8.2 on labelled data: random splits 90/10, per model bias, coverage and length.

    A battle counts once for each of its models; ties are left out and counted. Every row needs a
    human label: the truth of a split is the human rate on its test rows. With probabilities, as in
    the paper, their means replace the shares in Eq. 5 to 8. The interval treats them as shares of
    0/1 verdicts, whose spread is never smaller. `spread_length` is the length by the spread of the
    probabilities.

    Args:
        data: Answers of a model with the judge's 0/1 or probability (judge, p_pass), or pairs and
            battles (model_a, model_b) whose judge column names the winner or has P(A wins) (p_a).
            Without it, battles of six models are simulated.
        judge: The judge to ask about the pairs or items of `data`.
        judge_column: Column of the judge's verdicts or probabilities.
        human_column: Column of the human labels.
        by: Column of the model (not for battles).
        splits: Random splits.
        calibration: Share of rows whose labels are used in a split.
        sample: Rows of `data` to ask about, drawn at random; without `data`, battles to simulate.
        confidence_level: Confidence level of the intervals.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store.
    """
    level = open_unit(confidence_level, "confidence_level")
    share = open_unit(calibration, "calibration")
    count(splits, "splits", least=1)
    if data is None:
        if judge is not None:
            raise ArgumentError("judge", judge, "give the pairs or items to ask it about")
        arena, source = simulate_arena(battles=sample or SIMULATED_BATTLES, seed=seed), None
    else:
        source = source_name(data)
        if judge is not None:
            data = ask_judge(data, judge, sample=sample, seed=seed, asking=asking)
        arena = gather_rows(data, judge_column=judge_column, human_column=human_column, by=by)
    rows = arena.rows.frame
    rng = np.random.default_rng(seed)
    models = [
        measure_model(str(model), part, splits, share, level, arena.probabilities, rng)
        for (model,), part in rows.group_by(["model"], maintain_order=True)
        if part.height >= _FEWEST
    ]
    small = rows["model"].n_unique() - len(models)
    note = f"{small} models with fewer than {_FEWEST} rows are left out"
    return ReportingReproduction(
        repeats=0,
        confidence_level=level,
        seed=seed,
        settings=(),
        shift=None,
        claims=(),
        protocol=tuple(sorted(models, key=lambda row: -row.rows)),
        protocol_source=source,
        protocol_judge=judge,
        probabilities=arena.probabilities,
        splits=splits,
        notes=(note,) if small else (),
        dropped=arena.rows.dropped,
    )


def simulate_paper(
    *, repeats: int = 10_000, confidence_level: float = 0.95, seed: int = 0
) -> ReportingReproduction:
    """The simulation: eight settings, label shift, the paper's statements next to ours."""
    count(repeats, "repeats", least=10)
    level = open_unit(confidence_level, "confidence_level")
    rng = np.random.default_rng(seed)
    settings = tuple(
        simulate_setting(figure, m, q0, q1, repeats, level, rng) for figure, m, q0, q1 in SETTINGS
    )
    shift = simulate_shift(repeats, rng)
    return ReportingReproduction(
        repeats=repeats,
        confidence_level=level,
        seed=seed,
        settings=settings,
        shift=shift,
        lengths=tuple(length_curve(p, level) for p in CURVES),
        single_run=one_run(200, 0.7, 0.9, level, rng),
        claims=_claims(settings, shift, level, repeats),
        notes=tuple(read_published("reporting")["notes"]),
    )


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
    return Simulation(
        figure=figure,
        n=N,
        m=m,
        specificity=q0,
        sensitivity=q1,
        rates=_floats(RATES),
        naive=_floats(p.mean(axis=1)),
        corrected=_floats(rate.mean(axis=1)),
        coverage_naive=_floats((np.abs(p - theta) <= half).mean(axis=1)),
        coverage=_floats(equal.covers(theta).mean(axis=1)),
        coverage_adaptive=_floats(adaptive.covers(theta).mean(axis=1)),
        length_equal=_floats(equal.length.mean(axis=1)),
        length_adaptive=_floats(adaptive.length.mean(axis=1)),
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
    return SingleRun(
        naive=_floats(p.ravel()),
        naive_low=_floats((p - half).ravel()),
        naive_high=_floats((p + half).ravel()),
        corrected=_floats(rate.ravel()),
        low=_floats(bounds.low.ravel()),
        high=_floats(bounds.high.ravel()),
    )


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
        corrected_interval(p, 0.7, 0.9, ENDLESS, a, b, confidence_level=level)
        for a, b in ((m / 2, m / 2), (m - ones, ones))
    )
    return LengthCurve(
        judge_rate=p,
        labels=tuple(int(size) for size in m),
        equal=_floats(equal.length),
        adaptive=_floats(adaptive.length),
    )


def _claims(
    settings: tuple[Simulation, ...], shift: ShiftBias, level: float, repeats: int
) -> tuple[Claim, ...]:
    """The statements of the paper's text with our numbers, and whether they agree."""
    main = next(setting for setting in settings if setting.figure == MAIN)
    gap = np.array(main.naive) - np.array(main.rates)
    crossing = float(np.interp(0, -gap, np.array(main.rates)))
    curve = length_curve(0.3, level)
    enough = next((m for m, w in zip(curve.labels, curve.equal, strict=True) if w < 0.1), None)
    covered = [share for setting in settings for share in setting.coverage]
    floor = float(binom.ppf(1e-3 / len(covered), repeats, level)) / repeats
    blind = sum(share < 0.05 for share in main.coverage_naive)
    ratios = [
        adaptive / equal
        for setting in settings
        for adaptive, equal in zip(setting.length_adaptive, setting.length_equal, strict=True)
    ]
    shorter = sum(ratio < 1 for ratio in ratios)
    ends = {name: max(abs(values[0]), abs(values[-1])) for name, values in shift.bias.items()}
    corrected, conditional = ends["(v) misclassification"], ends["(iv) conditional"]
    others = f"{ends['(ii) human-only']:.3f}, {ends['(iii) difference']:.3f}, {conditional:.3f}"
    least = 0.5 + 1 / (2 * np.sqrt(2))
    outcomes = {
        "crossing": (f"{crossing:.3f}", abs(crossing - 0.75) < 0.01),
        "labels": (
            "more than 500" if enough is None else f"{enough} ({enough // 2} per class)",
            enough is not None and abs(enough - 200) <= 40,
        ),
        "coverage": (f"{min(covered):.3f} to {max(covered):.3f}", min(covered) >= floor),
        "naive": (f"{blind} of 21", blind >= 15),
        "shorter": (
            f"{shorter} of {len(ratios)} (worst {max(ratios):.2f} times as long)",
            shorter == len(ratios),
        ),
        "quality": (
            f"{least:.3f}",
            proposition_61(least - 1e-6) is None and proposition_61(0.86) is not None,
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


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())


# --- tables ----------------------------------------------------------------------------------


def _claim_table(result: ReportingReproduction) -> Table:
    return table_of(
        result.claims,
        {
            "where": lambda claim: claim.where,
            "statement": lambda claim: claim.claim,
            "paper": lambda claim: claim.paper,
            "ours": lambda claim: claim.ours,
            "agrees": lambda claim: "yes" if claim.agrees else "no",
        },
        caption=f"The paper's text and ours, {count_of(result.repeats, 'repeat')}",
        text_columns=4,
    )


def _setting_table(result: ReportingReproduction) -> Table:
    def ends(values: Sequence[float]) -> str:
        return f"{number(min(values))} to {number(max(values))}"

    rates = count_of(len(result.settings[0].rates), "true rate")
    return table_of(
        result.settings,
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
        caption=f"{level_text(result.confidence_level)} intervals over {rates}: coverage from "
        "least to most (naive: median), mean length; labels split equally, adaptive: by "
        "Algorithm 1",
        optional=("naive coverage", "adaptive coverage"),
    )


def _protocol_table(result: ReportingReproduction) -> Table:
    """Section 8.2 on the user's rows; the paper's figures only if it has these models."""
    columns: dict[str, Callable[[ProtocolRow], str]] = {
        "model": lambda row: row.model,
        "rows": lambda row: number(row.rows),
        "rate": lambda row: number(row.rate),
        "naive bias": lambda row: signed(row.bias_naive),
        "bias": lambda row: signed(row.bias_corrected),
        "coverage": lambda row: percent(row.coverage, 0),
        "length": lambda row: number(row.length),
        "no estimate": lambda row: number(row.refused),
    }
    answers = "0/1 verdicts"
    if result.probabilities:
        answers = "probabilities; own: by their own spread, where Eq. 6 takes them for shares"
        columns["own coverage"] = lambda row: percent(row.spread_coverage, 0)
        columns["own length"] = lambda row: number(row.spread_length)
    if any(row.paper_coverage is not None for row in result.protocol):
        columns["paper's coverage"] = lambda row: percent(row.paper_coverage, 0)
        columns["paper's length"] = lambda row: number(row.paper_length)
    return table_of(
        result.protocol,
        columns,
        caption=f"Table 2 and Figure 7: section 8.2 on {result.rows_of()}, "
        f"{count_of(result.splits or 0, 'split')}: mean error of the judge's own rate and of the "
        f"corrected one; no estimate: splits without one; {answers}",
        optional=("no estimate", "rows"),
    )
