"""Is B better than A? The paired difference by the judge alone, and people's from some labels.

Every difference is B - A. The judge's number is the judge's: people can differ, so with labels
people's difference is reported and the judge's is next to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.estimation.systems import Differences, Systems
from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Headline,
    Table,
    Tone,
    explain,
    notes_of,
    warnings_of,
)
from adjudge.present.figure import (
    ACCENT,
    INK,
    draw_interval,
    draw_ring,
    name_rows,
    new_figure,
    themed,
)
from adjudge.present.result import Count, Level, NotNegative, Proportion, Result, frozen
from adjudge.present.text import DASH, clip, count, level, number
from adjudge.records import HasInterval, Interval
from adjudge.statistics.differences import (
    FEWEST,
    Gap,
    labelled_gap,
    labelled_mean,
    paired_gap,
    unpaired_gap,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: Probabilities of a sure judge are skewed: with fewer questions the interval covers too little.
_FEW_PROBABILITIES = 60
#: With this many labels a judge of usual quality narrows the interval by a quarter to a half.
LABELS_TO_START = 50
#: Significant comparisons by a fair judge, by |z|, and how often people's mean pointed the other
#: way: 3,334 comparisons of pairs of systems in public tables with a judge's and people's scores.
_PUBLIC = (("2 to 3", "21 %"), ("3 to 5", "10 %"), ("5 to 8", "6 %"), ("above 8", "3 %"))
_PUBLIC_CAPTION = (
    "How often people's mean pointed the other way, in 3,334 public comparisons that a fair judge "
    "called significant, by |difference / standard error|"
)


# --- the result ---


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
    def of(cls, gap: Gap, confidence_level: float, bound: float) -> Difference:
        """From a gap; differences of verdicts and probabilities are in [-bound, bound]."""
        return cls(
            estimate=gap.estimate,
            interval=gap.interval(confidence_level, bound),
            standard_error=gap.standard_error,
            p_value=gap.p_value,
            detectable=gap.detectable(confidence_level),
            n=gap.n,
        )

    @property
    def better(self) -> bool:
        """Whether the interval lies above zero."""
        return self.low is not None and self.low > 0

    @property
    def worse(self) -> bool:
        """Whether the interval lies below zero."""
        return self.high is not None and self.high < 0


@frozen
class Comparison(Result):
    """The difference of two systems on the same questions, B - A.

    `judge` is by the judge alone; `people` what people would say, from labels on both answers of
    some questions, corrected by the judge's verdicts on all; `people_alone` from the labels only.
    """

    kind: ClassVar[str] = "comparison"

    a: str
    b: str
    measure: str
    paired_by: str | None
    clustered_by: str | None
    confidence_level: Level
    n: Count
    discordant: Count
    mean_a: float
    mean_b: float
    judge: Difference
    n_labelled: Count
    people: Difference | None = None
    people_alone: Difference | None = None
    people_mean_a: float | None = None
    people_mean_b: float | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def reported(self) -> Difference:
        """People's difference if labels give one, else the judge's."""
        people = self.people
        return self.judge if people is None or people.interval is None else people

    @property
    def better(self) -> bool:
        """Whether B is shown to be better than A, by the difference that is reported."""
        return self.reported.better

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse than A."""
        return self.reported.worse

    @property
    def no_number(self) -> bool:
        """Whether no difference can be given."""
        return self.reported.estimate is None

    def view(self) -> list[Block]:
        return view_comparison(self)


# --- the numbers ---


def compare_two(systems: Systems, a: str, b: str, *, confidence_level: float) -> Comparison:
    """The difference of two systems, paired by question where they share questions."""
    gaps = systems.differences(a, b)
    sides, paired = gaps.sides, systems.paired_by is not None
    show = partial(Difference.of, confidence_level=confidence_level, bound=systems.bound)
    warnings = list[str]()
    if not paired:
        warnings.append(
            "the systems share no question: the difference is not paired, and wider; give both "
            "the same prompt_id, or the same prompts"
        )
    elif systems.measure == "probabilities" and FEWEST <= len(gaps.judge) < _FEW_PROBABILITIES:
        warnings.append(
            f"{len(gaps.judge)} questions with probabilities: coverage of the interval is a "
            f"little below its level under {_FEW_PROBABILITIES} questions"
        )
    known = ~np.isnan(gaps.human)
    m = int(known.sum())
    if not paired:
        columns = [systems.names.index(name) for name in (a, b)]
        m = int((~np.isnan(systems.human[:, columns])).sum(axis=0).min())
    people = alone = None
    means: list[Gap] = []
    if 0 < m < FEWEST:
        reason = f"{count(m, 'labelled question')}: {FEWEST} or more are needed"
        people = Difference(n=m, reason=reason)
    elif m:
        means = _people_means(systems, a, b)
        labels, exact = gaps.human[known], gaps.people_zero_one
        if not paired:
            people = show(difference_of_means(means))
        elif not np.any(labels) and not exact:
            people = Difference(n=m, reason="people gave both answers the same score everywhere")
        else:
            people = show(labelled_gap(gaps.human, gaps.judge, zero_one=exact))
            if m < len(gaps.judge):
                alone = show(paired_gap(labels, zero_one=exact))
        if not systems.drawn_at_random and (m < len(gaps.judge) or not paired):
            warnings.append(
                "the labels must be a random sample of the questions; the file does not record "
                "how they were drawn (sampled_by)"
            )
    return Comparison(
        a=a,
        b=b,
        measure=systems.measure,
        paired_by=systems.paired_by,
        clustered_by=systems.clustered_by if len(gaps.judge) < gaps.rows else None,
        confidence_level=confidence_level,
        n=len(gaps.judge) if paired else sum(map(len, sides)),
        discordant=int(np.count_nonzero(gaps.judge)),
        mean_a=float(sides[0].mean()) if len(sides[0]) else 0.0,
        mean_b=float(sides[1].mean()) if len(sides[1]) else 0.0,
        judge=_by_judge(gaps, show, paired=paired),
        n_labelled=m,
        people=people,
        people_alone=alone,
        people_mean_a=means[0].estimate if means else None,
        people_mean_b=means[1].estimate if means else None,
        assumptions=_assumptions(systems, m),
        warnings=tuple(warnings),
        dropped=gaps.dropped,
    )


