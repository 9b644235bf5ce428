"""Many systems, or many slices: who beats whom, with all errors together bounded; who can be best.

Holm's rule bounds the chance of one false difference among all. The set of systems that can be best
leaves out those that are shown to be below another one. A screening list (Benjamini and Hochberg)
has more differences and says what share of them is false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.comparison import (
    Difference,
    amount,
    compare_two,
    differences_figure,
    p_text,
    unit_of,
    with_ends,
)
from adjudge.estimation.systems import Systems
from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figure import (
    ACCENT,
    CENTRED,
    INK,
    ON_TINT,
    draw_cells,
    draw_interval,
    draw_ring,
    name_rows,
    new_figure,
    set_suptitle,
    themed,
)
from adjudge.present.result import Check, Count, Level, Proportion, Result, frozen, not_empty
from adjudge.present.text import clip, clip_names, count, level, percent
from adjudge.records import HasInterval, Interval
from adjudge.statistics.differences import (
    FEWEST,
    Gaps,
    all_gaps,
    benjamini_hochberg,
    holm,
    labelled_gap,
    labelled_mean,
    p_values,
    possibly_best,
)
from adjudge.validation import BoolArray, FloatArray, Seed, generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: A screening list of fewer differences has no share to speak of.
FEWEST_SCREENED = 20
#: At most this many systems are drawn, and named in a sentence.
_DRAWN, _NAMED = 24, 6


# --- the result ---


@dataclass(frozen=True, kw_only=True)
class SystemScore:
    """A system: its mean score, how many it beats and loses to, and if it can be the best."""

    name: str
    n: Count
    mean: float
    beats: Count
    loses_to: Count
    can_be_best: bool | None


@dataclass(frozen=True, kw_only=True)
class PairDifference(HasInterval):
    """B - A of two systems, or of the two in one slice; `shown` by the adjusted p-value."""

    a: str
    b: str
    within: str | None = None
    estimate: float | None
    interval: Interval | None
    p_value: Proportion | None
    adjusted: Proportion | None
    shown: bool
    n: Count
    reason: str | None = None


@frozen
class ComparisonOfMany(Result):
    """All pairs of systems, or two systems in many slices, with errors over all of them together.

    `by_people` is true if labels give people's differences. Intervals are for one pair each.
    `screened`: adjusted p-values are for a list of which at most a share is false, not for single
    differences.
    """

    kind: ClassVar[str] = "comparison_many"
    rows_in: ClassVar[str] = "pairs"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("pairs"),)

    measure: str
    paired_by: str | None
    within: str | None = None
    by_people: bool
    screened: bool
    confidence_level: Level
    n: Count
    n_labelled: Count
    systems: tuple[SystemScore, ...] = ()
    pairs: tuple[PairDifference, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    @property
    def best(self) -> tuple[str, ...]:
        """The systems that can be best."""
        return tuple(system.name for system in self.systems if system.can_be_best)

    @property
    def shown(self) -> tuple[PairDifference, ...]:
        """The differences that are shown, or that are on the screening list."""
        return tuple(pair for pair in self.pairs if pair.shown)

    @property
    def better(self) -> bool:
        """Whether B is shown to be better in a slice, and worse in none."""
        return self._signs() == {1}

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse in a slice."""
        return -1 in self._signs()

    def _signs(self) -> set[int]:
        return {1 if (pair.estimate or 0.0) > 0 else -1 for pair in self.shown}

    @property
    def no_number(self) -> bool:
        """Whether no difference can be given."""
        return all(pair.estimate is None for pair in self.pairs)

    def view(self) -> list[Block]:
        return view_many(self)


# --- the numbers ---


