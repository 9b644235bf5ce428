"""Comparisons: what they return and show, for two systems, many, slices and judges alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present import figure as theme
from adjudge.present.blocks import (
    Block,
    Columns,
    Fact,
    Facts,
    Figure,
    Headline,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.result import (
    Check,
    Correlation,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.present.text import DASH, clip, clip_names, count, level, number, percent
from adjudge.records import HasInterval, Interval
from adjudge.statistics.differences import FEWEST, Gap

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: With this many labels a judge of usual quality narrows the interval by a quarter to a half.
_LABELS_TO_START = 50
#: At most this many systems are drawn, and named in a sentence.
_DRAWN = 24
_NAMED = 6
#: Significant comparisons by a fair judge, by |z|, and how often people's mean pointed the other
#: way: 3,334 comparisons of pairs of systems in public tables with a judge's and people's scores.
_PUBLIC = (("2 to 3", "21 %"), ("3 to 5", "10 %"), ("5 to 8", "6 %"), ("above 8", "3 %"))
_PUBLIC_CAPTION = (
    "How often people's mean pointed the other way, in 3,334 public comparisons that a fair judge "
    "called significant, by |difference / standard error|"
)


@dataclass(frozen=True, kw_only=True)
class Difference(HasInterval):
    """B - A with its interval, or the reason why there is none.

    `detectable` is the smallest difference that samples of this size show in four of five cases.
    """

    estimate: float | None = None
    interval: Interval | None = None
    standard_error: NotNegative | None = None
    p_value: Proportion | None = None
    detectable: NotNegative | None = None
    n: Count = 0
    reason: str | None = None

    @classmethod
    def of(cls, gap: Gap, level: float, bound: float, unit: str, same: str) -> Difference:
        """From a gap in [-bound, bound]; no interval if n is too small, or all are the `same`."""
        if gap.n < FEWEST:
            return cls(n=gap.n, reason=f"{count(gap.n, unit)}: {FEWEST} or more are needed")
        if gap.estimate == gap.standard_error == 0:
            return cls(estimate=0.0, n=gap.n, reason=same)
        return cls(
            estimate=gap.estimate,
            interval=gap.interval(level, bound),
            standard_error=gap.standard_error,
            p_value=gap.p_value,
            detectable=gap.detectable(level),
            n=gap.n,
        )

    @property
    def sign(self) -> int:
        """1 if the interval lies above zero, -1 if it lies below, else 0."""
        low = self.low
        high = self.high
        return int(low is not None and low > 0) - int(high is not None and high < 0)

    def turned(self) -> Difference:
        """A - B."""
        if self.interval is None or self.low is None or self.high is None:
            return self  # no number, or 0
        ends = replace(self.interval, low=-self.high, high=-self.low)
        return replace(self, estimate=-(self.estimate or 0.0), interval=ends)


@dataclass(frozen=True, kw_only=True)
class PairDifference:
    """B - A of two systems, in all questions or in a slice (`within`).

    `judge` is by the judge alone; `people` what people would say, from labels of both answers to
    some questions, corrected by the judge's verdicts on all. `discordant` counts questions on which
    the judge differs, of two. `shown` is by the p-value adjusted for all pairs, or slices.
    """

    a: str
    b: str
    within: str | None = None
    judge: Difference
    people: Difference | None = None
    discordant: Count | None = None
    adjusted: Proportion | None = None
    shown: bool = False

    @property
    def reported(self) -> Difference:
        """People's difference if labels give one, else the judge's."""
        people = self.people
        return self.judge if people is None or people.interval is None else people


@dataclass(frozen=True, kw_only=True)
class SystemScore:
    """A system: its means, how many it beats, if it can be best; of a judge, what a row costs."""

    name: str
    n: Count
    mean: float | None
    people_mean: float | None = None
    beats: Count = 0
    loses_to: Count = 0
    can_be_best: bool | None = None
    cost: NotNegative | None = None


@dataclass(frozen=True, kw_only=True)
class BestJudge:
    """The best of several judges, without the winner's curse.

    `accuracy` is that on the labels it was picked by, `reported` that of winners on rows that did
    not pick them. `effective` is how many independent judges these are worth, by the mean
    `correlation` of two judges' errors.
    """

    judge: str
    accuracy: Proportion
    reported: Proportion
    interval: Interval
    correlation: Correlation | None
    effective: Positive | None


def _all_compared(result: Comparison) -> str | None:
    others = result.systems[1:] if result.of_many else ()
    apart = {system.name for system in others} - {*(_behind(result) if others else ())}
    return f"{sorted(apart)[0]} has no difference from the first system" if apart else None


@frozen
class Comparison(Result):
    """The differences of systems on the same questions: of two, of all pairs, or in slices.

    With several differences, errors over all of them together are bounded (Holm), or the share of
    false ones if `screened`; intervals are for each difference alone. If the rows have any label
    (`labels_given`), people's differences alone make B better or worse. `best_judge` is there if
    the systems are judges, whose score is their agreement with people. `judge_notes` say what can
    make the judge's answers about two systems unlike, such as two scales.
    """

    kind: ClassVar[str] = "comparison"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("differences"), _all_compared)

    measure: str
    paired_by: str | None
    clustered_by: str | None = None
    within: str | None = None
    screened: bool = False
    confidence_level: Level
    n: Count
    n_labelled: Count = 0
    labels_given: bool = False
    systems: tuple[SystemScore, ...] = ()
    differences: tuple[PairDifference, ...]
    best_judge: BestJudge | None = None
    judge_notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    @property
    def judge_named(self) -> str:
        """Whose answers the judge's differences are of, with what makes them unlike."""
        return f"a judge ({'; '.join(self.judge_notes)})" if self.judge_notes else "this judge"

    @property
    def difference(self) -> PairDifference:
        """The difference, if two systems were compared."""
        if len(self.differences) > 1:
            raise ArgumentError("difference", f"{len(self.differences)} of them", "see differences")
        return self.differences[0]

    @property
    def by_people(self) -> bool:
        """Whether every difference is people's."""
        return all(pair.reported is pair.people for pair in self.differences)

    @property
    def best(self) -> tuple[str, ...]:
        """The systems that can be best."""
        return tuple(system.name for system in self.systems if system.can_be_best)

    @property
    def shown(self) -> tuple[PairDifference, ...]:
        """The differences that are shown, or that are on the screening list."""
        return tuple(pair for pair in self.differences if pair.shown)

    @property
    def better(self) -> bool:
        """Whether B is shown to be better: in a slice, and worse in none."""
        return {pair.reported.sign for pair in self._decisive} == {1}

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse, in any slice."""
        return any(pair.reported.sign < 0 for pair in self._decisive)

    @property
    def inconclusive(self) -> bool:
        """Whether labels were given, and are too few for people's number of some difference."""
        lacking = (pair.judge.interval and pair.reported is pair.judge for pair in self.differences)
        return self.labels_given and any(lacking)

    @property
    def _decisive(self) -> list[PairDifference]:
        """The differences that are shown by people, or if there is no label by the judge."""
        return [p for p in self.shown if p.reported is p.people or not self.labels_given]

    @property
    def of_many(self) -> bool:
        """Whether these are all pairs of several systems, or judges."""
        return len(self.systems) > 2 or self.best_judge is not None

    @property
    def of_two(self) -> bool:
        """Whether this is the one difference of two systems."""
        return not self.of_many and self.within is None

    def _parts(self) -> list[dict[str, Any]]:
        fields = ("a", "b", "within", "adjusted", "shown")
        rows = []
        for pair in self.differences:
            row = {name: getattr(pair, name) for name in fields}
            row["by_people"] = pair.reported is pair.people
            rows.append(row | vars(pair.reported))
        return rows

    def view(self) -> list[Block]:
        """Who is ahead and by whose number; the systems or the slices; the pairs behind them."""
        pairs = self.differences
        many = self.of_many
        best = self.best_judge
        title = f"Differences with {level(self.confidence_level)} intervals"
        by_judge = not many and any(pair.shown and pair.reported is pair.judge for pair in pairs)
        public = Table(("|z|", "other way"), _PUBLIC, _PUBLIC_CAPTION, detail=True)
        caption = "Difference of each pair (row minus column); bold: shown."
        matrix = Figure("matrix", partial(matrix_figure, self), caption)
        unnamed = self.judge_notes if self.by_people else ()  # else they are in the headline
        warnings = warnings_of((*unnamed, *self.warnings))
        blocks: list[Block] = [headline_of(self), *warnings]
        if best is not None:
            blocks.append(_best_facts(best, len(self.systems)))
        if many:
            blocks.append(_system_table(self))
        pairs_alone = f"{title} for each alone"
        blocks.append(_two_facts(self) if self.of_two else _pair_table(self, pairs_alone))
        blocks += notes_of([f"{reason}: {n:,}" for reason, n in self.dropped.items()])
        if by_judge:
            blocks.append(public)
        blocks += explain(self.assumptions)
        figure = partial(differences_figure, self)
        blocks.append(Figure("difference", figure, f"{title}, around zero."))
        if many:
            blocks.append(matrix)
        return blocks


