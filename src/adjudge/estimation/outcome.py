"""What every estimator hands to the front door: a raw number and its interval, or a reason."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge._validation import FloatArray


@dataclass(frozen=True)
class Outcome:
    """A raw estimate with its interval already cut to [0, 1], or the reason there is none.

    `estimate` may lie outside [0, 1]: only the last hand clips, so that combinations stay unbiased.
    `influence` holds each row's share in the estimate's error; it sums to zero. `centre` and `half`
    are the interval before the cut, which differences and strata need.
    """

    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None = None
    influence: FloatArray | None = None
    centre: float | None = None
    half: float | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def refusal(reason: str) -> Outcome:
    """No number, and why."""
    return Outcome(None, None, None, reason=reason)


def around(
    estimate: float,
    centre: float,
    half: float,
    standard_error: float,
    influence: FloatArray,
    warnings: tuple[str, ...] = (),
) -> Outcome:
    """An estimate with the interval centre -+ half, cut to [0, 1]."""
    low, high = cut(centre, half)
    return Outcome(estimate, low, high, standard_error, influence, centre, half, warnings=warnings)


def clip(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` cut to [low, high]."""
    return min(max(float(value), low), high)


def cut(centre: float, half: float) -> tuple[float, float]:
    """centre -+ half, cut to [0, 1]."""
    return clip(centre - half), clip(centre + half)