def _people_means(systems: Systems, a: str, b: str) -> list[Gap]:
    """The mean that people would give to each system, corrected by the judge (`labelled_mean`)."""
    means = []
    for name in (a, b):
        at = systems.names.index(name)
        here = ~np.isnan(systems.judge[:, at])
        labels, judge = systems.human[here, at], systems.judge[here, at]
        ends = float(np.nanmin(labels)), float(np.nanmax(labels))
        means.append(labelled_mean(labels, judge, ends=ends))
    return means


def difference_of_means(means: list[Gap]) -> Gap:
    """The difference of two means from other questions each."""
    first, second = means
    estimate, centre = second.estimate - first.estimate, second.centre - first.centre
    error = math.hypot(first.standard_error, second.standard_error)
    freedom, n = min(first.freedom, second.freedom), min(first.n, second.n)
    return Gap(estimate, centre, error, freedom, n)


def _by_judge(gaps: Differences, show: Callable[[Gap], Difference], *, paired: bool) -> Difference:
    """By the judge alone; no interval from too few questions, or if no score differs."""
    n = len(gaps.judge) if paired else min(map(len, gaps.sides))
    if n < FEWEST:
        few = count(n, "question") if paired else f"{count(n, 'answer')} of one system"
        return Difference(n=n, reason=f"{few}: {FEWEST} or more are needed")
    if not paired:
        return show(unpaired_gap(*gaps.sides, zero_one=gaps.zero_one))
    if not np.any(gaps.judge) and not gaps.zero_one:
        return Difference(estimate=0.0, n=n, reason="the scores are identical")
    return show(paired_gap(gaps.judge, zero_one=gaps.zero_one))


def _assumptions(systems: Systems, labelled: int) -> tuple[str, ...]:
    unit = "questions" if systems.clustered_by is None else systems.clustered_by
    lines = [
        f"the {unit} are independent of each other and like those the difference is to hold for",
        "the judge's difference is about the judge: people's can have another size or sign",
    ]
    if labelled:
        lines.append("labelled questions are a random sample of all, labelled on both answers")
    return (*lines, *systems.notes)


# --- the view ---


def amount(measure: str) -> Callable[[float | None], str]:
    """How differences are written: points of a hundred, or on the scale of the scores."""

    def write(value: float | None) -> str:
        if value is None:
            return DASH
        return f"{value:z.3g}" if measure == "scores" else f"{100 * value:z.1f}"

    return write


def unit_of(measure: str) -> str:
    """The unit of the amounts, with the blank before it."""
    return "" if measure == "scores" else " points"


def p_text(value: float | None) -> str:
    """A p-value; the smallest ones by their bound.

    >>> p_text(0.0321), p_text(0.0), p_text(None)
    ('0.0321', '< 0.0001', '')
    """
    if value is None:
        return ""
    return "< 0.0001" if value < 0.0001 else number(value, 4)


def with_ends(difference: Difference, measure: str) -> str:
    """The difference and its interval: +4.1 points, 1.2 to 7.0."""
    write = amount(measure)
    if difference.estimate is None:
        return f"{DASH} ({difference.reason})"
    value = write(difference.estimate)
    sign = "" if value.startswith("-") else "+"
    ends = f", {write(difference.low)} to {write(difference.high)}"
    return f"{sign}{value}{unit_of(measure)}" + (ends if difference.interval is not None else "")