# --- the view ---


def amount(value: float | None, measure: str, *, unit: bool = False) -> str:
    """A difference or a mean: points of a hundred, or a number on the scale of the scores.

    >>> amount(0.041, "verdicts", unit=True), amount(0.3204, "scores", unit=True)
    ('4.1 points', '0.32')
    """
    if value is None:
        return DASH
    return f"{value:z.3g}" if measure == "scores" else f"{100 * value:z.1f}" + " points" * unit


def with_ends(difference: Difference, measure: str, *, unit: bool = True) -> str:
    """The difference and its interval: +4.1 points, 1.2 to 7.0."""
    text = amount(difference.estimate, measure, unit=unit)
    ends = f", {amount(difference.low, measure)} to {amount(difference.high, measure)}"
    ends = f" ({difference.reason})" if difference.interval is None else ends
    return f"{'' if text[0] in f'-{DASH}' else '+'}{text}{ends}"


def headline_of(result: Comparison) -> Headline:
    """Who is ahead, by how much and by whose number; or what was not shown."""
    if result.of_two:
        return _headline_of_two(result, result.difference)
    whose = "people's labels" if result.by_people else result.judge_named
    shown = len(result.shown)
    mixed = _is_mixed(result)
    pairs = len(result.differences)
    share = percent(1 - result.confidence_level)
    errors = f"the chance of a false one among them is {share} or less (Holm)"
    if result.screened:
        errors = f"a screening list: about {share} of it or less is false"
    if result.within is not None:
        first = result.differences[0]
        text = f"{first.b} and {first.a} differ in {shown:,} of {count(pairs, 'slice')}"
        by_people = [pair.shown for pair in result.differences if pair.reported is pair.people]
        of_people = f"{sum(by_people):,} of {len(by_people):,} by people's labels"
        of_judge = f"{shown - sum(by_people):,} of {pairs - len(by_people):,}"
        of_judge += f" by {result.judge_named}"
        text += f": {of_people}, {of_judge}" if mixed else f" by {whose}"
        return Headline(text, f"{errors[0].upper()}{errors[1:]}.", decision=text)
    best = result.best
    judges = result.best_judge
    size = len(result.systems)
    names = ", ".join(best[:_NAMED])
    if len(best) > _NAMED:
        names += f" and {len(best) - _NAMED} more"
    plural = "systems" if judges is None else "judges"
    possible = f"{len(best)} of {size} {plural} can be best"
    if judges is not None:
        text = f"{judges.judge} is right on {percent(judges.reported)} of rows"
        low = percent(judges.interval.low)
        high = percent(judges.interval.high)
        decision = f"{text}; {possible}"
        text = f"{text}, {low} to {high}: the best of {size}"
        return Headline(text, f"{possible}: {names}", decision=decision)
    differ = f"{shown:,} of {pairs:,} pairs differ; {errors}."
    if not best:
        return Headline(f"{count(size, 'system')} by {whose}", differ)
    text = f"{possible} by {whose}: {names}"
    if len(best) == 1:
        text = f"{best[0]} is the best of {size} systems by {whose}"
    return Headline(text, differ, "good" if len(best) == 1 else "plain", decision=text)


