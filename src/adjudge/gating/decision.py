"""Pass, fail or inconclusive: the one rule by which a limit is compared with an interval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from adjudge.records import Interval

Outcome = Literal["pass", "fail", "inconclusive"]


def decide(
    intervals: Iterable[Interval | None],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Outcome:
    """Whether each interval lies within the limits, one lies outside of them, or neither is shown.

    A number at a limit keeps it. Each end of an interval of level c is on the wrong side of the
    truth in about (1 - c)/2 of samples: so often a system within the limits fails, or another one
    passes.

    >>> near = Interval(0.78, 0.86, level=0.95)
    >>> [decide([near], at_least=limit) for limit in (0.75, 0.8, 0.9)]
    ['pass', 'inconclusive', 'fail']
    >>> decide([near, None], at_least=0.75), decide([near, None], at_most=0.7)
    ('inconclusive', 'fail')
    """
    ends = [(None, None) if each is None else (each.low, each.high) for each in intervals]
    below = [high is not None and at_least is not None and high < at_least for _, high in ends]
    above = [low is not None and at_most is not None and low > at_most for low, _ in ends]
    if any(below) or any(above):
        return "fail"
    reaches = [at_least is None or (low is not None and low >= at_least) for low, _ in ends]
    stays = [at_most is None or (high is not None and high <= at_most) for _, high in ends]
    return "pass" if ends and all(reaches) and all(stays) else "inconclusive"
