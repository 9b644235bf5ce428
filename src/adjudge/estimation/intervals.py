"""Every rate of a result with its interval, for any kind of result; used by gates."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge.estimation.front import AnyEstimate
from adjudge.results.estimation import (
    ClassEstimate,
    ClassRate,
    Estimate,
    GroupedEstimate,
    RateDifference,
)
from adjudge.results.panel import PanelEstimate, PanelRate


@dataclass(frozen=True, slots=True, kw_only=True)
class RateInterval:
    """One rate or difference; `reason` explains a missing estimate or interval.

    `naive` is the judge's own rate, if there is one judge.
    """

    name: str | None
    estimate: float | None
    low: float | None
    high: float | None
    naive: float | None
    reason: str | None


def intervals_of(result: AnyEstimate) -> list[RateInterval]:
    """One for each group or class, or a single one.

    >>> from adjudge.estimation import estimate
    >>> rows = {"judge": [1, 0] * 40, "human": [1, 0, None, None] * 20, "model": ["x"] * 80}
    >>> [(one.name, one.estimate) for one in intervals_of(estimate(rows, by="model"))]
    [('x', 0.5)]
    """
    if isinstance(result, GroupedEstimate):
        return [one for group in result.groups for one in intervals_of(group)]
    if isinstance(result, PanelEstimate):
        return [_interval(one.group, one, None, one.reason) for one in result.groups]
    if isinstance(result, ClassEstimate):
        return [
            _interval(
                ", ".join(filter(None, (result.group, one.label))), one, one.naive, result.reason
            )
            for one in result.classes
        ]
    if isinstance(result, RateDifference):
        return [_interval(f"{result.a} minus {result.b}", result, result.naive, result.reason)]
    return [_interval(result.group, result, result.naive, result.reason)]


def _interval(
    name: str | None,
    rate: Estimate | RateDifference | ClassRate | PanelRate,
    naive: float | None,
    reason: str | None,
) -> RateInterval:
    known = rate.estimate is not None
    return RateInterval(
        name=name,
        estimate=rate.estimate,
        low=rate.low if known else None,
        high=rate.high if known else None,
        naive=naive,
        reason=reason,
    )
