"""How many questions, and how many labels, show a difference; what these questions show at best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
from scipy.special import chdtri, ndtri

from adjudge.data.rows import merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.comparison import amount
from adjudge.estimation.systems import ReadingSystems, read_systems
from adjudge.present.blocks import Block, Fact, Facts, Headline, Tone, explain, notes_of
from adjudge.present.result import Correlation, Count, Level, NotNegative, Positive, Result, frozen
from adjudge.present.text import count, number
from adjudge.statistics.differences import FEWEST, POWER, paired_gap
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import FloatArray, open_unit, positive

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
        """How many questions and labels, and what these questions show at best."""
        size = partial(amount, measure=self.measure, unit=True)
        wanted = f"difference of {size(self.difference)}"
        tone: Tone = "plain" if self.feasible else "bad"
        by_judge = f"{count(self.questions, 'question')} show a {wanted} by this judge"
        headline = Headline(by_judge, tone=tone)
        first = f"labels by people: {self.reason}"
        facts = [
            Fact("questions", f"{self.questions:,}", f"you have {self.n:,}"),
            Fact("these show at best", size(self.detectable), "by this judge"),
        ]
        if self.people_spread is not None:
            first = f"correlation of judge and people {number(self.correlation, 2)}, at least"
            every = f"all {self.n:,} questions labelled"
            facts.append(Fact("by people at best", size(self.detectable_by_people), every))
            text = f"A {wanted} by people is out of reach: {self.reason}"
            if self.labels is not None:
                alone = f"{number(self.labels_without_judge)} without the judge"
                facts.append(Fact("labelled questions", f"{self.labels:,}", alone))
                text = f"{count(self.labels, 'labelled question')} show a {wanted} by people"
            headline = Headline(text, f"{by_judge}.", tone)
        notes = [first, *(f"{reason}: {n:,}" for reason, n in self.dropped.items())]
        return [headline, Facts(facts), *notes_of(notes), *explain(_ASSUMED)]


def plan_compare(
    data: TableLike,
    other: TableLike | None = None,
    *,
    difference: float,
    a: str | None = None,
    b: str | None = None,
    confidence_level: float = 0.95,
    **reading: Unpack[ReadingSystems],
) -> ComparisonPlan:
    """How many questions and labels show a difference of two systems.

    Args:
        data: Rows of both systems on some questions, as a pilot. As for `compare`; 30 labelled
            questions also give the number of labels.
        other: The second system's file, if each system has its own.
        difference: The difference to show, such as 0.03 for 3 points; of scores on their scale.
        a: The system to compare with.
        b: The system that is compared.
        confidence_level: Confidence level of the interval that will exclude zero.
        **reading: Columns, labels and the words in them: see `ReadingSystems` and
            `adjudge.data.Reading`.

    >>> rows = {"id": [*range(60)] * 2, "model": ["old"] * 60 + ["new"] * 60,
    ...         "judge": [1, 0] * 30 + [1, 1, 1, 0] * 15}
    >>> plan_compare(rows, difference=0.1).questions
    203
    """
    positive(difference, "difference")
    level = open_unit(confidence_level, "confidence_level")
    systems = read_systems(data, other, a=a, b=b, **reading)[None]
    table = systems.among(systems.choose(a, b))
    if table.measure != "scores" and difference > 1:
        raise ArgumentError("difference", difference, "give a share: 0.03 is 3 points")
    n = len(table.judge) if table.paired_by is not None else 0
    if n < FEWEST:
        problem = f"{count(n, 'common question')}: a pilot needs {FEWEST}"
        raise DataError(table.source, problem, remedy="ask both systems the same questions")
    d = table.judge[:, 1] - table.judge[:, 0]
    h = table.human[:, 1] - table.human[:, 0]
    spread = cautious_spread(d, zero_one=table.zero_one)
    labelled = ~np.isnan(h)
    m = int(labelled.sum())
    reason = f"{count(m, 'labelled question')}: {FEWEST} labelled questions give the number"
    by_people: dict[str, Any] = {"reason": reason}
    if m >= FEWEST:
        h = h[labelled]
        j = d[labelled]
        correlation = 0.0
        if h.std() > 0 and j.std() > 0:
            correlation = cautious_correlation(float(np.corrcoef(h, j)[0, 1]), m)
        people = cautious_spread(h, zero_one=table.people_zero_one)
        at_best = smallest_shown(people, n, level)
        by_people = {
            "people_spread": people,
            "correlation": correlation,
            "labels": labels_needed(people, correlation, difference, n, level),
            "labels_without_judge": labels_needed(people, 0.0, difference, math.inf, level),
            "detectable_by_people": at_best,
        }
        if by_people["labels"] is None:
            reason = f"these {n:,} questions cannot show it, with every one of them labelled"
            few = f"more labels are needed than there are questions ({n:,})"
            by_people["reason"] = few if at_best <= difference else reason
    a, b = table.names
    return ComparisonPlan(
        a=a,
        b=b,
        measure=table.measure,
        difference=difference,
        confidence_level=level,
        n=n,
        n_labelled=m,
        spread=spread,
        questions=questions_needed(spread, difference, level),
        detectable=smallest_shown(spread, n, level),
        dropped=merge_dropped(systems.dropped, table.dropped),
        **by_people,
    )


# --- sample sizes ---


def cautious_spread(d: FloatArray, *, zero_one: bool) -> float:
    """A pilot's standard deviation with pseudo questions, at its 80 % upper bound.

    s sqrt((n - 1)/chi2_.2), s^2 = var' of `all_gaps`.

    >>> round(cautious_spread(np.tile([1.0, 0.0, -1.0, 0.0], 25), zero_one=True), 3)
    0.762
    """
    gap = paired_gap(d, zero_one=zero_one)
    spread = gap.standard_error * math.sqrt(gap.n + (2 if zero_one else 1))
    return spread * math.sqrt((gap.n - 1) / float(chdtri(gap.n - 1, POWER)))


def cautious_correlation(correlation: float, m: int) -> float:
    """A pilot's correlation at its 80 % lower bound, not below 0.

    >>> round(cautious_correlation(0.6, 103), 3)
    0.543
    """
    bounded = min(max(correlation, -0.999999), 0.999999)
    # Fisher's transform, whose standard error is 1 / sqrt(m - 3).
    below = math.atanh(bounded) - float(ndtri(POWER)) / math.sqrt(m - 3)
    return max(math.tanh(below), 0.0)


def questions_needed(spread: float, difference: float, confidence_level: float = 0.95) -> int:
    """Questions to show a difference with power 0.8: (z + z_.8)^2 s^2/delta^2 + z^2/2.

    >>> questions_needed(0.5, 0.05)
    787
    """
    z = normal_quantile(confidence_level)
    reach = z + float(ndtri(POWER))
    return math.ceil((reach * spread / difference) ** 2 + z**2 / 2)


def smallest_shown(spread: float, n: int, confidence_level: float = 0.95) -> float:
    """The difference that n questions show with power 0.8: `questions_needed` solved for it.

    >>> round(smallest_shown(0.5, 787), 4)
    0.05
    """
    z = normal_quantile(confidence_level)
    reach = z + float(ndtri(POWER))
    return reach * spread / math.sqrt(max(n - z**2 / 2, 1.0))


def labels_needed(
    spread: float,
    correlation: float,
    difference: float,
    questions: float,
    confidence_level: float = 0.95,
) -> int | None:
    """Labelled questions to show people's difference with power 0.8; None: these N cannot show it.

    m = s^2 (1 - rho^2) / ((delta/(z + z_.8))^2 - s^2 rho^2 / N).

    >>> labels_needed(0.6, 0.7, 0.08, 1000), labels_needed(0.6, 0.7, 0.02, 1000)
    (288, None)
    """
    reach = normal_quantile(confidence_level) + float(ndtri(POWER))
    below = (difference / reach) ** 2 - (spread * correlation) ** 2 / questions
    if below <= 0:
        return None
    needed = max(math.ceil(spread**2 * (1 - correlation**2) / below), FEWEST)
    return needed if needed <= questions else None