def compare_many(
    systems: Systems, *, confidence_level: float, screen: bool, seed: Seed
) -> ComparisonOfMany:
    """All pairs of systems on their common questions; people's differences if labels allow it."""
    if systems.paired_by is None:
        remedy = "give all systems the same prompt_id, or name two: --a NAME --b NAME (a=, b=)"
        raise DataError(systems.source, "the systems share no question", remedy=remedy)
    table = systems.collapse()
    names, size = table.names, len(table.names)
    gaps, warnings = all_gaps(table.judge, zero_one=table.zero_one), list[str]()
    complete: BoolArray = np.asarray(~np.isnan(table.judge).any(axis=1))
    labelled: BoolArray = np.asarray(~np.isnan(table.human).any(axis=1)) & complete
    m, means = int(labelled.sum()), np.nanmean(table.judge, axis=0)
    influence, by_people = _centred(table.judge[complete]), m >= FEWEST
    if by_people:
        gaps, influence, means = _by_people(table, labelled, complete)
    elif not np.isnan(table.human).all():
        warnings.append(
            f"{count(m, 'question')} labelled for all systems: {FEWEST} or more are needed; the "
            "differences are by this judge"
        )
    first, second = np.triu_indices(size, 1)
    enough: BoolArray = np.asarray(gaps.n[first, second] >= FEWEST)
    values = p_values(gaps.statistic[first, second], gaps.freedom[first, second])
    adjusted = _adjust(values, enough, screen)
    best = None
    if int(complete.sum()) >= FEWEST:
        best = possibly_best(gaps, influence, generator(seed), confidence_level=confidence_level)
    else:
        warnings.append("too few questions that all systems answered: no set of possibly best")
    pairs, wins = [], np.zeros((size, size), dtype=np.bool_)
    for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        shown, n = bool(enough[at] and adjusted[at] <= 1 - confidence_level), int(gaps.n[i, j])
        gap = Difference(n=n, reason=f"{count(n, 'question')}: {FEWEST} are needed")
        if enough[at]:
            gap = Difference.of(gaps.of(i, j), confidence_level, systems.bound)
        wins[(i, j) if gaps.estimate[i, j] < 0 else (j, i)] |= shown
        pairs.append(_pair(names[i], names[j], gap, adjusted[at], shown=shown))
    scores = [
        SystemScore(
            name=name,
            n=int((~np.isnan(table.judge[:, at])).sum()),
            mean=float(means[at]),
            beats=int(wins[at].sum()),
            loses_to=int(wins[:, at].sum()),
            can_be_best=None if best is None else bool(best[at]),
        )
        for at, name in enumerate(names)
    ]
    return ComparisonOfMany(
        measure=systems.measure,
        paired_by=systems.paired_by,
        by_people=by_people,
        screened=screen,
        confidence_level=confidence_level,
        n=int(complete.sum()),
        n_labelled=m,
        systems=tuple(sorted(scores, key=lambda score: -score.mean)),
        pairs=tuple(pairs),
        assumptions=(
            "questions are independent of each other",
            "the set of systems that can be best is approximate: its level is measured, not proven",
            *(("labelled questions are a random sample of all",) if by_people else ()),
        ),
        warnings=tuple(warnings),
        dropped=systems.dropped,
        seed=seed if isinstance(seed, int) else None,
    )


def _centred(scores: FloatArray) -> FloatArray:
    """What each question adds to the error of each mean."""
    return np.asarray((scores - scores.mean(axis=0)) / len(scores)) if len(scores) else scores


def _by_people(
    table: Systems, labelled: BoolArray, complete: BoolArray
) -> tuple[Gaps, FloatArray, FloatArray]:
    """`labelled_gap` of all pairs, the influence of each question by one common slope, and means.

    The means are what people would give to each system (`labelled_mean`).
    """
    judge, size = table.judge[complete], len(table.names)
    known = labelled[complete]
    human = np.where(known[:, None], table.human[complete], np.nan)
    exact, numbers = table.zero_one and table.people_zero_one, np.zeros((4, size, size))
    for i, j in combinations(range(size), 2):
        h, d = human[:, j] - human[:, i], judge[:, j] - judge[:, i]
        gap = labelled_gap(h, d, zero_one=exact)
        numbers[:, i, j] = (gap.estimate, gap.centre, gap.standard_error, gap.freedom)
        numbers[:, j, i] = (-gap.estimate, -gap.centre, gap.standard_error, gap.freedom)
    n = np.full((size, size), int(known.sum()), dtype=np.int64)
    people, said, rest = human[known], judge[known], judge[~known]
    slope = 0.0
    if len(rest) and judge.var() > 0:
        together = float(np.sum((people - people.mean(axis=0)) * (said - said.mean(axis=0))))
        spread = float(np.sum((judge - judge.mean(axis=0)) ** 2)) * len(people) / len(judge)
        slope = min(max(together / spread / (1 + len(people) / len(rest)), 0.0), 1.0)
    influence = np.zeros_like(judge)
    influence[known] = _centred(people - slope * said)
    influence[~known] = slope * _centred(rest)
    ends = (float(people.min()), float(people.max()))
    columns = zip(human.T, judge.T, strict=True)
    means = np.array([labelled_mean(h, j, ends=ends).estimate for h, j in columns])
    return Gaps(numbers[0], numbers[1], numbers[2], numbers[3], n), influence, means