def _is_mixed(result: Comparison) -> bool:
    """Whether some differences are people's and others the judge's."""
    return len({pair.reported is pair.people for pair in result.differences}) > 1


def _headline_of_two(result: Comparison, pair: PairDifference) -> Headline:
    gap = pair.reported
    measure = result.measure
    a = pair.a
    b = pair.b
    by_people = gap is pair.people
    unit = count(result.n, "question" if result.paired_by else "answer")
    if gap.estimate is None:
        return Headline(f"No difference of {b} and {a}: {gap.reason}", tone="bad")
    if gap.interval is None:
        text = f"{b} and {a} have identical scores on all {unit}"
        return Headline(text, decision=text)
    if not gap.sign:
        whose = "people's labels" if by_people else result.judge_named
        text = f"No difference between {b} and {a} is shown by {whose}"
        n = count(result.n_labelled, "labelled question") if by_people else unit
        least = amount(gap.detectable, measure, unit=True)
        action = f"The smallest difference that {n} show in four of five samples is {least}."
        return Headline(f"{text}: {with_ends(gap, measure)}", action, decision=text)
    first, second = (a, b) if gap.sign < 0 else (b, a)
    preferred = measure == "preferences"
    ends = sorted(abs(end) for end in (gap.low, gap.high) if end is not None)
    size = amount(abs(gap.estimate), measure, unit=True)
    more = f"{size} {'more often' if preferred else 'higher'} than {second}"
    if by_people:
        text = f"People {'prefer' if preferred else 'score'} {first} {more}"
        turned = ", B - A" * (gap.sign < 0)
        action = f"By the judge alone{turned}: {with_ends(pair.judge, measure)}."
    else:
        text = f"{first} {'is preferred' if preferred else 'scores'} {more}"
        text += f" by {result.judge_named}"
        few = None if pair.people is None else pair.people.reason
        labels = f"label {min(_LABELS_TO_START, result.n)} questions to know (adjudge abtest)"
        action = f"People can differ: {few or labels}."
    reach = " to ".join(amount(end, measure) for end in ends)
    return Headline(f"{text}, {reach}", action, "bad" if gap.sign < 0 else "good", text)


