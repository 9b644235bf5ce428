"""The parts of every diagnosis of a judge: measures with intervals, and tests for a bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.present.blocks import Block
from adjudge.present.result import Count, Level, NotNegative, Result, frozen


@dataclass(frozen=True)
class Measure:
    """One number of a diagnosis with its interval, and the value of an unbiased judge.

    `departs`: the interval excludes the unbiased value, and the distance from it is at least the
    floor; False without an interval or such a value.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    unbiased: float | None
    n: Count
    departs: bool


def measure(
    name: str,
    value: float | None,
    low: float | None,
    high: float | None,
    n: int,
    unbiased: float | None = None,
    floor: float = 0.0,
) -> Measure:
    if unbiased is None or value is None or low is None or high is None:
        return Measure(name, value, low, high, unbiased, n, departs=False)
    departs = not low <= unbiased <= high and abs(value - unbiased) >= floor
    return Measure(name, value, low, high, unbiased, n, departs=departs)


@frozen
class BiasMeasures(Result):
    """Base of the diagnoses of one judge: each is a few measures on `n` rows."""

    n: Count
    dropped: Mapping[str, Count]
    confidence_level: Level

    def measures(self) -> tuple[Measure, ...]:
        """Every number with its interval, the most important first."""
        raise NotImplementedError

    def _parts(self) -> Sequence[Any]:
        return self.measures()

    def view(self) -> list[Block]:
        from adjudge.present.views._bias import view_diagnosis

        return view_diagnosis(self)


@frozen
class BiasTest(BiasMeasures):
    """Base of the diagnoses that can show a bias: `biased` if the interval shows it.

    `floor` is the smallest distance of the estimate from an unbiased judge.
    """

    low: float | None
    high: float | None
    biased: bool
    floor: NotNegative = 0.0

    @property
    def negligible(self) -> bool:
        """A significant difference that is too small to be called a bias."""
        main = self.measures()[0]
        if main.value is None or main.unbiased is None or main.low is None or main.high is None:
            return False
        near = abs(main.value - main.unbiased) < self.floor
        return near and not main.low <= main.unbiased <= main.high