def _adjust(values: FloatArray, enough: BoolArray, screen: bool) -> FloatArray:
    """p-values of the family; 1 for differences from too few questions, which are not in it."""
    n, adjusted = int(enough.sum()), np.ones(len(values))
    if screen and n < FEWEST_SCREENED:
        remedy = f"needs {FEWEST_SCREENED} differences or more; leave it out: Holm's rule is used"
        raise ArgumentError("screen", f"{n} differences", remedy)
    adjusted[enough] = (benjamini_hochberg if screen else holm)(values[enough])
    return adjusted


def _pair(
    a: str, b: str, gap: Difference, adjusted: float, *, shown: bool, within: str | None = None
) -> PairDifference:
    return PairDifference(
        a=a,
        b=b,
        within=within,
        estimate=gap.estimate,
        interval=gap.interval,
        p_value=gap.p_value,
        adjusted=None if gap.p_value is None else float(adjusted),
        shown=shown,
        n=gap.n,
        reason=gap.reason,
    )


def compare_slices(
    slices: Mapping[str, Systems],
    a: str,
    b: str,
    *,
    within: str,
    confidence_level: float,
    screen: bool,
) -> ComparisonOfMany:
    """Two systems in each slice; a slice in which one of them is missing has no difference."""
    results = {
        name: compare_two(systems, a, b, confidence_level=confidence_level)
        for name, systems in slices.items()
        if {a, b} <= set(systems.names)
    }
    if not results:
        raise ArgumentError("a", a, f"no value of {within} has rows of both {a} and {b}")
    gaps = {name: result.reported for name, result in results.items()}
    values = np.array([gap.p_value for gap in gaps.values()], dtype=np.float64)
    enough = ~np.isnan(values)
    adjusted = _adjust(values, enough, screen)
    shown = (enough & (adjusted <= 1 - confidence_level)).tolist()
    pairs = [
        _pair(a, b, gap, adjusted[at], shown=shown[at], within=name)
        for at, (name, gap) in enumerate(gaps.items())
    ]
    some = next(iter(results.values()))
    by_people = all(result.reported is result.people for result in results.values())
    warnings = [text for result in results.values() for text in result.warnings]
    if not by_people and any(result.n_labelled for result in results.values()):
        few = [name for name, result in results.items() if result.reported is result.judge]
        warnings.append(
            f"too few labels in {count(len(few), 'slice')}, which are by this judge: "
            + ", ".join(few[:_NAMED])
        )
    return ComparisonOfMany(
        measure=some.measure,
        paired_by=some.paired_by,
        within=within,
        by_people=by_people,
        screened=screen,
        confidence_level=confidence_level,
        n=sum(result.n for result in results.values()),
        n_labelled=sum(result.n_labelled for result in results.values()),
        pairs=tuple(pairs),
        assumptions=some.assumptions,
        warnings=tuple(dict.fromkeys(warnings)),
        dropped=some.dropped,
    )


# --- the view ---


def view_many(result: ComparisonOfMany) -> list[Block]:
    """Who can be best and how many pairs differ; then the systems, and the pairs behind them."""
    gaps = table_of(
        result.pairs,
        {
            **({} if result.within is None else {result.within: lambda pair: clip(pair.within)}),
            "A": lambda pair: clip(pair.a),
            "B": lambda pair: clip(pair.b),
            "B - A": lambda pair: with_ends(_as_difference(pair), result.measure),
            "p, adjusted": lambda pair: p_text(pair.adjusted),
            "shown": lambda pair: "yes" if pair.shown else "",
            "n": lambda pair: f"{pair.n:,}",
        },
        caption=f"Differences with {level(result.confidence_level)} intervals for each alone",
        text_columns=2 if result.within is None else 3,
        detail=result.within is None,
    )
    figure = Figure("slices", partial(slices_figure, result), f"{gaps.caption}.")
    if result.within is None:
        caption = "Difference of each pair (row minus column); bold: shown."
        figure = Figure("matrix", partial(matrix_figure, result), caption)
    return [
        _headline(result),
        *warnings_of(result.warnings),
        *([] if result.within is not None else [_system_table(result)]),
        gaps,
        *notes_of([f"{reason}: {n:,}" for reason, n in result.dropped.items()]),
        *explain(result.assumptions),
        figure,
    ]


def _as_difference(pair: PairDifference) -> Difference:
    return Difference(estimate=pair.estimate, interval=pair.interval, n=pair.n, reason=pair.reason)


def _system_table(result: ComparisonOfMany) -> Table:
    write = amount(result.measure)
    best = {True: "yes", False: "", None: "unknown"}
    return table_of(
        result.systems,
        {
            "system": lambda system: clip(system.name),
            "mean": lambda system: write(system.mean),
            "beats": lambda system: str(system.beats),
            "loses to": lambda system: str(system.loses_to),
            "can be best": lambda system: best[system.can_be_best],
            "questions": lambda system: f"{system.n:,}",
        },
        caption=f"Means {'by people, corrected' if result.by_people else 'by this judge'}"
        + (", in points" if unit_of(result.measure) else ""),
        optional=("questions",),
    )