def headline_of(result: Comparison) -> Headline:
    """Who is ahead, by how much and by whose number; or what was not shown."""
    gap, measure = result.reported, result.measure
    by_people = gap is result.people
    unit = count(result.n, "question" if result.paired_by else "answer")
    if gap.interval is None:
        if gap.estimate is None:
            return Headline(f"No difference of {result.b} and {result.a}: {gap.reason}", tone="bad")
        return Headline(f"{result.b} and {result.a} have identical scores on all {unit}")
    if not (gap.better or gap.worse):
        whose = "people's labels" if by_people else "this judge"
        smallest = f"{amount(measure)(gap.detectable)}{unit_of(measure)}"
        n = count(result.n_labelled, "labelled question") if by_people else unit
        return Headline(
            f"No difference between {result.b} and {result.a} is shown by {whose}: "
            f"{with_ends(gap, measure)}",
            f"The smallest difference that {n} show in four of five samples is {smallest}.",
        )
    first, second = (result.a, result.b) if gap.worse else (result.b, result.a)
    write, preferred = amount(measure), measure == "preferences"
    ends = sorted(abs(end) for end in (gap.low, gap.high) if end is not None)
    size, reach = write(abs(gap.estimate or 0.0)), " to ".join(map(write, ends))
    more = f"{size}{unit_of(measure)} {'more often' if preferred else 'higher'} than {second}"
    tone: Tone = "bad" if gap.worse else "good"
    if by_people:
        text = f"People {'prefer' if preferred else 'score'} {first} {more}, {reach}"
        return Headline(text, f"By the judge alone: {with_ends(result.judge, measure)}.", tone)
    few = result.people.reason if result.people is not None else None
    labels = min(LABELS_TO_START, result.n)
    action = f"label {labels} questions to know (next: --until-sure)" if few is None else few
    text = f"{first} {'is preferred' if preferred else 'scores'} {more} by this judge, {reach}"
    return Headline(text, f"People can differ: {action}.", tone)


def view_comparison(result: Comparison) -> list[Block]:
    """Who is ahead and by whose number, the means, what was left out."""
    measure = result.measure
    write = amount(measure)
    how = "not paired" if result.paired_by is None else f"paired by {result.paired_by}"
    if result.clustered_by is not None:
        how += f", averaged by {result.clustered_by}"
    facts = [Fact("judge alone", with_ends(result.judge, measure), f"B - A, {how}")]
    for name, gap in (("people", result.people), ("people alone", result.people_alone)):
        if gap is not None:
            corrected = gap is result.people and result.people_alone is not None
            note = count(gap.n, "labelled question") + ", corrected by the judge" * corrected
            facts.append(Fact(name, with_ends(gap, measure), note if gap.reason is None else ""))
    differ = f"{result.discordant:,} of {result.n:,} differ" if result.paired_by else ""
    for whose, mean_a, mean_b, note in (
        ("judge's", result.mean_a, result.mean_b, differ),
        ("people's", result.people_mean_a, result.people_mean_b, ""),
    ):
        if mean_a is not None:
            means = f"{clip(result.a)} {write(mean_a)}, {clip(result.b)} {write(mean_b)}"
            facts.append(Fact(f"{whose} means", means, note))
    public = Table(("|z|", "other way"), _PUBLIC, _PUBLIC_CAPTION, detail=True)
    by_judge = result.reported is result.judge and (result.better or result.worse)
    return [
        headline_of(result),
        *warnings_of(result.warnings),
        Facts(facts),
        *notes_of([f"{reason}: {n:,}" for reason, n in result.dropped.items()]),
        *([public] if by_judge else []),
        *explain(result.assumptions),
        Figure(
            "difference",
            partial(comparison_figure, result),
            f"B - A with {level(result.confidence_level)} intervals; zero: the systems are equal.",
        ),
    ]


# --- the picture ---


def comparison_figure(result: Comparison) -> Drawing:
    """The judge's difference, and people's, around zero."""
    names, gaps = ("judge alone", "people", "people alone"), (result.judge, result.people)
    lines = zip(names, (*gaps, result.people_alone), strict=True)
    shown = [(name, gap) for name, gap in lines if gap is not None and gap.estimate is not None]
    title = headline_of(result).text
    return differences_figure(shown, title, f"{clip(result.b)} minus {clip(result.a)}", result)


def differences_figure(
    lines: Sequence[tuple[str, Difference]], title: str, axis: str, result: Any
) -> Drawing:
    """A line for each difference; those whose interval excludes zero are filled."""
    if not lines:
        raise ArgumentError("plot", "no difference", "the result has no number to draw")
    scale = 1.0 if result.measure == "scores" else 100.0
    with themed():
        figure = new_figure(7.2, 1.7 + 0.42 * len(lines))
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=1.2)
        for place, (_, gap) in enumerate(lines):
            draw_interval(axes, place, gap.interval, scale=scale, color=ACCENT, linewidth=2.2)
            face = ACCENT if gap.better or gap.worse else "white"
            draw_ring(axes, scale * (gap.estimate or 0.0), place, ACCENT, face=face)
        name_rows(axes, [clip(name) for name, _ in lines])
        unit = "" if result.measure == "scores" else ", points"
        axes.set_xlabel(f"{axis}{unit}, with {level(result.confidence_level)} intervals")
        axes.set_title("\n".join(wrap(title, 80)))
    return figure
