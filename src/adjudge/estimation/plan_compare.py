"""How many questions, and how many labels, show a difference; what these questions show at best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Unpack

import numpy as np

from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.comparison import amount, unit_of
from adjudge.estimation.systems import choose_two, read_systems
from adjudge.present.blocks import Block, Fact, Facts, Headline, explain, notes_of
from adjudge.present.result import Correlation, Count, Level, NotNegative, Positive, Result, frozen
from adjudge.present.text import count, number
from adjudge.statistics.differences import (
    FEWEST,
    cautious_correlation,
    cautious_spread,
    labels_needed,
    paired_gap,
    questions_needed,
)
from adjudge.validation import open_unit, positive

#: The power that is planned for is 0.8; the pilot's spread is raised, so that it is reached.
_ASSUMED = (
    "the spread and the correlation are those of this pilot, at a cautious bound",
    "the difference is shown in four of five samples of that size, or more",
    "new questions are like these, and labelled questions are drawn at random",
)


@frozen
class ComparisonPlan(Result):
    """The questions to show a difference by the judge, and the labels to show it by people.

    `labels` is None if there are too few labels to know the spread of people's differences, or if
    these questions cannot show the difference (`reason`). `detectable` is the smallest difference
    that these questions show by the judge, `detectable_by_people` with all of them labelled.
    """

    kind: ClassVar[str] = "plan_compare"

    a: str
    b: str
    measure: str
    difference: Positive
    confidence_level: Level
    n: Count
    n_labelled: Count
    spread: NotNegative
    questions: Count
    detectable: NotNegative
    people_spread: NotNegative | None = None
    correlation: Correlation | None = None
    labels: Count | None = None
    labels_without_judge: Count | None = None
    detectable_by_people: NotNegative | None = None
    reason: str | None = None
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether these questions can show the difference, by people if there are labels."""
        if self.people_spread is None:
            return self.questions <= self.n
        return self.labels is not None

    def view(self) -> list[Block]:
        return view_plan(self)


def plan_compare(
    data: TableLike,
    other: TableLike | None = None,
    *,
    difference: float,
    a: str | None = None,
    b: str | None = None,
    by: str = "model",
    labels: TableLike | None = None,
    cluster: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive_class: str | None = None,
    confidence_level: float = 0.95,
    **reading: Unpack[Reading],
) -> ComparisonPlan:
    """How many questions and labels show a difference of two systems.

    Args:
        data: Rows of both systems on some questions, as a pilot. As for `compare`; 30 labelled
            questions also give the number of labels.
        other: The second system's file, if each system has its own.
        difference: The difference to show, such as 0.03 for 3 points; of scores on their scale.
        a: The system to compare with.
        b: The system that is compared.
        by: Column of the systems.
        labels: Human labels by id.
        cluster: Column of questions that belong together; none: all are independent.
        judge_column: Column of the judge's verdicts.
        human_column: Column of the human labels.
        positive_class: For verdicts that are words: the one that counts as 1.
        confidence_level: Confidence level of the interval that will exclude zero.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"id": [*range(60)] * 2, "model": ["old"] * 60 + ["new"] * 60,
    ...         "judge": [1, 0] * 30 + [1, 1, 1, 0] * 15}
    >>> plan_compare(rows, difference=0.1).questions
    203
    """
    positive(difference, "difference")
    level = open_unit(confidence_level, "confidence_level")
    systems = read_systems(
        data,
        other,
        a=a,
        b=b,
        by=by,
        labels=labels,
        cluster=cluster,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive_class,
        **reading,
    )[None]
    gaps = systems.differences(*choose_two(systems, a, b))
    if systems.measure != "scores" and difference > 1:
        raise ArgumentError("difference", difference, "give a share: 0.03 is 3 points")
    n = len(gaps.judge)
    if n < FEWEST or systems.paired_by is None:
        problem = f"{count(n, 'common question')}: a pilot needs {FEWEST}"
        raise DataError(systems.source, problem, remedy="ask both systems the same questions")
    spread = _spread(gaps.judge, zero_one=gaps.zero_one)
    known = ~np.isnan(gaps.human)
    m = int(known.sum())
    people = correlation = labelled = alone = at_best = reason = None
    if m >= FEWEST:
        people = _spread(gaps.human[known], zero_one=gaps.people_zero_one)
        correlation = _correlation(gaps.human[known], gaps.judge[known])
        labelled = labels_needed(people, correlation, difference, n, level)
        alone = labels_needed(people, 0.0, difference, max(n, 10**9), level)
        at_best = _smallest(people, n, level)
        if labelled is None:
            reason = f"these {n:,} questions cannot show it, with every one of them labelled"
            if at_best <= difference:
                reason = f"more labels are needed than there are questions ({n:,})"
    else:
        reason = f"{count(m, 'labelled question')}: {FEWEST} labelled questions give the number"
    return ComparisonPlan(
        a=gaps.a,
        b=gaps.b,
        measure=systems.measure,
        difference=difference,
        confidence_level=level,
        n=n,
        n_labelled=m,
        spread=spread,
        questions=questions_needed(spread, difference, level),
        detectable=_smallest(spread, n, level),
        people_spread=people,
        correlation=correlation,
        labels=labelled,
        labels_without_judge=alone,
        detectable_by_people=at_best,
        reason=reason,
        dropped=gaps.dropped,
    )