def _headline(result: ComparisonOfMany) -> Headline:
    whose = "people's labels" if result.by_people else "this judge"
    level_of = percent(1 - result.confidence_level)
    shown, pairs = len(result.shown), len(result.pairs)
    what = "pairs" if result.within is None else "slices"
    errors = f"the chance of a false one among them is {level_of} or less (Holm)"
    if result.screened:
        errors = f"a screening list: about {level_of} of it or less is false"
    differ = f"{shown:,} of {pairs:,} {what} differ; {errors}."
    if result.within is not None:
        a, b = result.pairs[0].a, result.pairs[0].b
        text = f"{b} and {a} differ in {shown:,} of {count(pairs, 'slice')} by {whose}"
        return Headline(text, f"{errors[:1].upper()}{errors[1:]}.")
    best, size = result.best, len(result.systems)
    if not best:
        return Headline(f"{count(size, 'system')} by {whose}", differ)
    if len(best) == 1:
        return Headline(f"{best[0]} is the best of {size} systems by {whose}", differ, "good")
    listed = ", ".join(best[:_NAMED]) + (", ..." if len(best) > _NAMED else "")
    return Headline(f"{len(best)} of {size} systems can be best by {whose}: {listed}", differ)


# --- the pictures ---


def slices_figure(result: ComparisonOfMany) -> Drawing:
    """The difference in each slice."""
    lines = [(pair.within or "", _as_difference(pair)) for pair in result.pairs[: 2 * _DRAWN]]
    known = [(name, gap) for name, gap in lines if gap.estimate is not None]
    axis = f"{clip(result.pairs[0].b)} minus {clip(result.pairs[0].a)}"
    return differences_figure(known, _headline(result).text, axis, result)


def matrix_figure(result: ComparisonOfMany) -> Drawing:
    """Differences from the leading system with intervals, and who beats whom."""
    systems = result.systems[:_DRAWN]
    names = [system.name for system in systems]
    place = {name: at for at, name in enumerate(names)}
    pairs = [
        (place[pair.a], place[pair.b], pair)
        for pair in result.pairs
        if {pair.a, pair.b} <= place.keys() and pair.estimate is not None
    ]
    grid, bold = np.zeros((len(names), len(names))), set[tuple[int, int]]()
    scale = 1.0 if result.measure == "scores" else 100.0
    for i, j, pair in pairs:
        grid[j, i] = scale * (pair.estimate or 0.0)
        grid[i, j] = -grid[j, i]
        bold |= {(i, j), (j, i)} if pair.shown else set()
    largest = float(np.abs(grid).max()) or 1.0
    shown = clip_names(names, 24)
    with themed():
        side = 1.8 + 0.42 * len(names)
        figure = new_figure(1.8 * side + 2.2, side)
        left, axes = figure.subplots(1, 2, width_ratios=[0.8, 1])
        left.axvline(0, color=INK, linewidth=1.2)
        for i, j, pair in sorted(pairs, key=lambda drawn: max(drawn[:2])):
            if 0 in (i, j):
                ends = scale if i == 0 else -scale
                draw_interval(left, i + j, pair.interval, scale=ends, color=ACCENT, lw=2)
                face = ACCENT if pair.shown else "white"
                draw_ring(left, grid[i + j, 0], i + j, ACCENT, face=face)
        name_rows(left, shown, fontsize=8.5)
        unit = "" if scale == 1 else ", points"
        left.set_xlabel(f"minus {shown[0]}{unit}; {level(result.confidence_level)} each alone")
        draw_cells(axes, grid, ("#eda383", "#f7f3ea", "#9ab7d9"), (-largest, largest))
        for i, j in np.ndindex(grid.shape):
            if i != j:
                weight = "bold" if (i, j) in bold else "normal"
                text = f"{grid[i, j]:+z.1f}" if scale > 1 else f"{grid[i, j]:+z.2f}"
                axes.text(j, i, text, size=7, weight=weight, color=ON_TINT, **CENTRED)
        axes.set_yticks(range(len(names)), shown, fontsize=8.5)
        axes.set_xticks(range(len(names)), shown, rotation=45, ha="right", fontsize=8.5)
        axes.set_xlabel(f"row minus column{unit}; bold: shown")
        set_suptitle(figure, "\n".join(wrap(_headline(result).text, 90)))
    return figure