def _two_facts(result: Comparison) -> Facts:
    pair = result.difference
    measure = result.measure
    how = "not paired" if result.paired_by is None else f"paired by {result.paired_by}"
    if result.clustered_by is not None:
        how += f", averaged by {result.clustered_by}"
    facts = [Fact("judge alone", with_ends(pair.judge, measure), f"B - A, {how}")]
    each = ""
    if (people := pair.people) is not None:
        corrected = people.n < result.n and result.paired_by is not None
        note = count(people.n, "labelled question") + ", corrected by the judge" * corrected
        if people.reason is not None:
            note = ""
        each = "each corrected by itself" * corrected
        facts.append(Fact("people", with_ends(people, measure), note))
    differ = f"{pair.discordant or 0:,} of {result.n:,} differ" if result.paired_by else ""
    scores = {score.name: score for score in result.systems}
    for whose, field_of, note in (("judge's", "mean", differ), ("people's", "people_mean", each)):
        means = {name: getattr(scores[name], field_of) for name in (pair.a, pair.b)}
        if None not in means.values():
            text = ", ".join(f"{clip(name)} {amount(means[name], measure)}" for name in means)
            facts.append(Fact(f"{whose} means", text, note))
    return Facts(facts)


def _best_facts(best: BestJudge, judges: int) -> Facts:
    facts = [
        Fact("corrected", percent(best.reported), "on rows that did not pick the winner"),
        Fact("as picked", percent(best.accuracy), "on the labels it was picked by"),
    ]
    if best.effective is not None:
        worth = f"{count(judges, 'judge')}, errors correlated {number(best.correlation, 2)}"
        facts.append(Fact("independent judges", number(best.effective, 1), worth))
    return Facts(facts)


def _system_table(result: Comparison) -> Table:
    """The systems from the best mean down, with their differences from the first."""
    measure = result.measure
    judges = result.best_judge is not None
    difference = f"minus {clip(result.systems[0].name, 20)}"
    gaps = {name: with_ends(gap, measure, unit=False) for name, (gap, _) in _behind(result).items()}
    best = {True: "yes", False: "", None: "unknown"}
    costs = any(system.cost is not None for system in result.systems)
    corrected = ", each corrected by itself" * (result.n_labelled < result.n)
    whose = f"by people{corrected}" if result.by_people else "by this judge"
    caption = "Means " + ("of agreement with people" if judges else whose)
    people = result.by_people and not judges
    unit = "rows" if judges else "questions"
    columns: Columns[SystemScore] = {
        "judge" if judges else "system": lambda system: clip(system.name),
        "mean": lambda system: amount(system.people_mean if people else system.mean, measure),
        difference: lambda system: gaps.get(system.name, ""),
        "beats": lambda system: str(system.beats),
        "loses to": lambda system: str(system.loses_to),
        "can be best": lambda system: best[system.can_be_best],
    }
    if costs:
        columns["cost a row"] = lambda system: number(system.cost, 5)
    columns[unit] = lambda system: f"{system.n:,}"
    caption += "" if measure == "scores" else ", in points"
    return table_of(result.systems, columns, caption=caption, optional=(unit, difference))


def _behind(result: Comparison) -> dict[str, tuple[Difference, bool]]:
    """The other systems' differences from the first, and if they are shown."""
    first = result.systems[0].name
    pairs = result.differences
    behind = {pair.b: (pair.reported, pair.shown) for pair in pairs if pair.a == first}
    turned = {pair.a: (pair.reported.turned(), pair.shown) for pair in pairs if pair.b == first}
    return behind | turned