def _spread(d: np.ndarray, *, zero_one: bool) -> float:
    """The standard deviation with pseudo questions, at its cautious bound."""
    gap = paired_gap(d, zero_one=zero_one)
    per_question = gap.standard_error * math.sqrt(gap.n + (2 if zero_one else 1))
    return cautious_spread(per_question, gap.n)


def _correlation(human: np.ndarray, judge: np.ndarray) -> float:
    if human.std() == 0 or judge.std() == 0:
        return 0.0
    return cautious_correlation(float(np.corrcoef(human, judge)[0, 1]), len(human))


def _smallest(spread: float, n: int, level: float) -> float:
    """The smallest difference that n questions show in four of five samples."""
    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (
            (low, middle) if questions_needed(spread, middle, level) <= n else (middle, high)
        )
    return high


def view_plan(result: ComparisonPlan) -> list[Block]:
    """How many questions and labels, and what these questions show at best."""
    write, unit = amount(result.measure), unit_of(result.measure)
    wanted = f"{write(result.difference)}{unit}"
    by_judge = f"{count(result.questions, 'question')} show a difference of {wanted} by this judge"
    facts = [
        Fact("questions", f"{result.questions:,}", f"you have {result.n:,}"),
        Fact("these show at best", f"{write(result.detectable)}{unit}", "by this judge"),
    ]
    headline = Headline(by_judge, tone="plain" if result.feasible else "bad")
    if result.people_spread is not None:
        at_best = f"{write(result.detectable_by_people)}{unit}"
        facts.append(Fact("by people at best", at_best, f"all {result.n:,} questions labelled"))
        if result.labels is not None:
            alone = f"{number(result.labels_without_judge)} without the judge"
            facts.append(Fact("labelled questions", f"{result.labels:,}", alone))
            text = f"{count(result.labels, 'labelled question')} show a difference of {wanted}"
            headline = Headline(f"{text} by people", f"{by_judge}.")
        else:
            text = f"A difference of {wanted} by people is out of reach: {result.reason}"
            headline = Headline(text, f"{by_judge}.", "bad")
    notes = [f"{reason}: {n:,}" for reason, n in result.dropped.items()]
    if result.people_spread is None and result.reason is not None:
        notes.insert(0, f"labels by people: {result.reason}")
    if result.correlation is not None:
        correlation = number(result.correlation, 2)
        notes.insert(0, f"correlation of judge and people {correlation}, at least")
    return [headline, Facts(facts), *notes_of(notes), *explain(_ASSUMED)]
