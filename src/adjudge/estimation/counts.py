"""Sensitivity, specificity and the judge's rate as counts, with exact intervals (Eq. 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge.errors import ArgumentError
from adjudge.estimation.sample import Sample
from adjudge.statistics.numbers import binomial_interval
from adjudge.validation import count

#: A share and the ends of its interval.
Share = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """All counts of the 0/1 case: p = k/n, q1 = c1/m1 (sensitivity), q0 = c0/m0 (specificity).

    >>> c = Counts(k=550, n=1000, c0=70, m0=100, c1=90, m1=100)
    >>> c.p, c.q0, c.q1, c.informative
    (0.55, 0.7, 0.9, True)
    """

    k: int
    n: int
    c0: int
    m0: int
    c1: int
    m1: int

    def __post_init__(self) -> None:
        for part, whole in (("k", "n"), ("c0", "m0"), ("c1", "m1")):
            size = count(getattr(self, whole), whole)
            if count(getattr(self, part), part) > size:
                raise ArgumentError(part, getattr(self, part), f"give at most {whole} = {size}")

    @property
    def p(self) -> float:
        """Share of test rows that the judge calls 1 (Eq. 2)."""
        return self.k / self.n

    @property
    def q0(self) -> float:
        """Specificity (Eq. 3)."""
        return self.c0 / self.m0

    @property
    def q1(self) -> float:
        """Sensitivity (Eq. 3)."""
        return self.c1 / self.m1

    @property
    def informative(self) -> bool:
        """q0 + q1 > 1, compared in integers so that rounding cannot decide it."""
        return self.c0 * self.m1 + self.c1 * self.m0 > self.m0 * self.m1

    @property
    def informative_adjusted(self) -> bool:
        """The same for the adjusted shares of Eq. 7, (c + 1)/(m + 2)."""
        m0, m1 = self.m0 + 2, self.m1 + 2
        return (self.c0 + 1) * m1 + (self.c1 + 1) * m0 > m0 * m1


def counts_of(sample: Sample) -> Counts:
    """The counts of a 0/1 sample."""
    said_one = sample.judge == 1
    return Counts(
        k=int((sample.test & said_one).sum()),
        n=sample.n,
        c0=int((sample.negative & ~said_one).sum()),
        m0=int(sample.negative.sum()),
        c1=int((sample.positive & said_one).sum()),
        m1=int(sample.positive.sum()),
    )


def exact_share(successes: int, n: int, confidence_level: float) -> Share:
    """A share with its Clopper-Pearson interval; three None if there are no rows."""
    if n == 0:
        return None, None, None
    low, high = binomial_interval(successes, n, confidence_level)
    return successes / n, low, high


def missing(sample: Sample) -> str | None:
    """What is missing for a correction: test rows, or labels of one class."""
    if sample.n == 0:
        return (
            "every row has a human label, so nothing is left to correct; "
            "use the human rate (method human-only)"
        )
    absent = [str(z) for z, rows in ((1, sample.positive), (0, sample.negative)) if not rows.any()]
    if len(absent) == 2:
        return "no row has a human label; label some rows at random first"
    if absent:
        name = "sensitivity" if absent[0] == "1" else "specificity"
        return (
            f"no row with human label {absent[0]}, so the judge's {name} is unknown; "
            "label more rows at random until both classes appear"
        )
    return None