def _pair_table(result: Comparison, caption: str) -> Table:
    def p_value(pair: PairDifference) -> str:
        tiny = pair.adjusted is not None and pair.adjusted < 0.0001
        return "" if pair.adjusted is None else "< 0.0001" if tiny else number(pair.adjusted, 4)

    columns: Columns[PairDifference] = {"A": lambda pair: clip(pair.a)}
    if result.within is not None:
        columns = {result.within: lambda pair: clip(pair.within), **columns}
    columns["B"] = lambda pair: clip(pair.b)
    if result.within is not None:
        columns["by"] = lambda pair: "people" if pair.reported is pair.people else "judge"
    names = len(columns)
    columns |= {
        "B - A": lambda pair: with_ends(pair.reported, result.measure),
        "p, adjusted": p_value,
        "shown": lambda pair: "yes" if pair.shown else "",
        "n": lambda pair: f"{pair.reported.n:,}",
    }
    folded = result.within is None
    return table_of(result.differences, columns, caption=caption, text_columns=names, detail=folded)


# --- the pictures ---


def differences_figure(result: Comparison) -> Drawing:
    """A line for each slice, each system but the first, or judge and people; filled if shown."""
    pair = result.differences[0]
    unit = "" if result.measure == "scores" else ", points"
    axis = f"{clip(pair.b)} minus {clip(pair.a)}"
    mixed = _is_mixed(result)
    whose = {True: ", by people" * mixed, False: ", by judge" * mixed}
    gaps = [
        (f"{p.within}{whose[p.reported is p.people]}", p.reported, p.shown)
        for p in result.differences
    ]
    if result.of_many:
        names = [system.name for system in result.systems]
        behind = _behind(result)
        gaps = [(name, *behind[name]) for name in names[1:]]
        axis = f"minus {clip(names[0])}"
    elif result.within is None:
        both = (("judge alone", pair.judge), ("people", pair.people))
        gaps = [(name, gap, gap.sign != 0) for name, gap in both if gap is not None]
    rows = [
        theme.ForestRow(clip(name), gap.estimate, gap.interval, filled=shown)
        for name, gap, shown in gaps[: 2 * _DRAWN]
        if gap.estimate is not None
    ]
    if not rows:
        raise ArgumentError("plot", "no difference", "the result has no number to draw")
    hollow = "" if all(row.filled for row in rows) else "; hollow: not shown"
    return theme.forest_figure(
        rows,
        title="\n".join(wrap(headline_of(result).text, 66)),
        axis=f"{axis}{unit}, with {level(result.confidence_level)} intervals{hollow}",
        scale=100 if unit else 1,
        around_zero=True,
    )


def matrix_figure(result: Comparison) -> Drawing:
    """Who beats whom: the difference of each pair, bold if it is shown."""
    names = [system.name for system in result.systems[:_DRAWN]]
    place = {name: at for at, name in enumerate(names)}
    shown = clip_names(names, 24)
    scale, digits, unit = (1, 2, "") if result.measure == "scores" else (100, 1, ", points")
    grid, bold = np.zeros((2, len(names), len(names)))
    for pair in result.differences:
        if {pair.a, pair.b} <= place.keys():
            i = place[pair.a]
            j = place[pair.b]
            grid[j, i] = scale * (pair.reported.estimate or 0.0)
            grid[i, j] = -grid[j, i]
            bold[i, j] = bold[j, i] = pair.shown
    largest = float(np.abs(grid).max()) or 1.0
    with theme.themed():
        figure = theme.new_figure(max(7.2, 2.6 + 0.5 * len(names)), 2.4 + 0.5 * len(names))
        axes = figure.subplots()
        theme.draw_cells(axes, grid, ("#eda383", "#f7f3ea", "#9ab7d9"), (-largest, largest))
        for row, column in np.argwhere(~np.eye(len(names), dtype=bool)).tolist():
            weight = "bold" if bold[row, column] else "normal"
            style = {"size": 7, "weight": weight, "color": theme.ON_TINT, **theme.CENTRED}
            axes.text(column, row, f"{grid[row, column]:+z.{digits}f}", **style)
        axes.set_yticks(range(len(names)), shown, fontsize=8.5)
        axes.set_xticks(range(len(names)), shown, rotation=45, ha="right", fontsize=8.5)
        axes.set_xlabel(f"row minus column{unit}; bold: shown")
        axes.set_title("\n".join(wrap(headline_of(result).text, 66)))
    return figure
